"""The picture at the top of the README: a statement of ten lines beside the motion that solves it.

python notebooks/figures/readme.py
"""

from pathlib import Path

import numpy as np
from casadi import cos, pi, sin
from matplotlib.figure import Figure

from trajopt import Problem, solve

HERE = Path(__file__).parent
INK, BLUE, ORANGE, GRAY = "#1f2328", "#0072b2", "#d55e00", "#8c959f"
FRAMES = 15


def build() -> Problem:
    # statement
    ocp = Problem("swing-up")
    ph = ocp.phase()
    ph.time(start=0, end=2)
    x = ph.state("x", start=0, end=1, unit="m")
    q = ph.state("q", start=0, end=pi, unit="rad")
    dx = ph.state("dx", start=0, end=0)
    dq = ph.state("dq", start=0, end=0)
    F = ph.control("F", lower=-20, upper=20, unit="N")
    pull = F + 0.15 * sin(q) * dq**2 + 2.943 * sin(q) * cos(q)
    ddx = pull / (1 + 0.3 * sin(q) ** 2)
    ddq = -2 * (ddx * cos(q) + 9.81 * sin(q))
    ph.dynamics({x: dx, q: dq, dx: ddx, dq: ddq})
    ocp.minimize(ph.integral(F**2))
    # end
    return ocp


def statement() -> str:
    """The lines of ``build`` between its two comments."""
    text = (
        Path(__file__)
        .read_text(encoding="utf-8")
        .split("    # statement\n")[1]
        .split("    # end\n")[0]
    )
    return "\n".join(line.removeprefix("    ") for line in text.splitlines())


def main() -> None:
    solution = solve(build()).check()
    figure = Figure(figsize=(12.5, 4.4), dpi=110)
    code, motion, force = (
        figure.add_axes(box)
        for box in ((0.01, 0, 0.47, 1), (0.5, 0.31, 0.49, 0.6), (0.55, 0.13, 0.42, 0.15))
    )
    code.axis("off")
    listing = statement() + "\n\nsolve(ocp)"
    code.text(
        0.02, 0.95, listing, family="monospace", fontsize=10.8, color=INK, va="top", linespacing=1.5
    )
    _draw_motion(motion, solution)
    times = np.linspace(0, 2, 400)
    force.plot(times, solution["F"](times), color=ORANGE, linewidth=1.6)
    force.axhline(0, color=GRAY, linewidth=0.6)
    force.set_xlim(0, 2)
    force.set_xlabel("time [s]", fontsize=8)
    force.set_ylabel("F [N]", fontsize=8)
    force.tick_params(labelsize=8)
    force.spines[["top", "right"]].set_visible(False)
    note = f"cost {solution.objective:.6f}, estimated error {solution.error:.0e}"
    motion.set_title(note, fontsize=9, color=INK, loc="right")
    figure.savefig(HERE / "swing-up.png")


def _draw_motion(axes, solution) -> None:
    """Cart and pole at equal steps of time, later ones darker, over the path of the pole's end."""
    times = np.linspace(0, 2, 300)
    x, q = solution["x"](times), solution["q"](times)
    axes.plot(x + 0.5 * np.sin(q), -0.5 * np.cos(q), color=BLUE, linewidth=1, alpha=0.5)
    axes.axhline(0, color=GRAY, linewidth=1.2, zorder=0)
    for k, t in enumerate(np.linspace(0, 2, FRAMES)):
        shade = 0.15 + 0.85 * (k / (FRAMES - 1)) ** 2
        cart, angle = solution["x"](t), solution["q"](t)
        axes.fill(
            [cart - 0.11, cart + 0.11, cart + 0.11, cart - 0.11],
            [-0.05, -0.05, 0.05, 0.05],
            color=INK,
            alpha=0.6 * shade,
        )
        axes.plot(
            [cart, cart + 0.5 * np.sin(angle)],
            [0, -0.5 * np.cos(angle)],
            color=BLUE,
            linewidth=2.2,
            alpha=shade,
        )
        axes.plot(
            cart + 0.5 * np.sin(angle),
            -0.5 * np.cos(angle),
            "o",
            color=BLUE,
            markersize=9,
            alpha=shade,
        )
    axes.set_aspect("equal")
    axes.axis("off")


if __name__ == "__main__":
    main()
