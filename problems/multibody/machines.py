"""Gears, a rack, a hung cuboid, a pinned pair with a spring, an elastic arm.

Source: Inoue, Introduction to multibody dynamics (Japanese, Corona 2024), examples 25 and 35, and
the outlook of chapter 16. No data are given there; what is chosen stands in the arguments.
"""

from __future__ import annotations

import math

import casadi
from casadi import SX, cos, sin, vertcat

from problems.multibody.exercises import (
    DRIVE,
    FORMULATION,
    FORMULATIONS,
    _box,
    _drawn_bars,
    _places,
    _system,
    _tip,
    bar,
)
from trajopt.mechanics import (
    Beam,
    Body,
    Coordinate,
    Gear,
    Holonomic,
    Mechanism,
    Prismatic,
    Rack,
    Revolute,
    Spring,
    Torque,
    TorsionSpring,
    assemble,
)
from trajopt.parameters import settable, setting
from trajopt.show.drawing import Disc, Drawing, Ground, Mark, Rod, Trail
from trajopt.system import System


@settable
def hung_cuboid(
    mass=setting(3.0, "kg", "mass", 1e-9),
    width=setting(0.6, "m", "width of the face in the plane", 1e-6),
    height=setting(0.3, "m", "height of that face", 1e-6),
    tilt=setting(0.5, "rad", "angle of the diagonal from the vertical at the start"),
    formulation=setting(
        "penalty", "", "formulation of the constraints", choices=tuple(FORMULATIONS)
    ),
    drive=DRIVE,
) -> System:
    """A cuboid that hangs on a pin through a vertex, by default held there by a stiff spring.

    It is a compound pendulum: J theta'' = -m g d sin(theta), d half the diagonal, J = m (w^2 +
    h^2)/3.
    """
    corner = (-width / 2, height / 2)
    hanging = -math.atan2(-corner[1], -corner[0]) - math.pi / 2 + tilt
    c, s = math.cos(hanging), math.sin(hanging)
    centre = (-(c * corner[0] - s * corner[1]), -(s * corner[0] + c * corner[1]))
    body = Body("cuboid", mass, mass * (width**2 + height**2) / 12, centre, hanging)
    pin = Revolute("pin", "ground", "cuboid", (0.0, 0.0), corner)
    return _system(
        assemble("hung-cuboid", [body], [pin]),
        formulation,
        ("cuboid_theta",),
        drive,
        until=5.0,
        description="a cuboid hung at a vertex",
        drawing=Drawing(
            (
                Trail(body.point()),
                _box("cuboid", width, height),
                Mark((0, 0), 7),
                Mark(body.point()),
            )
        ),
    )


@settable
def pinned_pair(
    stiffness=setting(50.0, "N/m", "of the spring", 0),
    damping=setting(2.0, "N s/m", "of its damper", 0),
    torsion=setting(5.0, "N m/rad", "of the torsion spring between the bodies", 0),
    formulation=FORMULATION,
    drive=DRIVE,
) -> System:
    """Two bars, pinned to the ground and to each other, with a spring and damper from the ground to
    the tip and a torsion spring in the hinge.
    """
    first = bar("bar1", (0.0, 0.0), -math.pi / 6)
    second = bar("bar2", _tip(first), -math.pi / 3)
    elements = [
        Revolute("pin1", "ground", "bar1", (0.0, 0.0), (-0.5, 0.0)),
        Revolute("pin2", "bar1", "bar2", (0.5, 0.0), (-0.5, 0.0)),
        Spring("spring", "ground", "bar2", stiffness, damping, 0.6, (1.6, 0.0), (0.5, 0.0)),
        TorsionSpring("twist", "bar1", "bar2", torsion, 0.1),
    ]
    shapes = _drawn_bars("bar1", "bar2").shapes
    spring = Rod(((1.6, 0.0), *_places("bar2", (0.5, 0.0))), 4, 1.5)
    return _system(
        assemble("pinned-pair", [first, second], elements),
        formulation,
        ("bar1_theta", "bar2_theta"),
        drive,
        until=5.0,
        description="two pinned bars with a spring and a damper",
        drawing=Drawing((spring, Mark((1.6, 0.0), 6, 0), *shapes)),
    )


def _wheel(name: str, radius: float, place: tuple[float, float], density: float) -> Body:
    """A disc with the mass of its area."""
    mass = density * math.pi * radius**2
    return Body(name, mass, mass * radius**2 / 2, place)


@settable
def gear_pair(
    radius1=setting(0.1, "m", "pitch radius of the driven gear", 1e-6),
    radius2=setting(0.2, "m", "pitch radius of the other", 1e-6),
    density=setting(100.0, "kg/m^2", "mass by area", 1e-9),
    torque=setting(0.5, "N m", "torque on the first gear"),
    load=setting(-0.2, "N m", "torque on the second gear"),
    formulation=FORMULATION,
    drive=DRIVE,
) -> System:
    """Two gears that mesh: the first turns with (tau1 - (r1/r2) tau2)/(J1 + (r1/r2)^2 J2).

    ``reaction_mesh`` is the force of the teeth (N).
    """
    first = _wheel("gear1", radius1, (0.0, 0.0), density)
    second = _wheel("gear2", radius2, (radius1 + radius2, 0.0), density)
    elements = [
        Revolute("axle1", "ground", "gear1"),
        Revolute("axle2", "ground", "gear2", second.position),
        Gear("mesh", "gear1", "gear2", (radius1, radius2)),
        Torque("motor", "gear1", torque),
        Torque("brake", "gear2", load),
    ]
    discs = tuple(
        Disc(gear.point(), radius, gear.coordinates[2].q, colour=k)
        for k, (gear, radius) in enumerate(((first, radius1), (second, radius2)))
    )
    return _system(
        assemble("gear-pair", [first, second], elements),
        formulation,
        ("gear1_theta",),
        drive,
        until=1.0,
        description="two gears that mesh",
        drawing=Drawing((*discs, Mark(first.position, 5, 5), Mark(second.position, 5, 5))),
    )


@settable
def rack_pinion(
    radius=setting(0.1, "m", "pitch radius of the pinion", 1e-6),
    density=setting(100.0, "kg/m^2", "mass of the pinion by area", 1e-9),
    mass=setting(2.0, "kg", "mass of the rack", 1e-9),
    stiffness=setting(100.0, "N/m", "of a spring that holds the rack", 0),
    torque=setting(2.0, "N m", "torque on the pinion"),
    formulation=FORMULATION,
    drive=DRIVE,
) -> System:
    """A pinion that moves a rack against a spring: (J/r^2 + m) x'' = tau/r - k x.

    ``reaction_teeth`` is the force of the teeth (N).
    """
    pinion = _wheel("pinion", radius, (0.0, 0.0), density)
    rack = Body("rack", mass, 0.01, (0.0, -radius))
    elements = [
        Revolute("axle", "ground", "pinion"),
        Prismatic("rail", "ground", "rack", on_first=(0.0, -radius)),
        Rack("teeth", "pinion", "rack", radius),
        Spring("spring", "ground", "rack", stiffness, on_first=(0.0, -radius)),
        Torque("motor", "pinion", torque),
    ]
    drawing = Drawing(
        (
            Ground(((-1.0, -radius - 0.06), (1.0, -radius - 0.06))),
            Disc(pinion.point(), radius, pinion.coordinates[2].q),
            Rod(_places("rack", (-0.5, 0.0), (0.5, 0.0), (0.5, -0.05), (-0.5, -0.05)), 1, 2, True),
        )
    )
    return _system(
        assemble("rack-pinion", [pinion, rack], elements),
        formulation,
        ("rack_x",),
        drive,
        until=2.0,
        description="a pinion that moves a rack against a spring",
        drawing=drawing,
    )


@settable
def flexible_arm(
    length=setting(1.0, "m", "length of the beam", 1e-6),
    mass=setting(1.0, "kg", "mass of the beam", 1e-9),
    bending=setting(10.0, "N m^2", "bending stiffness EI", 1e-9),
    hub=setting(0.1, "kg m^2", "inertia of the hub", 0),
    torque=setting(1.0, "N m", "torque on the hub, forwards, then backwards"),
    duration=setting(1.0, "s", "of the torque, its sign changes in the middle", 1e-6),
    modes=setting(2, "", "assumed modes", 1, 8),
    gravity=setting(0.0, "m/s^2", "acceleration of free fall in the plane"),
    clamped=setting(False, "", "whether the hub is held"),
    deflection=setting(0.0, "m", "amplitude of the first mode at the start"),
) -> System:
    """An elastic beam on a hub that turns, by assumed modes of the clamped beam.

    The torque is a sine over ``duration``. Outputs: the tip's place, and its deflection from the
    line through the hub.
    """
    beam = Beam(length, mass, bending, int(modes))
    theta = Coordinate("theta", unit="rad")
    eta = beam.coordinates("eta", (deflection,))
    q, v = vertcat(theta.q, *(e.q for e in eta)), vertcat(theta.v, *(e.v for e in eta))
    amplitude, time = vertcat(*(e.q for e in eta)), SX.sym("t")
    origin = SX.zeros(2, 1)
    kinetic, potential = beam.energies(amplitude, origin, theta.q, (q, v), (0.0, -gravity))
    wave = sin(2 * math.pi * time / duration)
    push = casadi.if_else(time < duration, torque * wave, 0)
    mechanism = Mechanism(
        "flexible-arm",
        (theta, *eta),
        kinetic + hub / 2 * theta.v**2,
        potential,
        forces={} if clamped else {"theta": push},
        constraints=(Holonomic("hub", theta.q, "rad"),) if clamped else (),
        time=time,
    )
    tip = beam.place(length, amplitude, origin, theta.q)
    line = tuple(beam.place(length * k / 20, amplitude, origin, theta.q) for k in range(21))
    straight = (length * cos(theta.q), length * sin(theta.q))
    bent = casadi.dot(casadi.DM(beam.shapes(length)[0]), amplitude)
    outputs = {"tip_x": (tip[0], "m"), "tip_y": (tip[1], "m"), "deflection": (bent, "m")}
    torques = {} if clamped else {"torque": (SX(push), "N m")}
    return mechanism.system(
        until=2.0 * duration,
        description="an elastic beam on a turning hub",
        drawing=Drawing(
            (Trail(tip), Rod((origin, straight), 4, 1), Rod(line, 0, 4), Mark((0, 0), 9, 5))
        ),
        outputs=outputs | torques,
    )
