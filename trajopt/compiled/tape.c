/* Evaluation of tapes; see tape.h.
 *
 * The evaluation is written once (`run_lanes`, inlined) and compiled for the baseline processor and for wider vectors; the
 * processor is asked at run time. Fused multiply-add is never used (-ffp-contract=off), so that all variants give the same
 * bits. Functions of the mathematical library are called lane by lane: they are the ones that CasADi calls. */
#include "tape.h"
#include "threads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDE = 32, NARROW = TAPE_UNIT, SINGLE = 1 }; /* lanes of a batch: of many points, of the last few, of one */

static const char *const NAMES[TAPE_OPERATIONS] = {
    "ASSIGN", "CONST", "INPUT", "OUTPUT",
    "ADD", "SUB", "MUL", "DIV", "NEG", "SQ", "TWICE", "INV", "SQRT", "FABS", "LIFT",
    "LT", "LE", "EQ", "NE", "NOT", "AND", "OR", "IF_ELSE_ZERO", "SIGN", "COPYSIGN",
    "FMIN", "FMAX", "FLOOR", "CEIL", "FMOD", "REMAINDER",
    "EXP", "LOG", "POW", "CONSTPOW", "SIN", "COS", "TAN", "ASIN", "ACOS", "ATAN", "ATAN2",
    "SINH", "COSH", "TANH", "ASINH", "ACOSH", "ATANH", "ERF", "ERFINV", "LOG1P", "EXPM1",
    "HYPOT",
};

const char *tape_operation_name(int operation) {
    return operation >= 0 && operation < TAPE_OPERATIONS ? NAMES[operation] : NULL;
}

static int inside(int32_t index, int32_t size) { return index >= 0 && index < size; }

int tape_check(const tape *t) {
    for (int32_t k = 0; k < t->instructions; k++) {
        int32_t operation = t->operation[k], first = t->first[k], second = t->second[k];
        int fine = inside(operation, TAPE_OPERATIONS);
        if (fine && operation == TAPE_OUTPUT)
            fine = inside(t->result[k], t->outputs) && inside(first, t->slots);
        else if (fine && operation == TAPE_INPUT)
            fine = inside(t->result[k], t->slots) && inside(first, t->inputs) && inside(second, t->input_size[first]);
        else if (fine && operation == TAPE_CONST)
            fine = inside(t->result[k], t->slots);
        else if (fine)
            fine = inside(t->result[k], t->slots) && inside(first, t->slots) && inside(second, t->slots);
        if (!fine) return k + 1;
    }
    return 0;
}

/* The inverse of the error function with the steps of CasADi's calculus.hpp, so that the bits agree. */
static double inverse_erf(double x) {
    if (x >= 1) return x == 1 ? INFINITY : NAN;
    if (x <= -1) return x == -1 ? -INFINITY : NAN;
    if (x < -0.7) {
        double z = sqrt(-log((1.0 + x) / 2.0));
        return -(((1.641345311 * z + 3.429567803) * z - 1.624906493) * z - 1.970840454) /
               ((1.637067800 * z + 3.543889200) * z + 1.0);
    }
    double y;
    if (x < 0.7) {
        double z = x * x;
        y = x * (((-0.140543331 * z + 0.914624893) * z - 1.645349621) * z + 0.886226899) /
            ((((-0.329097515 * z + 0.012229801) * z + 1.442710462) * z - 2.118377725) * z + 1.0);
    } else {
        double z = sqrt(-log((1.0 - x) / 2.0));
        y = (((1.641345311 * z + 3.429567803) * z - 1.624906493) * z - 1.970840454) /
            ((1.637067800 * z + 3.543889200) * z + 1.0);
    }
    const double pi = 3.14159265358979323846;
    for (int step = 0; step < 2; step++) /* Newton's method */
        y = y - (erf(y) - x) / (2.0 / sqrt(pi) * exp(-y * y));
    return y;
}

static double sign(double x) { return x < 0 ? -1 : x > 0 ? 1 : x; }

/* A result may replace its own operand in place, never part of it: lanes do not depend on each other. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed" /* loops over one lane, and without optimization, stay as they are */
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define INDEPENDENT _Pragma("GCC ivdep")
#else
#define INDEPENDENT
#endif

/* One batch: points `at` to `at + used` of `count`, used <= lanes. work: (slots, lanes).
 * Arithmetic runs on all lanes, unused ones hold copies of the first point; library functions on the used ones only. */
#define ALL(expression) INDEPENDENT for (int l = 0; l < lanes; l++) r[l] = (expression); break
#define USED(expression) for (int l = 0; l < used; l++) r[l] = (expression); break

static inline __attribute__((always_inline)) void run_lanes(const tape *t, int lanes, int64_t at, int used, int64_t count,
                                                            const tape_input *in, double *out, double *work) {
    for (int32_t k = 0; k < t->instructions; k++) {
        const int32_t operation = t->operation[k], first = t->first[k];
        if (operation == TAPE_INPUT) {
            const tape_input *from = &in[first];
            const double *p = from->data + t->second[k] * from->component_step + at * from->point_step;
            double *r = work + (int64_t)t->result[k] * lanes;
            if (from->point_step == 1 && used == lanes)
                memcpy(r, p, (size_t)lanes * sizeof(double));
            else
                for (int l = 0; l < lanes; l++) r[l] = p[(l < used ? l : 0) * from->point_step];
            continue;
        }
        const double *x = work + (int64_t)first * lanes;
        if (operation == TAPE_OUTPUT) {
            memcpy(out + t->result[k] * count + at, x, (size_t)used * sizeof(double));
            continue;
        }
        const double *y = work + (int64_t)t->second[k] * lanes;
        double *r = work + (int64_t)t->result[k] * lanes;
        switch (operation) {
            case TAPE_CONST: ALL(t->constant[k]);
            case TAPE_ASSIGN: case TAPE_LIFT: ALL(x[l]);
            case TAPE_ADD: ALL(x[l] + y[l]);
            case TAPE_SUB: ALL(x[l] - y[l]);
            case TAPE_MUL: ALL(x[l] * y[l]);
            case TAPE_DIV: ALL(x[l] / y[l]);
            case TAPE_NEG: ALL(-x[l]);
            case TAPE_SQ: ALL(x[l] * x[l]);
            case TAPE_TWICE: ALL(2.0 * x[l]);
            case TAPE_INV: ALL(1.0 / x[l]);
            case TAPE_SQRT: ALL(sqrt(x[l]));
            case TAPE_FABS: ALL(fabs(x[l]));
            case TAPE_LT: ALL(x[l] < y[l]);
            case TAPE_LE: ALL(x[l] <= y[l]);
            case TAPE_EQ: ALL(x[l] == y[l]);
            case TAPE_NE: ALL(x[l] != y[l]);
            case TAPE_NOT: ALL(!x[l]);
            case TAPE_AND: ALL(x[l] && y[l]);
            case TAPE_OR: ALL(x[l] || y[l]);
            case TAPE_IF_ELSE_ZERO: ALL(x[l] != 0 ? y[l] : 0);
            case TAPE_SIGN: USED(sign(x[l]));
            case TAPE_COPYSIGN: USED(copysign(x[l], y[l]));
            case TAPE_FMIN: USED(fmin(x[l], y[l]));
            case TAPE_FMAX: USED(fmax(x[l], y[l]));
            case TAPE_FLOOR: USED(floor(x[l]));
            case TAPE_CEIL: USED(ceil(x[l]));
            case TAPE_FMOD: USED(fmod(x[l], y[l]));
            case TAPE_REMAINDER: USED(remainder(x[l], y[l]));
            case TAPE_EXP: USED(exp(x[l]));
            case TAPE_LOG: USED(log(x[l]));
            case TAPE_POW: case TAPE_CONSTPOW: USED(pow(x[l], y[l]));
            case TAPE_SIN: USED(sin(x[l]));
            case TAPE_COS: USED(cos(x[l]));
            case TAPE_TAN: USED(tan(x[l]));
            case TAPE_ASIN: USED(asin(x[l]));
            case TAPE_ACOS: USED(acos(x[l]));
            case TAPE_ATAN: USED(atan(x[l]));
            case TAPE_ATAN2: USED(atan2(x[l], y[l]));
            case TAPE_SINH: USED(sinh(x[l]));
            case TAPE_COSH: USED(cosh(x[l]));
            case TAPE_TANH: USED(tanh(x[l]));
            case TAPE_ASINH: USED(asinh(x[l]));
            case TAPE_ACOSH: USED(acosh(x[l]));
            case TAPE_ATANH: USED(atanh(x[l]));
            case TAPE_ERF: USED(erf(x[l]));
            case TAPE_ERFINV: USED(inverse_erf(x[l]));
            case TAPE_LOG1P: USED(log1p(x[l]));
            case TAPE_EXPM1: USED(expm1(x[l]));
            case TAPE_HYPOT: USED(hypot(x[l], y[l]));
            default: break; /* tape_check has refused it */
        }
    }
}

/* Lanes of the next batch where so many points remain: a wide one costs as much as two narrow ones. */
static int lanes_for(int64_t points) { return points > 2 * NARROW ? WIDE : points > SINGLE ? NARROW : SINGLE; }

static inline __attribute__((always_inline)) void run_span(const tape *t, int64_t begin, int64_t end, int64_t count,
                                                           const tape_input *in, double *out, double *work) {
    for (int64_t at = begin; at < end;) {
        int lanes = lanes_for(end - at), used = end - at < lanes ? (int)(end - at) : lanes;
        if (lanes == WIDE)
            run_lanes(t, WIDE, at, used, count, in, out, work);
        else if (lanes == NARROW)
            run_lanes(t, NARROW, at, used, count, in, out, work);
        else
            run_lanes(t, SINGLE, at, used, count, in, out, work);
        at += used;
    }
}

typedef void span_function(const tape *, int64_t, int64_t, int64_t, const tape_input *, double *, double *);

static void run_baseline(const tape *t, int64_t begin, int64_t end, int64_t count, const tape_input *in, double *out,
                         double *work) {
    run_span(t, begin, end, count, in, out, work);
}

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
__attribute__((target("avx2"))) static void run_avx2(const tape *t, int64_t begin, int64_t end, int64_t count,
                                                     const tape_input *in, double *out, double *work) {
    run_span(t, begin, end, count, in, out, work);
}
static span_function *choose(void) { return __builtin_cpu_supports("avx2") ? run_avx2 : run_baseline; }
#else
static span_function *choose(void) { return run_baseline; }
#endif

/* Zeros at first, not garbage: lanes that library functions skip are still read by arithmetic. */
size_t tape_work_size(const tape *t, int64_t points) {
    return (size_t)(t->slots > 0 ? t->slots : 1) * (size_t)lanes_for(points);
}

void tape_run_span(const tape *t, int64_t begin, int64_t end, int64_t count, const tape_input *in, double *out, double *work) {
    choose()(t, begin, end, count, in, out, work);
}

typedef struct {
    const tape *t;
    int parts;
    int64_t count;
    const tape_input *in;
    double *out, *work;
} shared_run;

static void run_part(int part, void *context) {
    shared_run *s = context;
    const span points = span_of(part, s->parts, s->count, TAPE_UNIT);
    double *own = s->work + (size_t)part * tape_work_size(s->t, s->count);
    tape_run_span(s->t, points.begin, points.end, s->count, s->in, s->out, own);
}

int tape_run(const tape *t, int64_t count, const tape_input *in, double *out, int threads) {
    const double operations = (double)t->instructions * (double)count, worth = operations / OPERATIONS_PER_THREAD;
    thread_team *team = worth >= 2 ? team_new(threads < worth ? threads : (int)worth) : NULL;
    shared_run s = {t, team_parts(team, operations), count, in, out, NULL};
    s.work = calloc((size_t)s.parts * tape_work_size(t, count), sizeof(double));
    if (s.work) team_run(team, s.parts, run_part, &s);
    team_free(team);
    const int failed = s.work == NULL;
    free(s.work);
    return failed ? -1 : 0;
}

void tape_run_one(const tape *t, const tape_input *in, double *out, double *work) { choose()(t, 0, 1, 1, in, out, work); }
