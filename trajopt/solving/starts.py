"""Multistart: solves from several initial guesses in parallel, and a table of
the distinct optima.
"""

from __future__ import annotations

import itertools
import math
import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import replace

from trajopt.deadline import Deadline
from trajopt.errors import GuessError
from trajopt.solving.child_process import end_with_parent
from trajopt.statement.normal_form import NormalForm
from trajopt.trajectory.solution import Optimum, Solution, Status

Solve = Callable[[int], Solution]

ACCURATE = 1e-3  # largest estimated error of a coarse solution that counts as an optimum

_task: list[Solve] = []  # inherited by forked processes, since symbols cannot be pickled


def from_all_starts(
    form: NormalForm, solve: Solve, starts: int, deadline: Deadline, tell: Callable[[str], None]
) -> Solution:
    """Return the best of ``solve(0)`` to ``solve(starts - 1)``, independent of the number of
    processes.
    """
    found: dict[int, Solution] = {}
    interrupted = False
    try:
        for k, solution in _solved(solve, starts, deadline):
            found[k] = solution
            tell(
                f"start {k + 1} of {starts}: {solution.status.name.lower()}, objective "
                f"{solution.objective:.9g}"
            )
    except KeyboardInterrupt:
        if not found:
            raise
        interrupted = True
    answer = replace(best_of(found, form.sense), form=form)
    late = len(found) < starts and deadline.over
    if interrupted or late:
        answer = replace(answer, status=Status.INTERRUPTED if interrupted else Status.TIME_LIMIT)
    return answer


def best_of(found: Mapping[int, Solution], sense: int) -> Solution:
    """Return the best solution with the table of distinct optima; ``sense`` is -1 for a maximum."""
    ordered = sorted(sorted(found), key=lambda k: _rank(found[k], sense))
    optima: list[Optimum] = []
    for k in ordered:
        solution = found[k]
        same = next((i for i, one in enumerate(optima) if _agree(one, solution)), None)
        if not _counts(solution):
            continue
        if same is None:
            optima.append(Optimum(solution.objective, solution.status, solution.error, (k,)))
        else:
            optima[same] = replace(optima[same], starts=tuple(sorted((*optima[same].starts, k))))
    best = next((k for k in sorted(found) if _as_good(found[k], found[ordered[0]])), ordered[0])
    return replace(found[best], optima=tuple(optima))


def _as_good(one: Solution, best: Solution) -> bool:
    """True if the cost of one is that of the best within the tolerance: rounding would decide
    between them, as between two mirrored motions. The first of them is the answer.
    """
    same = abs(one.objective - best.objective) <= best.tolerance * abs(best.objective)
    return same and one.status is best.status and (one.success or one.error <= best.error)


def _rank(solution: Solution, sense: int) -> tuple[bool, float]:
    """Return the sort key: the cost, plus the estimated error if the solution is coarse."""
    cost = sense * solution.objective
    if not math.isfinite(cost):
        return True, math.inf
    return not _counts(solution), cost + (0.0 if solution.success else solution.error * abs(cost))


def _counts(solution: Solution) -> bool:
    return solution.success or (solution.status is Status.COARSE and solution.error <= ACCURATE)


def _agree(one: Optimum, solution: Solution) -> bool:
    close = max(10 * solution.tolerance, one.error, solution.error)
    return abs(one.objective - solution.objective) <= close * max(
        abs(one.objective), abs(solution.objective)
    )


def _solved(solve: Solve, starts: int, deadline: Deadline) -> Iterator[tuple[int, Solution]]:
    """Yield (number, solution) as they finish, without starts that have no finite guess or come
    after the deadline.
    """
    workers = min(
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        starts,
    )
    if workers == 1 or "fork" not in multiprocessing.get_all_start_methods():
        for k in range(starts):
            if k and deadline.over:
                return
            solution = _attempt(solve, k)
            if solution is not None:
                yield k, solution
        return
    _task.append(solve)
    try:
        with ProcessPoolExecutor(
            workers, multiprocessing.get_context("fork"), end_with_parent, (os.getpid(),)
        ) as pool:
            numbers = iter(range(starts))
            waiting: dict[Future[Solution | None], int] = {}
            try:
                while True:
                    for k in itertools.islice(numbers, 2 * workers - len(waiting)):
                        if k and deadline.over:
                            break
                        waiting[pool.submit(_in_process, k, deadline)] = k
                    if not waiting:
                        return
                    for done in wait(waiting, return_when=FIRST_COMPLETED).done:
                        k, solution = waiting.pop(done), done.result()
                        if solution is not None:
                            yield k, solution
            except BaseException:
                running = list((pool._processes or {}).values())  # shutdown would wait for them
                pool.shutdown(wait=False, cancel_futures=True)
                for process in running:
                    process.kill()
                raise
    finally:
        _task.pop()


def _in_process(k: int, deadline: Deadline) -> Solution | None:
    solution = None if k and deadline.over else _attempt(_task[-1], k)
    return None if solution is None else solution.without_form()


def _attempt(solve: Solve, k: int) -> Solution | None:
    """Solve from one start; a ``GuessError`` is raised for the first start only."""
    try:
        return solve(k)
    except GuessError:
        if k == 0:
            raise
        return None
