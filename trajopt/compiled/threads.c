/* Parts in parallel; see threads.h. */
#include "threads.h"

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>

enum { MOST = 64 };

typedef struct {
    int part;
    void (*run)(int, void *);
    void *context;
} task;

static void *begin(void *given) {
    const task *t = given;
    t->run(t->part, t->context);
    return 0;
}

void run_in_threads(int parts, void (*run)(int part, void *context), void *context) {
    pthread_t threads[MOST];
    task tasks[MOST];
    int started[MOST] = {0};
    for (int part = 1; part < parts && part < MOST; part++) {
        tasks[part] = (task){part, run, context};
        started[part] = pthread_create(&threads[part], 0, begin, &tasks[part]) == 0;
    }
    for (int part = 0; part < parts; part++)
        if (part == 0 || part >= MOST || !started[part]) run(part, context);
    for (int part = 1; part < parts && part < MOST; part++)
        if (started[part]) pthread_join(threads[part], 0);
}

#else

void run_in_threads(int parts, void (*run)(int part, void *context), void *context) {
    for (int part = 0; part < parts; part++) run(part, context);
}

#endif
