"""Curves: polynomials are kept exactly, bounds are respected, breaks are right-continuous."""

import numpy as np
import pytest

from trajopt.errors import UsageError
from trajopt.trajectory.curve import Curve, lagrange_basis, stacked_curves

BREAKS = np.array([-1.0, 0.5, 0.6, 4.0])


def interpolant(function, count, breaks=BREAKS, **limits):
    nodes = tuple(0.5 - 0.5 * np.cos(np.pi * (np.arange(count) + 0.5) / count) for _ in breaks[:-1])
    values = tuple(
        np.array([np.atleast_1d(function(a + (b - a) * s)) for s in place])
        for a, b, place in zip(breaks[:-1], breaks[1:], nodes, strict=True)
    )
    return Curve(np.asarray(breaks, dtype=float), nodes, values, **limits)


@pytest.mark.parametrize("degree", [1, 2, 5, 9])
def test_polynomials_are_reproduced_with_their_derivatives(degree):
    p = np.polynomial.Polynomial(np.random.default_rng(degree).normal(size=degree + 1))
    curve = interpolant(p, degree + 1)
    times = np.linspace(-1.0, 4.0, 101)
    scale = np.max(np.abs(p(times)))
    np.testing.assert_allclose(curve(times), p(times), atol=1e-13 * scale)
    for order, error in ((1, 1e-11), (2, 1e-9)):
        exact = p.deriv(order)(times)
        np.testing.assert_allclose(
            curve.evaluate(times, order=order)[:, 0],
            exact,
            atol=error * max(scale, np.abs(exact).max()),
        )


def test_error_falls_with_the_order_of_the_nodes():
    errors = []
    for pieces in (4, 8, 16):
        curve = interpolant(np.sin, 4, np.linspace(0, 3, pieces + 1))
        times = np.linspace(0, 3, 997)
        errors.append(np.max(np.abs(curve(times) - np.sin(times))))
    slopes = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(slopes, 4.0, atol=0.25)


def test_high_degrees_stay_well_conditioned():
    curve = interpolant(np.cos, 31, [0.0, 4.0])
    times = np.linspace(0, 4, 333)
    assert np.max(np.abs(curve(times) - np.cos(times))) < 1e-12


def test_basis_is_a_partition_of_unity_and_cardinal():
    nodes = np.array([0.05, 0.3, 0.62, 0.97])
    np.testing.assert_allclose(lagrange_basis(nodes, nodes), np.eye(4), atol=1e-13)
    at = np.linspace(0, 1, 23)
    np.testing.assert_allclose(lagrange_basis(nodes, at).sum(axis=1), 1.0, atol=1e-13)
    np.testing.assert_allclose(lagrange_basis(nodes, at, order=1).sum(axis=1), 0.0, atol=1e-11)


def test_curves_are_right_continuous_and_left_gives_left_limits():
    step = Curve(
        np.array([0.0, 1.0, 2.0]), (np.array([0.5]),) * 2, (np.array([[3.0]]), np.array([[-7.0]]))
    )
    assert step(1.0) == -7.0
    assert step.evaluate(np.array([1.0]), left=True)[0, 0] == 3.0
    assert step(np.nextafter(1.0, 0.0)) == 3.0
    assert step(2.0) == -7.0


def test_limits_hold_between_the_nodes():
    overshooting = interpolant(lambda t: np.sign(t - 1.9), 6)
    limited = interpolant(
        lambda t: np.sign(t - 1.9), 6, lower=np.array([-1.0]), upper=np.array([1.0])
    )
    times = np.linspace(-1, 4, 501)
    assert np.max(np.abs(overshooting(times))) > 1.05  # so that the next line says something
    assert np.max(np.abs(limited(times))) <= 1.0


def test_vectors_scalars_and_components():
    curve = interpolant(lambda t: [t, t**2, 1.0], 3)
    assert curve.size == 3
    assert curve(2.0).shape == (3,)
    assert curve([1.0, 2.0]).shape == (2, 3)
    part = curve.rows(slice(1, 2), unit="m")
    assert part.unit == "m"
    assert isinstance(part(3.0), float)
    assert part(3.0) == pytest.approx(9.0, abs=1e-13)
    assert curve.points.shape == (curve.t.size, 3)
    np.testing.assert_allclose(curve.points[:, 1], curve.t**2, atol=1e-13)


def test_components_have_their_own_bounds():
    lower, upper = np.array([-0.9, -2.5]), np.array([0.5, 2.0])
    waves = interpolant(lambda t: np.sign(t - 1.9) * np.array([1, 3]), 6, lower=lower, upper=upper)
    times = np.linspace(-1, 4, 501)
    for row in range(2):
        part = waves.rows(slice(row, row + 1))
        np.testing.assert_allclose(part(times), waves(times)[:, row], rtol=0, atol=1e-14)
        assert (part(times).min(), part(times).max()) == (lower[row], upper[row])


def test_clipping_makes_kinks_where_the_polynomial_reaches_a_bound():
    parabola = interpolant(lambda t: t**2, 4, lower=np.array([1.0]), upper=np.array([4.0]))
    np.testing.assert_allclose(parabola.clipped_at(), [1.0, 2.0], rtol=0, atol=1e-12)
    assert interpolant(lambda t: t**2, 4).clipped_at().size == 0


def test_times_outside_are_rejected_beyond_round_off():
    curve = interpolant(np.sin, 3)
    with pytest.raises(UsageError, match="outside"):
        curve(4.001)
    with pytest.raises(UsageError, match="outside"):
        curve([-1.1, 0.0])
    assert curve(4.0 + 1e-12) == curve(4.0)


def test_curves_on_other_pieces_and_nodes_are_stacked_without_error():
    line = Curve.linear(np.array([0.0, 1.0, 4.0]), np.array([[1.0], [3.0], [0.0]]))
    cubic = Curve.through(
        np.array([0.0, 2.5, 4.0]), np.linspace(0, 1, 4), np.arange(8.0).reshape(2, 4, 1) ** 2
    )
    both, t = stacked_curves([line, cubic]), np.linspace(0, 4, 41)
    assert both.breaks.tolist() == [0.0, 1.0, 2.5, 4.0]
    np.testing.assert_allclose(
        both.evaluate(t), np.hstack([line.evaluate(t), cubic.evaluate(t)]), atol=1e-12
    )
    np.testing.assert_allclose(
        both.evaluate(np.array([2.5]), left=True)[0, 1], 9.0
    )  # its jump is kept


def test_times_within_round_off_of_a_break_are_on_the_side_of_the_mask():
    steps = Curve.steps(np.array([0.0, 0.1 + 0.2, 1.0]), np.array([[1.0], [2.0]]))
    near = np.array([0.3, 0.3, 0.1 + 0.2])
    assert steps.evaluate(near, left=np.array([True, False, False])).ravel().tolist() == [
        1.0,
        2.0,
        2.0,
    ]


def test_a_curve_over_another_interval_has_its_values_at_the_same_fractions():
    line = Curve.linear(np.array([1.0, 2.0, 5.0]), np.array([[0.0], [2.0], [-1.0]]))
    tau = np.linspace(0, 1, 7)
    np.testing.assert_allclose(
        line.over(-1.0, 1.0).evaluate(2 * tau - 1), line.evaluate(1 + 4 * tau), atol=1e-14
    )
