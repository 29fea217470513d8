"""The systems of a lecture on ordinary differential equations (Hirai, Ritsumeikan): oscillators, pendulums, arms, Lorenz."""

from __future__ import annotations

from math import pi

import casadi
from casadi import SX, cos, sin, sqrt, vertcat

from trajopt.errors import ModelError
from trajopt.mechanics import Coordinate, Holonomic, Mechanism
from trajopt.show.drawing import Drawing, Ground, Mark, Rod, Trail
from trajopt.system import Invariant, System, Variable

# Computed with two independent integrators at tolerance 1e-13.
PENDULUM_AT_10 = (-0.21939417, -2.15988169)
LORENZ_AT_10 = (-13.9486608, -10.2630753, 37.7027738)


def mass_spring_damper(
    mass: float = 1.0, damping: float = 0.5, stiffness: float = 4.0, force: float = 0.0, x: float = 1.0, v: float = 0.0
) -> System:
    """m x'' = -b x' - k x + f with a constant force f."""
    _positive(mass=mass)
    t, position, speed = SX.sym("t"), SX.sym("x"), SX.sym("v")
    energy = mass / 2 * speed**2 + stiffness / 2 * position**2 - force * position
    return System(
        "mass-spring-damper",
        t,
        vertcat(position, speed),
        (Variable("x", x, "m"), Variable("v", v, "m/s")),
        vertcat(speed, (force - damping * speed - stiffness * position) / mass),
        invariants=() if damping else (Invariant("energy", energy),),
        outputs={"energy": (energy, "J"), "power": (-damping * speed**2, "W")},
        description="a mass on a spring with a damper",
        drawing=Drawing(
            (Ground(((-2.0, -0.5), (-2.0, 0.5))), Rod(((-2.0, 0.0), (position, 0.0)), 4, 1.5), Mark((position, 0.0), 24))
        ),
    )


def lcr_circuit(
    inductance: float = 1.0, capacity: float = 1.0, resistance: float = 0.5, voltage: float = 1.0, q: float = 0.0, i: float = 0.0
) -> System:
    """L i' = V - R i - q/C, q' = i."""
    _positive(inductance=inductance, capacity=capacity)
    t, charge, current = SX.sym("t"), SX.sym("q"), SX.sym("i")
    energy = inductance / 2 * current**2 + charge**2 / (2 * capacity)
    return System(
        "lcr-circuit",
        t,
        vertcat(charge, current),
        (Variable("q", q, "C"), Variable("i", i, "A")),
        vertcat(current, (voltage - resistance * current - charge / capacity) / inductance),
        invariants=() if resistance else (Invariant("energy", energy - voltage * charge),),
        outputs={"energy": (energy, "J"), "power": (voltage * current - resistance * current**2, "W")},
        until=20.0,
        description="inductor, capacitor and resistor in series on a constant voltage",
    )


def pendulum(length: float = 2.0, mass: float = 0.01, gravity: float = 9.8, theta: float = pi / 3, omega: float = 0.0) -> System:
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


def pendulum_cartesian(
    length: float = 2.0, mass: float = 0.01, gravity: float = 9.8, theta: float = pi / 3, omega: float = 0.0
) -> System:
    """The pendulum in Cartesian coordinates from its lowest point, with the rod as a constraint R = sqrt(x^2 + (y-l)^2) - l."""
    _positive(length=length, mass=mass)
    x = Coordinate("x", length * float(sin(theta)), length * omega * float(cos(theta)), "m", rate="vx")
    y = Coordinate("y", length * (1 - float(cos(theta))), length * omega * float(sin(theta)), "m", rate="vy")
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


def two_link_arm(
    theta1: float = 0.0,
    theta2: float = 0.0,
    tau1: float = 0.0,
    tau2: float = 0.0,
    length: float = 1.0,
    mass: float = 1.0,
    gravity: float = 9.8,
) -> System:
    """Two uniform rods, joint angles theta1 from the horizontal and theta2 relative, constant joint torques."""
    arm = _Arm.of(("theta1", theta1), ("theta2", theta2), (0.0, 0.0), length, mass, gravity)
    mechanism = Mechanism(
        "two-link-arm", arm.coordinates, kinetic=arm.kinetic, potential=arm.potential, forces={"theta1": tau1, "theta2": tau2}
    )
    return mechanism.system(
        until=5.0, description="two uniform rods in a vertical plane", drawing=Drawing((Trail(arm.tip), *arm.shapes(0)))
    )


def closed_four_link(
    theta1: float = -1.9,
    theta3: float = -1.1,
    tau1: float = 0.0,
    tau3: float = 0.0,
    length: float = 1.0,
    mass: float = 1.0,
    gravity: float = 9.8,
) -> System:
    """Two arms of two rods, hinged to the ground one metre apart and to each other at their tips: a closed loop of two freedoms.

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
    """Two rods in a vertical plane: coordinates, energies, and the places of base, elbow and tip."""

    def __init__(self, coordinates: tuple[Coordinate, Coordinate], kinetic: SX, potential: SX, places: tuple) -> None:
        self.coordinates, self.kinetic, self.potential, self.places = coordinates, kinetic, potential, places
        self.tip = places[-1]

    def shapes(self, colour: int) -> tuple:
        return (Rod(self.places, colour), *(Mark(place, 6, colour) for place in self.places))

    @staticmethod
    def of(
        first: tuple[str, float], second: tuple[str, float], base: tuple[float, float], length: float, mass: float, gravity: float
    ) -> _Arm:
        _positive(length=length, mass=mass)
        inertia = mass * length**2 / 12
        coordinates = tuple(Coordinate(n, start, unit="rad", rate=n.replace("theta", "omega")) for n, start in (first, second))
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


def lorenz(p: float = 10.0, r: float = 28.0, b: float = 8 / 3, x: float = 4.0, y: float = 4.0, z: float = 4.0) -> System:
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
