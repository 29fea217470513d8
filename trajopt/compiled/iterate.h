/* The state of the interior-point method, shared by its files.
 *
 * Primal variables x are the unknowns that are not fixed, then "attached" variables, each of which enters a single constraint row
 * with a coefficient sign = -1 or 1: slacks of inequalities, and in the restoration phase the two parts of each row's violation.
 *
 *     minimize  f(x) + cost . attached  +  proximity / 2 |weight (x - centre)|^2     subject to
 *     g(x) - target + sum of sign * attached = 0,      lower <= x <= upper
 *
 * In the restoration phase the objective f is left out. Everything is scaled as WB, section 3.8. */
#ifndef TRAJOPT_ITERATE_H
#define TRAJOPT_ITERATE_H

#include "scaled_program.h"

enum { MOST_IN_FILTER = 512 };

/* Pairs (violation, objective) that a new iterate must improve on. */
typedef struct {
    int64_t count;
    double violation[MOST_IN_FILTER], objective[MOST_IN_FILTER];
} filter;

enum rank { RANK_UNKNOWN, RANK_FULL, RANK_DEFICIENT };

typedef struct iterate iterate;
struct iterate {
    scaled_program *s;
    int64_t attached, size;  /* attached variables; free + attached */
    int64_t *row;            /* (attached,) */
    double *sign, *cost;     /* (attached,) */
    double *target;          /* (rows,) */
    int restoring;           /* leaves f out */
    double proximity, *weight, *centre; /* (free,) in the restoration phase */
    iterate *outer;          /* the iterate that the restoration phase shall make acceptable, and its filter */
    /* the point */
    double *x, *lower, *upper, *z_lower, *z_upper; /* (size,) */
    double *lambda;                                /* (rows,) */
    double f, *g, *gradient; /* objective with costs and proximity; scaled constraints (rows,); gradient (size,) */
    double *c;               /* (rows,) residuals of the rows */
    double *dual;            /* (size,) gradient of the Lagrangian */
    double *transposed;      /* (free,) J' lambda */
    /* the step */
    double *dx, *dz_lower, *dz_upper, *dlambda;
    double *sigma, *condensed; /* (size,), (rows,) eliminated attached variables: sum of 1 / (sigma + shift) */
    double shift, row_shift, last_shift; /* inertia correction: delta_w, delta_c, the last delta_w > 0 */
    enum rank hessian_rank, row_rank;    /* whether the KKT matrix is singular without shifts in every iteration */
    int testing;                         /* the factorizations of this iteration can tell */
    int64_t degenerate_iterations;
    double *trial, *trial_g, *trial_c, trial_f;
    double *correction, *correction_c; /* second-order */
    double *affine, *affine_lambda, *centring, *centring_lambda; /* directions of the quality function */
    double *along; /* (2 * size, 6) of each finite bound, for the quality function */
    /* barrier and globalization */
    double mu, mu_max, mu_min, tau, error, violation, dual_error, complementarity, average, scale_dual, scale_bound;
    int64_t bounds; /* finite ones */
    int freely;     /* the barrier parameter is chosen anew in every iteration */
    int tiny;       /* the last step did not change the iterate */
    filter line_filter, progress_filter;
    double references[4];
    int64_t reference_count;
    double theta_max, theta_min;
    int64_t iteration;
};

/* inertia.c */
/* Factor with the smallest shifts that give the right inertia, WB algorithm IC. 0, or -1 if none does. */
int kkt_factor(iterate *w);
/* Directions for given residuals: (size,) of the dual, (rows,) of the primal equations; dx (size,), dlambda (rows,). 0, or -1 if
 * the method shall stop. */
int kkt_direction(iterate *w, const double *dual, const double *primal, double *dx, double *dlambda);
/* Least-squares multipliers of the rows, WB (36). */
int kkt_multipliers(iterate *w);

/* point.c */
iterate *iterate_new(scaled_program *s, int64_t attached);
void iterate_free(iterate *w);
/* Objective and constraints at x; 0, 1 if they are not finite, -1 if a function failed. */
int point_values(iterate *w, const double *x, double *f, double *g);
int point_derivatives(iterate *w);
int point_hessian(iterate *w);
void point_residuals(iterate *w, const double *x, const double *g, double *c);
/* Everything that the optimality error needs, and the error WB (5) itself. */
void point_errors(iterate *w);
double point_barrier_error(const iterate *w, double mu);
/* f - mu * sum of logarithms of distances. */
double point_barrier_function(const iterate *w, const double *x, double f);
double point_barrier_gradient(const iterate *w, int64_t i, double mu);
/* Change the weight of the distance from the centre. */
void point_proximity(iterate *w, double proximity);
void point_inside(iterate *w, double push);

/* barrier.c */
/* The barrier parameter of this iteration; the direction, and in free mode the parameter too: 0, or -1 if the method shall stop. */
void barrier_update(iterate *w);
int barrier_direction(iterate *w);
/* The direction of the multipliers of bounds for a given dx. */
void barrier_multipliers(iterate *w);

/* line_search.c */
/* 0: a step was taken; 1: none is acceptable; -1: a function failed, or the method shall stop. */
int line_search(iterate *w);
/* The largest step that keeps multipliers of bounds positive, WB (15b). */
double longest_dual(const iterate *w);
int filter_accepts(const filter *f, double violation, double objective);
void filter_add(filter *f, double violation, double objective);

/* restoration.c */
/* Move w to a point of less violation that its filter accepts. A status of the method; IP_SOLVED if it did. */
int restore(iterate *w);

/* interior_point.c */
/* Iterate until solved, or until `restore` is done. */
int run(iterate *w);
double seconds_now(void);

#endif
