"""Tables: exact for cubics, smooth across their edges, and used in a problem."""

import time

import casadi
import numpy as np
import pytest

from trajopt import Problem, certify, free, solve, table
from trajopt.errors import ProblemError

X, Y = np.linspace(0, 2, 6), np.linspace(-1, 1, 5)


def product():
    """x^2 (1 + y^3): a tensor product of cubics, which cubic splines hold exactly."""
    return table(X, Y, values=X[:, None] ** 2 * (1 + Y[None, :] ** 3), name="product")


def numbers(expression):
    x, y = casadi.MX.sym("x"), casadi.MX.sym("y")
    return casadi.Function("f", [x, y], [expression(x, y)])


def test_a_table_of_cubics_is_exact_inside():
    f = numbers(product())
    for x, y in np.random.default_rng(1).uniform([0, -1], [2, 1], size=(50, 2)):
        assert float(f(x, y)) == pytest.approx(x**2 * (1 + y**3), abs=1e-13)


@pytest.mark.parametrize(
    ("at", "out"),
    [((2.0, 0.3), (1, 0)), ((0.0, 0.3), (-1, 0)), ((1.2, 1.0), (0, 1)), ((2.0, 1.0), (1, 1))],
)
def test_a_table_is_extrapolated_linearly(at, out):
    """Each factor continues along its tangent at the edge, without a step of value or slope."""
    f = numbers(product())
    x, y = at
    for distance in (1e-9, 0.5, 3.0, 1e4):
        beyond = (x**2 + 2 * x * distance * out[0]) * (1 + y**3 + 3 * y**2 * distance * out[1])
        value = float(f(x + distance * out[0], y + distance * out[1]))
        assert value == pytest.approx(beyond, rel=1e-12, abs=1e-12 * (1 + distance))


def test_the_gradient_is_continuous_across_the_lines_of_the_edges():
    gradient = numbers(product()).jacobian()
    for x, y in ((2.0, 0.3), (2.0, 4.0), (0.7, 1.0), (5.0, 1.0), (-3.0, -1.0)):
        before, behind = (
            np.array(gradient(x + e, y + e, 0), dtype=float).ravel() for e in (-1e-9, 1e-9)
        )
        np.testing.assert_allclose(before, behind, atol=1e-6)


def test_second_derivatives_are_exact_on_grid_points():
    """They need no spline of degree zero, for which CasADi writes outside its memory if the
    argument is a knot.
    """
    x, y, t = casadi.MX.sym("x"), casadi.MX.sym("y"), product()
    hessian = casadi.Function("h", [x, y], [casadi.hessian(t(x, y), casadi.vertcat(x, y))[0]])
    for a in X[1:-1]:
        for b in Y[1:-1]:
            exact = [[2 * (1 + b**3), 6 * a * b**2], [6 * a * b**2, 6 * a**2 * b]]
            np.testing.assert_allclose(np.asarray(hessian(a, b)), exact, atol=1e-11)


def test_a_table_of_three_arguments_passes_through_its_values():
    grids = (np.linspace(0, 1, 7), np.linspace(0, 2, 6) ** 2, np.array([0.0, 0.5, 1.0, 3.0, 4.0]))
    values = np.random.default_rng(2).normal(size=(7, 6, 5))
    symbols = [casadi.MX.sym(name) for name in "xyz"]
    f = casadi.Function("f", symbols, [table(*grids, values=values)(*symbols)])
    at = np.array(np.meshgrid(*grids, indexing="ij")).reshape(3, -1)
    np.testing.assert_allclose(np.asarray(f(*at)).ravel(), values.ravel(), atol=1e-13)


def test_a_large_table_is_quick():
    began = time.process_time()
    grid = np.linspace(0, 1, 200_000)
    v = casadi.MX.sym("v")
    f = casadi.Function("f", [v], [table(grid, values=np.sin(grid))(v)])
    assert float(f(0.5)) == pytest.approx(np.sin(0.5), abs=1e-15)
    assert time.process_time() - began < 3  # casadi.interpolant alone takes 7 s


def test_derivatives_are_those_of_the_function():
    gradient = numbers(product()).jacobian()
    x, y = 1.1, 0.4
    along_x, along_y = gradient(x, y, 0)
    assert [float(along_x), float(along_y)] == pytest.approx(
        [2 * x * (1 + y**3), 3 * x**2 * y**2], abs=1e-12
    )


def test_a_problem_along_the_edge_of_its_table_is_solved_and_certified():
    """The bound of the speed is the last grid point of the drag table."""
    speeds = np.linspace(0, 5, 11)
    drag = table(speeds, values=0.02 * speeds**2, name="drag")
    objectives = []
    for model, symbols in ((drag, casadi.MX), (lambda v: 0.02 * v**2, casadi.SX)):
        ocp = Problem("run to a stop", symbols=symbols)
        ph = ocp.phase()
        t = ph.time(start=0, end=free(1, 60))
        x, v = ph.state("x", start=0, end=40), ph.state("v", start=0, end=0, lower=0, upper=5)
        u = ph.control("u", lower=-2, upper=2)
        ph.dynamics({x: v, v: u - model(v)})
        ocp.minimize(ph.final(t))
        solution = solve(ocp).check()
        assert certify(solution).ok
        objectives.append(solution.objective)
    assert objectives[0] == pytest.approx(objectives[1], rel=1e-9)


@pytest.mark.parametrize(
    ("make", "culprit"),
    [
        (lambda: table(X, values=np.zeros(5), name="thrust"), "shape"),
        (lambda: table([0, 1, 1, 2], values=np.zeros(4), name="thrust"), "ascending"),
        (lambda: table([0, 1, 2, 3], values=[0, 1, np.nan, 2], name="thrust"), "not finite"),
        (lambda: product()(casadi.MX.sym("x")), "2, one for each grid"),
        (lambda: product()(casadi.SX.sym("x"), casadi.SX.sym("y")), "symbols=casadi.MX"),
    ],
)
def test_invalid_tables_are_rejected(make, culprit):
    with pytest.raises(ProblemError, match=culprit):
        make()
