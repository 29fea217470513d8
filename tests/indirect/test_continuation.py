"""Continuation: families of solutions over a parameter."""

from dataclasses import replace

import casadi
import numpy as np
import pytest

from trajopt import Problem, load, solve
from trajopt.errors import UsageError
from trajopt.indirect.continuation import Continuation
from trajopt.indirect.shooting import Shooting


def smoothed_fuel():
    """Minimum fuel, with a square added to the cost; the smaller its weight, the nearer to
    bang-off-bang.
    """
    ocp = Problem("smoothed fuel")
    ph = ocp.phase()
    ph.time(start=0, end=3)
    weight = ocp.parameter("weight", 1.0)
    x, v = ph.state("x", start=0, end=1), ph.state("v", start=0, end=0)
    up, down = ph.control("up", lower=0, upper=1), ph.control("down", lower=0, upper=1)
    ph.dynamics({x: v, v: up - down})
    ocp.minimize(ph.integral(up + down + weight * (up**2 + down**2)))
    return ocp.finish()


def moved_target():
    ocp = Problem("moved target")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    target = ocp.parameter("target", 0.5)
    x, v, u = ph.state("x", start=0), ph.state("v", start=0, end=0), ph.control("u")
    ph.dynamics({x: v, v: u - casadi.sin(x)})
    ocp.require(ph.final(x) - target, equals=0, name="target")
    ocp.minimize(ph.integral(u**2))
    return ocp.finish()


def test_a_boundary_value():
    form = moved_target()
    path = Continuation("target").run(form, {"x": -10.0, "v": -5.0}, 2.0)
    assert path.complete
    assert path.values[0] == 0.5
    assert path.values[-1] == 2.0
    assert path.last["x"](1.0) == pytest.approx(2.0, rel=1e-10)
    direct = Shooting().solve(form, path.last, {"target": 2.0})
    assert path.last.objective == pytest.approx(direct.objective, rel=1e-10)
    # The multiplier of the condition is the derivative of the optimal cost by the target, up to its
    # sign.
    h = 1e-4
    costs = [Shooting().solve(form, path.last, {"target": 2.0 + d}).objective for d in (-h, h)]
    assert abs(path.last.multipliers["target"]) == pytest.approx(
        abs(costs[1] - costs[0]) / (2 * h), rel=1e-5
    )


def test_smoothing_towards_bang_off_bang():
    form = smoothed_fuel()
    path = Continuation("weight", geometric=True, first=0.2).run(form, {"x": -2.0, "v": -3.0}, 1e-3)
    assert path.complete, path.points
    assert all(b < a for a, b in zip(path.values[:-1], path.values[1:], strict=True))
    # The limit is 3 - sqrt(5); what is left is of the size of the weight.
    assert path.last.objective == pytest.approx(3 - np.sqrt(5), abs=2e-3)
    assert path.last.objective > 3 - np.sqrt(5)


def test_a_path_that_stopped_continues_from_its_last_solution():
    form = moved_target()
    stopped = Continuation("target", solves=3).run(form, {"x": -10.0, "v": -5.0}, 2.0)
    assert not stopped.complete
    rest = Continuation("target").run(form, stopped.last, 2.0)
    assert rest.complete
    assert rest.values[0] == stopped.values[-1]
    whole = Continuation("target").run(form, {"x": -10.0, "v": -5.0}, 2.0)
    assert rest.last.objective == pytest.approx(whole.last.objective, rel=1e-10)


def test_a_geometric_path_has_steps_by_factors():
    path = Continuation("target", geometric=True, first=0.2, solves=2).run(
        moved_target(), {"x": -10.0, "v": -5.0}, 2.0
    )
    np.testing.assert_allclose(path.values, [0.5, 0.5 * 4**0.2], rtol=1e-14)


def test_steps_shrink_after_a_failure():
    """A method that cannot take large steps is fed smaller ones."""
    form, shooting = moved_target(), Shooting()

    class Timid:
        def solve(self, form, guess, parameters=None):
            before = (
                guess.parameters["target"][0]
                if hasattr(guess, "parameters")
                else parameters["target"]
            )
            near = abs(parameters["target"] - before) <= 0.1
            return (shooting if near else Shooting(iterations=0)).solve(form, guess, parameters)

    path = Continuation("target", first=0.5, method=Timid()).run(form, {"x": -10.0, "v": -5.0}, 1.0)
    assert path.complete
    assert any(not p.accepted for p in path.points)
    assert np.max(np.diff(path.values)) <= 0.1 + 1e-12


def test_unknown_parameters_are_named():
    with pytest.raises(UsageError, match="targit"):
        Continuation("targit").run(moved_target(), {}, 1.0)


def test_solving_again_after_a_change_takes_a_few_newton_steps():
    """From a solution of shooting its arcs are kept: one structure, one grid, quadratic
    convergence.
    """
    ocp = Problem("wall")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    wall = ocp.parameter("wall", 1 / 9)
    x, v, u = ph.state("x", start=0, end=0), ph.state("v", start=1, end=-1), ph.control("u")
    ph.dynamics({x: v, v: u})
    ph.path(x - wall, upper=0, name="wall")
    ocp.minimize(ph.integral(u**2) / 2)
    solution = solve(ocp, "both").check()
    for limit in (0.112, 0.115):
        solution = solve(ocp, "indirect", guess=solution, parameters={"wall": limit}).check()
        assert solution.objective == pytest.approx(4 / (9 * limit), rel=1e-12)
        assert [arc.roles.get("wall") for arc in solution.arcs] == [None, "upper", None]
        assert len(solution.log) == 1
        assert solution.iterations <= 4  # the last of them only confirms


def two_walls():
    """A wall that is touched, and another farther away, whose distance has a smaller unit."""
    ocp = Problem("two walls")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    wall = ocp.parameter("wall", 0.2)
    x, v, u = ph.state("x", start=0, end=0), ph.state("v", start=1, end=-1), ph.control("u")
    ph.dynamics({x: v, v: u})
    ph.path(x - wall, upper=0, name="near")
    ph.path(1e-3 * (x - 0.21), upper=0, name="far")
    ocp.minimize(ph.integral(u**2) / 2)
    return ocp


def test_solving_again_knows_which_constraint_was_touched(tmp_path):
    ocp = two_walls()
    first = solve(ocp, "both").check()
    assert [dict(arc.touches) for arc in first.arcs] == [{}, {"near": "upper"}]
    first.save(tmp_path / "a.nc")
    stored = load(tmp_path / "a.nc")
    assert stored.arcs == first.arcs
    assert stored.arcs[1].description == "u interior, touches near (upper) at its start"
    again = solve(ocp, "indirect", guess=stored, parameters={"wall": 0.195}).check()
    assert len(again.log) == 1
    assert again.iterations == 1
    assert again["x"](again.arcs[1].start) == pytest.approx(0.195, rel=1e-9)


@pytest.mark.parametrize(
    ("touches", "part"), [({"neer": "upper"}, "near"), ({"near": "inside"}, "lower or upper")]
)
def test_a_touched_constraint_that_does_not_exist_is_refused(touches, part):
    ocp = two_walls()
    first = solve(ocp, "both").check()
    wrong = replace(first, arcs=(first.arcs[0], replace(first.arcs[1], touches=touches)))
    solution = solve(ocp, "indirect", guess=wrong)
    assert not solution.success
    assert part in "\n".join(solution.explanation)


def test_solving_again_knows_which_endpoint_condition_was_active():
    """The limit on the final speed is moved away from the earlier solution, which is no longer near
    it.
    """
    ocp = Problem("sprint")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    limit = ocp.parameter("limit", 0.5)
    x, v, u = ph.state("x", start=0, end=1), ph.state("v", start=0), ph.control("u")
    ph.dynamics({x: v, v: u})
    ocp.require(ph.final(v) - limit, upper=0, name="speed")
    ocp.minimize(ph.integral(u**2))
    first = solve(ocp, "both").check()
    assert first.active_conditions == {"speed": "upper"}
    again = solve(ocp, "indirect", guess=first, parameters={"limit": 0.52}).check()
    assert again["v"](1.0) == pytest.approx(0.52, rel=1e-12)
    assert len(again.log) == 1
    # its multiplier has the wrong sign now
    released = solve(ocp, "indirect", guess=again, parameters={"limit": 2.0}).check()
    assert released.active_conditions == {}
    assert released["v"](1.0) == pytest.approx(1.5, rel=1e-10)
