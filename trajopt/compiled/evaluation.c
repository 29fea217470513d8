/* Evaluation of programs; see evaluation.h. Everything is summed in a fixed order, whatever the number of threads. */
#include "evaluation.h"
#include "memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- where results go ---------------------------------------------------------------------------------------------------- */

/* Where each nonzero of each place's Jacobian goes: A[:, row] x G[input, :]. */
static void jacobian_terms(const program_block *b, int64_t offset, term_list *t) {
    for (int64_t k = 0; k < b->nonzeros[JACOBIAN]; k++)
        for (int64_t place = 0; place < b->count; place++) {
            int64_t r = place * b->constraint_rows + b->row[JACOBIAN][k], w = place * b->inputs + b->column[JACOBIAN][k];
            for (int64_t s = b->scatter.start[r]; s < b->scatter.start[r + 1]; s++)
                for (int64_t g = b->gather.start[w]; g < b->gather.start[w + 1]; g++)
                    add_term(t, b->scatter.index[s], b->gather.index[g], offset + k * b->count + place,
                             b->scatter.value[s] * b->gather.value[g]);
        }
}

/* Where each nonzero of each place's Hessian goes: G[input, :] x G[other input, :]. An entry off the diagonal stands for both
 * triangles: where both inputs are the same unknown it counts twice. A diagonal one spreads symmetrically: one triangle is kept. */
static void hessian_terms(const program_block *b, int64_t offset, term_list *t) {
    for (int64_t k = 0; k < b->nonzeros[HESSIAN]; k++)
        for (int64_t place = 0; place < b->count; place++) {
            int64_t v = place * b->inputs + b->row[HESSIAN][k], w = place * b->inputs + b->column[HESSIAN][k];
            for (int64_t g = b->gather.start[v]; g < b->gather.start[v + 1]; g++)
                for (int64_t h = b->gather.start[w]; h < b->gather.start[w + 1]; h++) {
                    int64_t i = b->gather.index[g], j = b->gather.index[h];
                    double coefficient = b->gather.value[g] * b->gather.value[h];
                    if (v == w && i > j) continue;
                    if (v != w && i == j) coefficient *= 2;
                    add_term(t, i < j ? i : j, i < j ? j : i, offset + k * b->count + place, coefficient);
                }
        }
}

/* Where each constraint row of each place goes. */
static void constraint_terms(const program_block *b, int64_t offset, term_list *t) {
    for (int64_t place = 0; place < b->count; place++)
        for (int64_t r = 0; r < b->constraint_rows; r++) {
            const int64_t line = place * b->constraint_rows + r;
            for (int64_t s = b->scatter.start[line]; s < b->scatter.start[line + 1]; s++)
                add_term(t, b->scatter.index[s], 0, offset + r * b->count + place, b->scatter.value[s]);
        }
}

/* Where each slope of each place's objective rows goes. */
static void gradient_terms(const program_block *b, int64_t offset, term_list *t) {
    for (int64_t k = 0; k < b->nonzeros[GRADIENT]; k++)
        for (int64_t place = 0; place < b->count; place++) {
            const int64_t line = place * b->inputs + b->column[GRADIENT][k];
            const double weight = b->weights[place * b->objective_rows + b->row[GRADIENT][k]];
            for (int64_t g = b->gather.start[line]; g < b->gather.start[line + 1]; g++)
                add_term(t, b->gather.index[g], 0, offset + k * b->count + place, weight * b->gather.value[g]);
        }
}

static int make_matrices(evaluation *e) {
    const program *p = e->p;
    term_list jacobian = {0}, hessian = {0};
    for (int64_t c = 0; c < p->unknowns; c++)
        for (int64_t k = p->linear.start[c]; k < p->linear.start[c + 1]; k++)
            add_term(&jacobian, p->linear.index[k], c, -1, p->linear.value[k]);
    for (int64_t b = 0; b < p->blocks; b++) {
        jacobian_terms(&p->block[b], e->offset[JACOBIAN][b], &jacobian);
        hessian_terms(&p->block[b], e->offset[HESSIAN][b], &hessian);
    }
    const int fine = place_terms(&e->jacobian, p->constraints, p->unknowns, &jacobian) &&
                     place_terms(&e->hessian, p->unknowns, p->unknowns, &hessian);
    free_terms(&jacobian);
    free_terms(&hessian);
    return fine;
}

/* `first`: where the unknowns begin in `results`. */
static int make_vectors(evaluation *e, int64_t first) {
    const program *p = e->p;
    term_list constraints = {0}, gradient = {0};
    for (int64_t c = 0; c < p->unknowns; c++)
        for (int64_t k = p->linear.start[c]; k < p->linear.start[c + 1]; k++)
            add_term(&constraints, p->linear.index[k], 0, first + c, p->linear.value[k]);
    for (int64_t b = 0; b < p->blocks; b++) {
        constraint_terms(&p->block[b], e->offset[CONSTRAINTS][b], &constraints);
        gradient_terms(&p->block[b], e->offset[GRADIENT][b], &gradient);
    }
    const int fine = place_terms(&e->constraints, p->constraints, 1, &constraints) &&
                     place_terms(&e->gradient, p->unknowns, 1, &gradient);
    free_terms(&constraints);
    free_terms(&gradient);
    return fine;
}

/* Which inputs each function of each block reads: those of its tape, else all. Returns whether there was memory. */
static int find_inputs(evaluation *e) {
    const program *p = e->p;
    int64_t most = 0, count = 0;
    for (int64_t k = 0; k < p->blocks; k++) most += FUNCTIONS * p->block[k].inputs;
    if (!(e->used = new_integers(most)) || !(e->used_start = new_integers(FUNCTIONS * p->blocks + 1))) return 0;
    for (int64_t k = 0; k < p->blocks; k++)
        for (int f = 0; f < FUNCTIONS; f++) {
            const tape *t = p->block[k].function[f];
            int64_t *list = e->used + count;
            for (int64_t i = 0; i < p->block[k].inputs; i++) list[i] = t == NULL;
            for (int32_t n = 0; t && n < t->instructions; n++)
                if (t->operation[n] == TAPE_INPUT && t->first[n] == 0) list[t->second[n]] = 1;
            int64_t found = 0;
            for (int64_t i = 0; i < p->block[k].inputs; i++)
                if (list[i]) list[found++] = i;
            e->used_start[FUNCTIONS * k + f + 1] = count += found;
        }
    return 1;
}

/* ---- the evaluation --------------------------------------------------------------------------------------------------- */

/* Threads are started if the most expensive function takes long enough. */
static thread_team *make_team(const program *p) {
    double most = 0;
    for (int f = 0; f < FUNCTIONS; f++) {
        double operations = 0;
        for (int64_t k = 0; k < p->blocks; k++)
            if (p->block[k].function[f]) operations += (double)p->block[k].function[f]->instructions * (double)p->block[k].count;
        if (operations > most) most = operations;
    }
    return most > OPERATIONS_PER_THREAD ? team_new((int)p->threads) : NULL;
}

/* Room for the largest tape, for each thread: whole cache lines. Returns whether there was memory. */
static int make_work(evaluation *e) {
    const program *p = e->p;
    for (int64_t k = 0; k < p->blocks; k++)
        for (int f = 0; f < FUNCTIONS; f++) {
            const tape *t = p->block[k].function[f];
            const int64_t size = t ? ((int64_t)tape_work_size(t, p->block[k].count) + 7) / 8 * 8 : 0;
            if (size > e->work_size) e->work_size = size;
        }
    const int64_t threads = !e->team ? 1 : p->threads < MOST_THREADS ? p->threads : MOST_THREADS;
    return (e->work = new_doubles(e->work_size * threads)) != NULL;
}

evaluation *evaluation_new(const program *p) {
    evaluation *e = calloc(1, sizeof *e);
    if (!e) return NULL;
    e->p = p;
    e->input_offset = new_integers(p->blocks);
    int fine = e->input_offset != NULL;
    for (int f = 0; f < FUNCTIONS; f++) fine = (e->offset[f] = new_integers(p->blocks)) != NULL && fine;
    int64_t inputs = 0, multipliers = 0, results[FUNCTIONS] = {0}, most = 0;
    for (int64_t k = 0; fine && k < p->blocks; k++) {
        const program_block *b = &p->block[k];
        e->input_offset[k] = inputs;
        inputs += b->inputs * b->count;
        int64_t rows = (b->constraint_rows + b->objective_rows) * b->count;
        if (rows > multipliers) multipliers = rows;
        for (int f = 0; f < FUNCTIONS; f++) {
            e->offset[f][k] = results[f];
            results[f] += b->nonzeros[f] * b->count;
            if (results[f] > most) most = results[f];
        }
    }
    fine = fine && (e->inputs = new_doubles(inputs)) && (e->results = new_doubles(most + p->unknowns)) &&
           (e->multipliers = new_doubles(multipliers)) && make_matrices(e) && make_vectors(e, most) && find_inputs(e);
    if (fine) {
        e->unknowns = e->results + most;
        e->team = make_team(p);
        fine = make_work(e);
    }
    if (fine) return e;
    evaluation_free(e);
    return NULL;
}

void evaluation_free(evaluation *e) {
    if (!e) return;
    team_free(e->team);
    free_placement(&e->jacobian);
    free_placement(&e->hessian);
    free_placement(&e->constraints);
    free_placement(&e->gradient);
    free(e->inputs);
    free(e->results);
    free(e->multipliers);
    free(e->work);
    free(e->used);
    free(e->used_start);
    free(e->input_offset);
    for (int f = 0; f < FUNCTIONS; f++) free(e->offset[f]);
    free(e);
}

/* One function of one block: what its parts share. */
typedef struct {
    const program *p;
    const program_block *b;
    int which;
    const int64_t *used; /* (inputs_used,) inputs that the function reads */
    int64_t inputs_used;
    const double *y, *lambda; /* lambda and weight: for the Hessian */
    double weight;
    double *inputs, *multipliers, *result, *work;
    int64_t work_size;
    int parts;
} block_run;

/* W = G y at the places from `begin` to `end` - 1, input by input. */
static void gather(const block_run *r, int64_t begin, int64_t end) {
    const program_block *b = r->b;
    for (int64_t place = begin; place < end; place++)
        for (int64_t u = 0; u < r->inputs_used; u++) {
            double sum = 0;
            const int64_t i = r->used[u], line = place * b->inputs + i;
            for (int64_t k = b->gather.start[line]; k < b->gather.start[line + 1]; k++)
                sum += b->gather.value[k] * r->y[b->gather.index[k]];
            r->inputs[i * b->count + place] = sum;
        }
}

/* Multipliers of all rows of a block's kernel: A' lambda, then the weights of the objective. */
static void gather_multipliers(const block_run *r, int64_t begin, int64_t end) {
    const program_block *b = r->b;
    for (int64_t place = begin; place < end; place++) {
        for (int64_t i = 0; i < b->constraint_rows; i++) {
            double sum = 0;
            const int64_t line = place * b->constraint_rows + i;
            for (int64_t k = b->scatter.start[line]; k < b->scatter.start[line + 1]; k++)
                sum += b->scatter.value[k] * r->lambda[b->scatter.index[k]];
            r->multipliers[i * b->count + place] = sum;
        }
        for (int64_t i = 0; i < b->objective_rows; i++)
            r->multipliers[(b->constraint_rows + i) * b->count + place] = r->weight * b->weights[place * b->objective_rows + i];
    }
}

static const double OPERATIONS_PER_INPUT = 4; /* of threads.h: its operands are scattered in memory */

static void run_places(int part, void *context) {
    block_run *r = context;
    const program_block *b = r->b;
    const span places = span_of(part, r->parts, b->count, TAPE_UNIT);
    gather(r, places.begin, places.end);
    if (r->lambda) gather_multipliers(r, places.begin, places.end);
    if (!b->function[r->which]) return;
    const tape_input in[4] = {
        {r->inputs, b->count, 1}, {b->place_data, b->count, 1}, {r->p->parameter, 1, 0}, {r->multipliers, b->count, 1}};
    double *own = r->work + part * r->work_size;
    tape_run_span(b->function[r->which], places.begin, places.end, b->count, in, r->result, own);
}

/* One function of all blocks at all their places, to `results`. lambda: NULL but for the Hessian. */
static int run_blocks(evaluation *e, int which, const double *y, double weight, const double *lambda) {
    const program *p = e->p;
    for (int64_t k = 0; k < p->blocks; k++) {
        const program_block *b = &p->block[k];
        if (!b->nonzeros[which]) continue;
        const int64_t *used = e->used_start + FUNCTIONS * k + which;
        const tape *t = b->function[which];
        block_run r = {.p = p, .b = b, .which = which, .used = e->used + used[0], .inputs_used = used[1] - used[0], .y = y,
                       .lambda = lambda, .weight = weight, .inputs = e->inputs + e->input_offset[k],
                       .multipliers = lambda ? e->multipliers : NULL, .result = e->results + e->offset[which][k],
                       .work = e->work, .work_size = e->work_size};
        const double each = OPERATIONS_PER_INPUT * (double)r.inputs_used + (t ? t->instructions : 0);
        r.parts = team_parts(e->team, each * (double)b->count);
        team_run(e->team, r.parts, run_places, &r);
        if (!t && p->evaluate(k, which, r.inputs, r.multipliers, r.result)) return -1;
    }
    return 0;
}

int evaluation_objective(evaluation *e, const double *y, double *f) {
    return evaluation_part_of_objective(e, y, e->p->blocks, f);
}

int evaluation_part_of_objective(evaluation *e, const double *y, int64_t blocks, double *f) {
    *f = 0;
    if (run_blocks(e, OBJECTIVE, y, 0, NULL)) return -1;
    for (int64_t k = 0; k < blocks; k++) {
        const program_block *b = &e->p->block[k];
        const double *result = e->results + e->offset[OBJECTIVE][k];
        for (int64_t r = 0; r < b->objective_rows; r++)
            for (int64_t place = 0; place < b->count; place++)
                *f += b->weights[place * b->objective_rows + r] * result[r * b->count + place];
    }
    return 0;
}

int evaluation_constraints(evaluation *e, const double *y, double *g) {
    if (run_blocks(e, CONSTRAINTS, y, 0, NULL)) return -1;
    memcpy(e->unknowns, y, (size_t)e->p->unknowns * sizeof(double));
    sum_to_column(&e->constraints, e->team, e->results, g, e->p->constraints);
    return 0;
}

int evaluation_gradient(evaluation *e, const double *y, double *gradient) {
    if (run_blocks(e, GRADIENT, y, 0, NULL)) return -1;
    sum_to_column(&e->gradient, e->team, e->results, gradient, e->p->unknowns);
    return 0;
}

int evaluation_jacobian(evaluation *e, const double *y, double *nonzeros) {
    if (run_blocks(e, JACOBIAN, y, 0, NULL)) return -1;
    sum_to_nonzeros(&e->jacobian, e->team, e->results, nonzeros);
    return 0;
}

int evaluation_hessian(evaluation *e, const double *y, double weight, const double *multipliers, double *nonzeros) {
    if (run_blocks(e, HESSIAN, y, weight, multipliers)) return -1;
    sum_to_nonzeros(&e->hessian, e->team, e->results, nonzeros);
    return 0;
}
