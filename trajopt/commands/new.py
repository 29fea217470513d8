"""``new``: a template for a new problem."""

from __future__ import annotations

import keyword
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

from trajopt.commands.exit_codes import SOLVED
from trajopt.commands.terminal import console
from trajopt.errors import FileError, UsageError
from trajopt.files.atomic import check_writable, write_text

TEMPLATE = '''\
"""A crane moves a hanging load from rest to rest, without residual swing, with minimum effort."""

from casadi import cos, sin

from trajopt import Problem, solve


def build(distance=5.0, duration=4.0, length=3.0, limit=4.0, g=9.81) -> Problem:
    ocp = Problem("{name}")
    ph = ocp.phase()

    # Time: a number fixes the final time,
    # free(1, 10) leaves it to the solver (from trajopt import free).
    ph.time(start=0, end=duration)

    # States: start= and end= fix boundary values, lower= and upper= are bounds.
    # Units appear in every plot and file.
    x = ph.state("x", start=0, end=distance, unit="m")
    v = ph.state("v", start=0, end=0, unit="m/s")
    angle = ph.state("angle", start=0, end=0, unit="rad")
    rate = ph.state("rate", start=0, end=0, unit="rad/s")

    # Controls: chosen by the solver.
    a = ph.control("a", lower=-limit, upper=limit, unit="m/s^2")

    # Dynamics: the time derivative of every state.
    ph.dynamics({{x: v, v: a, angle: rate, rate: -(g * sin(angle) + a * cos(angle)) / length}})

    # Also possible: ph.path(angle, lower=-0.3, upper=0.3),
    # ocp.require(ph.final(x) - ph.initial(x), equals=distance),
    # ocp.parameter("mass", 2.0); for minimum time: t = ph.time(start=0, end=free(1, 10))
    # and ocp.minimize(ph.final(t)).
    ocp.minimize(ph.integral(a**2))
    return ocp


if __name__ == "__main__":
    solution = solve(build()).check()
    print(solution.objective, solution["x"](1.0), solution.costate("x")(0.0))
'''


def run_new(path: Path) -> int:
    """Write the template. An existing file is never overwritten."""
    if path.suffix != ".py":
        raise UsageError(
            f"'{path}' is not the name of a Python file",
            expected="a name that ends in .py",
            hint=f"trajopt new {path.stem}.py",
        )
    if not path.stem.isidentifier() or keyword.iskeyword(path.stem):
        raise UsageError(
            f"'{path.name}' cannot be imported",
            expected="letters, digits and underscores before .py, and no keyword of Python",
        )
    if path.stem in sys.stdlib_module_names or path.stem in packages_distributions():
        raise UsageError(
            f"'{path.name}' would hide the module '{path.stem}' from programs beside it",
            expected="a name that no installed module has",
            hint=f"trajopt new my_{path.stem}.py",
        )
    if path.exists() and not path.is_dir():
        raise FileError(f"'{path}' already exists", hint="choose another name; nothing was written")
    check_writable(path)
    write_text(path, TEMPLATE.format(name=path.stem.replace("_", "-")))
    shown = path if path.is_absolute() else f"./{path}"
    console().print(
        f"wrote {path}; next: trajopt solve {shown}:build --plot {path.with_suffix('.png')}"
    )
    return SOLVED
