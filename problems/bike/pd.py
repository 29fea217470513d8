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

from problems.bike.contacts import ElbowStop, OnWheels
from problems.bike.models import FIVE_LINK, free_five_link
from problems.bike.pictures import five_link_drawing
from trajopt.system import System, Variable

# lift-off (s), PD on (s), peak of the front (deg), rise and lean at 3 s (deg), for a pull of 60 N m.
REFERENCE = {"lift-off": 0.107, "pd on": 0.397, "peak": 37.1, "rise": 30.18, "lean": -21.03}
STOP = ElbowStop(0.838)  # m from shoulder to hand; the arm is straight at 0.85


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


def wheelie_pd(pull_torque: float = 60.0, switch: float = 20.0, friction: float = 0.8, until: float = 3.0) -> System:
    """Wheelie: a constant wheel torque (N m) until the front has risen ``switch`` deg, from then on PD of the wheel too."""
    law = PdLaw()
    what = "a wheelie by PD control, after a pull"
    return _controlled("wheelie-pd", (pull_torque, switch), law.wheel_torque, friction, until=until, description=what)


def front_up_pd(pull_torque: float = 60.0, release: float = 5.0, friction: float = 0.8, until: float = 1.2) -> System:
    """Front-up: a constant wheel torque (N m) until the front has risen ``release`` deg, then none; the front falls back."""
    what = "a pull that lifts the front wheel"
    return _controlled("front-up-pd", (pull_torque, release), lambda beta, rate: 0.0, friction, until=until, description=what)


def _controlled(name: str, pulling: tuple[float, float], after: Any, friction: float, **details: Any) -> System:
    """The machine on both wheels; ``pulling`` is a wheel torque (N m) and the rise (deg) that ends it."""
    data, law = FIVE_LINK, PdLaw()
    machine = free_five_link(data)
    m = machine.mechanism
    place = {c.name: c for c in m.coordinates}
    beta, torso = place["beta"], place["torso"]
    pull_over, pull = SX.sym("pull_over"), SX.sym("pull_torque")
    wheel = if_else(pull_over > 0.5, after(beta.q, beta.v), pull)
    waist = law.waist_torque(torso.q, torso.v)
    ends = if_else(pull_over > 0.5, 1, beta.q - radians(pulling[1]))
    return OnWheels.of(machine, data, friction, STOP).system(
        name,
        casadi.vertcat(wheel, waist),
        (pull_over, Variable("pull_over", 0.0), (("pull over", ends, 1, 1),)),
        {"wheel_torque": (SX(wheel), "N m"), "waist_torque": (SX(waist), "N m")},
        {},
        p=pull,
        parameters=(Variable("pull_torque", pulling[0], "N m"),),
        drawing=five_link_drawing(follow=True),
        **details,
    )
