"""Torso and arms between saddle and handlebar: three links in a closed loop, cut at the elbow.

Source: thesis on a bike-trial robot (Japanese), 4.5 and 4.7, figures 4-8, 4-10, 4-11. The saddle
and the handlebar stand still. Route 1 goes from the saddle over torso (theta1, from the vertical)
and upper arm (theta2, relative), route 2 from the handlebar over the forearm (theta3, from the
vertical); angles are forwards positive. The waist has a torque. The thesis prints no numbers:
torque and start are ours.
"""

from __future__ import annotations

from math import radians
from typing import TYPE_CHECKING

import casadi
from casadi import SX, cos, sin, vertcat

from problems.bike.loop import Limb
from problems.bike.models import FIVE_LINK, FiveLink
from trajopt.mechanics import ClosedLoop, Coordinate, Link, Mechanism, Quantity, Slide, Tree, Turn
from trajopt.parameters import settable, setting
from trajopt.show.drawing import Drawing, Mark, Rod
from trajopt.system import Event, System

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from trajopt.integrate.simulation import Simulation

DOWN = (0.0, 0.0, -1.0)  # about which forwards is positive


def mechanism(data: FiveLink = FIVE_LINK, lean_deg: float = 20.0) -> Mechanism:
    """The loop, from rest at a lean of the torso; the waist torque is a control."""
    theta = [
        Coordinate(f"theta{k + 1}", start, unit="rad")
        for k, start in enumerate((radians(lean_deg), radians(140.0), radians(-70.0)))
    ]
    waist = Quantity("waist_torque", 0.0, "N m")
    (sx, sy), (hx, hy) = data.saddle, data.handlebar

    def link(k: int, name: str, parent: str, limb: Limb, *at: Slide) -> Link:
        joint = (*at, Turn(DOWN, theta[k]))
        return Link(
            name, parent, joint, limb.mass, (0.0, limb.length / 2, 0.0), (0.0, 0.0, limb.inertia)
        )

    tree = Tree(
        "torso-loop",
        (
            link(0, "torso", "ground", data.torso, Slide("x", sx), Slide("y", sy)),
            link(1, "upper arm", "torso", data.upper_arm, Slide("y", data.torso.length)),
            link(2, "forearm", "ground", data.forearm, Slide("x", hx), Slide("y", hy)),
        ),
        gravity=(0.0, -data.gravity, 0.0),
    )
    ends = ((0.0, data.upper_arm.length, 0.0), (0.0, data.forearm.length, 0.0))
    elbow = tree.closure("elbow", "upper arm", "forearm", ends, axes="xy")
    model = tree.mechanism({"theta1": waist.symbol}, elbow, (waist,))
    return model.consistent(hold=("theta1",))


def closed_loop(data: FiveLink = FIVE_LINK) -> ClosedLoop:
    """The same by the thesis' own method: cut joint, torque transform W, unit vectors."""
    return ClosedLoop(mechanism(data), ("theta1",))


@settable
def build(
    data: FiveLink = FIVE_LINK,
    torque=setting(-120.0, "N m", "torque of the waist, forwards positive"),
    lean=setting(20.0, "deg", "lean of the torso at the start, forwards positive", -20, 40),
    until=setting(0.4, "s", "duration", 1e-3, 5),
) -> System:
    """The loop under a constant waist torque, until the arm is straight; the velocity of the cut
    joint by both routes.
    """
    model = mechanism(data, lean)
    (theta1, theta2, theta3), (w1, w2, w3) = casadi.vertsplit(model.q), casadi.vertsplit(model.v)
    upper, fore = theta1 + theta2, theta3
    l1, l2, l3 = data.torso.length, data.upper_arm.length, data.forearm.length
    # (4-8) and (4-9)
    route1 = l1 * w1 * vertcat(cos(theta1), -sin(theta1))
    route1 += l2 * (w1 + w2) * vertcat(cos(upper), -sin(upper))
    route2 = l3 * w3 * vertcat(cos(fore), -sin(fore))
    outputs = {
        f"route{k}_{axis}": (route[j], "m/s")
        for k, route in ((1, route1), (2, route2))
        for j, axis in enumerate("xy")
    }
    # The elbow does not bend backwards.
    straight = Event("arm straight", sin(upper - fore), terminal=True)
    return model.system(
        controls={"waist_torque": torque},
        events=(straight,),
        until=until,
        description="torso and arms between saddle and handlebar",
        drawing=_drawn(data),
        outputs=outputs,
    )


def _drawn(data: FiveLink) -> Drawing:
    """Torso and upper arm from the saddle, the forearm from the handlebar, to the elbow."""
    theta1, theta2, theta3 = (SX.sym(f"theta{k}") for k in (1, 2, 3))

    def along(start: SX, length: float, angle: SX) -> SX:
        return start + length * vertcat(sin(angle), cos(angle))

    saddle, hand = vertcat(*data.saddle), vertcat(*data.handlebar)
    shoulder = along(saddle, data.torso.length, theta1)
    elbow = along(shoulder, data.upper_arm.length, theta1 + theta2)
    cut = along(hand, data.forearm.length, theta3)
    joints = (saddle, shoulder, elbow, hand)
    return Drawing(
        (
            Rod((saddle, shoulder, elbow), 0),
            Rod((hand, cut), 1),
            *(Mark(joint, 7, 5) for joint in joints),
        )
    )


def routes_picture(simulation: Simulation) -> Figure:
    """The velocity of the cut joint by both routes (figure 4-11)."""
    from trajopt.show.figure_style import COLOURS, new_figure, settle, tidy

    fine = simulation.refined()
    figure = new_figure(2, 1, (4.4, 3.0))
    for axes, axis in zip(figure.subplots(1, 2), "xy", strict=True):
        axes.plot(fine.t, fine[f"route1_{axis}"], color=COLOURS[0], linewidth=4, label="route 1")
        axes.plot(fine.t, fine[f"route2_{axis}"], color=COLOURS[1], linestyle="--", label="route 2")
        tidy(axes)
        axes.set_xlabel("t [s]")
        axes.legend(fontsize=8)
        settle(axes, f"velocity of the elbow, {axis}", "m/s")
    return figure


pictures = {"routes": routes_picture}
