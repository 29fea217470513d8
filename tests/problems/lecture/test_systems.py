"""The lecture's systems against its own equations."""

from __future__ import annotations

import numpy as np
import pytest

from problems.lecture import (
    closed_four_link,
    decay,
    lcr_circuit,
    mass_spring_damper,
    pendulum,
    pendulum_cartesian,
    two_link_arm,
)
from trajopt.errors import FileError, UsageError
from trajopt.integrate import Dop853, Euler, simulate
from trajopt.system import System


def rates(system: System, x: np.ndarray) -> np.ndarray:
    return np.asarray(system.function(system.rate)(0.0, x, system.parameter_values)).ravel()


def states(system: System, count: int = 20) -> np.ndarray:
    return np.random.default_rng(3).uniform(-1.2, 1.2, (count, len(system.states)))


def arm_matrices(theta1, theta2, omega1, omega2, g=9.8):
    """The lecture's H and right-hand side of the 2-link arm, without torques."""
    l, lc, J, m = 1.0, 0.5, 1 / 12, 1.0
    H11 = J + m * lc**2 + J + m * (l**2 + lc**2 + 2 * l * lc * np.cos(theta2))
    H12 = J + m * (lc**2 + l * lc * np.cos(theta2))
    H22 = J + m * lc**2
    h12 = m * l * lc * np.sin(theta2)
    G1, G12 = (m * lc + m * l) * g * np.cos(theta1), m * lc * g * np.cos(theta1 + theta2)
    f = [h12 * omega2**2 + 2 * h12 * omega1 * omega2 - G1 - G12, -h12 * omega1**2 - G12]
    return np.array([[H11, H12], [H12, H22]]), np.array(f)


def test_two_link_arm_equals_that_of_the_lecture():
    system = two_link_arm(tau1=0.7, tau2=-0.4)
    for x in states(system):
        H, f = arm_matrices(*x)
        assert rates(system, x)[2:] == pytest.approx(
            np.linalg.solve(H, f + np.array([0.7, -0.4])), abs=1e-11
        )


def test_closed_four_link_equals_that_of_the_lecture_with_l4_in_the_third_equation():
    system = closed_four_link(tau1=0.3, tau3=0.2)
    run = simulate(system, Dop853(1e-10), until=2.0)
    for x in run.x[::20]:
        q, w = x[:4], x[4:]
        s1, s12, s3, s34 = np.sin([q[0], q[0] + q[1], q[2], q[2] + q[3]])
        c1, c12, c3, c34 = np.cos([q[0], q[0] + q[1], q[2], q[2] + q[3]])
        (left, f12), (right, f34) = (
            arm_matrices(q[0], q[1], w[0], w[1]),
            arm_matrices(q[2], q[3], w[2], w[3]),
        )
        jacobian = np.array([[-s1 - s12, -s12, s3 + s34, s34], [c1 + c12, c12, -c3 - c34, -c34]])
        rows = np.array(
            [[c1, c12, -c3, -c34], [s1, s12, -s3, -s34]]
        )  # the turning of the links, squared, pulls inwards
        drift = -rows @ np.array([w[0] ** 2, (w[0] + w[1]) ** 2, w[2] ** 2, (w[2] + w[3]) ** 2])
        H = np.block([[left, np.zeros((2, 2))], [np.zeros((2, 2)), right]])
        whole = np.block([[H, -jacobian.T], [jacobian, np.zeros((2, 2))]])
        force = np.concatenate([f12 + np.array([0.3, 0.0]), f34 + np.array([0.2, 0.0]), -drift])
        assert rates(system, x)[4:] == pytest.approx(np.linalg.solve(whole, force)[:4], abs=1e-9)


def test_pendulum_models_by_angle_and_by_coordinates_agree():
    angle = simulate(pendulum(), Dop853(1e-12), until=10.0)
    plane = simulate(pendulum_cartesian(), Dop853(1e-12), until=10.0)
    times = np.linspace(0, 10, 101)
    theta = angle.at(times)[:, 0]
    assert plane.at(times)[:, :2] == pytest.approx(
        np.column_stack([2 * np.sin(theta), 2 - 2 * np.cos(theta)]), abs=1e-9
    )
    pull = 0.01 * (2 * angle["omega"][-1] ** 2 + 9.8 * np.cos(angle["theta"][-1]))
    assert abs(plane["reaction_rod"][-1]) == pytest.approx(pull, abs=1e-9)


def test_the_printed_table_of_eulers_scheme_is_of_steps_of_a_millisecond():
    run = simulate(decay(), Euler(1e-3), until=1.0)
    printed = (
        1.0,
        0.818567,
        0.670052,
        0.548482,
        0.448969,
        0.367511,
        0.300833,
        0.246252,
        0.201573,
        0.165001,
        0.135065,
    )
    np.testing.assert_allclose(run["x"][::100], printed, atol=5e-7)


def test_a_force_over_time_from_a_table_and_from_a_function(tmp_path):
    """x'' + x = sin(2 t) from rest: x = (2 sin t - sin 2 t)/3; tables are linear between rows."""
    (tmp_path / "f.py").write_text("from casadi import sin\n\ndef f(t):\n    return sin(2 * t)\n")
    t = np.linspace(0, 2, 401)
    rows = "".join(f"{a},{np.sin(2 * a)}\n" for a in t)
    (tmp_path / "f.csv").write_text("t,f\n" + rows)
    data = {"damping": 0.0, "stiffness": 1.0, "x": 0.0}
    exact = (2 * np.sin(2.0) - np.sin(4.0)) / 3
    by_function = mass_spring_damper(force_file=f"{tmp_path}/f.py:f", **data)
    assert simulate(by_function, until=2.0)["x"][-1] == pytest.approx(exact, abs=1e-9)
    by_table = mass_spring_damper(force_file=f"{tmp_path}/f.csv", **data)
    assert simulate(by_table, until=2.0)["x"][-1] == pytest.approx(exact, abs=1e-5)
    circuit = lcr_circuit(
        inductance=1.0, capacity=1.0, resistance=0.0, voltage_file=f"{tmp_path}/f.py:f"
    )
    assert simulate(circuit, until=2.0)["q"][-1] == pytest.approx(exact, abs=1e-9)
    (tmp_path / "f.csv").write_text("t,f\n0,1\n0,2\n")
    with pytest.raises(FileError, match="do not increase"):
        mass_spring_damper(force_file=f"{tmp_path}/f.csv")
    with pytest.raises(UsageError, match="neither a number nor a file"):
        mass_spring_damper(force_file="sin")
