"""Answers of the bike robot simulated again: the same torques, another derivation of the equations,
another integrator.

Jumps are flown by links and closures (``problems.bike.trees``), whose loop could open and is held
by Baumgarte's law.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi
import numpy as np
import scipy.integrate

from problems.bike.jump import TORQUES
from problems.bike.models import SEVEN_LINK, seven_link
from problems.bike.trees import Footing, five_link_tree, seven_link_tree
from trajopt.mechanics import Augmented, Mechanism
from trajopt.trajectory.solution import PhaseSolution, Solution

JOINTS = ("beta", "ankle", "knee", "waist")


@dataclass(frozen=True)
class Flown:
    """Where a jump ends: clearance of the rear wheel at the end (m), and the largest gap of the
    loop on the way (m).
    """

    clearance: float
    gap: float


def flown(
    solution: Solution, gain: float = 50.0, front_brake: bool = True, speed: float = 0.0
) -> Flown:
    """A jump by links and closures; ``gain`` (1/s) is Baumgarte's.

    ``front_brake`` and ``speed`` as the problem was stated: a machine that comes rolling is seen
    from a point that comes along, up to the support by the front wheel.
    """
    ph = solution.phases["stance"]
    rolling = "x_rate" in ph.states
    tree = seven_link_tree(rolling=rolling)
    state, gap = np.concatenate(_start(ph, tree)), 0.0
    for name, ph in solution.phases.items():
        if name != "stance":
            front = None
            if name == "support":
                front = _footing(tree, state, front_brake)
                state[len(tree.coordinates)] += speed  # of x
            tree = seven_link_tree(stance=False, rolling=rolling, front=front)
        torques = (*TORQUES, "wheel_torque") if rolling else TORQUES
        run = _run(tree, ph, torques, state, gain)
        loop, n = tree.function(tree.equations.position_residual[:2]), len(tree.coordinates)
        gap = max(
            gap,
            *(
                float(casadi.norm_2(loop(y[:n], y[n:], np.zeros(len(torques)), [], 0)))
                for y in run.y.T
            ),
        )
        state = run.y[:, -1]
    return Flown(float(state[1]) - SEVEN_LINK.wheel_radius, gap)


def _footing(tree: Mechanism, state: np.ndarray, brake: bool) -> Footing:
    """Where the front wheel has come to."""
    x, y, beta = (
        state[[c.name for c in tree.coordinates].index(name)] for name in ("x", "y", "beta")
    )
    radius, wheelbase = SEVEN_LINK.wheel_radius, SEVEN_LINK.wheelbase
    along = x + wheelbase * np.cos(beta) + radius * beta
    return Footing(float(y + wheelbase * np.sin(beta) - radius), float(along) if brake else None)


def ridden(solution: Solution, gain: float = 50.0) -> dict[str, float]:
    """The end of a wheelie by links and closures: coordinates and, with the ending ``_rate``, their
    rates.
    """
    ph = solution.phases["front down"]
    tree = five_link_tree(front_down=True).starting_at({"torso": float(ph["torso"](ph.t0))})
    q, v = tree.consistent(hold=("x", "beta", "torso")).start
    state = np.concatenate([q, v])
    for name, ph in solution.phases.items():
        tree = five_link_tree(front_down=name == "front down")
        state = _run(tree, ph, ("wheel_torque", "waist_torque"), state, gain).y[:, -1]
    names = [c.name for c in tree.coordinates]
    return dict(zip([*names, *(f"{name}_rate" for name in names)], state.tolist(), strict=True))


def _start(ph: PhaseSolution, tree: Mechanism) -> Any:
    """The machine in the first posture, the loop closed on the right side of the elbow."""
    start = {name: float(ph[name](ph.t0)) for name in JOINTS}
    machine = seven_link()
    angles = casadi.vertcat(
        *[
            machine.seen(machine.posture.angles[joint], machine.mechanism.q)
            for joint in ("shoulder", "elbow")
        ]
    )
    shoulder, elbow = np.array(
        machine.mechanism.function(angles)(
            [start[n] for n in JOINTS], np.zeros(4), [0, 0, 0], [], 0
        )
    ).ravel()
    start |= {"shoulder": float(shoulder), "elbow": float(elbow)}
    start["x"] = (
        0.0
        if "wheel" in [c.name for c in tree.coordinates]
        else -SEVEN_LINK.wheel_radius * start["beta"]
    )
    return tree.starting_at(start).consistent(hold=("x", "y", *JOINTS)).start


def _run(
    tree: Mechanism, ph: PhaseSolution, torques: tuple[str, ...], state: np.ndarray, gain: float
) -> Any:
    """A phase under the answer's torques, from a state (q, v)."""
    wanted = (
        -2 * gain * tree.equations.velocity_residual - gain**2 * tree.equations.position_residual
    )
    accelerations = tree.function(Augmented().motion(tree, wanted).acceleration)
    n = len(tree.coordinates)

    def rate(t: float, y: np.ndarray) -> np.ndarray:
        u = [
            float(ph[name](t)) if name in ph.states or name in ph.controls else 0.0
            for name in torques
        ]
        return np.concatenate([y[n:], np.array(accelerations(y[:n], y[n:], u, [], 0)).ravel()])

    # Torques have kinks where they meet their limits: short steps, so that none is stepped over.
    return scipy.integrate.solve_ivp(
        rate, (ph.t0, ph.tf), state, method="DOP853", rtol=1e-8, atol=1e-9, max_step=0.02
    )
