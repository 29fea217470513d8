"""Answers of which parts are missing, not numbers, or not those of the statement."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trajopt import Problem

from .by_hand import answer, changed, phase, planted
from .ends import chosen
from .statements import even, move, regulator


@planted("files", "phases")
def no_phases():
    ocp, right = move()
    return ocp, right, replace(right, phases={})


@planted("files", "minimum of H")
def no_costates():
    """Another motion between the same ends, with the integral of (1 - 6 t + 6 t^2)^2 more."""
    ocp, right = move()
    bent = changed(
        right,
        states={
            "x": lambda t: t**2 * (3 - 2 * t) + 0.5 * (t * (1 - t)) ** 2,
            "v": lambda t: 6 * t * (1 - t) + t * (1 - t) * (1 - 2 * t),
        },
        controls={"u": lambda t: 6 - 12 * t + 1 - 6 * t + 6 * t**2},
        integrals=np.array([12.2]),
    )
    bare = [replace(one, phases={"main": replace(one.phases["main"], costates={})})
            for one in (right, bent)]  # fmt: skip
    return ocp, bare[0], replace(bare[1], objective=12.2)


@planted("files", "Pontryagin's conditions")
def one_costate_missing():
    ocp, right = move()
    main = right.phases["main"]
    return (
        ocp,
        right,
        replace(right, phases={"main": replace(main, costates={"x": main.costates["x"]})}),
    )


@planted("files", "finite values")
def costate_not_a_number():
    ocp, right = move()
    return ocp, right, changed(right, costates={"x": float("nan")})


@planted("files", "finite values")
def infinite_costate():
    ocp, right = regulator()
    return ocp, right, changed(right, costates={"x": float("inf")})


@planted("files", "finite values")
def state_not_a_number_at_one_node():
    ocp, right = move()
    x = right.phases["main"].states["x"]
    values = [v.copy() for v in x.values]
    values[3][4] = np.nan
    return ocp, right, changed(right, states={"x": replace(x, values=tuple(values))})


@planted("files", "finite values")
def objective_not_a_number():
    ocp, right = move()
    return ocp, right, replace(right, objective=float("nan"))


@planted("files", "finite values")
def static_variable_not_a_number():
    ocp, right = chosen()
    return ocp, right, replace(right, variables={"place": np.array([np.nan])})


@planted("files", "finite values")
def multiplier_infinite():
    ocp, right = chosen()
    return ocp, right, replace(right, multipliers={"arrive": float("inf")})


@planted("files", "finite values")
def time_runs_backwards():
    ocp, right = move()
    main = right.phases["main"]
    return ocp, right, replace(right, phases={"main": replace(main, t0=1.0, tf=0.0)})


@planted("files", "finite values")
def phase_longer_than_its_curves():
    ocp, right = move()
    main = right.phases["main"]
    return ocp, right, replace(right, phases={"main": replace(main, tf=1.2)})


@planted("files", "finite values")
def curves_that_begin_late():
    """The states are known from 0.2 on only."""
    ocp, right = move()
    late = move()[1].phases["main"]
    x = late.states["x"]
    short = replace(x, breaks=x.breaks[1:], nodes=x.nodes[1:], values=x.values[1:])
    return ocp, right, changed(right, states={"x": short})


@planted("files", "boundary conditions")
def phase_shorter_than_its_curves():
    """The phase ends before its goal; its curves go on."""
    ocp, right = move()
    main = right.phases["main"]
    return ocp, right, replace(right, phases={"main": replace(main, tf=0.9)})


@planted("files", "answer to this problem")
def no_static_variable():
    ocp, right = chosen()
    return ocp, right, replace(right, variables={})


@planted("files", "answer to this problem")
def no_control():
    ocp, right = move()
    main = right.phases["main"]
    return ocp, right, replace(right, phases={"main": replace(main, controls={})})


@planted("files", "answer to this problem")
def state_of_another_size():
    ocp, right = move()
    return ocp, right, changed(right, states={"x": lambda t: np.vstack([t, t])})


@planted("files", "answer to this problem")
def phase_of_another_name():
    ocp, right = move()
    main = right.phases["main"]
    return ocp, right, replace(right, phases={"other": replace(main, name="other")})


@planted("files", "boundary conditions")
def answer_to_another_problem():
    ocp, right = move()
    return ocp, right, move(D=2.0)[1]


@planted("files", "re-integration of intervals")
def curves_of_one_point():
    """Piecewise constants that jump from value to value."""
    ocp = Problem("line")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=0, end=1), ph.control("u")
    ph.dynamics({x: u})
    ocp.minimize(ph.integral(u**2))
    right = answer(1.0, phase(even(0, 1), {"x": lambda t: t}, {"u": 1.0}, {"x": -2.0}))
    steps = [float(v) for v in np.linspace(0, 1, 6)]
    return ocp, right, changed(right, states={"x": steps})
