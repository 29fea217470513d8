/* A tape: the instructions of a scalar expression graph, evaluated at many points at once.
 *
 * The instructions are those of a CasADi SX function, in its order and with its work slots, so every result has the bits that
 * CasADi's interpreter gives. Each instruction runs for a batch of points ("lanes") before the next one begins: the cost of
 * reading an instruction is shared by the batch, and the arithmetic operations use vector registers. */
#ifndef TRAJOPT_TAPE_H
#define TRAJOPT_TAPE_H

#include <stddef.h>
#include <stdint.h>

/* The scalar operations; `tape_operation_name` gives CasADi's name of each (OP_ADD is "ADD"), from which the caller reads
 * CasADi's own number at run time. */
enum tape_operation {
    TAPE_ASSIGN, TAPE_CONST, TAPE_INPUT, TAPE_OUTPUT,
    TAPE_ADD, TAPE_SUB, TAPE_MUL, TAPE_DIV, TAPE_NEG, TAPE_SQ, TAPE_TWICE, TAPE_INV, TAPE_SQRT, TAPE_FABS, TAPE_LIFT,
    TAPE_LT, TAPE_LE, TAPE_EQ, TAPE_NE, TAPE_NOT, TAPE_AND, TAPE_OR, TAPE_IF_ELSE_ZERO, TAPE_SIGN, TAPE_COPYSIGN,
    TAPE_FMIN, TAPE_FMAX, TAPE_FLOOR, TAPE_CEIL, TAPE_FMOD, TAPE_REMAINDER,
    TAPE_EXP, TAPE_LOG, TAPE_POW, TAPE_CONSTPOW, TAPE_SIN, TAPE_COS, TAPE_TAN, TAPE_ASIN, TAPE_ACOS, TAPE_ATAN, TAPE_ATAN2,
    TAPE_SINH, TAPE_COSH, TAPE_TANH, TAPE_ASINH, TAPE_ACOSH, TAPE_ATANH, TAPE_ERF, TAPE_ERFINV, TAPE_LOG1P, TAPE_EXPM1,
    TAPE_HYPOT,
    TAPE_OPERATIONS
};

typedef struct {
    int32_t instructions;      /* how many */
    int32_t slots;             /* of the work vector */
    int32_t inputs;            /* how many input arrays */
    int32_t outputs;           /* numbers per point, of all outputs together */
    const int32_t *operation;  /* (instructions,) of enum tape_operation */
    const int32_t *result;     /* (instructions,) slot that is written; for OUTPUT the number of the output */
    const int32_t *first;      /* (instructions,) slot of the first operand; for INPUT the number of the input array */
    const int32_t *second;     /* (instructions,) slot of the second operand; for INPUT the component */
    const double *constant;    /* (instructions,) for CONST */
    const int32_t *input_size; /* (inputs,) components of each input array */
} tape;

/* Component c of point k is at data[c * component_step + k * point_step]; point_step is 0 for what is the same everywhere. */
typedef struct {
    const double *data;
    int64_t component_step;
    int64_t point_step;
} tape_input;

/* CasADi's name of an operation without "OP_", or NULL past the last one. */
const char *tape_operation_name(int operation);

/* 0 if every slot, input and output that the instructions use exists; else the number of the first wrong instruction + 1. */
int tape_check(const tape *t);

/* Evaluate at `count` points. in: (inputs,); out: number o of point k goes to out[o * count + k].
 * The points are divided among at most `threads` threads; the results do not depend on their number.
 * Returns 0, or -1 if memory is short. */
int tape_run(const tape *t, int64_t count, const tape_input *in, double *out, int threads);

/* The same for the points `begin` to `end` - 1 of `count`, in the calling thread and without allocating; work: tape_work_size of so
 * many points, zeros before the first call. */
void tape_run_span(const tape *t, int64_t begin, int64_t end, int64_t count, const tape_input *in, double *out, double *work);
size_t tape_work_size(const tape *t, int64_t points);

enum { TAPE_UNIT = 8 }; /* points that are evaluated together at least, and in one cache line */

/* The same at one point. */
void tape_run_one(const tape *t, const tape_input *in, double *out, double *work);

#endif
