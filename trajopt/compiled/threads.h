/* A team of threads that share a computation. Each runs a part of its own, always the same one, so that what it has written is in
 * its cache when it is read again. Parts are independent and write to different places: the result does not depend on the number
 * of threads. Without POSIX threads, if TRAJOPT_ONE_THREAD is defined, and in a child process after a fork, the calling thread
 * runs all parts. */
#ifndef TRAJOPT_THREADS_H
#define TRAJOPT_THREADS_H

#include <stdint.h>

typedef struct thread_team thread_team;
enum { MOST_THREADS = 64 };

/* A team of `threads` threads, the calling one included. NULL for one thread, or if no thread can be started. */
thread_team *team_new(int threads);
void team_free(thread_team *team);

/* Call run(part, context) for part = 0 .. parts - 1, parts <= MOST_THREADS, and return when all have ended. The team may be NULL;
 * it serves one call at a time. */
void team_run(thread_team *team, int parts, void (*run)(int part, void *context), void *context);

/* Into how many parts to divide so many elementary operations: one for each thread, or 1 if a second thread would not help. */
int team_parts(const thread_team *team, double operations);

/* A tenth of a millisecond: to start a thread takes a fifth of it. */
static const double OPERATIONS_PER_THREAD = 3e5;

/* The elements of 0 .. count - 1 that belong to a part: a multiple of `unit`, but for the last. */
typedef struct {
    int64_t begin, end;
} span;
static inline span span_of(int part, int parts, int64_t count, int64_t unit) {
    const int64_t chunk = ((count + unit - 1) / unit + parts - 1) / parts * unit, begin = part * chunk;
    return (span){begin < count ? begin : count, begin + chunk < count ? begin + chunk : count};
}

#endif
