"""Flow: derivatives of end states against exact ones and against differences."""

from __future__ import annotations

import time

import casadi
import numpy as np
import pytest
from scipy.linalg import expm

from trajopt.errors import ModelError
from trajopt.integrate import Flow

T, X, P = casadi.SX.sym("t"), casadi.SX.sym("x", 2), casadi.SX.sym("p", 2)
SWING = Flow(casadi.Function("f", [T, X, P], [casadi.vertcat(X[1], -P[0] * casadi.sin(X[0]) - P[1] * X[1] + casadi.cos(T))]))


def test_linear_flow_is_the_matrix_exponential():
    A = np.array([[0.0, 1.0, 0.0], [-2.0, -0.1, 0.5], [0.3, 0.0, -1.0]])
    x = casadi.SX.sym("x", 3)
    end = Flow(casadi.Function("f", [T, x], [casadi.DM(A) @ x])).sensitivities(0.0, 3.0, [1.0, 2.0, 3.0])
    assert end.by_start == pytest.approx(expm(3 * A), abs=1e-11)
    assert end.x == pytest.approx(expm(3 * A) @ [1.0, 2.0, 3.0], abs=1e-11)
    assert end.by_parameters.shape == (3, 0)


def test_derivatives_agree_with_complex_free_differences():
    start, p, d = np.array([0.5, 0.2]), np.array([4.9, 0.1]), 1e-4
    end = SWING.sensitivities(0.0, 4.0, start, p)

    def central(f, at):
        return np.column_stack([(f(at + d * e) - f(at - d * e)) / (2 * d) for e in np.eye(len(at))])

    assert end.by_start == pytest.approx(central(lambda x: SWING.end(0.0, 4.0, x, p), start), abs=1e-6)
    assert end.by_parameters == pytest.approx(central(lambda q: SWING.end(0.0, 4.0, start, q), p), abs=1e-6)
    assert end.by_t1 == pytest.approx(central(lambda s: SWING.end(0.0, s[0], start, p), np.array([4.0]))[:, 0], abs=1e-6)
    assert end.by_t0 == pytest.approx(central(lambda s: SWING.end(s[0], 4.0, start, p), np.array([0.0]))[:, 0], abs=1e-6)
    assert end.x == pytest.approx(SWING.end(0.0, 4.0, start, p), abs=1e-12)


def test_composition_and_inverse():
    p = [4.9, 0.1]
    first = SWING.sensitivities(0.0, 1.0, [0.5, 0.2], p)
    second = SWING.sensitivities(1.0, 2.0, first.x, p)
    whole = SWING.sensitivities(0.0, 2.0, [0.5, 0.2], p)
    assert second.by_start @ first.by_start == pytest.approx(whole.by_start, abs=1e-11)
    back = SWING.sensitivities(2.0, 0.0, whole.x, p)
    assert back.by_start @ whole.by_start == pytest.approx(np.eye(2), abs=1e-10)
    # Liouville: the volume shrinks at the rate of the friction.
    assert np.linalg.det(whole.by_start) == pytest.approx(np.exp(-0.1 * 2.0), abs=1e-11)


def test_path_passes_the_end():
    path = SWING.path(0.0, 4.0, [0.5, 0.2], [4.9, 0.1])
    assert path(4.0) == pytest.approx(SWING.end(0.0, 4.0, [0.5, 0.2], [4.9, 0.1]), abs=1e-12)
    middle = SWING.end(0.0, 1.7, [0.5, 0.2], [4.9, 0.1])
    assert path(1.7) == pytest.approx(middle, abs=1e-7)


def test_mx_rates_work_too():
    t, x = casadi.MX.sym("t"), casadi.MX.sym("x")
    grid = np.linspace(-2, 2, 41)
    table = casadi.interpolant("table", "bspline", [grid], grid**2)
    end = Flow(casadi.Function("f", [t, x], [-table(x)])).sensitivities(0.0, 1.0, [1.0])
    assert end.x[0] == pytest.approx(0.5, abs=1e-5)  # x' = -x^2
    assert end.by_start[0, 0] == pytest.approx(0.25, abs=1e-4)


def test_many_runs_are_fast():
    SWING.sensitivities(0.0, 1.0, [0.5, 0.2], [4.9, 0.1])
    start = time.perf_counter()
    for _ in range(50):
        SWING.sensitivities(0.0, 1.0, [0.5, 0.2], [4.9, 0.1])
    assert time.perf_counter() - start < 2.0


def test_bad_input():
    with pytest.raises(ModelError, match="does not fit"):
        SWING.end(0.0, 1.0, [1.0], [1.0, 2.0])
    with pytest.raises(ModelError, match="not the rate"):
        Flow(casadi.Function("f", [X], [X]))
