/* The interior-point method; see interior_point.h and iterate.h. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "interior_point.h"
#include "iterate.h"
#include "memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- the loop ----------------------------------------------------------------------------------------------------------------- */

/* How many iterations in a row the error has been small enough to stop where rounding keeps it above the tolerance for good. */
typedef struct {
    int64_t close, acceptable;
} patience;

static int is_solved(iterate *w, patience *p) {
    const interior_point_options *o = w->s->options;
    const int small_products = w->complementarity <= o->complementarity * fmin(1, w->s->objective_scale);
    if (w->error <= o->tolerance && (small_products || w->restoring)) return 1;
    p->close = w->error <= fmax(1e-9, o->tolerance) ? p->close + 1 : 0;
    p->acceptable = w->error <= fmax(1e-6, o->tolerance) ? p->acceptable + 1 : 0;
    return (p->close >= 4 || p->acceptable >= 15) && !w->restoring; /* 15: IPOPT's acceptable level */
}

static const double DIVERGED = 1e20; /* size of an unknown, IPOPT's */

static int has_diverged(const iterate *w) {
    for (int64_t i = 0; i < w->s->free; i++)
        if (fabs(w->x[i]) > DIVERGED) return 1;
    return 0;
}

static const double SECONDS_BETWEEN_CALLS = 0.02; /* of the callback, while an iteration lasts */

/* Whether the time is over or the callback stops the method; the `ask` of its watch. */
static int is_over(void *context) {
    scaled_program *s = context;
    const double now = seconds_now();
    if (s->stop) return 1;
    if (now - s->began > s->options->seconds) {
        s->stop = 1 + IP_TIME;
    } else if (s->callback && now - s->asked > SECONDS_BETWEEN_CALLS) {
        s->asked = now;
        if (s->callback(NULL)) s->stop = 1 + IP_INTERRUPTED;
    }
    return s->stop != 0;
}

/* The status of a computation that did not end. */
static int unfinished(const scaled_program *s) { return s->stop ? s->stop - 1 : IP_FAILED; }

/* 0: go on; else 1 + status. */
static int stops(iterate *w) {
    scaled_program *s = w->s;
    const interior_point_progress progress = {s->report->iterations, w->f / s->objective_scale, w->violation, w->dual_error, w->mu};
    if (!w->outer && has_diverged(w)) return 1 + IP_DIVERGED;
    if (s->report->iterations >= s->options->max_iterations) return 1 + IP_ITERATIONS;
    if (seconds_now() - s->began > s->options->seconds) return 1 + IP_TIME;
    if (s->callback && s->callback(&progress)) return 1 + IP_INTERRUPTED;
    s->asked = seconds_now();
    return 0;
}

/* Whether the restoration phase has found what the main algorithm accepts: less violation, and past its filter. */
static int is_restored(iterate *w) {
    iterate *outer = w->outer;
    const int64_t own = outer->size;
    double f, violation = 0, before = 0;
    memcpy(outer->trial, w->x, (size_t)own * sizeof(double));
    if (point_values(outer, outer->trial, &f, outer->trial_g)) return 0;
    point_residuals(outer, outer->trial, outer->trial_g, outer->trial_c);
    for (int64_t i = 0; i < w->s->rows; i++) violation += fabs(outer->trial_c[i]), before += fabs(outer->c[i]);
    if (violation > 0.9 * before) return 0;
    return filter_accepts(&outer->line_filter, violation, point_barrier_function(outer, outer->trial, f));
}

int run(iterate *w) {
    patience p = {0, 0};
    if (point_derivatives(w)) return IP_FAILED;
    for (w->iteration = 0;; w->iteration++) {
        point_errors(w);
        if (w->outer && w->iteration > 0 && is_restored(w)) return IP_SOLVED;
        if (is_solved(w, &p)) return w->outer ? IP_INFEASIBLE : IP_SOLVED;
        const int stop = stops(w);
        if (stop) return stop - 1;
        barrier_update(w);
        if (point_hessian(w) || kkt_factor(w)) {
            /* No shift gives the right inertia: the rows depend on each other here. */
            if (w->outer || w->s->stop) return unfinished(w->s);
            const int status = restore(w);
            if (status != IP_SOLVED) return status;
            continue;
        }
        if (barrier_direction(w)) return unfinished(w->s);
        const int failed = line_search(w);
        w->s->report->iterations++;
        if (failed < 0) return unfinished(w->s);
        if (failed) {
            if (w->error <= 1e-8 && !w->outer) return IP_SOLVED; /* rounding leaves no step */
            const int status = w->outer ? IP_FAILED : restore(w);
            if (status != IP_SOLVED) return status;
        }
        if (point_derivatives(w)) return IP_FAILED;
    }
}

/* ---- scales --------------------------------------------------------------------------------------------------------- */

/* Gradients at the start have no component above 100, WB section 3.8. */
static int choose_scales(scaled_program *s) {
    const placement *j = &s->e->jacobian;
    double steepest = 0, *gradient = s->y + s->p->unknowns;
    if (evaluation_gradient(s->e, s->y, gradient) || evaluation_jacobian(s->e, s->y, s->jacobian)) return 0;
    for (int64_t i = 0; i < s->free; i++) steepest = fmax(steepest, fabs(gradient[s->unknown[i]]));
    for (int64_t k = 0; k < j->nonzeros; k++)
        if (s->free_of[j->column[k]] >= 0) s->row_sums[j->row[k]] = fmax(s->row_sums[j->row[k]], fabs(s->jacobian[k]));
    if (steepest > 100) s->objective_scale = fmax(100 / steepest, 1e-8);
    for (int64_t i = 0; i < s->rows; i++)
        if (s->row_sums[i] > 100) s->row_scale[i] = fmax(100 / s->row_sums[i], 1e-8);
    return 1;
}

/* ---- start and end ---------------------------------------------------------------------------------------------------------------- */

static int64_t count_slacks(const interior_point_bounds *b, int64_t rows) {
    int64_t count = 0;
    for (int64_t i = 0; i < rows; i++) count += b->g_lower[i] < b->g_upper[i];
    return count;
}

/* Bounds and start of all variables; a slack begins as its row. */
static int begin(iterate *w, const interior_point_bounds *b) {
    scaled_program *s = w->s;
    const interior_point_options *o = s->options;
    for (int64_t i = 0; i < s->free; i++) {
        w->x[i] = b->start[s->unknown[i]];
        w->lower[i] = b->lower[s->unknown[i]];
        w->upper[i] = b->upper[s->unknown[i]];
    }
    if (evaluation_constraints(s->e, s->y, w->g)) return IP_FAILED;
    int64_t a = 0;
    for (int64_t i = 0; i < s->rows; i++) {
        if (b->g_lower[i] < b->g_upper[i]) {
            const int64_t v = s->free + a;
            w->row[a] = i;
            w->sign[a++] = -1;
            w->x[v] = w->g[i] * s->row_scale[i];
            w->lower[v] = b->g_lower[i] * s->row_scale[i];
            w->upper[v] = b->g_upper[i] * s->row_scale[i];
        } else {
            w->target[i] = b->g_lower[i] * s->row_scale[i];
        }
    }
    for (int64_t i = 0; i < w->size; i++) {
        /* An inequality that equations imply has no interior without this, and no finite multiplier. */
        const double relax = i < s->free ? o->relax : fmax(o->relax, o->tolerance);
        if (isfinite(w->lower[i])) w->lower[i] -= relax * fmax(1, fabs(w->lower[i]));
        if (isfinite(w->upper[i])) w->upper[i] += relax * fmax(1, fabs(w->upper[i]));
    }
    point_inside(w, o->push);
    w->mu = o->barrier;
    w->mu_min = 0.5 * fmin(o->tolerance, o->complementarity);
    w->freely = !o->monotone;
    for (int64_t i = 0; i < w->size; i++) {
        if (isfinite(w->lower[i])) w->z_lower[i] = o->fitted ? w->mu / (w->x[i] - w->lower[i]) : 1;
        if (isfinite(w->upper[i])) w->z_upper[i] = o->fitted ? w->mu / (w->upper[i] - w->x[i]) : 1;
    }
    const int outcome = point_values(w, w->x, &w->f, w->g);
    if (outcome) return outcome > 0 ? IP_NOT_A_NUMBER : IP_FAILED;
    return point_derivatives(w) ? IP_FAILED : IP_SOLVED;
}

/* Multipliers from another answer, at least what the barrier parameter asks of a bound at this distance. */
static void take_multipliers(iterate *w, const interior_point_answer *from) {
    const scaled_program *s = w->s;
    const double scale = s->objective_scale;
    for (int64_t i = 0; i < s->rows; i++) w->lambda[i] = from->constraint[i] * scale / s->row_scale[i];
    for (int64_t i = 0; i < w->size; i++) {
        const double mu = i < s->free ? from->bound[s->unknown[i]] * scale : w->lambda[w->row[i - s->free]];
        if (isfinite(w->lower[i])) w->z_lower[i] = fmax(-mu, w->mu / (w->x[i] - w->lower[i]));
        if (isfinite(w->upper[i])) w->z_upper[i] = fmax(mu, w->mu / (w->upper[i] - w->x[i]));
    }
}

static void answer_of(iterate *w, const interior_point_answer *answer) {
    scaled_program *s = w->s;
    const placement *j = &s->e->jacobian;
    const double scale = s->objective_scale;
    for (int64_t i = 0; i < s->free; i++) s->y[s->unknown[i]] = w->x[i];
    memcpy(answer->y, s->y, (size_t)s->p->unknowns * sizeof(double));
    double *gradient = s->y + s->p->unknowns;
    if (evaluation_gradient(s->e, answer->y, gradient)) memset(gradient, 0, (size_t)s->p->unknowns * sizeof(double));
    /* The multiplier of a fixed unknown is what makes its component of the Lagrangian's gradient vanish. */
    for (int64_t i = 0; i < s->p->unknowns; i++) answer->bound[i] = -gradient[i];
    for (int64_t k = 0; k < j->nonzeros; k++)
        answer->bound[j->column[k]] -= s->jacobian[k] * w->lambda[j->row[k]] / scale;
    for (int64_t i = 0; i < s->free; i++) answer->bound[s->unknown[i]] = (w->z_upper[i] - w->z_lower[i]) / scale;
    for (int64_t i = 0; i < s->rows; i++) {
        answer->constraint[i] = w->lambda[i] * s->row_scale[i] / scale;
        answer->g[i] = w->g[i] / s->row_scale[i];
    }
    s->report->objective = w->f / scale;
    s->report->error = w->error;
}

int interior_point_solve(const program *p, const interior_point_bounds *bounds, const interior_point_options *options,
                         interior_point_callback *callback, const interior_point_answer *answer, interior_point_report *report) {
    scaled_program s = {.p = p, .options = options, .callback = callback, .report = report, .began = seconds_now()};
    s.asked = s.began;
    s.watched = (watch){is_over, &s, 0};
    memset(report, 0, sizeof *report);
    iterate *w = NULL;
    int status = IP_FAILED;
    if (new_scaled_program(&s, bounds) && choose_scales(&s) &&
        (w = iterate_new(&s, count_slacks(bounds, p->constraints)))) {
        status = begin(w, bounds);
        const int given = options->fitted == IP_GIVEN_MULTIPLIERS;
        if (given) take_multipliers(w, answer);
        if (status == IP_SOLVED) {
            const double analysis = seconds_now();
            const int fine = !is_over(&s) && kkt_new(&s, bounds);
            report->seconds_analysis = seconds_now() - analysis;
            status = fine && (given || !kkt_multipliers(w)) ? run(w) : unfinished(&s);
        }
        answer_of(w, answer);
    }
    iterate_free(w);
    free_scaled_program(&s);
    return (int)(report->status = status);
}
