"""Pictures of the rocket: a transfer with its burns, primer vector and switching function;
deviations brought back to zero.

They go by the names of the states, whatever the coordinates: polar (r, theta, vr, vt), Cartesian
(r, v) or equinoctial elements (p, f, g, h, k, L); with a mass m and an exhaust speed c there is a
switching function.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from trajopt import Solution
from trajopt.errors import UsageError
from trajopt.trajectory.solution import PhaseSolution

INSTANTS = 400  # of each phase, more where the mesh is fine
ARROWS = 30  # along the whole transfer
VIEW = (-60.0, 35.0)  # of a transfer in space
ELEMENTS = ("p", "f", "g", "h", "k", "L")


@dataclass(frozen=True, eq=False)
class Leg:
    """A phase of a transfer at m instants; d is 2 or 3."""

    t: np.ndarray  # (m,)
    r: np.ndarray  # (m, d)
    v: np.ndarray  # (m, d)
    primer: np.ndarray  # (m,), the size of the primer vector
    thrust: (
        np.ndarray | None
    )  # (m, d): its direction, or its acceleration where that is a control; None while coasting
    switching: np.ndarray | None  # (m,), where thrust is bounded
    burning: np.ndarray  # (m,) of bool


def transfer_picture(solution: Solution, path: str | Path | None = None, mu: float = 1.0) -> Any:
    """The orbit with its thrust, the size of the primer vector, and the switching function.

    Where the power is limited and the exhaust speed free there is no switching: then the
    acceleration by thrust is drawn. The primer vector is drawn relative to its largest value, but
    for impulses, where it is 1 at each of them.
    """
    from trajopt.show.figure_style import heading, labelled, new_figure, settle, tidy, write_figure

    legs = [_leg(phase) for phase in solution.phases.values()]
    figure = new_figure(2, 2, (5.2, 2.7))
    axes = figure.subplot_mosaic([["orbit", "primer"], ["orbit", "below"]])
    _orbit(axes["orbit"], solution, legs, mu)
    impulses = "v_after" in solution.variables
    largest = 1.0 if impulses else max(float(leg.primer.max()) for leg in legs)
    bounded = any(leg.switching is not None for leg in legs)
    for name in ("primer", "below"):
        tidy(axes[name])
        axes[name].set_xlim(legs[0].t[0], legs[-1].t[-1])
    for leg in legs:
        for start, end, burning in _stretches(leg):
            style = _style(burning)
            axes["primer"].plot(leg.t[start:end], leg.primer[start:end] / largest, **style)
            values = (
                leg.switching
                if bounded
                else None
                if leg.thrust is None
                else np.linalg.norm(leg.thrust, axis=1)
            )
            if values is not None:
                axes["below"].plot(leg.t[start:end], values[start:end], **style)
            if bounded and burning:
                for panel in ("primer", "below"):
                    axes[panel].axvspan(
                        leg.t[start], leg.t[end - 1], color="#E69F00", alpha=0.15, linewidth=0
                    )
    unit = next(iter(solution.phases.values())).time_unit
    settle(
        axes["primer"], "size of the primer vector" + ("" if impulses else ", by its largest"), ""
    )
    if impulses:
        axes["primer"].axhline(1.0, color="#333333", linewidth=0.9, linestyle=(0, (5, 3)))
        axes["primer"].plot(
            [legs[0].t[0], legs[-1].t[-1]], [1.0, 1.0], "o", color="#D55E00", clip_on=False
        )
    _finish(axes["below"], solution, legs)
    axes["below"].set_xlabel(labelled("t", unit))
    heading(figure, f"{solution.problem}   objective {solution.objective:.8g}", solution.success)
    write_figure(figure, path)
    return figure


def _finish(axes: Any, solution: Solution, legs: list[Leg]) -> None:
    """What the lower panel shows where it is not the size of the thrust: it depends
    on the engine.
    """
    from trajopt.show.figure_style import settle

    first = next(iter(solution.phases.values()))
    if any(leg.switching is not None for leg in legs):
        axes.axhline(0.0, color="#333333", linewidth=0.9)
        settle(axes, "switching function: thrust where it is positive", "")
    elif not first.controls:
        axes.plot(legs[0].t, np.linalg.norm(legs[0].r, axis=1), **_style(False))
        settle(axes, "distance from the centre", first.states["r"].unit)
    elif first.controls["u"].size == 1:
        for line in list(axes.lines):
            line.remove()
        for leg, phase in zip(legs, solution.phases.values(), strict=True):
            axes.plot(leg.t, np.degrees(phase.controls["u"].evaluate(leg.t)[:, 0]), **_style(True))
        axes.relim()
        axes.autoscale(axis="y")
        settle(axes, "direction of thrust above the local horizontal", "deg")
    else:
        settle(axes, "acceleration by thrust", first.controls["u"].unit)


def deviations_picture(
    path: str | Path | None = None, sizes: tuple[float, ...] = (0.001, 0.003, 0.01)
) -> Any:
    """The document's figure 18: the norm of the deviations of g1 and g2 over time, for several
    disturbances.

    Not stabilized, by a correction of minimum norm, and by the extended Hamiltonian, with the
    document's gains.
    """
    from problems.rocket.lawden_cauchy import GAINS, disturbances
    from trajopt.integrate import ExtendedHamiltonian, MinimumNorm
    from trajopt.show.figure_style import (
        COLOURS,
        heading,
        logarithmic,
        new_figure,
        tidy,
        title,
        write_figure,
    )

    figure = new_figure(1, 1, (7.6, 3.8))
    axes = figure.subplots()
    tidy(axes)
    ways = {
        "not stabilized": None,
        "minimum norm": MinimumNorm(GAINS),
        "extended Hamiltonian": ExtendedHamiltonian(GAINS),
    }
    for number, (label, way) in enumerate(ways.items()):
        for size, (t, norm) in disturbances(sizes, way).items():
            shade = 0.4 + 0.6 * size / max(sizes)
            style = {
                "color": COLOURS[(5, 0, 1)[number]],
                "linestyle": (":", "-", "--")[number],
                "alpha": shade,
            }
            axes.semilogy(t, np.maximum(norm, 1e-17), label=f"{label}, {size:g}", **style)
    logarithmic(axes)
    axes.set_xlim(0.0, float(t[-1]))
    axes.set_xlabel("t")
    title(axes, "norm of the deviations of g1 and g2")
    axes.legend(
        fontsize=7.5,
        frameon=False,
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
        title="disturbance of x and m",
    )
    heading(figure, "lawden-cauchy   disturbed first integrals brought back")
    write_figure(figure, path)
    return figure


pictures = {"transfer": transfer_picture}  # of transfers between orbits where mu is 1
disturbed = {
    "disturbances": lambda simulation: deviations_picture()
}  # of the disturbed flow; it runs its own


def transfers_with(mu: float) -> dict[str, Any]:
    """The pictures of a problem with another mu."""
    return {"transfer": partial(transfer_picture, mu=mu)}


# From the names of the states
# --------------------------------------------------------------------------------------------------


def _leg(phase: PhaseSolution) -> Leg:
    t = np.linspace(phase.t0, phase.tf, max(INSTANTS, 15 * len(phase.breaks)))
    x = {name: curve.evaluate(t) for name, curve in phase.states.items()}
    lam = {name: -curve.evaluate(t) for name, curve in phase.costates.items()}
    if set(ELEMENTS) <= set(x):
        r, v, primer, axes = _equinoctial(x, lam)
    elif "vr" in x and "r" in x:
        r, v, primer, axes = _polar(t, x, lam)
    elif "v" in x and "r" in x:
        r, v, primer = x["r"], x["v"], lam["v"]
        axes = np.repeat(np.eye(r.shape[1])[None], len(t), axis=0)
    else:
        raise UsageError(
            "a transfer picture needs the states of an orbit",
            got=", ".join(x),
            expected="r and v, or r, vr and vt",
        )
    thrust = _thrust(phase, t, axes)
    throttle = (
        phase.controls["throttle"].evaluate(t)[:, 0]
        if "throttle" in phase.controls
        else np.ones(len(t))
    )
    lighter = (
        "m" in x and x["m"][-1, 0] < (1 - 1e-6) * x["m"][0, 0]
    )  # a burn without a choice has no controls
    burning = throttle > 0.5 if thrust is not None else np.full(len(t), lighter)
    size = np.linalg.norm(primer, axis=1)
    switching = (
        size / x["m"][:, 0] - lam["m"][:, 0] / x["c"][:, 0] if {"m", "c"} <= set(x) else None
    )
    return Leg(t, r, v, size, thrust, switching, burning)


def _polar(
    t: np.ndarray, x: dict[str, np.ndarray], lam: dict[str, np.ndarray]
) -> tuple[np.ndarray, ...]:
    """Place, velocity, primer vector (radial, transverse) and the unit vectors of both; the angle
    is integrated if no state.
    """
    r, vr = x["r"][:, 0], x["vr"][:, 0]
    vt = x["vt"][:, 0] if "vt" in x else 0 * r  # a vertical rise
    if "theta" in x:
        theta = x["theta"][:, 0]
    else:
        rate = vt / r
        theta = np.concatenate([[0.0], np.cumsum(np.diff(t) * (rate[1:] + rate[:-1]) / 2)])
    out = np.stack([np.cos(theta), np.sin(theta)], axis=1)
    ahead = np.stack([-np.sin(theta), np.cos(theta)], axis=1)
    primer = np.stack([lam["vr"][:, 0], lam["vt"][:, 0] if "vt" in lam else 0 * r], axis=1)
    return (
        r[:, None] * out,
        vr[:, None] * out + vt[:, None] * ahead,
        primer,
        np.stack([out, ahead], axis=1),
    )


def _equinoctial(x: dict[str, np.ndarray], lam: dict[str, np.ndarray]) -> tuple[np.ndarray, ...]:
    """The same in space, with the orbit's normal as third direction."""
    from casadi import SX, Function

    from problems.rocket.coordinates import Equinoctial

    q, elements = SX.sym("q", 6), Equinoctial()
    function = Function(
        "seen",
        [q],
        [elements.position(q), elements.velocity(q), elements.steering(q).reshape((18, 1))],
    )
    columns = np.stack([x[name][:, 0] for name in ELEMENTS])
    r, v, steering = (np.asarray(part.full()).T for part in function.map(columns.shape[1])(columns))
    matrix = steering.reshape(len(r), 3, 6)  # columns of the steering are rows here
    primer = np.einsum(
        "mij,mj->mi", matrix, np.stack([lam[name][:, 0] for name in ELEMENTS], axis=1)
    )
    out = r / np.linalg.norm(r, axis=1, keepdims=True)
    normal = np.cross(r, v)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    return r, v, primer, np.stack([out, np.cross(normal, out), normal], axis=1)


def _thrust(phase: PhaseSolution, t: np.ndarray, axes: np.ndarray) -> np.ndarray | None:
    """(m, d) in the axes of space, from a direction e, an acceleration u, or an angle u from the
    transverse direction.
    """
    for name in ("e", "u"):
        if name in phase.controls:
            values = phase.controls[name].evaluate(t)
            if values.shape[1] == 1:
                values = np.concatenate([np.sin(values), np.cos(values)], axis=1)
            return np.asarray(np.einsum("mi,mij->mj", values, axes))
    return None


def _stretches(leg: Leg) -> list[tuple[int, int, bool]]:
    """Where burning begins and ends in a leg: start, one after the end, whether it burns."""
    cuts = [0, *(np.flatnonzero(np.diff(leg.burning)) + 1).tolist(), len(leg.t)]
    return [(max(a - 1, 0), b, bool(leg.burning[a])) for a, b in pairwise(cuts)]


def _style(burning: bool) -> dict[str, Any]:
    return (
        {"color": "#D55E00", "linewidth": 2.2}
        if burning
        else {"color": "#0072B2", "linewidth": 1.2}
    )


# The orbit
# --------------------------------------------------------------------------------------------------


def _orbit(axes: Any, solution: Solution, legs: list[Leg], mu: float) -> None:
    from matplotlib.lines import Line2D

    from trajopt.show.figure_style import labelled, tidy
    from trajopt.show.scene import projected

    tidy(axes)
    for place, velocity in _ends(solution, legs, mu):
        ring = projected(_osculating(place, velocity, mu), VIEW)
        axes.plot(ring[:, 0], ring[:, 1], color="#999999", linewidth=0.8, linestyle=":")
    size = max(float(np.linalg.norm(leg.r, axis=1).max()) for leg in legs)
    strongest = max(
        (float(np.linalg.norm(leg.thrust, axis=1).max()) for leg in legs if leg.thrust is not None),
        default=1.0,
    )
    length = legs[-1].t[-1] - legs[0].t[0]
    for leg in legs:
        seen = projected(leg.r, VIEW)
        for start, end, burning in _stretches(leg):
            axes.plot(seen[start:end, 0], seen[start:end, 1], **_style(burning))
        if leg.thrust is not None and not _many(legs):
            count = max(2, round(ARROWS * (leg.t[-1] - leg.t[0]) / length))
            some = np.linspace(0, len(leg.t) - 1, count).round().astype(int)
            some = some[leg.burning[some]]
            along = projected(leg.thrust, VIEW)[some] * 0.22 * size / strongest
            arrows = {
                "angles": "xy",
                "scale_units": "xy",
                "scale": 1,
                "width": 0.004,
                "color": "#CC79A7",
                "zorder": 4,
            }
            axes.quiver(seen[some, 0], seen[some, 1], along[:, 0], along[:, 1], **arrows)
    first, last = projected(legs[0].r[0], VIEW), projected(legs[-1].r[-1], VIEW)
    axes.plot(*first, "o", color="white", markeredgecolor="#333333", zorder=5)
    axes.plot(*last, "s", color="#333333", markersize=5, zorder=5)
    axes.plot(0.0, 0.0, "*", color="#E69F00", markersize=10, zorder=5)
    axes.set_aspect("equal", adjustable="datalim")
    unit = getattr(next(iter(solution.phases.values())).states.get("r"), "unit", "")
    if legs[0].r.shape[1] == 2:
        axes.set_xlabel(labelled("x", unit))
        axes.set_ylabel(labelled("y", unit))
    else:
        axes.tick_params(labelbottom=False, labelleft=False)
    handles = [
        Line2D([], [], label=label, **_style(burning))
        for label, burning in (("thrust", True), ("coast", False))
    ]
    present = {burning for leg in legs for *_, burning in _stretches(leg)}
    handles = [
        handle for handle, burning in zip(handles, (True, False), strict=True) if burning in present
    ]
    handles.append(
        Line2D(
            [], [], color="#999999", linewidth=0.8, linestyle=":", label="orbits left and reached"
        )
    )
    axes.legend(handles=handles, fontsize=7.5, frameon=False, loc="upper right")


def _many(legs: list[Leg]) -> bool:
    """Whether there are so many turns that arrows would hide them."""
    angle = np.unwrap(np.concatenate([np.arctan2(leg.r[:, 1], leg.r[:, 0]) for leg in legs]))
    return bool(abs(angle[-1] - angle[0]) > 40)


def _ends(solution: Solution, legs: list[Leg], mu: float) -> list[tuple[np.ndarray, np.ndarray]]:
    """Place and velocity on the orbits that are left and reached; with impulses, before the first
    and after the last.
    """
    first, last = (legs[0].r[0], legs[0].v[0]), (legs[-1].r[-1], legs[-1].v[-1])
    after = solution.variables.get("v_after")
    if after is None:
        return [first, last]
    before = np.sqrt(mu / np.linalg.norm(first[0])) * np.array([0.0, 1.0, 0.0])
    return [(first[0], before), (last[0], np.asarray(after))]


def _osculating(r: np.ndarray, v: np.ndarray, mu: float) -> np.ndarray:
    """(n, d): the ellipse that a place and a velocity belong to; nothing where the
    orbit is open.
    """
    place, velocity = (np.concatenate([a, np.zeros(3 - len(a))]) for a in (r, v))
    momentum = np.cross(place, velocity)
    eccentricity = np.cross(velocity, momentum) / mu - place / np.linalg.norm(place)
    e = float(np.linalg.norm(eccentricity))
    if e >= 1:
        return np.full((1, len(r)), np.nan)
    along = eccentricity / e if e > 1e-9 else place / np.linalg.norm(place)
    across = np.cross(momentum / np.linalg.norm(momentum), along)
    angle = np.linspace(0.0, 2 * np.pi, 361)[:, None]
    distance = momentum @ momentum / mu / (1 + e * np.cos(angle))
    return np.asarray((distance * (np.cos(angle) * along + np.sin(angle) * across))[:, : len(r)])
