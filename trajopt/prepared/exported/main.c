/* Solve once and print the answer; or, with a number, so many times with parameters and initial values that vary by a percent at random,
 * and print how much processor time that takes:
 *
 *     ./main
 *     ./main 10000         solves
 *     ./main 10000 2       with at most 2 factorizations each
 */
#include "problem.h"
#include "problem_data.h"
#include "trajopt.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const double SPREAD = 0.01;
enum { ROWS = 10 }; /* of the table, and one more */

static void print_phase(const trajopt *t, int phase) {
    const problem_phase *ph = &exported_problem.phase[phase];
    const double start = trajopt_start_time(t, phase), end = trajopt_end_time(t, phase);
    printf("\nphase %s\n%14s", ph->name, "t");
    for (int i = 0; i < ph->states; i++) printf(" %14s", ph->state_name[i]);
    for (int i = 0; i < ph->controls; i++) printf(" %14s", ph->control_name[i]);
    printf("\n");
    for (int row = 0; row <= ROWS; row++) {
        const double time = start + (end - start) * row / ROWS;
        printf("%14.7g", time);
        for (int i = 0; i < ph->states; i++) printf(" %14.7g", trajopt_state(t, phase, i, time));
        for (int i = 0; i < ph->controls; i++) printf(" %14.7g", trajopt_control(t, phase, i, time));
        printf("\n");
    }
}

static int solve_once(trajopt *t) {
    trajopt_report report;
    const int status = trajopt_solve(t, NULL, &report);
    printf("%s: %s\n", exported_problem.name, trajopt_status_text(status));
    printf("objective %.12g\n", trajopt_objective(t));
    printf("residual %.1e after %" PRId64 " steps and %" PRId64 " factorizations\n", report.error, report.iterations,
           report.factorizations);
    for (int phase = 0; phase < PHASES; phase++) print_phase(t, phase);
    return status == TRAJOPT_SOLVED ? 0 : 1;
}

/* ---- many solves --------------------------------------------------------------------------------------------------------------- */

/* From -1 to 1 (Steele and Vigna, Computationally easy, spectrally good multipliers, 2022). */
static double random_number(uint64_t *state) {
    *state = *state * UINT64_C(0xd1342543de82ef95) + 1;
    return (double)(*state >> 11) / (double)(UINT64_C(1) << 52) - 1;
}

static double varied(double value, double size, uint64_t *state) {
    return value + SPREAD * (fabs(value) > 0 ? fabs(value) : size) * random_number(state);
}

static void vary(trajopt *t, uint64_t *state) {
    const problem_data *d = &exported_problem;
    for (int k = 0; k < d->parameters; k++) trajopt_set_parameter(t, k, varied(d->parameter[k], 1, state));
    for (int64_t k = 0; k < d->boundaries; k++) {
        const problem_boundary *b = &d->boundary[k];
        const double value = varied(b->base, b->size, state);
        if (b->side == INITIAL_STATE) trajopt_set_initial(t, b->phase, b->state, value);
    }
}

/* Of processor time: other programs do not count. */
static double seconds_now(void) { return (double)clock() / CLOCKS_PER_SEC; }

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int solve_many(trajopt *t, long count, const trajopt_limits *limits) {
    uint64_t state = 1;
    int64_t statuses[TRAJOPT_REFUSED + 1] = {0}, steps = 0, factorizations = 0, most = 0;
    double *seconds = calloc((size_t)count, sizeof *seconds);
    if (!seconds) return 1;
    for (long k = 0; k < count; k++) {
        trajopt_report report;
        vary(t, &state);
        const double began = seconds_now();
        statuses[trajopt_solve(t, limits, &report)]++;
        seconds[k] = seconds_now() - began;
        steps += report.iterations;
        factorizations += report.factorizations;
        if (report.factorizations > most) most = report.factorizations;
    }
    qsort(seconds, (size_t)count, sizeof *seconds, ascending);
    printf("%s: %ld solves\n", exported_problem.name, count);
    for (int k = 0; k <= TRAJOPT_REFUSED; k++)
        if (statuses[k]) printf("%" PRId64 " %s\n", statuses[k], trajopt_status_text(k));
    printf("microseconds: median %.0f, 99 %% %.0f, worst %.0f\n", 1e6 * seconds[count / 2], 1e6 * seconds[count - 1 - count / 100],
           1e6 * seconds[count - 1]);
    printf("each: %.2f steps, %.3f factorizations; at most %" PRId64 " factorizations of %" PRId64 " allowed\n",
           (double)steps / (double)count, (double)factorizations / (double)count, most, limits->factorizations);
    free(seconds);
    return statuses[TRAJOPT_SOLVED] > 0 ? 0 : 1;
}

int main(int arguments, char **argument) {
    const long count = arguments > 1 ? atol(argument[1]) : 0;
    trajopt_limits limits = trajopt_usual_limits();
    if (arguments > 2) limits.factorizations = atol(argument[2]);
    trajopt *t = trajopt_new();
    if (!t) {
        fprintf(stderr, "not enough memory\n");
        return 1;
    }
    const int code = count > 0 ? solve_many(t, count, &limits) : solve_once(t);
    trajopt_free(t);
    return code;
}
