/* The order of elimination of a sparse symmetric matrix, and the fronts that it gives.
 *
 * The matrix is a KKT matrix of a collocation program. Nodes of the elimination graph are single indices or pairs (an unknown
 * and an equality row that determines it): such a pair is a safe 2x2 pivot whatever the Hessian (Duff and Pralet, SIAM J. Matrix
 * Anal. Appl. 27, 2005). Order: minimum degree. Indices that touch almost everything (times, static variables) and
 * those that the caller names come last, in the root. */
#ifndef TRAJOPT_ORDERING_H
#define TRAJOPT_ORDERING_H

#include "watch.h"

#include <stdint.h>

enum { ALONE = -1, LAST = -2 }; /* values of mate[i] that are not an index */

/* Front f eliminates the indices index[start[f]] .. index[start[f] + pivots[f] - 1]; the others up to start[f + 1] - 1 are rows
 * that the elimination changes. Fronts are in postorder: children come before their parent, a subtree is contiguous. */
typedef struct {
    int64_t fronts;
    int64_t *start;  /* (fronts + 1,) */
    int64_t *pivots; /* (fronts,) */
    int64_t *parent; /* (fronts,), -1 for a root */
    int64_t *index;
} front_tree;

/* size: of the matrix; (row, column): (entries,) its places in either triangle, repeats allowed; mate[i]: the other index of a
 * pair, ALONE or LAST. Returns NULL if memory is short, or if the watch, which may be NULL, stops it. */
front_tree *front_tree_new(int64_t size, int64_t entries, const int64_t *row, const int64_t *column, const int64_t *mate, watch *w);
void front_tree_free(front_tree *t);

#endif
