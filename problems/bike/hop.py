"""A vertical hop on the rear wheel, by optimal control: take-off, flight, landing with an impact,
and a standstill.

The machine is in the air for a given time, and its mass centre does not drift: it lands on the
place it left. The impact of the braked rear wheel is without rebound and without slip: the impulse
of the ground is within the friction cone. The thesis (chapter 6) has the machine and the aim; the
statement is ours.
"""

from __future__ import annotations

from typing import Any

import casadi

from problems.bike.jump import (
    CROUCH,
    JUMP,
    LIMBS,
    PUSH,
    STRETCH,
    TAKE_OFF,
    TORQUES,
    Jump,
    JumpPhase,
    Sketch,
    columns,
    drives,
    effort,
    flight,
    joint_states,
    keep_grip,
    keep_ranges,
    move,
    stance,
    take_off,
)
from problems.bike.models import SEVEN_LINK, SevenLink, seven_link
from problems.bike.pictures import seven_link_drawing as drawing  # noqa: F401  # what an animation shows
from problems.bike.trees import close_loop
from trajopt import Problem, Reference, free
from trajopt.parameters import settable, setting

REFERENCE = Reference(
    origin="own",
    objective=0.0107547232,
    tolerance=1e-6,
    source="direct collocation at tolerances 1e-4 and 1e-6",
    structure="take-off at 0.35 s, landing at 0.6 s, standstill at 1.12747 s",
)
AIR = Sketch(
    0.25,
    (0.0, 0.25, 0.6, 1.0),
    (TAKE_OFF, STRETCH, (20.0, 58.0, 50.0, -60.0), TAKE_OFF),
    (0.0, -40.0, 0.0),
)
SINK = Sketch(
    0.35, (0.0, 0.4, 1.0), (TAKE_OFF, (20.0, 60.0, 95.0, -115.0), CROUCH), (-100.0, 120.0, 5.0)
)


@settable
def daniel_hop(
    jump: Jump = JUMP,
    data: SevenLink = SEVEN_LINK,
    air_time: float = setting(0.25, "s", "duration of the flight", 0.05, 0.6),
    longest_landing: float = setting(
        0.8, "s", "longest time from the landing to the standstill", 0.2, 3
    ),
) -> Problem:
    """The least effort of a hop that lasts ``air_time`` in the air, from rest to rest on the same
    place.
    """
    ocp = Problem("daniel-hop")
    ground, air = stance(ocp, jump, PUSH, data=data), flight(ocp, jump, AIR, last=False, data=data)
    take_off(ocp, ground, air)
    final, initial = air.phase.final, air.phase.initial
    ocp.require(final(air.t) - initial(air.t), equals=air_time, name="time in the air")
    ocp.require(final(air.centre_rate[0]), equals=0, name="drift of the mass centre")
    stood = _landing(ocp, jump, air, longest_landing)
    ocp.minimize(effort(ground) + effort(air) + effort(stood))
    return ocp


def _landing(ocp: Problem, jump: Jump, air: JumpPhase, longest: float) -> JumpPhase:
    """On the braked rear wheel again, from the impact to a standstill that the torques hold."""
    data = air.data
    machine = seven_link(data, guard=jump.guard)
    ph = ocp.phase("landing")
    t = ph.time(end=free(0.2, 5.0, guess=0.85))
    joints = joint_states(ph, jump, data, SINK, apart=("end",))
    torques, cost = drives(ph, jump, SINK, None)
    q, v = columns(joints)
    acceleration = machine.mechanism.acceleration(q, v, torques)
    a, ground, centre = casadi.cse(
        [acceleration, machine.ground_force(q, v, acceleration), machine.point("mass centre", q)]
    )
    move(ph, joints, a)
    ranges = keep_ranges(ph, machine, q, v, jump, data)
    keep_grip(ph, jump, ground)
    ocp.require(ph.final(v), equals=0, name="rates at the end")
    ocp.require(ph.final(a), equals=0, name="accelerations at the end")
    ocp.require(ph.final(t) - ph.initial(t), upper=longest, name="time to the standstill")
    axle = machine.point("rear axle", q)
    close_loop(ph, axle, (ranges["shoulder"][0], ranges["elbow"][0]), data)
    stood = JumpPhase(
        ph, t, cost, axle, casadi.jtimes(axle, q, v), centre, casadi.jtimes(centre, q, v), data, v
    )
    _impact(ocp, jump, air, stood, q)
    return stood


def _impact(ocp: Problem, jump: Jump, air: JumpPhase, stood: JumpPhase, posture: Any) -> None:
    """The rear wheel comes down: postures and torques go on, velocities jump, M (v+ - v-) is an
    impulse of the ground alone.
    """
    before, then = air.phase.final, stood.phase.initial
    ocp.connect(air.phase, stood.phase, states=["beta", *LIMBS, *TORQUES])
    radius = air.data.wheel_radius
    ocp.require(before(air.axle[1]), equals=radius, name="rear wheel on the ground")
    ocp.require(before(air.axle[0]) - then(stood.axle[0]), equals=0, name="on the place it left")
    m = seven_link(air.data, stance=False, guard=jump.guard).mechanism
    q, v = then(posture), then(stood.joint_rates)
    fall = casadi.vertcat(before(air.axle_rate), before(air.joint_rates))
    roll = casadi.vertcat(-radius * v[0], 0, v)  # braked, the wheel turns with the bicycle
    M = m.evaluate(m.equations.mass, casadi.vertcat(0, 0, q), casadi.vertcat(0, 0, v))
    impulse = M @ (roll - fall)
    ocp.require(impulse[2] - radius * impulse[0], equals=0, name="impact: rise of the front")
    ocp.require(impulse[3:], equals=0, name="impact: joints")
    for sign, name in ((-1, "forwards"), (1, "backwards")):
        ocp.require(
            jump.friction * impulse[1] + sign * impulse[0], lower=0, name=f"impact: grip {name}"
        )
