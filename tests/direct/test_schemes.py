"""Every scheme: its algebra on one interval, and its order seen by halving the widths of real
solves.
"""

import casadi
import numpy as np
import pytest

from trajopt import Problem, solve
from trajopt.direct.collocation import Collocation
from trajopt.direct.mesh import Mesh
from trajopt.direct.schemes import (
    Gauss,
    HermiteSimpson,
    Lobatto,
    Radau,
    Trapezoidal,
    can_raise_degree,
    integration_matrix,
)
from trajopt.errors import UsageError
from trajopt.nlp.backends import Ipopt

ALL = [(Trapezoidal(), 1), (HermiteSimpson(), 2)]
ALL += [(scheme, d) for scheme in (Gauss(), Radau(), Lobatto()) for d in (1, 2, 3, 4, 6, 9)]
NAMES = [f"{scheme.name} {d}" for scheme, d in ALL]
every_rule = pytest.mark.parametrize("rule", [scheme.rule(d) for scheme, d in ALL], ids=NAMES)


@every_rule
def test_a_rule_is_complete(rule):
    assert rule.support[0] == 0.0
    assert rule.support[-1] == 1.0
    assert np.all(np.diff(rule.support) > 0)
    np.testing.assert_allclose(rule.support[rule.at], rule.points, atol=0)
    assert rule.P.shape == (rule.defects, rule.support.size)
    assert rule.Q.shape == (rule.defects, rule.points.size)
    # as many equations as values that follow the first
    assert rule.defects == rule.support.size - 1
    assert np.all(rule.weights > 0)


@every_rule
def test_defects_vanish_on_polynomials_of_the_degree(rule):
    """x = t^k with its rate k t^(k-1) solves the defects for k up to the degree; constants first of
    all.
    """
    np.testing.assert_allclose(rule.P @ np.ones(rule.support.size), 0, atol=1e-11)
    for k in range(1, rule.degree + 1):
        defect = rule.P @ rule.support**k + rule.Q @ (k * rule.points ** (k - 1))
        np.testing.assert_allclose(defect, 0, atol=1e-11 * rule.degree**2)


@every_rule
def test_defects_determine_the_values_after_the_first(rule):
    assert np.linalg.cond(rule.P[:, 1:]) < 1e4


@every_rule
def test_quadrature_is_exact_to_its_order_and_no_further(rule):
    for k in range(rule.order):
        assert rule.weights @ rule.points**k == pytest.approx(1 / (k + 1), abs=1e-13)
    # The error on t^order is that of the squared node polynomial; far below round-off of the
    # moments for high degrees.
    if rule.degree <= 4:
        assert abs(rule.weights @ rule.points**rule.order - 1 / (rule.order + 1)) > 1e-8


@every_rule
def test_the_end_value_is_the_quadrature_of_the_rates(rule):
    """Eliminating the inner values leaves x(1) = x(0) + weights . rates: the cost is integrated
    like the motion.
    """
    last = np.linalg.solve(rule.P[:, 1:], -np.hstack([rule.P[:, :1], rule.Q]))[-1]
    np.testing.assert_allclose(last, [1.0, *rule.weights], atol=1e-11)


def test_integration_matrix_integrates_polynomials():
    nodes, ends = np.array([0.1, 0.4, 0.5, 0.9]), np.array([0.0, 0.3, 1.0])
    for k in range(4):
        np.testing.assert_allclose(
            integration_matrix(nodes, ends) @ nodes**k, ends ** (k + 1) / (k + 1), atol=1e-14
        )


def test_fixed_degrees_stay_fixed():
    assert Trapezoidal().rule(7).degree == 1
    assert HermiteSimpson().rule(7).degree == 2
    assert not can_raise_degree(Trapezoidal())
    assert not can_raise_degree(HermiteSimpson())
    assert all(can_raise_degree(scheme) for scheme in (Gauss(), Radau(), Lobatto()))


@pytest.mark.parametrize("degree", [0, -1, 1.5])
def test_a_degree_is_a_positive_whole_number(degree):
    for scheme in (Gauss(), Radau(), Lobatto()):
        with pytest.raises(UsageError, match="degree"):
            scheme.rule(degree)


# min 1/2 int x^2 + u^2, x' = u, x(0) = 1 over [0, 1]: x = cosh(1 - t) / cosh 1, costate sinh(1 - t)
# / cosh 1, cost tanh(1) / 2. The nonlinear twin is the same motion seen through y = exp(x), whose
# costate is that of x divided by y.


def linear():
    ocp = Problem("linear")
    ph = ocp.phase()
    ph.time(end=1)
    x, u = ph.state("x", start=1), ph.control("u")
    ph.dynamics({x: u})
    ocp.minimize(ph.integral((x**2 + u**2) / 2))
    return ocp


def nonlinear():
    ocp = Problem("nonlinear")
    ph = ocp.phase()
    ph.time(end=1)
    y, u = ph.state("x", start=np.e, guess=2), ph.control("u")
    ph.dynamics({y: y * u})
    ocp.minimize(ph.integral((casadi.log(y) ** 2 + u**2) / 2))
    return ocp


def exact(build, t):
    x, costate = np.cosh(1 - t) / np.cosh(1), np.sinh(1 - t) / np.cosh(1)
    return (x, costate) if build is linear else (np.exp(x), costate / np.exp(x))


def errors(build, scheme, intervals, degree):
    """At the nodes: (state, costate); and of the quadrature (cost)."""
    method = Collocation(
        scheme,
        Mesh.uniform(intervals, degree),
        Ipopt(tolerance=1e-12),
        tolerance=np.inf,
        max_passes=1,
    )
    solution = solve(build(), method).check()
    t = solution.phases["main"].breaks
    state, costate = exact(build, t)
    return np.array(
        [
            np.abs(solution["x"](t) - state).max(),
            np.abs(solution.costate("x")(t) - costate).max(),
            abs(solution.objective - np.tanh(1) / 2),
        ]
    )


def slopes(build, scheme, degree, coarse):
    rough, fine = (errors(build, scheme, n, degree) for n in (coarse, 2 * coarse))
    assert np.all(fine > 1e-13)  # else round-off, not the scheme, was seen
    return np.log2(rough / fine)


ORDERS = [
    (Trapezoidal(), 1, 32, 2), (HermiteSimpson(), 2, 8, 4),
    (Gauss(), 1, 16, 2), (Gauss(), 2, 8, 4), (Gauss(), 3, 4, 6), (Gauss(), 4, 2, 8),
    (Radau(), 1, 64, 1), (Radau(), 2, 16, 3), (Radau(), 3, 4, 5), (Radau(), 4, 2, 7),
    (Lobatto(), 1, 32, 2), (Lobatto(), 2, 8, 4),
]  # fmt: skip


@pytest.mark.parametrize("build", [linear, nonlinear])
@pytest.mark.parametrize(
    ("scheme", "degree", "coarse", "order"), ORDERS, ids=[f"{c[0].name} {c[1]}" for c in ORDERS]
)
def test_order_of_states_costates_and_quadrature(build, scheme, degree, coarse, order):
    assert scheme.rule(degree).order == order
    np.testing.assert_allclose(slopes(build, scheme, degree, coarse), order, atol=0.3)


@pytest.mark.parametrize("degree", [3, 4])
def test_lobatto_of_higher_degree(degree):
    """A control shared by two intervals answers to both their multipliers: the motion keeps order
    4, the cost its own.
    """
    state, costate, cost = slopes(nonlinear, Lobatto(), degree, 8 if degree == 3 else 2)
    assert min(state, costate) > 2.5
    assert cost == pytest.approx(2 * degree, abs=0.4)


@pytest.mark.parametrize(
    ("scheme", "degree"), [(Gauss(), 3), (Radau(), 3), (Lobatto(), 3), (HermiteSimpson(), 2)]
)
def test_trajectories_between_the_nodes_converge_with_their_polynomials(scheme, degree):
    t = np.linspace(0, 1, 301)
    gaps = []
    for n in (8, 16):
        solution = solve(
            nonlinear(),
            Collocation(scheme, Mesh.uniform(n, degree), Ipopt(tolerance=1e-12), max_passes=1),
        )
        state, costate = exact(nonlinear, t)
        control = -exact(linear, t)[1]
        values = (
            (solution["x"], state),
            (solution["u"], control),
            (solution.costate("x"), costate),
        )
        gaps.append([np.abs(curve(t) - value).max() for curve, value in values])
    state, control, costate = np.log2(np.array(gaps[0]) / np.array(gaps[1]))
    assert state > degree + 0.6  # a polynomial of degree d misses by O(h^(d + 1))
    assert control > degree - 0.3
    assert costate > degree - 0.3
