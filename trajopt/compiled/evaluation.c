/* Evaluation of programs; see evaluation.h. Everything is summed in a fixed order, whatever the number of threads. */
#include "evaluation.h"
#include "memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- sparse matrices from terms -------------------------------------------------------------------------------------- */

/* Terms of a sparse matrix in the order in which they are found; source is -1 for constants. */
typedef struct {
    int64_t count, room;
    int64_t *row, *column, *source;
    double *coefficient;
    int failed;
} term_list;

static void add_term(term_list *t, int64_t row, int64_t column, int64_t source, double coefficient) {
    if (t->count == t->room) {
        t->room = t->room ? 2 * t->room : 4096;
        if (!grow(&t->row, t->room) || !grow(&t->column, t->room) || !grow(&t->source, t->room) ||
            !grow_doubles(&t->coefficient, t->room)) {
            t->failed = 1;
            t->room = t->count;
            return;
        }
    }
    t->row[t->count] = row;
    t->column[t->count] = column;
    t->source[t->count] = source;
    t->coefficient[t->count++] = coefficient;
}

static void free_terms(term_list *t) {
    free(t->row);
    free(t->column);
    free(t->source);
    free(t->coefficient);
}

/* order[k]: the k-th of `order_before` by ascending key; equal ones keep their order. Counting sort, keys below `keys`. */
static int sort_by(int64_t count, int64_t keys, const int64_t *key, const int64_t *order_before, int64_t *order) {
    int64_t *start = new_integers(keys + 1);
    if (!start) return 0;
    for (int64_t k = 0; k < count; k++) start[key[k] + 1]++;
    for (int64_t k = 0; k < keys; k++) start[k + 1] += start[k];
    for (int64_t k = 0; k < count; k++) {
        int64_t term = order_before ? order_before[k] : k;
        order[start[key[term]]++] = term;
    }
    free(start);
    return 1;
}

static void free_placement(placement *m) {
    free(m->start);
    free(m->row);
    free(m->column);
    free(m->term_start);
    free(m->source);
    free(m->coefficient);
    free(m->constant);
}

/* Compress the terms by columns; terms at one place add up. Returns whether there was memory. */
static int place_terms(placement *m, int64_t rows, int64_t columns, const term_list *t) {
    int64_t *by_row = new_integers(t->count), *order = new_integers(t->count);
    m->columns = columns;
    m->start = new_integers(columns + 1);
    m->row = new_integers(t->count);
    m->column = new_integers(t->count);
    m->term_start = new_integers(t->count + 1);
    m->source = new_integers(t->count);
    m->coefficient = new_doubles(t->count);
    m->constant = new_doubles(t->count);
    int fine = !t->failed && by_row && order && m->start && m->row && m->column && m->term_start && m->source &&
               m->coefficient && m->constant && sort_by(t->count, rows, t->row, NULL, by_row) &&
               sort_by(t->count, columns, t->column, by_row, order);
    for (int64_t k = 0; fine && k < t->count; k++) {
        int64_t term = order[k], row = t->row[term], column = t->column[term], last = m->nonzeros - 1;
        if (last < 0 || m->row[last] != row || m->column[last] != column) {
            last = m->nonzeros++;
            m->row[last] = row;
            m->column[last] = column;
            m->start[column + 1]++;
            m->term_start[last] = m->terms;
        }
        if (t->source[term] < 0) {
            m->constant[last] += t->coefficient[term];
        } else {
            m->source[m->terms] = t->source[term];
            m->coefficient[m->terms++] = t->coefficient[term];
        }
    }
    if (fine) {
        m->term_start[m->nonzeros] = m->terms;
        for (int64_t c = 0; c < columns; c++) m->start[c + 1] += m->start[c];
    }
    free(by_row);
    free(order);
    return fine;
}

static void sum_terms(const placement *m, const double *results, double *nonzeros) {
    for (int64_t k = 0; k < m->nonzeros; k++) {
        double sum = m->constant[k];
        for (int64_t t = m->term_start[k]; t < m->term_start[k + 1]; t++) sum += m->coefficient[t] * results[m->source[t]];
        nonzeros[k] = sum;
    }
}

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

/* ---- the evaluation --------------------------------------------------------------------------------------------------- */

static int make_placements(evaluation *e) {
    const program *p = e->p;
    term_list jacobian = {0}, hessian = {0};
    for (int64_t c = 0; c < p->unknowns; c++)
        for (int64_t k = p->linear.start[c]; k < p->linear.start[c + 1]; k++)
            add_term(&jacobian, p->linear.index[k], c, -1, p->linear.value[k]);
    for (int64_t b = 0; b < p->blocks; b++) {
        jacobian_terms(&p->block[b], e->offset[JACOBIAN][b], &jacobian);
        hessian_terms(&p->block[b], e->offset[HESSIAN][b], &hessian);
    }
    int fine = place_terms(&e->jacobian, p->constraints, p->unknowns, &jacobian) &&
               place_terms(&e->hessian, p->unknowns, p->unknowns, &hessian);
    free_terms(&jacobian);
    free_terms(&hessian);
    return fine;
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
    fine = fine && (e->inputs = new_doubles(inputs)) && (e->results = new_doubles(most)) &&
           (e->multipliers = new_doubles(multipliers)) && make_placements(e);
    if (fine) return e;
    evaluation_free(e);
    return NULL;
}

void evaluation_free(evaluation *e) {
    if (!e) return;
    free_placement(&e->jacobian);
    free_placement(&e->hessian);
    free(e->inputs);
    free(e->results);
    free(e->multipliers);
    free(e->input_offset);
    for (int f = 0; f < FUNCTIONS; f++) free(e->offset[f]);
    free(e);
}

/* W = G y, input by input. */
static void gather(const program_block *b, const double *y, double *inputs) {
    for (int64_t place = 0; place < b->count; place++)
        for (int64_t i = 0; i < b->inputs; i++) {
            double sum = 0;
            const int64_t line = place * b->inputs + i;
            for (int64_t k = b->gather.start[line]; k < b->gather.start[line + 1]; k++)
                sum += b->gather.value[k] * y[b->gather.index[k]];
            inputs[i * b->count + place] = sum;
        }
}

/* Multipliers of all rows of a block's kernel: A' lambda, then the weights of the objective. */
static void gather_multipliers(const program_block *b, double weight, const double *lambda, double *multipliers) {
    for (int64_t place = 0; place < b->count; place++) {
        for (int64_t r = 0; r < b->constraint_rows; r++) {
            double sum = 0;
            const int64_t line = place * b->constraint_rows + r;
            for (int64_t k = b->scatter.start[line]; k < b->scatter.start[line + 1]; k++)
                sum += b->scatter.value[k] * lambda[b->scatter.index[k]];
            multipliers[r * b->count + place] = sum;
        }
        for (int64_t r = 0; r < b->objective_rows; r++)
            multipliers[(b->constraint_rows + r) * b->count + place] = weight * b->weights[place * b->objective_rows + r];
    }
}

/* One function of one block at all its places. */
static int run_block(evaluation *e, int64_t block, int which, const double *y, const double *multipliers, double *result) {
    const program *p = e->p;
    const program_block *b = &p->block[block];
    double *inputs = e->inputs + e->input_offset[block];
    gather(b, y, inputs);
    if (!b->function[which]) return p->evaluate(block, which, inputs, multipliers, result);
    const tape_input in[4] = {
        {inputs, b->count, 1}, {b->place_data, b->count, 1}, {p->parameter, 1, 0}, {multipliers, b->count, 1}};
    return tape_run(b->function[which], b->count, in, result, (int)p->threads);
}

int evaluation_objective(evaluation *e, const double *y, double *f) {
    *f = 0;
    for (int64_t k = 0; k < e->p->blocks; k++) {
        const program_block *b = &e->p->block[k];
        if (!b->objective_rows) continue;
        double *result = e->results + e->offset[OBJECTIVE][k];
        if (run_block(e, k, OBJECTIVE, y, NULL, result)) return -1;
        for (int64_t r = 0; r < b->objective_rows; r++)
            for (int64_t place = 0; place < b->count; place++)
                *f += b->weights[place * b->objective_rows + r] * result[r * b->count + place];
    }
    return 0;
}

int evaluation_constraints(evaluation *e, const double *y, double *g) {
    const program *p = e->p;
    memset(g, 0, (size_t)p->constraints * sizeof(double));
    for (int64_t c = 0; c < p->unknowns; c++)
        for (int64_t k = p->linear.start[c]; k < p->linear.start[c + 1]; k++)
            g[p->linear.index[k]] += p->linear.value[k] * y[c];
    for (int64_t k = 0; k < p->blocks; k++) {
        const program_block *b = &p->block[k];
        if (!b->constraint_rows) continue;
        double *result = e->results + e->offset[CONSTRAINTS][k];
        if (run_block(e, k, CONSTRAINTS, y, NULL, result)) return -1;
        for (int64_t place = 0; place < b->count; place++)
            for (int64_t r = 0; r < b->constraint_rows; r++) {
                const int64_t line = place * b->constraint_rows + r;
                for (int64_t s = b->scatter.start[line]; s < b->scatter.start[line + 1]; s++)
                    g[b->scatter.index[s]] += b->scatter.value[s] * result[r * b->count + place];
            }
    }
    return 0;
}

int evaluation_gradient(evaluation *e, const double *y, double *gradient) {
    memset(gradient, 0, (size_t)e->p->unknowns * sizeof(double));
    for (int64_t k = 0; k < e->p->blocks; k++) {
        const program_block *b = &e->p->block[k];
        if (!b->nonzeros[GRADIENT]) continue;
        double *result = e->results + e->offset[GRADIENT][k];
        if (run_block(e, k, GRADIENT, y, NULL, result)) return -1;
        for (int64_t n = 0; n < b->nonzeros[GRADIENT]; n++)
            for (int64_t place = 0; place < b->count; place++) {
                const int64_t line = place * b->inputs + b->column[GRADIENT][n];
                double slope = b->weights[place * b->objective_rows + b->row[GRADIENT][n]] * result[n * b->count + place];
                for (int64_t g = b->gather.start[line]; g < b->gather.start[line + 1]; g++)
                    gradient[b->gather.index[g]] += b->gather.value[g] * slope;
            }
    }
    return 0;
}

int evaluation_jacobian(evaluation *e, const double *y, double *nonzeros) {
    for (int64_t k = 0; k < e->p->blocks; k++)
        if (e->p->block[k].nonzeros[JACOBIAN] && run_block(e, k, JACOBIAN, y, NULL, e->results + e->offset[JACOBIAN][k]))
            return -1;
    sum_terms(&e->jacobian, e->results, nonzeros);
    return 0;
}

int evaluation_hessian(evaluation *e, const double *y, double weight, const double *multipliers, double *nonzeros) {
    for (int64_t k = 0; k < e->p->blocks; k++) {
        const program_block *b = &e->p->block[k];
        if (!b->nonzeros[HESSIAN]) continue;
        gather_multipliers(b, weight, multipliers, e->multipliers);
        if (run_block(e, k, HESSIAN, y, e->multipliers, e->results + e->offset[HESSIAN][k])) return -1;
    }
    sum_terms(&e->hessian, e->results, nonzeros);
    return 0;
}
