/* The linear system of a step of the interior-point method. Attached variables are eliminated by hand; what remains is
 *
 *     ( H + Sigma + shift    J'                          ) (dx     )       (dual residual                             )
 *     ( J                    -(row_shift + condensed)    ) (dlambda)  =  - (row residual - sum of sign dual / (Sigma + shift))
 */
#include "iterate.h"

#include <math.h>
#include <string.h>

static const double NO_DIAGONAL = 1e-20; /* of an attached variable without bounds */

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

/* ---- directions ---------------------------------------------------------------------------------------------------------------- */

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
