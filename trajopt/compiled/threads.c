/* Parts in parallel; see threads.h. */
#include "threads.h"

#include <stdlib.h>

static void run_alone(int parts, void (*run)(int, void *), void *context) {
    for (int part = 0; part < parts; part++) run(part, context);
}

#if (defined(__unix__) || defined(__APPLE__)) && !defined(TRAJOPT_ONE_THREAD)
#include <pthread.h>
#include <unistd.h>

typedef struct {
    thread_team *team;
    int part;
} member;

struct thread_team {
    pthread_t threads[MOST_THREADS];
    member members[MOST_THREADS];
    int size;             /* threads, the calling one included: member 0 */
    pid_t process;        /* that has started them */
    pthread_mutex_t lock; /* for all that follows */
    pthread_cond_t begin, done;
    int64_t calls;        /* of team_run */
    int parts, left;      /* of the current call: all, and those of other threads that have not ended */
    int closing;
    void (*run)(int, void *);
    void *context;
};

static void *serve(void *given) {
    const member *me = given;
    thread_team *t = me->team;
    pthread_mutex_lock(&t->lock);
    for (int64_t seen = 0;;) {
        while (t->calls == seen && !t->closing) pthread_cond_wait(&t->begin, &t->lock);
        if (t->closing) break;
        seen = t->calls;
        if (me->part >= t->parts) continue;
        pthread_mutex_unlock(&t->lock);
        t->run(me->part, t->context);
        pthread_mutex_lock(&t->lock);
        if (--t->left == 0) pthread_cond_signal(&t->done);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

thread_team *team_new(int threads) {
    if (threads > MOST_THREADS) threads = MOST_THREADS;
    thread_team *t = threads > 1 ? calloc(1, sizeof *t) : NULL;
    if (!t) return NULL;
    t->process = getpid();
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->begin, NULL);
    pthread_cond_init(&t->done, NULL);
    for (t->size = 1; t->size < threads; t->size++) {
        t->members[t->size] = (member){t, t->size};
        if (pthread_create(&t->threads[t->size], NULL, serve, &t->members[t->size])) break;
    }
    if (t->size > 1) return t;
    team_free(t);
    return NULL;
}

void team_free(thread_team *t) {
    if (!t) return;
    if (t->process == getpid()) {
        pthread_mutex_lock(&t->lock);
        t->closing = 1;
        pthread_cond_broadcast(&t->begin);
        pthread_mutex_unlock(&t->lock);
        for (int k = 1; k < t->size; k++) pthread_join(t->threads[k], NULL);
        pthread_cond_destroy(&t->done);
        pthread_cond_destroy(&t->begin);
        pthread_mutex_destroy(&t->lock);
    }
    free(t);
}

void team_run(thread_team *t, int parts, void (*run)(int part, void *context), void *context) {
    if (!t || parts < 2 || parts > t->size || t->process != getpid()) {
        run_alone(parts, run, context);
        return;
    }
    pthread_mutex_lock(&t->lock);
    t->run = run;
    t->context = context;
    t->parts = parts;
    t->left = parts - 1;
    t->calls++;
    pthread_cond_broadcast(&t->begin);
    pthread_mutex_unlock(&t->lock);
    run(0, context);
    pthread_mutex_lock(&t->lock);
    while (t->left) pthread_cond_wait(&t->done, &t->lock);
    pthread_mutex_unlock(&t->lock);
}

static int team_size(const thread_team *t) { return t ? t->size : 1; }

#else

thread_team *team_new(int threads) {
    (void)threads;
    return NULL;
}

void team_free(thread_team *t) { (void)t; }

void team_run(thread_team *t, int parts, void (*run)(int part, void *context), void *context) {
    (void)t;
    run_alone(parts, run, context);
}

static int team_size(const thread_team *t) {
    (void)t;
    return 1;
}

#endif

static const double OPERATIONS_PER_PART = 1e5; /* three hundredths of a millisecond: to wake a thread takes a third of it */

int team_parts(const thread_team *t, double operations) {
    const double parts = operations / OPERATIONS_PER_PART;
    return parts < 2 ? 1 : parts < team_size(t) ? (int)parts : team_size(t);
}
