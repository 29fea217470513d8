"""Motions that a weak drive reaches only by swinging to and fro."""

import numpy as np
from casadi import pi, sin
from scipy.integrate import solve_ivp

from trajopt import Problem, free, solve

WEIGHT, INERTIA, WHEEL = 5.0, 0.1, 0.002


def wheel_pendulum():
    """A pendulum brought upright in the least time by a motor-driven wheel, whose torque holds it at 12 degrees at most."""
    ocp = Problem("wheel pendulum")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.5, 20))
    q, w = ph.state("q", start=0, end=pi), ph.state("w", start=0, end=0)
    speed = ph.state("speed", start=0, lower=-400, upper=400)
    torque = ph.control("torque", lower=-1, upper=1)
    ph.dynamics({q: w, w: (-WEIGHT * sin(q) - torque) / INERTIA, speed: torque / WHEEL})
    ocp.minimize(ph.final(t))
    return ocp


def pumped():
    """When a torque that always acts along the motion has raised the energy to that of the upright pendulum at rest."""

    def rates(t, y):
        push = 1.0 if y[1] >= 0 else -1.0
        return [y[1], (-WEIGHT * np.sin(y[0]) + push) / INERTIA]

    def upright(t, y):
        return 0.5 * INERTIA * y[1] ** 2 - WEIGHT * (np.cos(y[0]) + 1)

    upright.terminal = True
    return solve_ivp(rates, (0, 10), [0.0, 0.0], events=upright, max_step=1e-3).t[-1]


def test_a_pendulum_that_has_to_swing_first_comes_up():
    """Free to end sooner, the nearest motion is the first swing alone, from any guess."""
    solution = solve(wheel_pendulum()).check()
    assert "the time as guessed: solved" in solution.log
    assert pumped() < solution.objective < 1.3 * pumped()  # it still has to rise, with the energy that it has
    assert len(solution.arcs) >= 4  # to and fro
