/* The KKT matrix of a program: its structure, and the solution of systems with its factors. */
#include "scaled_program.h"
#include "memory.h"
#include "ordering.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- structure -------------------------------------------------------------------------------------------------------------- */

static int is_equality(const interior_point_bounds *b, int64_t row) { return b->g_lower[row] >= b->g_upper[row]; }

static int there(const placement *j, int64_t row, int64_t column) {
    for (int64_t k = j->start[column]; k < j->start[column + 1]; k++)
        if (j->row[k] == row) return 1;
    return 0;
}

/* A kernel's output c and its input c at one place: a state and the defect of its collocation equation, an algebraic variable and
 * its equation. */
static void pair_within_places(const scaled_program *s, const interior_point_bounds *bounds, int64_t *mate) {
    for (int64_t q = 0; q < s->p->blocks; q++) {
        const program_block *b = &s->p->block[q];
        for (int64_t place = 0; place < b->count; place++)
            for (int64_t c = 0; c < b->constraint_rows && c < b->inputs; c++) {
                const int64_t out = place * b->constraint_rows + c, in = place * b->inputs + c;
                if (b->scatter.start[out + 1] - b->scatter.start[out] != 1) continue;
                if (b->gather.start[in + 1] - b->gather.start[in] != 1) continue;
                const int64_t row = b->scatter.index[b->scatter.start[out]];
                const int64_t unknown = b->gather.index[b->gather.start[in]], i = s->free_of[unknown];
                if (i < 0 || !is_equality(bounds, row) || mate[i] >= 0 || mate[s->free + row] >= 0) continue;
                if (!there(&s->e->jacobian, row, unknown)) continue;
                mate[i] = s->free + row;
                mate[s->free + row] = i;
            }
    }
}

/* Equalities that are left: the unknown with the largest derivative among those that are free for a pair and not in many rows. */
static void pair_by_size(const scaled_program *s, const interior_point_bounds *bounds, int64_t *mate, double *best, int64_t *of) {
    const placement *j = &s->e->jacobian;
    for (int64_t column = 0; column < j->columns; column++) {
        const int64_t i = s->free_of[column];
        if (i < 0 || mate[i] >= 0 || j->start[column + 1] - j->start[column] > 40) continue;
        for (int64_t k = j->start[column]; k < j->start[column + 1]; k++) {
            const int64_t row = j->row[k];
            if (mate[s->free + row] >= 0 || !is_equality(bounds, row) || fabs(s->jacobian[k]) <= best[row]) continue;
            best[row] = fabs(s->jacobian[k]);
            of[row] = i;
        }
    }
    for (int64_t row = 0; row < s->rows; row++) {
        if (best[row] <= 0 || mate[of[row]] >= 0) continue; /* another row was first; this one stays single */
        mate[of[row]] = s->free + row;
        mate[s->free + row] = of[row];
    }
}

static int make_mates(const scaled_program *s, const interior_point_bounds *bounds, int64_t *mate) {
    double *best = new_doubles(s->rows);
    int64_t *of = new_integers(s->rows), single = 0;
    const int fine = best && of;
    for (int64_t i = 0; i < s->free + s->rows; i++) mate[i] = ALONE;
    if (fine) {
        pair_within_places(s, bounds, mate);
        pair_by_size(s, bounds, mate, best, of);
        for (int64_t row = 0; row < s->rows; row++) single += is_equality(bounds, row) && mate[s->free + row] < 0;
        /* A few conditions at the ends get their pivots from the whole trajectory. */
        for (int64_t row = 0; row < s->rows && single <= 64; row++)
            if (is_equality(bounds, row) && mate[s->free + row] < 0) mate[s->free + row] = LAST;
    }
    free(best);
    free(of);
    return fine;
}

static void place_entries(scaled_program *s) {
    const placement *h = &s->e->hessian, *j = &s->e->jacobian;
    s->entries = 0;
    for (int64_t k = 0; k < h->nonzeros; k++) {
        const int64_t a = s->free_of[h->row[k]], b = s->free_of[h->column[k]];
        s->hessian_entry[k] = a < 0 || b < 0 ? -1 : s->entries;
        if (a >= 0 && b >= 0) s->entry_row[s->entries] = a, s->entry_column[s->entries++] = b;
    }
    for (int64_t k = 0; k < j->nonzeros; k++) {
        const int64_t a = s->free_of[j->column[k]];
        s->jacobian_entry[k] = a < 0 ? -1 : s->entries;
        if (a >= 0) s->entry_row[s->entries] = s->free + j->row[k], s->entry_column[s->entries++] = a;
    }
    s->diagonal_entry = s->entries;
    for (int64_t i = 0; i < s->free + s->rows; i++) s->entry_row[s->entries] = i, s->entry_column[s->entries++] = i;
}

int kkt_new(scaled_program *s, const interior_point_bounds *bounds) {
    const placement *h = &s->e->hessian, *j = &s->e->jacobian;
    const int64_t size = s->free + s->rows, most = h->nonzeros + j->nonzeros + size;
    int64_t *mate = new_integers(size);
    int fine = mate && (s->entry_row = new_integers(most)) && (s->entry_column = new_integers(most)) &&
               (s->hessian_entry = new_integers(h->nonzeros)) && (s->jacobian_entry = new_integers(j->nonzeros)) &&
               (s->entry_value = new_doubles(most)) && (s->right = new_doubles(size)) && (s->solution = new_doubles(size)) &&
               (s->residual = new_doubles(size)) && make_mates(s, bounds, mate);
    if (fine) {
        place_entries(s);
        s->kkt = factorization_new(size, s->entries, s->entry_row, s->entry_column, mate, &s->watched);
    }
    s->threshold = 1e-6;
    free(mate);
    return fine && s->kkt;
}

/* ---- solution --------------------------------------------------------------------------------------------------------------- */

/* residual := right - A solution; returns its size relative to the right-hand side and the solution. */
static double refine_residual(scaled_program *s) {
    const int64_t size = s->free + s->rows;
    memcpy(s->residual, s->right, (size_t)size * sizeof(double));
    for (int64_t k = 0; k < s->diagonal_entry; k++) {
        const int64_t a = s->entry_row[k], b = s->entry_column[k];
        const double v = s->entry_value[k];
        s->residual[a] -= v * s->solution[b];
        if (a != b) s->residual[b] -= v * s->solution[a];
    }
    double worst = 0, right = 0, solution = 0;
    for (int64_t i = 0; i < size; i++) {
        s->residual[i] -= s->entry_value[s->diagonal_entry + i] * s->solution[i];
        worst = greater(worst, fabs(s->residual[i]));
        right = greater(right, fabs(s->right[i]));
        solution = greater(solution, fabs(s->solution[i]));
    }
    return worst / (right + fmin(solution, 1e6 * right) + 1e-300);
}

/* Iterative refinement until the residual ratio of IPOPT, 1e-10, or until it does not help. */
int kkt_solve_refined(scaled_program *s) {
    const int64_t size = s->free + s->rows;
    memcpy(s->solution, s->right, (size_t)size * sizeof(double));
    if (factorization_solve(s->kkt, s->solution)) return -1;
    double before = INFINITY;
    for (int step = 0; step < 6; step++) {
        const double ratio = refine_residual(s);
        if (!(ratio > 1e-12) || ratio > 0.3 * before) break;
        before = ratio;
        if (factorization_solve(s->kkt, s->residual)) return -1;
        for (int64_t i = 0; i < size; i++) s->solution[i] += s->residual[i];
    }
    return 0;
}
