/* Compare with Python: for some parameters and boundary values, reference.h has what prepared.solve(..., fixed=True) has found. Exit code
 * 0 if all numbers agree to 1e-9. */
#include "problem.h"
#include "problem_data.h"
#include "reference.h"
#include "trajopt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double AGREEMENT = 1e-9; /* relative to the size of each quantity */

static void set_values(trajopt *t, int set) {
    for (int k = 0; k < PARAMETERS; k++) trajopt_set_parameter(t, k, reference_parameter[set * PARAMETERS + k]);
    for (int64_t k = 0; k < exported_problem.boundaries; k++) {
        const problem_boundary *b = &exported_problem.boundary[k];
        const double value = reference_boundary[set * exported_problem.boundaries + k];
        if (b->side == INITIAL_STATE) trajopt_set_initial(t, b->phase, b->state, value);
        if (b->side == FINAL_STATE) trajopt_set_final(t, b->phase, b->state, value);
        if (b->side == START_TIME) trajopt_set_start_time(t, value);
        if (b->side == END_TIME) trajopt_set_end_time(t, value);
    }
}

static double worse(double most, double v) { return v <= most ? most : v; } /* keeps what is not a number */

/* The largest difference of objective and unknowns. */
static double difference(const trajopt *t, int set, double *y) {
    const double objective = reference_objective[set];
    double most = fabs(trajopt_objective(t) - objective) / fmax(fabs(objective), 1);
    trajopt_unknowns(t, y);
    for (int i = 0; i < UNKNOWNS; i++) most = worse(most, fabs(y[i] - reference_y[set * UNKNOWNS + i]) / exported_problem.size[i]);
    return most;
}

/* The largest difference of states and controls at the times of the reference. */
static double difference_at_times(const trajopt *t, int set) {
    double most = 0;
    for (int k = 0; k < REFERENCE_PLACES; k++) {
        const reference_place *place = &reference_places[set * REFERENCE_PLACES + k];
        const int states = exported_problem.phase[place->phase].states;
        const double v = place->variable < states ? trajopt_state(t, place->phase, place->variable, place->time)
                                                  : trajopt_control(t, place->phase, place->variable - states, place->time);
        most = worse(most, fabs(v - place->value) / fmax(fabs(place->value), place->size));
    }
    return most;
}

int main(void) {
    trajopt *t = trajopt_new();
    double *y = calloc(UNKNOWNS, sizeof *y), most = 0;
    int wrong = 0;
    for (int set = 0; t && y && set < REFERENCE_SETS; set++) {
        set_values(t, set);
        const int status = trajopt_solve(t, NULL, NULL), solved = status == TRAJOPT_SOLVED;
        if (solved != reference_solved[set]) {
            printf("set %d: %s, but not in Python\n", set, trajopt_status_text(status));
            wrong = 1;
        } else if (solved) {
            most = worse(worse(most, difference(t, set, y)), difference_at_times(t, set));
        }
    }
    printf("%s: %d sets, largest difference from Python %.1e\n", exported_problem.name, REFERENCE_SETS, most);
    wrong = wrong || !t || !y || !(most <= AGREEMENT);
    free(y);
    trajopt_free(t);
    return wrong;
}
