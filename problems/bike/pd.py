"""Front-up and wheelie of the five-link bike robot by PD control, with lift-off and touch-down of
the front wheel as events.

Source: thesis on a bike-trial robot (Japanese), 4.8, 5.2 and Table 5-1. The targets are 30 deg rise
and 20 deg lean *backwards*. What the thesis leaves open is ours: the waist follows its law from the
start, clipped to 150 N m; a stop keeps the arm from straightening; the front wheel lands without
rebound.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import radians
from typing import Any

import casadi
from casadi import SX, fmax, fmin, if_else

from problems.bike.contacts import ElbowStop, OnWheels
from problems.bike.models import FIVE_LINK, FiveLink, free_five_link
from problems.bike.pictures import five_link_drawing
from trajopt.parameters import settable, setting, setting_field
from trajopt.system import System, Variable

# lift-off (s), PD on (s), peak of the front (deg), rise and lean at 3 s (deg), for a pull of 60 N
# m.
REFERENCE = {"lift-off": 0.107, "pd on": 0.397, "peak": 37.1, "rise": 30.18, "lean": -21.03}


@dataclass(frozen=True)
class PdLaw:
    """Gains of Table 5-1, N m/rad and N m s/rad; targets in deg, forwards and up positive."""

    rise: float = setting_field(30.0, "deg", "target of the front's rise", 5, 60)
    lean: float = setting_field(
        -20.0, "deg", "target of the torso's lean, forwards positive", -30, 20
    )
    wheel_gains: tuple[float, float] = setting_field(
        (300.0, 20.0), "N m/rad", "gains of the wheel, on angle and rate (s)"
    )
    waist_gains: tuple[float, float] = setting_field(
        (500.0, 80.0), "N m/rad", "gains of the waist, on angle and rate (s)"
    )
    waist_limit: float = setting_field(150.0, "N m", "limit of the waist's torque", 50, 300)
    elbow_stop: ElbowStop = ElbowStop(0.012)

    def wheel_torque(self, beta: Any, rate: Any) -> Any:
        return self.wheel_gains[0] * (radians(self.rise) - beta) - self.wheel_gains[1] * rate

    def waist_torque(self, torso: Any, rate: Any) -> Any:
        torque = self.waist_gains[0] * (radians(self.lean) - torso) - self.waist_gains[1] * rate
        return fmax(fmin(torque, self.waist_limit), -self.waist_limit)


LAW = PdLaw()
PULL = setting(60.0, "N m", "constant torque of the wheel at first", 40, 150)
FRICTION = setting(0.8, "1", "friction of the rear tyre", 0.3, 1.5)


@settable
def wheelie_pd(
    law: PdLaw = LAW,
    data: FiveLink = FIVE_LINK,
    pull_torque: float = PULL,
    switch: float = setting(
        20.0, "deg", "rise of the front at which PD control of the wheel begins", 5, 30
    ),
    friction: float = FRICTION,
    until: float = setting(3.0, "s", "duration of the run", 0.1, 20),
) -> System:
    """Wheelie: a constant wheel torque until the front has risen by ``switch``, from then on PD of
    the wheel too.
    """
    what = "a wheelie by PD control, after a pull"
    pulling = (pull_torque, switch)
    return _controlled(
        "wheelie-pd", data, law, pulling, law.wheel_torque, friction, until=until, description=what
    )


@settable
def front_up_pd(
    law: PdLaw = LAW,
    data: FiveLink = FIVE_LINK,
    pull_torque: float = PULL,
    release: float = setting(
        5.0, "deg", "rise of the front at which the wheel's torque ends", 2, 10
    ),
    friction: float = FRICTION,
    until: float = setting(1.2, "s", "duration of the run", 0.1, 20),
) -> System:
    """Front-up: a constant wheel torque until the front has risen by ``release``, then none; the
    front falls back.
    """
    what = "a pull that lifts the front wheel"
    pulling = (pull_torque, release)
    return _controlled(
        "front-up-pd",
        data,
        law,
        pulling,
        lambda *state: 0.0,
        friction,
        until=until,
        description=what,
    )


def _controlled(
    name: str,
    data: FiveLink,
    law: PdLaw,
    pulling: tuple[float, float],
    after: Any,
    friction: float,
    **details: Any,
) -> System:
    """The machine on both wheels; ``pulling`` is a wheel torque (N m) and the rise (deg) that ends
    it.
    """
    machine = free_five_link(data)
    m = machine.mechanism
    place = {c.name: c for c in m.coordinates}
    beta, torso = place["beta"], place["torso"]
    pull_over, pull = SX.sym("pull_over"), SX.sym("pull_torque")
    wheel = if_else(pull_over > 0.5, after(beta.q, beta.v), pull)
    waist = law.waist_torque(torso.q, torso.v)
    ends = if_else(pull_over > 0.5, 1, beta.q - radians(pulling[1]))
    return OnWheels.of(machine, data, friction, law.elbow_stop).system(
        name,
        casadi.vertcat(wheel, waist),
        (pull_over, Variable("pull_over", 0.0), (("pull over", ends, 1, 1),)),
        {"wheel_torque": (SX(wheel), "N m"), "waist_torque": (SX(waist), "N m")},
        {},
        p=pull,
        parameters=(Variable("pull_torque", pulling[0], "N m"),),
        drawing=five_link_drawing(data=data, follow=True),
        **details,
    )
