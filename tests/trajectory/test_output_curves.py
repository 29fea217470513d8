"""Outputs: sampled, drawn with their limits, tabulated, saved."""

import copy
import pickle

import casadi
import numpy as np
import pytest

from trajopt import Problem, load, solve
from trajopt.errors import ProblemError


def pushed(symbols=casadi.SX):
    ocp = Problem("push", symbols=symbols)
    limit = ocp.parameter("limit", 3.0)
    ph = ocp.phase()
    t = ph.time(start=0, end=1)
    x, v = ph.state("x", start=0, end=1, unit="m"), ph.state("v", start=0, end=0, unit="m/s")
    u = ph.control("u", unit="m/s^2")
    ph.dynamics({x: v, v: u})
    ph.path(v <= limit / 2, name="speed", unit="m/s")
    ph.path(x + 1 >= 0)
    ph.output("power", u * v, unit="m^2/s^3", lower=-limit, upper=limit)
    ph.output("place", casadi.vertcat(x, t), unit="m")
    ocp.minimize(ph.integral(u**2))
    return ocp


@pytest.fixture(scope="module")
def solution():
    return solve(pushed()).check()


@pytest.mark.parametrize("symbols", [casadi.SX, casadi.MX])
def test_outputs_follow_from_the_trajectory(symbols):
    solution = solve(pushed(symbols), parameters={"limit": 2.8}).check()
    t = np.linspace(0.01, 0.99, 37)
    power = solution["power"]
    np.testing.assert_allclose(power(t), solution["u"](t) * solution["v"](t), atol=2e-5)
    np.testing.assert_allclose(solution["place"](t)[:, 1], t, atol=1e-12)
    assert (power.unit, power.time_unit, power.lower, power.upper) == ("m^2/s^3", "s", -2.8, 2.8)
    assert power(0.1) > 2.8  # a limit of an output is drawn, not imposed
    assert list(solution)[:6] == ["x", "v", "u", "power", "place", "speed"]
    assert solution["speed"].upper == 0.0  # of the relation v - limit/2 <= 0


def test_outputs_are_saved_and_copied(tmp_path, solution):
    solution.save(tmp_path / "a.nc")
    for again in (
        load(tmp_path / "a.nc"),
        pickle.loads(pickle.dumps(solution)),
        copy.deepcopy(solution),
    ):
        power = again["power"]
        assert power(0.3) == solution["power"](0.3)
        assert not power.clips
    solution.to_csv(tmp_path / "a.csv", points=3)
    head = (tmp_path / "a.csv").read_text().splitlines()[0]
    assert "power [m^2/s^3],place[0] [m],place[1] [m],speed [m/s]" in head
    assert {"power", "speed"} <= set(solution.to_xarray())


def test_outputs_are_drawn_with_their_limits(solution):
    axes = {a.get_title(loc="left"): a for a in solution.plot().axes}
    levels = {tuple(line.get_ydata()) for line in axes["power [m^2/s^3]"].lines}
    assert {(-3.0, -3.0), (3.0, 3.0)} <= levels
    assert "power" in solution.summary()


def test_a_name_is_used_once():
    ocp = Problem("twice")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x = ph.state("x")
    ph.output("twofold", 2 * x)
    for name in ("x", "twofold", "t"):
        with pytest.raises(ProblemError, match=f"'{name}' is used twice"):
            ph.output(name, x)
