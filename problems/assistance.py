"""The exoskeleton at work: it lifts the body against the slope, and it follows a wearer's movement with the least effort.

It stands with its board across the slope; leg and body move in the plane of steepest descent, seen from the side of the slope.
"""

from __future__ import annotations

from math import pi
from typing import Any

from casadi import SX, Function, cos, jtimes, sumsqr, vertcat

from problems.exoskeleton import GRAVITY, MASSES, SLOPE, height_momentum, links
from trajopt import Problem
from trajopt.mechanics import Mechanism, Quantity, Tree

LIMITS = {"ankle": 60.0, "hip": 150.0, "f8": 400.0, "f9": 300.0}  # N m and N
VERTICAL = pi / 2 - SLOPE  # elevation from the slope, towards uphill, of what stands plumb
HALF_WIDTH = 0.15  # m: of the board, across which the foot may tip
RANGES = {"psi1": (0.5, 2.6), "psi2": (0.5, 2.6), "q8": (0.0, 0.6), "q9": (0.0, 0.6)}


def standing() -> tuple[Tree, Mechanism]:
    """Leg and body on a foot across the slope, with ankle, hip and two length actuators."""
    tree = links({"x0": 0.0, "y0": 0.0, "phi0": pi / 2, "q10": 0.0}, plane=pi / 2)
    muscle = {n: Quantity(n, 0.0, _unit(n)) for n in LIMITS}
    u = {n: m.symbol for n, m in muscle.items()}
    forces = {"psi1": u["ankle"] - u["hip"], "psi2": u["hip"], "q8": u["f8"], "q9": u["f9"]}
    return tree, tree.mechanism(forces, controls=tuple(muscle.values()))


def _work(
    name: str, duration: float, start: dict[str, float], end: dict[str, float], wearer: Any = None
) -> tuple[Problem, Any, Any, dict[str, Any]]:
    """A movement of the standing exoskeleton, rest to rest, with its foot flat on the ground."""
    tree, model = standing()
    names = [c.name for c in tree.coordinates]
    ocp = Problem(name)
    ph = ocp.phase()
    t = ph.time(start=0, end=duration)
    q = {
        n: ph.state(n, start=start[n], end=end[n], lower=RANGES[n][0], upper=RANGES[n][1], unit="rad" if n[0] == "p" else "m")
        for n in names
    }
    v = {n: ph.state(f"{n}_rate", start=0, end=0, unit="rad/s" if n[0] == "p" else "m/s", scale=1.0) for n in names}
    u = {n: ph.control(n, lower=-m, upper=m, guess=m / 3 if n[0] == "f" else 0, unit=_unit(n)) for n, m in LIMITS.items()}
    place, speed, muscles = (vertcat(*d.values()) for d in (q, v, u))
    if wearer is not None:
        help_ = wearer(t, q, v)
        muscles = vertcat(u["ankle"] + help_["ankle"], u["hip"] + help_["hip"], u["f8"], u["f9"])
    a = model.acceleration(place, speed, muscles)
    ph.dynamics({q[n]: v[n] for n in names} | {v[n]: a[k] for k, n in enumerate(names)})
    N = normal_force(tree, model, place, speed, a)
    ph.path(vertcat(HALF_WIDTH * N - muscles[0], HALF_WIDTH * N + muscles[0]), lower=0.0, name="foot flat on the ground")
    return ocp, ph, t, {"q": q, "v": v, "u": u}


def _unit(control: str) -> str:
    return "N" if control[0] == "f" else "N m"


def normal_force(tree: Tree, model: Mechanism, q: Any, v: Any, a: Any) -> SX:
    """What the slope carries (N); the foot stays on it while this is positive."""
    momentum, acceleration = height_momentum(tree), SX.sym("a", len(model.coordinates))
    rate = jtimes(momentum, model.q, model.v) + jtimes(momentum, model.v, acceleration)
    weight = sum(MASSES) * GRAVITY * float(cos(SLOPE))
    return Function("N", [model.q, model.v, acceleration], [rate + weight])(q, v, a)


def lift(duration: float = 1.0) -> Problem:
    """From a crouch, leg uphill and body leaning back downhill, to plumb with the links half extended."""
    crouch = {"psi1": pi / 3, "psi2": 2 * pi / 3, "q8": 0.1, "q9": 0.1}
    plumb = {"psi1": VERTICAL, "psi2": VERTICAL, "q8": 0.5, "q9": 0.5}
    ocp, ph, _, of = _work("exoskeleton-lift", duration, crouch, plumb)
    ocp.minimize(ph.integral(sumsqr(vertcat(*[u / LIMITS[n] for n, u in of["u"].items()]))))
    return ocp


def assist(duration: float = 2.0, depth: float = 0.5, deviation: float = 0.03, stiffness: float = 40.0) -> Problem:
    """A squat of the wearer, ``depth`` rad deep, followed to ``deviation`` rad (root mean square).

    The wearer's joints pull towards the wearer's own movement with ``stiffness`` (N m/rad) and a tenth of it as damping.
    """

    def movement(t: Any) -> dict[str, Any]:
        bend = depth * (1 - cos(2 * pi * t / duration)) / 2
        return {"psi1": VERTICAL - bend, "psi2": VERTICAL + bend}

    def wearer(t: Any, q: dict[str, Any], v: dict[str, Any]) -> dict[str, Any]:
        towards = {n: stiffness * (aim - q[n]) + stiffness / 10 * (jtimes(aim, t, 1) - v[n]) for n, aim in movement(t).items()}
        return {"ankle": towards["psi1"] + towards["psi2"], "hip": towards["psi2"]}

    rest = {"psi1": VERTICAL, "psi2": VERTICAL, "q8": 0.3, "q9": 0.3}
    ocp, ph, t, of = _work("exoskeleton-assist", duration, rest, rest, wearer)
    missed = sumsqr(vertcat(*[of["q"][n] - aim for n, aim in movement(t).items()]))
    ocp.require(ph.integral(missed) / duration, upper=deviation**2, name="mean square deviation from the wearer")
    ocp.minimize(ph.integral(sumsqr(vertcat(*[u / LIMITS[n] for n, u in of["u"].items()]))))
    return ocp
