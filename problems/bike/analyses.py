"""Where the bike robot's mass centre can be, and postures in balance (thesis on a bike-trial robot,
4.4, 5.2 and 6.4).

With the hand on the handlebar the five-link rider has one freedom, so that each "region" of the
thesis' figure 4-7 is a curve. The thesis draws an area because it varies waist and shoulder
independently and lets the forearm point at the handlebar without reaching it; ``pointing_region``
shows that area too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import radians

import casadi
import numpy as np
import scipy.optimize

from problems.bike.models import FIVE_LINK, SEVEN_LINK, FiveLink, SevenLink, five_link, seven_link
from trajopt.errors import UsageError

POSTURES, EDGE = (
    401,
    1e-9,
)  # angles of a first search over a range, and how closely its ends are found (rad)


@dataclass(frozen=True)
class Region:
    """Mass centres (k, 2) from the contact of the rear wheel, and the angles that give them (k, m),
    rad.
    """

    centres: np.ndarray
    angles: np.ndarray
    names: tuple[str, ...]


@dataclass(frozen=True)
class Balance:
    """A posture with the mass centre above the contact: coordinates by name (rad), mass centre (m),
    holding torques (N m).
    """

    angles: dict[str, float]
    centre: tuple[float, float]
    torques: dict[str, float]


@cache
def five_link_centre(data: FiveLink) -> casadi.Function:
    """(beta, torso) -> mass centre from the contact, joint angles (waist, shoulder, elbow)."""
    machine = five_link(data)
    q = casadi.SX.sym("q", 2)
    place = casadi.vertcat(0, q)
    angles = [machine.seen(machine.posture.angles[name], place) for name in ("shoulder", "elbow")]
    return casadi.Function(
        "five", [q], [machine.point("mass centre", place), casadi.vertcat(q[1], *angles)]
    )


@cache
def seven_link_centre(data: SevenLink) -> casadi.Function:
    """(beta, ankle, knee, waist) -> mass centre from the contact, the five joint angles."""
    machine = seven_link(data)
    q = machine.mechanism.q
    contact = casadi.vertcat(-data.wheel_radius * q[0], 0)
    angles = [machine.seen(expression, q) for expression in machine.posture.angles.values()]
    return casadi.Function(
        "seven", [q], [machine.point("mass centre", q) - contact, casadi.vertcat(*angles)]
    )


def mass_centre_curve(rise_deg: float, data: FiveLink = FIVE_LINK, points: int = 401) -> Region:
    """The mass centres of the five-link machine at a rise of the front wheel, within the joint
    ranges (figure 4-7).
    """
    torso = np.linspace(*lean_range(rise_deg, data), points)
    centres, angles = _mapped(
        five_link_centre(data), np.array([np.full(points, radians(rise_deg)), torso])
    )
    return Region(centres, angles, ("waist", "shoulder", "elbow"))


def lean_range(rise_deg: float, data: FiveLink = FIVE_LINK) -> tuple[float, float]:
    """The leans (rad) of the five-link rider at a rise of the front wheel, within
    the joint ranges.
    """
    function, ranges = five_link_centre(data), (data.waist_deg, data.shoulder_deg, data.elbow_deg)
    return reached_range(
        lambda torso: function([radians(rise_deg), torso])[1], ranges, data.waist_deg
    )


def reached_range(
    angles: Callable[[float], casadi.DM],
    ranges_deg: tuple[tuple[float, float], ...],
    over_deg: tuple[float, float],
) -> tuple[float, float]:
    """First and last value (rad) of one angle at which all joint angles are within their ranges;
    they must be so between them.
    """

    def reached(angle: float) -> bool:
        return bool(_within(np.array(angles(angle)).reshape(1, -1), ranges_deg)[0])

    grid = np.linspace(*np.radians(over_deg), POSTURES)
    found = np.flatnonzero([reached(angle) for angle in grid])
    if found.size < 2 or found[-1] - found[0] >= found.size:
        raise UsageError(
            "no range of postures",
            got=f"{found.size} postures",
            expected="angles at which the hand reaches the bar",
        )

    def end(inside: int, outside: int) -> float:
        good, bad = float(grid[inside]), float(grid[min(max(outside, 0), POSTURES - 1)])
        while abs(good - bad) > EDGE:
            middle = (good + bad) / 2
            good, bad = (middle, bad) if reached(middle) else (good, middle)
        return good

    return end(found[0], found[0] - 1), end(found[-1], found[-1] + 1)


def pointing_region(rise_deg: float, data: FiveLink = FIVE_LINK, points: int = 41) -> Region:
    """The thesis' area: waist and shoulder independent, the forearm towards the handlebar but not
    as long as to it.
    """
    waist, shoulder = np.meshgrid(
        np.linspace(0, np.pi / 4, points), np.linspace(np.pi / 2, np.pi, points)
    )
    theta1, theta2 = waist.ravel(), shoulder.ravel()
    c, s = np.cos(radians(rise_deg)), np.sin(radians(rise_deg))

    def placed(point: tuple[float, float]) -> np.ndarray:
        return np.array(
            [point[0] * c - point[1] * s, data.wheel_radius + point[0] * s + point[1] * c]
        )

    saddle, hand, frame = placed(data.saddle), placed(data.handlebar), placed(data.bicycle_centre)
    first, second = (np.stack([np.sin(a), np.cos(a)], axis=1) for a in (theta1, theta1 + theta2))
    shoulder_at = saddle + data.torso.length * first
    elbow_at = shoulder_at + data.upper_arm.length * second
    third = hand - elbow_at
    third /= np.linalg.norm(third, axis=1, keepdims=True)
    masses = (
        data.wheel_mass,
        data.bicycle_mass,
        data.torso.mass,
        data.upper_arm.mass,
        data.forearm.mass,
    )
    middles = (
        saddle + data.torso.length / 2 * first,
        shoulder_at + data.upper_arm.length / 2 * second,
        elbow_at + data.forearm.length / 2 * third,
    )
    total = (
        masses[0] * placed((0.0, 0.0))
        + masses[1] * frame
        + sum(m * p for m, p in zip(masses[2:], middles, strict=True))
    )
    theta3 = np.arctan2(third[:, 0], third[:, 1]) - theta1 - theta2
    return Region(
        total / sum(masses),
        np.stack([theta1, theta2, theta3], axis=1),
        ("waist", "shoulder", "elbow"),
    )


def mass_centre_cloud(
    rise_deg: float = 0.0, data: SevenLink = SEVEN_LINK, points: int = 41
) -> Region:
    """The mass centres of the seven-link machine on a grid of ankle, knee and waist, within the
    joint ranges (figure 6-9).
    """
    ranges = (data.ankle_deg, data.knee_deg, data.waist_deg)
    grid = np.meshgrid(*[np.linspace(*np.radians(r), points) for r in ranges])
    flat = np.array([np.full(grid[0].size, radians(rise_deg)), *(g.ravel() for g in grid)])
    centres, angles = _mapped(seven_link_centre(data), flat)
    kept = _within(angles, (*ranges, data.shoulder_deg, data.elbow_deg))
    return Region(centres[kept], angles[kept], ("ankle", "knee", "waist", "shoulder", "elbow"))


def balanced_wheelie(rise_deg: float = 30.0, data: FiveLink = FIVE_LINK) -> Balance:
    """The lean at which a wheelie stands still, and the waist torque that holds it; the wheel needs
    none.
    """
    region = mass_centre_curve(rise_deg, data)
    x, torso = region.centres[:, 0], region.angles[:, 0]
    if not x.min() <= 0 <= x.max():
        raise UsageError(
            "no balanced wheelie",
            got=f"{rise_deg:g} deg",
            expected="a rise at which the mass centre can be above the contact",
        )

    def offset(lean: float) -> float:
        return float(five_link_centre(data)([radians(rise_deg), lean])[0][0])

    k = int(np.flatnonzero(np.diff(np.sign(x)))[0])
    lean = float(scipy.optimize.brentq(offset, torso[k], torso[k + 1], xtol=1e-15))
    machine = five_link(data)
    place = [0.0, radians(rise_deg), lean]
    needed = np.array(
        machine.mechanism.inverse(place, np.zeros(3), np.zeros(3), [0.0, 0.0])
    ).ravel()  # of (x, beta, torso)
    centre = np.array(five_link_centre(data)(place[1:])[0]).ravel()
    return Balance(
        {"beta": place[1], "torso": lean},
        (centre[0], centre[1]),
        {"wheel_torque": 0.0, "waist_torque": float(needed[2])},
    )


def lowest_posture(
    rise_deg: tuple[float, float] = (15.0, 45.0),
    data: SevenLink = SEVEN_LINK,
    highest: bool = False,
) -> Balance:
    """The take-off posture: the lowest (or highest) mass centre above the contact, within the joint
    ranges (figure 6-10).
    """
    function = seven_link_centre(data)
    q = casadi.SX.sym("q", 4)
    centre, angles = function(q)
    ranges = np.radians(
        [data.ankle_deg, data.knee_deg, data.waist_deg, data.shoulder_deg, data.elbow_deg]
    )
    ranges[4, 0] = radians(0.5)  # a straight arm is a dead centre
    solver = casadi.nlpsol(
        "posture",
        "ipopt",
        {
            "x": q,
            "f": -centre[1] if highest else centre[1],
            "g": casadi.vertcat(centre[0], angles[3:]),
        },
        {"print_time": False, "ipopt": {"print_level": 0, "sb": "yes", "tol": 1e-10}},
    )
    low, high = np.radians(rise_deg)
    found = []
    for guess in _starts(data, (low + high) / 2):
        answer = solver(
            x0=guess,
            lbx=[low, *ranges[:3, 0]],
            ubx=[high, *ranges[:3, 1]],
            lbg=[0, *ranges[3:, 0]],
            ubg=[0, *ranges[3:, 1]],
        )
        if solver.stats()["success"]:
            found.append((float(answer["f"]), np.array(answer["x"]).ravel()))
    if not found:
        raise UsageError(
            "no balanced posture",
            got=f"{rise_deg} deg",
            expected="a rise at which the mass centre can be above the contact",
        )
    best = min(found, key=lambda f: f[0])[1]
    at, joints = (np.array(value).ravel() for value in function(best))
    names = ("beta", "ankle", "knee", "waist", "shoulder", "elbow")
    return Balance(
        dict(zip(names, [best[0], *joints], strict=True)),
        (at[0], at[1]),
        holding_torques(best, data),
    )


def holding_torques(place: np.ndarray, data: SevenLink = SEVEN_LINK) -> dict[str, float]:
    """The torques that hold a balanced posture of the seven-link machine still."""
    machine = seven_link(data)
    m = machine.mechanism
    zero = np.zeros(4)
    needed = np.array(m.inverse(place, zero, zero, np.zeros(3))).ravel()
    directions = np.array(
        m.evaluate(casadi.jacobian(m.equations.force, m.u), place, zero, np.zeros(3))
    )
    torques = np.linalg.lstsq(directions, needed, rcond=None)[0]
    return {
        quantity.name: float(value) for quantity, value in zip(m.controls, torques, strict=True)
    }


def _starts(data: SevenLink, beta: float) -> list[np.ndarray]:
    """A few postures within the ranges, nearest to balance, spread over the knee's range."""
    region = mass_centre_cloud(float(np.degrees(beta)), data, points=13)
    order = np.argsort(np.abs(region.centres[:, 0]))[:200]
    by_height = order[np.argsort(region.centres[order, 1])]
    chosen = by_height[np.linspace(0, len(by_height) - 1, 5).astype(int)]
    return [np.array([beta, *region.angles[k, :3]]) for k in chosen]


def _mapped(function: casadi.Function, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values (k, 2) and (k, m) at the columns of ``places``."""
    centres, angles = function(places)
    return np.array(centres).T, np.array(angles).T


def _within(angles: np.ndarray, ranges_deg: tuple[tuple[float, float], ...]) -> np.ndarray:
    limits = np.radians(ranges_deg)
    with np.errstate(invalid="ignore"):  # postures out of the arm's reach are not numbers
        inside: np.ndarray = np.all(
            (angles >= limits[:, 0] - 1e-12) & (angles <= limits[:, 1] + 1e-12), axis=1
        )
    return inside
