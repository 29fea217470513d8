"""The branched three-link arm: inverse dynamics of a prescribed turn.

Source: Yagi and Isobe, inverse dynamics of multi-branch link systems by a parallel solution scheme
(Japanese). Links of 0.4 m and 0.215 kg, two of them on the end of the first, 0.5 kg at their tips,
horizontal plane, a turn of pi/2 in 1 s. The profile, the branch angles and the inertias are not
given there: a quintic, +30 and -30 degrees, uniform rods.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import casadi
from casadi import SX, vertcat

from trajopt.errors import ModelError
from trajopt.mechanics import Coordinate, Link, Slide, Tree, Turn, newton_euler, rod
from trajopt.mechanics.link_files import load_links
from trajopt.parameters import settable, setting, setting_field
from trajopt.show.drawing import Drawing, Trail, link_shapes
from trajopt.system import System, Variable

LENGTH, MASS, LOAD = 0.4, 0.215, 0.5
START = (0.0, math.pi / 6, -math.pi / 6)

# Joint torques (N m) at these times (s), all three joints turning; Lagrange's equations agree to
# round-off.
REFERENCE = {0.25: (9.53498009, 2.44982565, 2.32559778), 0.5: (-3.09795744, 0.81442733, 0.21822515)}


@dataclass(frozen=True)
class Arm:
    """Data of the arm: link 1, and links 2 and 3 on its end, with loads at their tips."""

    lengths: tuple[float, float, float] = setting_field((LENGTH,) * 3, "m", "of the links")
    masses: tuple[float, float, float] = setting_field((MASS,) * 3, "kg", "of the links")
    loads: tuple[float, float] = setting_field((LOAD,) * 2, "kg", "at the tips of links 2 and 3")
    angles: tuple[float, float, float] = setting_field(
        START, "rad", "of the joints at the start; the second and third from link 1"
    )


def arm(data: Arm = Arm()) -> Tree:
    """The arm in relative angles; gravity is along the axes of the joints."""
    theta = [Coordinate(f"theta{k + 1}", start, unit="rad") for k, start in enumerate(data.angles)]
    turns = [Turn("z", angle) for angle in theta]
    root, *ends = data.lengths
    links = [rod("link1", "ground", (turns[0],), data.masses[0], root)]
    for k, (length, load) in enumerate(zip(ends, data.loads, strict=True), start=2):
        joint = (Slide("x", root), turns[k - 1])
        links.append(rod(f"link{k}", "link1", joint, data.masses[k - 1], length))
        links.append(Link(f"load{k}", f"link{k}", (Slide("x", length),), load))
    return Tree("branched-arm", tuple(links))


def profile(t: casadi.SX, turn: float, duration: float) -> tuple[casadi.SX, casadi.SX, casadi.SX]:
    """A quintic from 0 to ``turn``, with its rate and acceleration; at rest before and after."""
    s = casadi.fmin(casadi.fmax(t / duration, 0), 1)
    position = 10 * s**3 - 15 * s**4 + 6 * s**5
    rate = 30 * s**2 - 60 * s**3 + 30 * s**4
    acceleration = 60 * s - 180 * s**2 + 120 * s**3
    return turn * position, turn * rate / duration, turn * acceleration / duration**2


def scheme(tree: Tree, q: SX, v: SX, a: SX) -> SX:
    """The scheme tau = L T P for a planar tree, as an expression in the motion of its joints.

    P_k: the resultants of the outboard links where they are attached, the force at the mass centre
    and the inertia moment. T turns them into the links' axes, and L holds lengths: row k is link
    k's own row and those of all links outboard of it, so that a branch changes L only.
    """
    symbols = vertcat(*(c.q for c in tree.coordinates))
    names = [link.name for link in tree.links]
    children = {n: [m.name for m in tree.links if m.parent == n] for n in names}

    def moved(expression: SX) -> SX:
        """The second derivative of a position (or a direction) along the motion."""
        rates = SX.sym("rates", symbols.numel())
        first = casadi.jtimes(expression, symbols, rates)
        second = casadi.jtimes(first, symbols, rates) + casadi.jtimes(first, rates, a)
        return casadi.substitute(second, rates, v)

    force, moment, axes = {}, {}, {}
    for link in tree.links:
        origin = tree.point(link.name)[:2]
        axes[link.name] = casadi.horzcat(
            *(tree.point(link.name, e)[:2] - origin for e in ((1, 0, 0), (0, 1, 0)))
        )
        along = axes[link.name]
        # The angular acceleration is the part of the direction's acceleration across it.
        turning = casadi.dot(along[:, 1], moved(along[:, 0]))
        weight = casadi.DM(tree.gravity[:2])
        force[link.name] = link.mass * (moved(tree.point(link.name, link.centre)[:2]) - weight)
        moment[link.name] = link.tensor[2, 2] * turning
    resultant: dict[str, SX] = {}
    for name in reversed(names):
        resultant[name] = force[name] + sum((resultant[m] for m in children[name]), SX.zeros(2, 1))
    rows, turns, loads = {}, [], []
    for link in tree.links:
        R, origin = axes[link.name], tree.point(link.name)[:2]
        arms = [R.T @ (tree.point(m)[:2] - origin) for m in children[link.name]]
        arms.append(casadi.DM(link.centre[:2]))
        parts = [resultant[m] for m in children[link.name]] + [force[link.name]]
        rows[link.name] = casadi.horzcat(*(casadi.horzcat(-r[1], r[0]) for r in arms), 1)
        turns.append(casadi.diagcat(*(R.T for _ in parts), 1))
        loads.append(vertcat(*parts, moment[link.name]))

    def outboard(name: str) -> set[str]:
        return {name}.union(*(outboard(m) for m in children[name]))

    L = vertcat(
        *(
            casadi.horzcat(
                *(rows[m] if m in outboard(n) else SX(1, rows[m].numel()) for m in names)
            )
            for n in names
        )
    )
    T, P = casadi.diagcat(*turns), vertcat(*loads)
    moments = casadi.substitute(L @ T @ P, symbols, q)
    jointed = {
        str(step.by.q): k
        for k, link in enumerate(tree.links)
        for step in link.joint
        if isinstance(step, Turn) and isinstance(step.by, Coordinate)
    }
    if len(jointed) != symbols.numel():
        raise ModelError(
            "the parallel scheme is for revolute joints in a plane",
            got=f"'{tree.name}'",
            hint="--set method=newton-euler",
        )
    return vertcat(*(moments[jointed[str(c.q)]] for c in tree.coordinates))


METHODS = {
    "newton-euler": lambda tree, q, v, a, t: newton_euler(tree)(q, v, a, t),
    "parallel": lambda tree, q, v, a, t: scheme(tree, q, v, a),
}


@settable
def build(
    turn=setting(math.pi / 2, "rad", "how far every joint turns"),
    duration=setting(1.0, "s", "time of the turn", 1e-3),
    tip_force=setting((0.0, 0.0), "N", "force on each tip, x and y in the ground's axes"),
    method=setting("newton-euler", "", "of inverse dynamics", choices=tuple(METHODS)),
    links=setting(None, "", "another tree of links: FILE.toml", optional=True),
    data: Arm = Arm(),
) -> System:
    """The joint angles that follow the profile, with the torques that it requires as outputs.

    A tree of one's own (``links``, see trajopt.mechanics.link_files) turns all of its joints.
    """
    tree = arm(data) if links is None else load_links(links)
    time, n = SX.sym("t"), len(tree.coordinates)
    x = vertcat(*(c.q for c in tree.coordinates))
    moved, rate, acceleration = profile(time, turn, duration)
    q = vertcat(*(c.start + moved for c in tree.coordinates))
    v, a = casadi.repmat(rate, n, 1), casadi.repmat(acceleration, n, 1)
    torque = METHODS[method](tree, q, v, a, time)
    tips = [link.name for link in tree.links if link.name not in {m.parent for m in tree.links}]
    for tip in tips:
        by_force = tree.force_at(tip, (*tip_force, 0.0))
        torque -= casadi.substitute(vertcat(*(by_force[c.name] for c in tree.coordinates)), x, q)
    return System(
        name="branched-arm",
        time=time,
        x=x,
        states=tuple(Variable(c.name, c.start, c.unit) for c in tree.coordinates),
        rate=v,
        outputs={f"torque{k + 1}": (torque[k], "N m") for k in range(n)},
        until=duration,
        description="inverse dynamics of a branched arm: the torques of a turn",
        drawing=Drawing(
            (*(Trail(tree.point(tip)[:2]) for tip in tips), *link_shapes(tree, planar=True))
        ),
    )
