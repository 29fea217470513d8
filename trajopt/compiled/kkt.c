/* The linear system of a step. Attached variables are eliminated by hand; what remains is
 *
 *     ( H + Sigma + shift    J'                          ) (dx     )       (dual residual                             )
 *     ( J                    -(row_shift + condensed)    ) (dlambda)  =  - (row residual - sum of sign dual / (Sigma + shift))
 */
#include "iterate.h"
#include "memory.h"
#include "ordering.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double NO_DIAGONAL = 1e-20; /* of an attached variable without bounds */

/* ---- structure -------------------------------------------------------------------------------------------------------------- */

static int is_equality(const interior_point_bounds *b, int64_t row) { return b->g_lower[row] >= b->g_upper[row]; }

static int there(const placement *j, int64_t row, int64_t column) {
    for (int64_t k = j->start[column]; k < j->start[column + 1]; k++)
        if (j->row[k] == row) return 1;
    return 0;
}

/* A kernel's output c and its input c at one place: a state and the defect of its collocation equation, an algebraic variable and
 * its equation. */
static void pair_within_places(const scaled_program *s, const interior_point_bounds *bounds, int64_t *mate) {
    for (int64_t q = 0; q < s->p->blocks; q++) {
        const program_block *b = &s->p->block[q];
        for (int64_t place = 0; place < b->count; place++)
            for (int64_t c = 0; c < b->constraint_rows && c < b->inputs; c++) {
                const int64_t out = place * b->constraint_rows + c, in = place * b->inputs + c;
                if (b->scatter.start[out + 1] - b->scatter.start[out] != 1) continue;
                if (b->gather.start[in + 1] - b->gather.start[in] != 1) continue;
                const int64_t row = b->scatter.index[b->scatter.start[out]];
                const int64_t unknown = b->gather.index[b->gather.start[in]], i = s->free_of[unknown];
                if (i < 0 || !is_equality(bounds, row) || mate[i] >= 0 || mate[s->free + row] >= 0) continue;
                if (!there(&s->e->jacobian, row, unknown)) continue;
                mate[i] = s->free + row;
                mate[s->free + row] = i;
            }
    }
}

/* Equalities that are left: the unknown with the largest derivative among those that are free for a pair and not in many rows. */
static void pair_by_size(const scaled_program *s, const interior_point_bounds *bounds, int64_t *mate, double *best, int64_t *of) {
    const placement *j = &s->e->jacobian;
    for (int64_t column = 0; column < j->columns; column++) {
        const int64_t i = s->free_of[column];
        if (i < 0 || mate[i] >= 0 || j->start[column + 1] - j->start[column] > 40) continue;
        for (int64_t k = j->start[column]; k < j->start[column + 1]; k++) {
            const int64_t row = j->row[k];
            if (mate[s->free + row] >= 0 || !is_equality(bounds, row) || fabs(s->jacobian[k]) <= best[row]) continue;
            best[row] = fabs(s->jacobian[k]);
            of[row] = i;
        }
    }
    for (int64_t row = 0; row < s->rows; row++) {
        if (best[row] <= 0 || mate[of[row]] >= 0) continue; /* another row was first; this one stays single */
        mate[of[row]] = s->free + row;
        mate[s->free + row] = of[row];
    }
}

static int make_mates(const scaled_program *s, const interior_point_bounds *bounds, int64_t *mate) {
    double *best = new_doubles(s->rows);
    int64_t *of = new_integers(s->rows), single = 0;
    const int fine = best && of;
    for (int64_t i = 0; i < s->free + s->rows; i++) mate[i] = ALONE;
    if (fine) {
        pair_within_places(s, bounds, mate);
        pair_by_size(s, bounds, mate, best, of);
        for (int64_t row = 0; row < s->rows; row++) single += is_equality(bounds, row) && mate[s->free + row] < 0;
        /* A few conditions at the ends get their pivots from the whole trajectory. */
        for (int64_t row = 0; row < s->rows && single <= 64; row++)
            if (is_equality(bounds, row) && mate[s->free + row] < 0) mate[s->free + row] = LAST;
    }
    free(best);
    free(of);
    return fine;
}

static void place_entries(scaled_program *s) {
    const placement *h = &s->e->hessian, *j = &s->e->jacobian;
    s->entries = 0;
    for (int64_t k = 0; k < h->nonzeros; k++) {
        const int64_t a = s->free_of[h->row[k]], b = s->free_of[h->column[k]];
        s->hessian_entry[k] = a < 0 || b < 0 ? -1 : s->entries;
        if (a >= 0 && b >= 0) s->entry_row[s->entries] = a, s->entry_column[s->entries++] = b;
    }
    for (int64_t k = 0; k < j->nonzeros; k++) {
        const int64_t a = s->free_of[j->column[k]];
        s->jacobian_entry[k] = a < 0 ? -1 : s->entries;
        if (a >= 0) s->entry_row[s->entries] = s->free + j->row[k], s->entry_column[s->entries++] = a;
    }
    s->diagonal_entry = s->entries;
    for (int64_t i = 0; i < s->free + s->rows; i++) s->entry_row[s->entries] = i, s->entry_column[s->entries++] = i;
}

int kkt_new(scaled_program *s, const interior_point_bounds *bounds) {
    const placement *h = &s->e->hessian, *j = &s->e->jacobian;
    const int64_t size = s->free + s->rows, most = h->nonzeros + j->nonzeros + size;
    const double began = seconds_now();
    int64_t *mate = new_integers(size);
    int fine = mate && (s->entry_row = new_integers(most)) && (s->entry_column = new_integers(most)) &&
               (s->hessian_entry = new_integers(h->nonzeros)) && (s->jacobian_entry = new_integers(j->nonzeros)) &&
               (s->entry_value = new_doubles(most)) && (s->right = new_doubles(size)) && (s->solution = new_doubles(size)) &&
               (s->residual = new_doubles(size)) && make_mates(s, bounds, mate);
    if (fine) {
        place_entries(s);
        s->kkt = factorization_new(size, s->entries, s->entry_row, s->entry_column, mate, &s->watched);
    }
    s->threshold = 1e-6;
    free(mate);
    s->report->seconds_analysis += seconds_now() - began;
    return fine && s->kkt;
}

/* ---- numbers ---------------------------------------------------------------------------------------------------------------- */

/* Values of the matrix; `weight` of the Hessian is 0 for least-squares multipliers. */
static void fill(iterate *w, double weight) {
    scaled_program *s = w->s;
    const placement *h = &s->e->hessian, *j = &s->e->jacobian;
    for (int64_t k = 0; k < h->nonzeros; k++)
        if (s->hessian_entry[k] >= 0) s->entry_value[s->hessian_entry[k]] = weight * s->hessian[k];
    for (int64_t k = 0; k < j->nonzeros; k++)
        if (s->jacobian_entry[k] >= 0) s->entry_value[s->jacobian_entry[k]] = s->jacobian[k];
}

static void fill_diagonal(iterate *w) {
    scaled_program *s = w->s;
    double *diagonal = s->entry_value + s->diagonal_entry;
    for (int64_t i = 0; i < s->free; i++) diagonal[i] = w->sigma[i] + w->shift;
    for (int64_t i = 0; i < s->rows; i++) w->condensed[i] = 0;
    for (int64_t a = 0; a < w->attached; a++)
        w->condensed[w->row[a]] += 1 / fmax(w->sigma[s->free + a] + w->shift, NO_DIAGONAL);
    for (int64_t i = 0; i < s->rows; i++) diagonal[s->free + i] = -(w->row_shift + w->condensed[i]);
}

static int compute(iterate *w, factorization_report *found) {
    scaled_program *s = w->s;
    const double began = seconds_now();
    fill_diagonal(w);
    const int failed = factorization_compute(s->kkt, s->entry_value, s->threshold, found);
    s->report->factorizations++;
    s->report->delayed += found->delayed;
    s->report->seconds_factorization += seconds_now() - began;
    return failed;
}

static void make_sigma(iterate *w) {
    for (int64_t i = 0; i < w->size; i++) {
        w->sigma[i] = 0;
        if (isfinite(w->lower[i])) w->sigma[i] += w->z_lower[i] / (w->x[i] - w->lower[i]);
        if (isfinite(w->upper[i])) w->sigma[i] += w->z_upper[i] / (w->upper[i] - w->x[i]);
        if (i < w->s->free && w->proximity > 0) w->sigma[i] += w->proximity * w->weight[i] * w->weight[i];
    }
}

/* ---- shifts that give the right inertia ----------------------------------------------------------------------------------------- */

static const double FIRST_SHIFT = 1e-4, LEAST_SHIFT = 1e-20, LARGEST_SHIFT = 1e20;
enum { DEGENERATE_ITERATIONS = 3 }; /* in which only shifts made the matrix regular: then they are used from the start */

/* The next larger shift of the Hessian, WB algorithm IC, IC-3 to IC-6. 0, or -1 past the largest. */
static int enlarge(iterate *w) {
    if (w->shift == 0)
        w->shift = w->last_shift == 0 ? FIRST_SHIFT : fmax(LEAST_SHIFT, w->last_shift / 3);
    else
        w->shift *= w->last_shift == 0 || 1e5 * w->last_shift < w->shift ? 100 : 8;
    if (w->shift <= LARGEST_SHIFT) return 0;
    w->last_shift = 0;
    return -1;
}

/* What the shifts that were tried last say about the matrix. */
static void conclude(iterate *w) {
    const int rows_shifted = w->row_shift > 0, shifted = w->shift > 0;
    if (!w->testing) return;
    w->testing = 0;
    if (rows_shifted || shifted) w->degenerate_iterations++;
    const int often = w->degenerate_iterations >= DEGENERATE_ITERATIONS;
    if (!shifted && w->hessian_rank == RANK_UNKNOWN) w->hessian_rank = RANK_FULL;
    if (!rows_shifted && w->row_rank == RANK_UNKNOWN) w->row_rank = RANK_FULL;
    if (shifted && often && w->hessian_rank == RANK_UNKNOWN) w->hessian_rank = RANK_DEFICIENT;
    if (rows_shifted && often && w->row_rank == RANK_UNKNOWN) w->row_rank = RANK_DEFICIENT;
}

/* Shifts for a singular matrix. While it is not known which part is singular: the rows alone, the Hessian alone, both. */
static int shift_singular(iterate *w, double row_shift) {
    if (!w->testing) {
        if (w->row_shift > 0) return enlarge(w);
        w->row_shift = row_shift;
        return 0;
    }
    if (w->shift == 0 && w->row_shift == 0 && w->row_rank == RANK_UNKNOWN) {
        w->row_shift = row_shift;
        return 0;
    }
    w->row_shift = w->shift > 0 || w->row_rank == RANK_DEFICIENT ? row_shift : 0;
    return enlarge(w);
}

/* Shifts for a matrix with too many negative eigenvalues. */
static int shift_indefinite(iterate *w, double row_shift) {
    conclude(w);
    if (!enlarge(w)) return 0;
    if (w->row_shift > 0) return -1;
    w->row_shift = row_shift;
    w->shift = 0;
    if (w->hessian_rank == RANK_DEFICIENT) w->hessian_rank = RANK_UNKNOWN;
    return enlarge(w);
}

/* The rules are those of IPOPT (class PDPerturbationHandler), which extend WB algorithm IC by the test of singular matrices. */
int kkt_factor(iterate *w) {
    const int64_t rows = w->s->rows;
    const double row_shift = 1e-8 * pow(w->mu, 0.25);
    factorization_report found;
    make_sigma(w);
    fill(w, 1);
    w->testing = w->hessian_rank == RANK_UNKNOWN || w->row_rank == RANK_UNKNOWN;
    w->row_shift = w->row_rank == RANK_DEFICIENT ? row_shift : 0;
    w->shift = 0;
    if (w->hessian_rank == RANK_DEFICIENT && enlarge(w)) return -1;
    for (;;) {
        if (compute(w, &found)) return -1;
        if (found.negative == rows && found.zero == 0) break;
        const int singular = found.zero > 0 || found.negative < rows;
        if (singular ? shift_singular(w, row_shift) : shift_indefinite(w, row_shift)) return -1;
    }
    conclude(w);
    if (w->shift > 0) w->last_shift = w->shift;
    return 0;
}

/* residual := right - A solution; returns its size relative to the right-hand side and the solution. */
static double refine_residual(scaled_program *s) {
    const int64_t size = s->free + s->rows;
    memcpy(s->residual, s->right, (size_t)size * sizeof(double));
    for (int64_t k = 0; k < s->diagonal_entry; k++) {
        const int64_t a = s->entry_row[k], b = s->entry_column[k];
        const double v = s->entry_value[k];
        s->residual[a] -= v * s->solution[b];
        if (a != b) s->residual[b] -= v * s->solution[a];
    }
    double worst = 0, right = 0, solution = 0;
    for (int64_t i = 0; i < size; i++) {
        s->residual[i] -= s->entry_value[s->diagonal_entry + i] * s->solution[i];
        worst = greater(worst, fabs(s->residual[i]));
        right = greater(right, fabs(s->right[i]));
        solution = greater(solution, fabs(s->solution[i]));
    }
    return worst / (right + fmin(solution, 1e6 * right) + 1e-300);
}

/* Iterative refinement until the residual ratio of IPOPT, 1e-10, or until it does not help. */
int kkt_solve_refined(scaled_program *s) {
    const int64_t size = s->free + s->rows;
    memcpy(s->solution, s->right, (size_t)size * sizeof(double));
    if (factorization_solve(s->kkt, s->solution)) return -1;
    double before = INFINITY;
    for (int step = 0; step < 6; step++) {
        const double ratio = refine_residual(s);
        if (!(ratio > 1e-12) || ratio > 0.3 * before) break;
        before = ratio;
        if (factorization_solve(s->kkt, s->residual)) return -1;
        for (int64_t i = 0; i < size; i++) s->solution[i] += s->residual[i];
    }
    return 0;
}

int kkt_direction(iterate *w, const double *dual, const double *primal, double *dx, double *dlambda) {
    scaled_program *s = w->s;
    for (int64_t i = 0; i < s->free; i++) s->right[i] = -dual[i];
    for (int64_t i = 0; i < s->rows; i++) s->right[s->free + i] = -primal[i];
    for (int64_t a = 0; a < w->attached; a++) {
        const double d = fmax(w->sigma[s->free + a] + w->shift, NO_DIAGONAL);
        s->right[s->free + w->row[a]] += w->sign[a] * dual[s->free + a] / d;
    }
    if (kkt_solve_refined(s)) return -1;
    memcpy(dx, s->solution, (size_t)s->free * sizeof(double));
    memcpy(dlambda, s->solution + s->free, (size_t)s->rows * sizeof(double));
    for (int64_t a = 0; a < w->attached; a++) {
        const double d = fmax(w->sigma[s->free + a] + w->shift, NO_DIAGONAL);
        dx[s->free + a] = -(dual[s->free + a] + w->sign[a] * dlambda[w->row[a]]) / d;
    }
    return 0;
}

int kkt_multipliers(iterate *w) {
    scaled_program *s = w->s;
    factorization_report found;
    for (int64_t i = 0; i < w->size; i++) {
        w->sigma[i] = 1;
        w->dual[i] = w->gradient[i] - w->z_lower[i] + w->z_upper[i];
    }
    memset(w->c, 0, (size_t)s->rows * sizeof(double));
    memset(w->lambda, 0, (size_t)s->rows * sizeof(double));
    w->shift = w->row_shift = 0;
    fill(w, 0);
    if (compute(w, &found) || kkt_direction(w, w->dual, w->c, w->dx, w->dlambda)) return -1;
    double most = 0;
    for (int64_t i = 0; i < s->rows; i++) most = greater(most, fabs(w->dlambda[i]));
    if (most <= 1e3 && found.zero == 0) memcpy(w->lambda, w->dlambda, (size_t)s->rows * sizeof(double));
    return 0;
}
