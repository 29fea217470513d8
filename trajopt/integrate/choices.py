"""The names under which integrators and stabilizations are known to the command line: the only place where they are strings."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from trajopt.errors import UsageError, suggest
from trajopt.integrate.adaptive import Dop853, Fehlberg, Radau, Sundials
from trajopt.integrate.stabilize import Baumgarte, ExtendedHamiltonian, MinimumNorm, Projection, Stabilization
from trajopt.integrate.steppers import Euler, Gill, Heun, Integrator, Newmark, Rk4

STEP, TOLERANCE = 1e-3, 1e-10

INTEGRATORS: Mapping[str, Callable[[float | None, float | None], Integrator]] = {
    "euler": lambda step, tolerance: Euler(STEP if step is None else step),
    "heun": lambda step, tolerance: Heun(STEP if step is None else step),
    "rk4": lambda step, tolerance: Rk4(STEP if step is None else step),
    "gill": lambda step, tolerance: Gill(STEP if step is None else step),
    "newmark": lambda step, tolerance: Newmark(STEP if step is None else step),
    "fehlberg": lambda step, tolerance: Fehlberg(TOLERANCE if tolerance is None else tolerance),
    "dop853": lambda step, tolerance: Dop853(TOLERANCE if tolerance is None else tolerance),
    "radau": lambda step, tolerance: Radau(TOLERANCE if tolerance is None else tolerance),
    "sundials": lambda step, tolerance: Sundials(TOLERANCE if tolerance is None else tolerance),
}
FIXED_STEP = frozenset({"euler", "heun", "rk4", "gill", "newmark"})

STABILIZATIONS: Mapping[str, Callable[[float | None], Stabilization]] = {
    "baumgarte": Baumgarte,
    "minimum-norm": MinimumNorm,
    "hamiltonian": ExtendedHamiltonian,
    "projection": lambda gain: _projection(gain),
}


def _projection(gain: float | None) -> Projection:
    if gain is not None:
        raise UsageError("projection takes no gain", got=gain, hint="leave the gain out, or choose 'baumgarte' or 'minimum-norm'")
    return Projection()


def integrator(name: str, step: float | None = None, tolerance: float | None = None) -> Integrator:
    """An integrator by name; a setting that it does not have is an error.

    >>> integrator("rk4", step=0.01).label
    'rk4, step 0.01'
    """
    if name not in INTEGRATORS:
        raise UsageError(f"no integrator is called '{name}'", expected=", ".join(INTEGRATORS), hint=suggest(name, INTEGRATORS))
    if name in FIXED_STEP and tolerance is not None:
        raise UsageError(
            f"'{name}' works with a fixed step",
            got=f"a tolerance of {tolerance:g}",
            hint="give a step, or choose 'dop853' or 'fehlberg'",
        )
    if name not in FIXED_STEP and step is not None:
        raise UsageError(f"'{name}' chooses its steps", got=f"a step of {step:g}", hint="give a tolerance, or choose 'rk4'")
    return INTEGRATORS[name](step, tolerance)


def stabilization(name: str, gain: float | None = None) -> Stabilization:
    """A stabilization by name.

    >>> stabilization("baumgarte", 10.0).label
    'baumgarte, gain 10'
    """
    if name not in STABILIZATIONS:
        raise UsageError(
            f"no stabilization is called '{name}'", expected=", ".join(STABILIZATIONS), hint=suggest(name, STABILIZATIONS)
        )
    return STABILIZATIONS[name](gain)
