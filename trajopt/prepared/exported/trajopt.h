/* A prepared problem of optimal control as a C program: solve it again for other parameters and boundary values.
 *
 *     trajopt *t = trajopt_new();                        allocates all memory, also that of the solves
 *     trajopt_set_parameter(t, PARAMETER_mass, 1.1);     names of this problem: problem.h
 *     trajopt_set_initial(t, 0, STATE_x, 0.1);
 *     if (trajopt_solve(t, NULL, NULL) == TRAJOPT_SOLVED) u = trajopt_control(t, 0, CONTROL_u, time);
 *     trajopt_free(t);
 *
 * The method is Newton's on the optimality conditions on the mesh of the export, with an explicit active set, from the last answer; its
 * first steps use the factors of the last solve (core/session.h). It is what prepared.solve(..., fixed=True) does in Python before it
 * turns to the interior-point method, which is not here: a solve that does not converge says so, and the last answer stays. The
 * discretization error is that of the mesh and is not estimated here, and limits that the export left out, because others implied them
 * at its values, are not checked: where parameters move far, compare with prepared.solve.
 *
 * Nothing is allocated after trajopt_new. There is no global state: several problems, made by trajopt_new, may be solved by several
 * threads. All numbers are in the units of the statement. */
#ifndef TRAJOPT_H
#define TRAJOPT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum trajopt_status {
    TRAJOPT_SOLVED,
    TRAJOPT_SLOW,       /* a limit of iterations or factorizations, or the residual does not fall */
    TRAJOPT_INDEFINITE, /* the second-order condition does not hold */
    TRAJOPT_SINGULAR,   /* active constraints depend on each other */
    TRAJOPT_FAILED,     /* numbers that are not finite, or the memory of trajopt_new is too small */
    TRAJOPT_REFUSED     /* values contradict limits, or fix what was free at the export: nothing was computed */
};

typedef struct trajopt trajopt;

/* What bounds the time of a solve. */
typedef struct {
    double tolerance; /* of the scaled residual of the optimality conditions */
    int64_t iterations, factorizations; /* at most */
} trajopt_limits;

typedef struct {
    int status; /* of enum trajopt_status */
    int64_t iterations, chords, factorizations; /* chords: steps with the factors of an earlier step */
    double error; /* the scaled residual of the optimality conditions where the solve ended */
} trajopt_report;

/* A problem whose answer is that of the export. NULL if memory is short. */
trajopt *trajopt_new(void);
void trajopt_free(trajopt *t);

/* The limits of Python: tolerance as exported, 30 iterations, 10 factorizations. */
trajopt_limits trajopt_usual_limits(void);

/* ---- values: they stay until they are set again ------------------------------------------------------------------------------ */

/* All return 0; -1 if there is no such value, or if it is out of its range: then the old one stays. */
int trajopt_set_parameter(trajopt *t, int parameter, double value);
double trajopt_parameter(const trajopt *t, int parameter);
/* Of states, and of the time of the first start and the last end, that were given at the export. NAN: as at the export. */
int trajopt_set_initial(trajopt *t, int phase, int state, double value);
int trajopt_set_final(trajopt *t, int phase, int state, double value);
int trajopt_set_start_time(trajopt *t, double value);
int trajopt_set_end_time(trajopt *t, double value);

/* ---- solve ------------------------------------------------------------------------------------------------------------------- */

/* limits: NULL for the usual ones; report may be NULL. Returns the status. */
int trajopt_solve(trajopt *t, const trajopt_limits *limits, trajopt_report *report);
const char *trajopt_status_text(int status);

/* ---- the last answer --------------------------------------------------------------------------------------------------------- */

double trajopt_objective(const trajopt *t); /* as stated */
double trajopt_error(const trajopt *t);     /* its residual of the optimality conditions; NAN before the first solve */
void trajopt_unknowns(const trajopt *t, double *y); /* (UNKNOWNS,) of the program, as Iterate.y in Python */

/* At a time; times outside of the phase count as its ends. NAN if there is no such phase or variable. */
double trajopt_state(const trajopt *t, int phase, int state, double time);
double trajopt_control(const trajopt *t, int phase, int control, double time);
double trajopt_algebraic(const trajopt *t, int phase, int variable, double time);
double trajopt_variable(const trajopt *t, int variable); /* a static variable */

/* Start, switches and end of a phase: how many, and each. */
int trajopt_times(const trajopt *t, int phase);
double trajopt_time(const trajopt *t, int phase, int which);
double trajopt_start_time(const trajopt *t, int phase);
double trajopt_end_time(const trajopt *t, int phase);

#ifdef __cplusplus
}
#endif

#endif
