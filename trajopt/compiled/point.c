/* Values, residuals and errors at a point of the interior-point method; see iterate.h. */
#include "iterate.h"
#include "memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

iterate *iterate_new(scaled_program *s, int64_t attached) {
    iterate *w = calloc(1, sizeof *w);
    if (!w) return NULL;
    const int64_t n = s->free + attached, m = s->rows;
    w->s = s;
    w->attached = attached;
    w->size = n;
    double **of_size[] = {&w->x, &w->lower, &w->upper, &w->z_lower, &w->z_upper, &w->gradient, &w->dual, &w->dx, &w->dz_lower,
                          &w->dz_upper, &w->sigma, &w->trial, &w->correction, &w->affine, &w->centring};
    double **of_rows[] = {&w->target, &w->lambda, &w->g, &w->c, &w->dlambda, &w->condensed, &w->trial_g, &w->trial_c,
                          &w->correction_c, &w->affine_lambda, &w->centring_lambda};
    int fine = (w->row = new_integers(attached)) && (w->sign = new_doubles(attached)) && (w->cost = new_doubles(attached)) &&
               (w->weight = new_doubles(s->free)) && (w->centre = new_doubles(s->free)) &&
               (w->transposed = new_doubles(s->free)) && (w->along = new_doubles(12 * n));
    for (size_t k = 0; k < sizeof of_size / sizeof *of_size; k++) fine = (*of_size[k] = new_doubles(n)) && fine;
    for (size_t k = 0; k < sizeof of_rows / sizeof *of_rows; k++) fine = (*of_rows[k] = new_doubles(m)) && fine;
    w->tau = 0.99;
    w->theta_max = w->mu_max = -1;
    if (fine) return w;
    iterate_free(w);
    return NULL;
}

void iterate_free(iterate *w) {
    if (!w) return;
    double *all[] = {w->x, w->lower, w->upper, w->z_lower, w->z_upper, w->gradient, w->dual, w->dx, w->dz_lower, w->dz_upper,
                     w->sigma, w->trial, w->correction, w->affine, w->centring, w->target, w->lambda, w->g, w->c, w->dlambda,
                     w->condensed, w->trial_g, w->trial_c, w->correction_c, w->affine_lambda, w->centring_lambda, w->sign,
                     w->cost, w->weight, w->centre, w->transposed, w->along};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) free(all[k]);
    free(w->row);
    free(w);
}

/* The scaled program's unknowns as the evaluation takes them. */
static void spread(scaled_program *s, const double *x) {
    for (int64_t i = 0; i < s->free; i++) s->y[s->unknown[i]] = x[i];
}

static double extra_objective(const iterate *w, const double *x) {
    double sum = 0;
    for (int64_t a = 0; a < w->attached; a++) sum += w->cost[a] * x[w->s->free + a];
    if (w->proximity > 0)
        for (int64_t i = 0; i < w->s->free; i++) {
            const double d = w->weight[i] * (x[i] - w->centre[i]);
            sum += 0.5 * w->proximity * d * d;
        }
    return sum;
}

int point_values(iterate *w, const double *x, double *f, double *g) {
    scaled_program *s = w->s;
    const double began = seconds_now();
    spread(s, x);
    *f = 0;
    if ((!w->restoring && evaluation_objective(s->e, s->y, f)) || evaluation_constraints(s->e, s->y, g)) return -1;
    double sum = *f = *f * s->objective_scale + extra_objective(w, x);
    for (int64_t i = 0; i < s->rows; i++) sum += g[i] *= s->row_scale[i];
    s->report->seconds_evaluation += seconds_now() - began;
    return isfinite(sum) ? 0 : 1;
}

int point_derivatives(iterate *w) {
    scaled_program *s = w->s;
    const placement *j = &s->e->jacobian;
    const double began = seconds_now();
    spread(s, w->x);
    memset(w->gradient, 0, (size_t)w->size * sizeof(double));
    if (!w->restoring) {
        if (evaluation_gradient(s->e, s->y, s->y + s->p->unknowns)) return -1;
        for (int64_t i = 0; i < s->free; i++) w->gradient[i] = s->objective_scale * s->y[s->p->unknowns + s->unknown[i]];
    }
    if (w->proximity > 0)
        for (int64_t i = 0; i < s->free; i++)
            w->gradient[i] += w->proximity * w->weight[i] * w->weight[i] * (w->x[i] - w->centre[i]);
    for (int64_t a = 0; a < w->attached; a++) w->gradient[s->free + a] = w->cost[a];
    if (evaluation_jacobian(s->e, s->y, s->jacobian)) return -1;
    for (int64_t k = 0; k < j->nonzeros; k++) s->jacobian[k] *= s->row_scale[j->row[k]];
    s->report->seconds_evaluation += seconds_now() - began;
    return 0;
}

int point_hessian(iterate *w) {
    scaled_program *s = w->s;
    const double began = seconds_now();
    spread(s, w->x);
    for (int64_t i = 0; i < s->rows; i++) s->row_sums[i] = w->lambda[i] * s->row_scale[i];
    const int failed = evaluation_hessian(s->e, s->y, w->restoring ? 0 : s->objective_scale, s->row_sums, s->hessian);
    s->report->seconds_evaluation += seconds_now() - began;
    return failed;
}

void point_residuals(iterate *w, const double *x, const double *g, double *c) {
    for (int64_t i = 0; i < w->s->rows; i++) c[i] = g[i] - w->target[i];
    for (int64_t a = 0; a < w->attached; a++) c[w->row[a]] += w->sign[a] * x[w->s->free + a];
}

static double larger(double a, double b) { return b <= a ? a : b; } /* keeps what is not a number */

void point_errors(iterate *w) {
    scaled_program *s = w->s;
    const placement *j = &s->e->jacobian;
    point_residuals(w, w->x, w->g, w->c);
    memset(w->transposed, 0, (size_t)s->free * sizeof(double));
    for (int64_t k = 0; k < j->nonzeros; k++) {
        const int64_t i = s->free_of[j->column[k]];
        if (i >= 0) w->transposed[i] += s->jacobian[k] * w->lambda[j->row[k]];
    }
    double multipliers = 0, bound_multipliers = 0, products = 0;
    w->violation = w->dual_error = w->complementarity = 0;
    w->bounds = 0;
    for (int64_t i = 0; i < w->size; i++) {
        const double own = i < s->free ? w->transposed[i] : w->sign[i - s->free] * w->lambda[w->row[i - s->free]];
        w->dual[i] = w->gradient[i] + own - w->z_lower[i] + w->z_upper[i];
        w->dual_error = larger(w->dual_error, fabs(w->dual[i]));
        bound_multipliers += w->z_lower[i] + w->z_upper[i];
        if (isfinite(w->lower[i])) {
            const double product = (w->x[i] - w->lower[i]) * w->z_lower[i];
            w->bounds++, products += product, w->complementarity = larger(w->complementarity, product);
        }
        if (isfinite(w->upper[i])) {
            const double product = (w->upper[i] - w->x[i]) * w->z_upper[i];
            w->bounds++, products += product, w->complementarity = larger(w->complementarity, product);
        }
    }
    for (int64_t i = 0; i < s->rows; i++) {
        multipliers += fabs(w->lambda[i]);
        w->violation = larger(w->violation, fabs(w->c[i]));
    }
    const double rows = (double)s->rows, bounds = (double)w->bounds;
    w->scale_dual = fmax(100, (multipliers + bound_multipliers) / (rows + bounds + 1)) / 100;
    w->scale_bound = fmax(100, bound_multipliers / (bounds + 1)) / 100;
    w->average = w->bounds ? products / bounds : 0;
    w->error = larger(larger(w->dual_error / w->scale_dual, w->violation), w->complementarity / w->scale_bound);
}

double point_barrier_error(const iterate *w, double mu) {
    double worst = 0;
    for (int64_t i = 0; i < w->size; i++) {
        if (isfinite(w->lower[i])) worst = larger(worst, fabs((w->x[i] - w->lower[i]) * w->z_lower[i] - mu));
        if (isfinite(w->upper[i])) worst = larger(worst, fabs((w->upper[i] - w->x[i]) * w->z_upper[i] - mu));
    }
    return larger(larger(w->dual_error / w->scale_dual, w->violation), worst / w->scale_bound);
}

/* A variable with one bound is damped towards it, WB section 3.7: otherwise the barrier problem may have no minimum. */
static const double DAMPING = 1e-5;

static int has_one_bound(const iterate *w, int64_t i) { return isfinite(w->lower[i]) != isfinite(w->upper[i]); }

double point_barrier_function(const iterate *w, const double *x, double f) {
    double logarithms = 0;
    for (int64_t i = 0; i < w->size; i++) {
        if (has_one_bound(w, i)) logarithms -= DAMPING * (isfinite(w->lower[i]) ? x[i] - w->lower[i] : w->upper[i] - x[i]);
        if (isfinite(w->lower[i])) logarithms += log(x[i] - w->lower[i]);
        if (isfinite(w->upper[i])) logarithms += log(w->upper[i] - x[i]);
    }
    return f - w->mu * logarithms;
}

double point_barrier_gradient(const iterate *w, int64_t i, double mu) {
    double slope = has_one_bound(w, i) ? (isfinite(w->lower[i]) ? DAMPING : -DAMPING) * mu : 0;
    if (isfinite(w->lower[i])) slope -= mu / (w->x[i] - w->lower[i]);
    if (isfinite(w->upper[i])) slope += mu / (w->upper[i] - w->x[i]);
    return slope;
}

void point_proximity(iterate *w, double proximity) {
    const double change = proximity - w->proximity;
    for (int64_t i = 0; i < w->s->free; i++) {
        const double d = w->x[i] - w->centre[i], slope = change * w->weight[i] * w->weight[i] * d;
        w->f += 0.5 * slope * d;
        w->gradient[i] += slope;
        w->dual[i] += slope;
    }
    w->proximity = proximity;
}

/* WB section 3.6: the start keeps a distance from its bounds. */
void point_inside(iterate *w, double push) {
    for (int64_t i = 0; i < w->size; i++) {
        const double low = w->lower[i], high = w->upper[i], width = high - low;
        double from_low = push * fmax(1, fabs(low)), from_high = push * fmax(1, fabs(high));
        if (isfinite(width)) from_low = fmin(from_low, push * width), from_high = fmin(from_high, push * width);
        if (isfinite(low) && w->x[i] < low + from_low) w->x[i] = low + from_low;
        if (isfinite(high) && w->x[i] > high - from_high) w->x[i] = high - from_high;
    }
}
