"""Data that make no answer to the problem: phases, names, sizes and curves that do not fit.

Each is a row, never an exception.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from trajopt import Problem
from trajopt.trajectory.curve import Curve
from trajopt.trajectory.solution import Solution

from .by_hand import answer, changed, phase, planted

BREAKS = np.linspace(0, 1, 11)


def move(limit: float = np.inf) -> tuple[Problem, Solution]:
    """x'' = u from rest to rest with the least integral of u^2 / 2: the cost is 6."""
    ocp = Problem("move")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, v = ph.state("x", start=0, end=1), ph.state("v", start=0, end=0)
    u = ph.control("u", lower=-limit, upper=limit)
    mass = ocp.parameter("mass", 1.0)
    ph.dynamics({x: v, v: u / mass})
    ocp.minimize(ph.integral(u**2 / 2))
    states = {"x": lambda t: 3 * t**2 - 2 * t**3, "v": lambda t: 6 * t - 6 * t**2}
    costates = {"x": -12.0, "v": lambda t: 12 * t - 6}
    return ocp, answer(6.0, phase(BREAKS, states, {"u": lambda t: 6 - 12 * t}, costates))


def with_control(curve: Curve) -> tuple[Problem, Solution, Solution]:
    ocp, right = move()
    return ocp, right, changed(right, controls={"u": curve})


def control() -> Curve:
    return move()[1].phases["main"].controls["u"]


@planted("files", "answer to this problem", below="feasible", reaches="minimum")
def phase_called_otherwise():
    ocp, right = move()
    return (
        ocp,
        right,
        replace(right, phases={"flight": replace(right.phases["main"], name="flight")}),
    )


@planted("files", "answer to this problem", below="feasible", reaches="minimum")
def one_phase_too_many():
    ocp, right = move()
    return (
        ocp,
        right,
        replace(right, phases={**right.phases, "more": replace(right.phases["main"], name="more")}),
    )


@planted("files", "answer to this problem", below="feasible", reaches="minimum")
def node_twice_in_a_piece():
    nodes = np.array([0.0, 0.5, 0.5, 1.0])
    return with_control(Curve(np.array([0.0, 1.0]), (nodes,), ((6 - 12 * nodes)[:, None],)))


@planted("files", "answer to this problem", below="feasible", reaches="minimum")
def fewer_values_than_nodes():
    return with_control(replace(control(), values=tuple(v[:-1] for v in control().values)))


@planted("files", "answer to this problem", below="feasible", reaches="minimum")
def fewer_breaks_than_pieces():
    cut = control()
    object.__setattr__(cut, "breaks", BREAKS[:-1])  # the constructor refuses it
    return with_control(cut)


@planted("files", "answer to this problem", below="feasible", reaches="minimum")
def costate_of_another_size():
    ocp, right = move()
    costate = right.phases["main"].costates["x"]
    return (
        ocp,
        right,
        changed(
            right,
            costates={
                "x": replace(costate, values=tuple(np.hstack([v, v]) for v in costate.values))
            },
        ),
    )


@planted("files", "answer to this problem", below="feasible", reaches="minimum")
def parameter_of_another_size():
    ocp, right = move()
    return ocp, right, replace(right, parameters={"mass": np.array([1.0, 2.0])})


@planted("files", "finite values", below="feasible", reaches="minimum")
def breaks_that_go_back():
    breaks = BREAKS.copy()
    breaks[[3, 4]] = breaks[[4, 3]]
    return with_control(replace(control(), breaks=breaks))


@planted("limits", "bounds and path constraints", below="feasible", reaches="minimum")
def spike_of_a_millionth():
    """A control beyond its bound over a millionth of the time."""
    ocp, right = move(limit=7)
    breaks, nodes = np.sort(np.append(BREAKS, [0.52, 0.520001])), np.array([0.0, 1.0])
    values = [(6 - 12 * (a + (b - a) * nodes))[:, None] for a, b in pairwise(breaks)]
    values[int(np.searchsorted(breaks, 0.52))][:] = 70.0
    return (
        ocp,
        right,
        changed(right, controls={"u": Curve(breaks, (nodes,) * len(values), tuple(values))}),
    )


@planted("motion", "re-integration of intervals", below="feasible", reaches="minimum")
def clipping_hides_the_excess():
    """The motion is that of the control without its bounds."""
    _, free_motion = move()
    ocp, _ = move(limit=5)
    curve = replace(control(), lower=np.array([-5.0]), upper=np.array([5.0]))
    of_lists = Curve(
        BREAKS.tolist(),
        [n.tolist() for n in curve.nodes],
        [v[:, 0].tolist() for v in control().values],
    )
    return (
        move()[0],
        changed(free_motion, controls={"u": of_lists}),
        changed(free_motion, controls={"u": curve}),
        ocp,
    )
