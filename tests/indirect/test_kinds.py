"""Kinds of problems with closed forms: constraints of order zero to two, statics, integrals,
algebraic variables, tables.
"""

import casadi
import numpy as np
import pytest

from trajopt import Problem, free, solve
from trajopt.indirect.first_integrals import first_integrals
from trajopt.indirect.hamiltonian import phase_hamiltonians
from trajopt.indirect.shooting import Shooting


def double_integrator(
    duration=1.0, symbols=casadi.SX, x_bounds=None, v_bounds=None, start=(0, 0), end=(1, 0)
):
    ocp = Problem("double integrator", symbols=symbols)
    ph = ocp.phase()
    t = ph.time(start=0, end=duration)
    x = ph.state("x", start=start[0], end=end[0], **(x_bounds or {}))
    v = ph.state("v", start=start[1], end=end[1], **(v_bounds or {}))
    return ocp, ph, t, x, v


def shot(ocp):
    solution = Shooting().solve(ocp.finish(), solve(ocp))
    assert solution.success, (solution.explanation, solution.log)
    return solution


def test_a_touched_constraint_of_order_two():
    """Bryson-Denham for 1/6 < l < 1/4: the constraint is touched in one point, J = 2 + 6 (1 - 4
    l)^2.
    """
    limit = 0.2
    ocp, ph, _, x, v = double_integrator(x_bounds={"upper": limit}, start=(0, 1), end=(0, -1))
    u = ph.control("u")
    ph.dynamics({x: v, v: u})
    ocp.minimize(ph.integral(0.5 * u**2))
    solution = shot(ocp)
    assert solution.objective == pytest.approx(2 + 6 * (1 - 4 * limit) ** 2, rel=1e-12)
    np.testing.assert_allclose(
        solution.costate("x")([0.2, 0.8]), [24 * (1 - 4 * limit), -24 * (1 - 4 * limit)], rtol=1e-10
    )


def test_a_constraint_of_order_one_with_a_regular_hamiltonian():
    """v <= w: the velocity bends into its limit and, symmetrically, out of it."""
    w, duration = 0.45, 3.0
    ocp, ph, _, x, v = double_integrator(duration, v_bounds={"upper": w})
    u = ph.control("u")
    ph.dynamics({x: v, v: u})
    ocp.minimize(ph.integral(0.5 * u**2))
    solution = shot(ocp)
    # On [0, a] v = w (2 t / a - t^2 / a^2); the area under v is w (T - 2 a / 3) = 1, and J = 2 . (2
    # / 3) w^2 / a.
    a = 1.5 * (duration - 1 / w)
    assert solution.arcs[0].end == pytest.approx(a, rel=1e-10)
    assert solution.objective == pytest.approx(4 * w**2 / (3 * a), rel=1e-11)
    # In the convention of direct methods the costate of v vanishes where the velocity rides its
    # limit.
    assert abs(solution.costate("v")(1.5)) < 1e-10


def test_a_constraint_of_order_one_with_a_bang_bang_control():
    ocp, ph, t, x, v = double_integrator(free(0.1, 10), v_bounds={"upper": 0.5})
    u = ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: v, v: u})
    ocp.minimize(ph.final(t))
    solution = shot(ocp)
    assert solution.objective == pytest.approx(2.5, rel=1e-12)
    np.testing.assert_allclose([a.end for a in solution.arcs], [0.5, 2.0, 2.5], rtol=1e-11)


def test_a_mixed_constraint_by_its_multiplier():
    ocp, ph, _, x, v = double_integrator()
    u = ph.control("u")
    ph.dynamics({x: v, v: u})
    ph.path(u + v, upper=4.5, name="power")
    ocp.minimize(ph.integral(u**2))
    solution = shot(ocp)
    arc = solution.arcs[0]
    assert arc.roles["power"] == "upper"
    t = np.linspace(0, arc.end, 9)
    np.testing.assert_allclose(solution["u"](t) + solution["v"](t), 4.5, rtol=1e-11)
    multiplier = solution.phases["main"].path_multipliers["power"]
    assert multiplier(0.0) > 0
    assert abs(multiplier(arc.end - 1e-12)) < 1e-6
    assert multiplier(0.9) == 0
    # Stationarity with the multiplier, from the curves alone: 2 u + costate_v + multiplier = 0.
    np.testing.assert_allclose(
        2 * solution["u"](t[1:-1]) + solution.costate("v")(t[1:-1]) + multiplier(t[1:-1]),
        0,
        atol=1e-8,
    )


def test_a_mixed_constraint_is_left_and_met_again():
    """|u| <= c as a path constraint: u = c, a line through zero for a time of 2 b, and -c; b^2 = 6
    (1/8 - 1/(2 c)).
    """
    c = 4.5
    b = np.sqrt(6 * (1 / 8 - 1 / (2 * c)))
    ocp, ph, _, x, v = double_integrator()
    u = ph.control("u")
    ph.dynamics({x: v, v: u})
    ph.path(u, lower=-c, upper=c, name="power")
    ocp.minimize(ph.integral(u**2))
    solution = shot(ocp)
    assert [arc.roles.get("power") for arc in solution.arcs] == ["upper", None, "lower"]
    np.testing.assert_allclose(
        [arc.end for arc in solution.arcs], [0.5 - b, 0.5 + b, 1.0], rtol=1e-10
    )
    assert solution.objective == pytest.approx(2 * c**2 * (0.5 - 2 * b / 3), rel=1e-12)
    assert solution.phases["main"].path_multipliers["power"](0.0) == pytest.approx(
        -solution.costate("v")(0.0) - 2 * c, rel=1e-9
    )


def test_multipliers_belong_to_their_constraints():
    """Two motions side by side, each with a limit of its own: 2 u + costate + multiplier = 0 for
    both.
    """
    ocp = Problem("side by side")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x = ph.state("x", 2, start=[0, 0], end=[1, 1])
    v = ph.state("v", 2, start=[0, 0], end=[0, 0])
    u = ph.control("u", 2)
    ph.dynamics({x: v, v: u})
    for i, limit in enumerate((4.5, 5.5)):
        ph.path(u[i], upper=limit, name=f"power{i}")
    ocp.minimize(ph.integral(casadi.sumsqr(u)))
    solution = shot(ocp)
    t = np.linspace(0, 1, 21)
    multipliers = np.stack(
        [solution.phases["main"].path_multipliers[f"power{i}"](t) for i in range(2)], axis=1
    )
    np.testing.assert_allclose(
        2 * solution["u"](t) + solution.costate("v")(t) + multipliers, 0, atol=1e-8
    )
    assert np.all(multipliers[0] > 0.1)
    assert abs(multipliers[0, 0] - multipliers[0, 1]) > 0.1


def plane(**limit):
    ocp = Problem("plane")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 20))
    r = ph.state("r", 2, start=[0, 0])
    v = ph.state("v", 2, start=[1, -0.5], end=[0.2, 1.5])
    u = ph.control("u", 2)
    ph.dynamics({r: v, v: u})
    ph.path(casadi.sumsqr(u), name="thrust", **limit)
    ocp.minimize(ph.final(t) + ph.final(r)[0])
    return ocp.finish()


def test_a_thrust_of_bounded_length():
    """|u| <= 1 in the plane: at full length against the costate of the velocity, which is linear in
    time.
    """
    equality = Shooting().solve(plane(equals=1), {"r": [1, 0], "v": [1.0, -0.9], "tf": 2.2})
    assert equality.success, (equality.explanation, equality.log)
    inequality = Shooting().solve(plane(upper=1), equality)
    assert inequality.success, (inequality.explanation, inequality.log)
    end = equality.phases["main"].tf
    assert inequality.objective == pytest.approx(equality.objective, rel=1e-11)
    times = np.linspace(0, end, 12)[1:-1]
    for solution in (equality, inequality):
        costate, control = solution.costate("v")(times), solution["u"](times)
        np.testing.assert_allclose(
            control, -costate / np.linalg.norm(costate, axis=1)[:, None], atol=1e-8
        )
        np.testing.assert_allclose(np.diff(costate, 2, axis=0), 0, atol=1e-10)
    assert inequality.arcs[0].roles["thrust"] == "upper"


def test_a_static_variable():
    """min int u^2 + a^2 with v' = u + a: by symmetry of the closed form a = 0 where the motion is
    from rest to rest.
    """
    ocp, ph, _, x, v = double_integrator(end=(1, None))
    u = ph.control("u")
    a = ocp.variable("a", guess=0.5)
    ph.dynamics({x: v, v: u + a})
    ocp.minimize(ph.integral(u**2) + a**2)
    solution = shot(ocp)
    # u = c (1 - t): x(1) = c / 3 + a / 2 = 1, J = c^2 / 3 + a^2, so that a = c / 2 and c = 12 / 7.
    assert solution.variables["a"] == pytest.approx(6 / 7, rel=1e-10)
    assert solution.objective == pytest.approx(12 / 7, rel=1e-11)


@pytest.mark.parametrize("wall", [0.1, 0.2], ids=["followed", "touched"])
def test_a_static_variable_that_moves_a_constraint(wall):
    """Bryson-Denham with a wall that costs c for each unit: J = 4/(9 l), or 2 + 6 (1 - 4 l)^2 where
    l > 1/6, and dJ/dl = -c.
    """
    price = 4 / (9 * wall**2) if wall < 1 / 6 else 48 * (1 - 4 * wall)
    ocp, ph, _, x, v = double_integrator(start=(0, 1), end=(0, -1))
    u, place = ph.control("u"), ocp.variable("place", lower=0.05, upper=1, guess=0.15)
    ph.dynamics({x: v, v: u})
    ph.path(x - place, upper=0, name="wall")
    ocp.minimize(ph.integral(0.5 * u**2) + price * place)
    solution = shot(ocp)
    assert solution.variables["place"] == pytest.approx(wall, rel=1e-8)
    effort = 4 / (9 * wall) if wall < 1 / 6 else 2 + 6 * (1 - 4 * wall) ** 2
    assert solution.objective == pytest.approx(effort + price * wall, rel=1e-10)


def test_a_static_variable_at_its_bound():
    """The further it may go the better: x(1) = 1 with v' = u + a costs 3 (1 - a/2)^2, least at the
    largest a.
    """
    ocp, ph, _, x, v = double_integrator(end=(1, None))
    u, a = ph.control("u"), ocp.variable("a", lower=-1, upper=0.5, guess=0.2)
    ph.dynamics({x: v, v: u + a})
    ocp.minimize(ph.integral(u**2))
    solution = shot(ocp)
    assert solution.variables["a"] == pytest.approx(0.5, rel=1e-12)
    assert solution.objective == pytest.approx(3 * (1 - 0.25) ** 2, rel=1e-11)


def test_a_condition_on_an_integral():
    """Dido: the largest area under a curve of given length is a circular segment."""
    ocp = Problem("dido")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    y, u = ph.state("y", start=0, end=0), ph.control("u")
    ph.dynamics({y: u})
    ocp.require(ph.integral(casadi.sqrt(1 + u**2)), equals=1.2, name="length")
    ocp.maximize(ph.integral(y))
    solution = shot(ocp)
    half = solution["y"](0.5)
    radius = (0.25 + half**2) / (2 * half)
    angle = 2 * np.arcsin(0.5 / radius)
    assert radius * angle == pytest.approx(1.2, rel=1e-10)
    assert solution.objective == pytest.approx(radius**2 * (angle - np.sin(angle)) / 2, rel=1e-10)
    assert abs(solution.multipliers["length"]) == pytest.approx(radius, rel=1e-8)


def test_a_cost_that_is_not_linear_in_an_integral():
    ocp = Problem("root")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=1), ph.control("u")
    ph.dynamics({x: u})
    ocp.minimize(casadi.sqrt(ph.integral(u**2) + 1) + ph.final(x) ** 2)
    solution = shot(ocp)
    # u is constant; d/du (sqrt(1 + u^2) + (1 + u)^2) = 0.
    u = solution["u"](0.3)
    assert u / np.sqrt(1 + u**2) + 2 * (1 + u) == pytest.approx(0, abs=1e-10)


def test_an_algebraic_variable_is_as_good_as_its_elimination():
    def build(algebraic):
        ocp, ph, _, x, v = double_integrator()
        u = ph.control("u")
        if algebraic:
            z = ph.algebraic("z")
            ph.dynamics({x: v, v: z})
            ph.require(z + 0.1 * z**3 - u)
            ocp.minimize(ph.integral(u**2))
        else:
            ph.dynamics({x: v, v: u})
            ocp.minimize(ph.integral((u + 0.1 * u**3) ** 2))
        return shot(ocp).objective

    assert build(True) == pytest.approx(build(False), rel=1e-9)


def test_tables_need_mx():
    grid = np.linspace(-1, 2, 31)
    table = casadi.interpolant("table", "bspline", [grid], np.sin(grid))
    values = []
    for symbols, term in ((casadi.MX, table), (casadi.SX, casadi.sin)):
        ocp, ph, _, x, v = double_integrator(symbols=symbols)
        u = ph.control("u", lower=-20, upper=20)
        ph.dynamics({x: v, v: u - term(x)})
        ocp.minimize(ph.integral(u**2))
        values.append(shot(ocp).objective)
    assert values[0] == pytest.approx(values[1], rel=1e-5)


@pytest.mark.parametrize("curved", [True, False])
def test_tables_with_two_controls(curved):
    """Both interior, or one of them at its bounds."""
    grid = np.linspace(-1, 2, 31)
    table = casadi.interpolant("table", "bspline", [grid], np.sin(grid))
    values = []
    for symbols, term in ((casadi.MX, table), (casadi.SX, casadi.sin)):
        ocp, ph, _, x, v = double_integrator(symbols=symbols)
        u, w = ph.control("u", lower=-20, upper=20), ph.control("w", lower=-1, upper=1)
        ph.dynamics({x: v, v: u + w - term(x)})
        ocp.minimize(ph.integral(u**2 + (20 * w**2 if curved else 0)))
        values.append(shot(ocp).objective)
    assert values[0] == pytest.approx(values[1], rel=1e-5)


def test_phases_with_a_free_time_between():
    ocp = Problem("via")
    a, b = ocp.phase("out"), ocp.phase("back")
    a.time(start=0, end=free(0.1, 1.9))
    b.time(end=2)
    for ph in (a, b):
        x, v, u = ph.state("x"), ph.state("v"), ph.control("u")
        ph.dynamics({x: v, v: u})
        if ph is a:
            ocp.require(ph.initial(x), equals=0, name="start")
            ocp.require(ph.initial(v), equals=0, name="rest")
            ocp.require(ph.final(x), equals=1, name="via")
            cost = ph.integral(u**2)
        else:
            ocp.require(ph.final(x), equals=0, name="end")
            ocp.require(ph.final(v), equals=0, name="rest again")
            cost = cost + ph.integral(u**2)
    ocp.connect(a, b)
    ocp.minimize(cost)
    solution = shot(ocp)
    assert solution.phases["out"].tf == pytest.approx(1.0, rel=1e-9)  # by symmetry
    # twice 12, since the motion stops at the turning point
    assert solution.objective == pytest.approx(24.0, rel=1e-10)


def test_bounds_at_the_end_are_met_only_where_they_push():
    ocp, ph, _, x, v = double_integrator(end=(free(1, 2), free(-0.5, 0.5)))
    u = ph.control("u")
    ph.dynamics({x: v, v: u})
    ocp.minimize(ph.integral(u**2))
    # x ends at its lower and v at its upper limit: 4 (3 - 3 v + v^2) at v = 1/2.
    assert shot(ocp).objective == pytest.approx(4 * (3 - 1.5 + 0.25), rel=1e-11)


def test_a_touched_constraint_lets_go_where_it_would_pull():
    """With the wall beyond 1/4 nothing touches it, and J = 2: an arc that is held at it by a pull
    is no answer.
    """
    ocp, ph, _, x, v = double_integrator(start=(0, 1), end=(0, -1))
    wall, u = ocp.parameter("wall", 0.24), ph.control("u")
    ph.dynamics({x: v, v: u})
    ph.path(x - wall, upper=0, name="wall")
    ocp.minimize(ph.integral(0.5 * u**2))
    touching = shot(ocp)
    assert touching.objective == pytest.approx(2 + 6 * (1 - 4 * 0.24) ** 2, rel=1e-12)
    beyond = Shooting().solve(ocp.finish(), touching, {"wall": 0.26})
    if beyond.success:
        assert beyond.objective == pytest.approx(2, rel=1e-10)
    else:
        assert "'wall' is touched, but its multiplier has the wrong sign" in beyond.explanation[0]


def test_an_end_condition_lets_go_where_it_would_pull():
    """x' = u + w to x(1) >= 1: held for w = 0, where J = 1/2, and not at all for w = 2, where J =
    0.
    """
    ocp = Problem("carried")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u, w = ph.state("x", start=0), ph.control("u"), ocp.parameter("w", 0.0)
    ph.dynamics({x: u + w})
    ocp.require(ph.final(x), lower=1, name="far enough")
    ocp.minimize(ph.integral(0.5 * u**2))
    held = shot(ocp)
    assert held.objective == pytest.approx(0.5, rel=1e-12)
    carried = Shooting().solve(ocp.finish(), held, {"w": 2.0})
    if carried.success:
        assert carried.objective == pytest.approx(0, abs=1e-12)
    else:
        assert (
            "'far enough' is held at its lower limit, but its multiplier has the wrong sign"
            in carried.explanation[0]
        )


def test_an_end_condition_that_is_let_go_is_still_to_be_met():
    """From a start at the far limit, whose condition pulls there, the free end would be short of
    the near limit.
    """
    ocp = Problem("far enough")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=0), ph.control("u")
    ph.dynamics({x: u})
    ocp.require(ph.final(x), lower=1, upper=2, name="far enough")
    ocp.minimize(ph.integral(0.5 * u**2))
    solution = Shooting().solve(ocp.finish(), {"x": -2.0})
    if solution.success:
        assert solution.objective == pytest.approx(0.5, rel=1e-12)
    else:
        assert "'far enough' is beyond its lower limit by 1" in solution.explanation[0]


def test_a_constraint_that_moves_with_time_leaves_no_constant_hamiltonian():
    """The least time to x = 3/2 with u <= 1 + t is one, and -1 / (1 + tf) its derivative by the
    start; H(0) is not H(tf) = 0.
    """
    ocp = Problem("speeding up")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 10))
    x, u = ph.state("x", start=0, end=1.5), ph.control("u")
    ph.dynamics({x: u})
    ph.path(u - t, lower=-1, upper=1, name="limit")
    ocp.minimize(ph.final(t))
    assert "H" not in [
        integral.name for integral in first_integrals(phase_hamiltonians(ocp.finish())[0])
    ]
    solution = shot(ocp)
    assert solution.objective == pytest.approx(1, rel=1e-11)
    np.testing.assert_allclose(solution.costate("x")([0.0, 1.0]), -0.5, rtol=1e-9)


def test_a_singular_arc_in_the_middle():
    """Catalyst mixing: bang, singular, bang."""
    ocp = Problem("catalyst")
    ph = ocp.phase()
    ph.time(start=0, end=4)
    a, b = ph.state("a", start=1), ph.state("b", start=0)
    u = ph.control("u", lower=0, upper=1)
    ph.dynamics({a: u * (10 * b - a), b: u * (a - 10 * b) - (1 - u) * b})
    ocp.minimize(-1 + ph.final(a) + ph.final(b))
    solution = shot(ocp)
    assert [arc.roles["u"] for arc in solution.arcs] == ["upper", "singular", "lower"]
    # On the singular arc of this problem the control is constant.
    middle = solution.arcs[1]
    t = np.linspace(middle.start, middle.end, 12)[1:-1]
    assert np.ptp(solution["u"](t)) < 1e-8
