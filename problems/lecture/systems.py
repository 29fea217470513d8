"""The systems of a lecture on ordinary differential equations (Hirai, Ritsumeikan): oscillators,
pendulums, arms, Lorenz.
"""

from __future__ import annotations

from math import pi

import casadi
from casadi import SX, cos, sin, sqrt, vertcat

from problems.given_functions import of_time
from trajopt.errors import ModelError
from trajopt.mechanics import Coordinate, Holonomic, Mechanism
from trajopt.parameters import settable, setting
from trajopt.show.drawing import Drawing, Ground, Mark, Rod, Trail
from trajopt.system import Invariant, System, Variable

# Computed with two independent integrators at tolerance 1e-13.
PENDULUM_AT_10 = (-0.21939417, -2.15988169)
LORENZ_AT_10 = (-13.9486608, -10.2630753, 37.7027738)


@settable
def decay(
    rate=setting(2.0, "1/s", "rate of the decay", 0), x=setting(1.0, "", "value at the start")
) -> System:
    """x' = -a x, the lecture's first example."""
    value = SX.sym("x")
    return System(
        "decay",
        SX.sym("t"),
        value,
        (Variable("x", x),),
        -rate * value,
        until=1.0,
        description="exponential decay",
    )


@settable
def mass_spring_damper(
    mass=setting(1.0, "kg", "mass", 1e-9),
    damping=setting(0.5, "N s/m", "damping", 0),
    stiffness=setting(4.0, "N/m", "stiffness of the spring", 0),
    force=setting(0.0, "N", "constant force"),
    force_file=setting(
        None, "", "force (N) over time: ./mine.py:f, or a table t, f in f.csv", optional=True
    ),
    x=setting(1.0, "m", "deflection at the start"),
    v=setting(0.0, "m/s", "speed at the start"),
) -> System:
    """m x'' = -b x' - k x + f(t); a constant force f belongs to the energy."""
    _positive(mass=mass)
    t, position, speed = SX.sym("t"), SX.sym("x"), SX.sym("v")
    varying = force_file is not None or callable(force)
    push = SX(of_time(force if force_file is None else force_file, "force")(t))
    held = 0.0 if varying else force
    energy = mass / 2 * speed**2 + stiffness / 2 * position**2 - held * position
    return System(
        "mass-spring-damper",
        t,
        vertcat(position, speed),
        (Variable("x", x, "m"), Variable("v", v, "m/s")),
        vertcat(speed, (push - damping * speed - stiffness * position) / mass),
        invariants=() if damping or varying else (Invariant("energy", energy),),
        outputs={
            "energy": (energy, "J"),
            "power": ((push - held) * speed - damping * speed**2, "W"),
            "force": (push, "N"),
        },
        description="a mass on a spring with a damper",
        drawing=Drawing(
            (
                Ground(((-2.0, -0.5), (-2.0, 0.5))),
                Rod(((-2.0, 0.0), (position, 0.0)), 4, 1.5),
                Mark((position, 0.0), 24),
            )
        ),
    )


@settable
def lcr_circuit(
    inductance=setting(1.0, "H", "inductance", 1e-12),
    capacity=setting(1.0, "F", "capacity", 1e-15),
    resistance=setting(0.5, "ohm", "resistance", 0),
    voltage=setting(1.0, "V", "constant voltage of the source"),
    voltage_file=setting(
        None, "", "voltage (V) over time: ./mine.py:f, or a table t, V in V.csv", optional=True
    ),
    q=setting(0.0, "C", "charge at the start"),
    i=setting(0.0, "A", "current at the start"),
) -> System:
    """L i' = V(t) - R i - q/C, q' = i."""
    _positive(inductance=inductance, capacity=capacity)
    t, charge, current = SX.sym("t"), SX.sym("q"), SX.sym("i")
    varying = voltage_file is not None or callable(voltage)
    source = SX(of_time(voltage if voltage_file is None else voltage_file, "voltage")(t))
    energy = inductance / 2 * current**2 + charge**2 / (2 * capacity)
    return System(
        "lcr-circuit",
        t,
        vertcat(charge, current),
        (Variable("q", q, "C"), Variable("i", i, "A")),
        vertcat(current, (source - resistance * current - charge / capacity) / inductance),
        invariants=()
        if resistance or varying
        else (Invariant("energy", energy - voltage * charge),),
        outputs={
            "energy": (energy, "J"),
            "power": (source * current - resistance * current**2, "W"),
            "voltage": (source, "V"),
        },
        until=20.0,
        description="inductor, capacitor and resistor in series on a voltage",
    )


@settable
def pendulum(
    length=setting(2.0, "m", "length of the rod", 1e-6),
    mass=setting(0.01, "kg", "mass of the bob", 1e-9),
    gravity=setting(9.8, "m/s^2", "acceleration of free fall"),
    theta=setting(pi / 3, "rad", "angle from the vertical at the start"),
    omega=setting(0.0, "rad/s", "rate at the start"),
) -> System:
    """theta'' = -(g/l) sin(theta)."""
    _positive(length=length, mass=mass)
    t, angle, rate = SX.sym("t"), SX.sym("theta"), SX.sym("omega")
    energy = mass / 2 * (length * rate) ** 2 - mass * gravity * length * cos(angle)
    return System(
        "pendulum",
        t,
        vertcat(angle, rate),
        (Variable("theta", theta, "rad"), Variable("omega", omega, "rad/s")),
        vertcat(rate, -gravity / length * sin(angle)),
        invariants=(Invariant("energy", energy),),
        outputs={"energy": (energy, "J")},
        description="a point mass on a rod, in its angle",
        drawing=_hanging((0.0, 0.0), (length * sin(angle), -length * cos(angle))),
    )


@settable
def pendulum_cartesian(
    length=setting(2.0, "m", "length of the rod", 1e-6),
    mass=setting(0.01, "kg", "mass of the bob", 1e-9),
    gravity=setting(9.8, "m/s^2", "acceleration of free fall"),
    theta=setting(pi / 3, "rad", "angle from the vertical at the start"),
    omega=setting(0.0, "rad/s", "rate at the start"),
) -> System:
    """The pendulum in Cartesian coordinates from its lowest point, with the rod as a constraint R =
    sqrt(x^2 + (y-l)^2) - l.
    """
    _positive(length=length, mass=mass)
    x = Coordinate(
        "x", length * float(sin(theta)), length * omega * float(cos(theta)), "m", rate="vx"
    )
    y = Coordinate(
        "y", length * (1 - float(cos(theta))), length * omega * float(sin(theta)), "m", rate="vy"
    )
    mechanism = Mechanism(
        "pendulum-cartesian",
        (x, y),
        kinetic=mass / 2 * (x.v**2 + y.v**2),
        potential=mass * gravity * y.q,
        constraints=(Holonomic("rod", sqrt(x.q**2 + (y.q - length) ** 2) - length, "m"),),
    )
    return mechanism.system(
        description="a point mass on a rod, in x and y with the rod as a constraint",
        drawing=_hanging((0.0, length), (x.q, y.q)),
    )


@settable
def two_link_arm(
    theta1=setting(0.0, "rad", "first angle at the start"),
    theta2=setting(0.0, "rad", "second angle at the start"),
    tau1=setting(0.0, "N m", "torque of the first joint"),
    tau2=setting(0.0, "N m", "torque of the second joint"),
    length=setting(1.0, "m", "length of each rod", 1e-6),
    mass=setting(1.0, "kg", "mass of each rod", 1e-9),
    gravity=setting(9.8, "m/s^2", "acceleration of free fall"),
) -> System:
    """Two uniform rods, joint angles theta1 from the horizontal and theta2 relative, constant joint
    torques.
    """
    arm = _Arm.of(("theta1", theta1), ("theta2", theta2), (0.0, 0.0), length, mass, gravity)
    mechanism = Mechanism(
        "two-link-arm",
        arm.coordinates,
        kinetic=arm.kinetic,
        potential=arm.potential,
        forces={"theta1": tau1, "theta2": tau2},
    )
    return mechanism.system(
        until=5.0,
        description="two uniform rods in a vertical plane",
        drawing=Drawing((Trail(arm.tip), *arm.shapes(0))),
    )


@settable
def closed_four_link(
    theta1=setting(-1.9, "rad", "first angle at the start"),
    theta3=setting(-1.1, "rad", "third angle at the start"),
    tau1=setting(0.0, "N m", "torque of the first joint"),
    tau3=setting(0.0, "N m", "torque of the third joint"),
    length=setting(1.0, "m", "length of each rod", 1e-6),
    mass=setting(1.0, "kg", "mass of each rod", 1e-9),
    gravity=setting(9.8, "m/s^2", "acceleration of free fall"),
) -> System:
    """Two arms of two rods, hinged to the ground one metre apart and to each other at their tips: a
    closed loop of two freedoms.

    The elbows start outwards, and theta2 and theta4 follow from the loop.
    """
    left = _Arm.of(("theta1", theta1), ("theta2", 1.4), (0.0, 0.0), length, mass, gravity)
    right = _Arm.of(("theta3", theta3), ("theta4", -1.5), (1.0, 0.0), length, mass, gravity)
    gap = left.tip - right.tip
    mechanism = Mechanism(
        "closed-four-link",
        (*left.coordinates, *right.coordinates),
        kinetic=left.kinetic + right.kinetic,
        potential=left.potential + right.potential,
        forces={"theta1": tau1, "theta3": tau3},
        constraints=(Holonomic("loop_x", gap[0], "m"), Holonomic("loop_y", gap[1], "m")),
    )
    closed = mechanism.consistent(hold=("theta1", "theta3"))
    drawing = Drawing((Trail(left.tip), *left.shapes(0), *right.shapes(1)))
    return closed.system(description="two arms of two rods joined at their tips", drawing=drawing)


class _Arm:
    """Two rods in a vertical plane: coordinates, energies, and the places of base,
    elbow and tip.
    """

    def __init__(
        self, coordinates: tuple[Coordinate, Coordinate], kinetic: SX, potential: SX, places: tuple
    ) -> None:
        self.coordinates, self.kinetic, self.potential, self.places = (
            coordinates,
            kinetic,
            potential,
            places,
        )
        self.tip = places[-1]

    def shapes(self, colour: int) -> tuple:
        return (Rod(self.places, colour), *(Mark(place, 6, colour) for place in self.places))

    @staticmethod
    def of(
        first: tuple[str, float],
        second: tuple[str, float],
        base: tuple[float, float],
        length: float,
        mass: float,
        gravity: float,
    ) -> _Arm:
        _positive(length=length, mass=mass)
        inertia = mass * length**2 / 12
        coordinates = tuple(
            Coordinate(n, start, unit="rad", rate=n.replace("theta", "omega"))
            for n, start in (first, second)
        )
        (q1, v1), (q2, v2) = ((c.q, c.v) for c in coordinates)
        e1, e2 = vertcat(cos(q1), sin(q1)), vertcat(cos(q1 + q2), sin(q1 + q2))
        elbow = casadi.DM(base) + length * e1
        centres = (casadi.DM(base) + length / 2 * e1, elbow + length / 2 * e2)
        kinetic, potential = SX(0), SX(0)
        for centre, turning in zip(centres, (v1, v1 + v2), strict=True):
            velocity = casadi.jacobian(centre, vertcat(q1, q2)) @ vertcat(v1, v2)
            kinetic += mass / 2 * casadi.sumsqr(velocity) + inertia / 2 * turning**2
            potential += mass * gravity * centre[1]
        return _Arm(coordinates, kinetic, potential, (base, elbow, elbow + length * e2))


@settable
def lorenz(
    p=setting(10.0, "1", "Prandtl number"),
    r=setting(28.0, "1", "relative Rayleigh number"),
    b=setting(8 / 3, "1", "aspect parameter"),
    x=setting(4.0, "1", "x at the start"),
    y=setting(4.0, "1", "y at the start"),
    z=setting(4.0, "1", "z at the start"),
) -> System:
    """Lorenz' convection cell; an error grows by a factor of about e for each second."""
    t, X, Y, Z = SX.sym("t"), SX.sym("x"), SX.sym("y"), SX.sym("z")
    return System(
        "lorenz",
        t,
        vertcat(X, Y, Z),
        (Variable("x", x), Variable("y", y), Variable("z", z)),
        vertcat(-p * (X - Y), -X * Z + r * X - Y, X * Y - b * Z),
        description="Lorenz' three equations",
        drawing=Drawing((Trail((X, Y, Z)), Mark((X, Y, Z))), view=(-60.0, 10.0)),
    )


def _hanging(pivot: tuple[float, float], bob: tuple) -> Drawing:
    return Drawing((Trail(bob), Rod((pivot, bob), width=2.5), Mark(pivot, 5, 0), Mark(bob, 14)))


def _positive(**values: float) -> None:
    for name, value in values.items():
        if not value > 0:
            raise ModelError(f"the {name} must be positive", got=value)
