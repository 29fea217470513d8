/* The constants of an exported problem; problem.c has them. Mathematics: core/evaluation.h. */
#ifndef TRAJOPT_PROBLEM_DATA_H
#define TRAJOPT_PROBLEM_DATA_H

#include "core/evaluation.h"

/* A limit that is not constant, or that another one is compared with. */
typedef struct {
    double base;  /* at the export */
    int32_t output; /* of the function of the parameters that states it; -1 if none does */
    int32_t given;  /* the boundary value that may replace it; -1 if there is none */
} problem_value;

/* A number of the program that follows a value: value + offset. Numbers are, in this order: lower and upper bounds of unknowns, divided
 * by their sizes; those of rows, times their scales; the data of all blocks; lower and upper limits of the controls of all phases. */
typedef struct {
    int64_t number;
    int32_t value;
    double offset;
} problem_follower;

/* Two values in order, or else the limits contradict each other. */
typedef struct {
    int32_t lesser, greater;
    int32_t strict;
} problem_order;

enum problem_side { INITIAL_STATE, FINAL_STATE, START_TIME, END_TIME };

/* A boundary value that may be set; size: of such a quantity. */
typedef struct {
    int32_t side, phase, state;
    double base, size;
} problem_boundary;

/* A variable on an interval: the polynomial through `count` unknowns first, first + step, ..., at nodes[node], ... in [0, 1]. */
typedef struct {
    int32_t first, step, count, node;
} problem_piece;

typedef struct {
    const char *name;
    int32_t states, algebraics, controls, intervals;
    int32_t times, first_time; /* start, switches and end: how many, and the first among the unknowns */
    int32_t first_limit;       /* of its controls, among all of them */
    const double *knots;       /* (times,) normalised */
    const double *breaks;      /* (intervals + 1,) normalised */
    const problem_piece *piece; /* variable by variable: states, algebraic variables, controls; (intervals,) each */
    const char *const *state_name, *const *control_name;
} problem_phase;

typedef struct {
    const char *name;
    int64_t unknowns, constraints, blocks, cost_blocks; /* the first blocks are the stated cost; others are a regularization of it */
    int64_t parameters, boundaries, values, followers, orders, numbers, phases, statics, first_static, control_limits;
    sparse_lines linear;
    const program_block *block; /* place_data: NULL */
    const double *size, *row_scale, *start; /* of unknowns, of rows, where the structure is analysed */
    const double *y, *g, *bound, *constraint; /* the answer of the export, scaled */
    double objective, sense, tolerance;
    const double *number; /* (numbers,) at the export */
    const double *parameter, *parameter_lower, *parameter_upper;
    const char *const *parameter_name;
    const tape *limits; /* of parameters; NULL if no limit depends on them */
    const problem_boundary *boundary;
    const problem_value *value;
    const problem_follower *follower;
    const problem_order *order;
    const problem_phase *phase;
    const double *node;
} problem_data;

extern const problem_data exported_problem;

#endif
