"""Drawings of the bike robot: rider, bicycle, ground and platform, the way of the mass centre, the
forces of the ground.

One drawing serves simulations by PD control and optimal motions: it goes by the names of the
variables, and where a phase lacks one, by what the phase means (the front wheel down: beta = 0; in
stance: the axle above the contact).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from casadi import SX, cos, norm_2, sin, substitute, vertcat

from problems.bike.models import FIVE_LINK, SEVEN_LINK, FiveLink, SevenLink, five_link, seven_link
from problems.bike.support import axle_above, carried
from trajopt.parameters import settable
from trajopt.show.drawing import Arrow, Disc, Drawing, Either, Ground, Mark, Rod, Trail, Where

FORCE = 6e-4  # m drawn for 1 N
HEAD = 0.11  # m, the radius of the head; it weighs nothing of its own
FRAME, RIDER, WHEEL, CENTRE, PUSH, PLATFORM = 0, 1, 2, 5, 3, 4  # colours
BESIDE = (-0.68, 1.25)  # m, from where to where a platform is
SPOKE = -1.2  # rad, from the line between the axles
CAPTION = "dot and trail: mass centre; arrows: forces of the ground"
GROUND = Ground(((-100.0, 0.0), (100.0, 0.0)), 1.6)


@settable
def five_link_drawing(data: FiveLink = FIVE_LINK, follow: bool = False) -> Drawing:
    """The five-link machine; ``follow`` keeps the bicycle in the middle, for runs that go far."""
    machine = five_link(data)
    x, beta, torso = (SX.sym(name) for name in ("x", "beta", "torso"))
    q = vertcat(x, beta, torso)
    lift = vertcat(
        0, SX.sym("y") - data.wheel_radius
    )  # in a simulation the rear wheel may leave the ground

    def place(expression: SX) -> Either:
        return Either(expression + lift, expression, substitute(expression, beta, 0))

    at = {name: machine.point(name, q) for name in (*machine.posture.points, "mass centre")}
    rear, front, saddle, shoulder, hand = (
        at[n] for n in ("rear axle", "front axle", "saddle", "shoulder", "hand")
    )
    down = vertcat(0, -data.wheel_radius)
    traction, rear_force, front_force = _five_forces(q, data)
    rolled = Either(-SX.sym("wheel"), -x / data.wheel_radius)
    shapes = (
        GROUND,
        Trail(place(at["mass centre"]), CENTRE),
        *(
            Disc(place(axle), data.wheel_radius, turned, colour=WHEEL)
            for axle, turned in ((rear, rolled), (front, -x / data.wheel_radius))
        ),
        Rod(tuple(map(place, (rear, saddle, hand, front))), FRAME),
        Rod(tuple(map(place, (saddle, shoulder, at["elbow"], hand))), RIDER, 5),
        Disc(place(_head(saddle, shoulder)), HEAD, colour=RIDER, spoke=False),
        *(Mark(place(joint), 5, FRAME) for joint in (saddle, shoulder, at["elbow"], hand)),
        Mark(place(at["mass centre"]), 9, CENTRE),
        Arrow(
            place(rear + down),
            Either(*(vertcat(*pair) for pair in zip(traction, rear_force, strict=True))),
            FORCE,
            PUSH,
        ),
        Arrow(
            place(front + down), Either(*(_upwards(force) for force in front_force)), FORCE, PUSH
        ),
    )
    middle = {"follow": (x + 0.45, 0.75), "reach": 0.95} if follow else {}
    return Drawing(shapes, unit="m", caption=CAPTION, **middle)


def _upwards(force: Any) -> Any:
    return (
        Where(force.variable, (0.0, force.place)) if isinstance(force, Where) else vertcat(0, force)
    )


def _five_forces(q: SX, data: FiveLink) -> tuple[list[Any], list[Any], list[Any]]:
    """Traction and normal force of the rear wheel and normal force of the front wheel, each in
    three ways:

    as a simulation tells them; from torques with the front wheel up; from torques with the front
    wheel down.
    """
    ways = [[SX.sym(name) for name in ("traction", "rear_force", "front_force")]]
    v = vertcat(*[SX.sym(name) for name in ("x_rate", "beta_rate", "torso_rate")])
    u = vertcat(SX.sym("wheel_torque"), SX.sym("waist_torque"))
    for front_down in (False, True):
        machine = five_link(data, front_down=front_down)
        m = machine.mechanism
        front = m.reactions(q, v, u) / data.wheelbase if front_down else SX(0)
        ground = machine.ground_force(q, v, m.acceleration(q, v, u))
        forces = vertcat(ground[0], ground[1] - front, front)
        ways.append(
            list(
                _rows(
                    substitute(forces, vertcat(q[1], v[1]), vertcat(0, 0)) if front_down else forces
                )
            )
        )
    traction, rear, front_forces = (list(force) for force in zip(*ways, strict=True))
    front_forces[1] = Where("beta", 0.0)  # in the air
    return traction, rear, front_forces


@settable
def seven_link_drawing(data: SevenLink = SEVEN_LINK) -> Drawing:
    """The seven-link machine on the ground and in the air."""
    return Drawing((GROUND, *_seven_link_shapes(data, SX.sym("height"))), unit="m", caption=CAPTION)


@settable
def platform_drawing(
    height: float | None = None,
    speed: float | None = None,
    front_brake: bool = True,
    data: SevenLink = SEVEN_LINK,
) -> Drawing:
    """The seven-link machine and a platform beside it, of a height (m) that is given or part of the
    answer.

    One that comes with a ``speed`` (m/s) needs a longer platform.
    """
    top = SX.sym("height") if height is None else SX(height)
    left, right = BESIDE[0], BESIDE[1] + 0.9 * (speed or 0.0)
    platform = Rod(((left, 0), (left, top), (right, top), (right, 0)), PLATFORM, 2.0)
    shapes = (GROUND, platform, *_seven_link_shapes(data, top, front_brake, speed or 0.0))
    return Drawing(
        shapes,
        unit="m",
        caption=f"{CAPTION}; platform: beside the machine, its edge is no obstacle",
    )


@settable
def edge_drawing(
    height: float = 0.2,
    data: SevenLink = SEVEN_LINK,
) -> Drawing:
    """The seven-link machine and a platform ahead, of which the edge is part of the answer."""
    edge = SX.sym("edge")
    platform = Rod(((edge, 0), (edge, height), (edge + 1.6, height)), PLATFORM, 2.0)
    corner, at = vertcat(edge, height), SX.sym("contact")

    def over(q: SX) -> SX:
        """The rear axle while the wheel turns about the edge."""
        return corner + data.wheel_radius * vertcat(cos(at + q[0]), sin(at + q[0]))

    shapes = _seven_link_shapes(data, SX(height), over=(over, corner))
    return Drawing((GROUND, platform, *shapes), unit="m", caption=f"{CAPTION}; platform ahead")


def _seven_link_shapes(
    data: SevenLink,
    height: SX,
    front_brake: bool = True,
    speed: float = 0.0,
    over: tuple[Callable[[SX], SX], SX] | None = None,
) -> tuple[Any, ...]:
    """Rider, bicycle, mass centre and forces; ``height`` of what the front wheel stands on where it
    carries, ``speed`` of the point from which places are counted.
    """
    machine = seven_link(data, stance=False, guard=1e-9)
    beta, *limbs = (SX.sym(name) for name in ("beta", "ankle", "knee", "waist"))
    q = vertcat(0, 0, beta, *limbs)
    points = {name: machine.point(name, q) for name in (*machine.posture.points, "mass centre")}
    x, along = SX.sym("x"), SX.sym("centre_x") - points["mass centre"][0]
    axles = (
        vertcat(x, SX.sym("y")),  # in a simulation
        vertcat(
            along, SX.sym("centre_y") - points["mass centre"][1]
        ),  # in flight, where the mass centre is a state
        vertcat(along, data.wheel_radius + height - data.wheelbase * sin(beta))
        if over is None
        else Where("centre_x", over[0](q[2:])),  # a wheel on the platform, or on its edge
        vertcat(x, data.wheel_radius),  # on the rolling wheel
        vertcat(-data.wheel_radius * beta, data.wheel_radius),  # on the braked wheel
    )

    def place(expression: SX) -> Either:
        moved = expression + vertcat(speed * SX.sym("t"), 0)
        return Either(
            *(
                Where(axle.variable, axle.place + moved)
                if isinstance(axle, Where)
                else axle + moved
                for axle in axles
            )
        )

    at = {name: place(point) for name, point in points.items()}
    rear, front = at["rear axle"], at["front axle"]
    rider = tuple(at[name] for name in ("rear axle", "knee", "hip", "shoulder", "elbow", "hand"))
    bent, on_edge = vertcat(beta, *limbs), None if over is None else over[0]
    rear_force, front_force = _seven_forces(data, bent, height, front_brake, on_edge)
    down = vertcat(0, -data.wheel_radius)
    touched = place(down)
    if over is not None:
        ways = list(touched.places)
        ways[2] = Where("centre_x", over[1])
        touched = Either(*ways)
    # Spokes stand off the frame, which would hide them. A wheel that has not been braked rolls with
    # about the speed.
    turned = beta if not speed else -speed * SX.sym("t") / data.wheel_radius
    return (
        Trail(at["mass centre"], CENTRE),
        Disc(rear, data.wheel_radius, turned + SPOKE, colour=WHEEL),
        Disc(front, data.wheel_radius, beta + SPOKE, colour=WHEEL),
        Rod((rear, at["hand"], front), FRAME),
        Rod((rear, front), FRAME, 3),
        Rod(rider, RIDER, 5),
        Disc(place(_head(points["hip"], points["shoulder"])), HEAD, colour=RIDER, spoke=False),
        *(Mark(joint, 5, FRAME) for joint in rider),
        Mark(at["mass centre"], 9, CENTRE),
        Arrow(touched, rear_force, FORCE, PUSH),
        Arrow(place(points["front axle"] + down), front_force, FORCE, PUSH),
    )


def _seven_forces(
    data: SevenLink,
    q: SX,
    height: SX,
    front_brake: bool,
    on_edge: Callable[[SX], SX] | None = None,
) -> tuple[Either, Either]:
    """Forces on the rear and on the front wheel: as a simulation tells them; none in flight; on the
    front wheel in the support, or on the rear wheel on an edge; from torques on a rolling and on a
    braked rear wheel.
    """
    v = vertcat(*[SX.sym(f"{name}_rate") for name in ("beta", "ankle", "knee", "waist")])
    u = vertcat(*[SX.sym(f"{name}_torque") for name in ("knee", "waist", "elbow")])
    none = (0.0, 0.0)
    ways = []
    for rolling in (True, False):
        machine = seven_link(data, rolling=rolling, guard=1e-9)
        m = machine.mechanism
        here = (
            (vertcat(0, q), vertcat(0, v), vertcat(u, SX.sym("wheel_torque")))
            if rolling
            else (q, v, u)
        )
        ways.append(machine.ground_force(*here[:2], m.acceleration(*here)))
    air = seven_link(data, stance=False, guard=1e-9)
    axle = axle_above(height, q, front_brake, data) if on_edge is None else on_edge(q)
    _, carrying = carried(air, axle, q, v, u, front_brake)
    told = vertcat(SX.sym("traction"), SX.sym("rear_force"))
    behind, ahead = (none, carrying) if on_edge is None else (carrying, none)
    rear = Either(told, Where("centre_y", none), Where("centre_x", behind), *ways)
    return rear, Either(
        vertcat(0, SX.sym("front_force")),
        Where("centre_y", none),
        Where("centre_x", ahead),
        none,
    )


def _head(below: SX, shoulder: SX) -> SX:
    """The middle of the head: in line with the torso, beyond the shoulder."""
    along = shoulder - below
    return shoulder + (HEAD + 0.03) * along / norm_2(along)


def _rows(column: SX) -> tuple[SX, ...]:
    return tuple(column[k] for k in range(column.numel()))
