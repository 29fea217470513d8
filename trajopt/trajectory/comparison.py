"""Differences between two solutions of a problem, and the verdict on two methods."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajopt.trajectory.curve import Curve
from trajopt.trajectory.solution import Solution

Array = NDArray[np.float64]

SAMPLES = 1001  # samples of a curve, at equal fractions of its phase


class Verdict(enum.Enum):
    """Agreement of the solutions of two methods."""

    AGREE = "Both methods found the same solution."
    OBJECTIVES_DIFFER = (
        "The two methods found different objectives: one of them is a local "
        "optimum or not converged."
    )
    STRUCTURES_DIFFER = "The two methods found the same objective on different sequences of arcs."
    NOT_CONFIRMED = (
        "Shooting found no solution of Pontryagin's conditions; the solution of "
        "collocation is not confirmed."
    )
    NO_SOLUTION = "Collocation found no solution; shooting was not tried."


@dataclass(frozen=True)
class Difference:
    """Largest and mean difference of a curve over normalised time, relative to its maximum
    magnitude.
    """

    phase: str
    name: str
    largest: float
    mean: float


@dataclass(frozen=True, eq=False)
class Comparison:
    """The solutions of one problem by both methods.

    ``indirect`` is None if collocation found no initial guess for shooting. Differences are
    relative, and nan if one of the solutions has no trajectory.
    """

    direct: Solution
    indirect: Solution | None
    verdict: Verdict
    objective: float = float("nan")
    states: float = float("nan")
    costates_initial: Mapping[str, tuple[float, float]] | None = (
        None  # component -> direct and indirect value
    )

    @property
    def line(self) -> str:
        """Objectives and their relative difference as text."""
        other = float("nan") if self.indirect is None else self.indirect.objective
        return (
            f"direct {self.direct.objective:.12g}, indirect {other:.12g}, relative difference "
            f"{self.objective:.1e}"
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict.name.lower(),
            "message": self.verdict.value,
            "objective": self.objective,
            "states": self.states,
            "costates_initial": {
                name: list(pair) for name, pair in (self.costates_initial or {}).items()
            },
        }


def compare_methods(direct: Solution, indirect: Solution | None, agreement: float) -> Comparison:
    """Compare two solutions; their objectives agree within the relative tolerance ``agreement``."""
    if indirect is None:
        return Comparison(direct, None, Verdict.NO_SOLUTION)
    if not indirect.phases:
        return Comparison(direct, indirect, Verdict.NOT_CONFIRMED)
    objective = relative(direct.objective, indirect.objective)
    gap = largest_state_gap(direct, differences(direct, indirect))
    verdict = Verdict.AGREE if same_structure(direct, indirect) else Verdict.STRUCTURES_DIFFER
    if not objective <= agreement:
        verdict = Verdict.OBJECTIVES_DIFFER
    if not indirect.success:
        verdict = Verdict.NOT_CONFIRMED
    states = float("nan") if gap is None else gap.largest
    return Comparison(
        direct, indirect, verdict, objective, states, initial_costates(direct, indirect)
    )


def same_structure(direct: Solution, indirect: Solution) -> bool:
    """True if both solutions have the same sequence of arcs in every phase where both have arcs."""
    for name in direct.phases:
        ours, theirs = (
            [dict(arc.roles) for arc in one.arcs if arc.phase == name] for one in (direct, indirect)
        )
        if ours and theirs and ours != theirs:
            return False
    return True


def differences(a: Solution, b: Solution) -> list[Difference]:
    """Return the differences of all common curves, at equal fractions of each phase."""
    found = []
    for name, one in a.phases.items():
        other = b.phases[name]
        for field, prefix in (
            ("states", ""),
            ("controls", ""),
            ("algebraics", ""),
            ("costates", "costate "),
        ):
            ours, theirs = getattr(one, field), getattr(other, field)
            for key in ours:
                if key in theirs and ours[key].size == theirs[key].size:
                    values = [
                        _sampled(curve, ph.t0, ph.tf)
                        for curve, ph in ((ours[key], one), (theirs[key], other))
                    ]
                    gap = np.abs(values[0] - values[1]) / max(
                        float(np.max(np.abs(values[0]))), 1e-12
                    )
                    found.append(
                        Difference(name, prefix + key, float(np.max(gap)), float(np.mean(gap)))
                    )
    return found


def largest_state_gap(a: Solution, found: list[Difference]) -> Difference | None:
    """Return the difference of the state that differs most."""
    return max(
        (d for d in found if d.name in a.phases[d.phase].states),
        key=lambda d: d.largest,
        default=None,
    )


def switching_times(a: Solution, b: Solution) -> dict[str, list[list[float]]]:
    """Return the switching times of both solutions, for each phase in which one has arcs."""

    def inside(solution: Solution, name: str) -> list[float]:
        return [arc.end for arc in solution.arcs if arc.phase == name][:-1]

    found = {name: [inside(a, name), inside(b, name)] for name in a.phases}
    return {name: times for name, times in found.items() if any(times)}


def initial_costates(a: Solution, b: Solution) -> dict[str, tuple[float, float]]:
    """Return each component of the initial costates of the first phase, in both solutions."""
    name = next(iter(a.phases), None)
    if name is None:
        return {}
    one, other = a.phases[name], b.phases[name]
    found = {}
    for key in one.costates:
        if key in other.costates and one.costates[key].size == other.costates[key].size:
            values = [ph.costates[key].evaluate(np.array([ph.t0]))[0] for ph in (one, other)]
            for label, ours, theirs in zip(one.costates[key].labels(key), *values, strict=True):
                found[label] = (float(ours), float(theirs))
    return found


def relative(a: float, b: float) -> float:
    """Return the difference of two numbers relative to the larger one."""
    return abs(a - b) / max(abs(a), abs(b), 1e-12)


def _sampled(curve: Curve, t0: float, tf: float) -> Array:
    return curve.evaluate(np.linspace(t0, tf, SAMPLES))
