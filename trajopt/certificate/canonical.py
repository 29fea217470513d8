"""States and costates together as one motion, so that the costates are integrated forward too, and
first integrals with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import casadi
import numpy as np

from trajopt.certificate.forward_validation import RowNames, whole_motions
from trajopt.certificate.linearized_motion import LOST
from trajopt.certificate.motion import Reintegration
from trajopt.certificate.phase_conditions import PhaseConditions
from trajopt.certificate.sampled_solution import SampledPhase
from trajopt.certificate.table import Check, skipped
from trajopt.integrate.tableaus import Tableau
from trajopt.statement.bounds import Bound

COSTATES = RowNames(
    "re-integration of costates",
    "re-integration of costates, stabilized",
    "drift of first integrals",
)


def costate_motions(
    phases: Sequence[PhaseConditions], scheme: Tableau, tolerance: float
) -> list[Check]:
    """Each phase integrated forward with its costates, from its start alone; with first integrals
    stabilized a second time.

    The rates take the controls from the answer, as those of the motion do; phases where multipliers
    of constraints would enter the costates are left out.
    """
    run = [Reintegration(canonical(e), scheme) for e in phases if not _constrained(e)]
    if not run:
        return [skipped(COSTATES.plain, "constraints or kinks act on the costates")]
    # A stiff motion has costates that only an integration backwards would follow.
    run = [motion for motion in run if motion.linear.fastest_growth < LOST]
    if not run:
        return [skipped(COSTATES.plain, "costates grow beyond any precision within one interval")]
    return whole_motions(run, tolerance, COSTATES)


def canonical(e: PhaseConditions) -> SampledPhase:
    """A phase with its costates as further states, x' = dH/dcostate, costate' = -dH/dx."""
    ph, form = e.phase, e.phase.form
    n = form.x.numel()
    y = e.ham.symbols.sym("canonical", 2 * n)
    H = casadi.substitute(e.ham.H, e.ham.weight, casadi.DM(e.weight)) if e.weight.size else e.ham.H
    rates = casadi.vertcat(form.f, -casadi.gradient(H, form.x))
    old, new = [form.x, form.costate], [y[:n], y[n:]]
    f, l, *invariants = casadi.substitute(
        [rates, form.l, *[i.expression for i in form.invariants]], old, new
    )
    doubled = tuple(
        replace(
            q,
            name=_name(q.name),
            rows=slice(n + q.rows.start, n + q.rows.stop),
            bound=Bound.open(q.size),
            start=Bound.open(q.size),
            end=Bound.open(q.size),
        )
        for q in form.states
    )
    stated = tuple(
        replace(i, expression=x) for i, x in zip(form.invariants, invariants, strict=True)
    )
    whole = replace(
        form,
        x=y,
        f=f,
        l=l,
        states=(*form.states, *doubled),
        costate=e.ham.symbols(0, 1),
        invariants=stated,
    )
    curves = {**ph.given.states, **{_name(q.name): ph.given.costates[q.name] for q in form.states}}
    sizes = np.concatenate([ph.sizes, e.costate_sizes])
    return replace(ph, form=whole, given=replace(ph.given, states=curves), told_sizes=sizes)


def _name(state: str) -> str:
    return f"costate of {state}"


def _constrained(e: PhaseConditions) -> bool:
    form, kinks = e.phase.form, e.kinks
    if kinks is not None and kinks.on.any():
        return True
    return bool(casadi.depends_on(casadi.vertcat(form.g, form.c), form.x) or e.fit.strength > 0)
