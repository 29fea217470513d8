"""The branched three-link arm: inverse dynamics of a prescribed turn.

Source: Yagi and Isobe, inverse dynamics of multi-branch link systems by a parallel solution scheme (Japanese). Links of 0.4 m and
0.215 kg, two of them on the end of the first, 0.5 kg at their tips, horizontal plane, a turn of pi/2 in 1 s. The profile, the
branch angles and the inertias are not given there: a quintic, +30 and -30 degrees, uniform rods.
"""

from __future__ import annotations

import math

import casadi

from trajopt.mechanics import Coordinate, Link, Slide, Tree, Turn, newton_euler, rod
from trajopt.parameters import settable, setting
from trajopt.show.drawing import Drawing, Trail, link_shapes
from trajopt.system import System, Variable

LENGTH, MASS, LOAD = 0.4, 0.215, 0.5
START = (0.0, math.pi / 6, -math.pi / 6)

# Joint torques (N m) at these times (s), all three joints turning; Lagrange's equations agree to round-off.
REFERENCE = {0.25: (9.53498009, 2.44982565, 2.32559778), 0.5: (-3.09795744, 0.81442733, 0.21822515)}


def arm() -> Tree:
    """The arm in relative angles; gravity is along the axes of the joints."""
    theta = [Coordinate(f"theta{k + 1}", start, unit="rad") for k, start in enumerate(START)]
    return Tree(
        "branched-arm",
        (
            rod("link1", "ground", (Turn("z", theta[0]),), MASS, LENGTH),
            rod("link2", "link1", (Slide("x", LENGTH), Turn("z", theta[1])), MASS, LENGTH),
            rod("link3", "link1", (Slide("x", LENGTH), Turn("z", theta[2])), MASS, LENGTH),
            Link("load2", "link2", (Slide("x", LENGTH),), LOAD),
            Link("load3", "link3", (Slide("x", LENGTH),), LOAD),
        ),
    )


def profile(t: casadi.SX, turn: float, duration: float) -> tuple[casadi.SX, casadi.SX, casadi.SX]:
    """A quintic from 0 to ``turn``, with its rate and acceleration; at rest before and after."""
    s = casadi.fmin(casadi.fmax(t / duration, 0), 1)
    position = 10 * s**3 - 15 * s**4 + 6 * s**5
    rate = 30 * s**2 - 60 * s**3 + 30 * s**4
    acceleration = 60 * s - 180 * s**2 + 120 * s**3
    return turn * position, turn * rate / duration, turn * acceleration / duration**2


@settable
def build(
    turn=setting(math.pi / 2, "rad", "how far every joint turns"),
    duration=setting(1.0, "s", "time of the turn", 1e-3),
    tip_force=setting((0.0, 0.0), "N", "force on each of the two tips, x and y in the ground's axes"),
) -> System:
    """The joint angles that follow the profile, with the torques that it requires as outputs."""
    tree = arm()
    time, p = casadi.SX.sym("t"), casadi.SX(0, 1)
    x = casadi.vertcat(*[c.q for c in tree.coordinates])
    moved, rate, acceleration = profile(time, turn, duration)
    q = casadi.vertcat(*[start + moved for start in START])
    torque = newton_euler(tree)(q, casadi.repmat(rate, 3, 1), casadi.repmat(acceleration, 3, 1), time)
    for load in ("load2", "load3"):
        by_force = tree.force_at(load, (*tip_force, 0.0))
        torque -= casadi.substitute(casadi.vertcat(*[by_force[c.name] for c in tree.coordinates]), x, q)
    return System(
        name="branched-arm",
        time=time,
        x=x,
        states=tuple(Variable(c.name, c.start, c.unit) for c in tree.coordinates),
        rate=casadi.repmat(rate, 3, 1),
        p=p,
        outputs={f"torque{k + 1}": (torque[k], "N m") for k in range(3)},
        until=duration,
        description="inverse dynamics of a branched arm: the torques of a turn",
        drawing=Drawing((*(Trail(tree.point(load)[:2]) for load in ("load2", "load3")), *link_shapes(tree, planar=True))),
    )
