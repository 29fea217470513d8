/* The filter line search with second-order corrections, WB section 2.3 and 2.4. */
#include "iterate.h"

#include <math.h>
#include <string.h>

static const double GAMMA_THETA = 1e-5, GAMMA_PHI = 1e-8, DELTA = 1, S_THETA = 1.1, S_PHI = 2.3, ETA = 1e-8;
enum { MOST_CORRECTIONS = 4 };

int filter_accepts(const filter *f, double violation, double objective) {
    for (int64_t k = 0; k < f->count; k++)
        if (violation >= f->violation[k] && objective >= f->objective[k]) return 0;
    return 1;
}

void filter_add(filter *f, double violation, double objective) {
    int64_t kept = 0;
    for (int64_t k = 0; k < f->count; k++) /* the new pair makes those that it dominates superfluous */
        if (f->violation[k] < violation || f->objective[k] < objective) {
            f->violation[kept] = f->violation[k];
            f->objective[kept++] = f->objective[k];
        }
    if (kept == MOST_IN_FILTER) kept--;
    f->violation[kept] = violation;
    f->objective[kept] = objective;
    f->count = kept + 1;
}

/* The largest step that keeps a part 1 - tau of every distance to a bound, WB (15a). */
static double longest(const iterate *w, const double *dx) {
    double step = 1;
    for (int64_t i = 0; i < w->size; i++) {
        if (dx[i] < 0 && isfinite(w->lower[i])) step = fmin(step, -w->tau * (w->x[i] - w->lower[i]) / dx[i]);
        if (dx[i] > 0 && isfinite(w->upper[i])) step = fmin(step, w->tau * (w->upper[i] - w->x[i]) / dx[i]);
    }
    return step;
}

double longest_dual(const iterate *w) {
    double step = 1;
    for (int64_t i = 0; i < w->size; i++) {
        if (w->dz_lower[i] < 0) step = fmin(step, -w->tau * w->z_lower[i] / w->dz_lower[i]);
        if (w->dz_upper[i] < 0) step = fmin(step, -w->tau * w->z_upper[i] / w->dz_upper[i]);
    }
    return step;
}

static double sum_of(const double *c, int64_t rows) {
    double sum = 0;
    for (int64_t i = 0; i < rows; i++) sum += fabs(c[i]);
    return sum;
}

/* What the search compares: at the iterate, and along the step. */
typedef struct {
    double theta, phi, slope; /* violation, barrier function, its directional derivative */
    double rounding;          /* of phi */
    int armijo;               /* the last accepted step decreased the barrier function sufficiently */
} search;

/* Whether x + step * direction is acceptable, WB (18) to (20); 1 yes, 0 no, -1 if a function failed. `violation` on return. */
static int acceptable(iterate *w, search *s, const double *direction, double step, double model, double *violation) {
    for (int64_t i = 0; i < w->size; i++) w->trial[i] = w->x[i] + step * direction[i];
    *violation = INFINITY;
    const int outcome = point_values(w, w->trial, &w->trial_f, w->trial_g);
    if (outcome) return outcome < 0 ? -1 : 0;
    point_residuals(w, w->trial, w->trial_g, w->trial_c);
    const double theta = *violation = sum_of(w->trial_c, w->s->rows);
    const double phi = point_barrier_function(w, w->trial, w->trial_f);
    if (!isfinite(phi) || theta > w->theta_max) return 0;
    if (!filter_accepts(&w->line_filter, theta, phi - s->rounding)) return 0;
    const int switching = s->slope < 0 && model * pow(-s->slope, S_PHI) > DELTA * pow(s->theta, S_THETA);
    s->armijo = 0;
    if (switching && s->theta <= w->theta_min) {
        s->armijo = phi - s->phi - s->rounding <= ETA * model * s->slope;
        return s->armijo;
    }
    return theta <= (1 - GAMMA_THETA) * s->theta || phi - s->rounding <= s->phi - GAMMA_PHI * s->theta;
}

/* WB (23), times a safety factor. */
static double shortest(const iterate *w, const search *s) {
    double least = GAMMA_THETA;
    if (s->slope < 0) {
        least = fmin(least, GAMMA_PHI * s->theta / -s->slope);
        if (s->theta <= w->theta_min) least = fmin(least, DELTA * pow(s->theta, S_THETA) / pow(-s->slope, S_PHI));
    }
    return fmax(0.05 * least, 1e-14);
}

/* Corrections of the first step, WB section 2.4. Returns the accepted step length, 0 for none, -1 if a function failed. */
static double correct(iterate *w, search *s, double first_step, double violation) {
    const int64_t rows = w->s->rows;
    double before = violation, step = first_step;
    for (int64_t i = 0; i < rows; i++) w->correction_c[i] = first_step * w->c[i] + w->trial_c[i];
    for (int k = 0; k < MOST_CORRECTIONS; k++) {
        double *right = w->trial;
        for (int64_t i = 0; i < w->size; i++)
            right[i] = w->dual[i] + w->z_lower[i] - w->z_upper[i] + point_barrier_gradient(w, i, w->mu);
        if (kkt_direction(w, right, w->correction_c, w->correction, w->affine_lambda)) return -1;
        step = longest(w, w->correction);
        const int good = acceptable(w, s, w->correction, step, first_step, &violation);
        if (good < 0) return -1;
        if (good) {
            memcpy(w->dx, w->correction, (size_t)w->size * sizeof(double));
            memcpy(w->dlambda, w->affine_lambda, (size_t)rows * sizeof(double));
            barrier_multipliers(w);
            return step;
        }
        if (!(violation <= 0.99 * before)) return 0;
        before = violation;
        for (int64_t i = 0; i < rows; i++) w->correction_c[i] = step * w->correction_c[i] + w->trial_c[i];
    }
    return 0;
}

/* The trial point becomes the iterate; multipliers of bounds stay near the barrier's, WB (16). */
static void take(iterate *w, double step) {
    const double dual_step = longest_dual(w);
    memcpy(w->x, w->trial, (size_t)w->size * sizeof(double));
    memcpy(w->g, w->trial_g, (size_t)w->s->rows * sizeof(double));
    w->f = w->trial_f;
    for (int64_t i = 0; i < w->s->rows; i++) w->lambda[i] += step * w->dlambda[i];
    for (int64_t i = 0; i < w->size; i++) {
        if (isfinite(w->lower[i])) {
            const double z = w->mu / (w->x[i] - w->lower[i]);
            w->z_lower[i] = fmax(fmin(w->z_lower[i] + dual_step * w->dz_lower[i], 1e10 * z), z / 1e10);
        }
        if (isfinite(w->upper[i])) {
            const double z = w->mu / (w->upper[i] - w->x[i]);
            w->z_upper[i] = fmax(fmin(w->z_upper[i] + dual_step * w->dz_upper[i], 1e10 * z), z / 1e10);
        }
    }
}

static double relative_size(const iterate *w) {
    double size = 0;
    for (int64_t i = 0; i < w->size; i++) size = fmax(size, fabs(w->dx[i]) / (1 + fabs(w->x[i])));
    return size;
}

static search begin(iterate *w) {
    search s = {sum_of(w->c, w->s->rows), point_barrier_function(w, w->x, w->f), 0, 0, 0};
    for (int64_t i = 0; i < w->size; i++) s.slope += (w->gradient[i] + point_barrier_gradient(w, i, w->mu)) * w->dx[i];
    s.rounding = 10 * 2.2e-16 * fabs(s.phi);
    if (w->theta_max < 0) {
        w->theta_max = (w->restoring ? 1e8 : 1e4) * fmax(1, s.theta);
        w->theta_min = 1e-4 * fmax(1, s.theta);
    }
    return s;
}

int line_search(iterate *w) {
    search s = begin(w);
    const double first = longest(w, w->dx), least = shortest(w, &s), size = relative_size(w);
    double violation;
    w->tiny = 0;
    for (double step = first; step > least; step /= 2) {
        int good = acceptable(w, &s, w->dx, step, step, &violation);
        if (good < 0) return -1;
        if (!good && size < 10 * 2.2e-16 && isfinite(violation)) good = w->tiny = 1; /* WB section 3.9 */
        double accepted = good ? step : 0;
        if (!good && step == first && isfinite(violation) && violation >= s.theta) accepted = correct(w, &s, step, violation);
        if (accepted < 0) return -1;
        if (accepted == 0) continue;
        if (!s.armijo) filter_add(&w->line_filter, (1 - GAMMA_THETA) * s.theta, s.phi - GAMMA_PHI * s.theta);
        take(w, accepted);
        return 0;
    }
    /* The restoration phase must not return to this point. */
    filter_add(&w->line_filter, (1 - GAMMA_THETA) * s.theta, s.phi - GAMMA_PHI * s.theta);
    return 1;
}
