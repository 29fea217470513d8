"""The second variation: conjugate points, its index, active state constraints."""

import numpy as np
import pytest

from tests.benchmarks.planted.by_hand import answer, phase
from tests.benchmarks.planted.statements import bounce, even
from trajopt import Problem, certify, free, solve
from trajopt.second_order import SecondVariation

VARIATION = "second variation"


def swing(T, parts):
    """The integral of u^2 - x^2 from 0 to 0: conjugate points at multiples of pi."""
    ocp = Problem("swing")
    ph = ocp.phase()
    ph.time(start=0, end=T)
    x, u = ph.state("x", start=0, end=0), ph.control("u")
    ph.dynamics({x: u})
    ocp.minimize(ph.integral(u**2 - x**2))
    zero = {"x": 0.0}
    return ocp, answer(0.0, phase(even(0, T, parts=parts), zero, {"u": 0.0}, zero))


@pytest.mark.parametrize("parts", [1, 7, 100])
def test_a_conjugate_point_is_found_on_any_mesh(parts):
    problem, rest = swing(3.1415, parts)
    assert certify(rest, problem).claim == "minimum"
    problem, rest = swing(3.1417, parts)
    assert not certify(rest, problem)[VARIATION].ok


@pytest.mark.parametrize(("T", "index"), [(3.0, 0), (4.0, 1), (7.0, 2), (20.0, 6)])
def test_the_index_is_the_number_of_conjugate_points(T, index, monkeypatch):
    found = []
    inertia_of = SecondVariation.inertia_of

    def kept(self, flows, sign=1.0):
        found.append(inertia_of(self, flows, sign))
        return found[-1]

    monkeypatch.setattr(SecondVariation, "inertia_of", kept)
    problem, rest = swing(T, 1)
    certify(rest, problem)
    assert [one.index for one in found] == [index]


def beside_a_wall(c):
    """Bryson and Denham's wall, on which the motion stays for a while, beside the integral of
    w^2 - c y^2 from 0 to 0 over [0, 1]: a minimum for c < pi^2.
    """
    ocp = Problem("beside a wall")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, v = ph.state("x", start=0, end=0), ph.state("v", start=1, end=-1)
    y = ph.state("y", start=0, end=0)
    u, w = ph.control("u"), ph.control("w")
    ph.dynamics({x: v, v: u, y: w})
    ph.path(x, upper=0.1, name="wall")
    ocp.minimize(ph.integral(0.5 * u**2 + w**2 - c * y**2))
    bounced = bounce(0.1, 0.0, 0.3, 0.1)
    one = bounced.phases["main"]
    breaks = one.states["x"].breaks
    rest = phase(breaks, {"y": 0.0}, {"w": 0.0}, {"y": 0.0})
    groups = [{**getattr(one, g), **getattr(rest, g)} for g in ("states", "controls", "costates")]
    both = type(one)("main", 0.0, 1.0, groups[0], groups[1], costates=groups[2])
    return ocp, answer(bounced.objective, both)


def test_an_active_state_constraint_is_held_and_nothing_else():
    problem, bounced = beside_a_wall(0.99 * np.pi**2)
    assert certify(bounced, problem).claim == "minimum"
    problem, bounced = beside_a_wall(1.01 * np.pi**2)
    row = certify(bounced, problem)[VARIATION]
    assert row.ok
    assert not row.applies
    assert "tangent of the active state constraints" in row.remark


def test_units_of_other_variations_do_not_hide_a_conjugate_point():
    ocp = Problem("two units")
    ph = ocp.phase()
    ph.time(start=0, end=3.2)
    x, y = ph.state("x", start=0, end=0), ph.state("y", start=0, end=0)
    u, w = ph.control("u"), ph.control("w")
    ph.dynamics({x: u, y: w})
    ocp.minimize(ph.integral(1e9 * (u**2 + x**2) + w**2 - y**2))
    zero = {"x": 0.0, "y": 0.0}
    rest = answer(0.0, phase(even(0, 3.2), zero, {"u": 0.0, "w": 0.0}, zero))
    assert certify(rest, ocp).claim == "extremal"


def unstable(rate):
    """x' = rate x + u from 1 to 0 with the least integral of u^2: strictly convex."""
    ocp = Problem("unstable")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=1, end=0), ph.control("u")
    ph.dynamics({x: rate * x + u})
    ocp.minimize(ph.integral(u**2))
    return ocp


@pytest.mark.parametrize("rate", [10.0, 100.0, 1000.0])
def test_an_unstable_motion_neither_overflows_nor_hides_controls(rate):
    solution = solve(unstable(rate)).check()
    assert certify(solution)[VARIATION].value == 0.0


@pytest.mark.parametrize("size", [1, 2])
def test_a_control_without_curvature_leaves_the_second_variation_open(size):
    """Along the speed limit nothing decides how the acceleration is directed across it."""
    ocp = Problem("limits of speed and grip")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 60))
    x = [ph.state(f"x{i}", start=0, end=end) for i, end in enumerate((20, 5, -7)[:size])]
    v = [ph.state(f"v{i}", start=0, end=0) for i in range(size)]
    u = [ph.control(f"u{i}", lower=-9, upper=9) for i in range(size)]
    ph.dynamics(dict(zip(x + v, v + u, strict=True)))
    ph.path(sum(one**2 for one in u), upper=9, name="grip")
    ph.path(sum(one**2 for one in v), upper=16, name="speed")
    ocp.minimize(ph.final(t))
    row = certify(solve(ocp).check())[VARIATION]
    assert not row.applies
    assert "not strictly convex" in row.remark


def test_a_control_on_its_bounds_all_along_needs_no_curvature():
    ocp = Problem("soft landing")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 20))
    h, v = ph.state("h", start=10, end=0), ph.state("v", start=-2, end=0)
    u = ph.control("u", lower=0, upper=3)
    ph.dynamics({h: v, v: u - 1.5 + 0.01 * v**2})
    ocp.minimize(ph.integral(u) + 1e-3 * ph.final(t))
    assert certify(solve(ocp).check())[VARIATION].applies
