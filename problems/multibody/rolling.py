"""Planar bodies in contact with the ground: a bouncing and a rolling disc, and a vehicle.

Source: Inoue, Introduction to multibody dynamics (Japanese, Corona 2024), chapters 5 and 15. No
data are given there; what is chosen here stands in the arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from casadi import SX, cos, sin

from trajopt.integrate import Dop853, simulate
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
    Sigmoid,
    Torque,
    assemble,
    impact,
    touch,
)
from trajopt.mechanics.contact_laws import DAMPING_FACTORS
from trajopt.parameters import settable, setting, setting_field
from trajopt.show.drawing import Disc, Drawing, Ground, Mark, Rod, Trail
from trajopt.system import System

G = 9.81
LINEAR, CURVED = 1e6, 3e7  # N/m, N/m^1.5: a disc of 1 kg at 4.2 m/s sinks by 4 mm
SPEED = 4.2  # m/s, of a fall from 0.9 m


def _after(author: str, e: float, v: float = SPEED, k: float = CURVED) -> HuntCrossley:
    """The nonlinear law with the damping of an author's formula."""
    return HuntCrossley.after(author, k, v, e)


# By coefficient of restitution, speed of the first impact (m/s) and stiffness; the mass is 1 kg.
COMPLIANT: Mapping[str, Callable[..., Any]] = {
    "hooke": lambda e, v=SPEED, k=LINEAR: Hooke(k),
    "kelvin-voigt": lambda e, v=SPEED, k=LINEAR: KelvinVoigt.from_restitution(k, 1.0, e),
    "kelvin-voigt-adhesive": lambda e, v=SPEED, k=LINEAR: KelvinVoigt.from_restitution(
        k, 1.0, e, adhesive=True
    ),
    "hertz": lambda e, v=SPEED, k=CURVED: Hertz(k),
    "hunt-crossley": lambda e, v=SPEED, k=CURVED: HuntCrossley.from_restitution(k, v, e),
    **{f"after-{author}": partial(_after, author) for author in DAMPING_FACTORS},
}
RIGID: Mapping[str, Any] = {"newton": NewtonImpact, "poisson": PoissonImpact}


@settable
def bouncing_body(
    law=setting("newton", "", "contact law", choices=(*RIGID, *COMPLIANT)),
    restitution=setting(0.8, "1", "coefficient of restitution", 0, 1),
    friction=setting(0.3, "1", "friction coefficient", 0, 10),
    height=setting(1.0, "m", "height of the centre at the start", 0.1, 1e3),
    vx=setting(1.0, "m/s", "horizontal speed at the start"),
    spin=setting(0.0, "rad/s", "spin at the start"),
    stiffness=setting(
        None,
        "N/m",
        "of a compliant ground (of Hertz' kind N/m^1.5); none: 1e6, or 3e7",
        1,
        optional=True,
    ),
) -> System:
    """A disc of 1 kg and radius 0.1 m that drops, bounces, slides and at last rolls.

    The damping of a compliant law has the coefficient of restitution that is asked for at the first
    impact, for a body without weight.
    """
    radius = 0.1
    disc = Body(
        "disc", 1.0, 0.5 * radius**2, (0.0, height), 0.0, (vx, 0.0), spin, names=("x", "y", "theta")
    )
    rubbing = Coulomb(friction, Arctangent(1e-2))
    details: dict[str, Any] = {
        "until": 3.0,
        "description": f"a bouncing disc, contact law: {law}",
        "drawing": _drawn_disc(disc, radius),
        "outputs": {"gap": (disc.point()[1] - radius, "m")},
    }
    if law in COMPLIANT:
        speed = math.sqrt(2 * G * max(height - radius, 1e-6))
        given = () if stiffness is None else (stiffness,)
        ground = COMPLIANT[law](restitution, speed, *given)
        contact = Contact("ground contact", "disc", ground, rubbing, radius=radius)
        model = assemble("bouncing-body", [disc], [contact], (0.0, -G))
        return model.system(events=touch(model, disc, contact), **details)
    rest = Resting("rest", "disc", disc.mass * G, rubbing, radius=radius)
    model = assemble("bouncing-body", [disc], [rest], (0.0, -G))
    return model.system(
        events=(
            impact(model, disc, RIGID[law](restitution, friction, rest_speed=1e-2), radius=radius),
        ),
        **details,
    )


@settable
def rolling_body(
    friction=setting(0.3, "1", "friction coefficient", 0, 10),
    vx=setting(2.0, "m/s", "speed at the start"),
    spin=setting(0.0, "rad/s", "spin at the start"),
    smoothing=setting(1e-3, "m/s", "speed over which friction changes its sign", 1e-9),
) -> System:
    """A disc that slides on the ground until friction makes it roll: its speed tends to two thirds
    of the start.
    """
    radius, law = 0.1, KelvinVoigt.from_restitution(2e4, 1.0, 0.3)
    sink = G / law.stiffness
    disc = Body(
        "disc",
        1.0,
        0.5 * radius**2,
        (0.0, radius - sink),
        0.0,
        (vx, 0.0),
        spin,
        names=("x", "y", "theta"),
    )
    contact = Contact(
        "ground contact", "disc", law, Coulomb(friction, Arctangent(smoothing)), radius=radius
    )
    model = assemble("rolling-body", [disc], [contact], (0.0, -G))
    details = {
        "description": "a disc that slides, then rolls",
        "drawing": _drawn_disc(disc, radius),
    }
    return model.system(until=2.0, events=touch(model, disc, contact), **details)


def obtained_restitution(law: str, restitution: float, stiffness: float | None = None) -> float:
    """The speed of the disc after its first bounce by that before it, from a run without friction
    from 1 m.
    """
    system = bouncing_body(law, restitution, friction=0.0, vx=0.0, stiffness=stiffness)
    impact_time = math.sqrt(2 * (1.0 - 0.1) / G)
    end = simulate(system, Dop853(1e-9), impact_time * (1 + restitution / 4) + 0.02)
    y, rate = end["y"][-1], end["y_rate"][-1]
    return float(math.sqrt(max(rate**2 + 2 * G * (y - 0.1), 0.0)) / (G * impact_time))


def restitution_picture(simulation: Any = None) -> Any:
    """Coefficients of restitution asked for and obtained, by the laws with equivalent damping
    (examples 16 and 20).
    """
    from trajopt.show.figure_style import COLOURS, DASHES, new_figure, settle, tidy

    figure = new_figure(1, 1, (6.4, 4.8))
    axes = figure.subplots()
    asked = np.linspace(0.3, 0.98, 9)
    laws = [name for name in COMPLIANT if name not in ("hooke", "hertz")]
    for k, law in enumerate(laws):
        values = [obtained_restitution(law, float(e)) for e in asked]
        style = {"color": COLOURS[k % len(COLOURS)], "linestyle": DASHES[k % len(DASHES)]}
        axes.plot(asked, values, label=law, **style)
    axes.plot(asked, asked, color="#999999", linewidth=0.8)
    tidy(axes)
    axes.set_xlabel("restitution asked for")
    axes.legend(fontsize=7)
    settle(axes, "restitution obtained", "1")
    return figure


pictures = {"restitution": restitution_picture}


def _drawn_disc(disc: Body, radius: float) -> Drawing:
    floor = Ground(((-100.0, 0.0), (100.0, 0.0)))
    return Drawing((floor, Trail(disc.point()), Disc(disc.point(), radius, disc.coordinates[2].q)))


SMOOTHINGS: Mapping[str, Callable[[float], Any]] = {"atan": Arctangent, "sigmoid": Sigmoid}


@dataclass(frozen=True)
class Car:
    """Data of the vehicle; the document gives none."""

    mass: float = setting_field(1000.0, "kg", "mass of the chassis", 1, 1e6)
    inertia: float = setting_field(1500.0, "kg m^2", "inertia of the chassis", 1, 1e7)
    wheel_mass: float = setting_field(30.0, "kg", "mass of each wheel", 0.1, 1e5)
    wheel_radius: float = setting_field(0.3, "m", "radius of the wheels", 0.01, 10)
    wheelbase: float = setting_field(2.6, "m", "distance of the axles", 0.1, 50)
    height: float = setting_field(0.2, "m", "of the chassis' mass centre above the axles", 0, 10)
    tyre_stiffness: float = setting_field(2e5, "N/m", "stiffness of the tyres", 1, 1e9)
    tyre_damping: float = setting_field(3e3, "N s/m", "damping of the tyres", 0, 1e7)
    friction: float = setting_field(0.8, "1", "friction coefficient of the tyres", 0, 10)
    regularization: str = setting_field(
        "atan", "", "smooth sign function of the friction", choices=tuple(SMOOTHINGS)
    )
    slip_speed: float = setting_field(
        0.05, "m/s", "speed over which friction changes its sign", 1e-6, 10
    )


CAR = Car()


def vehicle(
    slope: float, torque: Callable[[Any], Any], name: str = "vehicle", car: Car = CAR
) -> Mechanism:
    """A car on a slope (rad): chassis on two wheels with compliant tyres, torque on the rear wheel.

    It starts at rest with its weight on the tyres. The torque is a function of time, forwards
    positive; the chassis carries the motor.
    """
    mass, wheel, radius, base, height = (
        car.mass,
        car.wheel_mass,
        car.wheel_radius,
        car.wheelbase,
        car.height,
    )
    tyre = KelvinVoigt(car.tyre_stiffness, car.tyre_damping)
    grip = Coulomb(car.friction, SMOOTHINGS[car.regularization](car.slip_speed))
    c, s = math.cos(slope), math.sin(slope)
    sink = (mass / 2 + wheel) * G * c / tyre.stiffness

    def at(along: float, up: float) -> tuple[float, float]:
        return along * c - up * s, along * s + up * c

    chassis = Body("chassis", mass, car.inertia, at(0.0, radius - sink + height), slope)
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


@settable
def vehicle_flat(
    torque=setting(400.0, "N m", "torque on the rear wheel at the start"),
    growth=setting(0.0, "N m/s", "growth of the torque"),
    car: Car = CAR,
) -> System:
    """A car on flat ground: torque on the rear wheel, constant or growing."""
    model = vehicle(0.0, lambda t: torque + growth * t, "vehicle-flat", car)
    return model.system(
        until=5.0, description="a car on flat ground", drawing=_drawn_vehicle(0.0, car)
    )


@settable
def vehicle_slope(
    slope=setting(math.pi / 18, "rad", "slope of the road, uphill positive", -1.5, 1.5),
    torque=setting(700.0, "N m", "torque on the rear wheel at the start"),
    growth=setting(0.0, "N m/s", "growth of the torque"),
    car: Car = CAR,
) -> System:
    """A car on a slope: torque on the rear wheel, constant or growing."""
    model = vehicle(slope, lambda t: torque + growth * t, "vehicle-slope", car)
    return model.system(
        until=5.0, description="a car on a slope", drawing=_drawn_vehicle(slope, car)
    )


def _drawn_vehicle(slope: float, car: Car) -> Drawing:
    names = (
        "chassis_x",
        "chassis_y",
        "chassis_theta",
        "rear_x",
        "rear_y",
        "rear_theta",
        "front_x",
        "front_y",
        "front_theta",
    )
    x, y, theta, *wheels = (SX.sym(name) for name in names)

    def on_chassis(along: float, up: float) -> tuple[Any, Any]:
        return x + cos(theta) * along - sin(theta) * up, y + sin(theta) * along + cos(theta) * up

    outline = (
        (-1.9, -0.15),
        (1.9, -0.15),
        (1.9, 0.2),
        (1.1, 0.3),
        (0.5, 0.75),
        (-1.0, 0.75),
        (-1.6, 0.3),
        (-1.9, 0.25),
    )
    body = Rod(tuple(on_chassis(*corner) for corner in outline), 0, 2.5, closed=True)
    rear, front = (
        Disc(tuple(wheels[k : k + 2]), car.wheel_radius, wheels[k + 2], colour=1) for k in (0, 3)
    )
    far = 1e3
    road = Ground(
        (
            (-far * math.cos(slope), -far * math.sin(slope)),
            (far * math.cos(slope), far * math.sin(slope)),
        )
    )

    def post(number: int) -> Callable[[Mapping[str, float]], tuple[float, float]]:
        """One of the posts near the car, two metres apart, by which its speed is seen."""

        def at(now: Mapping[str, float]) -> tuple[float, float]:
            way = now["chassis_x"] * math.cos(slope) + now["chassis_y"] * math.sin(slope)
            along = 2.0 * (math.floor(way / 2.0) + number)
            return along * math.cos(slope), along * math.sin(slope)

        return at

    posts = tuple(Mark(post(number), 4, 4) for number in (-1, 0, 1, 2))
    return Drawing((road, *posts, body, rear, front), follow=(x, y), reach=2.0)
