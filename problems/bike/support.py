"""The last phase of a jump with the front wheel first: it stands on the platform and carries, and
the rear wheel follows.

The front wheel touches the platform without an impact. Then it only pushes: with its brake on it
turns with the bicycle, as the rear wheel does in the stance, and the force stays within the
friction cone; without, it rolls, and the force is upright. The phase ends when the rear wheel is on
the platform, too.
"""

from __future__ import annotations

from typing import Any

import casadi

from problems.bike.jump import (
    WEIGHT,
    Jump,
    JumpPhase,
    Sketch,
    Wheel,
    columns,
    drives,
    joint_states,
    keep_grip,
    keep_ranges,
    move,
    rest_shoulder,
)
from problems.bike.models import SEVEN_LINK, Machine, SevenLink, seven_link
from problems.bike.trees import Footing, close_loop
from trajopt import Problem, free
from trajopt.mechanics.formulations import solve_symmetric

FIFTHS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
LEAVING, TOUCHING = (23.0, 55.0, 50.0, -63.0), (20.0, 48.0, 68.0, -109.0)
LIFT = Sketch(
    0.23,
    FIFTHS,
    (
        (16.0, 71.0, 117.0, -163.0),
        (16.5, 67.0, 118.0, -160.0),
        (19.0, 57.0, 118.0, -149.0),
        (21.0, 50.0, 109.0, -129.0),
        (22.0, 49.0, 88.0, -103.0),
        LEAVING,
    ),
    (-150.0, 300.0, 10.0),
)
REACH = Sketch(
    0.23,
    FIFTHS,
    (
        LEAVING,
        (25.0, 65.0, 5.0, -14.0),
        (24.0, 56.0, 18.0, -23.0),
        (23.0, 47.0, 47.0, -60.0),
        (22.0, 45.0, 64.0, -92.0),
        TOUCHING,
    ),
    (-20.0, -100.0, -20.0),
)
FOLLOW = Sketch(
    0.18,
    FIFTHS,
    (
        TOUCHING,
        (15.0, 54.0, 74.0, -121.0),
        (10.0, 58.0, 86.0, -136.0),
        (5.0, 64.0, 100.0, -152.0),
        (1.5, 71.0, 112.0, -161.0),
        (0.0, 76.0, 118.0, -163.0),
    ),
    (30.0, 200.0, -80.0),
)


def support(
    ocp: Problem,
    jump: Jump,
    air: JumpPhase,
    height: float,
    strength: Any,
    brake: bool,
    wheel: Wheel | None = None,
) -> JumpPhase:
    """On the front wheel, after a flight, until the rear wheel is on the platform, too; ``height``
    in m.

    A rear ``wheel`` that has rolled spins on; then stance and flight are seen from a point that
    comes along, the support is not.
    """
    data, speed = air.data, 0.0 if wheel is None else wheel.speed
    ph = ocp.phase("support")
    t = ph.time(end=free(0.2, 2.5, guess=0.25 + REACH.duration + FOLLOW.duration))
    joints = joint_states(ph, jump, data, FOLLOW, apart=("end",), rise=(-45.0, 80.0))
    torques, cost = drives(ph, jump, FOLLOW, strength)
    q, v = columns(joints)
    machine = seven_link(data, stance=False, guard=jump.guard)
    axle, arm = (
        axle_above(height, q, brake, data),
        machine.point("mass centre", casadi.vertcat(0, 0, q)),
    )
    axle_rate = casadi.jtimes(axle, q, v)
    a, push, arm = casadi.cse([*carried(machine, axle, q, v, torques, brake), arm])
    move(ph, joints, a)
    centre_rate = casadi.jtimes(axle + arm, q, v)
    if not brake:  # nothing acts along the platform
        centre_rate = casadi.vertcat(speed + air.centre_rate[0], centre_rate[1])
    centre_x = ph.state("centre_x", guess=-0.1, unit="m")
    ph.dynamics(
        {centre_x: centre_rate[0] - speed}
    )  # only pictures and the model by closures need it
    ranges = keep_ranges(ph, machine, casadi.vertcat(0, 0, q), casadi.vertcat(0, 0, v), jump, data)
    place = axle if brake else casadi.vertcat(centre_x - arm[0], axle[1])
    footing = Footing(height, 0.0 if brake else None)
    close_loop(
        ph, place, (ranges["shoulder"][0], ranges["elbow"][0]), data, stance=False, front=footing
    )
    rest_shoulder(ocp, ph, ranges["shoulder"], jump, data)
    if brake:
        keep_grip(ph, jump, push, "front ")
    else:
        ph.path((push[1] + jump.adhesion) / WEIGHT, lower=0, name="front force")
    final = ph.final
    ocp.require(final(q[0]), equals=0, name="rear wheel on the platform")
    ocp.require(final(axle_rate[1]), lower=-1.5, upper=0.0, name="landing speed")
    ocp.require(
        final(arm[0]),
        lower=-0.1,
        upper=data.wheelbase,
        name="mass centre between the contacts at the landing",
    )
    held = JumpPhase(ph, t, cost, axle, axle_rate, axle + arm, centre_rate, data, v)
    _touch(ocp, air, held, brake, speed)
    return held


def axle_above(height: float, q: Any, brake: bool, data: SevenLink = SEVEN_LINK) -> Any:
    """The rear axle (2,) while the front wheel stands on a platform, along it from some point: q is
    (beta, ...).
    """
    along = -data.wheel_radius * q[0] if brake else 0
    return casadi.vertcat(
        along - data.wheelbase * casadi.cos(q[0]),
        data.wheel_radius + height - data.wheelbase * casadi.sin(q[0]),
    )


def carried(
    machine: Machine, axle: Any, q: Any, v: Any, torques: Any, brake: bool
) -> tuple[Any, Any]:
    """Accelerations of (beta, ankle, knee, waist), and the platform's force (2,) on the front
    wheel; ``axle`` depends on q.
    """
    m = machine.mechanism
    slopes, drift = casadi.jacobian(axle, q), casadi.jtimes(casadi.jtimes(axle, q, v), q, v)
    place, rates = casadi.vertcat(0, 0, q), casadi.vertcat(slopes @ v, v)
    M, pull = m.function(m.equations.mass, m.equations.force - m.equations.bias)(
        *m.arguments(place, rates, torques)
    )
    # (x, y, q)'' = S a + extra: where the front wheel rolls, the axle's acceleration along the
    # platform is one of a.
    S, extra = (
        casadi.vertcat(slopes, casadi.SX.eye(4)),
        casadi.vertcat(drift, casadi.SX.zeros(4, 1)),
    )
    if not brake:
        S[0, :], extra[0] = 0, 0
        S = casadi.horzcat(casadi.vertcat(1, casadi.SX.zeros(5, 1)), S)
    a = solve_symmetric(S.T @ M @ S, S.T @ (pull - M @ extra))
    return a[-4:], machine.ground_force(place, rates, S @ a + extra)


def _touch(ocp: Problem, air: JumpPhase, held: JumpPhase, brake: bool, speed: float) -> None:
    """The front wheel comes to the platform without an impact: all velocities are continuous."""
    ocp.connect(air.phase, held.phase)
    before, after = air.phase.final, held.phase.initial
    ocp.require(
        before(air.axle[1]) - after(held.axle[1]), equals=0, name="front wheel on the platform"
    )
    ocp.require(
        before(air.axle_rate[1]) - after(held.axle_rate[1]),
        equals=0,
        name="its sinking at the touch",
    )
    if brake:
        ocp.require(
            speed + before(air.axle_rate[0]) - after(held.axle_rate[0]),
            equals=0,
            name="its sliding at the touch",
        )
