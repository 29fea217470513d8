"""The whole shooting system: one vector of unknowns, one vector of residuals, one sparse matrix of
derivatives.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import casadi
import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from trajopt.indirect.control_law import ArcLaw
from trajopt.indirect.equations import (
    ActiveRow,
    EntryPoint,
    Equations,
    PhaseEnds,
    Replacement,
    Row,
    boundary_conditions,
    continuity_names,
    entrance_by_static,
    junction,
    with_derivatives,
)
from trajopt.indirect.flow import ArcFlow, FlowResult
from trajopt.indirect.grid import Grid
from trajopt.statement.normal_form import NormalForm

Array = NDArray[np.float64]
Index = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ShootingArc:
    """An arc ready for shooting."""

    phase: int
    flow: ArcFlow
    grid: Grid
    entry: EntryPoint
    continuous: bool = True  # controls at its beginning, as ``junction`` has it

    @property
    def law(self) -> ArcLaw:
        return self.flow.law


@dataclass(frozen=True, eq=False)
class UnknownsLayout:
    """Which entries of the vector of unknowns are what."""

    times: tuple[Index, ...]  # for each phase: where its arcs begin and end
    nodes: tuple[Index, ...]  # for each arc (segments, node size)
    jumps: tuple[Index, ...]  # for each arc, of the costate where it begins
    integrals: tuple[Index, ...]  # for each phase
    weights: tuple[Index, ...]
    s: Index
    nu: Index
    size: int


class _Counter:
    def __init__(self) -> None:
        self.size = 0

    def take(self, *shape: int) -> Index:
        count = int(np.prod(shape))
        self.size += count
        return np.arange(self.size - count, self.size, dtype=np.int64).reshape(shape)


@dataclass(frozen=True, eq=False)
class ShootingSystem:
    """Residual and derivatives of the boundary-value problem with a given structure."""

    form: NormalForm
    arcs: tuple[ShootingArc, ...]
    active: tuple[ActiveRow, ...]
    p: Array
    constant_H: tuple[bool, ...]
    replaced: tuple[Replacement | None, ...]

    @cached_property
    def of_phase(self) -> tuple[tuple[int, ...], ...]:
        """Numbers of the arcs of each phase."""
        return tuple(
            tuple(k for k, arc in enumerate(self.arcs) if arc.phase == i)
            for i in range(len(self.form.phases))
        )

    @cached_property
    def layout(self) -> UnknownsLayout:
        take = _Counter()
        times = tuple(take.take(len(numbers) + 1) for numbers in self.of_phase)
        nodes = tuple(take.take(arc.grid.segments, arc.law.node_size) for arc in self.arcs)
        jumps = [take.take(arc.entry.jumps(arc.law.hamiltonian.constraints)) for arc in self.arcs]
        sizes = [ph.l.numel() for ph in self.form.phases]
        return UnknownsLayout(
            times,
            nodes,
            tuple(jumps),
            tuple(take.take(n) for n in sizes),
            tuple(take.take(n) for n in sizes),
            take.take(self.form.s.numel()),
            take.take(len(self.active)),
            take.size,
        )

    @cached_property
    def _junctions(self) -> dict[int, Equations]:
        """Number of the later arc -> function."""
        functions = {}
        for numbers in self.of_phase:
            for a, b in pairwise(numbers):
                arc = self.arcs[b]
                functions[b] = junction(self.arcs[a].law, arc.law, arc.entry, arc.continuous)
        return functions

    @cached_property
    def _entrances(self) -> dict[int, Equations]:
        """Arc number -> function, where the constraints that an arc meets depend on static
        variables.
        """
        functions: dict[int, Equations] = {}
        for k, arc in enumerate(self.arcs if self.form.s.numel() else ()):
            constraints, entry = arc.law.hamiltonian.constraints, arc.entry
            met = [constraints[i].expression for i, _ in (*entry.kept, *entry.touched)]
            if met and casadi.depends_on(casadi.vertcat(*met), self.form.s):
                functions[k] = entrance_by_static(arc.law, entry)
        return functions

    @cached_property
    def _boundary(self) -> Equations:
        firsts = [self.arcs[numbers[0]] for numbers in self.of_phase]
        lasts = [self.arcs[numbers[-1]] for numbers in self.of_phase]
        ends = [PhaseEnds(a.law, b.law, a.entry) for a, b in zip(firsts, lasts, strict=True)]
        return boundary_conditions(
            self.form, ends, list(self.active), self.constant_H, self.replaced
        )

    @cached_property
    def _consistency(self) -> dict[int, Equations]:
        """Arc number -> function (t, y, weight, s, p) -> E(v) and derivatives, for laws without a
        closed form.
        """
        functions = {}
        for k, arc in enumerate(self.arcs):
            law = arc.law
            if law.v.numel():
                rows: list[Row] = [("control law", law.residual)]
                functions[k] = with_derivatives("consistency", law.arguments, rows)
        return functions

    def numbers(self, k: int, unknowns: Array) -> tuple[Array, Index]:
        """The numbers of an arc's flow (start and end time, weights, static variables), and where
        they are among the unknowns.
        """
        arc, layout = self.arcs[k], self.layout
        place = self.of_phase[arc.phase].index(k)
        columns = np.concatenate(
            [layout.times[arc.phase][place : place + 2], layout.weights[arc.phase], layout.s]
        )
        return unknowns[columns], columns

    def integrals(self, unknowns: Array) -> list[Array]:
        """The integrals of each phase along the flow."""
        found = []
        for i, numbers_of_phase in enumerate(self.of_phase):
            total = np.zeros(self.layout.integrals[i].size)
            for k in numbers_of_phase if total.size else ():
                arc = self.arcs[k]
                numbers, _ = self.numbers(k, unknowns)
                values, _ = arc.flow.trace(
                    unknowns[self.layout.nodes[k]], arc.grid.steps, numbers, self.p
                )
                total = total + values[
                    :, -1, arc.law.node_size : arc.law.node_size + total.size
                ].sum(axis=0)
            found.append(total)
        return found

    def evaluate(self, unknowns: Array) -> tuple[Array, Any]:
        """Residual and sparse Jacobian; not a number where the flow leaves the domain
        of the model.
        """
        with np.errstate(all="ignore"):
            out = self._rows(unknowns)
        return out.residual(), out.matrix()

    def residual(self, unknowns: Array) -> Array:
        """The residual alone: the flow without its sensitivities, which take most of the time."""
        with np.errstate(all="ignore"):
            return self._rows(unknowns, derivatives=False).residual()

    def equation(self, row: int, unknowns: Array) -> Equation:
        """What a row of the system says, and where."""
        with np.errstate(all="ignore"):
            return self._rows(unknowns, derivatives=False).equation(row)

    def _rows(self, unknowns: Array, derivatives: bool = True) -> _Rows:
        out = _Rows(self.layout.size, derivatives)
        runs: list[FlowResult] = []
        for k, arc in enumerate(self.arcs):
            numbers, columns = self.numbers(k, unknowns)
            nodes = self.layout.nodes[k]
            flow = arc.flow.run if derivatives else arc.flow.run_alone
            run = flow(unknowns[nodes], arc.grid.steps, numbers, self.p)
            runs.append(run)
            self._continuity(out, k, run, unknowns, columns)
            if k in self._consistency:
                self._consistent(out, k, unknowns)
        for numbers_of_phase in self.of_phase:
            for a, b in pairwise(numbers_of_phase):
                self._join(out, a, b, runs[a], unknowns)
        self._ends(out, runs, unknowns)
        return out

    def _continuity(
        self, out: _Rows, k: int, run: FlowResult, unknowns: Array, columns: Index
    ) -> None:
        nodes, n = self.layout.nodes[k], 2 * self.arcs[k].law.hamiltonian.phase.x.numel()
        count = nodes.shape[0] - 1
        if count == 0:
            return
        names, (t0, tf) = (
            continuity_names(self.arcs[k].law.hamiltonian.phase),
            unknowns[columns[:2]],
        )
        times = t0 + (tf - t0) * self.arcs[k].grid.starts[1:]
        rows = out.add(run.end[:-1, :n] - unknowns[nodes[1:, :n]], names, k, times).reshape(
            count, n
        )
        out.put(rows, nodes[:-1], run.by_start[:-1, :n])
        out.put(rows, np.broadcast_to(columns, (count, columns.size)), run.by_numbers[:-1, :n])
        out.put(rows, nodes[1:, :n], np.broadcast_to(-np.eye(n), (count, n, n)))

    def _consistent(self, out: _Rows, k: int, unknowns: Array) -> None:
        arc, layout = self.arcs[k], self.layout
        numbers, columns = self.numbers(k, unknowns)
        tau, nodes = arc.grid.starts, layout.nodes[k]
        t = numbers[0] + tau * (numbers[1] - numbers[0])
        ns, count, m = layout.s.size, tau.size, arc.law.v.numel()
        inner = numbers[2:]
        weight, s = inner[: inner.size - ns], inner[inner.size - ns :]
        value, *derivatives = [
            np.asarray(d.full())
            for d in self._consistency[k](t[None, :], unknowns[nodes].T, weight, s, self.p)
        ]
        by_t, by_y, by_w, by_s = (d.reshape(m, count, -1).transpose(1, 0, 2) for d in derivatives)
        rows = out.add(value.T, self._consistency[k].names, k, t).reshape(count, m)
        by_times = np.concatenate(
            [by_t * (1 - tau)[:, None, None], by_t * tau[:, None, None]], axis=2
        )
        out.put(rows, nodes, by_y)
        out.put(
            rows,
            np.broadcast_to(columns, (count, columns.size)),
            np.concatenate([by_times, by_w, by_s], axis=2),
        )

    def _join(self, out: _Rows, a: int, b: int, run: FlowResult, unknowns: Array) -> None:
        layout, phase = self.layout, self.arcs[b].phase
        time = layout.times[phase][self.of_phase[phase].index(b)]
        end, start = self._end_columns(a, run), layout.nodes[b][0]
        jumps, weights, s = layout.jumps[b], layout.weights[phase], layout.s
        size = self.arcs[a].law.node_size
        value, by_t, by_end, *by_rest = self._junctions[b](
            unknowns[time],
            run.end[-1, :size],
            unknowns[start],
            unknowns[jumps],
            unknowns[weights],
            unknowns[s],
            self.p,
        )
        rows = out.add(value.full(), self._junctions[b].names, b, unknowns[[time]])
        out.put(rows, np.array([time]), by_t.full())
        for columns, matrix in end:
            out.put(rows, columns, by_end.full() @ matrix[:size])
        for columns, derivative in zip((start, jumps, weights, s), by_rest, strict=True):
            out.put(rows, columns, derivative.full())

    def _end_columns(self, k: int, run: FlowResult) -> list[tuple[Index, Array]]:
        """How the end of an arc depends on the unknowns: columns and derivatives of the whole flow
        vector.
        """
        _, columns = self.numbers(k, np.zeros(self.layout.size))
        return [(self.layout.nodes[k][-1], run.by_start[-1]), (columns, run.by_numbers[-1])]

    def _ends(self, out: _Rows, runs: list[FlowResult], unknowns: Array) -> None:
        layout = self.layout
        # the inputs of the conditions, and for each of them its dependence on the unknowns
        inputs, places = list[Array](), list[list[tuple[Index, Array]]]()

        def take(*parts: Index) -> None:
            """Unknowns that are inputs themselves."""
            inputs.extend(unknowns[columns] for columns in parts)
            places.extend([(columns, np.eye(columns.size))] for columns in parts)

        for i, numbers in enumerate(self.of_phase):
            first, last = numbers[0], numbers[-1]
            size, nq, ns = self.arcs[last].law.node_size, layout.integrals[i].size, layout.s.size
            end = self._end_columns(last, runs[last])
            found, by_s, by_found, by_by_s = self._quadratures(numbers, runs, nq, ns)
            by_s = by_s + self._at_entrances(i, numbers, unknowns, by_by_s)
            take(layout.times[i][:1], layout.times[i][-1:], layout.nodes[first][0])
            inputs += [runs[last].end[-1, :size], found, by_s]
            places += [[(columns, matrix[:size]) for columns, matrix in end], by_found, by_by_s]
            take(layout.integrals[i], layout.weights[i], layout.jumps[first])
        take(layout.s, layout.nu)
        value, *derivatives = self._boundary(*inputs, self.p)
        rows = out.add(value.full(), self._boundary.names)
        for place, derivative in zip(places, derivatives, strict=True):
            by_input = derivative.full()
            used = np.flatnonzero(by_input.any(axis=1))
            for columns, matrix in place:
                out.put(rows[used], columns, by_input[used] @ matrix)

    def _at_entrances(
        self,
        phase: int,
        numbers: tuple[int, ...],
        unknowns: Array,
        places: list[tuple[Index, Array]],
    ) -> Array | float:
        """What constraints that move with static variables add to dH/ds; its dependence on the
        unknowns goes to ``places``.
        """
        total: Array | float = 0.0
        for place, k in enumerate(numbers):
            if k in self._entrances:
                columns = [
                    self.layout.times[phase][place : place + 1],
                    self.layout.nodes[k][0],
                    self.layout.jumps[k],
                    self.layout.weights[phase],
                    self.layout.s,
                ]
                value, *derivatives = self._entrances[k](*[unknowns[c] for c in columns], self.p)
                total = total + value.full().ravel()
                places += [(c, d.full()) for c, d in zip(columns, derivatives, strict=True)]
        return total

    def _quadratures(
        self, numbers: tuple[int, ...], runs: list[FlowResult], nq: int, ns: int
    ) -> tuple[Array, Array, list[tuple[Index, Array]], list[tuple[Index, Array]]]:
        """Integrals of a phase and of dH/ds, summed over segments, with their dependence on the
        unknowns.
        """
        found, by_s = np.zeros(nq), np.zeros(ns)
        places: tuple[list[tuple[Index, Array]], list[tuple[Index, Array]]] = ([], [])
        if nq + ns == 0:
            return found, by_s, *places
        for k in numbers:
            run, size, nodes = runs[k], self.arcs[k].law.node_size, self.layout.nodes[k]
            found = found + run.end[:, size : size + nq].sum(axis=0)
            by_s = by_s + run.end[:, size + nq :].sum(axis=0)
            _, columns = self.numbers(k, np.zeros(self.layout.size))
            for place, rows in zip(
                places, (slice(size, size + nq), slice(size + nq, None)), strict=True
            ):
                by_nodes = run.by_start[:, rows].transpose(1, 0, 2)
                place.append((nodes.ravel(), by_nodes.reshape(by_nodes.shape[0], nodes.size)))
                place.append((columns, run.by_numbers[:, rows].sum(axis=0)))
        return found, by_s, *places


@dataclass(frozen=True)
class Equation:
    """What a row of the system says; the number of the arc and the time, if it belongs to one."""

    text: str
    arc: int | None = None
    time: float | None = None


class _Rows:
    """Residual rows and blocks of derivatives as they come; without ``derivatives`` the blocks are
    dropped.
    """

    def __init__(self, columns: int, derivatives: bool) -> None:
        self.columns, self.count, self.derivatives = columns, 0, derivatives
        self.values: list[Array] = []
        self.triples: list[tuple[Index, Index, Array]] = []
        # of each block of values
        self.origins: list[tuple[tuple[str, ...], int | None, Array]] = []

    def add(
        self,
        values: Array,
        names: tuple[str, ...],
        arc: int | None = None,
        times: Array | None = None,
    ) -> Index:
        """Residuals with these names, once for each of the times."""
        flat = np.asarray(values, dtype=float).ravel()
        self.values.append(flat)
        self.origins.append((names, arc, np.zeros(0) if times is None else times))
        self.count += flat.size
        return np.arange(self.count - flat.size, self.count, dtype=np.int64)

    def equation(self, row: int) -> Equation:
        starts = np.cumsum([0, *(v.size for v in self.values)])
        block = int(np.searchsorted(starts, row, side="right")) - 1
        names, arc, times = self.origins[block]
        repeat, place = divmod(row - int(starts[block]), len(names))
        return Equation(names[place], arc, float(times[repeat]) if times.size else None)

    def put(self, rows: Index, columns: Index, block: Array) -> None:
        """One block (rows, columns), or many side by side with a leading axis."""
        if not self.derivatives:
            return
        nonzero = np.nonzero(block)
        r = np.broadcast_to(rows[..., :, None], block.shape)[nonzero]
        c = np.broadcast_to(columns[..., None, :], block.shape)[nonzero]
        self.triples.append((r, c, block[nonzero]))

    def residual(self) -> Array:
        return np.concatenate(self.values)

    def matrix(self) -> Any:
        r, c, v = (np.concatenate([triple[i] for triple in self.triples]) for i in range(3))
        return sparse.coo_matrix((v, (r, c)), shape=(self.count, self.columns)).tocsr()
