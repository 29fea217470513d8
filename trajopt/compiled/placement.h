/* Sparse matrices, and vectors as matrices of one column, whose entries are sums of terms that evaluations give. */
#ifndef TRAJOPT_PLACEMENT_H
#define TRAJOPT_PLACEMENT_H

#include "threads.h"

#include <stdint.h>

/* Terms in the order in which they are found: coefficient * results[source] at (row, column); source is -1 for constants. */
typedef struct {
    int64_t count, room;
    int64_t *row, *column, *source;
    double *coefficient;
    int failed;
} term_list;

void add_term(term_list *t, int64_t row, int64_t column, int64_t source, double coefficient);
void free_terms(term_list *t);

/* A sparse matrix whose nonzeros are linear in the kernels' results: nonzero k is constant[k] plus the sum of
 * coefficient[t] * result[source[t]], t = term_start[k] .. term_start[k + 1] - 1. Columns compressed, rows ascending. */
typedef struct {
    int64_t columns, nonzeros, terms;
    int64_t *start;      /* (columns + 1,) */
    int64_t *row;        /* (nonzeros,) */
    int64_t *column;     /* (nonzeros,) */
    int64_t *term_start; /* (nonzeros + 1,) */
    int64_t *source;     /* (terms,) */
    double *coefficient; /* (terms,) */
    double *constant;    /* (nonzeros,) */
} placement;

/* Compress the terms by columns. Terms at one place add up, in the order of the list. Returns whether there was memory. */
int place_terms(placement *m, int64_t rows, int64_t columns, const term_list *t);
void free_placement(placement *m);

/* All sums of terms, each by one thread in the order of its terms; nonzeros: (nonzeros,), column: (rows,) where there is one. */
void sum_to_nonzeros(const placement *m, thread_team *team, const double *results, double *nonzeros);
void sum_to_column(const placement *m, thread_team *team, const double *results, double *column, int64_t rows);

#endif
