/* Multifrontal LDL'; see factorization.h.
 *
 * A front is a dense symmetric matrix, its lower triangle stored by columns with leading dimension n. Its indices are, in order:
 * columns that the children delayed, its own pivots, the other rows. The first two kinds are candidates for pivots. */
#include "factorization.h"
#include "dense.h"
#include "memory.h"
#include "ordering.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The numbers of a factored front; indices in the order in which its columns were eliminated, then the remaining ones. */
typedef struct {
    int64_t n, pivots;   /* size of the front, eliminated columns */
    int64_t delayed;     /* candidates that were not eliminated: the first of the remaining indices */
    int64_t index;       /* where its indices begin in `indices` */
    int64_t factor;      /* where its columns begin in `factors`: n x pivots */
    int64_t diagonal;    /* where its inverted diagonal blocks begin in `diagonals`: 2 x pivots */
} factored_front;

struct factorization {
    int64_t size, entries;
    watch *watched;
    front_tree *tree;
    int64_t *before;      /* (fronts,) the front before the subtree of each: its children are q - 1, before[q - 1], ... */
    int64_t *place_of;    /* (all front indices,) where the parent has each remaining row among its own indices; -1 for pivots */
    int64_t *entry_start; /* (fronts + 1,) */
    int64_t *entry;       /* (entries,) number of the entry; by fronts */
    int64_t *entry_row, *entry_column; /* (entries,) places in the front without delayed columns, row >= column */
    int64_t own_count, *own_entry, *own_index; /* entries of the diagonal: their numbers and indices */
    double *diagonal_size, *cancelled; /* (size,) see dense.h */
    int64_t *row, *column; /* (entries,) as given */
    double *scale, *most;  /* (size,) of the equilibration: factors, and the largest entries of the rows */
    double *scaled;        /* (entries,) values of the equilibrated matrix */
    int careful;          /* `cancelled` is used */
    int reserved;         /* the stacks do not grow any more */
    double smallest;      /* size of a pivot */
    factored_front *front;
    /* Stacks that grow as needed. */
    double *factors, *diagonals, *contributions;
    int64_t *indices, *position;
    int64_t factors_room, diagonals_room, contributions_room, indices_room;
    double *dense; /* the front that is being factored */
    int64_t dense_room;
    double *work; /* (5 * size of the largest front,) */
    int64_t work_room;
};

/* ---- analysis ----------------------------------------------------------------------------------------------------------- */

/* at[i]: place of index i in the current front; where[i]: the front that eliminates it. */
static int place_entries(factorization *f, const int64_t *row, const int64_t *column) {
    const front_tree *t = f->tree;
    int64_t *at = new_integers(f->size), *where = new_integers(f->size);
    int fine = at && where && (f->entry_start = new_integers(t->fronts + 2)) && (f->entry = new_integers(f->entries)) &&
               (f->entry_row = new_integers(f->entries)) && (f->entry_column = new_integers(f->entries)) &&
               (f->place_of = new_integers(t->start[t->fronts])) && (f->before = new_integers(t->fronts));
    for (int64_t e = 0; e < f->entries; e++) f->own_count += row[e] == column[e];
    fine = fine && (f->own_entry = new_integers(f->own_count)) && (f->own_index = new_integers(f->own_count));
    for (int64_t e = 0, k = 0; fine && e < f->entries; e++)
        if (row[e] == column[e]) {
            f->own_entry[k] = e;
            f->own_index[k++] = row[e];
        }
    for (int64_t q = 0; fine && q < t->fronts; q++) {
        f->before[q] = q - 1;
        while (f->before[q] >= 0 && t->parent[f->before[q]] == q) f->before[q] = f->before[f->before[q]];
    }
    for (int64_t q = 0; fine && q < t->fronts; q++)
        for (int64_t k = 0; k < t->pivots[q]; k++) where[t->index[t->start[q] + k]] = q;
    for (int64_t e = 0; fine && e < f->entries; e++) {
        int64_t a = where[row[e]], b = where[column[e]];
        f->entry_start[(a < b ? a : b) + 2]++;
    }
    for (int64_t q = 0; fine && q < t->fronts; q++) f->entry_start[q + 2] += f->entry_start[q + 1];
    for (int64_t e = 0; fine && e < f->entries; e++) {
        int64_t a = where[row[e]], b = where[column[e]];
        f->entry[f->entry_start[(a < b ? a : b) + 1]++] = e;
    }
    for (int64_t q = 0; fine && q < t->fronts; q++) {
        for (int64_t k = t->start[q]; k < t->start[q + 1]; k++) at[t->index[k]] = k - t->start[q];
        for (int64_t k = f->entry_start[q]; k < f->entry_start[q + 1]; k++) {
            int64_t a = at[row[f->entry[k]]], b = at[column[f->entry[k]]];
            f->entry_row[k] = a > b ? a : b;
            f->entry_column[k] = a > b ? b : a;
        }
    }
    for (int64_t q = 0; fine && q < t->fronts; q++) {
        int64_t p = t->parent[q];
        if (p >= 0)
            for (int64_t k = t->start[p]; k < t->start[p + 1]; k++) at[t->index[k]] = k - t->start[p];
        for (int64_t k = t->start[q]; k < t->start[q + 1]; k++)
            f->place_of[k] = k < t->start[q] + t->pivots[q] || p < 0 ? -1 : at[t->index[k]];
    }
    free(at);
    free(where);
    return fine;
}

factorization *factorization_new(int64_t size, int64_t entries, const int64_t *row, const int64_t *column, const int64_t *mate,
                                 watch *w) {
    factorization *f = calloc(1, sizeof *f);
    if (!f) return NULL;
    f->size = size;
    f->entries = entries;
    f->watched = w;
    f->tree = front_tree_new(size, entries, row, column, mate, w);
    int fine = f->tree && place_entries(f, row, column) && (f->diagonal_size = new_doubles(size)) && (f->cancelled = new_doubles(size)) &&
               (f->position = new_integers(size)) && (f->row = new_integers(entries)) && (f->column = new_integers(entries)) &&
               (f->scale = new_doubles(size)) && (f->most = new_doubles(size)) && (f->scaled = new_doubles(entries)) &&
               (f->front = calloc((size_t)(f->tree->fronts + 1), sizeof(factored_front)));
    if (fine) {
        memcpy(f->row, row, (size_t)entries * sizeof(int64_t));
        memcpy(f->column, column, (size_t)entries * sizeof(int64_t));
        return f;
    }
    factorization_free(f);
    return NULL;
}

void factorization_free(factorization *f) {
    if (!f) return;
    front_tree_free(f->tree);
    free(f->before);
    free(f->place_of);
    free(f->entry_start);
    free(f->entry);
    free(f->entry_row);
    free(f->entry_column);
    free(f->own_entry);
    free(f->own_index);
    free(f->diagonal_size);
    free(f->cancelled);
    free(f->row);
    free(f->column);
    free(f->scale);
    free(f->most);
    free(f->scaled);
    free(f->front);
    free(f->factors);
    free(f->diagonals);
    free(f->contributions);
    free(f->indices);
    free(f->position);
    free(f->dense);
    free(f->work);
    free(f);
}

/* ---- assembly ----------------------------------------------------------------------------------------------------------- */

static int make_room(const factorization *f, double **array, int64_t *room, int64_t needed) {
    if (*array && needed <= *room) return 1;
    if (f->reserved) return 0;
    int64_t more = needed + needed / 2 + 1024;
    if (!grow_doubles(array, more)) return 0;
    *room = more;
    return 1;
}

static int make_room_for_indices(factorization *f, int64_t needed) {
    if (needed <= f->indices_room) return 1;
    if (f->reserved) return 0;
    int64_t more = needed + needed / 2 + 1024;
    if (!grow(&f->indices, more)) return 0;
    f->indices_room = more;
    return 1;
}

int factorization_reserve(factorization *f) {
    const front_tree *t = f->tree;
    int64_t *n = new_integers(t->fronts), *own = new_integers(t->fronts);
    int64_t largest = 0, candidates = 0, factors = 0, indices = 0, contributions = 0, most = 0;
    int fine = n && own;
    for (int64_t q = 0; fine && q < t->fronts; q++) {
        n[q] += own[q] = t->start[q + 1] - t->start[q];
        if (t->parent[q] >= 0) n[t->parent[q]] += t->pivots[q]; /* delayed */
    }
    for (int64_t q = 0; fine && q < t->fronts; q++) {
        const int64_t p = t->parent[q], eliminated = t->pivots[q] + n[q] - own[q];
        largest = n[q] > largest ? n[q] : largest;
        candidates = eliminated > candidates ? eliminated : candidates;
        factors += t->pivots[q] * (p >= 0 && n[p] > n[q] ? n[p] : n[q]); /* each column is eliminated in its front or in the parent */
        indices += n[q];
        for (int64_t c = q - 1; c > f->before[q]; c = f->before[c]) contributions -= own[c] * own[c];
        contributions += own[q] * own[q]; /* columns that the children delayed are eliminated */
        most = contributions > most ? contributions : most;
    }
    fine = fine && make_room(f, &f->dense, &f->dense_room, largest * largest) && make_room_for_indices(f, indices) &&
           make_room(f, &f->work, &f->work_room, 5 * largest + 4) && make_room(f, &f->factors, &f->factors_room, factors) &&
           make_room(f, &f->diagonals, &f->diagonals_room, 2 * (f->size + candidates)) &&
           make_room(f, &f->contributions, &f->contributions_room, most);
    free(n);
    free(own);
    f->reserved = fine;
    return fine ? 0 : -1;
}

/* Stacks: how much of each is in use. Contributions of children lie on top, the last child's uppermost. */
typedef struct {
    int64_t factors, diagonals, contributions, indices;
} stack_tops;

/* Add a child's contribution, which holds its remaining rows: delayed ones, then those of the tree. `position`: (its rows,). */
static void extend_add(const double *contribution, int64_t rows, const int64_t *position, double *dense, int64_t n) {
    int64_t ordered = 1; /* how many positions increase from the last on */
    while (ordered < rows && position[rows - ordered - 1] < position[rows - ordered]) ordered++;
    for (int64_t j = 0; j < rows; j++) {
        const int64_t b = position[j];
        const double *from = contribution + j * rows;
        if (j >= rows - ordered) {
            double *to = dense + b * n;
            for (int64_t i = j; i < rows; i++) to[position[i]] += from[i];
            continue;
        }
        for (int64_t i = j; i < rows; i++) {
            const int64_t a = position[i];
            dense[a > b ? a + b * n : b + a * n] += from[i];
        }
    }
}

/* Build the dense front q: its entries of A, and the contributions of its children. Returns its size, -1 without memory. */
static int64_t assemble(factorization *f, int64_t q, const double *values, stack_tops *top) {
    const front_tree *t = f->tree;
    const int64_t own = t->start[q + 1] - t->start[q];
    int64_t delayed = 0;
    for (int64_t c = q - 1; c > f->before[q]; c = f->before[c]) delayed += f->front[c].delayed;
    const int64_t n = own + delayed;
    if (!make_room(f, &f->dense, &f->dense_room, n * n) || !make_room_for_indices(f, top->indices + n)) return -1;
    if (!make_room(f, &f->work, &f->work_room, 5 * n + 4)) return -1;
    memset(f->dense, 0, (size_t)(n * n) * sizeof(double));
    int64_t *index = f->indices + top->indices;
    memcpy(index + delayed, t->index + t->start[q], (size_t)own * sizeof(int64_t));
    for (int64_t k = f->entry_start[q]; k < f->entry_start[q + 1]; k++)
        f->dense[f->entry_row[k] + delayed + (f->entry_column[k] + delayed) * n] += values[f->entry[k]];
    int64_t at = 0;
    for (int64_t c = q - 1; c > f->before[q]; c = f->before[c]) {
        const factored_front *child = &f->front[c];
        const int64_t rows = child->n - child->pivots, *remaining = f->indices + child->index + child->pivots;
        int64_t *position = f->position; /* fits: a child's remaining indices are different ones */
        for (int64_t k = 0; k < child->delayed; k++) {
            index[at] = remaining[k];
            position[k] = at++;
        }
        const int64_t kept = rows - child->delayed;
        for (int64_t k = 0; k < kept; k++) position[child->delayed + k] = f->place_of[t->start[c + 1] - kept + k] + delayed;
        top->contributions -= rows * rows;
        extend_add(f->contributions + top->contributions, rows, position, f->dense, n);
    }
    return n;
}

/* ---- equilibration -------------------------------------------------------------------------------------------------------- */

enum { ROUNDS = 3 };

/* scaled := D A D, where D makes the largest entry of each row about one (Ruiz, RAL-TR-2001-034). A pivot is accepted by its size
 * relative to its column: in rows of very different sizes few are, and columns are delayed to large fronts. The factors are powers of
 * two: scaling does not round. */
static void equilibrate(factorization *f, const double *values) {
    double *d = f->scale, *most = f->most;
    for (int64_t i = 0; i < f->size; i++) d[i] = 1;
    for (int round = 0; round < ROUNDS; round++) {
        memset(most, 0, (size_t)f->size * sizeof(double));
        for (int64_t e = 0; e < f->entries; e++) {
            const int64_t a = f->row[e], b = f->column[e];
            const double v = fabs(values[e]) * d[a] * d[b];
            if (v > most[a]) most[a] = v;
            if (v > most[b]) most[b] = v;
        }
        for (int64_t i = 0; i < f->size; i++) {
            int exponent;
            if (!(most[i] > 0)) continue;
            frexp(most[i], &exponent);
            d[i] = ldexp(d[i], -exponent / 2);
        }
    }
    for (int64_t e = 0; e < f->entries; e++) f->scaled[e] = values[e] * d[f->row[e]] * d[f->column[e]];
}

static void multiply_by_scale(const factorization *f, double *b) {
    for (int64_t i = 0; i < f->size; i++) b[i] *= f->scale[i];
}

/* ---- numbers ------------------------------------------------------------------------------------------------------------ */

/* Factor front q, keep its columns, push its contribution. */
static int factor_front(factorization *f, int64_t q, const double *values, double threshold, stack_tops *top,
                        factorization_report *report) {
    const front_tree *t = f->tree;
    const int64_t n = assemble(f, q, values, top);
    if (n < 0) return -1;
    factored_front *front = &f->front[q];
    int64_t *index = f->indices + top->indices;
    const int64_t own = t->start[q + 1] - t->start[q], candidates = n - own + t->pivots[q];
    if (!make_room(f, &f->diagonals, &f->diagonals_room, top->diagonals + 2 * candidates)) return -1;
    dense_front d = {n, candidates, f->dense, index, f->diagonals + top->diagonals, f->work, f->diagonal_size,
                     f->careful ? f->cancelled : NULL, NULL, 0, 0, 0, f->smallest};
    dense_factor(&d, threshold, t->parent[q] < 0);
    f->smallest = d.smallest;
    const int64_t pivots = d.eliminated, rows = n - pivots;
    *front = (factored_front){n, pivots, candidates - pivots, top->indices, top->factors, top->diagonals};
    report->negative += d.negative;
    report->zero += d.zero;
    report->delayed += front->delayed;
    report->entries += n * pivots;
    if (!make_room(f, &f->factors, &f->factors_room, top->factors + n * pivots) ||
        !make_room(f, &f->contributions, &f->contributions_room, top->contributions + rows * rows))
        return -1;
    memcpy(f->factors + top->factors, f->dense, (size_t)(n * pivots) * sizeof(double));
    double *contribution = f->contributions + top->contributions;
    for (int64_t j = 0; j < rows && t->parent[q] >= 0; j++)
        memcpy(contribution + j * rows + j, f->dense + (pivots + j) * n + pivots + j, (size_t)(rows - j) * sizeof(double));
    top->factors += n * pivots;
    top->diagonals += 2 * pivots;
    top->indices += n;
    if (t->parent[q] >= 0) top->contributions += rows * rows;
    return 0;
}

static void measure_columns(factorization *f, const double *values) {
    memset(f->diagonal_size, 0, (size_t)f->size * sizeof(double));
    memset(f->cancelled, 0, (size_t)f->size * sizeof(double));
    for (int64_t k = 0; k < f->own_count; k++) {
        const double v = fabs(values[f->own_entry[k]]);
        if (v > f->diagonal_size[f->own_index[k]]) f->diagonal_size[f->own_index[k]] = v;
    }
}

static int factor_all(factorization *f, const double *values, double threshold, factorization_report *report) {
    stack_tops top = {0, 0, 0, 0};
    memset(report, 0, sizeof *report);
    f->smallest = INFINITY;
    measure_columns(f, values);
    for (int64_t q = 0; q < f->tree->fronts; q++) {
        if (factor_front(f, q, values, threshold, &top, report)) return -1;
        const double n = (double)f->front[q].n;
        if (is_stopped(f->watched, n * n * (double)(1 + f->front[q].pivots))) return -1;
    }
    return 0;
}

static const double SUSPICIOUS = 1e-22; /* a pivot: the square of rounding, where rows of size one depend on each other */

int factorization_compute(factorization *f, const double *values, double threshold, factorization_report *report) {
    double sum = 0;
    for (int64_t e = 0; e < f->entries; e++) sum += fabs(values[e]);
    if (!isfinite(sum)) return -1;
    equilibrate(f, values);
    f->careful = 0;
    int failed = factor_all(f, f->scaled, threshold, report);
    if (!failed && f->smallest < SUSPICIOUS) { /* again, and tell rounding from small numbers: this takes longer */
        f->careful = 1;
        failed = factor_all(f, f->scaled, threshold, report);
    }
    return failed;
}

/* ---- solution ----------------------------------------------------------------------------------------------------------- */

int factorization_solve(factorization *f, double *b) {
    double *x = f->work;
    multiply_by_scale(f, b);
    for (int64_t q = 0; q < f->tree->fronts; q++) {
        const factored_front *front = &f->front[q];
        const int64_t *index = f->indices + front->index;
        for (int64_t i = 0; i < front->n; i++) x[i] = b[index[i]];
        dense_forward(front->n, front->pivots, f->factors + front->factor, x);
        for (int64_t i = 0; i < front->n; i++) b[index[i]] = x[i];
        if (is_stopped(f->watched, (double)(front->n * (1 + front->pivots)))) return -1;
    }
    for (int64_t q = f->tree->fronts - 1; q >= 0; q--) {
        const factored_front *front = &f->front[q];
        const int64_t *index = f->indices + front->index;
        for (int64_t i = 0; i < front->n; i++) x[i] = b[index[i]];
        dense_backward(front->n, front->pivots, f->factors + front->factor, f->diagonals + front->diagonal, x);
        for (int64_t i = 0; i < front->pivots; i++) b[index[i]] = x[i];
        if (is_stopped(f->watched, (double)(front->n * (1 + front->pivots)))) return -1;
    }
    multiply_by_scale(f, b);
    return 0;
}
