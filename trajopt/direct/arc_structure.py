"""Arcs: which control is at which bound when, read off a mesh solution; and the mesh on which their
ends can move.

A switch inside an interval reduces the order of convergence. With the order of the arcs known, the
switching times become unknowns of the program, the controls on bang arcs are held at their bounds,
and every arc is smooth again.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from trajopt.direct.collocation import DECADE, DISTINCT, ArcDetection
from trajopt.direct.mesh import Mesh
from trajopt.direct.phase_view import PhaseView
from trajopt.statement.normal_form import stacked_bounds
from trajopt.trajectory.arcs import (
    AT_LOWER,
    AT_UPPER,
    FREE,
    Cells,
    Run,
    bridged,
    control_range,
    distinct,
    role_at,
    runs_of,
    sides,
    switched,
    without_touches,
)

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int_]

# and above, one number for each set of active constraints: the role of a control that these
# determine
DECIDED = 2


@dataclass(frozen=True, eq=False)
class Structure:
    """The arcs of one phase: their end times, and the role of every control, state and path
    constraint on each.
    """

    times: Array  # (arcs + 1,)
    roles: Ints  # (arcs, controls)
    held: Ints  # (arcs, states + path constraints)

    @property
    def arcs(self) -> int:
        return self.times.size - 1


def find_structure(view: PhaseView) -> tuple[Structure | None, Ints]:
    """The arcs of a phase, if its controls show them; and the intervals where they do not."""
    values, active = view.values, active_constraints(view)
    controls, unclear = [], []
    for j in range(view.layout.nu):
        runs, intervals = _control_runs(view, j, active)
        controls.append(runs)
        unclear += intervals
    if unclear or not any(len(runs) > 1 for runs in controls):
        # with no switch there is nothing to move
        return None, np.unique(np.array(unclear, dtype=int))
    starts = np.array([run.start for runs in controls for run in runs[1:]])
    times = distinct(
        starts, values.t0, values.tf, DECADE * view.method.arcs.active * (values.tf - values.t0)
    )
    middles = 0.5 * (times[1:] + times[:-1])
    roles = np.array([[role_at(runs, t) for runs in controls] for t in middles], dtype=int)
    held = np.array([_held_between(a, b, view, active) for a, b in itertools.pairwise(times)])
    # At most as many constraints as controls that they determine; of more, it is not known which
    # are active.
    held = np.where(
        ((held != FREE).sum(axis=1) <= (roles >= DECIDED).sum(axis=1))[:, None], held, FREE
    )
    return Structure(times, np.where(roles >= DECIDED, FREE, roles), held), np.zeros(0, dtype=int)


def _held_between(start: float, end: float, view: PhaseView, active: Ints) -> Ints:
    """(states + path constraints,): what is active on most of the intervals inside an arc."""
    middles = 0.5 * (view.values.breaks[1:] + view.values.breaks[:-1])
    inside = (middles > start) & (middles < end)
    if not inside.any():
        return np.zeros(active.shape[1], dtype=int)
    share = active[inside].mean(axis=0)
    return np.where(np.abs(share) > 0.5, np.sign(share), 0).astype(int)


def near_limit(view: PhaseView) -> Bools:
    """(points,): where a state is at one of its bounds, so that the bound and not the Hamiltonian
    determines the control.
    """
    bound, margin = view.layout.form.x_bound, view.method.arcs.active * view.x_size
    x = view.values.X[view.layout.grid.point_state]
    return np.asarray(((x - bound.lower < margin) | (bound.upper - x < margin)).any(axis=1))


def active_constraints(view: PhaseView) -> Ints:
    """(intervals, states + path constraints): which of their bounds is active there, if one."""
    ph, settings = view.layout, view.method.arcs
    of = np.hstack([view.values.X[ph.grid.point_state], view.path])
    bound = stacked_bounds([ph.form.x_bound, ph.form.c_bound])
    size = np.concatenate(
        [view.x_size, np.maximum(np.abs(view.path).max(axis=0), np.finfo(float).tiny)]
    )
    below, above = (of - bound.lower) / size, (bound.upper - of) / size
    low, high = below < settings.active, above < settings.active
    at = np.where(low & ~high, AT_LOWER, np.where(high & ~low, AT_UPPER, FREE))
    low, high = (f.reduceat(at, ph.grid.first_point, axis=0) for f in (np.minimum, np.maximum))
    active = np.where(low < 0, AT_LOWER, high)
    near = {
        role: np.asarray(np.maximum.reduceat(distance, ph.grid.first_point, axis=0) < DECADE**-2)
        for role, distance in ((AT_LOWER, below), (AT_UPPER, above))
    }
    numbers = np.arange(ph.mesh.intervals)
    for column in range(active.shape[1]):
        close = {role: there[:, column] for role, there in near.items()}
        active[:, column] = bridged(active[:, column], close, numbers, settings.few)
    return active


def decided(view: PhaseView) -> Bools:
    """(intervals, controls): where a constraint determines a control, which is between its bounds
    on the whole interval.
    """
    inside = np.logical_and.reduceat(
        view.inside(view.values.U), view.layout.grid.first_point, axis=0
    )
    return np.asarray(inside & np.asarray(active_constraints(view).any(axis=1))[:, None])


def _control_runs(view: PhaseView, j: int, active: Ints) -> tuple[list[Run], list[int]]:
    """The runs of a control, and the intervals on which they are unclear."""
    lower, upper = view.layout.form.u_bound.lower[j], view.layout.form.u_bound.upper[j]
    cells, level = _cells(view, j)
    roles = sides(
        level, lower, upper, view.method.arcs.at_bound * control_range(level, lower, upper)
    )
    if not view.kernels.affine[j]:
        return without_touches(runs_of(roles, cells), 1.0), []
    runs, unclear = switched(
        _with_decided(roles, active, cells.interval), cells, level, lower, upper
    )
    return runs, [int(k) for run in unclear for k in cells.interval[run.inside(cells.middle)]]


def _with_decided(role: Ints, active: Ints, interval: Ints) -> Ints:
    """The roles of an affine control with those where active constraints decide it; two intervals
    or fewer are no arc.
    """
    decided = (role == FREE) & np.asarray(active.any(axis=1))[interval]
    sets = DECIDED + np.unique(active, axis=0, return_inverse=True)[1].ravel()[interval]
    lasting = decided & np.roll(decided, 1) & np.roll(decided, -1)
    lasting = decided & (lasting | np.roll(lasting, 1) | np.roll(lasting, -1))
    role = np.where(lasting, sets, role)
    for run in np.split(np.arange(role.size), np.flatnonzero(np.diff(role)) + 1):
        if role[run[0]] == FREE and run.size > 1 and decided[run].mean() > 0.5:
            role[run] = sets[run]
    return role


def _cells(view: PhaseView, j: int) -> tuple[Cells, Array]:
    """Intervals of constant control, or neighbourhoods of points; and the control in each."""
    ph, values = view.layout, view.values
    constant = ph.control_grid.count[:, j] == 1
    counts = np.where(constant, 1, ph.grid.sizes)
    cuts = [
        np.array([0.0, 1.0])
        if one
        else np.concatenate([[0.0], 0.5 * (rule.points[1:] + rule.points[:-1]), [1.0]])
        for one, rule in zip(constant, ph.grid.rules, strict=True)
    ]
    interval = np.repeat(np.arange(counts.size), counts)
    point = np.arange(interval.size) + np.repeat(
        ph.grid.first_point - np.cumsum(counts) + counts, counts
    )
    starts, widths = values.breaks[interval], np.diff(values.breaks)[interval]
    left, right = (np.concatenate(part) for part in ([c[:-1] for c in cuts], [c[1:] for c in cuts]))
    return Cells(starts + widths * left, starts + widths * right, interval, right - left), values.U[
        point, j
    ]


def arc_mesh(
    structure: Structure,
    affine: Bools,
    settings: ArcDetection,
    kept: tuple[Array, Ints] | None = None,
) -> tuple[Mesh, Array]:
    """A mesh with moving knots at the ends of the arcs, and their times.

    ``kept``: times of breaks, and degrees, of an earlier mesh on arcs, kept where it is finer.
    """
    total = structure.times[-1] - structure.times[0]
    breaks, degrees, roles, points, held, knots = [0.0], [], [], [], [], []
    for a in range(structure.arcs):
        start, end = (structure.times[a : a + 2] - structure.times[0]) / total
        # where a constraint decides, all freedom
        singular = (structure.roles[a] == FREE) & affine & ~structure.held[a].any()
        # Half as many again where a control is singular: an arc at its bound may be hidden there
        # (protein-fed-batch, suite).
        least, density = (4, 3 * settings.density / 2) if singular.any() else (2, settings.density)
        count = max(least, round(density * (end - start)))
        ends = start + (end - start) * np.arange(1, count + 1) / count
        orders = np.full(count, settings.degree)
        if kept is not None:
            ends, orders = _finer(
                ends,
                orders,
                ((kept[0] - structure.times[0]) / total, kept[1]),
                start,
                DECADE * settings.active,
            )
        breaks += [*ends[:-1].tolist(), float(end)]
        degrees += orders.tolist()
        roles += [structure.roles[a]] * ends.size
        held += [structure.held[a]] * ends.size
        points += [
            np.where(structure.roles[a] != FREE, 1, np.where(singular, settings.singular_points, 0))
        ] * ends.size
        knots.append(len(degrees))
    breaks[-1] = 1.0
    mesh = Mesh(
        np.array(breaks),
        np.array(degrees),
        tuple(knots[:-1]),
        np.array(roles),
        np.array(points),
        np.array(held),
    )
    return mesh, structure.times


def _finer(
    ends: Array, orders: Ints, kept: tuple[Array, Ints], start: float, shortest: float
) -> tuple[Array, Ints]:
    """The breaks of an arc, or those of an earlier mesh inside it if they are more: layers once
    resolved stay resolved.
    """
    times, degrees = kept
    # not of an arc that has vanished
    apart = np.append(np.diff(times[:-1], prepend=-1.0) > shortest, False)
    inside = np.flatnonzero((times > start + shortest) & (times < ends[-1] - shortest) & apart)
    if inside.size < ends.size:
        return ends, orders
    return np.append(times[inside], ends[-1]), np.append(degrees[inside - 1], degrees[inside[-1]])


def with_entries(mesh: Mesh, view: PhaseView) -> Mesh:
    """The mesh with fewer values for the controls where boundary arcs of constraints of higher
    order begin.

    Such an arc begins with the constraint's derivatives at zero, up to the one that the controls
    enter. Free at every point, a control could bring them there on the first interval.
    """
    if (
        mesh.held is None
        or not mesh.held.any()
        or mesh.roles is None
        or mesh.control_points is None
    ):
        return mesh
    points = mesh.control_points.copy()
    for k in range(1, mesh.intervals):
        on = mesh.held[k] != FREE
        orders = {view.order(int(i)) for i in np.flatnonzero(on & (mesh.held[k - 1] == FREE))}
        fewer = orders.pop() - 1 if len(orders) == 1 else 0
        points[k] = np.where(
            view.kernels.affine & (mesh.roles[k] == FREE) & on.any(), -max(fewer, 0), points[k]
        )
    return replace(mesh, control_points=points)


@dataclass(frozen=True, eq=False)
class WrongSigns:
    """Multipliers of the wrong sign on what is held at its bound; they contradict the arcs."""

    fraction: float  # of all multipliers of what is held: 0 confirms the arcs, 1 refutes them
    loss: float  # what the cost could fall by, to first order, if these controls left their bounds
    where: Bools  # (intervals, controls)


def wrong_signs(view: PhaseView) -> WrongSigns:
    """Signs of H_u of held controls, and of the multipliers of held constraints."""
    ph = view.layout
    if ph.mesh.roles is None:
        return WrongSigns(0.0, 0.0, np.zeros((ph.mesh.intervals, ph.nu), dtype=bool))
    span = ph.form.u_bound.upper - ph.form.u_bound.lower
    # What moving each control off its bound, by its range, costs at each point: negative where it
    # pays.
    cost = (
        -view.control_slopes
        * ph.mesh.roles[ph.grid.interval_of]
        * np.where(np.isfinite(span), span, 0.0)
    )
    cost = np.where(near_limit(view)[:, None], 0.0, cost)
    total = float(np.abs(cost).sum())
    loss = np.add.reduceat(np.maximum(-cost, 0.0), ph.grid.first_point, axis=0)
    fraction = float(loss.sum()) / total if total > 0 else 0.0
    where = (loss > view.method.negligible * total / ph.mesh.intervals) | (
        loss > 0.5 * loss.max(initial=0.0)
    )
    return WrongSigns(max(fraction, _wrong_constraints(view)), float(loss.sum()), where)


def _wrong_constraints(view: PhaseView) -> float:
    """The part of the multipliers of held states and path constraints that has the wrong sign, for
    the worst of them.
    """
    ph = view.layout
    if ph.mesh.held is None or not ph.mesh.held.any():
        return 0.0
    multipliers = np.hstack(
        [view.state_multipliers[ph.grid.point_state], ph.path_rows(view.constraint_multipliers)]
    )
    signs = ph.mesh.held[ph.grid.interval_of] * multipliers  # positive where it is right
    shares = [np.maximum(-one, 0.0).sum() / np.abs(one).sum() for one in signs.T if one.any()]
    return float(max(shares, default=0.0))


def repaired(view: PhaseView, wrong: Bools) -> Structure | None:
    """The arcs of a solution, with free ones where a held control has the wrong sign."""
    mesh = view.layout.mesh
    if mesh.roles is None or mesh.held is None:
        return None
    roles = np.where(wrong, FREE, mesh.roles)
    both = np.hstack([roles, mesh.held])
    firsts = [0, *[k for k in range(1, mesh.intervals) if np.any(both[k] != both[k - 1])]]
    structure = Structure(
        view.values.breaks[[*firsts, mesh.intervals]], roles[firsts], mesh.held[firsts]
    )
    return _without_short_arcs(structure, _vanished(view))


def continuous_knots(view: PhaseView) -> tuple[int, ...]:
    """Knots at which a boundary arc begins or ends with a control as it is on the other side.

    There the constraint, or the control's bound, is just reached: the knot is exact if that is
    required.
    """
    ph, values, mesh = view.layout, view.values, view.layout.mesh
    if mesh.held is None or not mesh.held.any() or mesh.roles is None:
        return ()
    bound, found, close = ph.form.u_bound, [], DISTINCT
    for k in mesh.knots:
        first = ph.grid.points_of(k).start
        before, after = values.U[first - 1], values.U[first]
        both = (
            mesh.held[k - 1].any()
            and mesh.held[k].any()
            and np.any(mesh.held[k - 1] != mesh.held[k])
        )
        free = (mesh.roles[k - 1] == FREE) & (mesh.roles[k] == FREE)
        if both and free.any() and np.all(np.abs(after - before)[free] < close * view.u_size[free]):
            found.append(int(k))
        for on, other, point in ((k, k - 1, first), (k - 1, k, first - 1)):
            of_arc = (mesh.roles[on] == FREE) & (mesh.roles[other] != FREE) & mesh.held[on].any()
            limit = np.where(mesh.roles[other] == AT_LOWER, bound.lower, bound.upper)
            with np.errstate(invalid="ignore"):
                near = np.abs(values.U[point] - limit) < close * (bound.upper - bound.lower)
            if np.any(of_arc & near):
                found.append(int(k))
    return tuple(sorted(set(found)))


def _vanished(view: PhaseView) -> float:
    """An arc as short as that, in time, has been shrunk to nothing by the solver."""
    return float(view.method.arcs.active * (view.values.tf - view.values.t0))


def collapsed(view: PhaseView) -> bool:
    """True if the solver has shrunk an arc to nothing: it is not part of the solution."""
    return view.layout.mesh.roles is not None and bool(
        np.any(np.diff(view.values.spans) < _vanished(view))
    )


def _without_short_arcs(structure: Structure, shortest: float) -> Structure | None:
    """The arcs without too short ones, whose time the next one gets; None if one is left."""
    long = np.diff(structure.times) > shortest
    roles, held = structure.roles[long], structure.held[long]
    ends = structure.times[1:][long]
    both = np.hstack([roles, held])
    # neighbours that do the same are one
    last = np.append(np.any(both[1:] != both[:-1], axis=1), True)
    if last.sum() < 2:
        return None
    return Structure(
        np.concatenate([structure.times[:1], ends[last][:-1], structure.times[-1:]]),
        roles[last],
        held[last],
    )
