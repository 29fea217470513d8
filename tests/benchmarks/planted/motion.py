"""Motions that are not those of the statement, or that do not cost what they say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trajopt import Problem
from trajopt.trajectory.solution import Status

from .by_hand import NODES, answer, changed, phase, planted
from .statements import even, move, quickest, regulator, unstable

INTERVALS = "re-integration of intervals"


@planted("motion", INTERVALS)
def control_of_another_motion():
    ocp, right = move()
    return ocp, right, changed(right, controls={"u": lambda t: 6 - 12 * t + 0.01 * np.sin(7 * t)})


@planted("motion", INTERVALS)
def does_not_move_far_from_zero():
    """A geocentric radius in metres whose altitude does not change."""
    ocp, right = move(D=100.0, T=10.0, offset=6.378e6)
    return ocp, right, changed(right, states={"x": 6.378e6, "v": 0.0})


@planted("motion", "boundary conditions")
def ends_short_far_from_zero():
    ocp, right = move(D=1.0, offset=1e6)
    other = move(D=0.999, offset=1e6)[1]
    return ocp, right, replace(other, objective=right.objective)


@planted("motion", INTERVALS)
def micrometres():
    """Errors of a thousandth of a way of a micrometre."""
    ocp, right = move(D=1e-6, T=1e-3)
    wrong = changed(
        right,
        states={
            "x": lambda t: (
                1e-6 * (t / 1e-3) ** 2 * (3 - 2 * t / 1e-3) + 1e-9 * np.sin(np.pi * t / 1e-3)
            )
        },
    )
    return ocp, right, wrong


@planted("motion", "states inside intervals")
def bump_inside_an_interval():
    ocp, right = move()
    x = right.phases["main"].states["x"]
    bump = 0.3 * (NODES * (1 - NODES)) ** 2 * 16
    values = list(x.values)
    values[2] = values[2] + bump[:, None]
    return ocp, right, changed(right, states={"x": replace(x, values=tuple(values))})


@planted("motion", INTERVALS)
def jump_between_intervals():
    ocp, right = move()
    x = right.phases["main"].states["x"]
    values = (*x.values[:3], *(v + 1e-3 for v in x.values[3:]))
    return ocp, right, changed(right, states={"x": replace(x, values=values)})


@planted("motion", "sum of the defects of all intervals")
def small_defects_on_many_intervals():
    """Each of 400 intervals is off by less than its tolerance."""
    ocp, right = move(parts=400)
    return (
        ocp,
        right,
        changed(right, states={"x": lambda t: t**2 * (3 - 2 * t) + 1e-3 * t * (1 - t)}),
    )


@planted("motion", "sum of the defects of all intervals")
def parameter_off_on_many_intervals():
    ocp, right = unstable(parts=800)
    return ocp, right, unstable(parts=800, at=20.02)[1]


@planted("motion", INTERVALS)
def parameter_off_on_few_intervals():
    ocp, right = unstable()
    return ocp, right, unstable(at=20.02)[1]


@planted("motion", "solver status")
def not_solved():
    ocp, right = move()
    return ocp, right, replace(right, status=Status.COARSE, objective=12.5)


@planted("motion", INTERVALS)
def a_disturbance_in_one_short_interval():
    """A control of 1000 in an interval of 1e-5."""
    ocp, _ = move()
    b = np.array([0, 0.2, 0.4, 0.40001, 0.7, 1.0])
    u = [lambda t: 6 - 12 * t] * 5
    shape = (
        {"x": lambda t: t**2 * (3 - 2 * t), "v": lambda t: 6 * t * (1 - t)},
        {"x": -24.0, "v": lambda t: 24 * t - 12},
    )
    make = lambda u: answer(12.0, phase(b, shape[0], {"u": u}, shape[1]))  # noqa: E731
    return ocp, make(u), make([*u[:2], 1000.0, *u[3:]])


@planted("cost", "objective of the re-integrated motion")
def another_objective():
    ocp, right = move()
    return ocp, right, replace(right, objective=12.001)


@planted("cost", "objective of the re-integrated motion")
def objective_of_the_wrong_sign():
    ocp = Problem("gain")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=0), ph.control("u")
    ph.dynamics({x: u})
    ocp.maximize(ph.final(x) - ph.integral(u**2))
    right = answer(0.25, phase(even(0, 1), {"x": lambda t: t / 2}, {"u": 0.5}, {"x": -1.0}))
    return ocp, right, replace(right, objective=-0.25)


@planted("cost", "integrals of the file")
def another_integral():
    ocp, right = regulator()
    return ocp, right, changed(right, integrals=np.array([np.tanh(2) * 1.001]))


@planted("cost", "integrals of the file")
def too_many_integrals():
    ocp, right = regulator()
    return ocp, right, changed(right, integrals=np.array([np.tanh(2), 0.0]))


@planted("cost", "objective of the re-integrated motion")
def objective_far_from_zero():
    """A constant in the cost hides an error of the part that can change."""
    ocp = Problem("offset")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, v, u = ph.state("x", start=0, end=1), ph.state("v", start=0, end=0), ph.control("u")
    ph.dynamics({x: v, v: u})
    ocp.minimize(1e6 + ph.integral(u**2))
    right = replace(move()[1], objective=1e6 + 12)
    return ocp, right, replace(right, objective=1e6 + 12.01)


@planted("motion", "sum of the defects of all intervals")
def a_slow_drift_on_many_intervals():
    """A defect of 4e-6 in each of 500 intervals, always to the same side."""
    ocp, right = move(parts=500)
    return (
        ocp,
        right,
        changed(right, states={"v": lambda t: 6 * t * (1 - t) + 8e-4 * t * (1 - t) * 4}),
    )


@planted("motion", INTERVALS)
def speed_in_other_units():
    ocp, right = quickest(unit=1e3)
    other = quickest(unit=1e3)[1].phases["main"].states["x"]
    return (
        ocp,
        right,
        changed(
            right, states={"x": replace(other, values=tuple(v * 1.0005 for v in other.values))}
        ),
    )
