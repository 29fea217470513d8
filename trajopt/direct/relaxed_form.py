"""The relaxed problem: in chosen phases a mixture of two controls takes the place of one.

    x' = w f(x, u) + (1 - w) f(x, v),   0 <= w <= 1,

and so for every integrand; both controls obey the path constraints (Warga, Optimal Control of
Differential and Functional Equations, 1972).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.statement.bounds import Bound
from trajopt.statement.normal_form import (
    Endpoints,
    NamedVector,
    NormalForm,
    PhaseForm,
    stacked_bounds,
)

SHARE = "share"


def relaxed_form(form: NormalForm, chosen: tuple[NDArray[np.bool_], ...]) -> NormalForm | None:
    """The relaxed problem with copies of the controls that have a ``chosen`` component, by phase.

    None where conditions or the cost depend on controls at an end, which a mixture does not have,
    and where they depend on states at given times, which knots between the controls would move.
    """
    if form.sampled:
        return None
    phases = []
    for phase, which in zip(form.phases, chosen, strict=True):
        ends = casadi.vertcat(phase.ends.u0, phase.ends.uf)
        if which.any() and (
            phase.algebraics or casadi.depends_on(casadi.vertcat(form.phi, form.b), ends)
        ):
            return None
        phases.append(_relaxed_phase(form.symbols, phase, which) if which.any() else phase)
    return replace(form, phases=tuple(phases))


def copied_columns(phase: PhaseForm, which: NDArray[np.bool_]) -> list[int]:
    """The components of the controls of a phase that have a copy in the relaxed one, in order."""
    return [
        i for q in phase.controls if which[q.rows].any() for i in range(q.rows.start, q.rows.stop)
    ]


def _relaxed_phase(sym: Any, phase: PhaseForm, which: NDArray[np.bool_]) -> PhaseForm:
    copied = [q for q in phase.controls if which[q.rows].any()]
    first = phase.u.numel()
    total = first + sum(q.size for q in copied) + 1
    u = sym.sym("u", total)
    own, copies, place = u[:first], [u[i] for i in range(first)], first
    controls = list(phase.controls)
    for q in copied:
        rows = slice(place, place + q.size)
        copies[q.rows] = [u[i] for i in range(rows.start, rows.stop)]
        controls.append(replace(q, name=f"second {q.name}", rows=rows, guess=None))
        place = rows.stop
    controls.append(_share(slice(place, place + 1)))
    w, other = u[place], casadi.vertcat(*copies)
    f, l = (
        [casadi.substitute([e], [phase.u], [v])[0] for v in (own, other)]
        for e in (phase.f, phase.l)
    )
    c = [casadi.substitute([phase.c], [phase.u], [v])[0] for v in (own, other)]
    mixed = (
        np.flatnonzero(casadi.which_depends(phase.c, phase.u, 1, True)).tolist()
        if phase.c.numel()
        else []
    )
    bound = phase.c_bound
    again = Bound(bound.lower[mixed], bound.upper[mixed])
    return replace(
        phase,
        u=u,
        controls=tuple(controls),
        f=w * f[0] + (1 - w) * f[1],
        l=w * l[0] + (1 - w) * l[1],
        c=casadi.vertcat(c[0], *[c[1][row] for row in mixed]),
        c_bound=stacked_bounds([bound, again]),
        c_names=(*phase.c_names, *[f"{phase.c_names[row]} of the second control" for row in mixed]),
        ends=_ends(sym, phase.ends, total),
        invariants=(),
    )


def _share(rows: slice) -> NamedVector:
    nothing = Bound.open(1)
    return NamedVector(
        SHARE, 1, "", rows, Bound(np.zeros(1), np.ones(1)), None, None, nothing, nothing
    )


def _ends(sym: Any, ends: Endpoints, size: int) -> Endpoints:
    return replace(ends, u0=sym.sym("u0", size), uf=sym.sym("uf", size))
