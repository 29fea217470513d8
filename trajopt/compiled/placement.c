/* Sparse matrices from terms; see placement.h. */
#include "placement.h"
#include "memory.h"

#include <stdlib.h>
#include <string.h>

static const double OPERATIONS_PER_TERM = 4; /* of threads.h: its operands are scattered in memory */

void add_term(term_list *t, int64_t row, int64_t column, int64_t source, double coefficient) {
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

void free_terms(term_list *t) {
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

void free_placement(placement *m) {
    free(m->start);
    free(m->row);
    free(m->column);
    free(m->term_start);
    free(m->source);
    free(m->coefficient);
    free(m->constant);
}

int place_terms(placement *m, int64_t rows, int64_t columns, const term_list *t) {
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

/* ---- numbers ------------------------------------------------------------------------------------------------------------ */

typedef struct {
    const placement *m;
    const double *results;
    const int64_t *to; /* NULL: sum k goes to place k */
    double *sums;
    int parts;
} shared_sum;

static void sum_part(int part, void *context) {
    const shared_sum *s = context;
    const placement *m = s->m;
    const span own = span_of(part, s->parts, m->nonzeros, 8); /* 8 numbers: a cache line */
    for (int64_t k = own.begin; k < own.end; k++) {
        double sum = m->constant[k];
        for (int64_t t = m->term_start[k]; t < m->term_start[k + 1]; t++) sum += m->coefficient[t] * s->results[m->source[t]];
        s->sums[s->to ? s->to[k] : k] = sum;
    }
}

static int parts_of(const placement *m, const thread_team *team) {
    return team_parts(team, OPERATIONS_PER_TERM * (double)(m->terms + m->nonzeros));
}

void sum_to_nonzeros(const placement *m, thread_team *team, const double *results, double *nonzeros) {
    shared_sum s = {m, results, NULL, nonzeros, parts_of(m, team)};
    team_run(team, s.parts, sum_part, &s);
}

void sum_to_column(const placement *m, thread_team *team, const double *results, double *column, int64_t rows) {
    shared_sum s = {m, results, m->row, column, parts_of(m, team)};
    memset(column, 0, (size_t)rows * sizeof(double));
    team_run(team, s.parts, sum_part, &s);
}
