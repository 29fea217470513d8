"""Contacts: where states, or path constraints on states alone, meet their limits.

At a touch the costates jump; so they may where a limit begins or ceases to hold. A polynomial cannot jump: an interval with a
contact inside has wrong costates, and the push of the limit sits on whatever collocation point is nearest. With a break there
the push is the jump, and both sides are smooth. A touch is where the constraint's polynomial has its peak; the end of an arc is
where the controls of its two sides meet. How far that is from the break tells by how much the next mesh must move it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

from trajopt.curve import inverse_legendre
from trajopt.direct.costates import PhaseMultipliers, point_derivatives
from trajopt.direct.kernels import PhaseKernels
from trajopt.direct.refine import running_cost, sampled
from trajopt.direct.transcribe import Layout, PhaseLayout
from trajopt.direct.values import PhaseValues
from trajopt.nlp.program import Program, places

Array = NDArray[np.float64]
Index = NDArray[np.int_]

COSTATES = 0.1  # how much an error of costates counts beside one of states
SMALL = 0.01  # of the largest push of a run: what the barrier leaves beside a contact
HELD = 3e-3  # of its range: how close to its limit a constraint is all along an arc
LONGEST = 3  # nodes: a limit that is met at more of them in a row holds for a while
BEYOND = 0.3  # of an interval: how far outside it a polynomial is still believed
MEMORY = 3  # meshes that tell between what nodes a place must be
FLATTEST, STEEPEST = 0.2, 5.0  # how the distance of place and node may fall with the node


@dataclass(frozen=True)
class Contact:
    """A touch, or an end of an arc, of one constraint; in normalised time."""

    phase: int
    column: int  # of the constraint, among states and path constraints
    kind: int  # TOUCH, ENTRY or EXIT
    node: float  # that carries the push
    place: float  # where the contact should be
    at_break: bool
    jump: float  # of the costates, relative to their sizes
    off: float  # error that the distance between the two makes, relative

    @property
    def name(self) -> tuple[int, int, int]:
        return self.phase, self.column, self.kind

    @property
    def error(self) -> float:
        """That it makes in the costates, in the size of an error of states."""
        return COSTATES * self.off if self.at_break else np.inf


TOUCH, ENTRY, EXIT = 0, -1, 1


@dataclass(frozen=True, eq=False)
class Along:
    """One phase of an answer with the pushes of its states' limits."""

    ph: PhaseLayout
    layout: Layout
    program: Program
    index: int
    values: PhaseValues
    pushes: Array  # (state points, states + path constraints): multipliers, positive at an upper limit
    jumps: Array  # the same, as jumps of the costates relative to their sizes
    sizes: Array  # (states,): of the costates
    power: float  # the largest sum of the sizes of the terms of H
    on_states: NDArray[np.bool_]  # (path constraints,): of states and time alone
    multipliers: PhaseMultipliers
    integral_rows: Array  # multipliers of the unknown integrals

    @cached_property
    def times(self) -> Array:
        """(state points,), normalised."""
        return self.ph.state_times()

    def series(self, column: int, k: int) -> Array:
        """The Legendre coefficients of a constraint along the answer on an interval."""
        ph = self.ph
        count = ph.rules[k].points.size + 3
        at = 0.5 - 0.5 * np.cos(np.pi * np.arange(count) / (count - 1))
        chosen = [(np.array([k]), ph.rules[k].places(at))]
        x, W, D = sampled(ph, self.layout, self.program, self.index, self.values, chosen)
        if column < ph.nx:
            values = x[:, column]
        else:
            kernel = self.program.blocks[self.index].kernel
            outputs = np.asarray(kernel.constraints(W, D, np.repeat(self.program.parameters[:, None], count, axis=1)))
            values = outputs[ph.form.g.numel() + column]
        return np.asarray(inverse_legendre(tuple(at.tolist())) @ values)

    def held(self, column: int, side: int, closeness: float) -> NDArray[np.bool_]:
        """(state points,): where a constraint is at a limit."""
        ph = self.ph
        if column < ph.nx:
            values, bound, i = self.values.X[:, column], ph.form.x_bound, column
        else:
            block = self.program.blocks[self.index]
            outputs = np.asarray(block.kernel.constraints(*places(block, self.program)))
            values, bound, i = np.full(ph.state_points, np.nan), ph.form.c_bound, column - ph.nx
            values[ph.point_state] = outputs[ph.form.g.numel() + column]
        limit = (bound.upper if side > 0 else bound.lower)[i]
        size = max(float(np.nanmax(values) - np.nanmin(values)), 1e-12)
        with np.errstate(invalid="ignore"):
            return np.asarray(side * (limit - values) < closeness * size)


def along(
    ph: PhaseLayout,
    layout: Layout,
    kernels: PhaseKernels,
    program: Program,
    index: int,
    values: PhaseValues,
    multipliers: PhaseMultipliers,
    raw: tuple[Array, Array],
) -> Along:
    """``raw``: the multipliers of bounds and of constraints, in physical units."""
    block = program.blocks[index]
    nx, nc, first = ph.nx, ph.form.c.numel(), ph.nx + ph.form.g.numel()
    pushes = np.zeros((ph.state_points, nx + nc))
    pushes[:, :nx] = raw[0][ph.x : ph.z].reshape(-1, nx)
    outputs = np.asarray(block.kernel.constraints(*places(block, program)))[:nx].T
    lengths = np.diff(values.spans)[ph.mesh.spans[1]][ph.interval_of]
    rates = outputs / lengths[:, None]
    cost = np.abs(running_cost(block, program)) / lengths if block.kernel.objective_rows else np.zeros(ph.points)
    power = float((np.abs(multipliers.points * rates).sum(axis=1) + cost).max())
    fastest = np.maximum(np.abs(rates).max(axis=0), 1e-300)
    sizes = np.maximum(np.maximum(np.abs(multipliers.points).max(axis=0), 1e-3 * power / fastest), 1e-300)
    jumps = np.zeros_like(pushes)
    jumps[:, :nx] = np.abs(pushes[:, :nx]) / sizes
    if kernels.state_paths.any():
        rows = np.where(kernels.state_paths, raw[1][ph.c_rows : ph.q_rows].reshape(ph.points, nc), 0.0)
        gradients = np.abs(point_derivatives(block, program)[0][:, first : first + nc, :nx] / sizes).max(axis=2)
        pushes[ph.point_state, nx:] = rows
        jumps[ph.point_state, nx:] = np.abs(rows) * gradients
    return Along(
        ph, layout, program, index, values, pushes, jumps, sizes, max(power, 1e-300), kernels.state_paths,
        multipliers, raw[1][ph.q_rows : ph.span_rows],
    )  # fmt: skip


def contacts(of: Along, least: float) -> list[Contact]:
    """Those that make the costates jump by more than ``least`` of their sizes, and all ends of arcs; in order of time."""
    found = []
    for column in np.flatnonzero(of.jumps[1:-1].max(axis=0) > least).tolist():
        for runs in _stretches(of, column, _runs(of.pushes[:, column], of.jumps[:, column] > least)):
            side = int(np.sign(of.pushes[runs[0][0], column]))
            if len(runs) == 1 and runs[0].size <= LONGEST:
                found.append(_touch(of, column, side, runs[0]))
            else:
                found += [_end(of, column, runs[0], ENTRY), _end(of, column, runs[-1], EXIT)]
    return sorted((contact for contact in found if contact is not None), key=lambda contact: contact.place)


def _stretches(of: Along, column: int, runs: list[Index]) -> list[list[Index]]:
    """Runs on one side of a constraint between which it stays at its limit: the pushes of one arc."""
    stretches: list[list[Index]] = []
    for run in runs:
        last = stretches[-1][-1] if stretches else run
        side = int(np.sign(of.pushes[run[0], column]))
        if stretches and side * of.pushes[last[0], column] > 0 and of.held(column, side, HELD)[last[-1] : run[0]].all():
            stretches[-1].append(run)
        else:
            stretches.append([run])
    return stretches


def _runs(pushes: Array, large: NDArray[np.bool_]) -> list[Index]:
    """Neighbouring nodes at which one side of a constraint pushes, without those that hardly do."""
    which = np.flatnonzero(large)
    cuts = np.flatnonzero((np.diff(which) > 1) | (np.diff(np.sign(pushes[which])) != 0)) + 1
    runs = []
    for run in np.split(which, cuts):
        strong = np.flatnonzero(np.abs(pushes[run]) > SMALL * np.abs(pushes[run]).max())
        runs.append(run[strong[0] : strong[-1] + 1])
    return runs


def _node(of: Along, run: Index) -> tuple[float, int, bool]:
    """The time of the node among a run that is a break, or else of their middle; the interval that ends there or has it."""
    breaks, at = of.ph.mesh.breaks, of.times[run]
    shared = np.flatnonzero(np.isin(breaks, at))
    if shared.size:
        return float(breaks[shared[0]]), int(shared[0]) - 1, True
    node = float(at.mean())
    return node, int(np.clip(np.searchsorted(breaks, node) - 1, 0, of.ph.mesh.intervals - 1)), False


def _touch(of: Along, column: int, side: int, run: Index) -> Contact | None:
    """None at an end of the phase, or where the constraint has no peak."""
    if run[0] == 0 or run[-1] == of.times.size - 1:
        return None
    node, k, at_break = _node(of, run)
    breaks = of.ph.mesh.breaks
    candidates, slope = [], 0.0
    for interval in (k, k + 1) if at_break else (k,):
        slopes, width = legendre.legder(of.series(column, interval)), breaks[interval + 1] - breaks[interval]
        roots = legendre.legroots(slopes)
        peaks = (roots[np.abs(roots.imag) < 1e-9].real + 1) / 2
        peaks = peaks[(peaks > -BEYOND) & (peaks < 1 + BEYOND)]
        peaks = peaks[side * legendre.legval(2 * peaks - 1, legendre.legder(slopes)) < 0]
        candidates += [(max(0.0, tau - 1, -tau), breaks[interval] + width * tau) for tau in peaks]
        if interval == k:
            slope = 2 * float(legendre.legval(2 * (node - breaks[k]) / width - 1, slopes)) / width
    if not candidates:
        return None
    # Inside its own interval a polynomial tells best; of several peaks the touch is at the nearest.
    peak = float(min(candidates, key=lambda c: (c[0] > 1e-2, abs(c[1] - node)))[1])
    push, jump = (float(np.abs(part[run, column]).sum()) for part in (of.pushes, of.jumps))
    # The Hamiltonian jumps by the push times the slope.
    off = push * abs(slope) / (of.values.tf - of.values.t0) / of.power
    return Contact(of.index, column, TOUCH, node, peak, at_break, jump, off)


def _end(of: Along, column: int, run: Index, kind: int) -> Contact | None:
    """An end of an arc with the pushes there, if it is not an end of the phase.

    Along the arc the derivative of the constraint that the controls enter is zero; it comes from outside to zero, and there the
    arc begins. An arc on which that is the first derivative has a density of pushes only, and costates that do not jump.
    """
    edge, order = int(run[0] if kind == ENTRY else run[-1]), of.ph.order(of.program.blocks[of.index].kernel, column)
    if edge in (0, of.times.size - 1) or order not in (1, 2):
        return None
    breaks, at = of.ph.mesh.breaks, float(of.times[edge])
    before, after = np.searchsorted(breaks, at, side="left") - 1, np.searchsorted(breaks, at, side="right")
    # The nearest interval in which nothing pushes but at the end.
    k = int(before if kind == ENTRY else after - 1) if at in breaks else int(before - 1 if kind == ENTRY else after)
    if not 0 <= k < of.ph.mesh.intervals:
        return None
    width = breaks[k + 1] - breaks[k]
    roots = legendre.legroots(legendre.legder(of.series(column, k), order))
    real = breaks[k] + width * (roots[np.abs(roots.imag) < 1e-9].real + 1) / 2
    reach = BEYOND * width
    real = real[np.abs(real - np.clip(real, *sorted((at, breaks[k + (kind == ENTRY)])))) < reach]
    if not real.size:
        return None
    place = float(real[np.argmin(np.abs(real - at))])
    if order == 1:
        return Contact(of.index, column, kind, at, place, True, 0.0, 0.0)
    ends = run[:LONGEST] if kind == ENTRY else run[-LONGEST:]
    node = float(of.times[ends[np.argmax(np.abs(of.pushes[ends, column]))]])
    # The nodes themselves say between which of them it must be.
    if not of.times[ends[0] - 1] < place < of.times[min(ends[-1] + 1, of.times.size - 1)]:
        place = node
    jump = float(of.jumps[ends, column].sum())
    return Contact(of.index, column, kind, node, place, node in breaks, jump, jump * abs(place - node))


def next_places(earlier: Sequence[Sequence[Contact]], now: Sequence[Contact]) -> list[float]:
    """Where breaks are to go: at the places that the contacts have now, or beyond, if the last moves tell that it will not do.

    Moving a break moves the place too, and perhaps as far. From two meshes the secant tells where they meet; nodes on both sides
    of the place hold it between them.
    """
    numbered = [_numbered(one) for one in (now, *earlier[: -MEMORY - 1 : -1])]
    places = []
    for name, contact in numbered[0].items():
        seen = list(takewhile(_moves, (one.get(name) for one in numbered)))
        node, gap = (np.array(part) for part in zip(*[(c.node, c.place - c.node) for c in seen or [contact] if c], strict=True))
        slope = -1.0
        if node.size > 1 and node[0] != node[1]:
            slope = (gap[0] - gap[1]) / (node[0] - node[1])
        place = float(node[0] - gap[0] / np.clip(slope, -STEEPEST, -FLATTEST))
        low, high = node[gap > 0].max(initial=-np.inf), node[gap < 0].min(initial=np.inf)
        if np.isfinite(high - low) and low < high:
            place = float(np.clip(place, low + 0.1 * (high - low), high - 0.1 * (high - low)))
        places.append(place)
    return places


def _moves(contact: Contact | None) -> bool:
    """Whether it has a break already, that can only be placed better."""
    return contact is not None and contact.jump > 0 and contact.at_break


def _numbered(of: Sequence[Contact]) -> dict[tuple[int, int, int, int], Contact]:
    """By constraint, kind and number."""
    return {(*contact.name, sum(other.name == contact.name for other in of[:i])): contact for i, contact in enumerate(of)}
