/* Solving a program again with its structure, factors and active set kept; see session.h. */
#include "session.h"
#include "memory.h"
#include "scaled_program.h"

#include <math.h>
#include <string.h>

enum { AT_LOWER = -1, FREE = 0, AT_UPPER = 1, EQUATION = 2, FIXED = 2 };

struct session {
    scaled_program s;
    interior_point_bounds bounds;
    int8_t *active, *factored; /* (free + rows,): the active set now, and that of the last factors */
    int fresh;                 /* there are factors */
    double shift;              /* of the diagonal of active rows: 0 where these are independent */
    double *x, *lambda;        /* the point: (free,), (rows,) */
    double *g, *dual;          /* constraints (rows,); gradient of the Lagrangian (free,) */
    double *part;              /* (free + rows,) of the right-hand side: what held unknowns and inactive rows contribute */
};

static int never(void *context) {
    (void)context;
    return 0;
}

void session_free(session *t) {
    if (!t) return;
    free_scaled_program(&t->s);
    void *all[] = {t->active, t->factored, t->x, t->lambda, t->g, t->dual, t->part};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) free(all[k]);
    free(t);
}

session *session_new(const program *p, const interior_point_bounds *bounds) {
    session *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    scaled_program *s = &t->s;
    t->bounds = *bounds;
    *s = (scaled_program){.p = p, .watched = {never, NULL, 0}};
    int fine = new_scaled_program(s, bounds) && !evaluation_jacobian(s->e, s->y, s->jacobian) && kkt_new(s, bounds);
    const int64_t n = s->free, m = s->rows;
    fine = fine && (t->active = calloc((size_t)(n + m + 1), 1)) && (t->factored = calloc((size_t)(n + m + 1), 1)) &&
           (t->x = new_doubles(n)) && (t->lambda = new_doubles(m)) && (t->g = new_doubles(m)) && (t->dual = new_doubles(n)) &&
           (t->part = new_doubles(n + m));
    if (fine) return t;
    session_free(t);
    return NULL;
}

int session_reserve(session *t) { return factorization_reserve(t->s.kkt); }

void session_sizes(const session *t, int64_t *sizes) { sizes[0] = t->s.free, sizes[1] = t->s.rows; }

/* ---- the active set ----------------------------------------------------------------------------------------------------------- */

static double lower_of(const session *t, int64_t i) { return t->bounds.lower[t->s.unknown[i]]; }
static double upper_of(const session *t, int64_t i) { return t->bounds.upper[t->s.unknown[i]]; }

/* How far a held unknown is from its bound, and an active row from its limit. */
static double gap(const session *t, int64_t i) { return (t->active[i] < 0 ? lower_of(t, i) : upper_of(t, i)) - t->x[i]; }
static double row_gap(const session *t, int64_t i) {
    return (t->active[t->s.free + i] == AT_LOWER ? t->bounds.g_lower[i] : t->bounds.g_upper[i]) - t->g[i];
}

static double largest_multiplier(const session *t) {
    double most = 0;
    for (int64_t i = 0; i < t->s.rows; i++) most = greater(most, fabs(t->lambda[i]));
    return most > 0 ? most : 1;
}

static const double FAR = 0.25; /* of a size: as far from a limit no multiplier counts; where the cost is zero all are round-off */

/* A multiplier against its distance: which of the two is zero at a solution. */
static int8_t side(double multiplier, double from_lower, double from_upper) {
    if (multiplier > 0 && multiplier > from_upper && from_upper < FAR) return AT_UPPER;
    if (multiplier < 0 && -multiplier > from_lower && from_lower < FAR) return AT_LOWER;
    return FREE;
}

void session_begin(session *t, const interior_point_answer *from) {
    scaled_program *s = &t->s;
    const interior_point_bounds *b = &t->bounds;
    double most = 1e-300;
    for (int64_t i = 0; i < s->rows; i++) most = greater(most, fabs(t->lambda[i] = from->constraint[i]));
    for (int64_t i = 0; i < s->free; i++) most = greater(most, fabs(from->bound[s->unknown[i]]));
    for (int64_t i = 0; i < s->p->unknowns; i++) s->y[i] = s->free_of[i] < 0 ? b->lower[i] : from->y[i];
    for (int64_t i = 0; i < s->free; i++) {
        const double x = t->x[i] = from->y[s->unknown[i]];
        t->active[i] = side(from->bound[s->unknown[i]] / most, x - lower_of(t, i), upper_of(t, i) - x);
        if (t->active[i]) t->x[i] += gap(t, i);
    }
    for (int64_t i = 0; i < s->rows; i++) {
        int8_t *role = t->active + s->free + i;
        *role = b->g_lower[i] >= b->g_upper[i] ? EQUATION
                                               : side(from->constraint[i] / most, from->g[i] - b->g_lower[i], b->g_upper[i] - from->g[i]);
        if (*role == FREE) t->lambda[i] = 0;
    }
}

/* Where an unknown or a row is beyond its limits, or a multiplier has the wrong sign, its role changes; how many did. */
static int64_t update(session *t, double distance, double sign) {
    scaled_program *s = &t->s;
    int64_t changes = 0;
    for (int64_t i = 0; i < s->free + s->rows; i++) {
        const int row = i >= s->free;
        const int64_t k = row ? i - s->free : i;
        if (row && t->active[i] == EQUATION) continue;
        const double value = row ? t->g[k] : t->x[k], multiplier = row ? t->lambda[k] : -t->dual[k];
        const double low = row ? t->bounds.g_lower[k] : lower_of(t, k), high = row ? t->bounds.g_upper[k] : upper_of(t, k);
        int8_t now = t->active[i];
        if ((now == AT_UPPER && multiplier < -sign) || (now == AT_LOWER && multiplier > sign)) now = FREE;
        else if (now == FREE && value > high + distance) now = AT_UPPER;
        else if (now == FREE && value < low - distance) now = AT_LOWER;
        changes += now != t->active[i];
        t->active[i] = now;
    }
    return changes;
}

void session_active(const session *t, int8_t *unknowns, int8_t *rows) {
    for (int64_t i = 0; i < t->s.p->unknowns; i++) unknowns[i] = t->s.free_of[i] < 0 ? FIXED : t->active[t->s.free_of[i]];
    memcpy(rows, t->active + t->s.free, (size_t)t->s.rows);
}

void session_set_active(session *t, const int8_t *unknowns, const int8_t *rows) {
    for (int64_t i = 0; i < t->s.free; i++) t->active[i] = unknowns[t->s.unknown[i]];
    memcpy(t->active + t->s.free, rows, (size_t)t->s.rows);
}

/* ---- the residual and the matrix ------------------------------------------------------------------------------------------------- */

static int derivatives(session *t) {
    scaled_program *s = &t->s;
    const placement *j = &s->e->jacobian;
    double *gradient = s->y + s->p->unknowns;
    for (int64_t i = 0; i < s->free; i++) s->y[s->unknown[i]] = t->x[i];
    if (evaluation_constraints(s->e, s->y, t->g) || evaluation_gradient(s->e, s->y, gradient) ||
        evaluation_jacobian(s->e, s->y, s->jacobian))
        return -1;
    for (int64_t i = 0; i < s->free; i++) t->dual[i] = gradient[s->unknown[i]];
    for (int64_t k = 0; k < j->nonzeros; k++) {
        const int64_t i = s->free_of[j->column[k]];
        if (i >= 0) t->dual[i] += s->jacobian[k] * t->lambda[j->row[k]];
    }
    return 0;
}

static double worse(double most, double v) { return v <= most ? most : v; } /* keeps what is not a number */

static double residual(const session *t, double size) {
    const int64_t n = t->s.free;
    double error = 0;
    for (int64_t i = 0; i < n; i++) error = worse(error, t->active[i] ? fabs(gap(t, i)) : fabs(t->dual[i]) / size);
    for (int64_t i = 0; i < t->s.rows; i++)
        error = worse(error, t->active[n + i] ? fabs(row_gap(t, i)) : fabs(t->lambda[i]) / size);
    return error;
}

/* The entries of held unknowns and inactive rows are taken out of the matrix; `part` gets what their steps contribute. */
static int factor(session *t, factorization_report *found) {
    scaled_program *s = &t->s;
    const int64_t n = s->free, size = n + s->rows;
    const placement *h = &s->e->hessian, *j = &s->e->jacobian;
    if (evaluation_hessian(s->e, s->y, 1, t->lambda, s->hessian)) return -1;
    for (int64_t k = 0; k < h->nonzeros; k++)
        if (s->hessian_entry[k] >= 0) s->entry_value[s->hessian_entry[k]] = s->hessian[k];
    for (int64_t k = 0; k < j->nonzeros; k++)
        if (s->jacobian_entry[k] >= 0) s->entry_value[s->jacobian_entry[k]] = s->jacobian[k];
    memset(t->part, 0, (size_t)size * sizeof(double));
    for (int64_t k = 0; k < s->diagonal_entry; k++) {
        const int64_t a = s->entry_row[k], b = s->entry_column[k];
        const int out_a = a < n ? t->active[a] != FREE : t->active[a] == FREE;
        const int out_b = b < n ? t->active[b] != FREE : t->active[b] == FREE;
        if (!out_a && !out_b) continue;
        if (!out_b) t->part[b] -= s->entry_value[k] * (a < n ? gap(t, a) : -t->lambda[a - n]);
        if (!out_a) t->part[a] -= s->entry_value[k] * (b < n ? gap(t, b) : -t->lambda[b - n]);
        s->entry_value[k] = 0;
    }
    double *diagonal = s->entry_value + s->diagonal_entry;
    for (int64_t i = 0; i < n; i++) diagonal[i] = t->active[i] != FREE;
    for (int64_t i = n; i < size; i++) diagonal[i] = t->active[i] != FREE ? -t->shift : -1;
    t->fresh = 1;
    memcpy(t->factored, t->active, (size_t)size);
    return factorization_compute(s->kkt, s->entry_value, s->threshold, found);
}

/* Bounds that equations imply depend on these: their multipliers are not unique, and the matrix is singular. With a small negative
 * diagonal the smallest change of the multipliers is taken, and the step of the unknowns is, to that order, what it was. */
static const double DEPENDENT = 1e-9;

static int factor_dependent(session *t, factorization_report *found, session_report *report) {
    t->shift = 0;
    if (factor(t, found)) return -1;
    report->dependent = found->zero || found->negative < t->s.rows;
    if (!report->dependent) return 0;
    t->shift = DEPENDENT;
    return factor(t, found);
}

/* Whether the last factors serve for this step: of the same active set, whose members are where they belong. */
static int may_chord(const session *t, double rate, double limit) {
    const int64_t n = t->s.free;
    if (!(limit > 0) || !t->fresh || rate > limit || memcmp(t->factored, t->active, (size_t)(n + t->s.rows))) return 0;
    for (int64_t i = 0; i < n; i++)
        if (t->active[i] && gap(t, i) != 0) return 0;
    for (int64_t i = 0; i < t->s.rows; i++)
        if (t->active[n + i] == FREE && t->lambda[i] != 0) return 0;
    return 1;
}

/* ---- the method ---------------------------------------------------------------------------------------------------------------- */

static int judge(const session *t, const factorization_report *found, session_report *report) {
    report->negative = found->negative;
    report->zero = found->zero;
    if (found->zero || found->negative < t->s.rows) return SESSION_SINGULAR;
    return found->negative > t->s.rows ? SESSION_INDEFINITE : SESSION_SOLVED;
}

/* A step with the last factors, or with new ones if `chord` is 0. */
static int step(session *t, int chord) {
    scaled_program *s = &t->s;
    const int64_t n = s->free, m = s->rows;
    for (int64_t i = 0; i < n; i++) s->right[i] = t->active[i] ? gap(t, i) : (chord ? 0 : t->part[i]) - t->dual[i];
    for (int64_t i = 0; i < m; i++)
        s->right[n + i] = t->active[n + i] ? (chord ? 0 : t->part[n + i]) + row_gap(t, i) : t->lambda[i];
    if (chord) memcpy(s->solution, s->right, (size_t)(n + m) * sizeof(double));
    if (chord ? factorization_solve(s->kkt, s->solution) : kkt_solve_refined(s)) return -1;
    for (int64_t i = 0; i < n; i++) t->x[i] = t->active[i] ? t->x[i] + gap(t, i) : t->x[i] + s->solution[i];
    for (int64_t i = 0; i < m; i++) t->lambda[i] = t->active[n + i] ? t->lambda[i] + s->solution[n + i] : 0;
    return 0;
}

/* Factor at the point, of which the derivatives are there. */
static int factor_here(session *t, session_report *report) {
    factorization_report found = {0, 0, 0, 0};
    if (factor_dependent(t, &found, report)) return (int)(report->status = SESSION_FAILED);
    report->factorizations++;
    report->status = judge(t, &found, report);
    if (report->status != SESSION_SOLVED) t->fresh = 0;
    return (int)report->status;
}

static const double GREATEST_GROWTH = 100; /* of the residual over its first value: beyond, the method diverges */
enum { MOST_SLOW_STEPS = 2 };              /* in a row that do not halve the residual */

int session_solve(session *t, const session_options *o, session_report *report) {
    factorization_report found = {0, 0, 0, 0};
    double first = 0, last = INFINITY, rate = 0;
    int released = 0, slow = 0;
    memset(report, 0, sizeof *report);
    for (;; report->iterations++) {
        if (derivatives(t)) return (int)(report->status = SESSION_FAILED);
        const double size = largest_multiplier(t);
        const int64_t changes = report->iterations ? update(t, o->tolerance, 10 * o->tolerance * size) : 0;
        const double error = report->error = residual(t, size);
        report->changes += changes;
        if (!isfinite(error)) return (int)(report->status = SESSION_FAILED);
        if (error <= o->tolerance && !changes) break;
        if (!report->iterations) first = error;
        rate = report->iterations ? error / last : 0;
        slow = rate > 0.5 && !changes ? slow + 1 : 0;
        last = error;
        const int diverges = !changes && error > GREATEST_GROWTH * fmax(first, 1e-3);
        if (diverges || slow > MOST_SLOW_STEPS || report->iterations >= o->iterations) return (int)(report->status = SESSION_SLOW);
        const int chord = may_chord(t, rate, o->rate);
        report->chords += chord;
        while (!chord) {
            if (report->factorizations >= o->factorizations) return (int)(report->status = SESSION_SLOW);
            report->factorizations++;
            t->shift = 0;
            if (factor(t, &found)) return (int)(report->status = SESSION_FAILED);
            const int status = judge(t, &found, report);
            if (status == SESSION_SOLVED) break;
            t->fresh = 0;
            if (status != SESSION_SINGULAR || released) return (int)(report->status = status);
            /* Bounds that equations imply: held unknowns are released once, and those that leave their bounds come back. */
            released = 1;
            for (int64_t i = 0; i < t->s.free; i++) t->active[i] = FREE;
        }
        if (step(t, chord)) return (int)(report->status = SESSION_FAILED);
    }
    const int status = o->certified ? factor_here(t, report) : SESSION_SOLVED;
    report->dependent |= released;
    return (int)(report->status = status);
}

int session_factor(session *t, session_report *report) {
    return derivatives(t) ? (int)(report->status = SESSION_FAILED) : factor_here(t, report);
}

double session_answer(session *t, const interior_point_answer *answer) {
    scaled_program *s = &t->s;
    const placement *j = &s->e->jacobian;
    const int64_t all = s->p->unknowns;
    double *gradient = s->y + all;
    for (int64_t i = 0; i < s->free; i++) s->y[s->unknown[i]] = t->x[i];
    memcpy(answer->y, s->y, (size_t)all * sizeof(double));
    memcpy(answer->g, t->g, (size_t)s->rows * sizeof(double));
    memcpy(answer->constraint, t->lambda, (size_t)s->rows * sizeof(double));
    for (int64_t i = 0; i < all; i++) answer->bound[i] = -gradient[i];
    for (int64_t k = 0; k < j->nonzeros; k++) answer->bound[j->column[k]] -= s->jacobian[k] * t->lambda[j->row[k]];
    for (int64_t i = 0; i < s->free; i++)
        if (t->active[i] == FREE) answer->bound[s->unknown[i]] = 0;
    return session_cost(t, s->p->blocks);
}

double session_cost(session *t, int64_t blocks) {
    double f;
    return evaluation_part_of_objective(t->s.e, t->s.y, blocks, &f) ? NAN : f;
}

/* ---- derivatives by parameters --------------------------------------------------------------------------------------------------- */

void session_product(session *t, const double *direction, double *hessian, double *rows) {
    scaled_program *s = &t->s;
    const placement *h = &s->e->hessian, *j = &s->e->jacobian;
    memset(hessian, 0, (size_t)s->p->unknowns * sizeof(double));
    memset(rows, 0, (size_t)s->rows * sizeof(double));
    for (int64_t k = 0; k < h->nonzeros; k++) {
        hessian[h->row[k]] += s->hessian[k] * direction[h->column[k]];
        if (h->row[k] != h->column[k]) hessian[h->column[k]] += s->hessian[k] * direction[h->row[k]];
    }
    for (int64_t k = 0; k < j->nonzeros; k++) rows[j->row[k]] += s->jacobian[k] * direction[j->column[k]];
}

void session_transposed(session *t, const double *multipliers, double *dual) {
    scaled_program *s = &t->s;
    const placement *j = &s->e->jacobian;
    memset(dual, 0, (size_t)s->p->unknowns * sizeof(double));
    for (int64_t k = 0; k < j->nonzeros; k++) dual[j->column[k]] += s->jacobian[k] * multipliers[j->row[k]];
}

int session_tangent(session *t, const double *dual, const double *rows, double *dy, double *dlambda) {
    scaled_program *s = &t->s;
    const int64_t n = s->free, m = s->rows;
    for (int64_t i = 0; i < n; i++) s->right[i] = t->active[i] ? 0 : dual[s->unknown[i]];
    for (int64_t i = 0; i < m; i++) s->right[n + i] = t->active[n + i] ? rows[i] : 0;
    if (kkt_solve_refined(s)) return -1;
    memset(dy, 0, (size_t)s->p->unknowns * sizeof(double));
    for (int64_t i = 0; i < n; i++) dy[s->unknown[i]] = s->solution[i];
    memcpy(dlambda, s->solution + n, (size_t)m * sizeof(double));
    return 0;
}
