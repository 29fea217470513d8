"""A launcher with nine boosters and two stages carries the most mass into a transfer orbit
(Benson's Delta III problem).

The motion is written in metres, seconds and kilograms in an inertial frame, as published.
"""

from dataclasses import dataclass
from math import cos, pi, radians, sin

import casadi
import numpy as np

from trajopt import Problem, Reference, free
from trajopt.parameters import settable, setting
from trajopt.show.drawing import Drawing, Ground, Mark, Trail

REFERENCE = Reference(
    objective=7529.71229624,
    tolerance=1e-7,
    structure="smooth steering; tf = 924.1392",
    source="collocation with two schemes; stevenrhall/yapss "
    "tests/examples/test_delta_iii_ascent.py: 7529.712287",
)

MU = 3.986012e14  # m^3/s^2
EARTH_RADIUS, EARTH_RATE = 6378145.0, 7.29211585e-5  # m, rad/s
AREA, DRAG, DENSITY, SCALE_HEIGHT = 4 * pi, 0.5, 1.225, 7200.0  # m^2, -, kg/m^3, m


@dataclass(frozen=True)
class Burn:
    """What burns in a phase: N, kg/s, and the kg dropped at its end."""

    name: str
    start: float
    end: float
    thrust: float
    flow: float
    dropped: float


BOOSTER, FIRST, SECOND = (
    (628500.0, 17010 / 75.2),
    (1083100.0, 95550 / 261),
    (110094.0, 16820 / 700),
)  # N, kg/s
BURNS = (
    Burn(
        "six boosters", 0.0, 75.2, 6 * BOOSTER[0] + FIRST[0], 6 * BOOSTER[1] + FIRST[1], 6 * 2280.0
    ),
    Burn(
        "three boosters",
        75.2,
        150.4,
        3 * BOOSTER[0] + FIRST[0],
        3 * BOOSTER[1] + FIRST[1],
        3 * 2280.0,
    ),
    Burn("first stage", 150.4, 261.0, *FIRST, 8830.0),
    Burn("second stage", 261.0, 961.0, *SECOND, 0.0),
)


@settable
def build(
    latitude=setting(28.5, "deg", "latitude of the launch site", -90, 90),
    mass=setting(301454.0, "kg", "mass at lift-off", 1),
    a=setting(24361140.0, "m", "semi-major axis of the target orbit", 1),
    e=setting(0.7308, "1", "eccentricity of the target orbit", 0, 0.999),
    inclination=setting(28.5, "deg", "inclination of the target orbit", 0, 180),
    node=setting(269.8, "deg", "longitude of the ascending node"),
    perigee=setting(130.5, "deg", "argument of the perigee"),
) -> Problem:
    """The pad's latitude and the target orbit's inclination, ascending node and argument of perigee
    are in degrees.
    """
    ocp = Problem("launch-vehicle")
    pad = EARTH_RADIUS * np.array([cos(radians(latitude)), 0.0, sin(radians(latitude))])
    on_pad = (pad, np.array([0.0, EARTH_RATE * pad[0], 0.0]))
    angles = (radians(inclination), radians(node), radians(perigee))
    climb = _climb(on_pad, _at_perigee(a, e, *angles))
    flown = []
    for burn in BURNS:
        flown.append(
            _fly(
                ocp,
                burn,
                climb,
                mass,
                start=(*on_pad, mass) if burn is BURNS[0] else (None, None, None),
            )
        )
        mass -= burn.flow * (burn.end - burn.start) + burn.dropped
    for burn, (before, *_, m_before), (after, *_, m_after) in zip(
        BURNS, flown, flown[1:], strict=False
    ):
        ocp.connect(before, after, states=["r", "v"])
        ocp.require(
            after.initial(m_after) - before.final(m_before),
            equals=-burn.dropped,
            name=f"mass dropped after '{burn.name}'",
        )
    last, r, v, m = flown[-1]
    _require_orbit(ocp, last.final(r), last.final(v), (a, e, *angles))
    ocp.maximize(last.final(m))
    return ocp


AXES = ("x", "y", "z")


def _fly(ocp, burn, climb, mass, start):
    """One phase of powered flight through the air of a turning planet."""
    ph = ocp.phase(burn.name)
    ends = free(burn.start, burn.end) if burn is BURNS[-1] else burn.end
    ph.time(start=0 if burn is BURNS[0] else None, end=ends)

    def guess(of):
        return lambda tau: of(burn.start + tau * (burn.end - burn.start))

    r = ph.state(
        "r",
        components=AXES,
        start=start[0],
        guess=guess(lambda t: climb(t)[0]),
        unit="m",
        scale=EARTH_RADIUS,
    )
    v = ph.state(
        "v",
        components=AXES,
        start=start[1],
        guess=guess(lambda t: climb(t)[1]),
        unit="m/s",
        scale=7900.0,
    )
    m = ph.state(
        "m", start=start[2], guess=guess(lambda t: mass - burn.flow * (t - burn.start)), unit="kg"
    )
    along = guess(lambda t: climb(t)[1] / np.linalg.norm(climb(t)[1]))
    u = ph.control("u", components=AXES, guess=along)
    height = casadi.norm_2(r) - EARTH_RADIUS
    wind = v - casadi.cross(casadi.DM([0, 0, EARTH_RATE]), r)
    speed = casadi.sqrt(
        casadi.sumsqr(wind) + 1e-8
    )  # on the pad the wind is exactly zero, where a norm has no gradient
    drag = 0.5 * DENSITY * casadi.exp(-height / SCALE_HEIGHT) * AREA * DRAG * speed * wind
    ph.dynamics(
        {r: v, v: (burn.thrust * u - drag) / m - MU * r / casadi.norm_2(r) ** 3, m: -burn.flow}
    )
    ph.path(casadi.sumsqr(u), equals=1, name="thrust direction of length one")
    return ph, r, v, m


def _require_orbit(ocp, r, v, elements):
    a, e, inclination, node, perigee = elements
    h = casadi.cross(r, v)
    line_of_nodes = casadi.vertcat(-h[1], h[0], 0)
    to_perigee = casadi.cross(v, h) / MU - r / casadi.norm_2(r)  # the eccentricity vector
    ocp.require(
        1 / (2 / casadi.norm_2(r) - casadi.sumsqr(v) / MU), equals=a, name="semi-major axis"
    )
    ocp.require(casadi.norm_2(to_perigee), equals=e, name="eccentricity")
    ocp.require(casadi.atan2(casadi.norm_2(h[:2]), h[2]), equals=inclination, name="inclination")
    ocp.require(
        _angle_from(node, line_of_nodes[0], line_of_nodes[1]), equals=0, name="ascending node"
    )
    ahead = casadi.cross(h, line_of_nodes) / casadi.norm_2(h)
    turned = _angle_from(
        perigee, casadi.dot(line_of_nodes, to_perigee), casadi.dot(ahead, to_perigee)
    )
    ocp.require(turned, equals=0, name="argument of perigee")


def _angle_from(target, x, y):
    """The angle of (x, y) measured from a target angle, so that no angle jumps near the target."""
    return casadi.atan2(y * cos(target) - x * sin(target), x * cos(target) + y * sin(target))


def _climb(pad, perigee):
    """A guess of the ascent.

    Nothing bounds position and velocity, and a straight line would pass deep below the ground.
    """
    radii = [np.linalg.norm(r) for r, _ in (pad, perigee)]
    first, last = (r / radius for (r, _), radius in zip((pad, perigee), radii, strict=True))
    turn = np.arccos(first @ last)

    def at(t):
        s = t / BURNS[-1].end
        direction = (np.sin((1 - s**2) * turn) * first + np.sin(s**2 * turn) * last) / np.sin(turn)
        return direction * (radii[0] + (radii[1] - radii[0]) * s), pad[1] + (
            perigee[1] - pad[1]
        ) * s

    return at


def _at_perigee(a, e, inclination, node, perigee):
    """Position and velocity at the perigee of an orbit."""
    ci, si, cn, sn, cp, sp = (f(w) for w in (inclination, node, perigee) for f in (cos, sin))
    outward = np.array([cn * cp - sn * sp * ci, sn * cp + cn * sp * ci, sp * si])
    onward = np.array([-cn * sp - sn * cp * ci, -sn * sp + cn * cp * ci, cp * si])
    return a * (1 - e) * outward, (MU / a * (1 + e) / (1 - e)) ** 0.5 * onward


def drawing() -> Drawing:
    """The way from the pad over the turning Earth: its equator and a few
    parallels and meridians.
    """
    turns = np.linspace(0.0, 2 * pi, 181)
    parallels = [
        (np.cos(b) * np.cos(turns), np.cos(b) * np.sin(turns), np.full(181, np.sin(b)))
        for b in np.radians([0, 15, 30, 45])
    ]
    meridians = [
        (np.cos(turns) * np.cos(a), np.cos(turns) * np.sin(a), np.sin(turns))
        for a in np.radians(np.arange(0, 180, 15))
    ]
    globe = tuple(
        Ground(tuple(map(tuple, EARTH_RADIUS * np.stack(line, axis=1))), 0.5)
        for line in (*parallels, *meridians)
    )
    place = tuple(casadi.SX.sym(f"r_{k}") for k in range(3))
    return Drawing((*globe, Trail(place, 1, 2.0), Mark(place)), view=(20.0, 35.0))
