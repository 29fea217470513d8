"""From the last iterate to a Solution in the user's names."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from trajopt.curve import Curve
from trajopt.direct.costates import costate_curve
from trajopt.direct.iterate import Iterate
from trajopt.direct.mesh import AT_LOWER, AT_UPPER
from trajopt.direct.values import control_curve, point_curve, state_curve
from trajopt.nlp.program import places
from trajopt.normal_form import Quantity
from trajopt.solution import Arc, PhaseSolution

Array = NDArray[np.float64]


def phase_solutions(iterate: Iterate) -> dict[str, PhaseSolution]:
    """Curves by name."""
    solutions = {}
    for i, (ph, values, multipliers, estimate) in enumerate(
        zip(iterate.layout.phases, iterate.values, iterate.multipliers, iterate.estimates, strict=True)
    ):
        form = ph.form
        path = point_curve(ph, values.breaks, multipliers.path)
        solutions[form.name] = PhaseSolution(
            name=form.name,
            t0=values.t0,
            tf=values.tf,
            states=_by_name(form.states, state_curve(ph, values, _rates(iterate, i))),
            controls=_by_name(form.controls, control_curve(ph, values)),
            algebraics=_by_name(form.algebraics, point_curve(ph, values.breaks, values.Z)),
            costates=_by_name(form.states, costate_curve(ph, values, multipliers)),
            path_multipliers={name: path.rows(slice(r, r + 1)) for r, name in enumerate(form.c_names)},
            integrals=_integrals(iterate, i),
            breaks=values.breaks,
            degrees=tuple(int(d) for d in ph.mesh.degrees),
            errors=estimate.errors,
            time_unit=form.time_unit,
        )
    return solutions


def _integrals(iterate: Iterate, index: int) -> Array:
    """The integrals of a phase by the scheme's own quadrature, in the order in which they were declared."""
    ph, values, form = iterate.layout.phases[index], iterate.values[index], iterate.layout.form
    phase = ph.form
    if not phase.l.numel():
        return np.zeros(0)
    times = np.interp(ph.point_times(), ph.mesh.spans[0], values.spans)
    s = iterate.program.start[iterate.layout.s : iterate.layout.s + form.s.numel()]
    shared = [np.repeat(column[:, None], ph.points, axis=1) for column in (s, iterate.program.parameters)]
    rows = np.asarray(form.models[index](times[None, :], values.X[ph.point_state].T, values.Z.T, values.U.T, *shared))
    integrands = rows[-phase.l.numel() :]
    lengths = np.diff(values.spans)[ph.mesh.spans[1]][ph.interval_of]
    return np.asarray(integrands @ (ph.weights * lengths))


def _rates(iterate: Iterate, index: int) -> Array | None:
    """(points, nx): the states' rates at the collocation points, where the state polynomials need them."""
    if not iterate.layout.scheme.shares_nodes:
        return None
    ph, values, block = iterate.layout.phases[index], iterate.values[index], iterate.program.blocks[index]
    arguments = places(block, iterate.program)
    outputs = np.asarray(block.kernel.constraints(*arguments))[: ph.nx].T
    return np.asarray(outputs / (values.tf - values.t0))


def arcs(iterate: Iterate, affine: tuple[NDArray[np.bool_], ...]) -> tuple[Arc, ...]:
    """The arcs between moving knots: what each control does on them, and which states and path constraints hold it."""
    found = []
    for ph, values, linear in zip(iterate.layout.phases, iterate.values, affine, strict=True):
        if ph.mesh.roles is None:
            continue
        firsts = [0, *ph.mesh.knots]
        for k, first in enumerate(firsts):
            held = ph.mesh.held[first] if ph.mesh.held is not None else np.zeros(ph.nx + len(ph.form.c_names), dtype=int)
            roles = {
                name: _role(int(role), bool(is_affine) and not held.any())
                for name, role, is_affine in zip(ph.form.u_names, ph.mesh.roles[first], linear, strict=True)
            }
            constrained = zip((*ph.form.x_names, *ph.form.c_names), held.tolist(), strict=True)
            roles.update({name: _role(role, False) for name, role in constrained if role})
            found.append(Arc(ph.form.name, float(values.spans[k]), float(values.spans[k + 1]), roles))
    return tuple(found)


def statics(iterate: Iterate) -> dict[str, Array]:
    layout = iterate.layout
    y = iterate.program.start[layout.s :]
    return {q.name: y[q.rows] for q in layout.form.statics}


def condition_multipliers(iterate: Iterate) -> dict[str, float]:
    """Multipliers of the conditions over endpoints, by name."""
    layout = iterate.layout
    rows = iterate.constraint_multipliers[layout.b_rows :]
    return {name: float(value) for name, value in zip(layout.form.b_names, rows, strict=False)}


def _by_name(quantities: tuple[Quantity, ...], curve: Curve) -> Mapping[str, Curve]:
    return {q.name: curve.rows(q.rows, q.unit, q.names) for q in quantities}


def _role(role: int, affine: bool) -> str:
    return {AT_LOWER: "lower", AT_UPPER: "upper"}.get(role, "singular" if affine else "interior")
