"""Continuation: a family of solutions over one parameter, each the guess of the next."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from trajopt.errors import UsageError, suggest
from trajopt.indirect.shooting import Shooting
from trajopt.statement.normal_form import NormalForm
from trajopt.trajectory.solution import Solution


class Method(Protocol):
    """Whatever solves a problem from a guess: shooting, or a direct method."""

    def solve(
        self, form: NormalForm, guess: Any, parameters: Mapping[str, Any] | None = None
    ) -> Solution: ...


@dataclass(frozen=True)
class PathPoint:
    """One solve of the family."""

    value: float
    objective: float
    accepted: bool
    iterations: int
    reason: str


@dataclass(frozen=True, eq=False)
class ContinuationPath:
    """The record of a continuation.

    ``last`` is the last solution that was accepted. ``run`` continues a path that stopped, with
    ``last`` as its guess.
    """

    parameter: str
    target: float
    points: tuple[PathPoint, ...] = ()
    last: Solution | None = None
    step: float = math.nan  # the next one to try, as a fraction of the whole way

    @property
    def complete(self) -> bool:
        return (
            self.last is not None
            and bool(self.points)
            and any(p.accepted and p.value == self.target for p in self.points)
        )

    @property
    def values(self) -> tuple[float, ...]:
        """The parameter values that were solved."""
        return tuple(p.value for p in self.points if p.accepted)


@dataclass(frozen=True)
class Continuation:
    """Follow a solution over a parameter: a smoothing, a thrust level, a boundary value.

    Steps grow after an easy solve and shrink after a failure. ``geometric`` spaces them by factors,
    as a smoothing that tends to zero needs.

    Parameters
    ----------
    parameter
        The name of an ``ocp.parameter``.
    first, smallest, largest
        Steps as fractions of the whole way.
    easy
        Newton iterations up to which a solve is easy.

    >>> from trajopt import Problem
    >>> ocp = Problem("heavier and heavier")
    >>> ph = ocp.phase()
    >>> t, mass = ph.time(start=0, end=1), ocp.parameter("mass", 1.0)
    >>> x, v, u = ph.state("x", start=0, end=1), ph.state("v", start=0, end=0), ph.control("u")
    >>> ph.dynamics({x: v, v: u / mass})
    >>> ocp.minimize(ph.integral(u**2))
    >>> path = Continuation("mass", first=0.5).run(ocp.finish(), {"x": -20, "v": -10}, 3.0)
    >>> path.values, round(path.last.objective, 6)
    ((1.0, 2.0, 3.0), 108.0)
    """

    parameter: str
    first: float = 0.1
    smallest: float = 1e-4
    largest: float = 0.5
    easy: int = 6
    geometric: bool = False
    solves: int = 300
    method: Method = field(default_factory=Shooting)

    def run(
        self,
        form: NormalForm,
        guess: Solution | Mapping[str, Any],
        target: float,
        *,
        start: float | None = None,
        parameters: Mapping[str, Any] | None = None,
        progress: Callable[[PathPoint], None] | None = None,
    ) -> ContinuationPath:
        """From ``start`` (by default the value that the guess was solved with) to ``target``."""
        begin = self._begin(form, guess, start, parameters)
        path = ContinuationPath(self.parameter, float(target), step=self.first)
        reached, first = 0.0, True
        try:
            for _ in range(self.solves):
                ahead = 0.0 if first else min(reached + path.step, 1.0)
                value = begin if first else self._value(begin, path.target, ahead)
                solution = self.method.solve(
                    form, guess, {**(parameters or {}), self.parameter: value}
                )
                reason = (
                    ""
                    if solution.success
                    else "; ".join(solution.explanation[:1]) or solution.status.value
                )
                point = PathPoint(
                    value, solution.objective, solution.success, solution.iterations, reason
                )
                path = replace(path, points=(*path.points, point))
                if progress is not None:
                    progress(point)
                if solution.success:
                    guess, reached = solution, ahead
                    grown = 1.0 if first else 2.0 if solution.iterations <= self.easy else 1.2
                    path = replace(path, last=solution, step=min(grown * path.step, self.largest))
                    if ahead == 1.0 or value == path.target:
                        return path
                    first = False
                elif first or path.step * 0.5 < self.smallest:
                    return path
                else:
                    path = replace(path, step=0.5 * path.step)
        except KeyboardInterrupt:  # the record so far is worth keeping
            return path
        return path

    def _begin(
        self,
        form: NormalForm,
        guess: Any,
        start: float | None,
        parameters: Mapping[str, Any] | None,
    ) -> float:
        known = {q.name: q.value for q in form.parameters}
        if self.parameter not in known:
            raise UsageError(
                f"problem '{form.name}' has no parameter '{self.parameter}'",
                hint=suggest(self.parameter, known),
            )
        if known[self.parameter].size != 1:
            raise UsageError(
                f"continuation over '{self.parameter}'",
                got=f"{known[self.parameter].size} numbers",
                expected="a parameter with one",
            )
        given = guess.parameters.get(self.parameter) if isinstance(guess, Solution) else None
        value = (
            start
            if start is not None
            else given
            if given is not None
            else (parameters or {}).get(self.parameter, known[self.parameter])
        )
        return float(np.asarray(value).ravel()[0])

    def _value(self, begin: float, target: float, fraction: float) -> float:
        if fraction >= 1.0:
            return float(target)
        if not self.geometric:
            return begin + fraction * (target - begin)
        self._check_geometric(begin, target)
        return float(begin * (target / begin) ** fraction)

    def _check_geometric(self, begin: float, target: float) -> None:
        if begin * target <= 0:
            raise UsageError(
                "a geometric continuation needs values of one sign", got=(begin, target)
            )
