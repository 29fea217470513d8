/* The barrier parameter: monotone as WB (7), or adapted in every iteration by the quality function of NWW as long as the iterates
 * make progress. */
#include "iterate.h"

#include <math.h>
#include <string.h>

/* ---- progress in free mode ---------------------------------------------------------------------------------------------------- */

static double squared(const double *v, int64_t count) {
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += v[i] * v[i];
    return sum;
}

/* Mean squares of the dual, primal and complementarity residuals. */
static double squared_error(const iterate *w) {
    double products = 0;
    for (int64_t i = 0; i < w->size; i++) {
        if (isfinite(w->lower[i])) products += pow((w->x[i] - w->lower[i]) * w->z_lower[i], 2);
        if (isfinite(w->upper[i])) products += pow((w->upper[i] - w->x[i]) * w->z_upper[i], 2);
    }
    const int64_t rows = w->s->rows;
    return squared(w->dual, w->size) / (double)w->size + (rows ? squared(w->c, rows) / (double)rows : 0) +
           products / (double)w->bounds;
}

static double sum_of_violations(const iterate *w) {
    double sum = 0;
    for (int64_t i = 0; i < w->s->rows; i++) sum += fabs(w->c[i]);
    return sum;
}

/* Whether the last steps in free mode reduced the error, or objective or violation; remembers this iterate if so. */
static int makes_progress(iterate *w) {
    if (w->tiny) return 0;
    if (w->s->options->fitted) {
        const double error = squared_error(w);
        int progress = w->reference_count < 4;
        for (int64_t k = 0; k < w->reference_count; k++) progress |= error <= 0.9999 * w->references[k];
        if (!progress) return 0;
        if (w->reference_count == 4) memmove(w->references, w->references + 1, 3 * sizeof(double)), w->reference_count = 3;
        w->references[w->reference_count++] = error;
        return 1;
    }
    const double margin = 1e-5 * fmin(1, w->error), violation = sum_of_violations(w);
    if (!filter_accepts(&w->progress_filter, violation + margin, w->f + margin)) return 0;
    filter_add(&w->progress_filter, violation, w->f);
    return 1;
}

/* ---- the parameter ------------------------------------------------------------------------------------------------------------ */

static void decrease(iterate *w) {
    const double tolerance = w->s->options->tolerance;
    const double least = fmin(tolerance, w->s->options->complementarity) / 11;
    for (int k = 0; k < 20; k++) {
        if ((point_barrier_error(w, w->mu) > 10 * w->mu && !w->tiny) || w->mu <= least) break;
        w->mu = fmax(least, fmin(0.2 * w->mu, pow(w->mu, 1.5)));
        w->line_filter.count = 0;
        w->tiny = 0;
    }
    w->tau = fmax(0.99, 1 - w->mu);
}

void barrier_update(iterate *w) {
    if (w->bounds == 0 && !w->s->options->monotone) {
        w->freely = 0;
        w->mu = w->mu_min;
    } else if (!w->s->options->monotone) {
        if (w->mu_max < 0) w->mu_max = 1e3 * w->average;
        if (makes_progress(w)) {
            w->freely = 1;
        } else if (w->freely) {
            w->freely = 0;
            w->mu = fmin(fmax(0.8 * w->average, w->mu_min), w->mu_max);
            w->line_filter.count = 0;
            w->tiny = 0;
        }
    }
    if (!w->freely) decrease(w);
    if (w->restoring) point_proximity(w, sqrt(w->mu));
}

/* ---- the quality function ------------------------------------------------------------------------------------------------------ */

/* One bound along the direction affine + sigma * centring: distance and multiplier, and their rates by 1 and by sigma. */
typedef struct {
    double d, z, rate[4];
} bound_along;

/* All finite bounds, in w->along; returns how many. */
static int64_t bounds_along(iterate *w) {
    bound_along *b = (bound_along *)w->along;
    for (int64_t i = 0; i < w->size; i++)
        for (int upper = 0; upper < 2; upper++) {
            if (!isfinite(upper ? w->upper[i] : w->lower[i])) continue;
            const double side = upper ? -1 : 1, z = upper ? w->z_upper[i] : w->z_lower[i];
            const double d = upper ? w->upper[i] - w->x[i] : w->x[i] - w->lower[i], ratio = z / d;
            const double first = side * w->affine[i], second = side * w->centring[i];
            *b++ = (bound_along){d, z, {first, second, -z - ratio * first, w->average / d - ratio * second}};
        }
    return b - (bound_along *)w->along;
}

/* Linear model of the squared error after the step with mu = sigma * average, NWW (3.10). */
static double quality(const iterate *w, int64_t bounds, double sigma, double dual, double primal) {
    const bound_along *b = (const bound_along *)w->along;
    double to_bound = 0, to_zero = 0, products = 0;
    for (int64_t k = 0; k < bounds; k++) {
        to_bound = greater(to_bound, -(b[k].rate[0] + sigma * b[k].rate[1]) / b[k].d);
        to_zero = greater(to_zero, -(b[k].rate[2] + sigma * b[k].rate[3]) / b[k].z);
    }
    const double step = to_bound > w->tau ? w->tau / to_bound : 1, dual_step = to_zero > w->tau ? w->tau / to_zero : 1;
    for (int64_t k = 0; k < bounds; k++) {
        const double product = (b[k].d + step * (b[k].rate[0] + sigma * b[k].rate[1])) *
                               (b[k].z + dual_step * (b[k].rate[2] + sigma * b[k].rate[3]));
        products += product * product;
    }
    return (1 - dual_step) * (1 - dual_step) * dual + (1 - step) * (1 - step) * primal + products / (double)w->bounds;
}

/* Golden section for the centring parameter, as IPOPT's quality-function oracle. */
static double best_centring(iterate *w) {
    const int64_t rows = w->s->rows, bounds = bounds_along(w);
    const double dual = squared(w->dual, w->size) / (double)w->size, primal = rows ? squared(w->c, rows) / (double)rows : 0;
#define Q(sigma) quality(w, bounds, sigma, dual, primal)
    double low, high;
    if (Q(0.99) > Q(1.0))
        low = 1, high = fmin(1e2, w->mu_max / w->average);
    else
        low = fmax(1e-6, w->mu_min / w->average), high = fmin(0.99, w->mu_max / w->average);
    if (low >= high) return high;
    const double golden = 0.3819660112501051, first = low, last = high;
    double a = low + golden * (high - low), b = low + (1 - golden) * (high - low), qa = Q(a), qb = Q(b);
    for (int k = 0; k < 8 && high - low >= 0.01 * high; k++) {
        if (qa > qb) {
            low = a, a = b, qa = qb;
            b = low + (1 - golden) * (high - low), qb = Q(b);
        } else {
            high = b, b = a, qb = qa;
            a = low + golden * (high - low), qa = Q(a);
        }
    }
    const double sigma = qa < qb ? a : b, best = fmin(qa, qb);
    if (high == last && Q(last) < best) return last;
    if (low == first && Q(first) < best) return first;
    return sigma;
#undef Q
}

/* ---- the direction ------------------------------------------------------------------------------------------------------------- */

/* Gradient of the Lagrangian without multipliers of bounds. */
static double without_bounds(const iterate *w, int64_t i) { return w->dual[i] + w->z_lower[i] - w->z_upper[i]; }

/* w->dual is the residual with z; the condensed system has the barrier's gradient in the place of z. */
static int choose_freely(iterate *w) {
    double *right = w->trial, *nothing = w->trial_c;
    for (int64_t i = 0; i < w->size; i++) right[i] = without_bounds(w, i);
    if (kkt_direction(w, right, w->c, w->affine, w->affine_lambda)) return -1;
    for (int64_t i = 0; i < w->size; i++) right[i] = point_barrier_gradient(w, i, w->average);
    memset(nothing, 0, (size_t)w->s->rows * sizeof(double));
    if (kkt_direction(w, right, nothing, w->centring, w->centring_lambda)) return -1;
    w->tau = fmax(0.99, 1 - w->error);
    w->mu = fmin(fmax(best_centring(w) * w->average, w->mu_min), w->mu_max);
    const double sigma = w->mu / w->average;
    for (int64_t i = 0; i < w->size; i++) w->dx[i] = w->affine[i] + sigma * w->centring[i];
    for (int64_t i = 0; i < w->s->rows; i++) w->dlambda[i] = w->affine_lambda[i] + sigma * w->centring_lambda[i];
    w->line_filter.count = 0;
    return 0;
}

int barrier_direction(iterate *w) {
    if (w->freely) {
        if (choose_freely(w)) return -1;
    } else {
        double *right = w->trial;
        for (int64_t i = 0; i < w->size; i++) right[i] = without_bounds(w, i) + point_barrier_gradient(w, i, w->mu);
        if (kkt_direction(w, right, w->c, w->dx, w->dlambda)) return -1;
    }
    barrier_multipliers(w);
    return 0;
}

void barrier_multipliers(iterate *w) {
    for (int64_t i = 0; i < w->size; i++) {
        if (isfinite(w->lower[i])) {
            const double d = w->x[i] - w->lower[i], z = w->z_lower[i];
            w->dz_lower[i] = w->mu / d - z - z / d * w->dx[i];
        }
        if (isfinite(w->upper[i])) {
            const double d = w->upper[i] - w->x[i], z = w->z_upper[i];
            w->dz_upper[i] = w->mu / d - z + z / d * w->dx[i];
        }
    }
}
