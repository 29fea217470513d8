"""Controls that jump although path constraints limit them: grip and speed of a vehicle.

Feasible between the points, too.
"""

import itertools

import numpy as np
import pytest

from trajopt import Problem, free, solve
from trajopt.certificate import certify

GRIP, SPEED = 3.0, 4.0


def vehicle(disc=None):
    """From rest to rest in least time, with a circle of grip and a speed limit; its acceleration
    jumps at the speed limit.
    """
    ocp = Problem("vehicle")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 60))
    x, y = ph.state("x", start=0, end=20), ph.state("y", start=0, end=5)
    v, w = ph.state("v", start=0, end=0), ph.state("w", start=0, end=0)
    a, b = ph.control("a", lower=-6, upper=6), ph.control("b", lower=-6, upper=6)
    ph.dynamics({x: v, y: w, v: a, w: b})
    ph.path(a**2 + b**2, upper=GRIP**2, name="grip")
    ph.path(v**2 + w**2, upper=SPEED**2, name="speed")
    if disc is not None:
        ph.path((x - disc[0]) ** 2 + (y - disc[1]) ** 2, lower=disc[2] ** 2, name="disc")
    ocp.minimize(ph.final(t))
    return ocp


def largest_acceleration(solution):
    """At the start of each interval as well, where no control has a value."""
    breaks = solution.phases["main"].breaks
    places = np.concatenate(
        [a + (b - a) * np.linspace(1e-9, 1 - 1e-9, 33) for a, b in itertools.pairwise(breaks)]
    )
    return np.hypot(solution["a"](places), solution["b"](places)).max()


def test_straight():
    solution = solve(vehicle()).check()
    assert solution.objective == pytest.approx(np.hypot(20, 5) / SPEED + SPEED / GRIP, rel=1e-6)
    assert largest_acceleration(solution) < GRIP * (1 + 1e-6)
    assert str(certify(solution).claim) in ("extremal", "minimum")


def test_around_a_disc():
    solution = solve(vehicle((10, 2, 3))).check()
    assert largest_acceleration(solution) < GRIP * (1 + 1e-6)
    assert str(certify(solution).claim) in ("extremal", "minimum")
