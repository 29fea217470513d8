"""The Daniel jump of the seven-link bike robot by PD control, with take-off and landing as events.

Source: thesis on a bike-trial robot (Japanese), 6.7 and Table 6-3: targets for take-off, jump and
landing, and gains. The waist's targets lie outside its range; they are read as interior angles,
theta3 = target - pi. Ours is what the table lacks: gains and target of the wheel (300/20, the rise
at the start), torque limits, when the targets change (once the wheel is clear, and at the top), a
stop before the arm is straight, and a landing without rebound or slip.
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
from trajopt.parameters import settable, setting, setting_field
from trajopt.system import System, Variable

CONTROLLED = ("knee", "waist", "elbow")


@dataclass(frozen=True)
class DanielLaw:
    """Table 6-3: targets (rad) at take-off, in the jump and for the landing, and gains; limits and
    the wheel's law are ours.
    """

    knee_targets: tuple[float, ...] = setting_field(
        (0.3, 1.5, 0.3), "rad", "knee at take-off, in the jump, for the landing"
    )
    waist_targets: tuple[float, ...] = setting_field(
        (3 - pi, 2 - pi, 2.5 - pi), "rad", "waist at take-off, in the jump, for the landing"
    )
    elbow_targets: tuple[float, ...] = setting_field(
        (0.0, 1.9, 0.7), "rad", "elbow at take-off, in the jump, for the landing"
    )
    knee_gains: tuple[float, float] = setting_field(
        (15000.0, 600.0), "N m/rad", "gains of the knee, on angle and rate (s)"
    )
    waist_gains: tuple[float, float] = setting_field(
        (3000.0, 300.0), "N m/rad", "gains of the waist, on angle and rate (s)"
    )
    elbow_gains: tuple[float, float] = setting_field(
        (15000.0, 650.0), "N m/rad", "gains of the elbow, on angle and rate (s)"
    )
    limits: tuple[float, float, float] = setting_field(
        (250.0, 300.0, 100.0), "N m", "torque limits of knee, waist and elbow"
    )
    wheel_gains: tuple[float, float] = setting_field(
        (300.0, 20.0), "N m/rad", "gains of the wheel, on angle and rate (s)"
    )
    wheel_limit: float = setting_field(
        80.0, "N m", "limit of the wheel's torque and of the brake in the air", 20, 200
    )
    elbow_stop: ElbowStop = ElbowStop(0.007)

    def torque(self, joint: int, stage: Any, angle: Any, rate: Any) -> Any:
        first, second, third = (self.knee_targets, self.waist_targets, self.elbow_targets)[joint]
        target = if_else(stage < 0.5, first, if_else(stage < 1.5, second, third))
        stiffness, damping = (self.knee_gains, self.waist_gains, self.elbow_gains)[joint]
        return _clipped(stiffness * (target - angle) - damping * rate, self.limits[joint])

    def brake_torque(self, rate: Any) -> Any:
        """Of the brake, which holds the wheel to the bicycle in the air; ``rate`` is that of the
        wheel against the bicycle.
        """
        return _clipped(-self.wheel_gains[1] * rate, self.wheel_limit)

    def wheel_torque(self, rise: float, beta: Any, rate: Any) -> Any:
        return _clipped(
            self.wheel_gains[0] * (rise - beta) - self.wheel_gains[1] * rate, self.wheel_limit
        )


def _clipped(torque: Any, limit: float) -> Any:
    return fmax(fmin(torque, limit), -limit)


LAW = DanielLaw()


@settable
def daniel_pd(
    law: DanielLaw = LAW,
    data: SevenLink = SEVEN_LINK,
    friction: float = setting(0.9, "1", "friction of the rear tyre", 0.3, 1.5),
    clear: float = setting(
        2e-2, "m", "height of the rear wheel at which the targets of the jump begin", 5e-3, 0.1
    ),
    until: float = setting(1.2, "s", "duration of the run", 0.1, 5),
) -> System:
    """From the lowest balanced posture: take-off, a tuck until the top of the flight, the posture
    for the landing.
    """
    machine = free_seven_link(data)
    m = machine.mechanism
    q, v, place = m.q, m.v, {c.name: c for c in m.coordinates}
    over = OnWheels.of(machine, data, friction, law.elbow_stop)
    stage = SX.sym("stage")
    start = lowest_posture((18.0, 22.0), data)
    angles = casadi.vertcat(
        *[machine.seen(machine.posture.angles[joint], q) for joint in CONTROLLED]
    )
    rates = casadi.jtimes(angles, q, v)
    beta, wheel = place["beta"], place["wheel"]
    driven = law.wheel_torque(start.angles["beta"], beta.q, beta.v)
    # Not by the contact itself: a torque that lifts the wheel while it is driven, and presses it
    # down while it is braked, has no consistent contact force.
    torques = [if_else(stage < 0.5, driven, law.brake_torque(wheel.v + beta.v))]
    torques += [law.torque(k, stage, angles[k], rates[k]) for k in range(3)]
    climb = casadi.jtimes(machine.point("mass centre", q), q, v)[1]
    airborne = casadi.logic_not(over.rear_down)
    # The torques jump only once the wheel is clear: at the take-off itself they could press it back
    # onto the ground.
    switches = (
        ("tuck", if_else(casadi.logic_and(airborne, stage < 0.5), over.gap - clear, -1), 1, 1),
        ("top", if_else(casadi.logic_and(stage > 0.5, stage < 1.5), climb, 1), -1, 2),
    )
    at = {
        "y": data.wheel_radius,
        **{name: start.angles[name] for name in ("beta", "ankle", "knee", "waist")},
    }
    outputs = {
        "clearance": (over.gap, "m"),
        "elbow": (angles[2], "rad"),
        **{
            f"{name}_torque": (SX(torque), "N m")
            for name, torque in zip(("wheel", *CONTROLLED), torques, strict=True)
        },
    }
    return over.system(
        "daniel-pd",
        casadi.vertcat(*torques),
        (stage, Variable("stage", 0.0), switches),
        outputs,
        at,
        until=until,
        description="a hop on the rear wheel by PD control",
        drawing=seven_link_drawing(data=data),
    )
