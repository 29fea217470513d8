"""The exoskeleton standing on the slope, its board across: what a lift and an assisted movement
have in common.

Leg and body move in the plane of steepest descent; elevations psi are counted from uphill.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import pi
from typing import Any

from casadi import SX, Function, jtimes, sumsqr, vertcat, vertsplit

from problems.exoskeleton.model import (
    SLOPE,
    THREE_LINK,
    ThreeLink,
    height_momentum,
    links,
    weight_on_slope,
)
from trajopt import Problem
from trajopt.mechanics import Holonomic, Mechanism, Quantity, Tree
from trajopt.parameters import setting_field


@dataclass(frozen=True)
class Drives:
    """What the drives can do, how far the joints go, and the board; ours."""

    ankle_torque: float = setting_field(60.0, "N m", "limit of the ankle's torque", 0.1, 1e4)
    hip_torque: float = setting_field(150.0, "N m", "limit of the hip's torque", 0.1, 1e4)
    leg_force: float = setting_field(
        400.0, "N", "limit of the leg's length actuator (f8)", 0.1, 1e5
    )
    body_force: float = setting_field(
        300.0, "N", "limit of the body's length actuator (f9)", 0.1, 1e5
    )
    elevation_range: tuple[float, float] = setting_field(
        (0.5, 2.6), "rad", "range of the elevations of leg and body", 0, pi
    )
    extension_range: tuple[float, float] = setting_field(
        (0.0, 0.6), "m", "range of the extensions of leg and body", 0, 10
    )
    board_width: float = setting_field(
        0.3, "m", "width of the board, across which the foot may tip", 0.01, 10
    )

    @property
    def limits(self) -> dict[str, float]:
        return {
            "ankle": self.ankle_torque,
            "hip": self.hip_torque,
            "f8": self.leg_force,
            "f9": self.body_force,
        }

    def range(self, coordinate: str) -> tuple[float, float]:
        return self.elevation_range if coordinate.startswith("psi") else self.extension_range


DRIVES = Drives()
LIMITS, HALF_WIDTH = DRIVES.limits, DRIVES.board_width / 2
VERTICAL = pi / 2 - SLOPE  # elevation from the slope, towards uphill, of what stands plumb


Posture = Mapping[str, float]
Wearer = Callable[[Any, dict[str, Any], dict[str, Any]], tuple[Any, Any]]


FOOT = {"x0": 0.0, "y0": 0.0, "phi0": pi / 2}


def standing(data: ThreeLink = THREE_LINK, foot_held: bool = False) -> tuple[Tree, Mechanism]:
    """Leg and body on a foot across the slope, with ankle, hip and two length actuators.

    ``foot_held``: the foot has coordinates of its own, which constraints hold.
    """
    tree = links({"q10": 0.0} if foot_held else {**FOOT, "q10": 0.0}, pi / 2, data)
    muscle = {n: Quantity(n, 0.0, _unit(n)) for n in LIMITS}
    u = {n: m.symbol for n, m in muscle.items()}
    forces = {"psi1": u["ankle"] - u["hip"], "psi2": u["hip"], "q8": u["f8"], "q9": u["f9"]}
    held = [
        Holonomic(f"foot {c.name}", c.q - FOOT[c.name]) for c in tree.coordinates if c.name in FOOT
    ]
    return tree, tree.mechanism(forces, held, controls=tuple(muscle.values()))


@dataclass(frozen=True, eq=False)
class Movement:
    """A movement of the standing exoskeleton, rest to rest, with its foot flat on the ground."""

    problem: Problem
    phase: Any
    time: Any
    places: dict[str, Any]
    controls: dict[str, Any]
    drives: Drives

    def effort(self) -> Any:
        """The integral of the squared controls, each as a part of its limit (s)."""
        return self.phase.integral(
            sumsqr(vertcat(*[u / self.drives.limits[n] for n, u in self.controls.items()]))
        )


def movement(
    name: str,
    duration: float,
    ends: tuple[Posture, Posture],
    data: ThreeLink,
    drives: Drives,
    wearer: Wearer | None = None,
) -> Movement:
    """From one posture to another; ``wearer`` gives the wearer's torques at ankle and hip from
    time, places and rates.
    """
    tree, model = standing(data)
    start, end = ends
    names = [c.name for c in tree.coordinates]
    ocp = Problem(name)
    ph = ocp.phase()
    t = ph.time(start=0, end=duration)
    q = {
        n: ph.state(
            n,
            start=start[n],
            end=end[n],
            lower=drives.range(n)[0],
            upper=drives.range(n)[1],
            unit="rad" if n[0] == "p" else "m",
        )
        for n in names
    }
    v = {
        n: ph.state(f"{n}_rate", start=0, end=0, unit="rad/s" if n[0] == "p" else "m/s", scale=1.0)
        for n in names
    }
    u = {
        n: ph.control(n, lower=-m, upper=m, guess=m / 3 if n[0] == "f" else 0, unit=_unit(n))
        for n, m in drives.limits.items()
    }
    place, speed, muscles = (vertcat(*d.values()) for d in (q, v, u))
    if wearer is not None:
        ankle, hip = wearer(t, q, v)
        muscles = vertcat(u["ankle"] + ankle, u["hip"] + hip, u["f8"], u["f9"])
    a = model.acceleration(place, speed, muscles)
    ph.dynamics({q[n]: v[n] for n in names} | {v[n]: a[k] for k, n in enumerate(names)})
    driven = dict(zip(u, vertsplit(muscles), strict=True))
    ph.in_redundant_coordinates(lambda: standing(data, foot_held=True)[1].system(), FOOT, driven)
    N = normal_force(tree, model, place, speed, a)
    reach = drives.board_width / 2 * N
    ph.path(
        vertcat(reach - muscles[0], reach + muscles[0]), lower=0.0, name="foot flat on the ground"
    )
    return Movement(ocp, ph, t, q, u, drives)


def _unit(control: str) -> str:
    return "N" if control[0] == "f" else "N m"


def normal_force(tree: Tree, model: Mechanism, q: Any, v: Any, a: Any) -> Any:
    """What the slope carries (N); the foot stays on it while this is positive."""
    momentum, acceleration = height_momentum(tree), SX.sym("a", len(model.coordinates))
    rate = jtimes(momentum, model.q, model.v) + jtimes(momentum, model.v, acceleration)
    return Function("N", [model.q, model.v, acceleration], [rate + weight_on_slope(tree)])(q, v, a)
