/* Arrays that begin as zeros; NULL if memory is short. An empty array is not NULL. */
#ifndef TRAJOPT_MEMORY_H
#define TRAJOPT_MEMORY_H

#include <stdint.h>
#include <stdlib.h>

static inline double *new_doubles(int64_t count) { return calloc((size_t)(count > 0 ? count : 1), sizeof(double)); }
static inline int64_t *new_integers(int64_t count) { return calloc((size_t)(count > 0 ? count : 1), sizeof(int64_t)); }

/* Room for `count` numbers, those that are there kept; 0 if memory is short, and the array stays as it was. */
static inline int grow(int64_t **array, int64_t count) {
    int64_t *more = realloc(*array, (size_t)count * sizeof(int64_t));
    if (more) *array = more;
    return more != NULL;
}
static inline int grow_doubles(double **array, int64_t count) {
    double *more = realloc(*array, (size_t)count * sizeof(double));
    if (more) *array = more;
    return more != NULL;
}

#endif
