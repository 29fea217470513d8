"""Chaplygin's sleigh on an incline (dissertation on constraint stabilization, 1.4)."""

from __future__ import annotations

from math import pi
from typing import Any

from casadi import cos, sin

from trajopt.mechanics import (
    Appell,
    Augmented,
    Chaplygin,
    Coordinate,
    Eliminated,
    Mechanism,
    Nonholonomic,
    Voronets,
)
from trajopt.parameters import settable, setting
from trajopt.show.drawing import Drawing, Mark, Rod, Trail
from trajopt.system import Event, System

# Where the heading ends: the sleigh turns downhill backwards and then slides straight. Independent
# run at tolerance 1e-12.
FINAL_HEADING = 5.63574811


# Of the blade condition: by a multiplier, by elimination of y', and the forms without multipliers
# of the document's 1.2 and 1.3.
FORMULATIONS = {
    "augmented": Augmented(),
    "eliminated": Eliminated(("y",)),
    "chaplygin": Chaplygin(("y",)),
    "voronets": Voronets(("y",)),
    "appell": Appell(("y",)),
}
STEEPEST = 1e-3  # cos(phi) at which y' = tan(phi) x' ends


@settable
def sleigh(
    slope=setting(pi / 6, "rad", "slope of the plane", 0, 1.5),
    mass=setting(1.0, "kg", "mass", 1e-9),
    inertia=setting(1.0, "kg m^2", "inertia about the blade", 1e-9),
    offset=setting(1.0, "m", "distance a of the mass centre from the blade"),
    gravity=setting(9.8, "m/s^2", "acceleration of free fall"),
    start=setting((0.0, 1.0, pi / 3), "", "x (m), y (m) and heading phi (rad) at the start"),
    speed=setting(0.0, "m/s", "speed along the blade at the start"),
    spin=setting(1.0, "rad/s", "rate of the heading at the start"),
    gravity_at=setting("pivot", "", "where gravity acts", choices=("pivot", "centre")),
    formulation=setting(
        "augmented", "", "how the blade condition is met", choices=tuple(FORMULATIONS)
    ),
) -> System:
    """A body on a blade that cannot move sideways: y' cos(phi) = x' sin(phi).

    ``offset`` is the distance a of the mass centre from the blade. The Lagrangian of the document
    lets gravity act at the blade (``gravity_at="pivot"``); at the true mass centre (``"centre"``)
    it also turns the body. With inertia = mass offset^2 the bare mass matrix is singular; the
    augmented system is not. The forms without y' express it by x' and end where the blade points
    across the slope (cos(phi) = 0).
    """
    heading = start[2]
    x = Coordinate("x", start[0], speed * float(cos(heading)), unit="m")
    y = Coordinate("y", start[1], speed * float(sin(heading)), unit="m")
    phi = Coordinate("phi", heading, spin, unit="rad")
    sideways = y.v * cos(phi.q) - x.v * sin(phi.q)
    downhill = x.q + (offset * cos(phi.q) if gravity_at == "centre" else 0.0)
    mechanism = Mechanism(
        "sleigh",
        (x, y, phi),
        kinetic=mass / 2 * (x.v**2 + y.v**2 + 2 * offset * phi.v * sideways)
        + inertia / 2 * phi.v**2,
        potential=-mass * gravity * float(sin(slope)) * downhill,
        constraints=(Nonholonomic("blade", sideways, "m/s"),),
    )
    across = Event("blade across the slope", cos(phi.q) ** 2 - STEEPEST**2, -1, terminal=True)
    return mechanism.system(
        FORMULATIONS[formulation],
        until=6.0,
        description=f"Chaplygin's sleigh sliding down an incline, {formulation} form",
        drawing=_drawn(x.q, y.q, phi.q, offset),
        events=() if formulation == "augmented" else (across,),
    )


def _drawn(x: Any, y: Any, phi: Any, offset: float) -> Drawing:
    """The blade, and the mass centre ahead of it; seen from above, downhill to the right."""

    def ahead(distance: float) -> tuple[Any, Any]:
        return x + distance * cos(phi), y + distance * sin(phi)

    blade = Rod((ahead(-0.5), ahead(0.5)), 0, 5)
    return Drawing(
        (Trail((x, y)), Rod((ahead(0.0), ahead(offset)), 1, 1.5), blade, Mark(ahead(offset), 9)),
        follow=(x, y),
        reach=4.0,
    )
