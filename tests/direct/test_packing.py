"""What a layout tells of its points: their times and weights, the intervals they lie in, and the
controls there.
"""

import numpy as np
import pytest

from trajopt.direct.kernels import make_kernels
from trajopt.direct.mesh import Mesh
from trajopt.direct.packing import make_layout, pack, unpack
from trajopt.direct.scaling import scales
from trajopt.direct.schemes import Gauss, HermiteSimpson, Lobatto, Radau, Trapezoidal
from trajopt.direct.transcription import transcribe
from trajopt.statement.problem import Problem
from trajopt.trajectory.curve import Curve
from trajopt.trajectory.trajectory import Trajectories, Trajectory

BREAKS = np.array([0.0, 0.15, 0.5, 0.6, 1.0])
DEGREES = np.array([3, 2, 3, 4])
SCHEMES = [Radau(), Gauss(), Lobatto(), HermiteSimpson(), Trapezoidal()]


def layout_of(scheme, mesh, controls=2):
    ocp = Problem("free")
    ph = ocp.phase()
    ph.time(start=0, end=2)
    x, u = ph.state("x"), [ph.control(f"u{j}") for j in range(controls)]
    ph.dynamics({x: sum(u) - x})
    ocp.minimize(ph.final(x))
    form = ocp.finish()
    return make_layout(form, make_kernels(form), scheme, (mesh,))


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.name)
def test_weights_and_times_of_the_points_integrate_polynomials(scheme):
    ph = layout_of(scheme, Mesh(BREAKS, DEGREES)).phases[0]
    exact = min(rule.points.size for rule in ph.grid.rules) - 1
    for power in range(exact + 1):
        assert ph.grid.weights @ ph.grid.point_times**power == pytest.approx(
            1 / (power + 1), rel=1e-14
        )


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.name)
def test_points_lie_in_their_intervals_and_sit_at_their_state_points(scheme):
    ph = layout_of(scheme, Mesh(BREAKS, DEGREES)).phases[0]
    t, k = ph.grid.point_times, ph.grid.interval_of
    assert np.all((BREAKS[k] <= t) & (t <= BREAKS[k + 1]))
    assert np.array_equal(np.bincount(k), np.diff([*ph.grid.first_point, ph.grid.points]))
    np.testing.assert_allclose(ph.grid.state_times[ph.grid.point_state], t, rtol=1e-15)


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.name)
def test_linear_controls_are_what_they_were_guessed_to_be_at_every_point(scheme):
    few = np.array([[2, 0], [0, 2], [2, 2], [0, 0]])  # straight, or free at every point
    layout = layout_of(scheme, Mesh(BREAKS, DEGREES, control_points=few))

    def line(slopes):
        return lambda tau: 1.0 + np.outer(tau, slopes)

    curves = [
        Curve.linear(np.array([0.0, 2.0]), line(slopes)(np.array([0.0, 1.0])))
        for slopes in ([1.0], [], [3.0, -2.0])
    ]
    guess = Trajectories((Trajectory(*curves),), np.zeros(0))
    values = unpack(layout.phases[0], pack(layout, guess))
    np.testing.assert_allclose(
        values.U, line([3.0, -2.0])(layout.phases[0].grid.point_times), rtol=1e-14
    )
    np.testing.assert_allclose(values.X, line([1.0])(layout.phases[0].grid.state_times), rtol=1e-15)


def test_controls_with_one_value_on_each_interval_are_constant():
    layout = layout_of(
        Radau(), Mesh(BREAKS, DEGREES, control_points=np.array([[1], [1], [1], [1]])), controls=1
    )
    ph = layout.phases[0]
    y = np.zeros(layout.unknowns)
    ph.control_unknowns(y)[ph.control_grid.offset[:, 0]] = [1.0, 2.0, 3.0, 4.0]
    np.testing.assert_allclose(ph.controls(y)[:, 0], 1.0 + ph.grid.interval_of, rtol=1e-15)


def test_a_phase_that_collapses_within_the_solvers_tolerance_does_not_run_backwards():
    ph = (layout := layout_of(Radau(), Mesh(BREAKS, DEGREES))).phases[0]
    y = np.zeros(layout.unknowns)
    ph.span_times(y)[:] = 2.5, 2.5 - 1e-11
    values = unpack(ph, y)
    assert values.tf >= values.t0
    assert np.all(np.diff(values.breaks) >= 0)


def test_every_static_variable_has_the_size_of_its_own_guess():
    ocp = Problem("design")
    length = ocp.variable("length", lower=0.0, upper=2.0, guess=1.0)
    stiffness = ocp.variable("stiffness", lower=0.0, upper=1e6, guess=2e5)
    forces = ocp.variable("forces", 2, lower=-1e4, upper=3e4, guess=[1e4, -2e3])
    ocp.require(length * stiffness >= forces[0] + forces[1])
    ph = ocp.phase()
    ph.time(start=0, end=1)
    ph.dynamics({ph.state("x", start=0): ph.control("u", lower=-1, upper=1)})
    form = ocp.finish()
    kernels = make_kernels(form)
    layout = make_layout(form, kernels, Radau(), (Mesh.uniform(2, 2),))
    start = np.zeros(layout.unknowns)
    layout.statics(start)[:] = [1.0, 2e5, 1e4, -2e3]
    sizes, _ = scales(layout, transcribe(kernels, layout, start, np.zeros(0)), 1e-3)
    np.testing.assert_array_equal(layout.statics(sizes), [1.0, 2e5, 1e4, 2e3])


def test_a_jump_of_a_control_at_a_break_has_its_value_from_both_sides():
    """Points at the end of an interval get the value from the left, those of the next interval the
    value from the right.
    """
    layout = layout_of(Radau(), Mesh(BREAKS, DEGREES), controls=1)
    ph, times = layout.phases[0], 3.0 + 4.0 * BREAKS
    flat = Curve.linear(np.array([3.0, 7.0]), np.zeros((2, 1)))
    steps = Curve.steps(times, np.arange(BREAKS.size - 1.0)[:, None])
    y = pack(layout, Trajectories((Trajectory(flat, flat.rows(slice(0, 0)), steps),), np.zeros(0)))
    np.testing.assert_array_equal(ph.controls(y)[:, 0], ph.grid.interval_of)


def test_a_phase_that_vanished_does_not_run_backwards():
    """A program keeps times in order within its tolerance; a curve needs them in order."""
    layout = layout_of(Radau(), Mesh(BREAKS, DEGREES))
    y = np.zeros(layout.unknowns)
    layout.phases[0].span_times(y)[:] = 4e-11, 1e-11
    values = unpack(layout.phases[0], y)
    assert values.t0 == 1e-11
    assert np.all(np.diff(values.breaks) > 0)
