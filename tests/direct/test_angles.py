"""Angles that lean on the fences of a first mesh, which are none of the problem's own bounds."""

from math import hypot

import pytest
from casadi import cos, sin
from scipy.optimize import minimize_scalar

from trajopt import Problem, free, solve


def test_an_answer_does_not_rest_on_the_fence_of_an_angle():
    """Across a beach and through the sea, each at its own speed: Snell's law, here by the crossing
    of least time.
    """
    ocp = Problem("lifeguard")
    beach, sea = ocp.phase("beach"), ocp.phase("sea")
    end = None
    for ph, speed, start, x, y in (
        (beach, 7.0, 0, {"start": 0}, {"start": -50, "end": 0}),
        (sea, 1.5, free(0, 200), {"end": 100}, {"start": 0, "end": 30}),
    ):
        end = ph.time(start=start, end=free(0, 200))
        east, north, heading = ph.state("x", **x), ph.state("y", **y), ph.control("heading")
        ph.dynamics({east: speed * cos(heading), north: speed * sin(heading)})
    ocp.connect(beach, sea)
    ocp.minimize(sea.final(end))
    crossing = minimize_scalar(
        lambda s: hypot(s, 50) / 7 + hypot(100 - s, 30) / 1.5, bounds=(0, 100), method="bounded"
    )
    assert solve(ocp).check().objective == pytest.approx(crossing.fun, rel=1e-9)
