"""From a start to a shooting system with a first vector of unknowns and its scaling."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Protocol

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from trajopt.deadline import Budget
from trajopt.indirect.active_rows import Rows, held, independent_rows
from trajopt.indirect.arc_trajectory import ArcTrace, phase_trajectory, trace_arc
from trajopt.indirect.assembly import ShootingArc, ShootingSystem
from trajopt.indirect.control_law import ArcLaw, UserLaw, arc_law, user_law
from trajopt.indirect.costate_convention import flow_costate
from trajopt.indirect.equations import Replacement, entrance
from trajopt.indirect.first_integrals import (
    autonomous,
    conserved_integrals,
    decisive,
)
from trajopt.indirect.flow import ArcFlow
from trajopt.indirect.grid import Probe, choose_grid
from trajopt.indirect.hamiltonian import BoundaryRow, PhaseHamiltonian
from trajopt.indirect.newton import Corrections
from trajopt.indirect.settings import START
from trajopt.indirect.start import (
    Along,
    Scales,
    Start,
    StartArc,
    declared_sizes,
    node_variables,
    samples_of,
    shooting_scales,
    weights_at,
)
from trajopt.indirect.transitions import continuous, refuse_chattering
from trajopt.statement.normal_form import NormalForm
from trajopt.trajectory.curve import ROUND_OFF, in_sequence
from trajopt.trajectory.trajectory import Trajectory

Array = NDArray[np.float64]


class Options(Protocol):
    """What preparation needs to know of the options."""

    @property
    def tolerance(self) -> float: ...
    @property
    def use_integrals(self) -> bool: ...

    def law_of(self, phase: str) -> UserLaw | None: ...


@dataclass(frozen=True, eq=False)
class ShootingProblem:
    """A shooting system with a start."""

    form: NormalForm
    hams: tuple[PhaseHamiltonian, ...]
    start: Start
    system: ShootingSystem
    unknowns: Array
    scale: Array
    flow_scales: tuple[Array, ...]  # for each arc
    rows: Rows  # all endpoint conditions, and the side on which they are active
    remarks: tuple[str, ...] = ()  # which multipliers are not unique
    _traced: dict[str, tuple[Array, tuple[ArcTrace, ...]]] = field(default_factory=dict)

    def allowed(self, unknowns: Array, step: Array) -> float:
        """The longest fraction of a step after which no arc is shorter than a tenth of
        what it was.
        """
        fraction = 1.0
        for times in self.system.layout.times:
            durations, change = np.diff(unknowns[times]), np.diff(step[times])
            shrinking = change < -0.9 * durations
            if np.any(shrinking):
                fraction = min(
                    fraction, float(np.min(-0.9 * durations[shrinking] / change[shrinking]))
                )
        return max(fraction, 1e-4)

    def traces(self, unknowns: Array) -> tuple[ArcTrace, ...]:
        """The trajectories of all arcs; those of the last vector asked for are kept."""
        if "last" not in self._traced or not np.array_equal(self._traced["last"][0], unknowns):
            found = tuple(
                trace_arc(self.system, k, unknowns, self.flow_scales[k])
                for k in range(len(self.system.arcs))
            )
            self._traced["last"] = (unknowns.copy(), found)
        return self._traced["last"][1]

    def shortest(self, unknowns: Array) -> float:
        """The duration of the shortest arc, relative to its phase."""
        return min(
            float(np.min(np.diff(unknowns[t])) / (unknowns[t[-1]] - unknowns[t[0]]))
            for t in self.system.layout.times
        )

    def trajectories(self, unknowns: Array) -> tuple[Trajectory, ...]:
        """The trajectory of each phase, in the costates of the flow, with the errors
        of its steps.
        """
        traces = self.traces(unknowns)
        return tuple(
            phase_trajectory([traces[k] for k in numbers]) for numbers in self.system.of_phase
        )

    def traced_start(self, unknowns: Array) -> Start:
        """The trajectories of a vector of unknowns, as a start."""
        traces, trajectories = self.traces(unknowns), self.trajectories(unknowns)
        arcs = [
            replace(
                old,
                start=float(trace.breaks[0]),
                end=float(trace.breaks[-1]),
                trajectory=trajectories[old.phase],
            )
            for old, trace in zip(self.start.arcs, traces, strict=True)
        ]
        held_rows = self.row_multipliers(unknowns)
        multipliers = {row.name: value for row, side, value in held_rows if side is not None}
        integrals = tuple(unknowns[place] for place in self.system.layout.integrals)
        return Start(
            tuple(arcs),
            unknowns[self.system.layout.s],
            True,
            multipliers,
            integrals,
            self.start.sides,
        )

    def row_multipliers(self, unknowns: Array) -> tuple[tuple[BoundaryRow, str | None, float], ...]:
        """All endpoint conditions, the side on which they are active, and their multipliers."""
        nu = iter(unknowns[self.system.layout.nu].tolist())
        return tuple((row, side, 0.0 if side is None else next(nu)) for row, side in self.rows)

    def endpoint_values(self, unknowns: Array) -> Array:
        """The column of endpoint values and integrals of all phases, where the flow begins and
        ends.
        """
        traces, columns = self.traces(unknowns), list[Array]()
        for ph, numbers, place in zip(
            self.form.phases, self.system.of_phase, self.system.layout.integrals, strict=True
        ):
            first, last, nx = traces[numbers[0]], traces[numbers[-1]], ph.x.numel()
            x0, xf = first.values[0, 0, :nx], last.values[-1, -1, :nx]
            others = np.zeros(2 * (ph.z.numel() + ph.u.numel()))
            times = np.array([first.breaks[0], last.breaks[-1]])
            columns += [times, x0, xf, others, unknowns[place]]
        return np.concatenate(columns)

    def error(self, unknowns: Array) -> float:
        """The largest local error, relative."""
        return max(trace.error for trace in self.traces(unknowns))


def shooting_problem(
    form: NormalForm,
    hams: tuple[PhaseHamiltonian, ...],
    start: Start,
    p: Array,
    options: Options,
    budget: Budget | None = None,
) -> ShootingProblem:
    """Laws, flows and grids for the arcs of a start, and all unknowns read off it."""
    weights = weights_at(form, start, p)
    # by phase: what laws depend on besides time and the values at nodes
    fixed = [(weight, start.s, p) for weight in weights]
    laws = _laws(hams, start, fixed, options)
    enough = np.inf if start.own_costates else float(np.sqrt(options.tolerance))
    if not start.own_costates:
        start = _with_own_costates(start, laws, fixed)
    for k, (one, two) in enumerate(pairwise(start.arcs)):
        if one.phase == two.phase:
            refuse_chattering((one, two), laws[k], laws[k + 1], fixed[one.phase])
    sizes, conditions = shooting_scales(form, start), independent_rows(form, hams, start, p)
    arcs: list[ShootingArc] = []
    nodes, flow_scales = [], []
    for arc, law in zip(start.arcs, laws, strict=True):
        size, here = sizes[arc.phase], fixed[arc.phase]
        values = node_variables(arc, law, *here)
        flow = ArcFlow(law, budget or Budget())
        numbers = np.concatenate([[arc.start, arc.end], weights[arc.phase], start.s])
        scale = _flow_scale(flow, values, size, numbers, p)
        grid = choose_grid(flow, _probe(arc, values, scale), numbers, p, 0.01 * options.tolerance)
        if options.use_integrals:
            tau = np.linspace(0.0, 1.0, START.trials)
            of_nodes = np.concatenate([size.x, size.costate])
            kept = conserved_integrals(law, arc.times(tau), values(tau), here, of_nodes)
            flow = replace(flow, kept=kept)
        before = arcs[-1].law if arcs and arcs[-1].phase == arc.phase else None
        entry = entrance(before, law, arc.touched, conditions.implied[arc.phase])
        smooth = arc.continuous
        if smooth is None:
            smooth = before is None or continuous(
                (start.arcs[len(arcs) - 1], arc), before, law, here
            )
        arcs.append(ShootingArc(arc.phase, flow, grid, entry, smooth))
        nodes.append(values(grid.starts))
        flow_scales.append(scale)
    steady = tuple(options.use_integrals and autonomous(ham) for ham in hams)
    system = ShootingSystem(
        form, tuple(arcs), held(conditions.rows), p, steady, (None,) * len(hams)
    )
    unknowns = _first_unknowns(system, start, nodes, weights)
    prepared = ShootingProblem(
        form,
        hams,
        start,
        system,
        unknowns,
        np.ones(unknowns.size),
        tuple(flow_scales),
        conditions.rows,
        conditions.remarks,
    )
    prepared = _with_multipliers(prepared, sizes, enough)
    # Multipliers are linear in transversality, but not in the integrals that replace it: those come
    # last.
    replaced = tuple(_replaced(i, start, arcs, here) for i, here in enumerate(fixed))
    return replace(prepared, system=replace(prepared.system, replaced=replaced))


def _probe(arc: StartArc, values: Along, scale: Array) -> Probe:
    """An arc of a start, for the choice of its grid."""
    duration = arc.end - arc.start
    knots, errors = arc.trajectory.breaks, arc.trajectory.errors
    places = (knots - arc.start) / duration
    steps = np.column_stack([places[:-1], places[1:], errors]) if errors.size else np.zeros((0, 3))
    shared = np.minimum(steps[:, 1], 1.0) - np.maximum(steps[:, 0], 0.0)
    taken = steps[shared > ROUND_OFF]
    return Probe(values, scale, places[(places > 0) & (places < 1)], taken)


def _replaced(
    phase: int, start: Start, arcs: list[ShootingArc], fixed: tuple[Array, ...]
) -> Replacement | None:
    """What the first integrals that hold on all arcs of a phase replace at its end; none where its
    costate jumps.
    """
    own = [arc for arc in arcs if arc.phase == phase]
    kept, last = own[-1].flow.kept, start.of_phase(phase)[-1]
    if kept is None or any(arc.entry.touched for arc in own):
        return None
    shared = kept.some(
        tuple(
            n
            for n in kept.names
            if all(a.flow.kept is not None and n in a.flow.kept.names for a in own)
        )
    )
    if shared is None:
        return None
    time = last.times(np.ones(1))
    pairs = decisive(
        shared, own[-1].law.hamiltonian, last.end, last.x(time)[0], last.costate(time)[0], fixed
    )
    chosen = shared.some(tuple(shared.names[row] for row, _ in pairs))
    return None if chosen is None else Replacement(chosen, tuple(column for _, column in pairs))


def _laws(
    hams: tuple[PhaseHamiltonian, ...],
    start: Start,
    fixed: list[tuple[Array, Array, Array]],
    options: Options,
) -> list[ArcLaw]:
    found: dict[tuple[int, object], ArcLaw] = {}
    for arc in start.arcs:
        key = (arc.phase, arc.mode)
        if key not in found:
            given = options.law_of(hams[arc.phase].phase.name)
            samples = samples_of(arc, *fixed[arc.phase])
            found[key] = (
                arc_law(hams[arc.phase], arc.mode, samples)
                if given is None
                else user_law(hams[arc.phase], given)
            )
    return [found[arc.phase, arc.mode] for arc in start.arcs]


def _with_own_costates(
    start: Start, laws: list[ArcLaw], fixed: list[tuple[Array, Array, Array]]
) -> Start:
    """Costates on state-constrained arcs in the convention of the flow."""
    arcs: list[StartArc] = []
    for i in {arc.phase: None for arc in start.arcs}:
        own = [(arc, law) for arc, law in zip(start.arcs, laws, strict=True) if arc.phase == i]
        follows = [
            any(law.hamiltonian.constraints[j].order for j, _ in arc.mode.active)
            for arc, law in own
        ]
        trajectory = own[0][0].trajectory
        if any(follows):
            assert trajectory.costate is not None
            parts = [
                flow_costate(arc, law, fixed[i])
                if follow
                else trajectory.costate.part(arc.start, arc.end)
                for (arc, law), follow in zip(own, follows, strict=True)
            ]
            trajectory = replace(trajectory, costate=in_sequence(parts))
        arcs += [replace(arc, trajectory=trajectory) for arc, _ in own]
    return replace(start, arcs=tuple(arcs))


def _flow_scale(flow: ArcFlow, values: Along, sizes: Scales, numbers: Array, p: Array) -> Array:
    """Typical sizes of x, costate, v and the integrals along an arc."""
    tau = np.linspace(0.0, 1.0, 21)
    nodes = values(tau)
    n = 2 * sizes.x.size
    v = np.abs(nodes[:, n:]).max(axis=0, initial=0.0)
    y = np.concatenate([nodes, np.zeros((tau.size, flow.law.size - nodes.shape[1]))], axis=1)
    rates = np.abs(flow.rates(tau, y, numbers, p)[:, nodes.shape[1] :]).max(axis=0, initial=0.0)
    rest = np.concatenate([v, np.where(np.isfinite(rates), rates, 1.0)])
    return np.concatenate([sizes.x, sizes.costate, np.where(rest > 1e-8, rest, 1.0)])


def _first_unknowns(
    system: ShootingSystem, start: Start, nodes: list[Array], weights: list[Array]
) -> Array:
    layout = system.layout
    unknowns = np.zeros(layout.size)
    for i, times in enumerate(layout.times):
        arcs = start.of_phase(i)
        unknowns[times] = [arcs[0].start, *[arc.end for arc in arcs]]
        unknowns[layout.weights[i]] = weights[i]
    for places, values in zip(layout.nodes, nodes, strict=True):
        unknowns[places] = values
    unknowns[layout.s] = start.s
    with np.errstate(all="ignore"):
        integrals = start.integrals if start.integrals is not None else system.integrals(unknowns)
    for place, values in zip(layout.integrals, integrals, strict=True):
        unknowns[place] = values
    return unknowns


def _adjoint_least_squares(
    system: ShootingSystem, unknowns: Array, scale: Array, enough: float
) -> tuple[Array, float]:
    """Correct costates, jumps and multipliers by Gauss-Newton steps; return the unknowns and the
    residual that is left.

    The costates of a guess jump at its mesh points, those of the flow where a constraint is
    touched. States and times stay: they are accurate, and corrected together with costates that are
    wrong by far they would leave the neighbourhood of the solution. A residual below ``enough`` is
    left to Newton's method.
    """
    layout = system.layout
    nodes = [
        places[:, arc.law.hamiltonian.phase.x.numel() :].ravel()
        for arc, places in zip(system.arcs, layout.nodes, strict=True)
    ]
    columns = np.concatenate([*nodes, *layout.jumps, *layout.weights, layout.nu])
    left = np.inf
    while True:
        residual, matrix = system.evaluate(unknowns)
        if not np.all(np.isfinite(residual)):
            return unknowns, np.inf
        try:
            corrections = Corrections(matrix, scale, columns)
        except (
            RuntimeError,
            ValueError,
        ):  # singular, or derivatives that are not numbers: Newton's method says so
            return unknowns, left
        if corrections.norm(residual) < enough:
            return unknowns, corrections.norm(residual)
        adjusted = unknowns.copy()
        adjusted[columns] += scale[columns] * corrections(residual)
        following = system.residual(adjusted)
        before, after = corrections.squares(residual), corrections.squares(following)
        if not after < before:
            return unknowns, min(left, corrections.norm(residual))
        unknowns, left = adjusted, corrections.norm(following)
        if after > 0.5 * before:
            return unknowns, left


def _with_multipliers(
    prepared: ShootingProblem, sizes: list[Scales], enough: float
) -> ShootingProblem:
    """Multipliers from the residual, in which they are linear; inequalities whose multiplier has
    the wrong sign are let go.

    Before the signs are looked at, costates of a guess are corrected too, until the residual is
    below ``enough``.
    """
    for _ in range(3):
        system, unknowns, layout = prepared.system, prepared.unknowns.copy(), prepared.system.layout
        scale = _scale(prepared, sizes)
        linear = np.concatenate([layout.nu, *layout.jumps])
        residual, matrix = system.evaluate(unknowns)
        if linear.size and np.all(np.isfinite(residual)):
            others = np.setdiff1d(np.arange(layout.size), linear)
            size = np.asarray(
                np.abs(matrix[:, others] @ sparse.diags(scale[others])).max(axis=1).todense()
            ).ravel()
            weigh = 1.0 / np.where(size > 0, size, 1.0)
            block = weigh[:, None] * matrix[:, linear].toarray()
            columns = np.abs(block).max(axis=0)
            scale[linear] = 1.0 / np.where(columns > 0, columns, 1.0)
            unknowns[linear] -= (
                scale[linear]
                * np.linalg.lstsq(block * scale[linear], weigh * residual, rcond=1e-12)[0]
            )
        uncertain = 0.0
        if np.isfinite(enough) and layout.size <= START.most_corrected:
            unknowns, uncertain = _adjoint_least_squares(system, unknowns, scale, enough)
        rows = _drop_conditions(
            prepared.rows,
            unknowns[layout.nu],
            uncertain * scale[layout.nu],
            set(prepared.start.sides),
        )
        prepared = replace(prepared, unknowns=unknowns, scale=scale, _traced={})
        if rows == prepared.rows:
            break
        prepared = with_rows(prepared, rows)
    return prepared


def with_rows(prepared: ShootingProblem, rows: Rows) -> ShootingProblem:
    """The same with other endpoint conditions active."""
    system = replace(prepared.system, active=held(rows))
    unknowns = np.zeros(system.layout.size)
    kept = (
        int(prepared.system.layout.nu.min())
        if prepared.system.layout.nu.size
        else prepared.unknowns.size
    )
    unknowns[:kept] = prepared.unknowns[:kept]
    return replace(
        prepared,
        system=system,
        unknowns=unknowns,
        scale=np.ones(unknowns.size),
        rows=rows,
        _traced={},
    )


def _drop_conditions(rows: Rows, nu: Array, uncertain: Array, decided: set[str]) -> Rows:
    """Without inequalities whose multiplier has the wrong sign, unless it is ``uncertain`` or the
    condition was decided about.
    """
    largest = float(np.abs(nu).max(initial=0.0))
    result: list[tuple[BoundaryRow, str | None]] = []
    place = 0
    for row, side in rows:
        if side is None:
            result.append((row, side))
            continue
        outward = (nu[place] if side == "upper" else -nu[place]) + uncertain[place]
        place += 1
        result.append(
            (
                row,
                side
                if row.equality or row.name in decided or outward > START.negligible * largest
                else None,
            )
        )
    return tuple(result)


def _scale(prepared: ShootingProblem, sizes: list[Scales]) -> Array:
    layout = prepared.system.layout
    scale = np.ones(layout.size)
    for times, size in zip(layout.times, sizes, strict=True):
        scale[times] = size.duration
    for nodes, flow_scale in zip(layout.nodes, prepared.flow_scales, strict=True):
        scale[nodes] = flow_scale[: nodes.shape[1]]
    for place in (*layout.integrals, *layout.weights):
        value = np.abs(prepared.unknowns[place])
        scale[place] = np.where(value > 1e-6, value, 1.0)
    s = prepared.unknowns[layout.s]
    scale[layout.s] = declared_sizes(
        prepared.form.statics, np.where(np.abs(s) > 1e-8, np.abs(s), 1.0)
    )
    return scale
