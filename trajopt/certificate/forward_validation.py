"""Forward validation: whole phases integrated from their start under the controls of the solution,
plain and stabilized.

Constraints and first integrals are stabilized: those of the statement by projection after each
step, those of a model in redundant coordinates by Baumgarte's law through the reactions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.certificate.feasibility_rows import place, worst
from trajopt.certificate.motion import Reintegration
from trajopt.certificate.sampled_solution import SampledPhase, evaluated
from trajopt.certificate.table import Check
from trajopt.errors import ProblemError, suggest
from trajopt.integrate.gains import fastest_gain
from trajopt.integrate.reactions import Baumgarte
from trajopt.statement.bounds import Bound
from trajopt.statement.normal_form import InvariantForm, NamedVector
from trajopt.system import System

Array = NDArray[np.float64]


@dataclass(frozen=True)
class RowNames:
    """Names of the rows: ends of the plain and of the stabilized integration, and the drift of
    invariants.
    """

    plain: str
    stabilized: str
    drift: str


WHOLE = RowNames(
    "re-integration of whole phases", "re-integration, invariants stabilized", "drift of invariants"
)
REDUNDANT = RowNames(
    "redundant coordinates", "redundant coordinates, stabilized", "drift of constraints"
)


@dataclass(frozen=True, eq=False)
class _Run:
    """One integration of a phase, and what keeps its invariants."""

    motion: Reintegration
    projected: bool = False
    gain: float = 0.0  # of Baumgarte's law


def whole_motions(
    motions: Sequence[Reintegration], tolerance: float, names: RowNames = WHOLE
) -> list[Check]:
    """Each phase integrated from its start alone, anew where it has amplified a disturbed start too
    much.

    The gap at the end is divided by the growth of a disturbed start. With declared invariants
    further rows have them stabilized, and show their drift with and without.
    """
    plain, drift = _rows([_Run(m) for m in motions], names, tolerance)
    kept = [_Run(m, True) for m in motions if m.stabilizable]
    if not kept:
        return [plain]
    return [
        plain,
        drift,
        *_rows(kept, names, tolerance, True),
    ]


def redundant_motions(motions: Sequence[Reintegration], tolerance: float) -> list[Check]:
    """Phases with a model in redundant coordinates, integrated forward in these, plain and
    stabilized.

    Pieces begin where those of the motion itself do.
    """
    plain, stabilized = [], []
    for m in motions:
        if m.phase.form.redundant is not None:
            system = m.phase.form.redundant.system()
            first = Reintegration(
                redundant_phase(m.phase, system), m.scheme, told_segments=m.segments
            )
            plain.append(_Run(first))
            stabilized.append(_stabilized(m, first, system))
    return [*_rows(plain, REDUNDANT, tolerance), *_rows(stabilized, REDUNDANT, tolerance, True)]


def _stabilized(m: Reintegration, plain: Reintegration, system: System) -> _Run:
    """The same steps with constraints that decay by Baumgarte's law; projected where there are no
    reactions for it.

    The law takes deviations at the start of each step (``Baumgarte.sampled``), and its gain is the
    fastest of the longest step.
    """
    if system.through_reactions is None or any(i.order == 0 for i in system.invariants):
        return _Run(plain, True)
    longest = float((plain.steps.width * plain.phase.widths[plain.steps.interval]).max())
    gain = fastest_gain(plain.scheme, longest)
    prepared = Baumgarte(gain).sampled(with_constants(m.phase, system))
    assert prepared is not None
    kept = redundant_phase(m.phase, prepared.system, len(system.states))
    return _Run(Reintegration(kept, m.scheme, plain.steps, m.segments, prepared.project), gain=gain)


def with_constants(ph: SampledPhase, system: System) -> System:
    """The system with the values of those parameters that do not change along the motion."""
    values = _inputs(ph, system)
    constant = [
        k
        for k, v in enumerate(values)
        if not casadi.depends_on(v, casadi.vertcat(ph.form.t, ph.form.x, ph.form.z, ph.form.u))
    ]
    function = casadi.Function(
        "constants",
        [ph.symbols_s, ph.symbols_p],
        [casadi.vertcat(casadi.SX(0, 1), *[values[k] for k in constant])],
    )
    found = evaluated(function, ph.s, ph.p).ravel()
    return system.starting_at(
        {system.parameters[k].name: float(v) for k, v in zip(constant, found, strict=True)}
    )


def _rows(
    runs: Sequence[_Run], names: RowNames, tolerance: float, stabilized: bool = False
) -> list[Check]:
    """End and drift of some integrations; without stabilization the drift is for information."""
    ends, drifts, growths = [], [], []
    for run in runs:
        m, (pieces, growth) = run.motion, run.motion.segments
        label = "" if len(runs) == 1 else f" of '{m.phase.form.name}'"
        last = m.phase.breaks[[last for _, last in pieces]]
        found = m.integrated(run.projected)
        gap = (
            np.abs(found.ends - m.phase.x(last, left=True))
            / m.phase.sizes[:, None]
            / np.maximum(growth, 1.0)[None, :]
        )
        ends.append(place(gap, last, m.phase.form.x_names, label))
        drifts += [
            (float(v), f"in {name}{label}")
            for v, name in zip(found.drift, m.invariant_names, strict=True)
        ]
        growths.append((len(pieces), float(growth.max())))
    count, largest = max(growths)
    remark = f"perturbations grow by a factor of {largest:.2g}" if largest > 1 else ""
    remark += f" in each of {count} pieces" if count > 1 else ""
    how = _method(runs)
    name = names.stabilized if stabilized else names.plain
    drift = f"{names.drift}, stabilized" if stabilized else names.drift
    return [
        worst(name, ends, tolerance, ", ".join(part for part in (how, remark) if part)),
        worst(drift, drifts, tolerance if stabilized else np.inf, how),
    ]


def _method(runs: Sequence[_Run]) -> str:
    gains = [run.gain for run in runs if run.gain]
    if gains:
        unit = runs[0].motion.phase.form.time_unit
        span = (
            f"{min(gains):.3g}"
            if min(gains) == max(gains)
            else f"{min(gains):.3g} to {max(gains):.3g}"
        )
        return f"Baumgarte's law, gain {span} 1/{unit}"
    return "projection after each step" if any(run.projected for run in runs) else ""


def redundant_phase(
    ph: SampledPhase, system: System, own: int | None = None, plain: System | None = None
) -> SampledPhase:
    """A phase with the states of a system; its inputs are all variables of the phase, as the
    solution has them.

    ``plain`` is the system without a stabilization that changes its rates.
    States after the first ``own`` belong to a stabilization: they are zero along the solution, and
    have no size.
    """
    form, values = ph.form, _inputs(ph, system)
    zero = [v.name for v in system.states[own:]] if own is not None else []
    rates = system.rate if plain is None else casadi.vertcat(plain.rate, system.rate[own:])
    states = _states(ph, system, rates, zero)
    old = [system.time, *casadi.vertsplit(system.p)] if values else [system.time]
    expressions = [casadi.SX(e) for e in (system.rate, *[i.expression for i in system.invariants])]
    rate, *invariants = casadi.substitute(
        expressions, old, [form.t, *[casadi.SX(v) for v in values]]
    )
    none = casadi.SX(0, 1)
    groups = ((form.states, form.x), (form.algebraics, form.z), (form.controls, form.u))
    used = [
        (q, column[q.rows])
        for of, column in groups
        for q in of
        if casadi.depends_on(rate, column[q.rows])
    ]
    stated = tuple(
        InvariantForm(i.name, e, i.order)
        for i, e in zip(system.invariants, invariants, strict=True)
    )
    open_ = Bound.open(1)
    vectors = tuple(
        NamedVector(v.name, 1, v.unit, slice(k, k + 1), open_, None, None, open_, open_)
        for k, v in enumerate(system.states)
    )
    whole = replace(
        form,
        x=system.x,
        states=vectors,
        z=none,
        algebraics=(),
        u=casadi.vertcat(none, *[u for _, u in used]),
        controls=tuple(q for q, _ in used),
        f=rate,
        g=none,
        g_names=(),
        l=none,
        costate=none,
        invariants=stated,
        redundant=None,
    )
    function = casadi.Function(
        "states", [form.t, form.x, ph.symbols_s, ph.symbols_p], [casadi.densify(states)]
    )
    inputs = {**ph.given.states, **ph.given.algebraics, **ph.given.controls}

    def told(times: Array, left: bool) -> Array:
        return evaluated(function, times[None, :], ph.x(times, left), ph.s, ph.p)

    return replace(
        ph,
        form=whole,
        given=replace(ph.given, controls=inputs),
        own=replace(ph.measure, q=np.zeros(0)),
        told_states=told,
        told_sizes=_sizes(told(ph.times.ravel(), False), tuple(v.unit for v in system.states), own),
    )


def _inputs(ph: SampledPhase, system: System) -> list[Any]:
    """The parameters of a system as expressions of the phase."""
    assert ph.form.redundant is not None
    given, named = ph.form.redundant.inputs, _named(ph)
    return [casadi.SX(given.get(q.name, named.get(q.name, q.value))) for q in system.parameters]


def _named(ph: SampledPhase) -> dict[str, Any]:
    """Scalars of a phase by name: variables, static variables and parameters."""
    form = ph.form
    groups = ((form.states, form.x), (form.algebraics, form.z), (form.controls, form.u))
    shared = casadi.vertsplit(casadi.vertcat(ph.symbols_s, ph.symbols_p))
    return {str(symbol): symbol for symbol in shared} | {
        name: column[q.rows][k]
        for of, column in groups
        for q in of
        for k, name in enumerate(q.components)
    }


def _states(ph: SampledPhase, system: System, rate: Any, zero: Sequence[str]) -> Any:
    """The states of a system as expressions of the phase: given ones, their rates, those of the
    same name, their rates.
    """
    form, named = ph.form, _named(ph)
    assert form.redundant is not None
    given = {**form.redundant.states, **dict.fromkeys(zero, 0.0)}
    names = [v.name for v in system.states]
    for name in given:
        if name not in names:
            raise ProblemError(
                f"system '{system.name}' has no state '{name}'",
                expected=", ".join(names),
                hint=suggest(name, names),
            )
    known: dict[str, Any] = dict(given)

    def add_rates() -> None:
        for k, name in enumerate(names):
            if name not in known or not rate[k].is_symbolic():
                continue
            rates = [
                other for j, other in enumerate(names) if casadi.is_equal(rate[k], system.x[j])
            ]
            if rates and rates[0] not in known:
                value = casadi.SX(known[name])
                known[rates[0]] = casadi.jtimes(value, form.x, form.f) + casadi.jacobian(
                    value, form.t
                )

    add_rates()
    for name in names:
        if name in named:
            known.setdefault(name, named[name])
    add_rates()
    missing = [name for name in names if name not in known]
    if missing:
        raise ProblemError(
            f"state '{missing[0]}' of system '{system.name}' has no expression in phase "
            f"'{form.name}'",
            hint=f"in_redundant_coordinates(system, states={{'{missing[0]}': ...}})",
        )
    return casadi.vertcat(*[known[name] for name in names])


def _sizes(values: Array, units: tuple[str, ...], own: int | None) -> Array:
    """The largest distance that a state of the same unit travels: constraints may hold a state
    where it is.
    """
    ways = np.ptp(values, axis=1)
    sizes = np.array(
        [
            max(way for way, other in zip(ways, units, strict=True) if other == unit)
            for unit in units
        ]
    )
    if own is not None:
        sizes[own:] = np.inf
    return np.where(sizes > 0, sizes, 1.0)
