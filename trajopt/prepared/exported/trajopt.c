/* See trajopt.h. */
#include "trajopt.h"
#include "core/memory.h"
#include "core/session.h"
#include "problem_data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct trajopt {
    const problem_data *d;
    program p;
    program_block *block;  /* (blocks,) with data of their own */
    interior_point_bounds bounds;
    double *number;        /* (numbers,) see problem_data.h */
    double *lower, *upper, *g_lower, *g_upper, *control_limit; /* parts of these */
    double *trial;         /* (numbers,) for other values */
    double *parameter, *given, *value, *limit, *work; /* given: boundary values, NAN where these are as exported */
    session *session;
    interior_point_answer last; /* the last answer, scaled */
    double *physical;           /* (unknowns,) */
    double objective, error;
};

/* ---- start and end ------------------------------------------------------------------------------------------------------------- */

/* A copy of `count` numbers, or zeros if there are none to copy. */
static double *copy_of(const double *from, int64_t count) {
    double *made = new_doubles(count);
    if (made && from && count > 0) memcpy(made, from, (size_t)count * sizeof(double));
    return made;
}

static void make_program(trajopt *t) {
    const problem_data *d = t->d;
    const int64_t n = d->unknowns, m = d->constraints;
    t->lower = t->number;
    t->upper = t->lower + n;
    t->g_lower = t->upper + n;
    t->g_upper = t->g_lower + m;
    double *data = t->g_upper + m;
    for (int64_t k = 0; k < d->blocks; k++) {
        t->block[k] = d->block[k];
        t->block[k].place_data = data;
        data += t->block[k].data * t->block[k].count;
    }
    t->control_limit = data;
    t->p = (program){.unknowns = n, .constraints = m, .blocks = d->blocks, .parameters = d->parameters, .linear = d->linear,
                     .parameter = t->parameter, .block = t->block, .evaluate = NULL, .threads = 1};
    t->bounds = (interior_point_bounds){t->lower, t->upper, t->g_lower, t->g_upper, d->start};
}

static void make_physical(trajopt *t) {
    for (int64_t i = 0; i < t->d->unknowns; i++) t->physical[i] = t->last.y[i] * t->d->size[i];
}

trajopt *trajopt_new(void) {
    const problem_data *d = &exported_problem;
    const int64_t n = d->unknowns, m = d->constraints, outputs = d->limits ? d->limits->outputs : 0;
    trajopt *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    t->d = d;
    int fine = (t->block = calloc((size_t)(d->blocks + 1), sizeof *t->block)) && (t->number = copy_of(d->number, d->numbers)) &&
               (t->trial = new_doubles(d->numbers)) && (t->parameter = copy_of(d->parameter, d->parameters)) &&
               (t->given = new_doubles(d->boundaries)) && (t->value = new_doubles(d->values)) && (t->limit = new_doubles(outputs)) &&
               (t->work = new_doubles(d->limits ? (int64_t)tape_work_size(d->limits, 1) : 0)) && (t->last.y = copy_of(d->y, n)) &&
               (t->last.g = copy_of(d->g, m)) && (t->last.bound = copy_of(d->bound, n)) &&
               (t->last.constraint = copy_of(d->constraint, m)) && (t->physical = new_doubles(n));
    if (fine) {
        make_program(t);
        make_physical(t);
        for (int64_t k = 0; k < d->boundaries; k++) t->given[k] = NAN;
        t->objective = d->objective;
        t->error = NAN;
        fine = (t->session = session_new(&t->p, &t->bounds)) && !session_reserve(t->session);
    }
    if (fine) return t;
    trajopt_free(t);
    return NULL;
}

void trajopt_free(trajopt *t) {
    if (!t) return;
    session_free(t->session);
    void *all[] = {t->block, t->number, t->trial, t->parameter, t->given, t->value, t->limit, t->work,
                   t->last.y, t->last.g, t->last.bound, t->last.constraint, t->physical};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) free(all[k]);
    free(t);
}

/* ---- values -------------------------------------------------------------------------------------------------------------------- */

int trajopt_set_parameter(trajopt *t, int parameter, double value) {
    const problem_data *d = t->d;
    if (parameter < 0 || parameter >= d->parameters || !isfinite(value)) return -1;
    if (value < d->parameter_lower[parameter] || value > d->parameter_upper[parameter]) return -1;
    t->parameter[parameter] = value;
    return 0;
}

double trajopt_parameter(const trajopt *t, int parameter) {
    return parameter < 0 || parameter >= t->d->parameters ? NAN : t->parameter[parameter];
}

static int set_boundary(trajopt *t, int side, int phase, int state, double value) {
    for (int64_t k = 0; k < t->d->boundaries; k++) {
        const problem_boundary *b = &t->d->boundary[k];
        if (b->side != side || b->phase != phase || b->state != state) continue;
        if (isinf(value)) return -1;
        t->given[k] = value;
        return 0;
    }
    return -1;
}

int trajopt_set_initial(trajopt *t, int phase, int state, double value) { return set_boundary(t, INITIAL_STATE, phase, state, value); }
int trajopt_set_final(trajopt *t, int phase, int state, double value) { return set_boundary(t, FINAL_STATE, phase, state, value); }
int trajopt_set_start_time(trajopt *t, double value) { return set_boundary(t, START_TIME, 0, 0, value); }
int trajopt_set_end_time(trajopt *t, double value) { return set_boundary(t, END_TIME, (int)t->d->phases - 1, 0, value); }

/* The values at the parameters and boundary values; -1 if they contradict each other. */
static int find_values(trajopt *t) {
    const problem_data *d = t->d;
    if (d->limits) {
        const tape_input parameters = {t->parameter, 1, 0};
        tape_run_one(d->limits, &parameters, t->limit, t->work);
    }
    for (int64_t k = 0; k < d->values; k++) {
        const problem_value *v = &d->value[k];
        t->value[k] = v->output >= 0 ? t->limit[v->output] : v->base;
        if (v->given >= 0 && !isnan(t->given[v->given])) t->value[k] = t->given[v->given];
        if (isfinite(v->base) && !isfinite(t->value[k])) return -1;
    }
    for (int64_t k = 0; k < d->orders; k++) {
        const double lesser = t->value[d->order[k].lesser], greater = t->value[d->order[k].greater];
        if (d->order[k].strict ? !(lesser < greater) : !(lesser <= greater)) return -1;
    }
    return 0;
}

/* Whether other numbers fix the same unknowns and make the same rows equations. */
static int is_alike(const trajopt *t, const double *number) {
    const int64_t n = t->d->unknowns, m = t->d->constraints;
    const double *rows = number + 2 * n;
    for (int64_t i = 0; i < n; i++)
        if ((number[i] >= number[n + i]) != (t->lower[i] >= t->upper[i])) return 0;
    for (int64_t i = 0; i < m; i++)
        if ((rows[i] >= rows[m + i]) != (t->g_lower[i] >= t->g_upper[i])) return 0;
    return 1;
}

/* Put the values into the program; -1 if they need another one. */
static int put_values(trajopt *t) {
    const problem_data *d = t->d;
    const int64_t n = d->unknowns, m = d->constraints;
    if (find_values(t)) return -1;
    memcpy(t->trial, t->number, (size_t)d->numbers * sizeof(double));
    for (int64_t k = 0; k < d->followers; k++) {
        const problem_follower *f = &d->follower[k];
        const int64_t i = f->number;
        double v = t->value[f->value] + f->offset;
        if (i < 2 * n) v /= d->size[i % n];
        else if (i < 2 * (n + m)) v *= d->row_scale[(i - 2 * n) % m];
        t->trial[i] = v;
    }
    if (!is_alike(t, t->trial)) return -1;
    memcpy(t->number, t->trial, (size_t)d->numbers * sizeof(double));
    return 0;
}

/* ---- solve --------------------------------------------------------------------------------------------------------------------- */

static const double HALF = 0.5; /* chord steps are taken while each halves the residual, as in Python */

trajopt_limits trajopt_usual_limits(void) { return (trajopt_limits){exported_problem.tolerance, 30, 10}; }

int trajopt_solve(trajopt *t, const trajopt_limits *limits, trajopt_report *report) {
    const trajopt_limits chosen = limits ? *limits : trajopt_usual_limits();
    const session_options options = {chosen.tolerance, HALF, chosen.iterations, chosen.factorizations, 0};
    session_report found = {0};
    trajopt_report unused, *r = report ? report : &unused;
    *r = (trajopt_report){.status = TRAJOPT_REFUSED, .error = NAN};
    if (put_values(t)) return r->status;
    session_begin(t->session, &t->last);
    session_solve(t->session, &options, &found);
    *r = (trajopt_report){(int)found.status, found.iterations, found.chords, found.factorizations, found.error};
    if (found.status != SESSION_SOLVED) return r->status;
    session_answer(t->session, &t->last);
    t->objective = session_cost(t->session, t->d->cost_blocks) * t->d->sense;
    t->error = found.error;
    make_physical(t);
    return r->status;
}

const char *trajopt_status_text(int status) {
    static const char *const texts[] = {"solved", "the residual does not fall fast enough", "the second-order condition does not hold",
                                        "active constraints depend on each other", "numbers that are not finite, or too little memory",
                                        "values contradict limits, or need another program"};
    return status < 0 || status > TRAJOPT_REFUSED ? "no such status" : texts[status];
}

/* ---- the answer ---------------------------------------------------------------------------------------------------------------- */

double trajopt_objective(const trajopt *t) { return t->objective; }
double trajopt_error(const trajopt *t) { return t->error; }
void trajopt_unknowns(const trajopt *t, double *y) { memcpy(y, t->physical, (size_t)t->d->unknowns * sizeof(double)); }

double trajopt_variable(const trajopt *t, int variable) {
    return variable < 0 || variable >= t->d->statics ? NAN : t->physical[t->d->first_static + variable];
}

static const problem_phase *phase_of(const trajopt *t, int phase) {
    return phase < 0 || phase >= t->d->phases ? NULL : &t->d->phase[phase];
}

int trajopt_times(const trajopt *t, int phase) {
    const problem_phase *ph = phase_of(t, phase);
    return ph ? ph->times : 0;
}

double trajopt_time(const trajopt *t, int phase, int which) {
    const problem_phase *ph = phase_of(t, phase);
    return !ph || which < 0 || which >= ph->times ? NAN : t->physical[ph->first_time + which];
}

double trajopt_start_time(const trajopt *t, int phase) { return trajopt_time(t, phase, 0); }
double trajopt_end_time(const trajopt *t, int phase) { return trajopt_time(t, phase, trajopt_times(t, phase) - 1); }

/* A time as a fraction of the phase, linear between its switches. */
static double normalised(const trajopt *t, const problem_phase *ph, double time) {
    const double *times = t->physical + ph->first_time;
    int k = 1;
    while (k < ph->times - 1 && time >= times[k]) k++;
    const double width = times[k] - times[k - 1];
    const double part = width > 0 ? (time - times[k - 1]) / width : 0;
    return ph->knots[k - 1] + (ph->knots[k] - ph->knots[k - 1]) * fmin(fmax(part, 0), 1);
}

/* The Lagrange polynomial of a variable on the interval of a time; from the right at breaks. */
static double curve(const trajopt *t, const problem_phase *ph, int variable, double time) {
    const double tau = normalised(t, ph, time);
    int k = 0;
    while (k < ph->intervals - 1 && tau >= ph->breaks[k + 1]) k++;
    const problem_piece *piece = &ph->piece[(int64_t)variable * ph->intervals + k];
    const double *node = t->d->node + piece->node, at = (tau - ph->breaks[k]) / (ph->breaks[k + 1] - ph->breaks[k]);
    double sum = 0;
    for (int i = 0; i < piece->count; i++) {
        double basis = 1;
        for (int j = 0; j < piece->count; j++)
            if (j != i) basis *= (at - node[j]) / (node[i] - node[j]);
        sum += basis * t->physical[piece->first + (int64_t)i * piece->step];
    }
    return sum;
}

double trajopt_state(const trajopt *t, int phase, int state, double time) {
    const problem_phase *ph = phase_of(t, phase);
    return !ph || state < 0 || state >= ph->states ? NAN : curve(t, ph, state, time);
}

double trajopt_algebraic(const trajopt *t, int phase, int variable, double time) {
    const problem_phase *ph = phase_of(t, phase);
    return !ph || variable < 0 || variable >= ph->algebraics ? NAN : curve(t, ph, ph->states + variable, time);
}

double trajopt_control(const trajopt *t, int phase, int control, double time) {
    const problem_phase *ph = phase_of(t, phase);
    if (!ph || control < 0 || control >= ph->controls) return NAN;
    const double *lower = t->control_limit + ph->first_limit + control, *upper = lower + t->d->control_limits;
    return fmin(fmax(curve(t, ph, ph->states + ph->algebraics + control, time), *lower), *upper);
}
