"""Problems of every shape with answers in closed form: phases, algebraic and static variables,
parameters, tables, vectors.
"""

import casadi
import numpy as np
import pytest

from trajopt import Problem, free, solve
from trajopt.catalogue import builder
from trajopt.direct.collocation import Collocation
from trajopt.direct.mesh import Mesh
from trajopt.direct.schemes import Gauss, HermiteSimpson, Lobatto, Radau, Trapezoidal

t = np.linspace(0, 1, 101)
ADAPTIVE = [Radau(), Gauss(), Lobatto(), HermiteSimpson()]


def one_phase(symbols=casadi.SX, **time):
    ocp = Problem("shape", symbols)
    ph = ocp.phase()
    ph.time(**(time or {"end": 1}))
    return ocp, ph


@pytest.mark.parametrize("scheme", ADAPTIVE, ids=lambda s: s.name)
def test_algebraic_variables(scheme):
    """x' = z with 0 = z^3 + z - (u^3 + u): the only root is z = u, so the answer is that of
    x' = u.
    """
    ocp, ph = one_phase()
    x, z, u = ph.state("x", start=1), ph.algebraic("z"), ph.control("u")
    ph.dynamics({x: z})
    ph.require(z**3 + z - u**3 - u)
    ocp.minimize(ph.integral((x**2 + u**2) / 2))
    solution = solve(ocp, Collocation(scheme)).check()
    assert solution.objective == pytest.approx(np.tanh(1) / 2, rel=1e-6)
    np.testing.assert_allclose(solution["x"](t), np.cosh(1 - t) / np.cosh(1), atol=1e-6)
    np.testing.assert_allclose(solution["z"](t), solution["u"](t), atol=1e-4)


@pytest.mark.parametrize("scheme", [*ADAPTIVE, Trapezoidal()], ids=lambda s: s.name)
def test_static_variables_and_parameters(scheme):
    """min int u^2 + m w^2 with x' = u + w over 1: w = 1 / (m + 1), cost m / (m + 1)."""
    ocp, ph = one_phase()
    m, w = ocp.parameter("m", 2.0), ocp.variable("w", guess=0.1)
    x, u = ph.state("x", start=0, end=1), ph.control("u")
    ph.dynamics({x: u + w})
    ocp.minimize(ph.integral(u**2) + m * w**2)
    form = ocp.finish()
    for value in (2.0, 5.0, 0.5):
        solution = solve(ocp, Collocation(scheme), parameters={"m": value}).check()
        assert solution.form is form  # nothing was built anew
        np.testing.assert_allclose(solution.variables["w"], 1 / (value + 1), rtol=1e-7)
        assert solution.objective == pytest.approx(value / (value + 1), rel=1e-7)
        np.testing.assert_array_equal(solution.parameters["m"], [value])
    # the declared value is untouched
    assert solve(ocp, Collocation(scheme)).objective == pytest.approx(2 / 3, rel=1e-7)


def test_vectors_are_their_components():
    ocp, ph = one_phase()
    ends = np.array([1.0, 2.0, -3.0])
    r = ph.state("r", 3, start=0, end=ends)
    v = ph.state("v", 3, start=0, end=0)
    a = ph.control("a", 3)
    ph.dynamics({r: v, v: a})
    ocp.minimize(ph.integral(casadi.sumsqr(a)))
    solution = solve(ocp).check()
    assert solution.objective == pytest.approx(12 * ends @ ends, rel=1e-10)
    np.testing.assert_allclose(solution["r"](t), np.outer(3 * t**2 - 2 * t**3, ends), atol=1e-9)
    np.testing.assert_allclose(
        solution.costate("r")(t), np.tile(-24 * ends, (t.size, 1)), rtol=1e-8
    )


def drag(symbols, law):
    ocp, ph = one_phase(symbols)
    x, u = ph.state("x", start=0, end=1), ph.control("u")
    ph.dynamics({x: u + law(x)})
    ocp.minimize(ph.integral(u**2))
    return solve(ocp).check()


def test_tables():
    """A spline through samples of a sine instead of the sine itself: fourth order in the spacing of
    the table.
    """
    exact = drag(casadi.SX, casadi.sin)
    gaps = []
    for count in (21, 41):
        grid = np.linspace(-1, 3, count)
        table = casadi.interpolant("table", "bspline", [grid], np.sin(grid))
        tabular = drag(casadi.MX, table)
        gaps.append(abs(tabular.objective - exact.objective))
        np.testing.assert_allclose(tabular["u"](t), exact["u"](t), atol=1e-3 / count)
    assert gaps[1] < gaps[0] / 8


def test_both_kinds_of_symbols_give_the_same_answer():
    for one, other in zip(
        *[drag(kind, casadi.sin)["x"].values for kind in (casadi.SX, casadi.MX)], strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def stairs(count):
    """A block moved over 1 in as many phases of equal length: the same motion as in one."""
    ocp = Problem("stairs")
    phases, cost = [], 0
    for i in range(count):
        ph = ocp.phase(f"step {i}")
        ph.time(start=i / count if i == 0 else free(0, 1), end=(i + 1) / count)
        x = ph.state("x", start=0 if i == 0 else None, end=1 if i == count - 1 else None)
        v = ph.state("v", start=0 if i == 0 else None, end=0 if i == count - 1 else None)
        u = ph.control("u")
        ph.dynamics({x: v, v: u})
        cost = cost + ph.integral(u**2)
        if phases:
            ocp.connect(phases[-1], ph)
        phases.append(ph)
    ocp.minimize(cost)
    return ocp


@pytest.mark.parametrize("count", [2, 5])
def test_phases(count):
    solution = solve(stairs(count)).check()
    assert solution.objective == pytest.approx(12, rel=1e-8)
    for i, ph in enumerate(solution.phases.values()):
        assert ph.t0 == pytest.approx(i / count, abs=1e-9)
        here = np.linspace(ph.t0, ph.tf, 20)
        np.testing.assert_allclose(ph["x"](here), 3 * here**2 - 2 * here**3, atol=1e-7)
        np.testing.assert_allclose(ph.costates["v"](here), 24 * (here - 0.5), atol=1e-5)


def test_a_free_time_between_phases_is_optimised():
    """Two rides of cost rate 1 and 4 over lengths 1 and 1 in a total time of 3: cost = 1 / T1 + 4 /
    T2, least at T1 = 1.
    """
    ocp = Problem("relay")
    first, second = ocp.phase("easy"), ocp.phase("hard")
    first.time(end=free(0.1, 2.9))
    second.time(start=free(0.1, 2.9), end=3)
    cost = 0
    for ph, ends, weight in ((first, (0, 1), 1), (second, (1, 2), 4)):
        x, u = ph.state("x", start=ends[0], end=ends[1]), ph.control("u")
        ph.dynamics({x: u})
        cost = cost + weight * ph.integral(u**2)
    ocp.connect(first, second, states=[])
    ocp.minimize(cost)
    solution = solve(ocp).check()
    assert solution.phases["easy"].tf == pytest.approx(1, rel=1e-6)
    assert solution.objective == pytest.approx(3, rel=1e-9)


def test_a_cost_of_integrals_that_is_not_linear():
    """sqrt of int u^2 has the same minimiser as int u^2, and its costates follow by
    the chain rule.
    """
    ocp, ph = one_phase()
    x, v, u = ph.state("x", start=0, end=1), ph.state("v", start=0, end=0), ph.control("u", guess=1)
    ph.dynamics({x: v, v: u})
    ocp.minimize(casadi.sqrt(ph.integral(u**2)))
    solution = solve(ocp).check()
    assert solution.objective == pytest.approx(np.sqrt(12), rel=1e-8)
    np.testing.assert_allclose(solution.costate("x")(t), -24 / (2 * np.sqrt(12)), rtol=1e-6)


def test_maximize_is_minimize_of_the_negative():
    """Fastest end speed in time 1 with u <= 2, and its costate: of the negated gain, -1."""
    ocp, ph = one_phase()
    v, u = ph.state("v", start=0), ph.control("u", lower=-1, upper=2)
    ph.dynamics({v: u})
    ocp.maximize(ph.final(v))
    solution = solve(ocp).check()
    assert solution.objective == pytest.approx(2, rel=1e-7)
    np.testing.assert_allclose(solution.costate("v")(t), -1, rtol=1e-7)


def test_time_in_the_model():
    """x' = u + 2 t over [1, 2] with x from 0 to 4: the drift gives 3, the constant control the
    rest.
    """
    ocp = Problem("clock")
    ph = ocp.phase()
    clock = ph.time(start=1, end=2)
    x, u = ph.state("x", start=0, end=4), ph.control("u")
    ph.dynamics({x: u + 2 * clock})
    ocp.minimize(ph.integral(u**2))
    solution = solve(ocp).check()
    assert solution.objective == pytest.approx(1, rel=1e-10)
    np.testing.assert_allclose(solution["x"](1 + t), (1 + t) ** 2 - 1 + t, atol=1e-10)


def test_units_do_not_matter():
    """The block in micrometres, and in thousands of kilometres: automatic scaling gives the same
    relative answer.
    """
    for length in (1e6, 1.0, 1e-6):
        ocp, ph = one_phase()
        x, v, u = ph.state("x", start=0, end=length), ph.state("v", start=0, end=0), ph.control("u")
        ph.dynamics({x: v, v: u})
        ocp.minimize(ph.integral(u**2))
        assert solve(ocp).check().objective == pytest.approx(12 * length**2, rel=1e-8)


def test_memory_and_time_are_linear_in_the_mesh():
    """Ten times the intervals: ten times the nonzeros, and about as many iterations."""
    records = []
    for intervals in (20, 200):
        method = Collocation(mesh=Mesh.uniform(intervals, 3), tolerance=np.inf, max_passes=1)
        records.append(solve(builder("cart-pole")(), method).check().history[-1])
    assert records[1].points == 10 * records[0].points
    assert records[1].iterations <= 2 * records[0].iterations
