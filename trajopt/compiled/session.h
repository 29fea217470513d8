/* A session: a program whose structure is analysed once, and which is solved again and again for other numbers (parameters, bounds,
 * data of its places), each time from the last answer.
 *
 * The method is Newton's on the KKT conditions with an explicit active set, the semismooth Newton or primal-dual active set method
 * (Hintermueller, Ito and Kunisch, SIAM J. Optim. 13, 2002). While the residual falls fast enough its steps use the last factors
 * (chord steps). There is no line search: a session that does not converge says so, and the interior-point method takes its place.
 *
 * The rows and columns of unknowns held at a bound, and of inactive inequalities, keep their place in the matrix: their entries
 * off the diagonal become zero, and those on it 1 and -1. So the structure never changes, and a minimum has as many negative
 * eigenvalues as there are rows. */
#ifndef TRAJOPT_SESSION_H
#define TRAJOPT_SESSION_H

#include "interior_point.h"

enum session_status {
    SESSION_SOLVED,
    SESSION_SLOW,       /* limit of iterations, or the residual does not fall */
    SESSION_INDEFINITE, /* the KKT matrix does not have the inertia of a minimum */
    SESSION_SINGULAR,   /* active bounds and rows depend on each other */
    SESSION_FAILED      /* a function failed, numbers are not finite, or reserved memory is short */
};

typedef struct {
    double tolerance; /* of the residual: steps to bounds, rows, and the Lagrangian's gradient relative to the largest multiplier */
    double rate;      /* chord steps are taken while a step reduces the residual to less than this part; 0: none */
    int64_t iterations, factorizations; /* at most */
    int64_t certified; /* factor at the answer if its last factors are older: the inertia is that of the answer */
} session_options;

typedef struct {
    int64_t status, iterations, chords, factorizations, changes, negative, zero;
    int64_t dependent; /* active bounds and rows depend on each other: multipliers are not unique */
    double error;
} session_report;

typedef struct session session;

/* Which unknowns are fixed, and which rows are equations, is the structure: other bounds must leave it as it is.
 * NULL if memory is short. Program and bounds must live as long; numbers in them may change. */
session *session_new(const program *p, const interior_point_bounds *bounds);
void session_free(session *t);

/* Reserve the memory of all solves that follow (factorization.h); 0, or -1 if memory is short. */
int session_reserve(session *t);

/* free unknowns, rows */
void session_sizes(const session *t, int64_t *sizes);

/* Begin at a point with multipliers; the active set is what they say. */
void session_begin(session *t, const interior_point_answer *from);
int session_solve(session *t, const session_options *options, session_report *report);
/* The point, its rows and multipliers; returns the objective. */
double session_answer(session *t, const interior_point_answer *answer);
/* What the first `blocks` blocks contribute to the objective at the point of `session_answer`. */
double session_cost(session *t, int64_t blocks);

/* Roles of unknowns (unknowns,): -1 at the lower bound, 1 at the upper, 0 free, 2 fixed; of rows: -1, 1, 0 inactive, 2 equation. */
void session_active(const session *t, int8_t *unknowns, int8_t *rows);
void session_set_active(session *t, const int8_t *unknowns, const int8_t *rows);

/* Factor the KKT matrix at the point; a session_status. */
int session_factor(session *t, session_report *report);
/* hessian := H direction (unknowns,), rows := J direction (rows,), with the matrices of the last factorization. */
void session_product(session *t, const double *direction, double *hessian, double *rows);
/* dual := J' multipliers (unknowns,), with the Jacobian of the last factorization. */
void session_transposed(session *t, const double *multipliers, double *dual);
/* Solve the last factored system: right-hand sides (unknowns,) and (rows,), those of held unknowns and inactive rows are not read. */
int session_tangent(session *t, const double *dual, const double *rows, double *dy, double *dlambda);

#endif
