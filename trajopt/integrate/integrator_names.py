"""Names of integrators and stabilizations for the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from trajopt.errors import UsageError, suggest
from trajopt.integrate.adaptive import Dopri5, Fehlberg
from trajopt.integrate.corrections import ExtendedHamiltonian, MinimumNorm, Projection
from trajopt.integrate.fixed_step import Euler, Gill, Heun, Integrator, Rk2, Rk4, RungeKutta
from trajopt.integrate.library_integrators import Dop853, RadauIIA, Sundials
from trajopt.integrate.newmark import Newmark
from trajopt.integrate.reactions import Baumgarte, LinearLaw
from trajopt.integrate.stabilize import Stabilization
from trajopt.integrate.tableaus import MIDPOINT, RALSTON

STEP, TOLERANCE = 1e-3, 1e-10  # defaults

FIXED_STEP: Mapping[str, Callable[[float], Integrator]] = {
    "euler": Euler,
    "heun": Heun,
    "ralston": lambda step: RungeKutta(RALSTON, step),
    "midpoint": lambda step: RungeKutta(MIDPOINT, step),
    "rk4": Rk4,
    "gill": Gill,
    "newmark": Newmark,
}
ADAPTIVE: Mapping[str, Callable[[float], Integrator]] = {
    "fehlberg": Fehlberg,
    "dopri5": Dopri5,
    "dop853": Dop853,
    "radau": RadauIIA,
    "sundials": Sundials,
    "adams": lambda tolerance: Sundials(tolerance, formulas="adams"),
}
RK2 = "rk2:"  # before the weight k2 of a scheme of order 2
INTEGRATORS = (*FIXED_STEP, *ADAPTIVE)


Gain = float | tuple[float, ...] | None


def _baumgarte(gain: Gain) -> Stabilization:
    """One gain a, or alpha and beta of h'' + alpha h' + beta h = 0, f' + alpha/2 f = 0."""
    if not isinstance(gain, tuple):
        return Baumgarte(gain)
    if len(gain) != 2:
        raise UsageError(
            "baumgarte has one gain, or two: alpha and beta",
            got=", ".join(f"{one:g}" for one in gain),
            hint="--stabilize FILE.toml has one for each condition",
        )
    alpha, beta = gain
    return LinearLaw(A=-beta, B=-alpha, E=-alpha / 2)


def _projection(gain: Gain) -> Projection:
    if gain is not None:
        raise UsageError(
            "projection has no gain", got=gain, hint="omit --gain, or use --stabilize minimum-norm"
        )
    return Projection()


STABILIZATIONS: Mapping[str, Callable[[Gain], Stabilization]] = {
    "baumgarte": _baumgarte,
    "minimum-norm": MinimumNorm,
    "hamiltonian": ExtendedHamiltonian,
    "projection": _projection,
}


def _weight(name: str) -> float:
    """The weight k2 in a name such as rk2:0.75."""
    try:
        return float(name.removeprefix(RK2))
    except ValueError:
        raise UsageError(
            f"--integrator {name}", expected="a weight k2 of the second stage, as in rk2:0.75"
        ) from None


def integrator(name: str, step: float | None = None, tolerance: float | None = None) -> Integrator:
    """Return an integrator by name; a setting that it does not have is an error.

    >>> integrator("rk4", step=0.01).label
    'rk4, step 0.01'
    """
    if name in FIXED_STEP or name.startswith(RK2):
        if tolerance is not None:
            raise UsageError(
                f"'{name}' has a fixed step",
                got=f"a tolerance of {tolerance:g}",
                hint="use --step, or --integrator dop853",
            )
        size = STEP if step is None else step
        return FIXED_STEP[name](size) if name in FIXED_STEP else Rk2(size, _weight(name))
    if name not in ADAPTIVE:
        raise UsageError(
            f"unknown integrator '{name}'",
            expected=", ".join((*INTEGRATORS, "rk2:K2")),
            hint=suggest(name, INTEGRATORS),
        )
    if step is not None:
        raise UsageError(
            f"'{name}' is adaptive",
            got=f"a step of {step:g}",
            hint="use --tolerance, or --integrator rk4",
        )
    return ADAPTIVE[name](TOLERANCE if tolerance is None else tolerance)


def stabilization(name: str, gain: Gain = None) -> Stabilization:
    """Return a stabilization by name.

    >>> stabilization("baumgarte", 10.0).label
    'baumgarte, gain 10'
    """
    if name not in STABILIZATIONS:
        raise UsageError(
            f"unknown stabilization '{name}'",
            expected=", ".join(STABILIZATIONS),
            hint=suggest(name, STABILIZATIONS),
        )
    return STABILIZATIONS[name](gain)
