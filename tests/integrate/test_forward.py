"""flow: discontinuous controls, breaks, invalid input."""

from __future__ import annotations

import casadi
import numpy as np
import pytest

from trajopt.errors import ModelError, UsageError
from trajopt.integrate import controlled, flow


def thrust(t: float) -> np.ndarray:
    """Bang-bang control: the double integrator from rest to rest in minimum time."""
    return np.array([1.0 if t < 1.0 else -1.0])


T, X, U = casadi.SX.sym("t"), casadi.SX.sym("x", 2), casadi.SX.sym("u")
DOUBLE_INTEGRATOR = casadi.Function("f", [T, X, U], [casadi.vertcat(X[1], U)])


def test_breaks_make_discontinuous_controls_exact():
    path = flow(controlled(DOUBLE_INTEGRATOR, thrust), 0, 2, [0.0, 0.0], breaks=[1.0])
    assert path(2.0) == pytest.approx([1.0, 0.0], abs=1e-15)
    assert path(1.0) == pytest.approx([0.5, 1.0], abs=1e-15)
    assert len(path.t) < 20


def test_a_missing_break_reduces_accuracy():
    """Without the break the same accuracy takes many more steps."""
    blind = flow(controlled(DOUBLE_INTEGRATOR, thrust), 0, 2, [0.0, 0.0])
    assert len(blind.t) > 30


def test_breaks_work_backwards_in_time():
    path = flow(controlled(DOUBLE_INTEGRATOR, thrust), 2, 0, [1.0, 0.0], breaks=[1.0])
    assert path(0.0) == pytest.approx([0.0, 0.0], abs=1e-15)


def test_casadi_and_python_rates_agree():
    rate = casadi.Function("f", [T, X], [casadi.vertcat(X[1], -casadi.sin(X[0]) * casadi.cos(T))])
    a = flow(rate, 0, 5, [1.0, 0.0])
    b = flow(lambda t, x: np.array([x[1], -np.sin(x[0]) * np.cos(t)]), 0, 5, [1.0, 0.0])
    assert a(5.0) == pytest.approx(b(5.0), abs=1e-11)


def test_invalid_input_is_rejected():
    with pytest.raises(UsageError, match="zero duration"):
        flow(lambda t, x: x, 1, 1, [1.0])
    with pytest.raises(UsageError, match="finite times"):
        flow(lambda t, x: x, 0, float("nan"), [1.0])
    with pytest.raises(ModelError, match="not the rate of 3 states"):
        flow(casadi.Function("f", [T, X], [X]), 0, 1, [1.0, 2.0, 3.0])
    with pytest.raises(UsageError, match="outside the motion"):
        flow(lambda t, x: x, 0, 1, [1.0])(2.0)
