"""Solves from several starts in parallel processes; the best answer, and the table of distinct optima."""

from __future__ import annotations

import math
import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace

from trajopt.deadline import Deadline
from trajopt.errors import GuessError
from trajopt.normal_form import NormalForm
from trajopt.solution import Optimum, Solution, Status

Solve = Callable[[int], Solution]

ACCURATE = 1e-3  # the largest estimated error of a coarse answer that counts as an optimum

_task: list[Solve] = []  # that forked processes inherit: a problem's symbols cannot be sent to them


def from_all_starts(form: NormalForm, solve: Solve, starts: int, deadline: Deadline, tell: Callable[[str], None]) -> Solution:
    """The best of ``solve(0)`` to ``solve(starts - 1)``; the same whatever the number of processes."""
    found: dict[int, Solution] = {}
    interrupted = False
    try:
        for k, solution in _solved(solve, starts, deadline):
            found[k] = solution
            tell(f"start {k + 1} of {starts}: {solution.status.name.lower()}, objective {solution.objective:.9g}")
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
    """The best solution of those by number of start, with the table of their distinct optima; ``sense``: -1 for a maximum."""
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
    return replace(found[ordered[0]], optima=tuple(optima))


def _rank(solution: Solution, sense: int) -> tuple[bool, float]:
    """The least is the best: a coarse answer counts by its cost and its error together."""
    cost = sense * solution.objective
    if not math.isfinite(cost):
        return True, math.inf
    return not _counts(solution), cost + (0.0 if solution.success else solution.error * abs(cost))


def _counts(solution: Solution) -> bool:
    return solution.success or (solution.status is Status.COARSE and solution.error <= ACCURATE)


def _agree(one: Optimum, solution: Solution) -> bool:
    close = max(10 * solution.tolerance, one.error, solution.error)
    return abs(one.objective - solution.objective) <= close * max(abs(one.objective), abs(solution.objective))


def _solved(solve: Solve, starts: int, deadline: Deadline) -> Iterator[tuple[int, Solution]]:
    """(number, solution) as they come; a start that has no finite guess is left out, as are those after the deadline."""
    workers = min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, starts)
    if workers == 1 or "fork" not in multiprocessing.get_all_start_methods():
        for k in range(starts):
            solution = None if k and deadline.over else _attempt(solve, k)
            if solution is not None:
                yield k, solution
        return
    _task.append(solve)
    try:
        with ProcessPoolExecutor(workers, multiprocessing.get_context("fork")) as pool:
            waiting = {pool.submit(_in_process, k, deadline): k for k in range(starts)}
            try:
                for done in as_completed(waiting):
                    solution = done.result()
                    if solution is not None:
                        yield waiting[done], solution
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    finally:
        _task.pop()


def _in_process(k: int, deadline: Deadline) -> Solution | None:
    solution = None if k and deadline.over else _attempt(_task[-1], k)
    return None if solution is None else solution.without_form()


def _attempt(solve: Solve, k: int) -> Solution | None:
    """The answer from one start; the first one's errors are the caller's."""
    try:
        return solve(k)
    except GuessError:
        if k == 0:
            raise
        return None
