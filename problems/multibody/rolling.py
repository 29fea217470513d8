"""Planar bodies in contact with the ground: a bouncing and a rolling disc, and a vehicle.

Source: Inoue, Introduction to multibody dynamics (Japanese, Corona 2024), chapters 5 and 15. No data are given there; what is
chosen here stands in the arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from casadi import SX, cos, sin

from trajopt.errors import UsageError, suggest
from trajopt.mechanics import (
    Arctangent,
    Body,
    Contact,
    Coulomb,
    Hertz,
    Hooke,
    HuntCrossley,
    KelvinVoigt,
    Line,
    Mechanism,
    NewtonImpact,
    PoissonImpact,
    Resting,
    Revolute,
    Torque,
    assemble,
    impact,
    touch,
)
from trajopt.show.drawing import Disc, Drawing, Ground, Mark, Rod, Trail
from trajopt.system import System

G = 9.81
STIFFNESS = 2e4  # N/m, or N/m^1.5 for curved surfaces
SPEED = 4.2  # m/s, at which the nonlinear laws have the restitution asked for

COMPLIANT: Mapping[str, Callable[[float], Any]] = {
    "hooke": lambda e: Hooke(STIFFNESS),
    "kelvin-voigt": lambda e: KelvinVoigt.from_restitution(STIFFNESS, 1.0, e),
    "kelvin-voigt-adhesive": lambda e: KelvinVoigt.from_restitution(STIFFNESS, 1.0, e, adhesive=True),
    "hertz": lambda e: Hertz(STIFFNESS),
    "hunt-crossley": lambda e: HuntCrossley.from_restitution(STIFFNESS, SPEED, e),
}
RIGID: Mapping[str, Any] = {"newton": NewtonImpact, "poisson": PoissonImpact}


def bouncing_body(
    law: str = "newton", restitution: float = 0.8, friction: float = 0.3, height: float = 1.0, vx: float = 1.0, spin: float = 0.0
) -> System:
    """A disc of 1 kg and radius 0.1 m that drops, bounces, slides and at last rolls."""
    radius = 0.1
    disc = Body("disc", 1.0, 0.5 * radius**2, (0.0, height), 0.0, (vx, 0.0), spin, names=("x", "y", "theta"))
    rubbing = Coulomb(friction, Arctangent(1e-2))
    details: dict[str, Any] = {
        "until": 3.0,
        "description": f"a bouncing disc, contact law: {law}",
        "drawing": _drawn_disc(disc, radius),
    }
    if law in COMPLIANT:
        contact = Contact("ground contact", "disc", COMPLIANT[law](restitution), rubbing, radius=radius)
        model = assemble("bouncing-body", [disc], [contact], (0.0, -G))
        return model.system(events=touch(model, disc, contact), **details)
    if law not in RIGID:
        known = (*RIGID, *COMPLIANT)
        raise UsageError(f"no contact law is called '{law}'", expected=", ".join(known), hint=suggest(law, known))
    rest = Resting("rest", "disc", disc.mass * G, rubbing, radius=radius)
    model = assemble("bouncing-body", [disc], [rest], (0.0, -G))
    return model.system(
        events=(impact(model, disc, RIGID[law](restitution, friction, rest_speed=1e-2), radius=radius),), **details
    )


def rolling_body(friction: float = 0.3, vx: float = 2.0, spin: float = 0.0, smoothing: float = 1e-3) -> System:
    """A disc that slides on the ground until friction makes it roll: its speed tends to two thirds of the start."""
    radius, law = 0.1, KelvinVoigt.from_restitution(STIFFNESS, 1.0, 0.3)
    sink = G / law.stiffness
    disc = Body("disc", 1.0, 0.5 * radius**2, (0.0, radius - sink), 0.0, (vx, 0.0), spin, names=("x", "y", "theta"))
    contact = Contact("ground contact", "disc", law, Coulomb(friction, Arctangent(smoothing)), radius=radius)
    model = assemble("rolling-body", [disc], [contact], (0.0, -G))
    details = {"description": "a disc that slides, then rolls", "drawing": _drawn_disc(disc, radius)}
    return model.system(until=2.0, events=touch(model, disc, contact), **details)


def _drawn_disc(disc: Body, radius: float) -> Drawing:
    floor = Ground(((-100.0, 0.0), (100.0, 0.0)))
    return Drawing((floor, Trail(disc.point()), Disc(disc.point(), radius, disc.coordinates[2].q)))


def vehicle(slope: float, torque: Callable[[Any], Any], name: str = "vehicle") -> Mechanism:
    """A car of 1060 kg on a slope (rad): chassis on two wheels with compliant tyres, torque on the rear wheel.

    It starts at rest with its weight on the tyres. The torque is a function of time, forwards positive; the
    chassis carries the motor.
    """
    mass, wheel, radius, base, height = 1000.0, 30.0, 0.3, 2.6, 0.2
    tyre = KelvinVoigt(2e5, 3e3)
    grip = Coulomb(0.8, Arctangent(0.05))
    c, s = math.cos(slope), math.sin(slope)
    sink = (mass / 2 + wheel) * G * c / tyre.stiffness

    def at(along: float, up: float) -> tuple[float, float]:
        return along * c - up * s, along * s + up * c

    chassis = Body("chassis", mass, 1500.0, at(0.0, radius - sink + height), slope)
    rear = Body("rear", wheel, 0.5 * wheel * radius**2, at(-base / 2, radius - sink), slope)
    front = Body("front", wheel, 0.5 * wheel * radius**2, at(base / 2, radius - sink), slope)
    ground = Line.slope(slope)
    elements = [
        Revolute("rear axle", "chassis", "rear", (-base / 2, -height)),
        Revolute("front axle", "chassis", "front", (base / 2, -height)),
        Contact("rear tyre", "rear", tyre, grip, radius=radius, surface=ground),
        Contact("front tyre", "front", tyre, grip, radius=radius, surface=ground),
        Torque("motor", "rear", lambda t: -torque(t), carrier="chassis"),  # forwards is clockwise
    ]
    return assemble(name, [chassis, rear, front], elements, (0.0, -G))


def vehicle_flat(torque: float = 400.0, growth: float = 0.0) -> System:
    """A car on flat ground: torque (N m) on the rear wheel, constant or growing (N m/s)."""
    model = vehicle(0.0, lambda t: torque + growth * t, "vehicle-flat")
    return model.system(until=5.0, description="a car on flat ground", drawing=_drawn_vehicle(0.0))


def vehicle_slope(slope: float = math.radians(10), torque: float = 700.0, growth: float = 0.0) -> System:
    """A car on a slope (rad): torque (N m) on the rear wheel, constant or growing (N m/s)."""
    model = vehicle(slope, lambda t: torque + growth * t, "vehicle-slope")
    return model.system(until=5.0, description="a car on a slope", drawing=_drawn_vehicle(slope))


def _drawn_vehicle(slope: float) -> Drawing:
    names = ("chassis_x", "chassis_y", "chassis_theta", "rear_x", "rear_y", "rear_theta", "front_x", "front_y", "front_theta")
    x, y, theta, *wheels = (SX.sym(name) for name in names)

    def on_chassis(along: float, up: float) -> tuple[Any, Any]:
        return x + cos(theta) * along - sin(theta) * up, y + sin(theta) * along + cos(theta) * up

    outline = ((-1.9, -0.15), (1.9, -0.15), (1.9, 0.2), (1.1, 0.3), (0.5, 0.75), (-1.0, 0.75), (-1.6, 0.3), (-1.9, 0.25))
    body = Rod(tuple(on_chassis(*corner) for corner in outline), 0, 2.5, closed=True)
    rear, front = (Disc(tuple(wheels[k : k + 2]), 0.3, wheels[k + 2], colour=1) for k in (0, 3))
    far = 1e3
    road = Ground(((-far * math.cos(slope), -far * math.sin(slope)), (far * math.cos(slope), far * math.sin(slope))))

    def post(number: int) -> Callable[[Mapping[str, float]], tuple[float, float]]:
        """One of the posts near the car, two metres apart, by which its speed is seen."""

        def at(now: Mapping[str, float]) -> tuple[float, float]:
            way = now["chassis_x"] * math.cos(slope) + now["chassis_y"] * math.sin(slope)
            along = 2.0 * (math.floor(way / 2.0) + number)
            return along * math.cos(slope), along * math.sin(slope)

        return at

    posts = tuple(Mark(post(number), 4, 4) for number in (-1, 0, 1, 2))
    return Drawing((road, *posts, body, rear, front), follow=(x, y), reach=2.0)
