"""Chaplygin's sleigh on an incline (dissertation on constraint stabilization, 1.4)."""

from __future__ import annotations

from math import pi
from typing import Any

from casadi import cos, sin

from trajopt.errors import ModelError
from trajopt.mechanics import Coordinate, Mechanism, Nonholonomic
from trajopt.show.drawing import Drawing, Mark, Rod, Trail
from trajopt.system import System

# Where the heading ends: the sleigh turns downhill backwards and then slides straight. Independent run at tolerance 1e-12.
FINAL_HEADING = 5.63574811


def sleigh(
    slope: float = pi / 6,
    mass: float = 1.0,
    inertia: float = 1.0,
    offset: float = 1.0,
    gravity: float = 9.8,
    gravity_at: str = "pivot",
) -> System:
    """A body on a blade that cannot move sideways: y' cos(phi) = x' sin(phi).

    ``offset`` is the distance a of the mass centre from the blade. The Lagrangian of the document lets gravity act at the blade
    (``gravity_at="pivot"``); at the true mass centre (``"centre"``) it also turns the body. With inertia = mass offset^2 the bare
    mass matrix is singular; the augmented system is not.
    """
    if gravity_at not in ("pivot", "centre"):
        raise ModelError("where gravity acts on the sleigh", got=gravity_at, expected="pivot or centre")
    x, y = Coordinate("x", 0.0, unit="m"), Coordinate("y", 1.0, unit="m")
    phi = Coordinate("phi", pi / 3, 1.0, unit="rad")
    sideways = y.v * cos(phi.q) - x.v * sin(phi.q)
    downhill = x.q + (offset * cos(phi.q) if gravity_at == "centre" else 0.0)
    mechanism = Mechanism(
        "sleigh",
        (x, y, phi),
        kinetic=mass / 2 * (x.v**2 + y.v**2 + 2 * offset * phi.v * sideways) + inertia / 2 * phi.v**2,
        potential=-mass * gravity * float(sin(slope)) * downhill,
        constraints=(Nonholonomic("blade", sideways, "m/s"),),
    )
    return mechanism.system(
        until=6.0, description="Chaplygin's sleigh sliding down an incline", drawing=_drawn(x.q, y.q, phi.q, offset)
    )


def _drawn(x: Any, y: Any, phi: Any, offset: float) -> Drawing:
    """The blade, and the mass centre ahead of it; seen from above, downhill to the right."""

    def ahead(distance: float) -> tuple[Any, Any]:
        return x + distance * cos(phi), y + distance * sin(phi)

    blade = Rod((ahead(-0.5), ahead(0.5)), 0, 5)
    return Drawing(
        (Trail((x, y)), Rod((ahead(0.0), ahead(offset)), 1, 1.5), blade, Mark(ahead(offset), 9)), follow=(x, y), reach=4.0
    )
