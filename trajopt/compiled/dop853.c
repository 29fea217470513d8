/* See dop853.h. */
#include "dop853.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double SAFETY = 0.9, SMALLEST = 0.2, LARGEST = 10.0; /* of consecutive step sizes, as in SciPy */

enum { FINAL = 12 }; /* the stage at the end of the step */

typedef struct {
    const tape *rate;
    const dop853_table *table;
    int n;
    double *k; /* (stages, n) */
    double *y; /* (n,) argument of a stage; after stage 12 the state at the end of the step */
    double *work;
} stages;

/* y = y0 + h sum_j a_sj k_j, k_s = f(t + c_s h, y) */
static void stage(const stages *g, int s, double t, const double *y0, double h) {
    const double *a = g->table->a + s * DOP853_STAGES;
    int n = g->n;
    for (int i = 0; i < n; i++) g->y[i] = 0;
    for (int j = 0; j < s; j++)
        if (a[j] != 0)
            for (int i = 0; i < n; i++) g->y[i] += a[j] * g->k[j * n + i];
    for (int i = 0; i < n; i++) g->y[i] = y0[i] + h * g->y[i];
    double time = t + g->table->c[s] * h;
    tape_input in[2] = {{&time, 1, 0}, {g->y, 1, 0}};
    tape_run_one(g->rate, in, g->k + s * n, g->work);
}

static double error_norm(const stages *g, const dop853_state *s, double h) {
    double sum3 = 0, sum5 = 0;
    for (int i = 0; i < g->n; i++) {
        double scale = s->atol + fmax(fabs(s->y[i]), fabs(g->y[i])) * s->rtol, e3 = 0, e5 = 0;
        for (int j = 0; j <= FINAL; j++) {
            e3 += g->table->e3[j] * g->k[j * g->n + i];
            e5 += g->table->e5[j] * g->k[j * g->n + i];
        }
        sum3 += e3 / scale * (e3 / scale);
        sum5 += e5 / scale * (e5 / scale);
    }
    if (sum3 == 0 && sum5 == 0) return 0;
    return fabs(h) * sum5 / sqrt((sum5 + 0.01 * sum3) * g->n);
}

/* After the step is accepted: y_new is kept, since further stages use g->y. */
static void fill_dense(const stages *g, dop853_state *s, double h, const double *y_new) {
    int n = g->n;
    for (int extra = FINAL + 1; extra < DOP853_STAGES; extra++) stage(g, extra, s->t, s->y, h);
    const double *k = g->k, *f_new = k + FINAL * n;
    for (int i = 0; i < n; i++) {
        double delta = y_new[i] - s->y[i];
        s->dense[i] = delta;
        s->dense[n + i] = h * k[i] - delta;
        s->dense[2 * n + i] = 2 * delta - h * (f_new[i] + k[i]);
        for (int row = 0; row < DOP853_DENSE - 3; row++) {
            double sum = 0;
            for (int j = 0; j < DOP853_STAGES; j++) sum += g->table->d[row * DOP853_STAGES + j] * k[j * n + i];
            s->dense[(3 + row) * n + i] = h * sum;
        }
    }
}

int dop853_step(const tape *rate, const dop853_table *table, dop853_state *s) {
    int n = rate->outputs;
    size_t work = tape_work_size(rate, 1);
    double *memory = calloc((size_t)(DOP853_STAGES + 2) * (size_t)n + work, sizeof(double));
    if (!memory) return -1;
    double *y_new = memory + (DOP853_STAGES + 1) * n;
    stages g = {rate, table, n, memory, memory + DOP853_STAGES * n, memory + (DOP853_STAGES + 2) * n};
    double direction = s->t_bound >= s->t ? 1 : -1, smallest = 10 * fabs(nextafter(s->t, direction * INFINITY) - s->t);
    double size = s->h_abs < smallest ? smallest : s->h_abs;
    memcpy(g.k, s->f, (size_t)n * sizeof(double));
    for (int rejected = 0;; rejected = 1) {
        if (size < smallest) {
            free(memory);
            return 1;
        }
        double t_new = s->t + size * direction;
        if (direction * (t_new - s->t_bound) > 0) t_new = s->t_bound;
        double h = t_new - s->t;
        size = fabs(h);
        for (int i = 1; i <= FINAL; i++) stage(&g, i, s->t, s->y, h);
        double error = error_norm(&g, s, h), factor = error == 0 ? LARGEST : SAFETY * pow(error, -0.125);
        if (error < 1) {
            s->h_abs = size * fmin(factor, rejected ? 1.0 : LARGEST);
            memcpy(y_new, g.y, (size_t)n * sizeof(double));
            fill_dense(&g, s, h, y_new);
            memcpy(s->y, y_new, (size_t)n * sizeof(double));
            memcpy(s->f, g.k + FINAL * n, (size_t)n * sizeof(double));
            s->t = t_new;
            free(memory);
            return 0;
        }
        size *= factor > SMALLEST ? factor : SMALLEST; /* also where the error is not a number */
    }
}
