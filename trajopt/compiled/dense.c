/* Dense fronts; see dense.h. Candidate columns are kept up to date in all their rows; the remaining columns are updated once, at
 * the end, by all pivots together. No fused multiply-add: the bits do not depend on the processor. */
#include "dense.h"

#include <math.h>
#include <string.h>

static const double STABLE = 0.64;  /* a pivot of this part of its column is taken at once (Bunch and Kaufman 1977) */
static const double VANISHED = 1e-13; /* relative to what was subtracted: rounding is left */

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define VECTOR __attribute__((target("avx2")))
static int has_vectors(void) { return __builtin_cpu_supports("avx2"); }
#else
#define VECTOR
static int has_vectors(void) { return 0; }
#endif
#define INLINED static inline __attribute__((always_inline))

/* ---- updates -------------------------------------------------------------------------------------------------------------- */

/* c -= u x + v y over rows first .. n - 1 of each of the columns first .. last - 1, lower triangle; u, v: (n,) multipliers. */
INLINED void update_columns(int64_t n, int64_t first, int64_t last, double *a, const double *x, const double *y, const double *u,
                            const double *v) {
    for (int64_t j = first; j < last; j++) {
        double *restrict c = a + j * n;
        const double s = u[j], t = v[j];
        if (s == 0 && t == 0) continue;
        for (int64_t i = j; i < n; i++) c[i] -= x[i] * s + y[i] * t;
    }
}

static void update_columns_baseline(int64_t n, int64_t first, int64_t last, double *a, const double *x, const double *y,
                                    const double *u, const double *v) {
    update_columns(n, first, last, a, x, y, u, v);
}

VECTOR static void update_columns_vector(int64_t n, int64_t first, int64_t last, double *a, const double *x, const double *y,
                                         const double *u, const double *v) {
    update_columns(n, first, last, a, x, y, u, v);
}

/* c -= u x, the same with one column. */
INLINED void update_by_one(int64_t n, int64_t first, int64_t last, double *a, const double *x, const double *u) {
    for (int64_t j = first; j < last; j++) {
        double *restrict c = a + j * n;
        const double s = u[j];
        if (s == 0) continue;
        for (int64_t i = j; i < n; i++) c[i] -= x[i] * s;
    }
}

static void update_by_one_baseline(int64_t n, int64_t first, int64_t last, double *a, const double *x, const double *u) {
    update_by_one(n, first, last, a, x, u);
}

VECTOR static void update_by_one_vector(int64_t n, int64_t first, int64_t last, double *a, const double *x, const double *u) {
    update_by_one(n, first, last, a, x, u);
}

/* Columns from `first` on: C -= L D L', L the first `pivots` columns; blocks: D as in `diagonal`, not inverted; w: (pivots + 3,). */
INLINED void update_rest(int64_t n, int64_t first, int64_t pivots, double *a, const double *blocks, double *w) {
    for (int64_t j = first; j < n; j++) {
        double *restrict c = a + j * n;
        for (int64_t k = 0; k < pivots; k++) {
            const double l = a[j + k * n];
            if (blocks[2 * k + 1] == 0) {
                w[k] = blocks[2 * k] * l;
            } else {
                const double m = a[j + (k + 1) * n];
                w[k] = blocks[2 * k] * l + blocks[2 * k + 1] * m;
                w[k + 1] = blocks[2 * k + 1] * l + blocks[2 * k + 2] * m;
                k++;
            }
        }
        int64_t k = 0;
        for (; k + 4 <= pivots; k += 4) {
            const double *p = a + k * n, *q = p + n, *r = q + n, *s = r + n;
            const double wp = w[k], wq = w[k + 1], wr = w[k + 2], ws = w[k + 3];
            for (int64_t i = j; i < n; i++) c[i] -= (p[i] * wp + q[i] * wq) + (r[i] * wr + s[i] * ws);
        }
        for (; k < pivots; k++) {
            const double *p = a + k * n, wp = w[k];
            for (int64_t i = j; i < n; i++) c[i] -= p[i] * wp;
        }
    }
}

static void update_rest_baseline(int64_t n, int64_t first, int64_t pivots, double *a, const double *blocks, double *w) {
    update_rest(n, first, pivots, a, blocks, w);
}

VECTOR static void update_rest_vector(int64_t n, int64_t first, int64_t pivots, double *a, const double *blocks, double *w) {
    update_rest(n, first, pivots, a, blocks, w);
}

/* ---- pivots --------------------------------------------------------------------------------------------------------------- */

static double entry(const dense_front *f, int64_t i, int64_t j) { return i > j ? f->a[i + j * f->n] : f->a[j + i * f->n]; }

static void exchange(double *a, double *b) {
    const double kept = *a;
    *a = *b;
    *b = kept;
}

/* Symmetric exchange of k and j, k < j, in rows and columns from 0 on. */
static void swap_candidates(dense_front *f, int64_t k, int64_t j) {
    if (k == j) return;
    const int64_t n = f->n;
    double *a = f->a;
    for (int64_t c = 0; c < k; c++) exchange(&a[k + c * n], &a[j + c * n]);
    for (int64_t i = k + 1; i < j; i++) exchange(&a[i + k * n], &a[j + i * n]);
    for (int64_t i = j + 1; i < n; i++) exchange(&a[i + k * n], &a[i + j * n]);
    exchange(&a[k + k * n], &a[j + j * n]);
    exchange(&f->size[k], &f->size[j]);
    const int64_t kept = f->index[k];
    f->index[k] = f->index[j];
    f->index[j] = kept;
}

/* Largest of some numbers in size. NaN does not count. */
static double largest_of(const double *v, int64_t count) {
    double m0 = 0, m1 = 0, m2 = 0, m3 = 0;
    int64_t i = 0;
    for (; i + 4 <= count; i += 4) {
        const double a = fabs(v[i]), b = fabs(v[i + 1]), c = fabs(v[i + 2]), d = fabs(v[i + 3]);
        m0 = a > m0 ? a : m0;
        m1 = b > m1 ? b : m1;
        m2 = c > m2 ? c : m2;
        m3 = d > m3 ? d : m3;
    }
    for (; i < count; i++) m0 = fabs(v[i]) > m0 ? fabs(v[i]) : m0;
    m0 = m1 > m0 ? m1 : m0;
    m2 = m3 > m2 ? m3 : m2;
    return m2 > m0 ? m2 : m0;
}

/* Largest entry of column j below the eliminated ones, without row j; `at`: the row of the largest candidate, -1 for none;
 * `other`: the largest entry without that row too. */
static double largest(const dense_front *f, int64_t j, int64_t *at, double *other) {
    const int64_t n = f->n;
    const double *row = f->a + j, *column = f->a + j * n;
    double most = 0, second = 0;
    *at = -1;
    for (int64_t c = f->eliminated; c < j; c++) {
        const double v = fabs(row[c * n]);
        if (v > most)
            second = most, most = v, *at = c;
        else if (v > second)
            second = v;
    }
    for (int64_t c = j + 1; c < f->candidates; c++) {
        const double v = fabs(column[c]);
        if (v > most)
            second = most, most = v, *at = c;
        else if (v > second)
            second = v;
    }
    const double rest = largest_of(column + f->candidates, n - f->candidates);
    *other = rest > second ? rest : second;
    return rest > most ? rest : most;
}

/* Largest entry of column r below the eliminated ones, without rows r and j. */
static double largest_beside(const dense_front *f, int64_t r, int64_t j) {
    const int64_t n = f->n, k = f->eliminated;
    const double *row = f->a + r, *column = f->a + r * n;
    double most = largest_of(column + f->candidates, n - f->candidates);
    for (int64_t c = k; c < r; c++) {
        const double v = fabs(row[c * n]);
        if (v > most && c != j) most = v;
    }
    for (int64_t c = r + 1; c < f->candidates; c++) {
        const double v = fabs(column[c]);
        if (v > most && c != j) most = v;
    }
    return most;
}

/* The best pivot that begins with candidate j: growth of entries, and the partner of a 2x2 pivot or -1. */
typedef struct {
    double growth;
    int64_t partner;
} pivot_choice;

/* Whether an entry is rounding: small when rows and columns are scaled by what their diagonals were made of. A small pivot of which
 * nothing was cancelled, as J^2 / sigma next to a bound, is not. */
static int vanishes(const dense_front *f, int64_t i, int64_t j) {
    const double v = fabs(entry(f, i, j)) / VANISHED;
    return v * v <= f->size[i] * f->size[j];
}

/* The same for an entry beside the diagonal, by what 2x2 pivots have subtracted from it. */
static int is_cancelled(const dense_front *f, int64_t i, int64_t j) {
    const double v = fabs(entry(f, i, j)) / VANISHED;
    return f->cancelled && i != j && v * v <= f->cancelled[f->index[i]] * f->cancelled[f->index[j]];
}

static int column_vanishes(const dense_front *f, int64_t j) {
    for (int64_t i = f->eliminated; i < f->n; i++)
        if (!vanishes(f, i, j) && !is_cancelled(f, i, j)) return 0;
    return 1;
}

static pivot_choice consider(const dense_front *f, int64_t j) {
    pivot_choice choice = {INFINITY, -1};
    int64_t r;
    double first;
    const double below = largest(f, j, &r, &first), own = entry(f, j, j);
    if (!vanishes(f, j, j))
        choice.growth = below / fabs(own);
    else if (column_vanishes(f, j))
        return choice;
    if (fabs(own) >= STABLE * below || r < 0) return choice;
    const double b = entry(f, r, j), c = entry(f, r, r), det = own * c - b * b;
    if (vanishes(f, r, j) || fabs(det) <= 1e-14 * (fabs(own * c) + b * b)) return choice;
    const double second = largest_beside(f, r, j);
    const double p = fabs(c) * first + fabs(b) * second, q = fabs(b) * first + fabs(own) * second;
    const double growth = (p > q ? p : q) / fabs(det);
    if (growth < choice.growth) {
        choice.growth = growth;
        choice.partner = r;
    }
    return choice;
}

/* ---- elimination ---------------------------------------------------------------------------------------------------------- */

/* A 2x2 pivot subtracts (u_i v_j + v_i u_j) b / det from entry (i, j), and may subtract nothing from the diagonal: that is how a row
 * vanishes which depends on the row of the pivot. The product of these numbers of i and j is an upper bound of the square. */
static void remember_cancelled(dense_front *f, const double *u, const double *v, double ratio) {
    double most_u = 0, most_v = 0;
    for (int64_t i = f->eliminated + 2; i < f->n; i++) {
        most_u = fabs(u[i]) > most_u ? fabs(u[i]) : most_u;
        most_v = fabs(v[i]) > most_v ? fabs(v[i]) : most_v;
    }
    if (most_u == 0 || most_v == 0) return;
    const double balance = most_v / most_u;
    for (int64_t i = f->eliminated + 2; i < f->n; i++) {
        const double term = ratio * (u[i] * u[i] * balance + v[i] * v[i] / balance);
        double *most = &f->cancelled[f->index[i]];
        if (term > *most) *most = term;
    }
}

/* Set entries of column k to zero whose whole rows are rounding, in rows without a diagonal entry. */
static void clear_rounding(dense_front *f, int64_t k) {
    double *a = f->a + k * f->n;
    for (int64_t i = k + 1; i < f->n; i++) {
        if (a[i] == 0 || f->a[i + i * f->n] != 0 || !is_cancelled(f, i, k)) continue;
        int64_t c = k + 1;
        while (c < f->candidates && (c == i || is_cancelled(f, i, c))) c++;
        if (c == f->candidates) a[i] = 0;
    }
}

/* blocks: D itself, for the update of the remaining columns. */
static void eliminate_one(dense_front *f, double *blocks, int vectors) {
    const int64_t n = f->n, k = f->eliminated;
    double *restrict a = f->a + k * n, *restrict column = f->work, *restrict size = f->size;
    const double d = a[k];
    if (f->cancelled) clear_rounding(f, k);
    if (fabs(d) < f->smallest) f->smallest = fabs(d);
    f->negative += d < 0;
    f->diagonal[2 * k] = 1 / d;
    f->diagonal[2 * k + 1] = 0;
    blocks[2 * k] = d;
    blocks[2 * k + 1] = 0;
    for (int64_t i = k + 1; i < n; i++) {
        column[i] = a[i];
        a[i] /= d;
        const double term = fabs(column[i] * a[i]); /* subtracted from the diagonal entry of column i */
        size[i] = term > size[i] ? term : size[i];
    }
    (vectors ? update_by_one_vector : update_by_one_baseline)(n, k + 1, f->candidates, f->a, a, column);
    f->eliminated += 1;
}

static void eliminate_two(dense_front *f, double *blocks, int vectors) {
    const int64_t n = f->n, k = f->eliminated;
    double *restrict x = f->a + k * n, *restrict y = x + n, *restrict u = f->work, *restrict v = f->work + n;
    double *restrict size = f->size;
    const double a = x[k], b = x[k + 1], c = y[k + 1], det = a * c - b * b;
    f->negative += det < 0 ? 1 : a + c < 0 ? 2 : 0;
    const double lesser = fabs(det) / (fabs(a) + fabs(b) + fabs(c)); /* about the smaller eigenvalue in size */
    if (lesser < f->smallest) f->smallest = lesser;
    const double inverse[4] = {c / det, -b / det, a / det, 0}, block[4] = {a, b, c, 0};
    memcpy(f->diagonal + 2 * k, inverse, sizeof inverse);
    memcpy(blocks + 2 * k, block, sizeof block);
    if (f->cancelled) {
        clear_rounding(f, k);
        clear_rounding(f, k + 1);
    }
    x[k + 1] = 0; /* L has the identity there */
    for (int64_t i = k + 2; i < n; i++) {
        u[i] = x[i];
        v[i] = y[i];
        x[i] = (u[i] * c - v[i] * b) / det;
        y[i] = (v[i] * a - u[i] * b) / det;
        const double term = fabs(u[i] * x[i]) + fabs(v[i] * y[i]);
        size[i] = term > size[i] ? term : size[i];
    }
    if (f->cancelled) remember_cancelled(f, u, v, fabs(b / det));
    (vectors ? update_columns_vector : update_columns_baseline)(n, k + 2, f->candidates, f->a, x, y, u, v);
    f->eliminated += 2;
}

/* A column of a root that vanished: one as pivot, so that its unknown comes out as it is in the right-hand side. */
static void eliminate_zero(dense_front *f, double *blocks) {
    const int64_t n = f->n, k = f->eliminated;
    f->zero++;
    f->diagonal[2 * k] = blocks[2 * k] = 1;
    f->diagonal[2 * k + 1] = blocks[2 * k + 1] = 0;
    for (int64_t i = k; i < n; i++) f->a[i + k * n] = 0;
    f->eliminated += 1;
}

static void take(dense_front *f, int64_t j, int64_t partner, double *blocks, int vectors) {
    int64_t k = f->eliminated;
    swap_candidates(f, k, j);
    if (partner < 0) {
        eliminate_one(f, blocks, vectors);
        return;
    }
    if (partner == k) partner = j; /* where the exchange has moved it */
    swap_candidates(f, k + 1, partner);
    eliminate_two(f, blocks, vectors);
}

/* The candidate whose pivot makes entries grow least, eliminated whatever the growth; zero columns last. */
static void force(dense_front *f, double *blocks, int vectors) {
    pivot_choice best = {INFINITY, -1};
    int64_t at = f->eliminated;
    for (int64_t j = f->eliminated; j < f->candidates; j++) {
        pivot_choice choice = consider(f, j);
        if (choice.growth < best.growth) best = choice, at = j;
    }
    if (best.growth < INFINITY)
        take(f, at, best.partner, blocks, vectors);
    else
        eliminate_zero(f, blocks);
}

void dense_factor(dense_front *f, double threshold, int root) {
    const int vectors = has_vectors();
    double *blocks = f->work + 2 * f->n;
    int64_t failed = 0, j = 0;
    f->size = f->work + 4 * f->n;
    for (int64_t i = 0; i < f->n; i++) f->size[i] = f->diagonal_size[f->index[i]];
    while (f->eliminated < f->candidates) {
        if (failed >= f->candidates - f->eliminated) { /* none of those that are left is stable */
            if (!root) break;
            force(f, blocks, vectors);
            failed = 0;
            continue;
        }
        if (j < f->eliminated || j >= f->candidates) j = f->eliminated;
        pivot_choice choice = consider(f, j);
        if (choice.growth * threshold > 1) {
            failed++;
            j++;
            continue;
        }
        take(f, j, choice.partner, blocks, vectors);
        failed = 0;
    }
    for (int64_t i = 0; i < f->n; i++) f->diagonal_size[f->index[i]] = f->size[i];
    (vectors ? update_rest_vector : update_rest_baseline)(f->n, f->candidates, f->eliminated, f->a, blocks, f->work);
}

/* ---- solution ------------------------------------------------------------------------------------------------------------- */

void dense_forward(int64_t n, int64_t pivots, const double *L, double *x) {
    for (int64_t k = 0; k < pivots; k++) {
        const double *l = L + k * n, v = x[k];
        if (v == 0) continue;
        for (int64_t i = k + 1; i < n; i++) x[i] -= l[i] * v;
    }
}

void dense_backward(int64_t n, int64_t pivots, const double *L, const double *diagonal, double *x) {
    for (int64_t k = 0; k < pivots; k++) {
        if (diagonal[2 * k + 1] == 0) {
            x[k] *= diagonal[2 * k];
        } else {
            const double u = x[k], v = x[k + 1];
            x[k] = diagonal[2 * k] * u + diagonal[2 * k + 1] * v;
            x[k + 1] = diagonal[2 * k + 1] * u + diagonal[2 * k + 2] * v;
            k++;
        }
    }
    for (int64_t k = pivots - 1; k >= 0; k--) {
        const double *l = L + k * n;
        double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
        int64_t i = k + 1;
        for (; i + 4 <= n; i += 4) {
            s0 += l[i] * x[i];
            s1 += l[i + 1] * x[i + 1];
            s2 += l[i + 2] * x[i + 2];
            s3 += l[i + 3] * x[i + 3];
        }
        for (; i < n; i++) s0 += l[i] * x[i];
        x[k] -= (s0 + s1) + (s2 + s3);
    }
}
