"""Several threads give the digits of one, in programs and in whole solves; a child process works
without them.
"""

import os
import signal
import sys
import threading
import warnings

import numpy as np
import pytest

from tests.benchmarks.threads import FUNCTIONS, chain, evaluations, heat, program_of
from trajopt.compiled.library import library
from trajopt.nlp.interior_point import Compiled

pytestmark = pytest.mark.skipif(library() is None, reason="the compiled core is not available")


def running():
    """Threads of this process."""
    return len(os.listdir("/proc/self/task"))


@pytest.mark.parametrize("build", [heat, chain])
def test_digits_do_not_depend_on_the_number_of_threads(build, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    program = program_of(build(), 53)  # a number of points that no number of threads divides
    alone = [function() for function in evaluations(program, 1)]
    for threads in (2, 3, 8):
        for name, one, function in zip(
            FUNCTIONS, alone, evaluations(program, threads), strict=True
        ):
            for _ in range(3):
                assert np.array_equal(one, function()), name


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads in /proc")
def test_threads_end_with_the_evaluation(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    program, before = program_of(heat(), 50), running()
    functions = evaluations(program, 4)
    assert running() == before + 3
    del functions
    assert running() == before


def test_solutions_do_not_depend_on_the_number_of_threads(monkeypatch):
    program, answers = program_of(heat(60), 40), []
    for threads in ("1", "2"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        answers.append(Compiled(max_iterations=5).run(program)[0])
    assert np.array_equal(answers[0].y, answers[1].y)
    assert np.array_equal(answers[0].constraint_multipliers, answers[1].constraint_multipliers)


def test_two_solves_at_once(monkeypatch):
    """ctypes releases the interpreter lock: two solves must not share memory, threads or state."""
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    programs = [program_of(heat(60), 40), program_of(heat(10), 15), program_of(heat(60), 40)]
    alone = [Compiled(max_iterations=4).run(p)[0].y for p in programs]
    together = [None] * len(programs)

    def run(k):
        together[k] = Compiled(max_iterations=4).run(programs[k])[0].y

    workers = [threading.Thread(target=run, args=(k,)) for k in range(len(programs))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert all(np.array_equal(a, b) for a, b in zip(alone, together, strict=True))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_process_evaluates_alone(monkeypatch):
    """Threads do not survive a fork: waiting for them would never end."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    constraints = evaluations(program_of(heat(), 50), 2)[FUNCTIONS.index("constraints")]
    expected = constraints()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks of processes with threads
        child = os.fork()
    if child == 0:
        signal.alarm(20)
        os._exit(0 if np.array_equal(constraints(), expected) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
