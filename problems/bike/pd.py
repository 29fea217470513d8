"""Front-up and wheelie of the five-link bike robot by PD control, with lift-off and touch-down of the front wheel as events.

Source: thesis on a bike-trial robot (Japanese), 4.8, 5.2 and Table 5-1. The targets are 30 deg rise and 20 deg lean *backwards*.
What the thesis leaves open is ours: the waist follows its law from the start, clipped to 150 N m; a stop keeps the arm from
straightening; the front wheel lands without rebound.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import radians
from typing import Any

import casadi
from casadi import SX, fmax, fmin, if_else

from problems.bike.models import FIVE_LINK, Machine, five_link
from problems.bike.pictures import five_link_drawing
from trajopt.mechanics.formulations import solve_symmetric
from trajopt.system import Event, System, Variable

# lift-off (s), PD on (s), peak of the front (deg), rise and lean at 3 s (deg), for a pull of 60 N m.
REFERENCE = {"lift-off": 0.107, "pd on": 0.397, "peak": 37.1, "rise": 30.18, "lean": -21.03}


@dataclass(frozen=True)
class PdLaw:
    """Gains of Table 5-1, N m/rad and N m s/rad; targets in deg, forwards and up positive."""

    rise: float = 30.0
    lean: float = -20.0
    wheel: tuple[float, float] = (300.0, 20.0)
    waist: tuple[float, float] = (500.0, 80.0)
    waist_limit: float = 150.0

    def wheel_torque(self, beta: Any, rate: Any) -> Any:
        return self.wheel[0] * (radians(self.rise) - beta) - self.wheel[1] * rate

    def waist_torque(self, torso: Any, rate: Any) -> Any:
        torque = self.waist[0] * (radians(self.lean) - torso) - self.waist[1] * rate
        return fmax(fmin(torque, self.waist_limit), -self.waist_limit)


@dataclass(frozen=True)
class ElbowStop:
    """A spring and damper against straightening the arm, from a distance of shoulder and hand on; ours."""

    reach: float = 0.838  # m; the arm is straight at 0.85
    stiffness: float = 1e6  # N/m
    damping: float = 5e3  # N s/m

    def pull(self, reach: Any, rate: Any) -> Any:
        """The force between shoulder and hand; it never pushes."""
        depth = fmax(reach - self.reach, 0)
        return if_else(depth > 0, fmax(self.stiffness * depth + self.damping * rate, 0), 0)


def wheelie_pd(pull_torque: float = 60.0, switch: float = 20.0, until: float = 3.0) -> System:
    """Wheelie: a constant wheel torque (N m) until the front has risen ``switch`` deg, from then on PD of the wheel too."""
    law = PdLaw()
    return _controlled("wheelie-pd", pull_torque, switch, law.wheel_torque, until, "a wheelie by PD control, after a pull")


def front_up_pd(pull_torque: float = 60.0, release: float = 5.0, until: float = 1.2) -> System:
    """Front-up: a constant wheel torque (N m) until the front has risen ``release`` deg, then none; the front falls back."""
    return _controlled("front-up-pd", pull_torque, release, lambda beta, rate: 0.0, until, "a pull that lifts the front wheel")


def _controlled(name: str, pull_torque: float, switch: float, after: Any, until: float, description: str) -> System:
    """The machine with two switches among its states: ``front_down`` (contact) and ``pull_over`` (control), each 0 or 1."""
    data, law, stop = FIVE_LINK, PdLaw(), ElbowStop()
    up, down = five_link(data), five_link(data, front_down=True)
    q, v = up.mechanism.q, up.mechanism.v
    front_down, pull_over, pull = SX.sym("front_down"), SX.sym("pull_over"), SX.sym("pull_torque")
    wheel = if_else(pull_over > 0.5, after(q[1], v[1]), pull)
    waist = law.waist_torque(q[2], v[2])
    torques = casadi.vertcat(wheel, waist)
    pulled = stop_force(up, stop)
    flying, resting = (pushed(machine, q, v, torques, pulled) for machine in (up, down))
    a = if_else(front_down > 0.5, resting[0], flying[0])
    front = if_else(front_down > 0.5, resting[1] / data.wheelbase, 0)
    ground = up.ground_force(q, v, a)
    x = casadi.vertcat(q, v, front_down, pull_over)
    after_landing = casadi.vertcat(q, landed(down, q, v), 1, pull_over)
    events = (
        Event("lift-off", if_else(front_down > 0.5, front, 1), -1, casadi.vertcat(q, v, 0, pull_over)),
        Event("touch-down", if_else(front_down > 0.5, 1, q[1]), -1, after_landing),
        Event("pull over", if_else(pull_over > 0.5, 1, q[1] - radians(switch)), 1, casadi.vertcat(q, v, front_down, 1)),
        Event("tipped over", q[1] - radians(90), 1, terminal=True),
    )
    centre = up.point("mass centre", q)
    outputs = {
        "wheel_torque": (SX(wheel), "N m"),
        "waist_torque": (SX(waist), "N m"),
        "front_force": (front, "N"),
        "rear_force": (ground[1] - front, "N"),
        "traction": (ground[0], "N"),
        "mass_centre_x": (centre[0] - q[0], "m"),
        "mass_centre_y": (centre[1], "m"),
        "reach": (up.seen(up.posture.reach, q), "m"),
        "energy": (up.mechanism.energy, "J"),
    }
    states = (*down.mechanism.state_variables(), Variable("front_down", 1.0), Variable("pull_over", 0.0))
    return System(
        name,
        SX.sym("t"),
        x,
        states,
        casadi.vertcat(v, a, 0, 0),
        p=pull,
        parameters=(Variable("pull_torque", pull_torque, "N m"),),
        outputs=outputs,
        events=events,
        until=until,
        description=description,
        drawing=five_link_drawing(follow=True),
    )


def stop_force(machine: Machine, stop: ElbowStop) -> SX:
    """Generalized forces of the elbow stop."""
    q, v = machine.mechanism.q, machine.mechanism.v
    reach = machine.seen(machine.posture.reach, q)
    return -stop.pull(reach, casadi.jtimes(reach, q, v)) * casadi.gradient(reach, q)


def pushed(machine: Machine, q: SX, v: SX, torques: SX, extra: SX) -> tuple[SX, SX]:
    """Accelerations and reactions, with further generalized forces."""
    m = machine.mechanism
    M, A = m.evaluate(m.mass, q, v, torques), m.evaluate(m.matrix, q, v, torques)
    free = solve_symmetric(M, m.evaluate(m.force - m.bias, q, v, torques) + extra)
    if not m.rows:
        return free, SX(0, 1)
    answer = solve_symmetric(M, A.T)
    reactions = -solve_symmetric(casadi.densify(A @ answer), A @ free + m.evaluate(m.drift, q, v, torques))
    return free + answer @ reactions, reactions


def landed(machine: Machine, q: SX, v: SX) -> SX:
    """The velocities after an impact that brings the contacts of a machine to rest at once: no rebound, no slip."""
    m = machine.mechanism
    zero = SX.zeros(m.u.numel())
    M, A = m.evaluate(m.mass, q, v, zero), m.evaluate(m.matrix, q, v, zero)
    answer = solve_symmetric(M, A.T)
    return v - answer @ solve_symmetric(casadi.densify(A @ answer), A @ v)
