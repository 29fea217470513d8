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
from problems.bike.models import SEVEN_LINK, Machine, SevenLink, machine, seven_link_posture
from problems.bike.pd import ElbowStop, landed, pushed, stop_force
from problems.bike.pictures import seven_link_drawing
from trajopt.mechanics import Coordinate, Holonomic, Quantity
from trajopt.system import Event, System, Variable

CONTROLLED = ("knee", "waist", "elbow")
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

    def wheel_torque(self, rise: float, beta: Any, rate: Any) -> Any:
        return _clipped(self.wheel[0] * (rise - beta) - self.wheel[1] * rate, self.wheel_limit)


def _clipped(torque: Any, limit: float) -> Any:
    return fmax(fmin(torque, limit), -limit)


def _machine(data: SevenLink, stance: bool) -> Machine:
    """The seven links with a wheel that turns by itself: x, y, wheel (clockwise), beta, ankle, knee, waist."""
    names = (("x", "m"), ("y", "m"), ("wheel", "rad"), ("beta", "rad"), ("ankle", "rad"), ("knee", "rad"), ("waist", "rad"))
    coordinates = [Coordinate(name, unit=unit) for name, unit in names]
    x, y, wheel, beta, *limbs = coordinates
    torques = [Quantity(f"{name}_torque", 0.0, "N m") for name in ("wheel", *CONTROLLED)]
    posture = seven_link_posture(data)
    here = casadi.vertcat(*[c.q for c in limbs])
    lever = casadi.substitute(casadi.gradient(posture.angles["elbow"], posture.shape), posture.shape, here) * torques[3].symbol
    drive, knee, waist, _ = (t.symbol for t in torques)
    contact = (Holonomic("rear", y.q - data.radius), Holonomic("rolling", x.q - data.radius * wheel.q))
    return machine(
        "daniel, stance" if stance else "daniel, flight",
        posture,
        coordinates,
        casadi.vertcat(x.q, y.q, beta.q, here),
        (data.wheel_mass, data.wheel_inertia, -wheel.v),
        data.gravity,
        forces={"wheel": drive, "beta": drive, "ankle": lever[0], "knee": knee + lever[1], "waist": waist + lever[2]},
        constraints=contact if stance else (),
        controls=torques,
    )


def daniel_pd(until: float = 1.2, data: SevenLink = SEVEN_LINK) -> System:
    """From the lowest balanced posture: take-off, a tuck until the top of the flight, landing posture, landing."""
    law, stop = DanielLaw(), ElbowStop(reach=0.645, stiffness=1e6, damping=5e3)
    ground, air = _machine(data, stance=True), _machine(data, stance=False)
    q, v = air.mechanism.q, air.mechanism.v
    on_ground, stage = SX.sym("on_ground"), SX.sym("stage")
    start = lowest_posture((18.0, 22.0), data)
    angles = casadi.vertcat(*[air.seen(air.posture.angles[joint], q) for joint in CONTROLLED])
    rates = casadi.jtimes(angles, q, v)
    torques = [law.wheel_torque(start.angles["beta"], q[3], v[3])]
    torques += [law.torque(k, stage, angles[k], rates[k]) for k in range(3)]
    u = casadi.vertcat(*torques)
    stopping = stop_force(air, stop)
    resting, reactions = pushed(ground, q, v, u, stopping)
    flying, _ = pushed(air, q, v, u, stopping)
    a = if_else(on_ground > 0.5, resting, flying)
    normal = if_else(on_ground > 0.5, reactions[0], 0)
    centre = air.point("mass centre", q)
    climb = casadi.jtimes(centre, q, v)[1]
    height, at_rest, airborne = q[1] - data.radius, landed(ground, q, v), on_ground < 0.5
    falling = casadi.logic_and(airborne, stage > 1.5)
    rising = casadi.logic_and(airborne, casadi.logic_and(stage > 0.5, stage < 1.5))
    leaving = casadi.logic_and(airborne, stage < 0.5)
    # The torques jump only once the wheel is clear: at the take-off itself they could push it back into the ground.
    events = (
        Event("take-off", if_else(on_ground > 0.5, normal, 1), -1, casadi.vertcat(q, v, 0, stage)),
        Event("touch-down", if_else(airborne, if_else(falling, 1, height), 1), -1, casadi.vertcat(q, at_rest, 1, stage)),
        Event("tuck", if_else(leaving, height - CLEAR, -1), 1, casadi.vertcat(q, v, 0, 1)),
        Event("top", if_else(rising, climb, 1), -1, casadi.vertcat(q, v, 0, 2)),
        Event("landing", if_else(falling, height, 1), -1, casadi.vertcat(q, at_rest, 1, 2), terminal=True),
    )
    at = {"y": data.radius, **{name: start.angles[name] for name in ("beta", "ankle", "knee", "waist")}}
    outputs = {
        "clearance": (height, "m"),
        "ground_force": (normal, "N"),
        "traction": (if_else(on_ground > 0.5, reactions[1], 0), "N"),
        "mass_centre_x": (centre[0], "m"),
        "mass_centre_y": (centre[1], "m"),
        "elbow": (angles[2], "rad"),
        **{f"{name}_torque": (SX(torque), "N m") for name, torque in zip(("wheel", *CONTROLLED), torques, strict=True)},
    }
    states = (*air.mechanism.starting_at(at).state_variables(), Variable("on_ground", 1.0), Variable("stage", 0.0))
    return System(
        "daniel-pd",
        SX.sym("t"),
        casadi.vertcat(q, v, on_ground, stage),
        states,
        casadi.vertcat(v, a, 0, 0),
        outputs=outputs,
        events=events,
        until=until,
        description="a hop on the rear wheel by PD control",
        drawing=seven_link_drawing(),
    )
