/* Whether a long computation shall stop: a time limit, an interruption. Asked within loops, so that a stop takes effect soon. */
#ifndef TRAJOPT_WATCH_H
#define TRAJOPT_WATCH_H

typedef struct {
    int (*ask)(void *context); /* 1: stop */
    void *context;
    double operations; /* since it was asked */
} watch;

static const double OPERATIONS_PER_QUESTION = 1e6; /* a millisecond at most */

/* Count so many operations; 1 if the computation shall stop. Without a watch (NULL) it never stops. */
static inline int is_stopped(watch *w, double operations) {
    if (!w || (w->operations += operations) < OPERATIONS_PER_QUESTION) return 0;
    w->operations = 0;
    return w->ask(w->context);
}

#endif
