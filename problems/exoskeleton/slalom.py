"""A run of the three-link exoskeleton through gates: what the slaloms of least effort and of least
time have in common.

The foot glides on its blade, which the states satisfy at any time (``exoskeleton.gliding``); leg
and body stay in the upright plane of the blade, or in one that leans to the sides. Controls are the
torque that turns the board, the torques of ankle and hip, and the forces of two length actuators
with springs beside them. Each gate ends a phase, so that it is passed exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from math import pi, sin, sqrt
from typing import Any

from casadi import SX, Function, cos, substitute, sumsqr, vertcat
from casadi import sin as sine

from problems.exoskeleton.model import (
    CONSTANT_LENGTHS,
    THREE_LINK,
    ThreeLink,
    blade,
    gliding,
    links,
)
from trajopt import Problem, free
from trajopt.errors import ProblemError
from trajopt.mechanics import Mechanism, Quantity, Tree
from trajopt.parameters import setting_field

POSTURES = ("moving", "rigid", "leaning")


@dataclass(frozen=True)
class Muscles:
    """Drives and springs of the rider, and how far the joints go; ours."""

    steer_torque: float = setting_field(
        2.0, "N m", "limit of the torque that turns the board, moving posture", 0.01, 1e4
    )
    # A body that leans rigidly ahead of the blade swings out in turns and takes more to steer.
    rigid_steer_torque: float = setting_field(
        60.0, "N m", "limit of the torque that turns the board, rigid posture", 0.01, 1e4
    )
    ankle_torque: float = setting_field(20.0, "N m", "limit of the ankle's torque", 0.1, 1e4)
    hip_torque: float = setting_field(30.0, "N m", "limit of the hip's torque", 0.1, 1e4)
    leg_force: float = setting_field(
        100.0, "N", "limit of the leg's length actuator (f8)", 0.1, 1e5
    )
    body_force: float = setting_field(
        100.0, "N", "limit of the body's length actuator (f9)", 0.1, 1e5
    )
    spring: float = setting_field(
        1000.0, "N/m", "stiffness of the springs, which carry the weight at rest", 0, 1e6
    )
    damper: float = setting_field(100.0, "N s/m", "damping beside the springs", 0, 1e5)
    lean: float = setting_field(
        0.4, "rad", "how far leg and body may lean from the slope's normal", 0.01, 1.5
    )
    roll_torque: float = setting_field(
        30.0, "N m", "limit of the torque that leans the rider, leaning posture", 0.1, 1e4
    )
    edge: float = setting_field(
        0.15, "m", "half of the board's width, which the snow's force does not leave", 0.01, 1
    )
    least_normal: float = setting_field(
        40.0, "N", "least normal force of the snow, leaning posture", 0, 1000
    )
    hold: float = setting_field(
        1.5, "1", "largest force across the blade by the normal force, leaning posture", 0.1, 10
    )
    roll: float = setting_field(
        1.2, "rad", "how far the leaning rider leans to the sides", 0.01, 1.5
    )
    reach: tuple[float, float] = setting_field((0.3, 0.8), "m", "range of each extension", 0, 10)
    rest_extension: float = setting_field(
        1 / sqrt(3), "m", "both extensions at the start and at the end", 0, 10
    )
    rigid_lean: float = setting_field(
        0.05, "rad", "how far the rigid posture leans ahead of the blade", -1, 1
    )

    def limits(self, posture: str) -> dict[str, float]:
        if posture == "rigid":
            return {"steer": self.rigid_steer_torque}
        joints = {"steer": self.steer_torque, "ankle": self.ankle_torque, "hip": self.hip_torque}
        lean = {"roll_torque": self.roll_torque} if posture == "leaning" else {}
        return joints | {"f8": self.leg_force, "f9": self.body_force} | lean

    @property
    def rest(self) -> dict[str, float]:
        """The posture at the start and at the end."""
        return {
            "psi1": pi / 2,
            "psi2": pi / 2,
            "q8": self.rest_extension,
            "q9": self.rest_extension,
        }

    @property
    def rigid(self) -> dict[str, float]:
        lean = pi / 2 - self.rigid_lean
        return {"psi1": lean, "psi2": lean, **CONSTANT_LENGTHS}


MUSCLES = Muscles()
LIMITS = {posture: MUSCLES.limits(posture) for posture in POSTURES}
REST = MUSCLES.rest


@dataclass(frozen=True)
class Course:
    """Gates across the slope, one every ``spacing`` downhill, ``offset`` to the left and right in
    turn (m).
    """

    gates: int = setting_field(6, "", "number of gates", 1, 100)
    spacing: float = setting_field(6.0, "m", "from gate to gate, downhill", 0.5, 100)
    offset: float = setting_field(
        1.5, "m", "of the gates from the fall line, left and right in turn", 0, 50
    )
    width: float = setting_field(0.6, "m", "width of a gate", 0.01, 50)
    speed: float = setting_field(3.0, "m/s", "speed at the start", 0.1, 100)

    def fall(self, gate: float, data: ThreeLink = THREE_LINK) -> tuple[float, float]:
        """Speed and time of a straight slide to a gate, or to a place between two:
        the plain guess.
        """
        pull, way = data.gravity * sin(data.incline), self.spacing * gate
        speed = sqrt(self.speed**2 + 2 * pull * way)
        return speed, 2 * way / (speed + self.speed)

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
    model: Mechanism
    held: Mapping[str, float]  # coordinates that stay
    muscles: Muscles = MUSCLES
    data: ThreeLink = THREE_LINK


def rider(
    posture: str = "moving", data: ThreeLink = THREE_LINK, muscles: Muscles = MUSCLES
) -> Rider:
    """The three links with muscles in all joints, or in one rigid piece that is only steered."""
    if posture not in POSTURES:
        raise ProblemError(
            "posture of the slalom's rider", got=posture, expected=" or ".join(POSTURES)
        )
    kept = muscles.rigid if posture == "rigid" else {"q10": 0.0}
    tree = links(kept, 0.0, data, leaning=posture == "leaning")
    names, limits = [c.name for c in tree.coordinates], muscles.limits(posture)
    muscle = {n: Quantity(n, 0.0, _unit(n)) for n in limits}
    u = {n: m.symbol for n, m in muscle.items()}
    forces = {"phi0": u["steer"]}
    if posture == "leaning":
        forces["roll"] = u["roll_torque"]
    if posture != "rigid":
        forces |= {"psi1": u["ankle"] - u["hip"], "psi2": u["hip"]}
        carried = {"q8": data.leg_mass + data.body_mass, "q9": data.body_mass}
        for c in tree.coordinates:
            if c.name in carried:
                held = -carried[c.name] * float(tree.gravity[2])
                spring = held - muscles.spring * (c.q - muscles.rest[c.name]) - muscles.damper * c.v
                forces[c.name] = spring + u[f"f{c.name[1:]}"]
    model = tree.mechanism(forces, controls=tuple(muscle.values()))
    return Rider(tree, names, limits, gliding(model, tree), model, kept, muscles, data)


def roll_moment(body: Rider) -> Function:
    """The moment about the blade that the snow has to apply to the board, (q, nu, u) -> N m.

    A rider who stays in the upright plane of the blade is held there by it: the generalized force
    that keeps a rolling rider at zero. For a leaning one it is the torque ``roll_torque``.
    """
    q, nu, u = (SX.sym(name, body.motion.size1_in(k)) for k, name in enumerate(("q", "nu", "u")))
    if "roll_torque" in body.limits:
        return Function("roll_moment", [q, nu, u], [u[list(body.limits).index("roll_torque")]])
    v, rate, _, _ = body.motion(q, nu, u)
    c, s = cos(q[2]), sine(q[2])
    along = rate[0] * vertcat(c, s) + nu[0] * nu[1] * vertcat(-s, c)  # x0'', y0''
    model = links(body.held, 0.0, body.data, leaning=True).mechanism()
    row = model.index("roll")

    def rolling(values: SX) -> SX:
        return vertcat(values[:row], 0, values[row:])

    terms = model.equations
    mass, bias = substitute([terms.mass, terms.bias], [model.q, model.v], [rolling(q), rolling(v)])
    acceleration = rolling(vertcat(along, rate[1:]))
    return Function("roll_moment", [q, nu, u], [(mass @ acceleration + bias)[row]])


@dataclass(frozen=True, eq=False)
class GatePhase:
    """One phase of a run, from one gate to the next."""

    phase: Any
    time: Any
    effort: SX  # integral of the squared controls, each as a part of its limit (s)


def _stage(ocp: Problem, course: Course, gate: int, rider: Rider) -> GatePhase:
    ph = ocp.phase(f"gate{gate}")
    t = ph.time(
        start=0 if gate == 1 else None,
        end=free(0.05 * gate, 20.0 * gate, guess=course.fall(gate, rider.data)[1]),
    )
    places, rates = _states(ph, course, gate, rider)
    u = {
        n: ph.control(n, lower=-m, upper=m, guess=0, unit=_unit(n)) for n, m in rider.limits.items()
    }
    v, rate, normal, across = rider.motion(*(vertcat(*d.values()) for d in (places, rates, u)))
    ph.dynamics(
        {x: v[k] for k, x in enumerate(places.values())}
        | {x: rate[k] for k, x in enumerate(rates.values())}
    )
    # With a velocity of its own across the blade, for the certificate: there the blade is a
    # constraint.
    ph.in_redundant_coordinates(
        lambda: replace(rider.model, constraints=(blade(rider.tree),)).system(),
        {n: places[n] for n in ("x0", "y0")},
    )
    if "ankle" in u:
        # The slope's force acts within the foot's length; both together keep it positive: the foot
        # does not leave the ground.
        reach = rider.data.foot_length / 2 * normal
        ph.path(
            vertcat(reach - u["ankle"], reach + u["ankle"]),
            lower=0.0,
            name="foot flat on the ground",
        )
    if "roll_torque" in u:
        edge = rider.muscles.edge * normal
        ph.path(
            vertcat(edge - u["roll_torque"], edge + u["roll_torque"]),
            lower=0.0,
            name="force of the snow within the board's width",
        )
        ph.path(normal, lower=rider.muscles.least_normal, name="normal force")
        hold = rider.muscles.hold * normal
        ph.path(vertcat(hold - across, hold + across), lower=0.0, name="hold of the edge")
    return GatePhase(
        ph, t, ph.integral(sumsqr(vertcat(*[x / rider.limits[n] for n, x in u.items()])))
    )


def _states(
    ph: Any, course: Course, gate: int, rider: Rider
) -> tuple[dict[str, Any], dict[str, Any]]:
    first, last = gate == 1, gate == course.gates
    here, there = course.centre(gate - 1), course.centre(gate)
    window = free(there - course.width / 2, there + course.width / 2)
    at_start = 0.0 if first else None

    def falling(s: float) -> float:
        return course.fall(gate - 1 + s, rider.data)[0]

    x = {
        "x0": ph.state(
            "x0",
            start=at_start,
            end=course.spacing * gate,
            unit="m",
            guess=lambda s: course.spacing * (gate - 1 + s),
        ),
        "y0": ph.state(
            "y0", start=at_start, end=window, unit="m", guess=lambda s: here + (there - here) * s
        ),
        "phi0": ph.state(
            "phi0",
            start=at_start,
            end=0.0 if last else None,
            lower=-1.4,
            upper=1.4,
            unit="rad",
            guess=0,
        ),
    }
    lean, rest = rider.muscles.lean, rider.muscles.rest
    if "roll" in rider.names:
        most = rider.muscles.roll
        x["roll"] = ph.state(
            "roll",
            start=at_start,
            end=0.0 if last else None,
            lower=-most,
            upper=most,
            guess=0,
            unit="rad",
        )
    for n in rider.names[4 if "roll" in x else 3 :]:
        low, high = (pi / 2 - lean, pi / 2 + lean) if n.startswith("psi") else rider.muscles.reach
        x[n] = ph.state(
            n,
            start=rest[n] if first else None,
            end=rest[n] if last else None,
            lower=low,
            upper=high,
            guess=rest[n],
            unit="rad" if n.startswith("psi") else "m",
        )
    v = {
        "x0": ph.state(
            "speed", start=course.speed if first else None, lower=0.1, guess=falling, unit="m/s"
        )
    }
    for n in rider.names[2:]:
        still = 0.0 if last and n != "phi0" else None
        v[n] = ph.state(
            f"{n}_rate",
            start=at_start,
            end=still,
            guess=0,
            scale=2.0,
            unit="m/s" if n[0] == "q" else "rad/s",
        )
    return x, v


def run(name: str, course: Course, body: Rider) -> tuple[Problem, list[GatePhase]]:
    """All gates, without an objective."""
    ocp = Problem(name)
    stages = [_stage(ocp, course, gate, body) for gate in range(1, course.gates + 1)]
    for before, after in pairwise(stages):
        ocp.connect(before.phase, after.phase)
    return ocp, stages


def _unit(control: str) -> str:
    return "N" if control[0] == "f" else "N m"
