/* Sparse symmetric indefinite factorization A = L D L', D with 1x1 and 2x2 blocks: the multifrontal method of Duff and Reid
 * (ACM Trans. Math. Softw. 9, 1983) with threshold pivoting. A column whose pivot would be too small in its front is delayed: it
 * joins the parent's front. The structure is analysed once, numbers may change. */
#ifndef TRAJOPT_FACTORIZATION_H
#define TRAJOPT_FACTORIZATION_H

#include "watch.h"

#include <stdint.h>

typedef struct factorization factorization;

/* What a factorization found. Eigenvalues are those of A, by Sylvester's law of inertia. */
typedef struct {
    int64_t negative; /* eigenvalues */
    int64_t zero;     /* pivots that vanished; they are replaced by one */
    int64_t delayed;  /* columns, counted once for each front that they left */
    int64_t entries;  /* of L */
} factorization_report;

/* Arguments as in ordering.h; entries at one place add up. The watch, which may be NULL, can stop this and all that follows.
 * NULL if it did, or if memory is short. */
factorization *factorization_new(int64_t size, int64_t entries, const int64_t *row, const int64_t *column, const int64_t *mate,
                                 watch *w);
void factorization_free(factorization *f);

/* values: (entries,). threshold: a pivot may make entries grow by 1/threshold at most; 0 < threshold <= 0.5.
 * Returns 0; -1 if memory or reserved room is short, a value is not finite, or the watch stopped it. */
int factorization_compute(factorization *f, const double *values, double threshold, factorization_report *report);

/* Make room for factorizations in which every column may be delayed once, from its front to the parent. From then on nothing is
 * allocated, and a factorization that needs more room fails. Returns 0; -1 if memory is short. */
int factorization_reserve(factorization *f);

/* Solve A x = b in place, b: (size,). Returns 0; -1 if the watch stopped it: b is undefined then. */
int factorization_solve(factorization *f, double *b);

#endif
