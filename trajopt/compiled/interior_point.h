/* A primal-dual interior-point method with a filter line search for programs of evaluation.h, after Waechter and Biegler, Math.
 * Program. 106 (2006), "WB" below, with the adaptive barrier parameter of Nocedal, Waechter and Waltz, SIAM J. Optim. 19 (2009),
 * "NWW"; constants are theirs, which are IPOPT's. */
#ifndef TRAJOPT_INTERIOR_POINT_H
#define TRAJOPT_INTERIOR_POINT_H

#include "evaluation.h"

#include <stdint.h>

enum interior_point_status {
    IP_SOLVED,
    IP_ITERATIONS,   /* limit reached */
    IP_INFEASIBLE,   /* the restoration phase ended at a point of least violation */
    IP_NOT_A_NUMBER, /* the start cannot be evaluated */
    IP_TIME,         /* limit reached */
    IP_INTERRUPTED,  /* the callback asked for it */
    IP_FAILED,       /* no acceptable step, or memory is short */
    IP_DIVERGED      /* an unknown exceeds every reasonable size */
};

enum { IP_GIVEN_MULTIPLIERS = 2 };

typedef struct {
    double tolerance;       /* of the scaled optimality error, WB (5) */
    double complementarity; /* largest product of distance and multiplier of a bound, unscaled */
    double barrier;         /* initial barrier parameter */
    double push;            /* relative distance that the start keeps from bounds */
    double relax;           /* by which bounds are moved outwards, relative to their size; rows at least by the tolerance */
    double seconds;         /* of wall-clock time */
    int64_t max_iterations;
    int64_t fitted; /* multipliers of bounds begin as barrier / distance, else as ones; and progress is judged by the error.
                     * IP_GIVEN_MULTIPLIERS: all multipliers begin as those that the answer's arrays hold */
    int64_t monotone; /* the barrier parameter decreases monotonically, WB (7); else it is adapted */
} interior_point_options;

/* lower, upper, start: (unknowns,); g_lower, g_upper: (constraints,). */
typedef struct {
    const double *lower, *upper, *g_lower, *g_upper, *start;
} interior_point_bounds;

/* Where it stopped; multipliers are those of L = f + bound . y + constraint . g. */
typedef struct {
    double *y, *g, *bound, *constraint;
} interior_point_answer;

typedef struct {
    int64_t status, iterations, restorations, factorizations, delayed;
    double objective, error;
    double seconds_analysis, seconds_factorization, seconds_evaluation;
} interior_point_report;

/* An iteration: the objective, the largest violation, the dual error and the barrier parameter. */
typedef struct {
    int64_t iteration;
    double objective, violation, dual, barrier;
} interior_point_progress;

/* Called once an iteration, and with NULL several times a second while one lasts; 1 stops the method. */
typedef int interior_point_callback(const interior_point_progress *progress);

/* Returns report->status. callback may be NULL. */
int interior_point_solve(const program *p, const interior_point_bounds *bounds, const interior_point_options *options,
                         interior_point_callback *callback, const interior_point_answer *answer, interior_point_report *report);

#endif
