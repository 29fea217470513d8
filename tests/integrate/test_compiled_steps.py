"""The compiled steps of DOP853 are those of SciPy, forward and backward, and end with the same
errors.
"""

import casadi
import numpy as np
import pytest
import scipy.integrate

from trajopt.compiled.library import library
from trajopt.errors import SimulationError
from trajopt.integrate import Dop853
from trajopt.integrate.library_integrators import _scipy_pieces
from trajopt.integrate.rates import rate_of

pytestmark = pytest.mark.skipif(library() is None, reason="the compiled core is not available")

t, x = casadi.SX.sym("t"), casadi.SX.sym("x", 2)
PENDULUM = rate_of(
    casadi.Function(
        "f", [t, x], [casadi.vertcat(x[1], -casadi.sin(x[0]) + 0.1 * casadi.cos(3 * t))]
    ),
    ("a", "b"),
)
BLOW_UP = rate_of(casadi.Function("f", [t, x], [casadi.vertcat(x[0] ** 2, 0)]), ("a", "b"))
START = np.array([2.0, 0.5])


@pytest.mark.parametrize(("start", "end"), [(0.0, 8.0), (3.0, -5.0)])
def test_same_steps_and_dense_output_as_scipy(start, end):
    ours = list(Dop853(1e-9).pieces(PENDULUM, (start, START, end)))
    theirs = list(
        _scipy_pieces(scipy.integrate.DOP853, 1e-9, PENDULUM, (start, START, end), None, {})
    )
    assert len(ours) == len(theirs) > 10
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(
            a.t, b.t, rtol=0, atol=1e-5
        )  # round-off changes error estimates of 1e-9
        inside = np.linspace(max(min(a.t), min(b.t)), min(max(a.t), max(b.t)), 5)
        np.testing.assert_allclose(a.interpolant(inside), b.interpolant(inside), rtol=0, atol=1e-10)
        np.testing.assert_allclose(a.interpolant(a.t), a.x, rtol=0, atol=1e-14)


def test_a_projection_acts_after_each_step():
    project = casadi.Function("project", [t, x], [x / casadi.norm_2(x)])
    for piece in Dop853(1e-9).pieces(PENDULUM, (0.0, START, 3.0), project):
        assert np.linalg.norm(piece.x[-1]) == pytest.approx(1.0, abs=1e-15)


def test_a_singularity_is_an_error_in_the_names_of_the_states():
    with pytest.raises(SimulationError) as error:
        list(Dop853(1e-9).pieces(BLOW_UP, (0.0, START, 1.0)))
    assert "a =" in str(error.value)
    with pytest.raises(SimulationError) as by_scipy:
        list(_scipy_pieces(scipy.integrate.DOP853, 1e-9, BLOW_UP, (0.0, START, 1.0), None, {}))
    assert error.value.what == by_scipy.value.what
