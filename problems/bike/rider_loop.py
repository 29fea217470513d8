"""The rider on a standing bicycle: five links between pedal and handlebar, a loop cut at the
shoulder.

Source: thesis on a bike-trial robot (Japanese), chapter 6 and appendix a. Shank, thigh and torso
are counted from the pedal, forearm and upper arm from the hand. The appendix puts relative rates
into the rotational energy; ``rates="appendix"`` repeats that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from casadi import SX, cos, sin, vertcat

from trajopt.errors import UsageError
from trajopt.mechanics import ClosedLoop, Coordinate, Link, Mechanism, Quantity, Slide, Tree, Turn
from trajopt.parameters import settable, setting
from trajopt.show.drawing import Drawing, Mark, Rod
from trajopt.system import System

PEDAL, HAND = (0.0, 0.254), (0.866, 0.97)
LENGTHS = (0.435, 0.435, 0.653, 0.326, 0.326)
MASSES = (7.0596, 15.1848, 28.638, 3.8628, 4.7952)
INERTIAS = (0.114, 0.246, 1.082, 0.036, 0.044)
START = (1.236, 0.895, -1.455, -0.708, -0.215)
TORQUES = (0.0, 9.0, -130.0, 0.0, -7.0)
GENERALIZED = (
    "theta2",
    "theta3",
    "theta5",
)  # the thesis' choice; it becomes singular at t = 0.2555 s

# Angles at t = 0.2 s in degrees, by the Runge-Kutta-Gill scheme with step 0.005 s.
REFERENCE = {
    "absolute": (62.09424, 102.84143, -147.04680, 47.23872, -90.02503),
    "appendix": (62.00268, 94.68560, -134.90345, 34.58677, -89.77914),
}


def mechanism(
    rates: str = "absolute", gravity: float = 9.80665, start: Sequence[float] = START
) -> Mechanism:
    """The five links with the shoulder closed; joint torques are controls ``torque1`` ...

    ``torque5``.
    """
    if rates not in REFERENCE:
        raise UsageError(f"rider-loop: no rates '{rates}'", expected=" or ".join(REFERENCE))
    theta = [Coordinate(f"theta{k + 1}", start, unit="rad") for k, start in enumerate(start)]
    torque = [Quantity(f"torque{k + 1}", value, "N m") for k, value in enumerate(TORQUES)]

    def link(k: int, name: str, parent: str, *before: Slide, sense: float = 1.0) -> Link:
        joint = (*before, Turn("z", theta[k]))
        return Link(name, parent, joint, MASSES[k], (sense * LENGTHS[k] / 2, 0.0, 0.0), INERTIAS[k])

    tree = Tree(
        "rider-loop",
        (
            link(0, "shank", "ground", Slide("x", PEDAL[0]), Slide("y", PEDAL[1])),
            link(1, "thigh", "shank", Slide("x", LENGTHS[0])),
            link(2, "torso", "thigh", Slide("x", LENGTHS[1])),
            link(3, "forearm", "ground", Slide("x", HAND[0]), Slide("y", HAND[1]), sense=-1.0),
            link(4, "upper arm", "forearm", Slide("x", -LENGTHS[3]), sense=-1.0),
        ),
        gravity=(0.0, -gravity, 0.0),
    )
    shoulder = tree.closure(
        "shoulder", "torso", "upper arm", ((LENGTHS[2], 0, 0), (-LENGTHS[4], 0, 0)), axes="xy"
    )
    forces = {c.name: u.symbol for c, u in zip(theta, torque, strict=True)}
    model = tree.mechanism(forces, shoulder, torque)
    if rates == "absolute":
        return model
    absolute = (
        theta[0].v,
        theta[0].v + theta[1].v,
        theta[0].v + theta[1].v + theta[2].v,
        theta[3].v,
        theta[3].v + theta[4].v,
    )
    correction = sum(
        0.5 * j * (c.v**2 - w**2) for j, c, w in zip(INERTIAS, theta, absolute, strict=True)
    )
    return replace(model, kinetic=tree.kinetic + correction, inertia=None)


def closed_loop(rates: str = "absolute") -> ClosedLoop:
    """The same loop by the thesis' own method: cut joint, torque transform W, unit vectors."""
    return ClosedLoop(mechanism(rates), GENERALIZED)


@settable
def build(
    rates: str = setting("absolute", "", "in the rotational energy", choices=tuple(REFERENCE)),
    consistent: bool = setting(False, "", "whether to start at the nearest closed loop"),
    gravity: float = setting(9.80665, "m/s^2", "acceleration of free fall"),
    torques: tuple = setting(TORQUES, "N m", "of the five joints"),
    start: tuple = setting(START, "rad", "the five angles at the start"),
    until: float = setting(0.2, "s", "duration", 1e-3),
) -> System:
    """The loop under constant joint torques, from the appendix' start (off by 0.45 mm) or from the
    nearest consistent one.
    """
    model = mechanism(rates, gravity, start)
    if consistent:
        model = model.consistent()
    return model.system(
        controls=dict(zip([f"torque{k + 1}" for k in range(5)], torques, strict=True)),
        until=until,
        description=f"five-link rider between pedal and handlebar, {rates} rates",
        drawing=_drawn(),
    )


def _drawn() -> Drawing:
    """Leg and torso from the pedal, the arm from the hand; they meet at the shoulder."""
    theta = [SX.sym(f"theta{k + 1}") for k in range(5)]
    leg, arm = [vertcat(*PEDAL)], [vertcat(*HAND)]
    for way, first, lengths in (
        (leg, 0, LENGTHS[:3]),
        (arm, 3, tuple(-length for length in LENGTHS[3:])),
    ):
        angle = SX(0)
        for k, length in enumerate(lengths):
            angle += theta[first + k]
            way.append(way[-1] + length * vertcat(cos(angle), sin(angle)))
    joints = (*leg[:-1], *arm)
    return Drawing(
        (Rod(tuple(leg), 0), Rod(tuple(arm), 1), *(Mark(joint, 7, 5) for joint in joints))
    )
