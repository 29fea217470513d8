"""Derivatives and integrals of curves, and what a solution is asked for by name."""

import numpy as np
import pytest

from trajopt import Problem, solve
from trajopt.errors import UsageError
from trajopt.trajectory.curve import Curve


def wave(nodes=9, pieces=6):
    breaks = np.linspace(0.0, 3.0, pieces + 1)
    places = 0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, nodes))
    times = breaks[:-1, None] + np.diff(breaks)[:, None] * places
    values = np.stack([np.sin(times), np.cos(2 * times)], axis=2)
    curve = Curve.through(breaks, places, values)
    return Curve(breaks, curve.nodes, curve.values, None, None, "m/s", ("a", "b"), "s")


def test_derivative_and_integral_of_known_functions():
    t = np.linspace(0.0, 3.0, 50)
    slope, area = wave().derivative(), wave().integral()
    assert (slope.unit, area.unit, area["b"].time_unit) == ("m/s^2", "m", "s")
    np.testing.assert_allclose(slope["a"](t), np.cos(t), atol=1e-8)
    np.testing.assert_allclose(area["b"](t), np.sin(2 * t) / 2, atol=1e-10)
    np.testing.assert_allclose(area.derivative()(t), wave()(t), atol=1e-9)


def test_a_clipped_curve_is_constant_on_its_bound():
    places = np.array([0.0, 0.5, 1.0])
    limit = np.array([0.5])
    parabola = (4 * places * (1 - places))[:, None]
    hill = Curve(np.array([0.0, 1.0]), (places,), (parabola,), None, limit)
    start = 0.5 - np.sqrt(0.125)  # 4 t (1 - t) = 1/2
    below = 2 * (2 * start**2 - 4 * start**3 / 3)
    assert hill.derivative()(0.5) == pytest.approx(0.0, abs=1e-14)
    assert hill.derivative()(0.0) == pytest.approx(4.0)
    assert hill.integral()(1.0) == pytest.approx(below + 0.5 * (1 - 2 * start))


def test_names_of_a_solution():
    ocp = Problem("two legs")
    for place, name in enumerate(("out", "back")):
        ph = ocp.phase(name)
        ph.time(start=place, end=place + 1.0)
        x, u = ph.state("x", unit="m", start=place, end=1.0 - place), ph.control("u", unit="m/s")
        ph.dynamics({x: u})
        if name == "back":
            w = ph.control("w")
            ocp.minimize(ph.integral(u**2 + w**2))
    solution = solve(ocp)
    assert list(solution) == [("out", "x"), ("out", "u"), ("back", "x"), ("back", "u"), "w"]
    assert all(solution[key].size == 1 for key in solution)
    assert "x" in solution
    assert ("back", "w") in solution
    assert ("out", "w") not in solution
    assert ["x"] not in solution
    assert solution._ipython_key_completions_() == list(solution)
    with pytest.raises(UsageError, match=r"solution.phase\('out'\).t"):
        _ = solution.t
    assert np.all(np.diff(solution.phase("back").t) > 0)


def test_a_costate_has_the_unit_of_the_cost_by_that_of_its_state():
    ocp = Problem("units")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    v, u = ph.state("v", unit="m/s", start=0, end=1), ph.control("u", unit="m/s^2")
    ph.dynamics({v: u})
    ocp.minimize(ph.integral(u**2))
    solution = solve(ocp)
    assert solution.costate("v").unit == "m/s^2"  # (m/s^2)^2 s by m/s
    assert solution["v"].time_unit == "s"
