"""Right answers of ordinary problems, stated as a new user would: what each of them once failed."""

import casadi
import numpy as np
import pytest

from trajopt import Problem, certify, solve


def bounded_oscillator():
    """The control leaves its bound inside the motion: on its bound it does not vary at all."""
    ocp = Problem("bounded oscillator")
    ph = ocp.phase()
    ph.time(start=0, end=5)
    x, y = ph.state("x", start=1), ph.state("y", start=0)
    u = ph.control("u", lower=-0.75, upper=1)
    ph.dynamics({x: y, y: (1 - x**2) * y - x + u})
    ocp.minimize(ph.integral(x**2 + y**2 + u**2))
    return ocp


def power_and_grip():
    """Two controls on a circle: one combination of them is held, the other is free."""
    ocp = Problem("power and grip")
    ph = ocp.phase()
    x, v = ph.state("x", start=0), ph.state("v", start=0.5)
    ph.time(start=0, end=0.5)
    u = ph.control("u", 2, lower=0, upper=3)
    ph.dynamics({x: v, v: u[0] + 2 * u[1] - 0.1 * v**2})
    ph.path(casadi.sumsqr(u), upper=4, name="grip")
    ocp.minimize(0.01 * ph.integral(casadi.sumsqr(u)) - ph.final(x))
    return ocp


def twelve_bounded_controls():
    """Controls leave their bounds at different times, with small steps where the mesh does not
    resolve it.
    """
    n = 12
    ocp = Problem("twelve controls")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", n, start=np.ones(n)), ph.control("u", n, lower=-0.3, upper=0.3)
    mixing = np.random.default_rng(0).normal(size=(n, n))
    ph.dynamics({x: casadi.DM(np.diag(-np.linspace(0.1, 2, n)) + 0.05) @ x + casadi.DM(mixing) @ u})
    ocp.minimize(ph.integral(0.5 * casadi.sumsqr(x) + 0.02 * casadi.sumsqr(u)))
    return ocp


def periodic_drive():
    """Costates are less accurate inside intervals than at their ends."""
    ocp = Problem("periodic drive")
    ph = ocp.phase()
    t = ph.time(start=0, end=2 * np.pi)
    x, v, u = ph.state("x"), ph.state("v"), ph.control("u")
    ph.dynamics({x: v, v: -2 * x - 0.2 * v + u + casadi.cos(t)})
    ocp.require(ph.final(x) - ph.initial(x), equals=0)
    ocp.require(ph.final(v) - ph.initial(v), equals=0)
    ocp.minimize(ph.integral(u**2 + (x - 0.5) ** 2))
    return ocp


def over_a_hill():
    """An ill-conditioned optimum: states within their tolerance, costates three times as far."""
    ocp = Problem("hill")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=-1, end=1), ph.control("u")
    ph.dynamics({x: u})
    ocp.minimize(ph.integral(u**2 + 24 * casadi.exp(-4 * x**2)))
    return ocp


def stiff_relaxation():
    """The costate of the fast state grows by exp(100) in one interval, forward in time."""
    ocp = Problem("stiff relaxation")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, y, u = ph.state("x", start=1), ph.state("y", start=0), ph.control("u")
    ph.dynamics({x: -x + y, y: -2000 * (y - u)})
    ocp.minimize(ph.integral((x - 0.5) ** 2 + 0.01 * u**2))
    return ocp


def already_regulated():
    """The solver stops where all values are round-off: nothing moves."""
    ocp = Problem("already regulated")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=0), ph.control("u")
    ph.dynamics({x: u - x + 0.5 * x**2})
    ocp.minimize(ph.integral(u**2 + x**2))
    return ocp


def tracked_exactly():
    """The cost is zero up to the square of the motion's error."""
    ocp = Problem("tracked exactly")
    ph = ocp.phase()
    t = ph.time(start=0, end=3)
    x, v, u = ph.state("x", start=0), ph.state("v", start=1), ph.control("u")
    ph.dynamics({x: v, v: u - x})
    ocp.minimize(ph.integral((x - casadi.sin(t)) ** 2 + 0.1 * u**2))
    return ocp


@pytest.mark.parametrize(
    "build",
    [
        bounded_oscillator, power_and_grip, twelve_bounded_controls, periodic_drive,
        over_a_hill, stiff_relaxation,
        already_regulated, tracked_exactly,
    ],
    ids=lambda build: build.__name__,
)  # fmt: skip
def test_a_smooth_regular_answer_is_a_minimum(build):
    certificate = certify(solve(build()).check())
    assert certificate.ok, str(certificate)
    assert certificate.claim == "minimum", str(certificate)


def test_a_state_may_end_on_its_limit():
    """The multiplier at the last instant of a constrained arc that lasts to the end may be part of
    the last costate or not.
    """
    ocp = Problem("epidemic")
    ph = ocp.phase()
    ph.time(start=0, end=60)
    susceptible, infected = (
        ph.state("S", start=0.99, lower=0),
        ph.state("I", start=0.01, lower=0, upper=0.1),
    )
    u = ph.control("u", lower=0, upper=0.8)
    new = 0.3 * (1 - u) * susceptible * infected
    ph.dynamics({susceptible: -new, infected: new - 0.1 * infected})
    ocp.minimize(ph.integral(u**2))
    certificate = certify(solve(ocp).check())
    assert certificate.ok, str(certificate)


@pytest.mark.parametrize(("limit", "ok"), [(1.15, True), (1.14, False)])
def test_a_bound_of_an_algebraic_variable_that_states_determine_is_a_state_constraint(limit, ok):
    """z = 1 + x + x^2 / 10 does not depend on the control: at its bound the costates jump, H is
    stationary in the control.
    """

    def build(upper):
        ocp = Problem("height by an equation")
        ph = ocp.phase()
        ph.time(start=0, end=1)
        x, v = ph.state("x", start=0, end=0), ph.state("v", start=1, end=-1)
        u, z = ph.control("u"), ph.algebraic("z", lower=-5, upper=upper, guess=0)
        ph.dynamics({x: v, v: u})
        ph.require(z - x - 0.1 * x**2 - 1)
        ocp.minimize(ph.integral(u**2))
        return ocp

    certificate = certify(solve(build(limit), tolerance=1e-8).check(), build(1.15))
    assert certificate.ok is ok, str(certificate)
