/* The restoration phase, WB section 3.3: reduce the violation of the rows, close to the point where the line search failed,
 *
 *     minimize  1000 * sum of (p + n)  +  sqrt(mu) / 2 |weight (x - centre)|^2      subject to   rows - p + n = 0,  p, n >= 0,
 *
 * by the same algorithm: p and n are attached variables. */
#include "iterate.h"

#include <math.h>
#include <string.h>

static const double PENALTY = 1000;
static const double LARGE = 1000; /* multipliers of bounds */

/* p and n of a row for given residual c = p - n: the minimum of the barrier problem in them, WB (33). */
static void split(double c, double mu, double *p, double *n) {
    const double a = (mu - PENALTY * c) / (2 * PENALTY);
    *n = a + sqrt(a * a + mu * c / (2 * PENALTY));
    *p = c + *n;
}

static void begin(iterate *r, iterate *w) {
    const scaled_program *s = w->s;
    const int64_t rows = s->rows, own = w->attached;
    memcpy(r->row, w->row, (size_t)own * sizeof(int64_t));
    memcpy(r->sign, w->sign, (size_t)own * sizeof(double));
    memcpy(r->target, w->target, (size_t)rows * sizeof(double));
    memcpy(r->x, w->x, (size_t)w->size * sizeof(double));
    memcpy(r->lower, w->lower, (size_t)w->size * sizeof(double));
    memcpy(r->upper, w->upper, (size_t)w->size * sizeof(double));
    memcpy(r->g, w->g, (size_t)rows * sizeof(double));
    r->restoring = 1;
    r->outer = w;
    r->mu = fmax(w->mu, w->violation);
    r->mu_min = w->mu_min;
    r->proximity = sqrt(r->mu);
    for (int64_t i = 0; i < s->free; i++) {
        r->centre[i] = w->x[i];
        r->weight[i] = fmin(1, 1 / fmax(fabs(w->x[i]), 1e-300));
    }
    for (int64_t i = 0; i < rows; i++)
        for (int part = 0; part < 2; part++) {
            const int64_t a = own + 2 * i + part, v = s->free + a;
            r->row[a] = i;
            r->sign[a] = part ? 1 : -1; /* p enters with -1, n with 1 */
            r->cost[a] = PENALTY;
            r->lower[v] = 0;
            r->upper[v] = INFINITY;
        }
    for (int64_t i = 0; i < rows; i++) {
        const int64_t v = s->free + own + 2 * i;
        split(w->c[i], r->mu, &r->x[v], &r->x[v + 1]);
        r->z_lower[v] = r->mu / r->x[v];
        r->z_lower[v + 1] = r->mu / r->x[v + 1];
    }
    for (int64_t i = 0; i < w->size; i++) {
        r->z_lower[i] = fmin(w->z_lower[i], PENALTY);
        r->z_upper[i] = fmin(w->z_upper[i], PENALTY);
    }
}

/* Return to the main algorithm: the move counts as one step of it, and multipliers of bounds take that step; those of rows begin
 * at zero. If the former become large they begin at one. */
static int end(iterate *w, const iterate *r) {
    double largest = 0;
    for (int64_t i = 0; i < w->size; i++) w->dx[i] = r->x[i] - w->x[i];
    barrier_multipliers(w);
    const double step = longest_dual(w);
    memcpy(w->x, r->x, (size_t)w->size * sizeof(double));
    for (int64_t i = 0; i < w->size; i++) {
        if (isfinite(w->lower[i])) largest = fmax(largest, w->z_lower[i] += step * w->dz_lower[i]);
        if (isfinite(w->upper[i])) largest = fmax(largest, w->z_upper[i] += step * w->dz_upper[i]);
    }
    for (int64_t i = 0; largest > LARGE && i < w->size; i++) {
        if (isfinite(w->lower[i])) w->z_lower[i] = 1;
        if (isfinite(w->upper[i])) w->z_upper[i] = 1;
    }
    memset(w->lambda, 0, (size_t)w->s->rows * sizeof(double));
    if (point_values(w, w->x, &w->f, w->g) || point_derivatives(w)) return IP_FAILED;
    w->tiny = 0;
    return IP_SOLVED;
}

int restore(iterate *w) {
    scaled_program *s = w->s;
    iterate *r = iterate_new(s, w->attached + 2 * s->rows);
    if (!r) return IP_FAILED;
    s->report->restorations++;
    begin(r, w);
    int status = point_values(r, r->x, &r->f, r->g) ? IP_FAILED : run(r);
    if (status == IP_SOLVED) status = end(w, r);
    if (status == IP_INFEASIBLE) { /* the answer is the point of least violation */
        memcpy(w->x, r->x, (size_t)w->size * sizeof(double));
        if (point_values(w, w->x, &w->f, w->g)) status = IP_FAILED;
    }
    iterate_free(r);
    return status;
}
