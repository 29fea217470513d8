/* A program without its fixed unknowns; see scaled_program.h. */
#include "scaled_program.h"
#include "memory.h"

int new_scaled_program(scaled_program *s, const interior_point_bounds *b) {
    const int64_t n = s->p->unknowns;
    s->rows = s->p->constraints;
    s->objective_scale = 1;
    if (!(s->e = evaluation_new(s->p))) return 0;
    int fine = (s->unknown = new_integers(n)) && (s->free_of = new_integers(n)) && (s->y = new_doubles(2 * n)) &&
               (s->row_scale = new_doubles(s->rows)) && (s->row_sums = new_doubles(s->rows)) &&
               (s->jacobian = new_doubles(s->e->jacobian.nonzeros)) && (s->hessian = new_doubles(s->e->hessian.nonzeros));
    for (int64_t i = 0; fine && i < n; i++) {
        const int fixed = b->lower[i] >= b->upper[i];
        s->y[i] = fixed ? b->lower[i] : b->start[i];
        s->free_of[i] = fixed ? -1 : s->free;
        if (!fixed) s->unknown[s->free++] = i;
    }
    for (int64_t i = 0; fine && i < s->rows; i++) s->row_scale[i] = 1;
    return fine;
}

void free_scaled_program(scaled_program *s) {
    factorization_free(s->kkt);
    evaluation_free(s->e);
    void *all[] = {s->unknown, s->free_of, s->y, s->row_scale, s->row_sums, s->jacobian, s->hessian, s->entry_row,
                   s->entry_column, s->hessian_entry, s->jacobian_entry, s->entry_value, s->right, s->solution, s->residual};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) free(all[k]);
}
