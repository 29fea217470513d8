/* Partial factorization of a dense symmetric front, and the solution with its columns. */
#ifndef TRAJOPT_DENSE_H
#define TRAJOPT_DENSE_H

#include <stdint.h>

typedef struct {
    int64_t n, candidates; /* size; the first `candidates` columns may be eliminated */
    double *a;             /* (n, n) lower triangle by columns; on return the columns of L, then what remains */
    int64_t *index;        /* (n,) of the columns; candidates change places */
    double *diagonal;      /* (2 * candidates,) inverses of the blocks of D: (d, 0) or (d11, d21), (d22, 0) */
    double *work;          /* (5 * n,) */
    double *diagonal_size; /* by index: the largest term that the diagonal entry is a sum of */
    double *cancelled;     /* by index, see dense.c: terms that 2x2 pivots subtract beside the diagonal; NULL: these are not kept */
    double *size;          /* (n,) these numbers in the order of the columns; part of `work` */
    int64_t eliminated, negative, zero; /* on return */
    double smallest;       /* the size of the smallest pivot so far; updated */
} dense_front;

/* Eliminate candidates as long as a 1x1 or 2x2 pivot is stable: no entry of L may exceed 1/threshold. A root eliminates all;
 * columns that vanish count as zero. */
void dense_factor(dense_front *f, double threshold, int root);

/* x := inverse(L) x, with unit columns L (n, pivots). */
void dense_forward(int64_t n, int64_t pivots, const double *L, double *x);

/* x := inverse(L') inverse(D) x for the first `pivots` numbers, given the others. */
void dense_backward(int64_t n, int64_t pivots, const double *L, const double *diagonal, double *x);

#endif
