"""A ball rolling on a turntable (dissertation on constraint stabilization, 2.3): quaternions, or
angles that jump a pole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import pi

import casadi
import numpy as np
from casadi import SX, cos, sin, vertcat

from trajopt.integrate import LinearLaw, bypass, flow
from trajopt.mechanics import Coordinate, Holonomic, Mechanism, Nonholonomic
from trajopt.parameters import settable, setting, setting_field
from trajopt.show.drawing import Disc, Drawing, Ground, Rod, Trail
from trajopt.system import System

POLE = 0.3  # sine of alpha where the ball passes the pole beta = pi/2


@dataclass(frozen=True)
class Ball:
    """The ball, its start and its turntable."""

    mass: float = setting_field(1.0, "kg", "mass of the ball", 1e-9)
    radius: float = setting_field(1.0, "m", "radius of the ball", 1e-9)
    inertia: float = setting_field(0.4, "kg m^2", "inertia of the ball", 1e-9)
    turning: float = setting_field(1.0, "rad/s", "rate of the turntable")
    start: tuple[float, float] = setting_field((1.0, 0.0), "m", "place at the start")
    velocity: tuple[float, float] = setting_field((0.0, 0.5), "m/s", "velocity at the start")
    spin: float = setting_field(0.3, "rad/s", "spin about the vertical")

    @property
    def rate(self) -> float:
        """Of the ball on its path, a circle: Omega J / (J + m r^2)."""
        return self.turning * self.inertia / (self.inertia + self.mass * self.radius**2)

    @property
    def centre(self) -> np.ndarray:
        """Of the circle."""
        (x, y), (vx, vy) = self.start, self.velocity
        return np.array([x - vy / self.rate, y + vx / self.rate])

    def path(self, t: np.ndarray) -> np.ndarray:
        """x and y in time, (m,) -> (m, 2)."""
        arm = np.array(self.start) - self.centre
        c, s = np.cos(self.rate * np.asarray(t)), np.sin(self.rate * np.asarray(t))
        turned = np.column_stack([c * arm[0] - s * arm[1], s * arm[0] + c * arm[1]])
        return self.centre + turned

    def angular_velocity(self, place: Sequence[float], velocity: Sequence[float]) -> list[float]:
        """In space, of the ball that rolls at a place of the turntable."""
        (x, y), (vx, vy) = place, velocity
        return [
            (self.turning * x - vy) / self.radius,
            (vx + self.turning * y) / self.radius,
            self.spin,
        ]


@settable
def turntable_ball(
    ball: Ball = Ball(),
    coordinates=setting(
        "quaternion", "", "coordinates of the ball's attitude", choices=("quaternion", "angles")
    ),
    margin=setting(0.05, "rad", "jump over the singular angle"),
    pole_at=setting(2.0, "s", "when the ball's pole passes the singular angle"),
) -> System:
    """A homogeneous ball that rolls without slipping on a plane that turns at the rate ``turning``.

    The rolling conditions need the angular velocity in space, x' = r w2 - Omega y, y' = -r w1 +
    Omega x. The attitude is a unit ``"quaternion"`` lambda, or three ``"angles"`` with lambda = (ca
    cb cg, ca cb sg, ca sb, sa), which break down at beta = pi/2. With angles the starting attitude
    is chosen so that the ball passes that pole at the time ``pole_at``; beta jumps over it from
    ``margin`` before to ``margin`` after.
    """
    mass, radius, turning = ball.mass, ball.radius, ball.turning
    spin = ball.angular_velocity(ball.start, ball.velocity)
    x = Coordinate("x", ball.start[0], ball.velocity[0], "m")
    y = Coordinate("y", ball.start[1], ball.velocity[1], "m")
    if coordinates == "quaternion":
        rates = (
            np.asarray(
                casadi.DM(_product(casadi.DM([0.0, *spin]), casadi.DM([1.0, 0, 0, 0])))
            ).ravel()
            / 2
        )
        attitude = tuple(Coordinate(f"lambda{i}", float(i == 0), rates[i]) for i in range(4))
        quaternion = vertcat(*(c.q for c in attitude))
        unit: tuple[Holonomic, ...] = (Holonomic("unit", (casadi.sumsqr(quaternion) - 1) / 2),)
    else:
        attitude = _angles(ball, pole_at)
        quaternion = _quaternion(*(c.q for c in attitude))
        unit = ()
    q, v = vertcat(*(c.q for c in attitude)), vertcat(*(c.v for c in attitude))
    velocity = casadi.jacobian(quaternion, q) @ v
    w = (
        2 * _product(velocity, _conjugate(quaternion))[1:]
    )  # in space; the document's (2.3.5) are the rates in the body
    mechanism = Mechanism(
        "turntable-ball",
        (x, y, *attitude),
        kinetic=mass / 2 * (x.v**2 + y.v**2) + 2 * ball.inertia * casadi.sumsqr(velocity),
        constraints=(
            *unit,
            Nonholonomic("rolling_x", x.v - radius * w[1] + turning * y.q, "m/s"),
            Nonholonomic("rolling_y", y.v + radius * w[0] - turning * x.q, "m/s"),
        ),
    )
    system = mechanism.system(
        until=20.0 if coordinates == "quaternion" else 5.0,
        description="a ball rolling on a turntable",
        drawing=_drawn(vertcat(x.q, y.q, radius), quaternion, radius, turning),
    )
    return system if coordinates == "quaternion" else bypass(system, "beta", pi / 2, margin)


def exact_path(ball: Ball = Ball()) -> Callable[[np.ndarray], np.ndarray]:
    """x and y in time, (m,) -> (m, 2): a circle at the rate Omega J / (J + m r^2)."""
    return ball.path


def _drawn(centre: SX, attitude: SX, radius: float, turning: float) -> Drawing:
    """Three great circles on the ball; the table's rim, a turning diameter of it, and the way of
    the point of contact.
    """
    axles = (vertcat(0, *np.eye(3)[k]) for k in range(3))
    circles = (_product(_product(attitude, SX(axle)), _conjugate(attitude))[1:] for axle in axles)
    edge = 4.0 * radius
    rim = Ground(
        tuple((edge * np.cos(a), edge * np.sin(a), 0.0) for a in np.linspace(0, 2 * pi, 97))
    )
    angle = turning * SX.sym("t")
    diameter = Rod(
        tuple((s * edge * cos(angle), s * edge * sin(angle), 0.0) for s in (-1, 1)), 5, 1.5
    )
    ball = tuple(Disc(centre, radius, normal=circle, colour=k) for k, circle in enumerate(circles))
    return Drawing((rim, diameter, Trail((centre[0], centre[1], 0.0)), *ball), view=(-60.0, 35.0))


def document_law(
    k1: float = -2.0,
    k2: float = -1.0,
    k3: float = -1.0,
    k4: float = -1.0,
    coordinates: str = "quaternion",
) -> LinearLaw:
    """f1' = k1 f1 + k2 f2, f2' = k3 f1 + k4 f2 for the rolling conditions; stable only for k1 < -1
    with the others at -1.
    """
    E = np.array([[k1, k2], [k3, k4]])
    if coordinates == "angles":
        return LinearLaw(E=E)
    return LinearLaw(A=np.array([[-100.0]]), B=np.array([[-20.0]]), E=E)


def _angles(ball: Ball, pole_at: float) -> tuple[Coordinate, ...]:
    """Angles and rates at the start, such that the pole beta = pi/2 is passed at the given time.

    A homogeneous ball does not know its attitude, so that any one may be taken for the starting
    one.
    """

    def turned(t: float, attitude: np.ndarray) -> np.ndarray:
        place = ball.path(np.array([t]))[0]
        x, y = place - ball.centre
        w = ball.angular_velocity(place, (-ball.rate * y, ball.rate * x))
        return np.asarray(_product(casadi.DM([0.0, *w]), casadi.DM(attitude))).ravel() / 2

    turn = casadi.DM(flow(turned, 0.0, pole_at, [1.0, 0.0, 0.0, 0.0])(pole_at))
    pole = casadi.DM([0.0, 0.0, float(np.sqrt(1 - POLE**2)), POLE])
    start = np.asarray(_product(_conjugate(turn), pole)).ravel()
    alpha = np.arcsin(start[3])
    beta = np.arcsin(start[2] / np.cos(alpha))
    gamma = np.arctan2(start[1], start[0])
    angles = SX.sym("angles", 3)
    slope = casadi.Function(
        "slope", [angles], [casadi.jacobian(_quaternion(angles[0], angles[1], angles[2]), angles)]
    )
    spin = casadi.DM([0.0, *ball.angular_velocity(ball.start, ball.velocity)])
    rates = np.linalg.lstsq(
        np.asarray(slope([alpha, beta, gamma])),
        np.asarray(_product(spin, casadi.DM(start))).ravel() / 2,
        rcond=None,
    )[0]
    values = zip(("alpha", "beta", "gamma"), (alpha, beta, gamma), rates, strict=True)
    return tuple(Coordinate(name, float(angle), float(rate), "rad") for name, angle, rate in values)


def _quaternion(alpha: SX, beta: SX, gamma: SX) -> SX:
    return vertcat(
        cos(alpha) * cos(beta) * cos(gamma),
        cos(alpha) * cos(beta) * sin(gamma),
        cos(alpha) * sin(beta),
        sin(alpha),
    )


def _product(a: SX, b: SX) -> SX:
    scalar = a[0] * b[0] - casadi.dot(a[1:], b[1:])
    return vertcat(scalar, a[0] * b[1:] + b[0] * a[1:] + casadi.cross(a[1:], b[1:]))


def _conjugate(a: SX) -> SX:
    return vertcat(a[0], -a[1:])
