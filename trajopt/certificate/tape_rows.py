"""The row of the compiled core: its tapes against CasADi's interpreter, at points of the
trajectory.
"""

from __future__ import annotations

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.certificate.sampled_solution import SampledPhase, SampledSolution
from trajopt.certificate.table import Check, judged
from trajopt.compiled.pointwise import Pointwise

TAPES = "compiled tapes"
INSTANTS = 20


def compiled_tapes(whole: SampledSolution) -> list[Check]:
    """The models of all phases and their derivatives, evaluated by tapes and by CasADi: both give
    the same bits.
    """
    worst, count = 0.0, 0
    for k, ph in enumerate(whole.phases):
        times = ph.times.ravel()
        some = times[np.unique(np.linspace(0, times.size - 1, INSTANTS).astype(int))]
        at = [some[None, :], ph.x(some), ph.z(some), ph.u(some), whole.s[:, None], whole.p[:, None]]
        for function in (whole.form.models[k], _slopes(ph)):
            if function.tape is None:
                continue
            count += 1
            with np.errstate(all="ignore"):
                worst = max(
                    worst,
                    _difference(
                        function.tape.run(at, some.size), function.by_casadi(at, some.size)
                    ),
                )
    remark = (
        f"{count} tapes and CasADi's interpreter at {INSTANTS} points"
        if count
        else "CasADi evaluates all models"
    )
    return [judged(TAPES, worst, 0.0, remark)]


def _slopes(ph: SampledPhase) -> Pointwise:
    """The gradient of the sum of all rows of the model."""
    form = ph.form
    variables = casadi.vertcat(*[v for v in (form.x, form.z, form.u) if v.numel()])
    inputs = [form.t, form.x, form.z, form.u, ph.symbols_s, ph.symbols_p]
    if not isinstance(variables, casadi.SX):  # which have no tapes
        return Pointwise(casadi.Function("slopes", inputs, [form.f]))
    return Pointwise(
        casadi.Function(
            "slopes", inputs, [casadi.densify(casadi.gradient(casadi.sum1(form.rows), variables))]
        )
    )


def _difference(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """The largest relative difference; values that are not finite must be the same."""
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(all="ignore"):
        off = np.abs(a - b) / np.maximum(np.abs(a), np.abs(b))
    return float(np.where(same, 0.0, np.where(np.isfinite(off), off, np.inf)).max(initial=0.0))
