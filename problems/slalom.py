"""Slalom of the three-link exoskeleton by optimal control: through gates with the least effort, or in the least time.

The foot glides on its blade; leg and body stay in the upright plane of the blade. Controls are the torque that turns the board,
the torques of ankle and hip, and the forces of the three length actuators. A phase ends at each gate.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, pi, sqrt
from typing import Any

from casadi import SX, Function, sumsqr, vertcat

from problems.exoskeleton import GRAVITY, LENGTHS, MASSES, SLOPE, gliding, links
from trajopt import Problem, free
from trajopt.mechanics import Quantity

LIMITS = {"steer": 2.0, "ankle": 20.0, "hip": 30.0, "f8": 100.0, "f9": 100.0}  # N m and N
STIFFNESS, DAMPING = 1000.0, 100.0  # N/m, N s/m: springs beside the length actuators, which carry the weight at rest
LEAN = 0.4  # rad: how far leg and body may lean from the slope's normal
REACH = (0.2, 1.0)  # m: range of each extension
REST = 1 / sqrt(3)  # m: where the extensions begin and end


@dataclass(frozen=True)
class Course:
    """Gates across the slope, one every ``spacing`` downhill, ``offset`` to the left and right in turn."""

    gates: int = 6
    spacing: float = 6.0  # m
    offset: float = 1.5
    width: float = 0.6
    speed: float = 3.0  # m/s at the start

    def centre(self, gate: int) -> float:
        """Where gate 1, 2, ... is across the slope."""
        return self.offset if gate % 2 else -self.offset


def rider(extensions=("q8","q9"), plane: float = 0.0) -> tuple[Function, list[str]]:
    """The gliding motion of a posture that can move, with its controls by name."""
    tree = links(extensions, plane)
    names = [c.name for c in tree.coordinates]
    muscles = {n: Quantity(n, 0.0, "N" if n.startswith("f") else "N m") for n in LIMITS if n[0] != "f" or "q"+n[1:] in extensions}
    u = {n: m.symbol for n, m in muscles.items()}
    forces = {"phi0": u["steer"], "psi1": u["ankle"] - u["hip"], "psi2": u["hip"]}
    carried = {"q8": MASSES[1] + MASSES[2], "q9": MASSES[2]}
    normal = GRAVITY * cos(SLOPE)
    for c in tree.coordinates:
        if c.name in carried:
            forces[c.name] = u[f"f{c.name[1:]}"] + carried[c.name] * normal - STIFFNESS * (c.q - REST) - DAMPING * c.v
    model = tree.mechanism(forces, controls=tuple(muscles.values()))
    return gliding(model, tree), names


@dataclass(frozen=True)
class Stage:
    """One phase of a run: from one gate to the next."""

    phase: Any
    time: Any
    states: dict[str, Any]
    controls: dict[str, Any]
    normal_force: SX


def effort(stage: Stage) -> SX:
    """The integral of the squared controls, each as a part of its limit (s)."""
    return stage.phase.integral(sumsqr(vertcat(*[u / LIMITS[n] for n, u in stage.controls.items()])))


def _stage(ocp: Problem, course: Course, gate: int, motion: Function, names: list[str]) -> Stage:
    ph = ocp.phase(f"to gate {gate}")
    pace = 0.8 * course.spacing / course.speed
    t = ph.time(start=0 if gate == 1 else None, end=free(0.05 * gate, 20.0 * gate, guess=pace * gate))
    first, last = gate == 1, gate == course.gates
    before = 0.0 if first else course.centre(gate - 1)
    upright = {"psi1": pi / 2, "psi2": pi / 2, "q8": REST, "q9": REST, "q10": REST}
    states: dict[str, Any] = {}
    for n in names:
        if n == "x0":
            states[n] = ph.state(n, start=0.0 if first else None, end=course.spacing * gate, unit="m", guess=lambda s: course.spacing * (gate - 1 + s))
        elif n == "y0":
            c = course.centre(gate)
            window = free(c - course.width / 2, c + course.width / 2)
            states[n] = ph.state(n, start=0.0 if first else None, end=window, unit="m", guess=lambda s: before + (c - before) * s)
        elif n == "phi0":
            states[n] = ph.state(n, start=0.0 if first else None, lower=-1.4, upper=1.4, unit="rad", guess=0.0)
        else:
            low, high = (pi / 2 - LEAN, pi / 2 + LEAN) if n.startswith("psi") else REACH
            states[n] = ph.state(
                n, start=upright[n] if first else None, end=upright[n] if last else None,
                lower=low, upper=high, guess=upright[n], unit="rad" if n.startswith("psi") else "m",
            )  # fmt: skip
    speed = ph.state("speed", start=course.speed if first else None, lower=0.1, guess=course.speed + gate, unit="m/s")
    rates = {"speed": speed}
    for n in names[2:]:
        resting = n != "phi0"
        rates[n] = ph.state(
            f"{n}_rate", start=0.0 if first else None, end=0.0 if last and resting else None, guess=0.0,
            unit="m/s" if n.startswith("q") else "rad/s", scale=2.0,
        )  # fmt: skip
    controls = {
        n: ph.control(n, lower=-LIMITS[n], upper=LIMITS[n], guess=0.0,
                      unit="N" if n.startswith("f") else "N m")
        for n in motion_controls(motion)
    }  # fmt: skip
    v, rate, normal, _ = motion(vertcat(*states.values()), vertcat(*rates.values()), vertcat(*controls.values()))
    ph.dynamics({x: v[k] for k, x in enumerate(states.values())} | {x: rate[k] for k, x in enumerate(rates.values())})
    half = LENGTHS[0] / 2
    ph.path(vertcat(half * normal - controls["ankle"], half * normal + controls["ankle"]), lower=0.0, name="foot flat on the ground")
    return Stage(ph, t, states | rates, controls, normal)


def motion_controls(motion: Function) -> list[str]:
    return list(LIMITS)[: motion.size1_in(2)]


def _course(name: str, course: Course, extensions) -> tuple[Problem, list[Stage]]:
    ocp = Problem(name)
    motion, names = rider(extensions)
    stages = [_stage(ocp, course, gate, motion, names) for gate in range(1, course.gates + 1)]
    for before, after in zip(stages, stages[1:], strict=False):
        ocp.connect(before.phase, after.phase)
    return ocp, stages


def effort_slalom(gates: int = 6, spacing: float = 6.0, offset: float = 1.5, width: float = 0.6, extensions=("q8","q9"), duration=4.7) -> Problem:
    ocp, stages = _course("slalom-effort", Course(gates, spacing, offset, width), extensions)
    ocp.require(stages[-1].phase.final(stages[-1].time), equals=duration, name="duration")
    ocp.minimize(sum(effort(s) for s in stages))
    return ocp


def time_slalom(gates: int = 6, spacing: float = 6.0, offset: float = 1.5, width: float = 0.6, extensions=("q8","q9"), weight: float = 0.01) -> Problem:
    ocp, stages = _course("slalom-time", Course(gates, spacing, offset, width), extensions)
    ocp.minimize(stages[-1].phase.final(stages[-1].time) + weight * sum(effort(s) for s in stages))
    return ocp
