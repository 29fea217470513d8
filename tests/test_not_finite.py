"""NaN and infinity are rejected by name in all numerical inputs, except where documented."""

import dataclasses

import casadi
import numpy as np
import pytest
from typer.testing import CliRunner

from trajopt import Problem, free, solve, sweep
from trajopt.__main__ import app
from trajopt.direct.mesh import Mesh
from trajopt.errors import TrajoptError
from trajopt.system import System, Variable

NAN, INF = float("nan"), float("inf")


def stated(time=None, finish=True, **state):
    ocp = Problem("p")
    ph = ocp.phase()
    ph.time(**{"start": 0, "end": 1} | (time or {}))
    x, u = ph.state("x", **{"start": 0} | state), ph.control("u")
    ph.dynamics({x: u if x.numel() == 1 else casadi.vertcat(u, x[0])})
    ocp.minimize(ph.integral(u**2))
    if finish:
        ocp.finish()
    return ocp


def with_variable(**options):
    ocp = stated(finish=False)
    ocp.variable("s", **options)
    ocp.finish()
    return ocp


def with_parameter(value):
    ocp = stated(finish=False)
    ocp.parameter("mass", 1.0)
    return solve(ocp, parameters={"mass": value})


def swing(value):
    x = casadi.SX.sym("x")
    return System("swing", casadi.SX.sym("t"), x, (Variable("angle", 1.0),), -x).starting_at(
        {"angle": value}
    )


# where a number enters -> (what happens with it, the name that the message must have)
PLACES = {
    "start of a state": (lambda bad: stated(start=bad), "'x'"),
    "end of a state": (lambda bad: stated(end=bad), "'x'"),
    "start of a vector": (lambda bad: stated(size=2, start=bad), "'x'"),
    "all components of a start": (lambda bad: stated(size=2, start=[bad, bad]), "'x'"),
    "guess of a free start": (lambda bad: stated(start=free(0, 1, guess=bad)), "'x'"),
    "start of time": (lambda bad: stated(time={"start": bad}), "start time"),
    "end of time": (lambda bad: stated(time={"end": bad}), "end time"),
    "guess of a free end of "
    "time": (lambda bad: stated(time={"end": free(0.1, 2, guess=bad)}), "end time"),
    "guess of a state": (lambda bad: solve(stated(guess=bad)), "'x'"),
    "guess as a function": (lambda bad: solve(stated(guess=lambda s: bad)), "'x'"),
    "scale of a state": (lambda bad: stated(scale=bad), "'x'"),
    "scale of a static variable": (lambda bad: with_variable(scale=bad), "'s'"),
    "guess of a static variable": (lambda bad: solve(with_variable(guess=bad)), "'s'"),
    "parameter": (lambda bad: stated(finish=False).parameter("mass", bad), "'mass'"),
    "value of a parameter": (with_parameter, "'mass'"),
    "tolerance": (lambda bad: solve(stated(), tolerance=bad), "tolerance"),
    "breaks of a mesh": (lambda bad: Mesh(np.array([0, bad, 1.0]), np.array([3, 3])), "mesh"),
    "initial value of a system": (swing, "'angle'"),
}  # fmt: skip


@pytest.mark.parametrize("bad", [NAN, INF])
@pytest.mark.parametrize("where", PLACES)
def test_a_number_that_is_not_finite_is_rejected_by_name(where, bad):
    state, name = PLACES[where]
    with pytest.raises(TrajoptError) as caught:
        state(bad)
    assert name in str(caught.value)


@pytest.mark.parametrize(
    "bound",
    [{"lower": NAN}, {"upper": NAN}, {"lower": INF}, {"upper": -INF}, {"start": free(NAN, 1)}],
)
def test_bounds_may_be_infinite_on_their_own_side_only(bound):
    with pytest.raises(TrajoptError, match="'x'"):
        stated(**bound)
    stated(lower=-INF, upper=INF, start=free(-INF, INF))


@pytest.mark.parametrize("hole", [None, NAN])
def test_a_component_of_an_array_may_be_left_open(hole):
    start = stated(size=2, start=[0, hole]).finish().phases[0].states[0].start
    assert start.fixed.tolist() == [True, False]


@pytest.mark.parametrize(
    "line",
    [
        "solve moon-lander --set height=nan",
        "solve moon-lander --set height=inf",
        "solve moon-lander --set height=1e999",
        "solve moon-lander --tolerance nan",
        "show moon-lander --set height=nan",
        "certify moon-lander --set height=nan",
        "sweep moon-lander --over height=5,nan",
        "sweep moon-lander --over height=nan:5:3",
        "sweep moon-lander --over height=1:inf:3",
        "simulate sleigh --until nan",
        "simulate sleigh --set step=nan",
        "compare a.nc b.nc --tolerance nan",
    ],
)
def test_the_command_line_rejects_it_as_invalid_input(line):
    result = CliRunner().invoke(app, line.split())
    assert result.exit_code == 2, result.output
    assert "nan" in result.output or "inf" in result.output


def test_an_earlier_solution_with_nan_is_rejected_as_guess():
    answer = solve(stated(end=1))
    phase = answer.phases["main"]
    curve = phase.states["x"]
    broken = dataclasses.replace(
        curve, values=(np.full_like(curve.values[0], NAN), *curve.values[1:])
    )
    bad = dataclasses.replace(
        answer, phases={"main": dataclasses.replace(phase, states={"x": broken})}
    )
    with pytest.raises(TrajoptError, match="'x'"):
        solve(stated(end=1), guess=bad)


def test_a_sweep_rejects_settings_that_are_not_finite():
    with pytest.raises(TrajoptError, match="height"):
        sweep("moon-lander", {"height": [5.0, NAN]})
