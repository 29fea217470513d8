"""The rider who leans, and the moment about the blade that an upright one needs."""

import casadi
import numpy as np
import pytest

from problems.exoskeleton import slalom_effort, slalom_lean
from problems.exoskeleton.model import GENTLE
from problems.exoskeleton.slalom import rider, roll_moment
from trajopt import solve


def columns(solution, body, points=60):
    """Coordinates, quasi-velocities and controls along a run."""
    for phase in solution.phases.values():
        t = np.linspace(phase.t0, phase.tf, points)
        names = (body.names, ["speed", *(f"{n}_rate" for n in body.names[2:])], body.limits)
        yield [
            np.array([np.ravel(solution[phase.name, name](t)) for name in group]) for group in names
        ]


def test_an_upright_rider_turns_over_the_board():
    """The moment of the snow's force about the blade, from the change of angular momentum of leg
    and body about the foot.
    """
    body = rider("moving")
    rng = np.random.default_rng(4)
    n = len(body.names)
    q, nu, u = rng.uniform(-0.3, 0.3, n), rng.uniform(-1, 1, n - 1), rng.uniform(-1, 1, 5)
    q[3:5], q[5:] = [1.4, 1.7], [0.5, 0.6]
    v, rate, _, _ = (np.array(x).ravel() for x in body.motion(q, nu, u))
    c, s = np.cos(q[2]), np.sin(q[2])
    a = np.concatenate([rate[0] * np.array([c, s]) + nu[0] * nu[1] * np.array([-s, c]), rate[1:]])
    tree = body.tree
    x, xd, xdd = (casadi.SX.sym(name, n) for name in ("x", "xd", "xdd"))
    coordinates = casadi.vertcat(*(k.q for k in tree.coordinates))
    moment = casadi.SX.zeros(3, 1)
    for link in tree.links[1:]:
        at = casadi.substitute(tree.point(link.name, link.centre), coordinates, x)
        tip = tree.point(link.name, (1, 0, 0)) - tree.point(link.name)
        along = casadi.substitute(tip, coordinates, x)  # the rod's direction
        foot = casadi.substitute(tree.point("foot"), coordinates, x)

        def second(e):
            first = casadi.jtimes(e, x, xd)
            return casadi.jtimes(first, x, xd) + casadi.jtimes(first, xd, xdd)

        weight = link.mass * casadi.DM(tree.gravity)
        moment += casadi.cross(at - foot, link.mass * second(at) - weight)
        moment += link.mass / 12 * casadi.cross(along, second(along))  # a thin rod of 1 m
    blade = casadi.vertcat(c, s, 0)
    found = casadi.Function("moment", [x, xd, xdd], [casadi.dot(blade, moment)])(q, v, a)
    assert float(roll_moment(body)(q, nu, u)) == pytest.approx(float(found), rel=1e-9)


@pytest.mark.slow
def test_the_moment_of_the_upright_slalom_is_implausible():
    solution, body = solve(slalom_effort.build()), rider("moving")
    worst = max(
        np.abs(np.array(roll_moment(body).map(60)(*part))).max() for part in columns(solution, body)
    )
    assert worst == pytest.approx(2010, rel=0.02)  # N m; half a board of 0.3 m carries 28 N m


@pytest.fixture(scope="module")
def leaning():
    return solve(slalom_lean.build())


@pytest.mark.slow
def test_the_leaning_rider_keeps_the_force_on_the_board(leaning):
    assert leaning.objective == pytest.approx(slalom_lean.REFERENCE.objective, rel=1e-6)
    body = rider("leaning", GENTLE)
    for part in columns(leaning, body):
        _, _, normal, across = (np.array(x).ravel() for x in body.motion.map(60)(*part))
        moment = np.array(roll_moment(body).map(60)(*part)).ravel()
        assert normal.min() > 40 - 1e-3
        assert (abs(moment) <= 0.15 * normal + 1e-3).all()
        assert (abs(across) <= 1.5 * normal + 1e-2).all()
        assert abs(moment).max() < 3.0
