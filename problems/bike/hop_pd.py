"""The Daniel jump of the seven-link bike robot by PD control, with take-off and landing as events.

Source: thesis on a bike-trial robot (Japanese), 6.7 and Table 6-3: targets for take-off, jump and landing, and gains. The waist's
targets lie outside its range; they are read as interior angles, theta3 = target - pi. Ours is what the table lacks: gains and
target of the wheel (300/20, the rise at the start), torque limits, when the targets change (once the wheel is clear, and at the
top), a stop before the arm is straight, and a landing without rebound or slip.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import pi
from typing import Any

import casadi
from casadi import SX, fmax, fmin, if_else

from problems.bike.analyses import lowest_posture
from problems.bike.contacts import ElbowStop, OnWheels
from problems.bike.models import SEVEN_LINK, SevenLink, free_seven_link
from problems.bike.pictures import seven_link_drawing
from trajopt.system import System, Variable

CONTROLLED = ("knee", "waist", "elbow")
STOP = ElbowStop(0.645)  # m from shoulder to hand; the arm is straight at 0.652
CLEAR = 2e-2  # m, the wheel above the ground where the jump begins; ours


@dataclass(frozen=True)
class DanielLaw:
    """Table 6-3: targets (rad) by stage and gains (N m/rad, N m s/rad) of knee, waist and elbow; limits are ours."""

    targets: tuple[tuple[float, float, float], ...] = ((0.3, 1.5, 0.3), (3 - pi, 2 - pi, 2.5 - pi), (0.0, 1.9, 0.7))
    gains: tuple[tuple[float, float], ...] = ((15000.0, 600.0), (3000.0, 300.0), (15000.0, 650.0))
    limits: tuple[float, float, float] = (250.0, 300.0, 100.0)
    wheel: tuple[float, float] = (300.0, 20.0)  # ours
    wheel_limit: float = 80.0

    def torque(self, joint: int, stage: Any, angle: Any, rate: Any) -> Any:
        first, second, third = self.targets[joint]
        target = if_else(stage < 0.5, first, if_else(stage < 1.5, second, third))
        stiffness, damping = self.gains[joint]
        return _clipped(stiffness * (target - angle) - damping * rate, self.limits[joint])

    def brake_torque(self, rate: Any) -> Any:
        """Of the brake, which holds the wheel to the bicycle in the air; ``rate`` is that of the wheel against the bicycle."""
        return _clipped(-self.wheel[1] * rate, self.wheel_limit)

    def wheel_torque(self, rise: float, beta: Any, rate: Any) -> Any:
        return _clipped(self.wheel[0] * (rise - beta) - self.wheel[1] * rate, self.wheel_limit)


def _clipped(torque: Any, limit: float) -> Any:
    return fmax(fmin(torque, limit), -limit)


def daniel_pd(friction: float = 0.9, until: float = 1.2, data: SevenLink = SEVEN_LINK) -> System:
    """From the lowest balanced posture: take-off, a tuck until the top of the flight, landing posture, landing."""
    law, machine = DanielLaw(), free_seven_link(data)
    m = machine.mechanism
    q, v, place = m.q, m.v, {c.name: c for c in m.coordinates}
    over = OnWheels.of(machine, data, friction, STOP)
    stage = SX.sym("stage")
    start = lowest_posture((18.0, 22.0), data)
    angles = casadi.vertcat(*[machine.seen(machine.posture.angles[joint], q) for joint in CONTROLLED])
    rates = casadi.jtimes(angles, q, v)
    beta, wheel = place["beta"], place["wheel"]
    driven = law.wheel_torque(start.angles["beta"], beta.q, beta.v)
    torques = [if_else(over.rear_down, driven, law.brake_torque(wheel.v + beta.v))]
    torques += [law.torque(k, stage, angles[k], rates[k]) for k in range(3)]
    climb = casadi.jtimes(machine.point("mass centre", q), q, v)[1]
    airborne = casadi.logic_not(over.rear_down)
    # The torques jump only once the wheel is clear: at the take-off itself they could press it back onto the ground.
    switches = (
        ("tuck", if_else(casadi.logic_and(airborne, stage < 0.5), over.gap - CLEAR, -1), 1, 1),
        ("top", if_else(casadi.logic_and(stage > 0.5, stage < 1.5), climb, 1), -1, 2),
    )
    at = {"y": data.radius, **{name: start.angles[name] for name in ("beta", "ankle", "knee", "waist")}}
    outputs = {
        "clearance": (over.gap, "m"),
        "elbow": (angles[2], "rad"),
        **{f"{name}_torque": (SX(torque), "N m") for name, torque in zip(("wheel", *CONTROLLED), torques, strict=True)},
    }
    return over.system(
        "daniel-pd",
        casadi.vertcat(*torques),
        (stage, Variable("stage", 0.0), switches),
        outputs,
        at,
        until=until,
        description="a hop on the rear wheel by PD control",
        drawing=seven_link_drawing(),
    )
