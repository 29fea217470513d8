"""Planar multibody systems: free and sprung bodies, pendulums, sliders, a crank.

Source: Inoue, Introduction to multibody dynamics (Japanese, Corona 2024), chapters 2-14. Only the
free body's data are given there (m = 2, g = 9.81, start (0, 1), velocity (3, 1)); the rest is
chosen here: bars of 1 kg and 1 m unless said otherwise. Systems with joints have ``formulation`` =
augmented, eliminated, voronets or penalty.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import casadi

from trajopt.errors import ModelError
from trajopt.mechanics import (
    Appell,
    Augmented,
    Body,
    Drive,
    Eliminated,
    Fixed,
    Force,
    Formulation,
    Holonomic,
    Mechanism,
    Penalty,
    Prismatic,
    Quantity,
    Revolute,
    Spring,
    Torque,
    TorsionSpring,
    Voronets,
    assemble,
)
from trajopt.parameters import settable, setting
from trajopt.show.drawing import Disc, Drawing, Ground, Mark, Rod, Trail
from trajopt.system import System

G = 9.81
PLAIN = ("x", "y", "theta")

# Each takes the names of the dependent coordinates.
FORMULATIONS: Mapping[str, Callable[[tuple[str, ...]], Formulation]] = {
    "augmented": lambda dependent: Augmented(),
    "eliminated": Eliminated,
    "voronets": Voronets,
    "appell": Appell,
    "penalty": lambda dependent: Penalty(stiffness=1e7, damping=1e3),
}
FORMULATION = setting(
    "augmented", "", "formulation of the constraints", choices=tuple(FORMULATIONS)
)
DRIVE = setting(
    (), "1/s", "constant rates of the independent coordinates, for a kinematic analysis"
)


def _system(
    mechanism: Mechanism,
    formulation: str,
    independent: tuple[str, ...],
    drive: Sequence[float] = (),
    **details: Any,
) -> System:
    """A mechanism in a formulation; ``independent`` coordinates determine its position everywhere,
    not only at the start.

    With ``drive`` they move at constant rates, and the constraints determine the motion; the
    reactions ``reaction_drive_<coordinate>`` are what the drives apply.
    """
    if drive:
        mechanism = driven(mechanism, independent, drive)
        if formulation not in ("augmented", "penalty"):
            raise ModelError(
                "a driven mechanism has no independent velocity",
                got=formulation,
                expected="formulation=augmented",
            )
    dependent = tuple(c.name for c in mechanism.coordinates if c.name not in independent)
    return mechanism.system(FORMULATIONS[formulation](dependent), **details)


def driven(mechanism: Mechanism, independent: Sequence[str], rates: Sequence[float]) -> Mechanism:
    """The mechanism with coordinates that move at constant rates from its start."""
    if len(rates) != len(independent):
        raise ModelError(
            f"'{mechanism.name}' needs a rate for each independent coordinate",
            got=f"{len(rates)} rates",
            expected=", ".join(independent),
        )
    moved = []
    for name, rate in zip(independent, rates, strict=True):
        c = mechanism.coordinates[mechanism.index(name)]
        path = c.q - c.start - rate * mechanism.time
        moved.append(Holonomic(f"drive_{name}", path, c.unit))
    return replace(mechanism, constraints=(*mechanism.constraints, *moved)).consistent()


def bar(
    name: str,
    start: tuple[float, float],
    angle: float,
    mass: float = 1.0,
    length: float = 1.0,
    spin: float = 0.0,
) -> Body:
    """A uniform bar from a point, in a direction; its reference point is its middle."""
    c, s = math.cos(angle), math.sin(angle)
    middle = (start[0] + length / 2 * c, start[1] + length / 2 * s)
    velocity = (-spin * length / 2 * s, spin * length / 2 * c)
    return Body(name, mass, mass * length**2 / 12, middle, angle, velocity, spin)


def _tip(body: Body, length: float = 1.0) -> tuple[float, float]:
    return body.position[0] + length / 2 * math.cos(body.angle), body.position[
        1
    ] + length / 2 * math.sin(body.angle)


def _places(body: str, *locals_: tuple[float, float]) -> tuple[casadi.SX, ...]:
    """Places of a body, given in its axes."""
    x, y, theta = (casadi.SX.sym(f"{body}_{name}" if body else name) for name in PLAIN)
    c, s = casadi.cos(theta), casadi.sin(theta)
    return tuple(casadi.vertcat(x + c * a - s * b, y + s * a + c * b) for a, b in locals_)


def _drawn_bars(*names: str, length: float = 1.0) -> Drawing:
    """Bars with their ends, and the way of the last one's tip."""
    ends = [_places(name, (-length / 2, 0.0), (length / 2, 0.0)) for name in names]
    bars = [Rod(pair, colour) for colour, pair in enumerate(ends)]
    return Drawing(
        (Trail(ends[-1][1]), *bars, *(Mark(place, 6, 5) for pair in ends for place in pair))
    )


def _box(body: str, width: float, height: float, colour: int = 1) -> Rod:
    a, b = width / 2, height / 2
    return Rod(_places(body, (-a, -b), (a, -b), (a, b), (-a, b)), colour, 2.5, closed=True)


# Free and sprung bodies
# --------------------------------------------------------------------------------------------------


@settable
def free_body(
    mass=setting(2.0, "kg", "mass", 1e-9),
    gravity=setting(G, "m/s^2", "acceleration of free fall"),
    vx=setting(3.0, "m/s", "horizontal speed at the start"),
    vy=setting(1.0, "m/s", "vertical speed at the start"),
    spin=setting(2.0, "rad/s", "spin at the start"),
) -> System:
    """A body thrown from (0, 1)."""
    body = Body("body", mass, 0.1, (0.0, 1.0), 0.0, (vx, vy), spin, names=PLAIN)
    return assemble("free-body", [body], gravity=(0.0, -gravity)).system(
        until=1.0,
        description="a body thrown under gravity",
        drawing=Drawing((Trail(body.point()), _box("", 0.5, 0.2), Mark(body.point()))),
    )


@settable
def sprung_body(
    stiffness=setting(50.0, "N/m", "of the springs", 0),
    damping=setting(1.0, "N s/m", "of the dampers", 0),
    torsion=setting(2.0, "N m/rad", "of the torsion spring", 0),
    torsion_damping=setting(0.05, "N m s/rad", "of the torsion damper", 0),
) -> System:
    """A plate hung by a corner spring to the ground, and held by a rotational spring."""
    plate = Body("plate", 2.0, 0.1, (0.3, -0.8), 0.2, names=PLAIN)
    elements = [
        Spring("spring", "ground", "plate", stiffness, damping, length=0.5, on_second=(-0.2, 0.1)),
        TorsionSpring("twist", "ground", "plate", torsion, torsion_damping),
    ]
    drawing = Drawing(
        (Rod(((0, 0), *_places("", (-0.2, 0.1))), 4, 1.5), _box("", 0.4, 0.2), Mark((0, 0), 6, 0))
    )
    return assemble("sprung-body", [plate], elements).system(
        until=5.0, description="a body on springs and dampers", drawing=drawing
    )


@settable
def sprung_pair(
    stiffness=setting(80.0, "N/m", "of the springs", 0),
    damping=setting(0.5, "N s/m", "of the dampers", 0),
    torsion=setting(1.0, "N m/rad", "of the torsion spring", 0),
) -> System:
    """Two bodies, one hung to the ground and the other to the first, by springs and dampers."""
    upper = Body("upper", 2.0, 0.1, (0.1, -0.6))
    lower = Body("lower", 1.0, 0.05, (0.3, -1.4))
    elements = [
        Spring(
            "hanger", "ground", "upper", 2 * stiffness, damping, length=0.5, on_second=(0.1, 0.0)
        ),
        Spring(
            "link",
            "upper",
            "lower",
            stiffness,
            damping,
            length=0.5,
            on_first=(-0.1, 0.0),
            on_second=(0.1, 0.0),
        ),
        TorsionSpring("twist", "upper", "lower", torsion, 0.02),
    ]
    springs = (
        Rod(((0, 0), *_places("upper", (0.1, 0.0))), 4, 1.5),
        Rod((*_places("upper", (-0.1, 0.0)), *_places("lower", (0.1, 0.0))), 4, 1.5),
    )
    return assemble("sprung-pair", [upper, lower], elements).system(
        until=5.0,
        description="two bodies joined by springs and dampers",
        drawing=Drawing(
            (*springs, _box("upper", 0.3, 0.2, 0), _box("lower", 0.3, 0.2, 1), Mark((0, 0), 6, 0))
        ),
    )


@settable
def offset_body(
    offset=setting(0.2, "m", "of the reference point from the mass centre"),
    formulation=FORMULATION,
    drive=DRIVE,
) -> System:
    """A bar on a pin whose reference point is the pin, so that mass matrix and weight couple the
    coordinates.
    """
    body = Body("bar", 1.0, 1.0 / 12.0, (0.0, 0.0), -math.pi / 3, centre=(offset, 0.0), names=PLAIN)
    pin = Revolute("pin", "ground", "bar")
    return _system(
        assemble("offset-body", [body], [pin]),
        formulation,
        ("theta",),
        drive,
        until=5.0,
        description="reference point off the mass centre",
        drawing=Drawing(
            (
                Trail(body.point((0.5 + offset, 0.0))),
                Rod(_places("", (offset - 0.5, 0), (offset + 0.5, 0))),
                Mark((0, 0), 6),
            )
        ),
    )


# Pendulums
# --------------------------------------------------------------------------------------------------


def chain(links: int, angles: tuple[float, ...], name: str) -> Mechanism:
    """Bars hung one on the other, from the origin."""
    bodies: list[Body] = []
    joints = []
    at, before = (0.0, 0.0), "ground"
    for k in range(links):
        body = bar(f"bar{k + 1}", at, angles[k])
        on_first = (0.0, 0.0) if k == 0 else (0.5, 0.0)
        joints.append(Revolute(f"pin{k + 1}", before, body.name, on_first, (-0.5, 0.0)))
        bodies.append(body)
        at, before = _tip(body), body.name
    return assemble(name, bodies, joints)


@settable
def double_pendulum(
    theta1=setting(-math.pi / 6, "rad", "first angle at the start"),
    theta2=setting(0.0, "rad", "second angle at the start"),
    formulation=FORMULATION,
    drive=DRIVE,
) -> System:
    """Two bars; angles from the horizontal."""
    model = chain(2, (theta1, theta2), "double-pendulum")
    details = {
        "until": 5.0,
        "description": "two hinged bars",
        "drawing": _drawn_bars("bar1", "bar2"),
    }
    return _system(model, formulation, ("bar1_theta", "bar2_theta"), drive, **details)


@settable
def triple_pendulum(
    theta1=setting(-math.pi / 4, "rad", "first angle at the start"),
    theta2=setting(-math.pi / 6, "rad", "second angle at the start"),
    theta3=setting(0.0, "rad", "third angle at the start"),
    formulation=FORMULATION,
    drive=DRIVE,
) -> System:
    """Three bars; angles from the horizontal."""
    model = chain(3, (theta1, theta2, theta3), "triple-pendulum")
    details = {
        "until": 3.0,
        "description": "three hinged bars",
        "drawing": _drawn_bars("bar1", "bar2", "bar3"),
    }
    return _system(model, formulation, ("bar1_theta", "bar2_theta", "bar3_theta"), drive, **details)


@settable
def disc_pendulum(
    radius=setting(0.3, "m", "radius of the disc", 1e-6),
    spin=setting(5.0, "rad/s", "spin of the disc at the start"),
    formulation=FORMULATION,
    drive=DRIVE,
) -> System:
    """A bar hinged to the rim of a disc that turns about its fixed centre."""
    disc = Body("disc", 2.0, radius**2, (0.0, 0.0), 0.0, spin=spin)  # m r^2 / 2
    arm = bar("bar", (radius, 0.0), -math.pi / 2)
    joints = [
        Revolute("axle", "ground", "disc"),
        Revolute("hinge", "disc", "bar", (radius, 0.0), (-0.5, 0.0)),
    ]
    model = assemble("disc-pendulum", [disc, arm], joints).consistent(hold=("disc_theta",))
    drawing = Drawing(
        (*_drawn_bars("bar").shapes, Disc(disc.point(), radius, disc.coordinates[2].q))
    )
    details = {
        "until": 5.0,
        "description": "a bar on the rim of a turning disc",
        "drawing": drawing,
    }
    return _system(model, formulation, ("disc_theta", "bar_theta"), drive, **details)


@settable
def inverted_pendulum(
    amplitude=setting(0.02, "m", "of the pivot's shaking", 0),
    frequency=setting(150.0, "rad/s", "of the pivot's shaking", 0),
    length=setting(0.3, "m", "length of the bar", 1e-6),
    tilt=setting(0.1, "rad", "tilt at the start"),
    formulation=FORMULATION,
    drive=DRIVE,
) -> System:
    """A bar that stands on a pivot shaken up and down; it stays up where amplitude x frequency >
    sqrt(4/3 g length).
    """
    body = bar("bar", (0.0, 0.0), math.pi / 2 - tilt, length=length)
    pivot = Revolute(
        "pivot",
        "ground",
        "bar",
        lambda t: (0.0, amplitude * casadi.sin(frequency * t)),
        (-length / 2, 0.0),
    )
    model = assemble("inverted-pendulum", [body], [pivot]).consistent(hold=("bar_theta",))
    details = {
        "until": 2.0,
        "description": "a bar that stands on a shaken pivot",
        "drawing": _drawn_bars("bar", length=length),
    }
    return _system(model, formulation, ("bar_theta",), drive, **details)


@settable
def mounted_pendulum(
    formulation=FORMULATION,
    drive=DRIVE,
) -> System:
    """A bar hinged to a body that is fixed to the ground."""
    base = Body("base", 3.0, 0.2, (0.0, 0.5))
    arm = bar("bar", (0.2, 0.5), -math.pi / 6)
    joints = [
        Fixed("mount", "ground", "base", (0.0, 0.5)),
        Revolute("hinge", "base", "bar", (0.2, 0.0), (-0.5, 0.0)),
    ]
    return _system(
        assemble("mounted-pendulum", [base, arm], joints),
        formulation,
        ("bar_theta",),
        drive,
        until=5.0,
        description="a pendulum on a fixed body",
        drawing=Drawing((_box("base", 0.4, 0.3, 4), *_drawn_bars("bar").shapes)),
    )


@settable
def welded_pendulum(
    angle=setting(math.pi / 2, "rad", "angle between the bars"),
    formulation=FORMULATION,
    drive=DRIVE,
) -> System:
    """Two bars fixed to each other at an angle, swinging as one."""
    first = bar("first", (0.0, 0.0), -math.pi / 6)
    second = bar("second", _tip(first), -math.pi / 6 + angle)
    joints = [
        Revolute("pin", "ground", "first", (0.0, 0.0), (-0.5, 0.0)),
        Fixed("weld", "first", "second", (0.5, 0.0), (-0.5, 0.0), angle),
    ]
    return _system(
        assemble("welded-pendulum", [first, second], joints),
        formulation,
        ("first_theta",),
        drive,
        until=5.0,
        description="two bars fixed together",
        drawing=_drawn_bars("first", "second"),
    )


@settable
def two_link_robot(
    torque1=setting(5.0, "N m", "torque of the first motor"),
    torque2=setting(1.0, "N m", "torque of the second motor"),
    formulation=FORMULATION,
    drive=DRIVE,
) -> System:
    """Two hinged bars with motors: one on the ground, one on the first bar.

    The torques are parameters.
    """
    first = bar("bar1", (0.0, 0.0), -math.pi / 3)
    second = bar("bar2", _tip(first), -math.pi / 6)
    motors = (Quantity("torque1", torque1, "N m"), Quantity("torque2", torque2, "N m"))
    elements = [
        Revolute("shoulder", "ground", "bar1", (0.0, 0.0), (-0.5, 0.0)),
        Revolute("elbow", "bar1", "bar2", (0.5, 0.0), (-0.5, 0.0)),
        Torque("motor1", "bar1", motors[0]),
        Torque("motor2", "bar2", motors[1], carrier="bar1"),
    ]
    model = assemble("two-link-robot", [first, second], elements, controls=motors)
    details = {
        "until": 3.0,
        "description": "two links with motors",
        "drawing": _drawn_bars("bar1", "bar2"),
    }
    return _system(model, formulation, ("bar1_theta", "bar2_theta"), drive, **details)


# Sliders
# --------------------------------------------------------------------------------------------------


@settable
def ground_slider(
    slope=setting(-math.pi / 6, "rad", "slope of the rail"),
    stiffness=setting(20.0, "N/m", "of the spring", 0),
    rotation=setting(
        "angle", "", "how the slider's direction is held", choices=("angle", "vectors")
    ),
    formulation=FORMULATION,
    drive=DRIVE,
) -> System:
    """A block on an inclined rail of the ground, held by a spring."""
    along = (math.cos(slope), math.sin(slope))
    block = Body("block", 1.0, 0.02, (0.5 * along[0], 0.5 * along[1]), slope)
    elements = [
        Prismatic("rail", "ground", "block", along, angle=slope, by_vectors=rotation == "vectors"),
        Spring("spring", "ground", "block", stiffness, 0.2, length=0.4),
    ]
    return _system(
        assemble("ground-slider", [block], elements),
        formulation,
        ("block_x",),
        drive,
        until=5.0,
        description="a block on an inclined rail",
        drawing=Drawing(
            (
                Ground(((-along[0], -along[1]), (3 * along[0], 3 * along[1]))),
                Rod(((0, 0), *_places("block", (0, 0))), 4, 1.5),
                _box("block", 0.2, 0.12),
            )
        ),
    )


@settable
def body_slider(
    stiffness=setting(100.0, "N/m", "of the spring", 0),
    rotation=setting(
        "angle", "", "how the slider's direction is held", choices=("angle", "vectors")
    ),
    formulation=FORMULATION,
    drive=DRIVE,
) -> System:
    """A collar on a swinging bar, held by a spring."""
    arm = bar("bar", (0.0, 0.0), -math.pi / 4)
    collar = Body("collar", 0.5, 0.005, arm.position, arm.angle)
    elements = [
        Revolute("pin", "ground", "bar", (0.0, 0.0), (-0.5, 0.0)),
        Prismatic("rail", "bar", "collar", by_vectors=rotation == "vectors"),
        Spring("spring", "bar", "collar", stiffness, 0.1, length=0.5, on_first=(-0.5, 0.0)),
    ]
    return _system(
        assemble("body-slider", [arm, collar], elements),
        formulation,
        ("bar_theta", "collar_y"),
        drive,
        until=3.0,
        description="a collar on a swinging bar",
        drawing=Drawing(
            (*_drawn_bars("bar").shapes, Trail(collar.point(), 2), _box("collar", 0.15, 0.1))
        ),
    )


def slider_crank_mechanism(
    crank: float = 0.2, rod: float = 0.6, torque: Any = 0.0, drive: float | None = None
) -> Mechanism:
    """Crank, rod and piston from a crank angle of 60 degrees; ``drive`` turns the crank at a given
    rate instead of freely.
    """
    angle = math.pi / 3
    lean = -math.asin(crank * math.sin(angle) / rod)
    first = bar("crank", (0.0, 0.0), angle, 1.0, crank, spin=10.0)
    second = bar("rod", _tip(first, crank), lean, 2.0, rod)
    piston = Body("piston", 1.0, 0.01, (crank * math.cos(angle) + rod * math.cos(lean), 0.0))
    elements: list[Any] = [
        Revolute("main", "ground", "crank", (0.0, 0.0), (-crank / 2, 0.0)),
        Revolute("crankpin", "crank", "rod", (crank / 2, 0.0), (-rod / 2, 0.0)),
        Revolute("wristpin", "rod", "piston", (rod / 2, 0.0), (0.0, 0.0)),
        Prismatic("cylinder", "ground", "piston"),
    ]
    motor = Quantity("torque", float(torque), "N m")
    load = Quantity("load", 0.0, "N")
    elements += [Torque("motor", "crank", motor), Force("gas", "piston", (load, 0.0))]
    if drive is not None:
        elements.append(Drive("drive", "crank", lambda t: angle + drive * t))
    model = assemble("slider-crank", [first, second, piston], elements, controls=(motor, load))
    return model.consistent(hold=() if drive is not None else ("crank_theta",))


@settable
def slider_crank(
    crank=setting(0.2, "m", "length of the crank", 1e-6),
    rod=setting(0.6, "m", "length of the rod", 1e-6),
    torque=setting(0.0, "N m", "torque on the crank"),
    load=setting(0.0, "N", "load on the piston"),
    drive=setting(
        None,
        "rad/s",
        "constant rate of the crank, for a kinematic analysis; none: the crank is free",
        optional=True,
    ),
    formulation=FORMULATION,
) -> System:
    """A slider-crank that starts at 10 rad/s, with a constant torque on the crank and a force on
    the piston.

    With ``drive`` the constraints determine the motion; ``reaction_drive`` is the torque that the
    drive applies to the crank.
    """
    if drive is not None and formulation not in ("augmented", "penalty"):
        raise ModelError(
            "a driven mechanism has no independent velocity",
            got=formulation,
            expected="formulation=augmented",
        )
    model = slider_crank_mechanism(crank, rod, drive=drive)
    loaded = torque != 0.0 or load != 0.0 or drive is not None
    return _system(
        model,
        formulation,
        ("crank_theta",),
        controls={"torque": torque, "load": load},
        until=2.0,
        description="crank, rod and piston" + (", driven" if loaded else ""),
        drawing=_drawn_crank(crank, rod),
    )


def _drawn_crank(crank: float, rod: float) -> Drawing:
    hub, pin = _places("crank", (-crank / 2, 0.0), (crank / 2, 0.0))
    ends = _places("rod", (-rod / 2, 0.0), (rod / 2, 0.0))
    rail = Ground(((-2 * crank, 0.0), (2 * (crank + rod), 0.0)))
    bars = (Rod((hub, pin), 0), Rod(ends, 2), _box("piston", 0.16, 0.12))
    return Drawing(
        (
            rail,
            Trail(*_places("rod", (0.0, 0.0))),
            *bars,
            Mark(hub, 7, 0),
            Mark(pin, 6, 5),
            Mark(ends[1], 6, 5),
        )
    )
