"""Entry into a wheelie by optimal control: the five-link bike robot, front wheel down, then up.

From rest, leaning 20 deg forwards, to 30 deg rise and 20 deg backward lean with rates of zero; the speed is free. Torques
are limited to 80 (wheel) and 150 N m (waist), the rear tyre to its friction cone; the front wheel only pushes. All of this
is ours: the thesis simulates the motion by PD control.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import radians
from typing import Any

import casadi

from problems.bike_models import FIVE_LINK, FiveLink, Machine, five_link
from problems.bike_pictures import five_link_drawing as drawing  # noqa: F401  # what an animation shows
from trajopt import Problem, Reference, free

REFERENCE = Reference(
    objective=0.2086902327,
    tolerance=1e-6,
    # An independent collocation on a coarse mesh gave 0.2140 (T = 0.222 + 0.529 s); the difference is not explained.
    source="direct collocation at tolerances 1e-6 and 1e-8; T = 0.216620 + 0.534489 s",
)


@dataclass(frozen=True)
class Entry:
    """What an entry must respect; torques in N m, forces in N, angles in deg."""

    wheel_torque: float = 80.0
    waist_torque: float = 150.0
    friction: float = 0.8
    least_rear_force: float = 50.0
    lean_start: float = 20.0
    rise: float = 30.0
    lean: float = -20.0
    straightest_elbow: float = -0.5  # a straight arm (0) is a dead centre of the loop
    unloaded: bool = False  # whether the front force is to be zero at the last instant on the ground, too


def wheelie_entry(
    wheel_torque: float = 80.0, waist_torque: float = 150.0, friction: float = 0.8, time_weight: float = 0.05
) -> Problem:
    """Minimum effort: the integral of the squared torques, each by its limit, and a little time."""
    entry = Entry(wheel_torque, waist_torque, friction)
    ocp, phases = state_entry("wheelie-entry", entry)
    up, _, t = phases[-1]
    ocp.minimize(effort_of(entry, phases) + time_weight * up.final(t))
    return ocp


def effort_of(entry: Entry, phases: list[Any]) -> Any:
    """The integral of the squared torques, each by its limit, over all phases."""
    return sum(ph.integral((u[0] / entry.wheel_torque) ** 2 + (u[1] / entry.waist_torque) ** 2) for ph, u, _ in phases)


def state_entry(name: str, entry: Entry) -> tuple[Problem, list[Any]]:
    ocp = Problem(name)
    down = _phase(ocp, "front down", entry, FIVE_LINK)
    up = _phase(ocp, "front up", entry, FIVE_LINK)
    ocp.connect(down[0], up[0])
    return ocp, [down, up]


def _phase(ocp: Problem, name: str, entry: Entry, data: FiveLink) -> tuple[Any, Any, Any]:
    """While the front wheel stands, beta is zero and no state."""
    on_ground = name == "front down"
    machine = five_link(data, front_down=on_ground)
    ph = ocp.phase(name)
    t = ph.time(start=0, end=free(0.05, 1.0, guess=0.2)) if on_ground else ph.time(end=free(0.2, 3.0, guess=0.8))
    first, rise, last = radians(entry.lean_start), radians(entry.rise), radians(entry.lean)
    waist = tuple(map(radians, data.waist_deg))
    x = ph.state("x", start=0 if on_ground else None, unit="m")
    beta = 0 if on_ground else ph.state("beta", start=0, end=rise, lower=0.0, unit="rad")
    torso = ph.state("torso", **_at(on_ground, first, last), lower=waist[0], upper=waist[1], unit="rad")
    x_rate = ph.state("x_rate", start=0 if on_ground else None, unit="m/s")
    beta_rate = 0 if on_ground else ph.state("beta_rate", start=0, end=0, unit="rad/s")
    torso_rate = ph.state("torso_rate", **_at(on_ground, 0, 0), unit="rad/s")
    wheel = ph.control("wheel_torque", lower=-entry.wheel_torque, upper=entry.wheel_torque, unit="N m")
    bend = ph.control("waist_torque", lower=-entry.waist_torque, upper=entry.waist_torque, unit="N m")
    q, v, u = casadi.vertcat(x, beta, torso), casadi.vertcat(x_rate, beta_rate, torso_rate), casadi.vertcat(wheel, bend)
    a, front, traction, rear = _motion(machine, data, q, v, u)
    ph.dynamics({x: x_rate, torso: torso_rate, x_rate: a[0], torso_rate: a[2]})
    if on_ground:
        ph.path(front, lower=0, name="front force")
        if entry.unloaded:
            ocp.require(ph.final(front), equals=0, name="front force at lift-off")
    else:
        ph.dynamics({beta: beta_rate, beta_rate: a[1]})
    ph.path(rear, lower=entry.least_rear_force, name="rear force")
    ph.path(entry.friction * rear - traction, lower=0, name="grip forwards")
    ph.path(entry.friction * rear + traction, lower=0, name="grip backwards")
    for joint, low, high in (("shoulder", *data.shoulder_deg), ("elbow", data.elbow_deg[0], entry.straightest_elbow)):
        ph.path(machine.seen(machine.posture.angles[joint], q), lower=radians(low), upper=radians(high), name=joint)
    return ph, u, t


def _at(on_ground: bool, first: float, last: float) -> dict[str, float]:
    """A state that is given at the start of the first phase and at the end of the second."""
    return {"start": first} if on_ground else {"end": last}


def _motion(machine: Machine, data: FiveLink, q: Any, v: Any, u: Any) -> tuple[Any, Any, Any, Any]:
    """Accelerations, front force, traction and rear force."""
    m = machine.mechanism
    a = m.acceleration(q, v, u)
    front = m.reactions(q, v, u) / data.wheelbase if m.rows else casadi.SX(0)
    ground = machine.ground_force(q, v, a)
    # One pass over all of them: they share most of their terms, and second derivatives of the rest cost a third.
    shared: tuple[Any, Any, Any, Any] = tuple(casadi.cse([a, front, ground[0], ground[1] - front]))
    return shared
