"""Answers written by hand: curves from closed forms, and cases of a wrong answer beside a right
one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trajopt import certify
from trajopt.certificate import Certificate
from trajopt.trajectory.curve import Curve
from trajopt.trajectory.solution import PhaseSolution, Solution, Status

CASES: dict[str, Case] = {}
CLAIMS = ("none", "feasible", "extremal", "minimum")
# inside an interval, so that curves may jump at breaks
NODES = 0.5 - 0.5 * np.cos(np.pi * (np.arange(10) + 0.5) / 10)


def curve(breaks: Any, of: Any) -> Curve:
    """A curve from a number, a function of time, or a list with one of these for each interval;
    columns for vectors.
    """
    breaks = np.asarray(breaks, dtype=float)
    pieces = of if isinstance(of, list) else [of] * (breaks.size - 1)
    assert len(pieces) == breaks.size - 1, "one function for each interval"
    values = []
    for a, b, piece in zip(breaks[:-1], breaks[1:], pieces, strict=True):
        times = a + (b - a) * NODES
        found = np.asarray(piece(times) if callable(piece) else piece, dtype=float)
        if found.ndim == 2:  # (size, times)
            values.append(found.T)
        else:
            values.append(np.broadcast_to(found, times.shape)[:, None].copy())
    return Curve(breaks, tuple([NODES] * len(pieces)), tuple(values))


def phase(
    breaks: Any,
    states: dict,
    controls: dict,
    costates: dict | None = None,
    name: str = "main",
    **more: Any,
) -> PhaseSolution:
    """A phase whose curves all have the same breaks."""
    groups = [
        {key: curve(breaks, of) for key, of in group.items()}
        for group in (states, controls, costates or {})
    ]
    for key in ("algebraics", "path_multipliers"):
        if key in more:
            more[key] = {n: curve(breaks, of) for n, of in more[key].items()}
    if "integrals" in more:
        more["integrals"] = np.atleast_1d(np.asarray(more["integrals"], dtype=float))
    return PhaseSolution(
        name, float(breaks[0]), float(breaks[-1]), groups[0], groups[1], costates=groups[2], **more
    )


def answer(objective: float, *phases: PhaseSolution, **more: Any) -> Solution:
    """A solution that says of itself that it is solved."""
    if "variables" in more:
        more["variables"] = {
            k: np.atleast_1d(np.asarray(v, dtype=float)) for k, v in more["variables"].items()
        }
    return Solution(
        "by hand", "direct", Status.SOLVED, float(objective), {ph.name: ph for ph in phases}, **more
    )


def changed(solution: Solution, phase_name: str = "main", **groups: Any) -> Solution:
    """A solution with some curves of a phase replaced, by functions of time on the breaks that they
    have.
    """
    ph = solution.phases[phase_name]
    new = {}
    for group, curves in groups.items():
        if group in ("states", "controls", "costates", "algebraics", "path_multipliers"):
            old = getattr(ph, group)
            breaks = next(iter(ph.states.values())).breaks
            new[group] = {
                **old,
                **{
                    key: of if isinstance(of, Curve) else curve(breaks, of)
                    for key, of in curves.items()
                },
            }
        else:
            new[group] = curves
    return replace(solution, phases={**solution.phases, phase_name: replace(ph, **new)})


@dataclass(frozen=True)
class Case:
    """A wrong answer and a right one.

    ``row`` must not pass for the wrong answer, whose claim must be below ``below``; the right one
    must reach ``reaches``. "global" stands for the scope.
    """

    name: str
    kind: str
    row: str
    make: Callable[[], tuple]
    below: str = "extremal"
    reaches: str = "extremal"
    tolerance: float | None = None

    def certificates(self) -> tuple[Certificate, Certificate]:
        """Of the wrong answer and of the right one."""
        made = self.make()
        problem, right, wrong = made[:3]
        other = made[3] if len(made) > 3 else problem
        return certify(wrong, other, tolerance=self.tolerance), certify(
            right, problem, tolerance=self.tolerance
        )

    def caught(self, certificate: Certificate) -> bool:
        rows = [check for check in certificate.checks if check.name == self.row]
        noticed = any(not check.ok or not check.applies for check in rows)
        return noticed and not _reached(certificate, self.below)

    def passes(self, certificate: Certificate) -> bool:
        return _reached(certificate, self.reaches) and not certificate.failures


def _reached(certificate: Certificate, claim: str) -> bool:
    """Whether a certificate proves a claim; "global" stands for the global scope."""
    if claim == "global":
        return certificate.scope == "global"
    return CLAIMS.index(certificate.claim) >= CLAIMS.index(claim)


def planted(
    kind: str,
    row: str,
    below: str = "extremal",
    reaches: str = "extremal",
    tolerance: float | None = None,
) -> Callable:
    """Register a function that returns a problem, its right answer, a wrong one, and the problem of
    that if it is another.
    """

    def register(make: Callable[[], tuple]) -> Callable[[], tuple]:
        name = make.__name__.replace("_", "-")
        assert name not in CASES, name
        CASES[name] = Case(name, kind, row, make, below, reaches, tolerance)
        return make

    return register
