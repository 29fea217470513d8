"""Onto a platform ahead, over its edge: the rear wheel lands on the edge and turns over it (the
thesis' stage 7).

The machine stands on its braked rear wheel before the platform, the front wheel above it. In the
air the rear wheel stays clear of the edge, which it then touches without an impact. A braked wheel
on a sharp edge turns about it with the bicycle: the force of the edge is within the friction cone
about the line to the axle. The machine ends at rest, its axle above the edge. Ours.
"""

from __future__ import annotations

from math import pi
from typing import Any

import casadi

from problems.bike.jump import (
    JUMP,
    WEIGHT,
    Jump,
    JumpPhase,
    Sketch,
    columns,
    drives,
    effort,
    flight,
    joint_states,
    keep_ranges,
    move,
    stance,
    take_off,
)
from problems.bike.models import SEVEN_LINK, SevenLink, seven_link
from problems.bike.pictures import edge_drawing as drawing  # noqa: F401  # what an animation shows
from problems.bike.support import FIFTHS, carried
from trajopt import Problem, Reference, free
from trajopt.parameters import settable, setting

REFERENCE = Reference(
    origin="own",
    objective=0.0554110535,
    tolerance=1e-6,
    source="direct collocation at tolerances 1e-6 and 1e-7",
)
# The guess: postures by fifths of each phase.
LEAVING, TOUCHING = (24.0, 47.0, 45.0, -54.0), (27.0, 70.0, 41.0, -109.0)
PUSH_OFF = Sketch(
    0.35,
    FIFTHS,
    (
        (15.0, 87.0, 35.0, -134.0),
        (18.0, 75.0, 53.0, -137.0),
        (22.0, 59.0, 76.0, -135.0),
        (25.0, 48.0, 82.0, -122.0),
        (25.0, 45.0, 72.0, -98.0),
        LEAVING,
    ),
    (-42.0, 160.0, 5.0),
)
ACROSS = Sketch(
    0.29,
    FIFTHS,
    (
        LEAVING,
        (25.0, 53.0, 14.0, -10.0),
        (25.0, 54.0, 16.0, -17.0),
        (26.0, 59.0, 29.0, -55.0),
        (28.0, 70.0, 27.0, -85.0),
        TOUCHING,
    ),
    (0.0, -40.0, -10.0),
)
OVER = Sketch(
    0.8,
    FIFTHS,
    (
        TOUCHING,
        (18.0, 72.0, 91.0, -157.0),
        (11.0, 80.0, 106.0, -164.0),
        (11.0, 77.0, 108.0, -162.0),
        (10.0, 76.0, 115.0, -160.0),
        (10.0, 75.0, 119.0, -159.0),
    ),
    (-38.0, 140.0, 3.0),
)


@settable
def platform_edge(
    jump: Jump = JUMP,
    data: SevenLink = SEVEN_LINK,
    height: float = setting(0.2, "m", "height of the platform", 0.05, 0.6),
    gap: float = setting(0.05, "m", "of the rear wheel before the platform at the start", 0, 0.5),
) -> Problem:
    """The least effort from a standstill before the platform to one on its edge."""
    ocp = Problem("platform-edge")
    ground = stance(ocp, jump, PUSH_OFF, data=data)
    air = flight(ocp, jump, ACROSS, last=False, data=data)
    take_off(ocp, ground, air)
    start = ground.phase.initial(ground.axle[0])
    near = data.wheel_radius + gap
    edge = ocp.variable("edge", lower=0.0, upper=2.0, guess=near - 0.07, unit="m")
    ocp.require(edge - start, equals=near, name="gap at the start")
    _stay_clear(air, edge, height, data)
    stood = _on_edge(ocp, jump, air, edge, height, data)
    ocp.minimize(effort(ground) + effort(air) + effort(stood))
    return ocp


def _stay_clear(air: JumpPhase, edge: Any, height: float, data: SevenLink) -> None:
    """In the air: the rear wheel before the edge or above it, by its distance from the platform."""
    before = casadi.fmax(edge - air.axle[0], 0)
    above = casadi.fmax(air.axle[1] - height, 0)
    # By 1 mm less than it is: at the touch it is on the edge by a condition.
    clear = (before**2 + above**2) / (data.wheel_radius - 1e-3) ** 2
    air.phase.path(clear, lower=1.0, name="rear wheel clear of the edge")


def _on_edge(
    ocp: Problem, jump: Jump, air: JumpPhase, edge: Any, height: float, data: SevenLink
) -> JumpPhase:
    """The rear wheel turns about the edge with the bicycle, from the touch to a standstill."""
    ph = ocp.phase("edge")
    t = ph.time(end=free(0.2, 5.0, guess=1.45))
    joints = joint_states(ph, jump, data, OVER, apart=("end",))
    torques, cost = drives(ph, jump, OVER, None)
    q, v = columns(joints)
    # Where the edge touches the wheel, from the axle and in the bicycle's axes.
    at = ocp.variable("contact", lower=pi / 4, upper=1.2 * pi, guess=1.4, unit="rad")
    turn = at + q[0]
    axle = casadi.vertcat(edge, height) + data.wheel_radius * casadi.vertcat(
        casadi.cos(turn), casadi.sin(turn)
    )
    machine = seven_link(data, stance=False, guard=jump.guard)
    arm = machine.point("mass centre", casadi.vertcat(0, 0, q))
    a, push, arm = casadi.cse([*carried(machine, axle, q, v, torques, True), arm])
    move(ph, joints, a)
    centre_rate = casadi.jtimes(axle + arm, q, v)
    centre_x = ph.state("centre_x", guess=0.1, unit="m")
    ph.dynamics({centre_x: centre_rate[0]})  # only pictures need it
    keep_ranges(ph, machine, casadi.vertcat(0, 0, q), casadi.vertcat(0, 0, v), jump, data)
    normal = push[0] * casadi.cos(turn) + push[1] * casadi.sin(turn)
    along = push[1] * casadi.cos(turn) - push[0] * casadi.sin(turn)
    cone = jump.friction * (normal + jump.adhesion)
    ph.path(
        casadi.vertcat(normal + jump.adhesion, cone - along, cone + along) / WEIGHT,
        lower=0,
        name="force of the edge",
    )
    final = ph.final
    ocp.require(final(t) - ph.initial(t), upper=0.8, name="time to the standstill")
    ocp.require(final(turn), equals=pi / 2, name="axle above the edge")
    ocp.require(final(v), equals=0, name="rates at the end")
    ocp.require(final(a), equals=0, name="accelerations at the end")
    axle_rate = casadi.jtimes(axle, q, v)
    stood = JumpPhase(ph, t, cost, axle, axle_rate, axle + arm, centre_rate, data, v)
    ocp.connect(air.phase, ph)
    before, after = air.phase.final, ph.initial
    ocp.require(before(air.axle) - after(axle), equals=[0, 0], name="wheel at the edge")
    ocp.require(
        before(air.axle_rate) - after(axle_rate), equals=[0, 0], name="touch without impact"
    )
    return stood
