/* A program without its fixed unknowns, the structure of its KKT matrix and the work arrays of linear systems with it: what the
 * interior-point method and a session share. */
#ifndef TRAJOPT_SCALED_PROGRAM_H
#define TRAJOPT_SCALED_PROGRAM_H

#include "evaluation.h"
#include "factorization.h"
#include "interior_point.h"

/* As fmax for a first argument that is a number, without a call of the library. */
static inline double greater(double most, double v) { return v > most ? v : most; }

typedef struct {
    evaluation *e;
    const program *p;
    const interior_point_options *options;
    interior_point_callback *callback;
    interior_point_report *report;
    double began, asked;        /* times: of the start, and when the callback was called last */
    int stop;                   /* 0; else 1 + the status with which to stop */
    watch watched;              /* of the factorization: sets `stop` */
    int64_t free, rows;         /* unknowns that are not fixed, constraints */
    int64_t *unknown;           /* (free,) of the program */
    int64_t *free_of;           /* (unknowns,) -1 for fixed ones */
    double *y;                  /* (unknowns,) for evaluations */
    double objective_scale, *row_scale; /* (rows,) */
    double *jacobian, *hessian; /* nonzeros; jacobian scaled */
    double *row_sums;           /* (rows,) */
    /* KKT matrix: entries of the Hessian, of the Jacobian, of the diagonal; -1 where an entry belongs to a fixed unknown. */
    factorization *kkt;
    int64_t entries, *entry_row, *entry_column, *hessian_entry, *jacobian_entry, diagonal_entry;
    double *entry_value;
    double threshold; /* of pivots */
    double *right, *solution, *residual; /* (free + rows,) */
} scaled_program;

/* scaled_program.c */
/* The evaluation of a program, its free unknowns and work arrays; 0 if memory is short. */
int new_scaled_program(scaled_program *s, const interior_point_bounds *b);
void free_scaled_program(scaled_program *s);

/* kkt.c */
/* The structure of the KKT matrix, its pairs chosen by the Jacobian that `jacobian` holds; 0 if memory is short or the watch stops it. */
int kkt_new(scaled_program *s, const interior_point_bounds *bounds);
/* solution := the solution for `right` by the last factors, with iterative refinement; 0, or -1 if the method shall stop. */
int kkt_solve_refined(scaled_program *s);

#endif
