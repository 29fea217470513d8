"""Drawings of the bike robot: rider, bicycle, ground and platform, the way of the mass centre, the forces of the ground.

One drawing serves simulations by PD control and optimal motions: it goes by the names of the variables, and where a phase lacks
one, by what the phase means (the front wheel down: beta = 0; in stance: the axle above the contact).
"""

from __future__ import annotations

from typing import Any

from casadi import SX, norm_2, substitute, vertcat

from problems.bike_models import FIVE_LINK, SEVEN_LINK, five_link, seven_link
from trajopt.show.drawing import Arrow, Disc, Drawing, Either, Ground, Mark, Rod, Trail, Where

FORCE = 6e-4  # m drawn for 1 N
HEAD = 0.11  # m, the radius of the head; it weighs nothing of its own
FRAME, RIDER, WHEEL, CENTRE, PUSH = 0, 1, 2, 5, 3  # colours
CAPTION = "dot and trail: mass centre; arrows: forces of the ground"
GROUND = Ground(((-100.0, 0.0), (100.0, 0.0)), 1.6)


def five_link_drawing(follow: bool = False) -> Drawing:
    """The five-link machine; ``follow`` keeps the bicycle in the middle, for runs that go far."""
    data, machine = FIVE_LINK, five_link()
    x, beta, torso = (SX.sym(name) for name in ("x", "beta", "torso"))
    q = vertcat(x, beta, torso)

    def place(expression: SX) -> Either:
        return Either(expression, substitute(expression, beta, 0))

    at = {name: machine.point(name, q) for name in (*machine.posture.points, "mass centre")}
    rear, front, saddle, shoulder, hand = (at[n] for n in ("rear axle", "front axle", "saddle", "shoulder", "hand"))
    down = vertcat(0, -data.radius)
    traction, rear_force, front_force = _five_forces(q)
    shapes = (
        GROUND,
        Trail(place(at["mass centre"]), CENTRE),
        *(Disc(place(axle), data.radius, -x / data.radius, colour=WHEEL) for axle in (rear, front)),
        Rod(tuple(map(place, (rear, saddle, hand, front))), FRAME),
        Rod(tuple(map(place, (saddle, shoulder, at["elbow"], hand))), RIDER, 5),
        Disc(place(_head(saddle, shoulder)), HEAD, colour=RIDER, spoke=False),
        *(Mark(place(joint), 5, FRAME) for joint in (saddle, shoulder, at["elbow"], hand)),
        Mark(place(at["mass centre"]), 9, CENTRE),
        Arrow(place(rear + down), Either(*(vertcat(*pair) for pair in zip(traction, rear_force, strict=True))), FORCE, PUSH),
        Arrow(place(front + down), Either(*(_upwards(force) for force in front_force)), FORCE, PUSH),
    )
    middle = {"follow": (x + 0.45, 0.75), "reach": 0.95} if follow else {}
    return Drawing(shapes, unit="m", caption=CAPTION, **middle)


def _upwards(force: Any) -> Any:
    return Where(force.variable, (0.0, force.place)) if isinstance(force, Where) else vertcat(0, force)


def _five_forces(q: SX) -> tuple[list[Any], list[Any], list[Any]]:
    """Traction and normal force of the rear wheel and normal force of the front wheel, each in three ways:

    as a simulation tells them; from torques with the front wheel up; from torques with the front wheel down.
    """
    ways = [[SX.sym(name) for name in ("traction", "rear_force", "front_force")]]
    v = vertcat(*[SX.sym(name) for name in ("x_rate", "beta_rate", "torso_rate")])
    u = vertcat(SX.sym("wheel_torque"), SX.sym("waist_torque"))
    for front_down in (False, True):
        machine = five_link(front_down=front_down)
        m = machine.mechanism
        front = m.reactions(q, v, u) / FIVE_LINK.wheelbase if front_down else SX(0)
        ground = machine.ground_force(q, v, m.acceleration(q, v, u))
        forces = vertcat(ground[0], ground[1] - front, front)
        ways.append(list(_rows(substitute(forces, vertcat(q[1], v[1]), vertcat(0, 0)) if front_down else forces)))
    traction, rear, front_forces = (list(force) for force in zip(*ways, strict=True))
    front_forces[1] = Where("beta", 0.0)  # in the air
    return traction, rear, front_forces


def seven_link_drawing(height: float | None = None) -> Drawing:
    """The seven-link machine, and a platform of a height (m) beside it."""
    data, machine = SEVEN_LINK, seven_link(stance=False, guard=1e-9)
    beta, *limbs = (SX.sym(name) for name in ("beta", "ankle", "knee", "waist"))
    q = vertcat(0, 0, beta, *limbs)
    points = {name: machine.point(name, q) for name in (*machine.posture.points, "mass centre")}
    axles = (
        vertcat(SX.sym("x"), SX.sym("y")),
        vertcat(SX.sym("centre_x"), SX.sym("centre_y")) - points["mass centre"],  # in flight, where it is a state
        vertcat(-data.radius * beta, data.radius),  # on the braked wheel
    )

    def place(expression: SX) -> Either:
        return Either(*(axle + expression for axle in axles))

    at = {name: place(point) for name, point in points.items()}
    rear, front = at["rear axle"], at["front axle"]
    rider = tuple(at[name] for name in ("rear axle", "knee", "hip", "shoulder", "elbow", "hand"))
    platform = () if height is None else (Ground(((-1.6, 0.0), (-1.6, height), (1.9, height), (1.9, 0.0)), 2.0),)
    shapes: tuple[Any, ...] = (
        GROUND,
        *platform,
        Trail(at["mass centre"], CENTRE),
        *(Disc(axle, data.radius, beta, colour=WHEEL) for axle in (rear, front)),
        Rod((rear, at["hand"], front), FRAME),
        Rod((rear, front), FRAME, 3),
        Rod(rider, RIDER, 5),
        Disc(place(_head(points["hip"], points["shoulder"])), HEAD, colour=RIDER, spoke=False),
        *(Mark(joint, 5, FRAME) for joint in rider),
        Mark(at["mass centre"], 9, CENTRE),
        Arrow(place(vertcat(0, -data.radius)), Either(*_seven_forces(vertcat(beta, *limbs))), FORCE, PUSH),
    )
    beside = "" if height is None else f"; platform of {height:g} m beside the machine"
    return Drawing(shapes, unit="m", caption=CAPTION + beside)


def _seven_forces(q: SX) -> tuple[Any, Any, Any]:
    """The ground's force: as a simulation tells it; none in flight; from torques in stance."""
    machine = seven_link(guard=1e-9)
    m = machine.mechanism
    v = vertcat(*[SX.sym(f"{name}_rate") for name in ("beta", "ankle", "knee", "waist")])
    u = vertcat(*[SX.sym(f"{name}_torque") for name in ("knee", "waist", "elbow")])
    told = vertcat(SX.sym("traction"), SX.sym("ground_force"))
    return told, Where("centre_x", (0.0, 0.0)), machine.ground_force(q, v, m.acceleration(q, v, u))


def _head(below: SX, shoulder: SX) -> SX:
    """The middle of the head: in line with the torso, beyond the shoulder."""
    along = shoulder - below
    return shoulder + (HEAD + 0.03) * along / norm_2(along)


def _rows(column: SX) -> tuple[SX, ...]:
    return tuple(column[k] for k in range(column.numel()))
