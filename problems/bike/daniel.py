"""The Daniel jump by optimal control: from rest to the greatest clearance of the rear wheel.

The thesis (chapter 6) has the machine and the aim; the statement is ours.
"""

from __future__ import annotations

from problems.bike.jump import HOP, JUMP, PUSH, Jump, effort, flight, stance, take_off
from problems.bike.models import SEVEN_LINK, SevenLink
from problems.bike.pictures import seven_link_drawing as drawing  # noqa: F401  # what an animation shows
from trajopt import Problem, Reference
from trajopt.parameters import settable

REFERENCE = Reference(
    origin="own",
    objective=0.63608664,
    tolerance=1e-6,
    source="direct collocation; a feasible jump of another derivation clears 0.416 m",
    structure="clearance 0.74087 m; take-off at 0.25306 s, end at 0.56967 s",
)


@settable
def daniel_jump(jump: Jump = JUMP, data: SevenLink = SEVEN_LINK) -> Problem:
    """The greatest clearance of the rear wheel (m) less a little effort."""
    ocp = Problem("daniel-jump")
    ground, air = stance(ocp, jump, PUSH, data=data), flight(ocp, jump, HOP, data=data)
    take_off(ocp, ground, air)
    ocp.maximize(air.phase.final(air.axle[1]) - data.wheel_radius - effort(ground) - effort(air))
    return ocp
