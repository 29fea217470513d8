"""The bike robot by links and closures: the same machines as in ``problems.bike.models``, derived
another way.

Every link is a body of a tree, the arm ends at the hand, and the hand is held on the handlebar by
two constraints; so are the contacts. Equations come from composite bodies and recursive
Newton-Euler, reactions from multipliers. It serves to check the reduced machines, and to
re-simulate an answer with a loop that could drift.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from problems.bike.loop import Limb
from problems.bike.models import FIVE_LINK, SEVEN_LINK, FiveLink, SevenLink
from trajopt.mechanics import (
    Coordinate,
    Holonomic,
    Level,
    Link,
    Mechanism,
    Quantity,
    Slide,
    Tree,
    Turn,
)

CLOCKWISE = (0.0, 0.0, -1.0)


def five_link_tree(data: FiveLink = FIVE_LINK, front_down: bool = False) -> Mechanism:
    """Coordinates x, y, wheel (clockwise), beta, torso, shoulder, elbow."""
    names = (
        ("x", 0.0, "m"),
        ("y", data.wheel_radius, "m"),
        ("wheel", 0.0, "rad"),
        ("beta", 0.0, "rad"),
        ("torso", 0.35, "rad"),
    )
    x, y, wheel, beta, torso = (Coordinate(name, start, unit=unit) for name, start, unit in names)
    shoulder, elbow = Coordinate("shoulder", 2.2, unit="rad"), Coordinate("elbow", -1.5, unit="rad")
    drive, waist = Quantity("wheel_torque", 0.0, "N m"), Quantity("waist_torque", 0.0, "N m")

    def limb(name: str, parent: str, joint: tuple[object, ...], link: Limb) -> Link:
        return Link(name, parent, joint, link.mass, (0.0, link.length / 2, 0.0), link.inertia)  # type: ignore[arg-type]

    at_saddle = (Slide("x", data.saddle[0]), Slide("y", data.saddle[1]))
    tree = Tree(
        "five-link tree",
        (
            Link("axle", "ground", (Slide("x", x), Slide("y", y))),
            Link(
                "rear wheel",
                "axle",
                (Turn(CLOCKWISE, wheel),),
                data.wheel_mass,
                inertia=data.wheel_inertia,
            ),
            Link(
                "bicycle",
                "axle",
                (Turn("z", beta),),
                data.bicycle_mass,
                (*data.bicycle_centre, 0.0),
                data.bicycle_inertia,
            ),
            limb("torso", "bicycle", (*at_saddle, Level(), Turn(CLOCKWISE, torso)), data.torso),
            limb(
                "upper arm",
                "torso",
                (Slide("y", data.torso.length), Turn(CLOCKWISE, shoulder)),
                data.upper_arm,
            ),
            limb(
                "forearm",
                "upper arm",
                (Slide("y", data.upper_arm.length), Turn(CLOCKWISE, elbow)),
                data.forearm,
            ),
        ),
        gravity=(0.0, -data.gravity, 0.0),
    )
    hand = tree.closure(
        "hand", "forearm", "bicycle", ((0, data.forearm.length, 0), (*data.handlebar, 0)), axes="xy"
    )
    contacts = [
        Holonomic("rear", y.q - data.wheel_radius),
        Holonomic("rolling", x.q - data.wheel_radius * wheel.q),
    ]
    if front_down:
        contacts.append(
            Holonomic("front", tree.point("bicycle", (data.wheelbase, 0, 0))[1] - data.wheel_radius)
        )
    # The motors: between wheel and bicycle, and between torso and bicycle.
    forces = {"wheel": drive.symbol, "beta": drive.symbol + waist.symbol, "torso": waist.symbol}
    return tree.mechanism(forces, (*hand, *contacts), (drive, waist), data.symbols)


@dataclass(frozen=True)
class Footing:
    """What the front wheel of the seven-link machine stands on: its height (m), and where, if the
    wheel is braked.

    ``along`` is x + R beta of the front axle, which stays as it is (m).
    """

    height: Any
    along: float | None = None


def seven_link_tree(
    data: SevenLink = SEVEN_LINK,
    stance: bool = True,
    rolling: bool = False,
    front: Footing | None = None,
) -> Mechanism:
    """Coordinates x, y, beta, ankle, knee, waist, shoulder, elbow, with a ``rolling`` rear wheel
    also wheel (clockwise).

    A wheel that does not roll is braked, and part of the bicycle. ``front``: the front wheel
    carries.
    """
    x, y = Coordinate("x", 0.0, unit="m"), Coordinate("y", data.wheel_radius, unit="m")
    wheel = Coordinate("wheel", 0.0, unit="rad")
    starts = (
        ("beta", 0.5),
        ("ankle", 1.1),
        ("knee", 1.6),
        ("waist", -2.4),
        ("shoulder", -1.2),
        ("elbow", 1.2),
    )
    joints = {name: Coordinate(name, start, unit="rad") for name, start in starts}
    torques = [
        Quantity(f"{name}_torque", 0.0, "N m")
        for name in ("knee", "waist", "elbow", *(["wheel"] if rolling else []))
    ]
    links = [
        Link("axle", "ground", (Slide("x", x), Slide("y", y)), data.wheel_mass),
        Link(
            "bicycle",
            "axle",
            (Turn("z", joints["beta"]),),
            data.bicycle_mass,
            (*data.bicycle_centre, 0.0),
            data.bicycle_inertia,
        ),
        # What turns with the rear wheel.
        Link("hub", "axle", (Turn(CLOCKWISE, wheel),), inertia=data.wheel_inertia)
        if rolling
        else Link("brake", "bicycle", (), inertia=data.wheel_inertia),
    ]
    parent, length = "bicycle", 0.0
    limbs = (
        ("ankle", data.shank),
        ("knee", data.thigh),
        ("waist", data.torso),
        ("shoulder", data.upper_arm),
        ("elbow", data.forearm),
    )
    for name, limb in limbs:
        joint, centre = (Slide("x", length), Turn("z", joints[name])), (limb.length / 2, 0.0, 0.0)
        links.append(Link(f"after {name}", parent, joint, limb.mass, centre, limb.inertia))
        parent, length = f"after {name}", limb.length
    tree = Tree("seven-link tree", tuple(links), gravity=(0.0, -data.gravity, 0.0))
    hand = tree.closure(
        "hand", "after elbow", "bicycle", ((length, 0, 0), (*data.handlebar, 0)), axes="xy"
    )
    contacts: list[Holonomic] = []
    if stance:
        turned = -wheel.q if rolling else joints["beta"].q
        contacts += [
            Holonomic("rear", y.q - data.wheel_radius),
            Holonomic("rolling", x.q + data.wheel_radius * turned),
        ]
    if front is not None:
        contacts += _standing(
            tree.point("bicycle", (data.wheelbase, 0, 0)), joints["beta"].q, front, data
        )
    forces = {q.name.removesuffix("_torque"): q.symbol for q in torques}
    if rolling:
        forces["beta"] = forces["wheel"]  # the motor sits on the bicycle
    return tree.mechanism(forces, (*hand, *contacts), torques)


def close_loop(
    ph: Any,
    axle: Any,
    angles: Any,
    data: SevenLink,
    stance: bool = True,
    rolling: bool = False,
    front: Footing | None = None,
) -> None:
    """The seven-link machine of a phase by links and closures as well, for the certificate.

    ``axle`` (2,) is where the rear axle is, ``angles`` are those of shoulder and elbow; other
    states have the same names.
    """
    states = {"x": axle[0], "y": axle[1], "shoulder": angles[0], "elbow": angles[1]}
    if rolling:
        states["wheel"] = axle[0] / data.wheel_radius
    ph.in_redundant_coordinates(
        lambda: seven_link_tree(data, stance, rolling, front).system(), states
    )


def _standing(axle: Any, beta: Any, front: Footing, data: SevenLink) -> list[Holonomic]:
    contacts = [Holonomic("front", axle[1] - data.wheel_radius - front.height)]
    if front.along is not None:
        contacts.append(
            Holonomic("front rolling", axle[0] + data.wheel_radius * beta - front.along)
        )
    return contacts
