"""A run of the three-link exoskeleton through gates: what the slaloms of least effort and of least time have in common.

The foot glides on its blade, which the states satisfy at any time (``exoskeleton.gliding``); leg and body stay in the upright
plane of the blade. Controls are the torque that turns the board, the torques of ankle and hip, and the forces of two length
actuators with springs beside them. Each gate ends a phase, so that it is passed exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import cos, pi, sin, sqrt
from typing import Any

from casadi import SX, Function, sumsqr, vertcat

from problems.exoskeleton.model import CONSTANT_LENGTHS, GRAVITY, LENGTHS, MASSES, SLOPE, gliding, links
from trajopt import Problem, free
from trajopt.errors import ProblemError
from trajopt.mechanics import Quantity, Tree

LIMITS = {  # N m and N; a body that leans rigidly ahead of the blade swings out in turns and takes more to steer
    "moving": {"steer": 2.0, "ankle": 20.0, "hip": 30.0, "f8": 100.0, "f9": 100.0},
    "rigid": {"steer": 60.0},
}
STIFFNESS, DAMPING = 1000.0, 100.0  # N/m and N s/m: of the springs, which carry the weight at rest
LEAN = 0.4  # rad: how far leg and body may lean from the slope's normal
REACH = (0.3, 0.8)  # m: range of each extension
REST = {"psi1": pi / 2, "psi2": pi / 2, "q8": 1 / sqrt(3), "q9": 1 / sqrt(3)}  # the posture at the start and at the end
RIGID = {"psi1": pi / 2 - 0.05, "psi2": pi / 2 - 0.05, **CONSTANT_LENGTHS}  # a posture that leans ahead of the blade


@dataclass(frozen=True)
class Course:
    """Gates across the slope, one every ``spacing`` downhill, ``offset`` to the left and right in turn (m)."""

    gates: int = 6
    spacing: float = 6.0
    offset: float = 1.5
    width: float = 0.6
    speed: float = 3.0  # m/s at the start

    def fall(self, gate: float) -> tuple[float, float]:
        """Speed and time of a straight slide to a gate, or to a place between two: the plain guess."""
        pull = GRAVITY * sin(SLOPE)
        speed = sqrt(self.speed**2 + 2 * pull * self.spacing * gate)
        return speed, (speed - self.speed) / pull

    def centre(self, gate: int) -> float:
        """Where gate 1, 2, ... stands across the slope; 0 is the start."""
        return 0.0 if gate == 0 else self.offset if gate % 2 else -self.offset


@dataclass(frozen=True, eq=False)
class Rider:
    """The mechanism that glides, its coordinates and controls by name, and its motion."""

    tree: Tree
    names: list[str]
    limits: dict[str, float]  # of the controls, by name
    motion: Function  # (q, nu, u) -> (v, nu', normal force, blade force)


def rider(posture: str = "moving") -> Rider:
    """The three links with muscles in all joints, or in one rigid piece that is only steered."""
    if posture not in LIMITS:
        raise ProblemError("posture of the slalom's rider", got=posture, expected=" or ".join(LIMITS))
    tree = links(RIGID if posture == "rigid" else {"q10": 0.0}, plane=0.0)
    names = [c.name for c in tree.coordinates]
    muscle = {n: Quantity(n, 0.0, _unit(n)) for n in LIMITS[posture]}
    u = {n: m.symbol for n, m in muscle.items()}
    forces = {"phi0": u["steer"]}
    if posture == "moving":
        forces |= {"psi1": u["ankle"] - u["hip"], "psi2": u["hip"]}
        carried = {"q8": MASSES[1] + MASSES[2], "q9": MASSES[2]}
        for c in tree.coordinates:
            if c.name in carried:
                spring = carried[c.name] * GRAVITY * cos(SLOPE) - STIFFNESS * (c.q - REST[c.name]) - DAMPING * c.v
                forces[c.name] = spring + u[f"f{c.name[1:]}"]
    model = tree.mechanism(forces, controls=tuple(muscle.values()))
    return Rider(tree, names, LIMITS[posture], gliding(model, tree))


@dataclass(frozen=True, eq=False)
class Stage:
    """One phase of a run, from one gate to the next."""

    phase: Any
    time: Any
    effort: SX  # integral of the squared controls, each as a part of its limit (s)


def _stage(ocp: Problem, course: Course, gate: int, rider: Rider) -> Stage:
    ph = ocp.phase(f"gate{gate}")
    t = ph.time(start=0 if gate == 1 else None, end=free(0.05 * gate, 20.0 * gate, guess=course.fall(gate)[1]))
    places, rates = _states(ph, course, gate, rider)
    u = {n: ph.control(n, lower=-m, upper=m, guess=0, unit=_unit(n)) for n, m in rider.limits.items()}
    v, rate, normal, _ = rider.motion(*(vertcat(*d.values()) for d in (places, rates, u)))
    ph.dynamics({x: v[k] for k, x in enumerate(places.values())} | {x: rate[k] for k, x in enumerate(rates.values())})
    if "ankle" in u:
        # The slope's force acts within the foot's length; both together keep it positive: the foot does not leave the ground.
        reach = LENGTHS[0] / 2 * normal
        ph.path(vertcat(reach - u["ankle"], reach + u["ankle"]), lower=0.0, name="foot flat on the ground")
    return Stage(ph, t, ph.integral(sumsqr(vertcat(*[x / rider.limits[n] for n, x in u.items()]))))


def _states(ph: Any, course: Course, gate: int, rider: Rider) -> tuple[dict[str, Any], dict[str, Any]]:
    first, last = gate == 1, gate == course.gates
    here, there = course.centre(gate - 1), course.centre(gate)
    window = free(there - course.width / 2, there + course.width / 2)
    at_start = 0.0 if first else None

    def falling(s: float) -> float:
        return course.fall(gate - 1 + s)[0]

    x = {
        "x0": ph.state(
            "x0", start=at_start, end=course.spacing * gate, unit="m", guess=lambda s: course.spacing * (gate - 1 + s)
        ),
        "y0": ph.state("y0", start=at_start, end=window, unit="m", guess=lambda s: here + (there - here) * s),
        "phi0": ph.state("phi0", start=at_start, end=0.0 if last else None, lower=-1.4, upper=1.4, unit="rad", guess=0),
    }
    for n in rider.names[3:]:
        low, high = (pi / 2 - LEAN, pi / 2 + LEAN) if n.startswith("psi") else REACH
        x[n] = ph.state(
            n, start=REST[n] if first else None, end=REST[n] if last else None, lower=low, upper=high, guess=REST[n],
            unit="rad" if n.startswith("psi") else "m",
        )  # fmt: skip
    v = {"x0": ph.state("speed", start=course.speed if first else None, lower=0.1, guess=falling, unit="m/s")}
    for n in rider.names[2:]:
        still = 0.0 if last and n != "phi0" else None
        v[n] = ph.state(f"{n}_rate", start=at_start, end=still, guess=0, scale=2.0, unit="m/s" if n[0] == "q" else "rad/s")
    return x, v


def run(name: str, course: Course, posture: str) -> tuple[Problem, list[Stage]]:
    """All gates, without an objective."""
    ocp, body = Problem(name), rider(posture)
    stages = [_stage(ocp, course, gate, body) for gate in range(1, course.gates + 1)]
    for before, after in pairwise(stages):
        ocp.connect(before.phase, after.phase)
    return ocp, stages


def _unit(control: str) -> str:
    return "N" if control[0] == "f" else "N m"
