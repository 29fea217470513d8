/* Minimum-degree ordering by explicit elimination; see ordering.h. */
#include "ordering.h"
#include "memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- sets of nodes ------------------------------------------------------------------------------------------------------ */

typedef struct {
    int64_t *item;
    int64_t count, room;
} set;

static int add(set *s, int64_t item) {
    if (s->count == s->room) {
        int64_t room = s->room ? 2 * s->room : 12;
        if (!grow(&s->item, room)) return 0;
        s->room = room;
    }
    s->item[s->count++] = item;
    return 1;
}

/* ---- the graph ---------------------------------------------------------------------------------------------------------- */

typedef struct {
    int64_t size, nodes;
    int64_t *node;             /* (size,) of each index */
    int64_t (*member)[2];      /* (nodes,) indices of each node; -1 for none */
    int64_t *weight;           /* (nodes,) 1 or 2 */
    set *neighbours;           /* (nodes,) not yet eliminated, without the last ones */
    set *last_neighbours;      /* (nodes,) the last ones among the neighbours */
    char *last;                /* (nodes,) comes last */
    int64_t *order, ordered;   /* (nodes,) in order of elimination, last nodes not among them */
    int64_t *when;             /* (nodes,) 1 + place in the order; 0 before */
    int64_t *mark, stamp;      /* (nodes,) for unions of sets */
    int64_t *head, *next, *previous, *degree, top; /* lists of nodes by degree */
    char *listed;
} graph;

static int make_nodes(graph *g, const int64_t *mate) {
    for (int64_t i = 0; i < g->size; i++) {
        if (mate[i] >= 0 && mate[i] < i) continue;
        int64_t k = g->nodes++;
        g->node[i] = k;
        g->member[k][0] = i;
        g->member[k][1] = mate[i] >= 0 ? mate[i] : -1;
        g->weight[k] = mate[i] >= 0 ? 2 : 1;
        g->last[k] = mate[i] == LAST;
        if (mate[i] >= 0) g->node[mate[i]] = k;
    }
    return 1;
}

/* Neighbours of each node, each once: a counting sort of the entries by their nodes. */
static int make_neighbours(graph *g, int64_t entries, const int64_t *row, const int64_t *column) {
    int64_t *start = new_integers(g->nodes + 2), *to = NULL;
    if (!start) return 0;
    for (int64_t e = 0; e < entries; e++) {
        int64_t a = g->node[row[e]], b = g->node[column[e]];
        if (a != b) start[a + 2]++, start[b + 2]++;
    }
    for (int64_t k = 0; k < g->nodes; k++) start[k + 2] += start[k + 1];
    int fine = (to = new_integers(start[g->nodes + 1])) != NULL;
    for (int64_t e = 0; fine && e < entries; e++) {
        int64_t a = g->node[row[e]], b = g->node[column[e]];
        if (a != b) to[start[a + 1]++] = b, to[start[b + 1]++] = a;
    }
    for (int64_t k = 0; fine && k < g->nodes; k++) {
        g->stamp++;
        for (int64_t e = start[k]; fine && e < start[k + 1]; e++)
            if (g->mark[to[e]] != g->stamp) {
                g->mark[to[e]] = g->stamp;
                fine = add(&g->neighbours[k], to[e]);
            }
    }
    free(start);
    free(to);
    return fine;
}

/* Nodes with far more neighbours than the others come last too; then take the last ones out of the graph. */
static int set_last_apart(graph *g) {
    const int64_t many = 24 + (int64_t)(4 * sqrt((double)g->nodes));
    for (int64_t k = 0; k < g->nodes; k++)
        if (g->neighbours[k].count > many) g->last[k] = 1;
    for (int64_t k = 0; k < g->nodes; k++) {
        set *s = &g->neighbours[k];
        int64_t kept = 0;
        for (int64_t q = 0; q < s->count; q++) {
            if (!g->last[s->item[q]])
                s->item[kept++] = s->item[q];
            else if (!g->last[k] && !add(&g->last_neighbours[k], s->item[q]))
                return 0;
        }
        s->count = kept;
    }
    return 1;
}

/* ---- minimum degree ----------------------------------------------------------------------------------------------------- */

static void insert(graph *g, int64_t k) {
    int64_t degree = 0;
    for (int64_t q = 0; q < g->neighbours[k].count; q++) degree += g->weight[g->neighbours[k].item[q]];
    if (degree > g->top) degree = g->top;
    g->degree[k] = degree;
    g->previous[k] = -1;
    g->next[k] = g->head[degree];
    if (g->head[degree] >= 0) g->previous[g->head[degree]] = k;
    g->head[degree] = k;
    g->listed[k] = 1;
}

static void take_out(graph *g, int64_t k) {
    if (g->previous[k] >= 0)
        g->next[g->previous[k]] = g->next[k];
    else
        g->head[g->degree[k]] = g->next[k];
    if (g->next[k] >= 0) g->previous[g->next[k]] = g->previous[k];
    g->listed[k] = 0;
}

static void note(graph *g, int64_t k) {
    g->order[g->ordered++] = k;
    g->when[k] = g->ordered;
}

/* neighbours[j] := (neighbours[j] and those of k) without j and k. */
static int join(graph *g, int64_t k, int64_t j) {
    const set *s = &g->neighbours[k];
    set *other = &g->neighbours[j];
    int64_t kept = 0;
    g->stamp++;
    g->mark[j] = g->stamp;
    for (int64_t r = 0; r < other->count; r++)
        if (other->item[r] != k) {
            g->mark[other->item[r]] = g->stamp;
            other->item[kept++] = other->item[r];
        }
    other->count = kept;
    for (int64_t r = 0; r < s->count; r++)
        if (g->mark[s->item[r]] != g->stamp && !add(other, s->item[r])) return 0;
    return 1;
}

/* Neighbours of k that touch nothing but k and its other neighbours are eliminated with it: they add no fill (mass elimination,
 * George and Liu 1989). The neighbours of the m-th of them are those of k without the first m. */
static int eliminate_alike(graph *g, int64_t k) {
    set *s = &g->neighbours[k];
    int64_t alike = 0;
    for (int64_t q = 0; q < s->count; q++) {
        const int64_t j = s->item[q];
        if (!g->listed[j] || g->neighbours[j].count != s->count - 1) continue;
        s->item[q] = s->item[alike];
        s->item[alike++] = j;
    }
    for (int64_t m = 0; m < alike; m++) {
        const int64_t j = s->item[m];
        set *own = &g->neighbours[j];
        take_out(g, j);
        own->count = 0;
        for (int64_t q = m + 1; q < s->count; q++)
            if (!add(own, s->item[q])) return 0;
    }
    if (alike) {
        g->stamp++;
        for (int64_t m = 0; m < alike; m++) g->mark[s->item[m]] = g->stamp;
        for (int64_t q = alike; q < s->count; q++) {
            set *other = &g->neighbours[s->item[q]];
            int64_t kept = 0;
            for (int64_t r = 0; r < other->count; r++)
                if (g->mark[other->item[r]] != g->stamp) other->item[kept++] = other->item[r];
            other->count = kept;
        }
    }
    for (int64_t q = alike; q < s->count; q++)
        if (g->listed[s->item[q]]) {
            take_out(g, s->item[q]);
            insert(g, s->item[q]);
        }
    for (int64_t m = 0; m < alike; m++) note(g, s->item[m]);
    return 1;
}

static int eliminate(graph *g, int64_t k) {
    note(g, k);
    for (int64_t q = 0; q < g->neighbours[k].count; q++)
        if (!join(g, k, g->neighbours[k].item[q])) return 0;
    return eliminate_alike(g, k);
}

static int order_nodes(graph *g, watch *w) {
    int64_t left = 0;
    for (int64_t d = 0; d <= g->top; d++) g->head[d] = -1;
    for (int64_t k = g->nodes - 1; k >= 0; k--) {
        left += !g->last[k];
        if (!g->last[k]) insert(g, k);
    }
    while (g->ordered < left) {
        int64_t degree = 0;
        while (g->head[degree] < 0) degree++;
        int64_t k = g->head[degree];
        const double neighbours = (double)g->neighbours[k].count;
        take_out(g, k);
        if (is_stopped(w, 10 * (1 + neighbours) * (1 + neighbours)) || !eliminate(g, k)) return 0;
    }
    return 1;
}

/* ---- fronts ------------------------------------------------------------------------------------------------------------- */

enum { ZEROS = 48 }; /* a node joins its parent's front where that stores at most so many zeros more */

/* The node that is eliminated first among the later neighbours: the parent in the elimination tree. */
static int64_t parent_of(const graph *g, int64_t k) {
    int64_t best = -1;
    for (int64_t q = 0; q < g->neighbours[k].count; q++) {
        int64_t j = g->neighbours[k].item[q];
        if (best < 0 || g->when[j] < g->when[best]) best = j;
    }
    return best;
}

/* into[k]: the last node of the front that node k belongs to. */
static void amalgamate(const graph *g, const int64_t *parent, int64_t *into, int64_t *rest, int64_t *width) {
    for (int64_t t = 0; t < g->ordered; t++) {
        int64_t k = g->order[t];
        into[k] = k;
        width[k] = g->weight[k];
        rest[k] = 0;
        for (int64_t q = 0; q < g->neighbours[k].count; q++) rest[k] += g->weight[g->neighbours[k].item[q]];
    }
    for (int64_t t = g->ordered - 1; t >= 0; t--) {
        int64_t k = g->order[t];
        if (parent[k] < 0) continue;
        int64_t f = into[parent[k]], zeros = rest[f] + width[f] - rest[k]; /* rows of the front that k does not have */
        if (zeros * g->weight[k] <= ZEROS) {
            into[k] = f;
            width[f] += g->weight[k];
        }
    }
}

/* Postorder of the fronts, given by their last nodes; the root of all last nodes is -1. */
typedef struct {
    int64_t *child, *sibling; /* (nodes + 1,) lists of children; entry `nodes` is the root of the last nodes */
    int64_t *parent;          /* (nodes + 1,) by last nodes of fronts; -1 for none */
    int64_t *postorder, count;
    int64_t *stack;
} forest;

static void walk(forest *f, int64_t root) {
    int64_t depth = 0;
    f->stack[depth++] = root;
    while (depth) {
        int64_t k = f->stack[depth - 1];
        if (f->child[k] >= 0) { /* go down to the next child, and take it off the list */
            f->stack[depth++] = f->child[k];
            f->child[k] = f->sibling[f->child[k]];
        } else {
            f->postorder[f->count++] = k;
            depth--;
        }
    }
}

/* Everything that depends on which nodes share a front; members of a front in order of elimination. */
typedef struct {
    int64_t *parent, *into, *rest, *width, *first, *next; /* (nodes,) ; first and next: lists of the nodes of each front */
    forest f;
} fronts_plan;

static void free_plan(fronts_plan *p) {
    free(p->parent);
    free(p->into);
    free(p->rest);
    free(p->width);
    free(p->first);
    free(p->next);
    free(p->f.child);
    free(p->f.sibling);
    free(p->f.parent);
    free(p->f.postorder);
    free(p->f.stack);
}

static int new_plan(fronts_plan *p, int64_t n) {
    memset(p, 0, sizeof *p);
    return (p->parent = new_integers(n)) && (p->into = new_integers(n)) && (p->rest = new_integers(n)) &&
           (p->width = new_integers(n)) && (p->first = new_integers(n + 1)) && (p->next = new_integers(n + 1)) &&
           (p->f.child = new_integers(n + 1)) && (p->f.sibling = new_integers(n + 1)) &&
           (p->f.parent = new_integers(n + 1)) && (p->f.postorder = new_integers(n + 1)) &&
           (p->f.stack = new_integers(n + 2));
}

/* The parents of fronts. Where one has no parent among the ordered nodes, its parent is the root of the last ones, if any. */
static void plan_fronts(const graph *g, fronts_plan *p, int any_last) {
    const int64_t n = g->nodes;
    for (int64_t t = 0; t < g->ordered; t++) p->parent[g->order[t]] = parent_of(g, g->order[t]);
    amalgamate(g, p->parent, p->into, p->rest, p->width);
    for (int64_t k = 0; k <= n; k++) p->f.child[k] = p->f.sibling[k] = p->f.parent[k] = p->first[k] = p->next[k] = -1;
    for (int64_t t = g->ordered - 1; t >= 0; t--) {
        int64_t k = g->order[t];
        p->next[k] = p->first[p->into[k]];
        p->first[p->into[k]] = k;
        if (p->into[k] != k) continue;
        p->f.parent[k] = p->parent[k] >= 0 ? p->into[p->parent[k]] : any_last ? n : -1;
        if (p->f.parent[k] >= 0) {
            p->f.sibling[k] = p->f.child[p->f.parent[k]];
            p->f.child[p->f.parent[k]] = k;
        }
    }
    for (int64_t t = 0; t < g->ordered; t++)
        if (p->into[g->order[t]] == g->order[t] && p->f.parent[g->order[t]] < 0) walk(&p->f, g->order[t]);
    if (any_last) walk(&p->f, n);
}

static void append(front_tree *t, const graph *g, int64_t *at, int64_t k) {
    for (int64_t b = 0; b < g->weight[k]; b++) t->index[(*at)++] = g->member[k][b];
}

/* The last nodes that a front touches: those of its own nodes and those of its children, which are front numbers < f. */
static int last_of_front(graph *g, const fronts_plan *p, const int64_t *number, set *touched, int64_t f) {
    int64_t top = p->f.postorder[f];
    g->stamp++;
    for (int64_t k = p->first[top]; k >= 0; k = p->next[k])
        for (int64_t q = 0; q < g->last_neighbours[k].count; q++) {
            int64_t j = g->last_neighbours[k].item[q];
            if (g->mark[j] == g->stamp) continue;
            g->mark[j] = g->stamp;
            if (!add(&touched[f], j)) return 0;
        }
    for (int64_t c = f - 1; c >= 0 && p->f.parent[p->f.postorder[c]] == top; ) {
        for (int64_t q = 0; q < touched[c].count; q++) {
            int64_t j = touched[c].item[q];
            if (g->mark[j] == g->stamp) continue;
            g->mark[j] = g->stamp;
            if (!add(&touched[f], j)) return 0;
        }
        c = number[c]; /* the sibling before it: one before its subtree begins */
    }
    return 1;
}

static int fill_tree(front_tree *t, graph *g, const fronts_plan *p) {
    const int64_t fronts = p->f.count;
    int64_t at = 0, *of = new_integers(g->nodes + 1), *before = new_integers(fronts), room = g->size;
    set *touched = calloc((size_t)(fronts > 0 ? fronts : 1), sizeof *touched);
    int fine = of && before && touched;
    for (int64_t f = 0; fine && f < fronts; f++) {
        int64_t top = p->f.postorder[f], c = f - 1;
        of[top] = f;
        while (c >= 0 && p->f.parent[p->f.postorder[c]] == top) c = before[c];
        before[f] = c; /* the front before the subtree of f */
        if (top < g->nodes) {
            fine = last_of_front(g, p, before, touched, f);
            room += p->rest[top] + 2 * touched[f].count;
        }
    }
    fine = fine && (t->start = new_integers(fronts + 1)) && (t->pivots = new_integers(fronts)) &&
           (t->parent = new_integers(fronts)) && (t->index = new_integers(room));
    for (int64_t f = 0; fine && f < fronts; f++) {
        int64_t top = p->f.postorder[f];
        t->start[f] = at;
        if (top == g->nodes) {
            for (int64_t k = 0; k < g->nodes; k++)
                if (g->last[k]) append(t, g, &at, k);
        } else {
            for (int64_t k = p->first[top]; k >= 0; k = p->next[k]) append(t, g, &at, k);
        }
        t->pivots[f] = at - t->start[f];
        if (top < g->nodes) {
            for (int64_t q = 0; q < g->neighbours[top].count; q++) append(t, g, &at, g->neighbours[top].item[q]);
            for (int64_t q = 0; q < touched[f].count; q++) append(t, g, &at, touched[f].item[q]);
        }
        t->start[f + 1] = at;
        t->parent[f] = p->f.parent[top] < 0 ? -1 : of[p->f.parent[top]];
        t->fronts++;
    }
    for (int64_t f = 0; f < fronts && touched; f++) free(touched[f].item);
    free(touched);
    free(before);
    free(of);
    return fine;
}

/* ---- together ----------------------------------------------------------------------------------------------------------- */

static void free_graph(graph *g) {
    for (int64_t k = 0; k < g->size; k++) {
        if (g->neighbours) free(g->neighbours[k].item);
        if (g->last_neighbours) free(g->last_neighbours[k].item);
    }
    free(g->node);
    free(g->member);
    free(g->weight);
    free(g->neighbours);
    free(g->last_neighbours);
    free(g->last);
    free(g->order);
    free(g->when);
    free(g->mark);
    free(g->head);
    free(g->next);
    free(g->previous);
    free(g->degree);
    free(g->listed);
}

static int new_graph(graph *g, int64_t size) {
    const size_t n = (size_t)(size > 0 ? size : 1);
    memset(g, 0, sizeof *g);
    g->size = size;
    g->top = 2 * size + 1;
    return (g->node = new_integers(size)) && (g->member = calloc(n, sizeof *g->member)) && (g->weight = new_integers(size)) &&
           (g->neighbours = calloc(n, sizeof(set))) && (g->last_neighbours = calloc(n, sizeof(set))) &&
           (g->last = calloc(n, 1)) &&
           (g->order = new_integers(size)) && (g->when = new_integers(size)) && (g->mark = new_integers(size)) &&
           (g->head = new_integers(g->top + 1)) && (g->next = new_integers(size)) && (g->previous = new_integers(size)) &&
           (g->degree = new_integers(size)) && (g->listed = calloc(n, 1));
}

front_tree *front_tree_new(int64_t size, int64_t entries, const int64_t *row, const int64_t *column, const int64_t *mate, watch *w) {
    graph g;
    fronts_plan p;
    front_tree *t = calloc(1, sizeof *t);
    int fine = new_graph(&g, size);
    fine = new_plan(&p, size) && fine && t;
    fine = fine && make_nodes(&g, mate) && make_neighbours(&g, entries, row, column) && set_last_apart(&g) && order_nodes(&g, w);
    if (fine) {
        plan_fronts(&g, &p, g.ordered < g.nodes);
        fine = fill_tree(t, &g, &p);
    }
    free_plan(&p);
    free_graph(&g);
    if (fine) return t;
    front_tree_free(t);
    return NULL;
}

void front_tree_free(front_tree *t) {
    if (!t) return;
    free(t->start);
    free(t->pivots);
    free(t->parent);
    free(t->index);
    free(t);
}
