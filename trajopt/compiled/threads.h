/* Run parts of a computation in parallel. The parts are independent of each other, so the result does not depend on the number
 * of threads. Without POSIX threads the parts run one after the other. */
#ifndef TRAJOPT_THREADS_H
#define TRAJOPT_THREADS_H

/* Call run(part, context) for part = 0 .. parts - 1; part 0 runs in the calling thread. Returns when all have ended. */
void run_in_threads(int parts, void (*run)(int part, void *context), void *context);

#endif
