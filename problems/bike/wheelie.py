"""Entry into a wheelie by optimal control: the five-link bike robot, front wheel down, then up.

From rest, leaning 20 deg forwards, to 30 deg rise and 20 deg backward lean with rates of zero; the
speed is free. Torques are limited to 80 (wheel) and 150 N m (waist), the rear tyre to its friction
cone; the front wheel only pushes. All of this is ours: the thesis simulates the motion by PD
control.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import radians
from typing import Any

import casadi

from problems.bike.models import FIVE_LINK, FiveLink, Machine, five_link
from problems.bike.pictures import five_link_drawing as drawing  # noqa: F401  # what an animation shows
from problems.bike.trees import five_link_tree
from trajopt import Problem, Reference, free
from trajopt.mechanics import Quantity
from trajopt.parameters import settable, setting, setting_field

REFERENCE = Reference(
    origin="own",
    objective=0.2086902327,
    tolerance=1e-6,
    source="direct collocation at tolerances 1e-6 and 1e-8, shooting by the maximum principle; T "
    "= 0.216620 + 0.534489 s",
)


@dataclass(frozen=True)
class EntryLimits:
    """What an entry must respect; torques in N m, forces in N, angles in deg."""

    wheel_torque: float = setting_field(80.0, "N m", "limit of the wheel's torque", 1, 1000)
    waist_torque: float = setting_field(150.0, "N m", "limit of the waist's torque", 1, 2000)
    friction: float = setting_field(0.8, "1", "friction of the rear tyre", 0.1, 3)
    least_rear_force: float = setting_field(50.0, "N", "least force of the rear wheel", 0, 500)
    rise: float = setting_field(30.0, "deg", "rise of the front at the end", 5, 60)
    lean: float = setting_field(
        -20.0, "deg", "lean of the torso at the end, forwards positive", -30, 45
    )
    # A straight arm (0) is a dead centre of the loop.
    straightest_elbow: float = setting_field(
        -0.5, "deg", "straightest elbow, 0 for a straight arm", -45, 0
    )
    unloaded: bool = setting_field(
        False, "", "whether the front force is zero at the last instant on the ground, too"
    )


ENTRY = EntryLimits()


@settable
def wheelie_entry(
    entry: EntryLimits = ENTRY,
    data: FiveLink = FIVE_LINK,
    time_weight: float = setting(0.05, "1/s", "weight of the duration beside the effort", 0, 10),
) -> Problem:
    """Minimum effort: the integral of the squared torques, each by its limit, and a little time.

    The rider's mass is a parameter of the problem, ``rider_mass``: masses and inertias of all links
    in proportion.
    """
    ocp, phases = state_entry("wheelie-entry", entry, data)
    up, _, t = phases[-1]
    ocp.minimize(effort_of(entry, phases) + time_weight * up.final(t))
    return ocp


def effort_of(entry: EntryLimits, phases: list[Any]) -> Any:
    """The integral of the squared torques, each by its limit, over all phases."""
    return sum(
        ph.integral((u[0] / entry.wheel_torque) ** 2 + (u[1] / entry.waist_torque) ** 2)
        for ph, u, _ in phases
    )


def state_entry(
    name: str, entry: EntryLimits, data: FiveLink = FIVE_LINK
) -> tuple[Problem, list[Any]]:
    """Both phases of an entry that ends in the wheelie: the problem, and (phase, torques, time) of
    each.
    """
    ocp = Problem(name)
    data = with_rider(ocp, data)
    down = front_down(ocp, entry, data)
    ends = {"beta": {"end": radians(entry.rise)}, "torso": {"end": radians(entry.lean)}}
    up = front_up(
        ocp, entry, {**ends, "beta_rate": {"end": 0.0}, "torso_rate": {"end": 0.0}}, data=data
    )
    ocp.connect(down[0], up[0])
    return ocp, [down, up]


def with_rider(ocp: Problem, data: FiveLink) -> FiveLink:
    """The machine with the rider's mass as a parameter of the problem."""
    usual = data.rider_mass
    return data.with_rider(
        Quantity(
            "rider_mass", usual, "kg", ocp.parameter("rider_mass", usual, "kg", lower=1, upper=500)
        )
    )


def front_down(
    ocp: Problem, entry: EntryLimits, data: FiveLink = FIVE_LINK
) -> tuple[Any, Any, Any]:
    """Until the front wheel lifts off beta is zero, and no state."""
    ph = ocp.phase("front down")
    t = ph.time(start=0, end=free(0.05, 1.0, guess=0.2))
    given = {"x": 0.0, "torso": radians(data.torso_start_deg), "x_rate": 0.0, "torso_rate": 0.0}
    x, torso, x_rate, torso_rate = _states(
        ph, data, {name: {"start": value} for name, value in given.items()}
    )
    u, machine = _torques(ph, entry), five_link(data, front_down=True)
    q, v = casadi.vertcat(x, 0, torso), casadi.vertcat(x_rate, 0, torso_rate)
    a, front, traction, rear = _motion(machine, data, q, v, u)
    ph.dynamics({x: x_rate, torso: torso_rate, x_rate: a[0], torso_rate: a[2]})
    ph.path(front, lower=0, name="front force", unit="N")
    if entry.unloaded:
        ocp.require(ph.final(front), equals=0, name="front force at lift-off")
    arm = machine.seen(_angles(machine), q)
    _keep_limits(ph, entry, arm, traction, rear, data)
    _close_loop(ph, data, x, arm, front_down=True)
    return ph, u, t


def front_up(
    ocp: Problem,
    entry: EntryLimits,
    given: dict[str, Any],
    name: str = "front up",
    until: Any = None,
    data: FiveLink = FIVE_LINK,
) -> tuple[Any, Any, Any]:
    """With the front wheel in the air.

    ``given``: what is known of states (start, end, ...); ``until``: bounds of the end, s.
    """
    ph = ocp.phase(name)
    t = ph.time(end=free(0.2, 3.0, guess=0.8) if until is None else until)
    known: dict[str, Any] = {
        "x": {},
        "beta": {"lower": 0.0},
        "torso": {},
        "x_rate": {},
        "beta_rate": {},
        "torso_rate": {},
    }
    if name == "front up":
        known["beta"]["start"], known["beta_rate"]["start"] = 0.0, 0.0
    states = _states(ph, data, {state: {**known[state], **given.get(state, {})} for state in known})
    q, v = casadi.vertcat(*states[:3]), casadi.vertcat(*states[3:])
    u, machine = _torques(ph, entry), five_link(data)
    a, _, traction, rear = _motion(machine, data, q, v, u)
    for k in range(3):
        ph.dynamics({states[k]: states[3 + k], states[3 + k]: a[k]})
    arm = machine.seen(_angles(machine), q)
    _keep_limits(ph, entry, arm, traction, rear, data)
    _close_loop(ph, data, states[0], arm, front_down=False)
    return ph, u, t


def _close_loop(ph: Any, data: FiveLink, x: Any, arm: Any, front_down: bool) -> None:
    """The machine by links and closures as well, for the certificate: the hand, the contacts and
    rolling as constraints.
    """
    held = {
        "y": data.wheel_radius,
        "wheel": x / data.wheel_radius,
        "shoulder": arm[0],
        "elbow": arm[1],
    }
    down = {"beta": 0.0} if front_down else {}
    ph.in_redundant_coordinates(lambda: five_link_tree(data, front_down).system(), held | down)


def _states(ph: Any, data: FiveLink, given: dict[str, Any]) -> list[Any]:
    units = {
        "x": "m",
        "beta": "rad",
        "torso": "rad",
        "x_rate": "m/s",
        "beta_rate": "rad/s",
        "torso_rate": "rad/s",
    }
    low, high = map(radians, data.waist_deg)
    bounds = {"torso": {"lower": low, "upper": high}}
    return [
        ph.state(name, unit=units[name], **{**bounds.get(name, {}), **known})
        for name, known in given.items()
    ]


def _torques(ph: Any, entry: EntryLimits) -> Any:
    limits = {"wheel_torque": entry.wheel_torque, "waist_torque": entry.waist_torque}
    return casadi.vertcat(
        *[ph.control(name, lower=-limit, upper=limit, unit="N m") for name, limit in limits.items()]
    )


def _angles(machine: Machine) -> Any:
    return casadi.vertcat(*[machine.posture.angles[joint] for joint in ("shoulder", "elbow")])


def _keep_limits(
    ph: Any, entry: EntryLimits, angles: Any, traction: Any, rear: Any, data: FiveLink
) -> None:
    """The rear wheel stays loaded and within its friction cone, shoulder and elbow within their
    ranges.
    """
    ph.path(rear, lower=entry.least_rear_force, name="rear force", unit="N")
    ph.path(entry.friction * rear - traction, lower=0, name="grip forwards", unit="N")
    ph.path(entry.friction * rear + traction, lower=0, name="grip backwards", unit="N")
    ranges = (
        ("shoulder", data.shoulder_deg),
        ("elbow", (data.elbow_deg[0], min(entry.straightest_elbow, data.elbow_deg[1]))),
    )
    for k, (joint, (low, high)) in enumerate(ranges):
        ph.path(angles[k], lower=radians(low), upper=radians(high), name=joint, unit="rad")


def _motion(machine: Machine, data: FiveLink, q: Any, v: Any, u: Any) -> tuple[Any, Any, Any, Any]:
    """Accelerations, front force, traction and rear force."""
    m = machine.mechanism
    a = m.acceleration(q, v, u, m.p)
    front = m.reactions(q, v, u, m.p) / data.wheelbase if m.rows else casadi.SX(0)
    ground = machine.ground_force(q, v, a)
    # One pass over all of them: they share most of their terms, and second derivatives of the rest
    # cost a third.
    shared: tuple[Any, Any, Any, Any] = tuple(casadi.cse([a, front, ground[0], ground[1] - front]))
    return shared
