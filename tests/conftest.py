"""A solution made by hand, with every field filled, so that files, pictures and commands are tested without a solver."""

import numpy as np
import pytest

from trajopt.curve import Curve
from trajopt.solution import Arc, MeshPass, PhaseSolution, Solution, Status


def _curve(function, breaks, degrees, unit="", lower=None, upper=None, at_ends=True):
    """A function of time as a curve of given degrees."""
    breaks = np.asarray(breaks, dtype=float)
    nodes = tuple(np.linspace(0, 1, d + 1) if at_ends else (np.arange(d) + 0.5) / d for d in degrees)
    values = []
    for a, b, place in zip(breaks[:-1], breaks[1:], nodes, strict=True):
        values.append(np.array([np.atleast_1d(function(t)) for t in a + (b - a) * place], dtype=float))
    limits = (None if limit is None else np.atleast_1d(np.asarray(limit, dtype=float)) for limit in (lower, upper))
    return Curve(breaks, nodes, tuple(values), *limits, unit)


def _phase(name, t0, tf, degrees=(3, 5, 2)):
    breaks = np.linspace(t0, tf, len(degrees) + 1)
    return PhaseSolution(
        name=name,
        t0=t0,
        tf=tf,
        states={
            "z last": _curve(lambda t: np.sin(t), breaks, degrees, "m"),
            "r": _curve(lambda t: [np.cos(t), np.sin(t), t / 3], breaks, degrees, "m/s"),
        },
        controls={"u/limit": _curve(lambda t: np.clip(3 * np.cos(2 * t), -1, 1), breaks, degrees, "N", -1.0, 1.0, at_ends=False)},
        algebraics={"λ": _curve(lambda t: np.exp(-t), breaks, degrees, at_ends=False)},
        costates={
            "z last": _curve(lambda t: -np.sin(t), breaks, degrees, "1/m"),
            "r": _curve(lambda t: [t, 1.0, -t], breaks, degrees),
        },
        path_multipliers={"no crash": _curve(lambda t: max(0.0, np.sin(t)), breaks, degrees, at_ends=False)},
        integrals=np.array([1.0 / 3.0, np.pi]),
        breaks=breaks,
        degrees=degrees,
        errors=np.array([1e-9, 3e-7, 2e-8])[: len(degrees)],
        time_unit="s",
    )


def _solution(status=Status.SOLVED, phases=2, **changes):
    ends = np.linspace(0.0, 2.5, phases + 1)
    names = ["stance", "flight/free", "landing"][:phases]
    content = {
        "problem": "hand-made",
        "method": "direct",
        "status": status,
        "objective": 1.0 / 3.0,
        "phases": {name: _phase(name, a, b) for name, a, b in zip(names, ends[:-1], ends[1:], strict=True)},
        "variables": {"length": np.array([0.1 + 0.2]), "offsets": np.array([1.0, -2.0])},
        "parameters": {"mass": np.array([70.0])},
        "multipliers": {"r from 'stance' to 'flight/free'[0]": -0.25, "end height": 1e-17},
        "arcs": (
            Arc(names[0], 0.0, 0.4, {"u/limit": "upper"}),
            Arc(names[0], 0.4, float(ends[1]), {"u/limit": "interior"}),
            Arc(names[-1], float(ends[-2]), float(ends[-1]), {"u/limit": "singular"}),
        ),
        "history": (MeshPass(10, 31, 12, 1e-3, 0.34, 0.02, "first mesh"), MeshPass(14, 50, 4, 3e-7, 1 / 3, 0.03)),
        "error": 3e-7,
        "tolerance": 1e-6,
        "iterations": 16,
        "seconds": {"build": 0.01, "solve": 0.05, "total": 0.06},
        "explanation": () if status is Status.SOLVED else ("worst: 'end height' by 0.3 m at t = 2.5 s",),
        "log": ("line of the ladder",),
        "options": {"backend": "ipopt", "tolerance": 1e-6, "max_iterations": 500, "scaled": True, "nothing": None},
        "versions": {"trajopt": "0.1.0", "casadi": "3.8"},
    }
    return Solution(**(content | changes))


@pytest.fixture
def handmade():
    """handmade(status, phases, **changes) makes a solution."""
    return _solution
