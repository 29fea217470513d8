/* Values and sparse derivatives of a nonlinear program that is assembled from small functions (trajopt/nlp/program.py):
 *
 *     g(y) = sum_b A_b r_b(G_b y) + B y,        f(y) = sum_b a_b . r_b(G_b y).
 *
 * A block b evaluates its kernel r_b at `count` places. G_b gathers the kernel's inputs from the unknowns y, A_b scatters its
 * constraint rows, a_b weighs its objective rows. All sparse matrices are given line by line: the entries of line k are
 * start[k] .. start[k + 1] - 1. */
#ifndef TRAJOPT_EVALUATION_H
#define TRAJOPT_EVALUATION_H

#include "placement.h"
#include "tape.h"

#include <stdint.h>

typedef struct {
    const int64_t *start; /* (lines + 1,) */
    const int64_t *index; /* (entries,) */
    const double *value;  /* (entries,) */
} sparse_lines;

/* The five functions of a kernel, in this order. The Jacobians and the Hessian give their nonzeros; the Hessian is that of
 * multipliers . rows, upper triangle. */
enum { CONSTRAINTS, OBJECTIVE, JACOBIAN, GRADIENT, HESSIAN, FUNCTIONS };

typedef struct {
    int64_t inputs, data, constraint_rows, objective_rows; /* sizes of the kernel */
    int64_t count;                                         /* places */
    int64_t nonzeros[FUNCTIONS];                           /* numbers that each function gives at a place */
    sparse_lines gather;                                   /* line place * inputs + input, over the unknowns */
    sparse_lines scatter;                                  /* line place * constraint_rows + row, over the constraints */
    const double *place_data;                              /* (data, count) */
    const double *weights;                                 /* (count, objective_rows) */
    const int64_t *row[FUNCTIONS], *column[FUNCTIONS];     /* places of the nonzeros, for JACOBIAN, GRADIENT and HESSIAN */
    const tape *function[FUNCTIONS];                       /* NULL: `evaluate` of the program is called */
} program_block;

/* Evaluates function `which` of block `block` at all its places: inputs (inputs, count), multipliers (rows, count) for the
 * Hessian, result (nonzeros, count). Returns 0, or -1 if it failed. */
typedef int evaluate_function(int64_t block, int64_t which, const double *inputs, const double *multipliers, double *result);

typedef struct {
    int64_t unknowns, constraints, blocks, parameters;
    sparse_lines linear; /* B, column by column */
    const double *parameter;
    const program_block *block;
    evaluate_function *evaluate;
    int64_t threads; /* at most */
} program;

typedef struct {
    const program *p;
    placement jacobian;    /* of g */
    placement hessian;     /* of the Lagrangian, upper triangle */
    placement constraints; /* (constraints,) */
    placement gradient;    /* (unknowns,) of f */
    double *inputs;        /* of all blocks, (inputs, count) each, one block after the other */
    double *results;       /* of all blocks, room for the largest of the five functions; then the unknowns */
    double *unknowns;      /* the last part of `results` */
    double *multipliers;
    double *work;          /* of tapes: (work_size,) for each thread */
    int64_t work_size;
    int64_t *used, *used_start; /* inputs that function f of block b reads: from used_start[FUNCTIONS * b + f] on */
    thread_team *team;
    int64_t *input_offset; /* (blocks,) */
    int64_t *offset[FUNCTIONS]; /* (blocks,) of each block's results */
} evaluation;

/* NULL if memory is short. The program must live as long. */
evaluation *evaluation_new(const program *p);
void evaluation_free(evaluation *e);

/* All return 0; -1 if a function failed. Numbers that are not finite are passed on. */
int evaluation_objective(evaluation *e, const double *y, double *f);
/* What the first `blocks` blocks contribute to the objective. */
int evaluation_part_of_objective(evaluation *e, const double *y, int64_t blocks, double *f);
int evaluation_constraints(evaluation *e, const double *y, double *g);
int evaluation_gradient(evaluation *e, const double *y, double *gradient);
int evaluation_jacobian(evaluation *e, const double *y, double *nonzeros);
int evaluation_hessian(evaluation *e, const double *y, double weight, const double *multipliers, double *nonzeros);

#endif
