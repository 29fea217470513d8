"""The three-link exoskeleton on a slope (dissertation on constraint stabilization, 4.1 and appendix
2): its model.

A foot slides on the slope as a blade; the leg is hinged at the foot's centre and the body at the
leg's end. The axes are the slope's: x downhill, y across, z along the outward normal. Links are
thin rods with heading phi and elevation psi, both absolute. Lengths are constant (7 coordinates) or
vary by massless extensions (10 coordinates): q8 below the leg's rod, q10 above it, q9 below the
body's. The equations follow from the energies by differentiation; ``README.md`` has them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import pi
from typing import Any

from casadi import SX, Function, cos, densify, jacobian, jtimes, sin, substitute, vertcat

from trajopt.errors import ModelError
from trajopt.mechanics import Coordinate, Level, Mechanism, Nonholonomic, Slide, Tree, Turn, rod
from trajopt.mechanics.formulations import solve_symmetric
from trajopt.parameters import setting_field


@dataclass(frozen=True)
class ThreeLink:
    """Data of the three links and of the slope, as the document has them."""

    foot_mass: float = setting_field(5.0, "kg", "mass of foot and board", 0.5, 100)
    leg_mass: float = setting_field(5.0, "kg", "mass of the leg", 0.5, 100)
    body_mass: float = setting_field(10.0, "kg", "mass of the body", 0.5, 200)
    foot_length: float = setting_field(0.5, "m", "length of the foot", 0.1, 2)
    leg_length: float = setting_field(1.0, "m", "length of the leg's rod", 0.2, 3)
    body_length: float = setting_field(1.0, "m", "length of the body's rod", 0.2, 3)
    slope: float = setting_field(15.0, "deg", "slope of the ground", 0, 60)
    gravity: float = setting_field(9.8, "m/s^2", "acceleration of free fall", 1, 30)

    @property
    def masses(self) -> tuple[float, float, float]:
        return self.foot_mass, self.leg_mass, self.body_mass

    @property
    def lengths(self) -> tuple[float, float, float]:
        return self.foot_length, self.leg_length, self.body_length

    @property
    def incline(self) -> float:
        """The slope in rad."""
        return self.slope * pi / 180


THREE_LINK = ThreeLink()
GENTLE = ThreeLink(slope=8.0)  # of the slalom with a leaning rider
MASSES, LENGTHS, SLOPE, GRAVITY = (
    THREE_LINK.masses,
    THREE_LINK.lengths,
    THREE_LINK.incline,
    THREE_LINK.gravity,
)
UP = (0.0, -1.0, 0.0)  # a turn about -y raises the x axis
ANGLES = ("phi0", "phi1", "phi2", "psi1", "psi2")
EXTENSIONS = ("q8", "q9", "q10")
NAMES = ("x0", "y0", *ANGLES, *EXTENSIONS)
CONSTANT_LENGTHS = dict.fromkeys(EXTENSIONS, 0.0)


def links(
    held: Mapping[str, float] | None = None,
    plane: float | None = None,
    data: ThreeLink = THREE_LINK,
    leaning: bool = False,
) -> Tree:
    """Foot, leg and body as a tree.

    Parameters
    ----------
    held : coordinates that stay at a number: ``CONSTANT_LENGTHS`` leaves the text's seven. Where
    leg and body are in line, q9 and
        q10 both move the body along it and nothing else: hold one of them for postures that pass
        through that.
    plane : None gives leg and body headings of their own; a number keeps both in the upright plane
    at that angle (rad) to the
        blade, 0 along it and pi/2 across it, so that psi alone says how they lean.
    leaning : whether that plane turns about the blade, by the coordinate ``roll``, 0 upright, to
        the right positive.

    Examples
    --------
    >>> [c.name for c in links(CONSTANT_LENGTHS).coordinates]
    ['x0', 'y0', 'phi0', 'phi1', 'psi1', 'phi2', 'psi2']
    """
    held = held or {}
    unknown = [name for name in held if name not in NAMES]
    if unknown:
        raise ModelError(
            "the exoskeleton has no such coordinates",
            got=", ".join(unknown),
            expected=", ".join(NAMES),
        )
    q: dict[str, Any] = {
        n: held.get(n, Coordinate(n, unit="rad" if n in ANGLES else "m")) for n in NAMES
    }

    roll = (Turn("x", Coordinate("roll", unit="rad")),) if leaning else ()

    def lean(i: int) -> tuple[Any, ...]:
        heading = (
            (Turn("z", q[f"phi{i}"]),)
            if plane is None
            else (Turn("z", q["phi0"]), Turn("z", plane), *roll)
        )
        return (Level(), *heading, Turn(UP, q[f"psi{i}"]))

    masses, lengths = data.masses, data.lengths
    foot = rod(
        "foot",
        "ground",
        (Slide("x", q["x0"]), Slide("y", q["y0"]), Turn("z", q["phi0"])),
        masses[0],
        lengths[0],
    )
    leg = rod("leg", "foot", (*lean(1), Slide("x", q["q8"])), masses[1], lengths[1])
    hip = (Slide("x", lengths[1]), Slide("x", q["q10"]), *lean(2), Slide("x", q["q9"]))
    return Tree(
        "exoskeleton",
        (
            replace(foot, centre=(0.0, 0.0, 0.0)),
            leg,
            rod("body", "leg", hip, masses[2], lengths[2]),
        ),
        gravity=(
            data.gravity * float(sin(data.incline)),
            0.0,
            -data.gravity * float(cos(data.incline)),
        ),
    )


def with_potential(model: Mechanism, tree: Tree, potential: str) -> Mechanism:
    """The mechanism with another potential energy.

    "full": every link's weight. "slope": without the part normal to the slope, as in the text.
    "foot": all weight at the foot, the text's simplification (4.1.3).
    """
    if potential == "full":
        return model
    centres = {link.name: (link.mass, tree.point(link.name, link.centre)) for link in tree.links}
    pull = float(tree.gravity[0])
    if potential == "slope":
        energy = -pull * sum((mass * point[0] for mass, point in centres.values()), SX(0))
    elif potential == "foot":
        energy = -pull * sum(mass for mass, _ in centres.values()) * centres["foot"][1][0]
    else:
        raise ModelError(
            "potential energy of the exoskeleton", got=potential, expected="full, slope or foot"
        )
    return replace(model, potential=energy, inertia=None)


def blade(tree: Tree) -> Nonholonomic:
    """The foot moves along its heading only: y0' = tan(phi0) x0'."""
    q = {c.name: c for c in tree.coordinates}
    return Nonholonomic("blade", q["y0"].v - sin(q["phi0"].q) / cos(q["phi0"].q) * q["x0"].v, "m/s")


def weight_on_slope(tree: Tree) -> float:
    """The part of the weight that presses on the slope (N)."""
    return float(-sum(link.mass for link in tree.links) * float(tree.gravity[2]))


def height_momentum(tree: Tree) -> SX:
    """The momentum normal to the slope; its rate is the normal force less the weight's part (kg
    m/s).
    """
    return sum(
        (link.mass * tree.frame(link.name).velocity(link.centre)[2] for link in tree.links), SX(0)
    )


def gliding(model: Mechanism, tree: Tree) -> Function:
    """The motion on the blade in quasi-velocities, as a function (q, nu, u) -> (v, nu', normal
    force, blade force).

    nu holds the blade's speed s along its heading and the rates of all coordinates but x0 and y0,
    so that x0' = s cos(phi0) and y0' = s sin(phi0): the blade condition holds at any state. With v
    = T nu, the equations M v' + bias = Q + reaction projected by T^T, which the reaction does not
    survive, give nu'.
    """
    names = [c.name for c in model.coordinates]
    q, phi = model.q, model.q[names.index("phi0")]
    nu = SX.sym("nu", len(names) - 1)
    v = vertcat(nu[0] * cos(phi), nu[0] * sin(phi), nu[1:])
    T, turning = jacobian(v, nu), jtimes(v, q, v)  # v' = T nu' + turning
    terms, lift = model.equations, jacobian(height_momentum(tree), model.v)
    mass, bias, force, lift = substitute(
        [densify(e) for e in (terms.mass, terms.bias, terms.force, lift)], [model.v], [v]
    )
    missing = force - bias - mass @ turning
    rate = solve_symmetric(T.T @ mass @ T, T.T @ missing)
    acceleration = T @ rate + turning
    height_rate = jtimes(substitute(height_momentum(tree), model.v, v), q, v) + lift @ (T @ rate)
    across = mass @ acceleration + bias - force
    reaction = across[1] * cos(phi) - across[0] * sin(phi)
    return Function(
        "gliding", [q, nu, model.u], [v, rate, height_rate + weight_on_slope(tree), reaction]
    )
