"""The exoskeleton standing on the slope, its board across: what a lift and an assisted movement have in common.

Leg and body move in the plane of steepest descent; elevations psi are counted from uphill.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import pi
from typing import Any

from casadi import SX, Function, cos, jtimes, sumsqr, vertcat

from problems.exoskeleton.model import GRAVITY, MASSES, SLOPE, height_momentum, links
from trajopt import Problem
from trajopt.mechanics import Mechanism, Quantity, Tree

LIMITS = {"ankle": 60.0, "hip": 150.0, "f8": 400.0, "f9": 300.0}  # N m and N
VERTICAL = pi / 2 - SLOPE  # elevation from the slope, towards uphill, of what stands plumb
HALF_WIDTH = 0.15  # m: of the board, across which the foot may tip
RANGES = {"psi1": (0.5, 2.6), "psi2": (0.5, 2.6), "q8": (0.0, 0.6), "q9": (0.0, 0.6)}


Posture = Mapping[str, float]
Wearer = Callable[[Any, dict[str, Any], dict[str, Any]], tuple[Any, Any]]


def standing() -> tuple[Tree, Mechanism]:
    """Leg and body on a foot across the slope, with ankle, hip and two length actuators."""
    tree = links({"x0": 0.0, "y0": 0.0, "phi0": pi / 2, "q10": 0.0}, plane=pi / 2)
    muscle = {n: Quantity(n, 0.0, _unit(n)) for n in LIMITS}
    u = {n: m.symbol for n, m in muscle.items()}
    forces = {"psi1": u["ankle"] - u["hip"], "psi2": u["hip"], "q8": u["f8"], "q9": u["f9"]}
    return tree, tree.mechanism(forces, controls=tuple(muscle.values()))


@dataclass(frozen=True, eq=False)
class Movement:
    """A movement of the standing exoskeleton, rest to rest, with its foot flat on the ground."""

    problem: Problem
    phase: Any
    time: Any
    places: dict[str, Any]
    controls: dict[str, Any]

    def effort(self) -> Any:
        """The integral of the squared controls, each as a part of its limit (s)."""
        return self.phase.integral(sumsqr(vertcat(*[u / LIMITS[n] for n, u in self.controls.items()])))


def movement(name: str, duration: float, start: Posture, end: Posture, wearer: Wearer | None = None) -> Movement:
    """From one posture to another; ``wearer`` gives the wearer's torques at ankle and hip from time, places and rates."""
    tree, model = standing()
    names = [c.name for c in tree.coordinates]
    ocp = Problem(name)
    ph = ocp.phase()
    t = ph.time(start=0, end=duration)
    q = {
        n: ph.state(n, start=start[n], end=end[n], lower=RANGES[n][0], upper=RANGES[n][1], unit="rad" if n[0] == "p" else "m")
        for n in names
    }
    v = {n: ph.state(f"{n}_rate", start=0, end=0, unit="rad/s" if n[0] == "p" else "m/s", scale=1.0) for n in names}
    u = {n: ph.control(n, lower=-m, upper=m, guess=m / 3 if n[0] == "f" else 0, unit=_unit(n)) for n, m in LIMITS.items()}
    place, speed, muscles = (vertcat(*d.values()) for d in (q, v, u))
    if wearer is not None:
        ankle, hip = wearer(t, q, v)
        muscles = vertcat(u["ankle"] + ankle, u["hip"] + hip, u["f8"], u["f9"])
    a = model.acceleration(place, speed, muscles)
    ph.dynamics({q[n]: v[n] for n in names} | {v[n]: a[k] for k, n in enumerate(names)})
    N = normal_force(tree, model, place, speed, a)
    ph.path(vertcat(HALF_WIDTH * N - muscles[0], HALF_WIDTH * N + muscles[0]), lower=0.0, name="foot flat on the ground")
    return Movement(ocp, ph, t, q, u)


def _unit(control: str) -> str:
    return "N" if control[0] == "f" else "N m"


def normal_force(tree: Tree, model: Mechanism, q: Any, v: Any, a: Any) -> Any:
    """What the slope carries (N); the foot stays on it while this is positive."""
    momentum, acceleration = height_momentum(tree), SX.sym("a", len(model.coordinates))
    rate = jtimes(momentum, model.q, model.v) + jtimes(momentum, model.v, acceleration)
    weight = sum(MASSES) * GRAVITY * float(cos(SLOPE))
    return Function("N", [model.q, model.v, acceleration], [rate + weight])(q, v, a)
