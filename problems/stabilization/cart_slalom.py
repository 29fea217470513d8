"""A two-wheeled cart in a slalom on an incline (dissertation on constraint stabilization, 1.4):
rolling and a programme.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import atan, floor, pi

from casadi import cos, sin, tan

from trajopt.integrate import Baumgarte
from trajopt.mechanics import Coordinate, Holonomic, Mechanism, Nonholonomic
from trajopt.parameters import settable, setting
from trajopt.show.drawing import Drawing, Ground, Mark, Rod
from trajopt.system import System

# f'' = k1 f' + k2 f with (k1, k2) = (-20, -100) is Baumgarte's law with this gain.
STABILIZATION = Baumgarte(10.0)


@settable
def cart_slalom(
    slope=setting(pi / 6, "rad", "slope of the plane", 0, 1.5),
    body=setting(0.8, "kg", "mass of the body", 1e-6),
    wheel=setting(0.1, "kg", "mass of a wheel", 1e-6),
    inertia=setting(1.0, "kg m^2", "inertia of the body", 1e-6),
    gravity=setting(9.8, "m/s^2", "acceleration of free fall"),
    flags=setting(0.8, "m", "distance h of the flags from the middle", 0),
    clearance=setting(0.2, "m", "clearance delta of the track from the flags", 0),
    wave=setting(1.0, "1/m", "wave number k of the track", 1e-6),
    radius=setting(0.15, "m", "radius a of the wheels", 1e-6),
    half_track=setting(0.25, "m", "distance b of the wheels from the middle", 0),
    ahead=setting(0.3, "m", "distance l of the mass centre before the axle"),
    actuation=setting("both", "", "what keeps the cart on its track", choices=("both", "torque")),
    gravity_at=setting("axle", "", "where gravity acts", choices=("axle", "centre")),
) -> System:
    """The cart rolls without slipping and follows y = (h + delta) sin(k x), stated as tan(theta) =
    k (h + delta) cos(k x) by the blade condition.

    The multiplier of the track is a control: along both x and theta (``actuation="both"``), or a
    steering torque ("torque"). A torque alone throws the mass centre outwards at each turn, which
    pushes the cart on: its speed becomes infinite at 3.42 s.
    """
    amplitude = flags + clearance
    spin = wheel * radius**2 / 2
    mass = body + 2 * wheel
    x, y = Coordinate("x", unit="m"), Coordinate("y", unit="m")
    theta = Coordinate("theta", atan(wave * amplitude), unit="rad")
    phi1, phi2 = Coordinate("phi1", unit="rad"), Coordinate("phi2", unit="rad")
    forwards = x.v * cos(theta.q) + y.v * sin(theta.q)
    sideways = y.v * cos(theta.q) - x.v * sin(theta.q)
    weight = mass * x.q + (body * ahead * cos(theta.q) if gravity_at == "centre" else 0.0)
    mechanism = Mechanism(
        "cart-slalom",
        (x, y, theta, phi1, phi2),
        kinetic=(
            mass * (x.v**2 + y.v**2)
            + 2 * body * ahead * theta.v * sideways
            + inertia * theta.v**2
            + spin * (phi1.v**2 + phi2.v**2)
        )
        / 2,
        potential=-gravity * float(sin(slope)) * weight,
        constraints=(
            Holonomic(
                "track",
                tan(theta.q) - wave * amplitude * cos(wave * x.q),
                along={"theta": 1.0} if actuation == "torque" else None,
            ),
            Nonholonomic("right_wheel", forwards + half_track * theta.v + radius * phi1.v, "m/s"),
            Nonholonomic("left_wheel", forwards - half_track * theta.v + radius * phi2.v, "m/s"),
            Nonholonomic("blade", -sideways, "m/s"),
        ),
    )
    return mechanism.system(
        until=20.0 if actuation == "both" else 3.0,
        description="a two-wheeled cart on a slalom track downhill",
        drawing=_drawn((x.q, y.q, theta.q), (radius, half_track, ahead), (flags, amplitude, wave)),
    )


def _drawn(
    pose: tuple, sizes: tuple[float, float, float], course: tuple[float, float, float]
) -> Drawing:
    """From above, downhill to the right: axle, wheels, mass centre; the track and the flags it goes
    round.
    """
    (x, y, theta), (radius, half_track, ahead) = pose, sizes
    flags, amplitude, wave = course

    def place(forwards: float, left: float) -> tuple:
        return x + forwards * cos(theta) - left * sin(theta), y + forwards * sin(
            theta
        ) + left * cos(theta)

    wheels = tuple(
        Rod((place(-radius, s * half_track), place(radius, s * half_track)), 0, 5) for s in (-1, 1)
    )
    frame = (
        Rod((place(0, -half_track), place(0, half_track)), 0, 2),
        Rod((place(0, 0), place(ahead, 0)), 1, 2),
    )

    def flag(number: int) -> Callable[[Mapping[str, float]], tuple[float, float]]:
        """One of those near the cart: there is no end of them."""

        def at(now: Mapping[str, float]) -> tuple[float, float]:
            k = floor(wave * now["x"] / pi) + number
            return (pi / 2 + k * pi) / wave, flags * (-1) ** k

        return at

    track = Ground(tuple((k / 10, amplitude * sin(wave * k / 10)) for k in range(5501)))
    posts = tuple(Mark(flag(number), 5, 2) for number in (-1, 0, 1))
    return Drawing(
        (track, *posts, *frame, *wheels, Mark(place(ahead, 0), 9)), follow=(x, 0.0), reach=2.2
    )
