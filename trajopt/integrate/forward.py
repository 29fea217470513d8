"""flow: a motion x' = f(t, x) given directly, not as a system; controls may jump at known times.

It is the independent integrator behind checks of trajectories: at each break it starts anew, so that a jump costs no accuracy.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import casadi
import numpy as np

from trajopt.errors import UsageError
from trajopt.integrate.dense_output import Path, Segment
from trajopt.integrate.events import run
from trajopt.integrate.fixed_step import Integrator
from trajopt.integrate.library_integrators import Dop853
from trajopt.integrate.rates import NumpyRate, Rate, numpy_callable, rate_of


def flow(
    rate: casadi.Function | NumpyRate,
    t0: float,
    t1: float,
    x0: Sequence[float] | np.ndarray,
    breaks: Sequence[float] = (),
    integrator: Integrator | None = None,
    names: Sequence[str] = (),
) -> Path:
    """The motion from (t0, x0) to t1, callable at any time between; t1 may lie before t0.

    Parameters
    ----------
    rate : f(t, x), a CasADi function or a Python one.
    breaks : times at which the rate may jump; the integrator starts anew there.
    integrator : ``Dop853(1e-12)`` unless told otherwise.
    names : of the states, for error messages.

    Examples
    --------
    >>> path = flow(lambda t, x: np.array([1.0 if t < 0.5 else -1.0]), 0, 1, [0.0], breaks=[0.5])
    >>> [round(float(path(t)[0]), 12) for t in (0.5, 0.75)]
    [0.5, 0.25]
    """
    start = np.asarray(x0, dtype=float).reshape(-1)
    if not (np.isfinite(t0) and np.isfinite(t1)):
        raise UsageError("a motion needs finite times", got=(t0, t1))
    if t0 == t1:
        raise UsageError("a motion of no duration", got=(t0, t1), expected="two different times")
    field = rate_of(rate, tuple(names) or tuple(f"x{i}" for i in range(len(start))))
    low, high = min(t0, t1), max(t0, t1)
    inner = sorted({float(b) for b in breaks if low < b < high}, reverse=t1 < t0)
    knots = [float(t0), *inner, float(t1)]
    pieces: list[Segment] = []
    x = start
    for a, b in itertools.pairwise(knots):
        # Inside a leg the rate is asked for at times strictly inside it, so that a control that jumps at its end is not seen
        # early.
        leg, _ = run(_inside(field, a, b), integrator or Dop853(1e-12), (a, x, b))
        pieces += leg.pieces
        x = leg.pieces[-1].x[-1]
    return Path(tuple(pieces))


def _inside(field: Rate, a: float, b: float) -> Rate:
    """The same rate, with times at the very ends of a leg moved inside by less than round-off matters."""
    if field.function is not None:
        return field
    nudge = 4 * np.spacing(max(abs(a), abs(b)))
    low, high = min(a, b) + nudge, max(a, b) - nudge
    call = field.call
    return Rate(lambda t, x: call(min(max(t, low), high), x), field.names)


def controlled(dynamics: casadi.Function, controls: Callable[[float], np.ndarray]) -> NumpyRate:
    """The rate f(t, x, u(t)) of a CasADi function of (t, x, u) under controls given as a function of time.

    >>> t, x, u = casadi.SX.sym("t"), casadi.SX.sym("x"), casadi.SX.sym("u")
    >>> rate = controlled(casadi.Function("f", [t, x, u], [u - x]), lambda t: np.array([1.0]))
    >>> round(float(flow(rate, 0, 1, [0.0])(1.0)[0] - (1 - np.exp(-1))), 12) + 0.0
    0.0
    """
    call = numpy_callable(dynamics)
    return lambda t, x: call(t, x, controls(t))
