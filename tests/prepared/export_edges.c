/* The interface of an exported problem (`swing` of test_export.py) at its limits; allocations are counted. */
#include "problem.h"
#include "trajopt.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static long allocations;
void *__real_malloc(size_t), *__real_calloc(size_t, size_t), *__real_realloc(void *, size_t);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n) { return allocations++, __real_malloc(n); }
void *__wrap_calloc(size_t n, size_t size) { return allocations++, __real_calloc(n, size); }
void *__wrap_realloc(void *p, size_t n) { return allocations++, __real_realloc(p, n); }

#define CHECK(what) do { if (!(what)) { printf("line %d: %s\n", __LINE__, #what); return 1; } } while (0)

int main(void) {
    trajopt *t = trajopt_new();
    trajopt_report r;
    CHECK(t && allocations > 0);
    const long before = allocations;
    CHECK(isnan(trajopt_error(t)) && trajopt_solve(t, NULL, &r) == TRAJOPT_SOLVED && trajopt_error(t) < 1e-9);
    const double first = trajopt_objective(t);
    trajopt_limits limits = trajopt_usual_limits();
    limits.factorizations = 1;
    for (int k = 0; k < 200; k++) {
        CHECK(!trajopt_set_parameter(t, PARAMETER_mass, 1 + 0.1 * sin(k)));
        CHECK(!trajopt_set_initial(t, 0, STATE_a, 0.2 * sin(3 * k)));
        CHECK(!trajopt_set_parameter(t, PARAMETER_limit, 9 + 2 * sin(7 * k)));
        trajopt_solve(t, &limits, &r);
        CHECK(r.factorizations <= 1 && r.iterations <= 30);
    }
    CHECK(!trajopt_set_parameter(t, PARAMETER_mass, 1) && !trajopt_set_parameter(t, PARAMETER_limit, 9));
    CHECK(!trajopt_set_initial(t, 0, STATE_a, NAN));
    CHECK(trajopt_solve(t, NULL, NULL) == TRAJOPT_SOLVED && fabs(trajopt_objective(t) - first) < 1e-6 * first);
    CHECK(trajopt_state(t, 0, STATE_a, 9) == trajopt_state(t, 0, STATE_a, trajopt_end_time(t, 0)));
    CHECK(fabs(trajopt_state(t, 0, STATE_a, 9) - 2.5) < 1e-9 && trajopt_start_time(t, 0) == 0 && trajopt_times(t, 0) >= 2);

    /* What cannot be set, and what contradicts limits: the answer stays. */
    CHECK(trajopt_set_parameter(t, PARAMETERS, 1) && trajopt_set_parameter(t, -1, 1));
    CHECK(trajopt_set_parameter(t, PARAMETER_mass, NAN) && trajopt_parameter(t, PARAMETER_mass) == 1);
    CHECK(trajopt_set_initial(t, 0, 2, 0) && trajopt_set_initial(t, 1, 0, 0) && trajopt_set_final(t, 0, STATE_w, INFINITY));
    CHECK(isnan(trajopt_state(t, 0, 2, 0)) && isnan(trajopt_control(t, 1, 0, 0)) && isnan(trajopt_variable(t, 0)));
    const double kept = trajopt_objective(t);
    CHECK(!trajopt_set_parameter(t, PARAMETER_limit, -1) && trajopt_solve(t, NULL, &r) == TRAJOPT_REFUSED);
    CHECK(!trajopt_set_parameter(t, PARAMETER_limit, 0) && trajopt_solve(t, NULL, &r) == TRAJOPT_REFUSED);
    CHECK(!trajopt_set_parameter(t, PARAMETER_limit, 9) && !trajopt_set_start_time(t, 1.5));
    CHECK(trajopt_solve(t, NULL, &r) == TRAJOPT_REFUSED && trajopt_objective(t) == kept);
    CHECK(!trajopt_set_start_time(t, NAN) && !trajopt_set_parameter(t, PARAMETER_mass, 1e9));
    CHECK(trajopt_solve(t, NULL, &r) != TRAJOPT_SOLVED && trajopt_objective(t) == kept);
    CHECK(!trajopt_set_parameter(t, PARAMETER_mass, 1) && trajopt_solve(t, NULL, &r) == TRAJOPT_SOLVED && r.iterations == 0);
    CHECK(allocations == before);
    trajopt_free(t);
    return 0;
}
