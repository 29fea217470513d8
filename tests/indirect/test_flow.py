"""The flow of an arc: its order, its sensitivities, and its grid."""

import importlib

import numpy as np
import pytest

from trajopt.indirect.control_law import arc_law
from trajopt.indirect.flow import ArcFlow
from trajopt.indirect.grid import Probe, choose_grid
from trajopt.indirect.hamiltonian import phase_hamiltonians
from trajopt.indirect.modes import Mode


@pytest.fixture(scope="module")
def pendulum():
    module = importlib.import_module("problems.classical.cart_pole")
    flow = ArcFlow(arc_law(phase_hamiltonians(module.build().finish())[0], Mode(("interior",))))
    start = np.array([[0.0, 0.0, 0.0, 0.0, *module.REFERENCE.costates.values()]])
    form_p = module.build().finish().parameter_values()
    return flow, start, np.array([0.0, 0.6, 1.0]), form_p


def run(pendulum, steps):
    flow, start, numbers, p = pendulum
    return flow.run(start, np.linspace(0, 1, steps + 1)[None, :], numbers, p)


def test_order_eight(pendulum):
    exact = run(pendulum, 64).end
    coarse, fine = (np.abs(run(pendulum, n).end - exact).max() for n in (7, 14))
    assert np.log2(coarse / fine) == pytest.approx(8, abs=0.5)


def test_sensitivities_are_the_derivatives_of_the_discrete_flow(pendulum):
    """Even with steps so coarse that the flow itself is wrong."""
    flow, start, numbers, p = pendulum
    found = run(pendulum, 2)
    steps = np.array([[0.0, 0.5, 1.0]])
    for j in range(8):
        h = 1e-6 * max(1.0, abs(start[0, j]))
        shifted = [
            flow.run(start + s * h * np.eye(8)[j], steps, numbers, p).end[0] for s in (1, -1)
        ]
        np.testing.assert_allclose(
            found.by_start[0, :, j], (shifted[0] - shifted[1]) / (2 * h), rtol=1e-5, atol=1e-6
        )
    for j in range(3):
        shifted = [
            flow.run(start, steps, numbers + s * 1e-6 * np.eye(3)[j], p).end[0] for s in (1, -1)
        ]
        np.testing.assert_allclose(
            found.by_numbers[0, :, j], (shifted[0] - shifted[1]) / 2e-6, rtol=1e-5, atol=1e-5
        )


def test_the_flow_is_symplectic(pendulum):
    """The derivative of a Hamiltonian flow keeps the two-form dx ^ d costate."""
    by_start = run(pendulum, 32).by_start[0, :8, :8]
    J = np.block([[np.zeros((4, 4)), np.eye(4)], [-np.eye(4), np.zeros((4, 4))]])
    np.testing.assert_allclose(
        by_start.T @ J @ by_start, J, atol=1e-7 * np.abs(by_start).max() ** 2
    )


def test_the_grid_meets_its_tolerance():
    module = importlib.import_module("problems.classical.lqr_scalar")
    flow = ArcFlow(arc_law(phase_hamiltonians(module.build().finish())[0], Mode(("interior",))))
    numbers, p = np.array([0.0, 30.0, 1.0]), np.zeros(0)

    def guess(
        tau,
        # x' = -costate, costate' = -x: the decaying mode, from which neighbours separate all the
        # same
    ):
        return np.stack([np.exp(-30 * tau), np.exp(-30 * tau)], axis=1)

    counts = []
    for tolerance in (1e-8, 1e-12):
        grid = choose_grid(flow, Probe(guess, np.ones(3), np.zeros(0)), numbers, p, tolerance)
        _, errors = flow.trace(guess(grid.starts), grid.steps, numbers, p)
        assert errors.max() < 10 * tolerance
        counts.append(grid.steps.shape[0] * (grid.steps.shape[1] - 1))
        # Errors grow at most as in the linear system, by less than the limit in each segment.
        growth = np.abs(flow.run(guess(grid.starts), grid.steps, numbers, p).by_start[:, :2]).max(
            axis=(1, 2)
        )
        assert growth.max() < 1e4
    assert counts[1] > counts[0]
