/* Steps of the explicit 8(5,3) pair of Dormand and Prince for a rate x' = f(t, x) given as a tape, with dense output of order 7.
 *
 * E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I (1993), II.5 and II.6; step-size control and
 * dense output as in SciPy's DOP853, so that both take the same steps up to round-off. */
#ifndef TRAJOPT_DOP853_H
#define TRAJOPT_DOP853_H

#include "tape.h"

#include <stdint.h>

enum { DOP853_STAGES = 16, DOP853_DENSE = 7 }; /* 12 of the step, the rate at its end, 3 for the dense output; powers of the latter */

typedef struct {
    const double *a;  /* (16, 16) row s weighs the stages before s; row 12 is the step itself */
    const double *c;  /* (16,) times of the stages */
    const double *e3; /* (13,) error estimates of order 3 and 5 */
    const double *e5; /* (13,) */
    const double *d;  /* (4, 16) the last four coefficients of the dense output */
} dop853_table;

typedef struct {
    double t, t_bound, h_abs; /* time, end of the motion, size of the next step; t and h_abs are updated */
    double rtol, atol;
    double *y;     /* (n,) state at t; updated */
    double *f;     /* (n,) rate at t; updated */
    double *dense; /* (7, n) x(t_old + s h) = y_old + s (d0 + (1 - s) (d1 + s (d2 + (1 - s) (d3 + ...)))) */
} dop853_state;

/* One accepted step. rate: inputs (1,) and (n,), n outputs. Returns 0; 1 if the step became too small; -1 if memory is short. */
int dop853_step(const tape *rate, const dop853_table *table, dop853_state *s);

#endif
