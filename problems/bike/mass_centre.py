"""Where the mass centre of the bike robot can be, as runs over a joint (thesis on a bike-trial
robot, 4.4 and 6.4).

With the hand on the handlebar the five-link rider has one freedom: the lean sweeps the curve that
figure 4-7 shows as a region. The seven-link rider has three: a run sweeps the knee at a given ankle
and waist; the picture ``region`` shows the whole area.
"""

from __future__ import annotations

from dataclasses import replace
from math import pi, radians
from typing import Any

from casadi import SX, vertcat

from problems.bike.analyses import (
    five_link_centre,
    lean_range,
    mass_centre_cloud,
    mass_centre_curve,
    pointing_region,
    reached_range,
    seven_link_centre,
)
from problems.bike.models import FIVE_LINK, SEVEN_LINK, FiveLink, SevenLink
from trajopt.parameters import settable, setting
from trajopt.system import System, Variable

RISES = (0.0, 15.0, 30.0)  # deg, of figure 4-7


@settable
def mass_centre_five(
    rise=setting(0.0, "deg", "rise of the front wheel", 0, 45), data: FiveLink = FIVE_LINK
) -> System:
    """The lean goes through all that the joint ranges allow, in one second."""
    lean = SX.sym("torso")
    centre, angles = five_link_centre(data)(vertcat(radians(rise), lean))
    ends = lean_range(rise, data)
    joints = {name: angles[k + 1] for k, name in enumerate(("shoulder", "elbow"))}
    return _swept("mass-centre-five", lean, ends, centre, joints)


@settable
def mass_centre_seven(
    rise=setting(0.0, "deg", "rise of the front wheel", 0, 45),
    ankle=setting(90.0, "deg", "ankle", 45, 135),
    waist=setting(-90.0, "deg", "waist", -165, 0),
    data: SevenLink = SEVEN_LINK,
) -> System:
    """The knee goes through all that the joint ranges allow at an ankle and a waist, in one second.

    ``region_left`` to ``region_top`` are the ends of the whole region of figure 6-9 at this rise.
    """
    knee = SX.sym("knee")
    function = seven_link_centre(data)
    beta, fixed = radians(rise), (radians(ankle), radians(waist))
    centre, angles = function(vertcat(beta, fixed[0], knee, fixed[1]))
    ranges = (data.ankle_deg, data.knee_deg, data.waist_deg, data.shoulder_deg, data.elbow_deg)
    ends = reached_range(
        lambda angle: function([beta, fixed[0], angle, fixed[1]])[1], ranges, data.knee_deg
    )
    joints = {name: angles[k + 3] for k, name in enumerate(("shoulder", "elbow"))}
    region = mass_centre_cloud(rise, data).centres
    edges = dict(zip(("left", "bottom"), region.min(axis=0), strict=True))
    edges |= dict(zip(("right", "top"), region.max(axis=0), strict=True))
    system = _swept("mass-centre-seven", knee, ends, centre, joints)
    outputs = {f"region_{edge}": (SX(float(value)), "m") for edge, value in edges.items()}
    return replace(system, outputs={**system.outputs, **outputs})


def _swept(
    name: str, angle: SX, ends: tuple[float, float], centre: SX, joints: dict[str, SX]
) -> System:
    outputs = {"mass_centre_x": (centre[0], "m"), "mass_centre_y": (centre[1], "m")}
    return System(
        name,
        SX.sym("t"),
        angle,
        (Variable(str(angle), ends[0], "rad"),),
        SX(ends[1] - ends[0]),
        outputs=outputs | {joint: (value * 180 / pi, "deg") for joint, value in joints.items()},
        until=1.0,
        description="the mass centre, from the contact of the rear wheel, over a joint's range",
    )


def region_picture(simulation: Any = None) -> Any:
    """The regions of figures 4-7 and 6-9: the thesis' areas, and the curves that a hand on the
    handlebar leaves of the first.
    """
    from trajopt.show.figure_style import COLOURS, new_figure, settle, tidy

    figure = new_figure(2, 1, (4.4, 3.4))
    five, seven = figure.subplots(1, 2)
    for k, rise in enumerate(RISES):
        area, curve = pointing_region(rise).centres, mass_centre_curve(rise).centres
        five.plot(area[:, 0], area[:, 1], ".", color=COLOURS[k], markersize=1, alpha=0.35)
        five.plot(curve[:, 0], curve[:, 1], color=COLOURS[k], linewidth=2.4, label=f"{rise:g} deg")
        cloud = mass_centre_cloud(rise, points=21).centres
        seven.plot(
            cloud[:, 0], cloud[:, 1], ".", color=COLOURS[k], markersize=1.5, label=f"{rise:g} deg"
        )
    for axes, title in (
        (five, "height, five links; lines: hand on the bar"),
        (seven, "height, seven links"),
    ):
        tidy(axes)
        axes.axvline(0.0, color="#999999", linewidth=0.8)
        axes.set_aspect("equal", adjustable="datalim")
        axes.set_xlabel("x from the contact [m]")
        axes.legend(fontsize=8, title="rise")
        settle(axes, title, "m")
    return figure


pictures = {"region": region_picture}
