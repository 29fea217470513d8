"""Names of integrators and stabilizations for the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from trajopt.errors import UsageError, suggest
from trajopt.integrate.adaptive import Fehlberg
from trajopt.integrate.corrections import ExtendedHamiltonian, MinimumNorm, Projection
from trajopt.integrate.fixed_step import Euler, Gill, Heun, Integrator, Rk4
from trajopt.integrate.library_integrators import Dop853, RadauIIA, Sundials
from trajopt.integrate.newmark import Newmark
from trajopt.integrate.reactions import Baumgarte
from trajopt.integrate.stabilize import Stabilization

STEP, TOLERANCE = 1e-3, 1e-10  # defaults

FIXED_STEP: Mapping[str, Callable[[float], Integrator]] = {
    "euler": Euler,
    "heun": Heun,
    "rk4": Rk4,
    "gill": Gill,
    "newmark": Newmark,
}
ADAPTIVE: Mapping[str, Callable[[float], Integrator]] = {
    "fehlberg": Fehlberg,
    "dop853": Dop853,
    "radau": RadauIIA,
    "sundials": Sundials,
}
INTEGRATORS = (*FIXED_STEP, *ADAPTIVE)


Gain = float | tuple[float, ...] | None


def _baumgarte(gain: Gain) -> Baumgarte:
    if isinstance(gain, tuple):
        raise UsageError(
            "baumgarte has one gain",
            got=", ".join(f"{one:g}" for one in gain),
            hint="--stabilize minimum-norm has one for each row",
        )
    return Baumgarte(gain)


def _projection(gain: Gain) -> Projection:
    if gain is not None:
        raise UsageError("projection has no gain", got=gain, hint="omit --gain, or use --stabilize minimum-norm")
    return Projection()


STABILIZATIONS: Mapping[str, Callable[[Gain], Stabilization]] = {
    "baumgarte": _baumgarte,
    "minimum-norm": MinimumNorm,
    "hamiltonian": ExtendedHamiltonian,
    "projection": _projection,
}


def integrator(name: str, step: float | None = None, tolerance: float | None = None) -> Integrator:
    """Return an integrator by name; a setting that it does not have is an error.

    >>> integrator("rk4", step=0.01).label
    'rk4, step 0.01'
    """
    if name in FIXED_STEP:
        if tolerance is not None:
            raise UsageError(
                f"'{name}' has a fixed step",
                got=f"a tolerance of {tolerance:g}",
                hint="use --step, or --integrator dop853",
            )
        return FIXED_STEP[name](STEP if step is None else step)
    if name not in ADAPTIVE:
        raise UsageError(f"unknown integrator '{name}'", expected=", ".join(INTEGRATORS), hint=suggest(name, INTEGRATORS))
    if step is not None:
        raise UsageError(f"'{name}' is adaptive", got=f"a step of {step:g}", hint="use --tolerance, or --integrator rk4")
    return ADAPTIVE[name](TOLERANCE if tolerance is None else tolerance)


def stabilization(name: str, gain: Gain = None) -> Stabilization:
    """Return a stabilization by name.

    >>> stabilization("baumgarte", 10.0).label
    'baumgarte, gain 10'
    """
    if name not in STABILIZATIONS:
        raise UsageError(
            f"unknown stabilization '{name}'", expected=", ".join(STABILIZATIONS), hint=suggest(name, STABILIZATIONS)
        )
    return STABILIZATIONS[name](gain)
