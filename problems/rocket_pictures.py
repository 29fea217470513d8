"""Pictures of the rocket: a transfer with its burns, primer vector and switching function; deviations brought back to zero."""

from pathlib import Path
from typing import Any

import numpy as np

from problems.lawden_cauchy import GAINS, disturbances
from problems.thrust import switching
from trajopt import Solution
from trajopt.integrate import ExtendedHamiltonian, MinimumNorm

BURN, COAST, PRIMER = "#c1440e", "#8a8f98", "#1f5a92"
INSTANTS = 200  # of each phase


def transfer_picture(solution: Solution, path: str | Path) -> None:
    """Orbit with thrust arcs, size of the primer vector and switching function of a transfer with bounded thrust.

    For ``min-time-transfer``, ``many-revolutions`` and ``min-fuel-transfer``, with the polar states r, theta, vr, vt, m, c. The
    size of the primer vector is drawn relative to its largest value.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 5), layout="constrained")
    axes = figure.subplot_mosaic([["orbit", "primer"], ["orbit", "switching"]])
    arcs = [_arc(solution, name) for name in solution.phases]
    largest = max(float(arc["primer"].max()) for arc in arcs)
    for arc in arcs:
        colour, width = (BURN, 2.2) if arc["burning"] else (COAST, 1.0)
        axes["orbit"].plot(arc["r"] * np.cos(arc["theta"]), arc["r"] * np.sin(arc["theta"]), color=colour, linewidth=width)
        axes["primer"].plot(arc["t"], arc["primer"] / largest, color=PRIMER)
        axes["switching"].plot(arc["t"], arc["switching"], color=colour, linewidth=width)
    circle = np.linspace(0, 2 * np.pi, 200)
    for radius in (arcs[0]["r"][0], arcs[-1]["r"][-1]):
        axes["orbit"].plot(radius * np.cos(circle), radius * np.sin(circle), color=COAST, linewidth=0.6, linestyle=":")
    axes["orbit"].set_aspect("equal")
    axes["orbit"].set_title(f"{solution.problem}: burns and coasts", loc="left")
    axes["primer"].set_ylabel("size of the primer vector")
    axes["switching"].axhline(0, color="black", linewidth=0.6)
    axes["switching"].set_ylabel("switching function")
    axes["switching"].set_xlabel("time")
    figure.savefig(path, dpi=150)


def deviations_picture(path: str | Path, sizes: tuple[float, ...] = (0.001, 0.003, 0.01)) -> None:
    """The document's figure 18: the norm of the deviations of g1 and g2 over time, for several disturbances and both ways."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    ways = (("minimum norm", MinimumNorm(GAINS), "-"), ("extended Hamiltonian", ExtendedHamiltonian(GAINS), "--"))
    for label, way, line in ways:
        for size, (t, norm) in disturbances(sizes, way).items():
            shade = 0.35 + 0.65 * size / max(sizes)
            axes.semilogy(
                t, norm, line, color=PRIMER if line == "-" else BURN, alpha=shade, label=f"{label}, disturbance {size:g}"
            )
    axes.set_xlabel("time")
    axes.set_ylabel("norm of the deviations")
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=150)


def _arc(solution: Solution, name: str) -> dict[str, Any]:
    phase = solution.phases[name]
    t = np.linspace(phase.t0, phase.tf, INSTANTS)
    vr, vt, m = (-np.ravel(phase.costates[state](t)) for state in ("vr", "vt", "m"))
    mass, exhaust = (np.ravel(phase.states[state](t)) for state in ("m", "c"))
    function = switching((vr, vt), m, mass, exhaust)
    return {
        "t": t,
        "r": np.ravel(phase.states["r"](t)),
        "theta": np.ravel(phase.states["theta"](t)),
        "primer": np.hypot(vr, vt),
        "switching": np.asarray(function).ravel(),
        "burning": not name.startswith("coast"),
    }
