"""Drawings of the rocket for animations: the orbit, its burns and its thrust, whatever the
coordinates; planets on their way.
"""

from __future__ import annotations

from math import cos, pi, sin
from typing import Any

import numpy as np
from casadi import SX, cross, norm_2, vertcat
from casadi import cos as cosine
from casadi import sin as sine

from trajopt.show.drawing import Arrow, Disc, Drawing, Either, Ground, Mark, Trail, Where

ORBIT, BURN, CENTRE, PUSH = 0, 1, 5, 3  # colours
EARTH_RADIUS, MOON_RADIUS = 6378.0, 1737.4  # km


def transfer_drawing(
    radius: float = 1.5,
    inclination: float = 0.0,
    plane_change: float = 0.0,
    coordinates: str = "auto",
    power: float | None = None,
) -> Drawing:
    """From the circle 1 to the circle ``radius``, burns in red; ``power`` tells an engine with free
    exhaust speed.
    """
    flat = not (inclination or plane_change) and coordinates in ("auto", "polar")
    place, push = _flat() if flat else _spatial()
    burns = Trail(Where("u" if power is not None else "e", place), BURN, 2.6)
    rings = (_ring(1.0, inclination, flat), _ring(radius, inclination + plane_change, flat))
    centre = (0.0, 0.0) if flat else (0.0, 0.0, 0.0)
    length = (
        5.0 if power is not None else 0.25
    )  # of an acceleration of about 0.05, or of a unit vector
    shapes = (
        *rings,
        Trail(place, ORBIT),
        burns,
        Mark(centre, 13, CENTRE),
        Arrow(place, push, length, PUSH),
        Mark(place, 8, ORBIT),
    )
    return Drawing(shapes, view=(-60.0, 35.0), caption="red: thrust; arrow: its direction")


def _flat() -> tuple[Any, Any]:
    """Place and thrust in the plane: polar coordinates, or Cartesian ones with
    an acceleration u.
    """
    r, theta, e0, e1 = (SX.sym(name) for name in ("r", "theta", "e_0", "e_1"))
    c, s = cosine(theta), sine(theta)
    polar, direction = vertcat(r * c, r * s), vertcat(e0 * c - e1 * s, e0 * s + e1 * c)
    return Either(polar, _vector("r", 2)), Either(direction, _vector("u", 2), (np.nan, np.nan))


def _spatial() -> tuple[Any, Any]:
    """The same in space: equinoctial elements, or Cartesian coordinates."""
    from problems.rocket.coordinates import Equinoctial

    elements = Equinoctial()
    q = vertcat(*[SX.sym(name) for name in ("p", "f", "g", "h", "k", "L")])
    r, v = elements.position(q), elements.velocity(q)
    out, normal = _unit(r), _unit(cross(r, v))
    e = _vector("e", 3)
    direction = e[0] * out + e[1] * cross(normal, out) + e[2] * normal
    return Either(r, _vector("r", 3)), Either(
        Where("p", direction), e, _vector("u", 3), (np.nan,) * 3
    )


def voyage_drawing(
    departure: float = 7500.0, duration: float = 350.0, orbits: str = "elements"
) -> Drawing:
    """From the Earth to Mars: both planets on their orbits, and the thrust."""
    from problems.rocket.earth_mars import EARTH, MARS

    size = 3 if orbits == "elements" else 2
    planets = (EARTH, MARS) if orbits == "elements" else (EARTH.circle(), MARS.circle())

    def place(planet: Any) -> Any:
        return lambda now: np.asarray(
            planet.at(planet.anomaly(departure + float(now["t"])))[0]
        ).ravel()[:size]

    rings = [
        Ground(
            tuple(
                tuple(float(x) for x in np.asarray(planet.at(E)[0]).ravel()[:size])
                for E in np.linspace(0, 2 * pi, 181)
            ),
            whole=True,
        )
        for planet in planets
    ]
    rocket, push = _vector("r", size), _vector("u", size)
    shapes = (
        *rings,
        Mark((0.0,) * size, 14, CENTRE),
        Mark(place(planets[0]), 8, 4),
        Mark(place(planets[1]), 8, 1),
        Trail(rocket, ORBIT, 2.0),
        Arrow(rocket, push, 0.4, PUSH),
        Mark(rocket, 6, ORBIT),
    )
    return Drawing(
        shapes,
        view=(-60.0, 40.0),
        unit="AU",
        caption="sky blue: Earth; red: Mars; arrow: acceleration by thrust",
    )


def spiral_drawing(radius: float = 2.0) -> Drawing:
    """Lawden's spiral in polar coordinates, with the thrust psi above the local horizontal."""
    r, theta, psi = (SX.sym(name) for name in ("r", "theta", "psi"))
    place = vertcat(r * cosine(theta), r * sine(theta))
    push = vertcat(sine(psi - theta), cosine(psi - theta))
    rings = (_ring(1.0, 0.0, True), _ring(radius, 0.0, True))
    shapes = (
        *rings,
        Mark((0.0, 0.0), 13, CENTRE),
        Trail(place, BURN, 2.4),
        Arrow(place, push, 0.3, PUSH),
        Mark(place, 7, ORBIT),
    )
    return Drawing(shapes, caption="intermediate thrust all along; arrow: its direction")


def ascent_drawing(altitude: float = 100.0) -> Drawing:
    """From the surface of the Moon into an orbit, in km: a vertical rise, burns in red, a coast."""
    place, push = _flat()
    rising = (SX.sym("r"), 0.0)
    way = Either(place.places[0], rising)
    moon = Disc((0.0, 0.0), MOON_RADIUS, colour=4, spoke=False)
    burns = (
        Trail(Where("e", place.places[0]), BURN, 2.6),
        Trail(Either(Where("theta", (np.nan, np.nan)), rising), BURN, 2.6),
    )
    arrow = Arrow(
        way, Either(push.places[0], Where("theta", (np.nan, np.nan)), (1.0, 0.0)), 250.0, PUSH
    )
    shapes = (
        _ring(MOON_RADIUS + altitude, 0.0, True),
        moon,
        Trail(way, ORBIT),
        *burns,
        arrow,
        Mark(way, 7, ORBIT),
    )
    return Drawing(shapes, unit="km", caption="red: thrust; arrow: its direction")


def ellipse_drawing(low: float = 6678.0, high: float = 42164.0, turn: float = 28.5) -> Drawing:
    """Between two impulses: the ellipse, and the circles that are left and reached."""
    place = _vector("r", 3)
    rings = (_ring(low, 0.0, False), _ring(high, turn * pi / 180, False))
    earth = Disc((0.0, 0.0, 0.0), EARTH_RADIUS, 0.0, (0.0, 0.0, 1.0), 4, spoke=False)
    return Drawing(
        (*rings, earth, Trail(place, ORBIT, 2.0), Mark(place, 8, BURN)),
        view=(-60.0, 25.0),
        unit="km",
    )


def flow_drawing(size: int) -> Drawing:
    """A flow in x, y (and z) with multipliers: the thrust points along lam_v."""
    axes = ("x", "y", "z")[:size]
    place = vertcat(*[SX.sym(a) for a in axes])
    along = vertcat(*[SX.sym(f"lam_v{a}") for a in axes])
    shapes = (
        Mark((0.0,) * size, 13, CENTRE),
        Trail(place, BURN, 2.0),
        Arrow(place, _unit(along), 0.2, PUSH),
        Mark(place, 7, ORBIT),
    )
    return Drawing(shapes, view=(-60.0, 20.0), caption="arrow: direction of thrust")


def _vector(name: str, size: int) -> SX:
    return vertcat(*[SX.sym(f"{name}_{k}") for k in range(size)])


def _unit(vector: Any) -> Any:
    return vector / norm_2(vector)


def _ring(radius: float, tilt: float, flat: bool) -> Ground:
    """A circle whose plane is tilted about the x axis."""
    points = [
        (radius * cos(w), radius * sin(w) * cos(tilt), radius * sin(w) * sin(tilt))
        for w in np.linspace(0, 2 * pi, 181)
    ]
    return Ground(tuple(point[:2] if flat else point for point in points), whole=True)
