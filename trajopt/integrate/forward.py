"""``flow``: integrate x' = f(t, x) given as a function, with discontinuities at known times.

It is the independent integrator for checks of trajectories. It restarts at each break, so that
jumps do not reduce accuracy.
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
    """Integrate from (t0, x0) to t1 and return the path; t1 may be less than t0.

    Parameters
    ----------
    rate : f(t, x), a CasADi or Python function.
    breaks : times at which the rate may be discontinuous; the integrator restarts there.
    integrator : ``Dop853(1e-12)`` by default.
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
        raise UsageError("a motion of zero duration", got=(t0, t1), expected="two different times")
    field = rate_of(rate, tuple(names) or tuple(f"x{i}" for i in range(len(start))))
    low, high = min(t0, t1), max(t0, t1)
    inner = sorted({float(b) for b in breaks if low < b < high}, reverse=t1 < t0)
    knots = [float(t0), *inner, float(t1)]
    pieces: list[Segment] = []
    x = start
    for a, b in itertools.pairwise(knots):
        # Within a leg the rate is evaluated strictly inside, so that a control that jumps at the
        # end of the leg is not evaluated after the jump.
        leg, _ = run(_inside(field, a, b), integrator or Dop853(1e-12), (a, x, b))
        pieces += leg.pieces
        x = leg.pieces[-1].x[-1]
    return Path(tuple(pieces))


def _inside(field: Rate, a: float, b: float) -> Rate:
    """Return the rate with times at the ends of a leg shifted inside by a few
    units of round-off.
    """
    if field.function is not None:
        return field
    shift = 4 * np.spacing(max(abs(a), abs(b)))
    low, high = min(a, b) + shift, max(a, b) - shift
    call = field.call
    return Rate(lambda t, x: call(min(max(t, low), high), x), field.names)


def controlled(dynamics: casadi.Function, controls: Callable[[float], np.ndarray]) -> NumpyRate:
    """Return the rate f(t, x, u(t)) for a CasADi function of (t, x, u) and controls as a function
    of time.

    >>> t, x, u = casadi.SX.sym("t"), casadi.SX.sym("x"), casadi.SX.sym("u")
    >>> rate = controlled(casadi.Function("f", [t, x, u], [u - x]), lambda t: np.array([1.0]))
    >>> round(float(flow(rate, 0, 1, [0.0])(1.0)[0] - (1 - np.exp(-1))), 12) + 0.0
    0.0
    """
    call = numpy_callable(dynamics)
    return lambda t, x: call(t, x, controls(t))
