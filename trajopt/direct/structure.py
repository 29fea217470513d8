"""Arcs: which control rides which bound when, read off an answer; and the mesh on which their ends can move.

A switch inside an interval costs accuracy that no mesh wins back quickly. With the order of the arcs known, the switching times
become unknowns of the program, the controls on bound arcs are held there, and every arc is smooth again.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from trajopt.direct.costates import point_derivatives
from trajopt.direct.kernels import PhaseKernels
from trajopt.direct.mesh import AT_LOWER, AT_UPPER, FREE, Mesh
from trajopt.direct.transcribe import PhaseLayout
from trajopt.direct.values import PhaseValues
from trajopt.nlp.program import Kernel, Program, places
from trajopt.normal_form import stacked

Array = NDArray[np.float64]

RIDING = 2  # and above, one number for each set of active constraints: of a control that these decide
TOUCH = 1e-5  # of its size: how close to its bound a state or a path constraint counts as touching it
HOVER = 1e-2  # of its size: how close it stays between touches where it would ride, but for the mesh
LONGEST_GAP = 3  # intervals without a touch in an arc that rides
NEAR = 2e-3  # of its range: how close to a bound a control counts as being there
CONTINUOUS = 0.1  # of its range: a control that differs less at a knot is taken to be continuous there
SLIVER = 1e-5  # of a phase: an arc as short as that is none
SINGULAR_POINTS = 4  # a cubic on each interval of a singular arc: free enough to follow it, too stiff to chatter


@dataclass(frozen=True)
class Piece:
    """A stretch on which one control keeps one role."""

    role: int
    start: float
    end: float
    intervals: float  # its length in units of the local interval width


@dataclass(frozen=True, eq=False)
class Structure:
    """The arcs of one phase: their end times, and the role of every control, state and path constraint on each."""

    times: Array  # (arcs + 1,)
    roles: NDArray[np.int_]  # (arcs, controls)
    held: NDArray[np.int_]  # (arcs, states + path constraints)

    @property
    def arcs(self) -> int:
        return self.times.size - 1


def find_structure(
    ph: PhaseLayout, program: Program, index: int, values: PhaseValues, kernels: PhaseKernels
) -> tuple[Structure | None, NDArray[np.int_]]:
    """The arcs of a phase, if its controls show them clearly; and the intervals where they do not."""
    active = _active(ph, program, index, values)
    unclear: list[int] = []
    all_pieces = []
    for j in range(ph.nu):
        pieces, doubtful = _pieces(ph, values, j, bool(kernels.affine[j]), active)
        all_pieces.append(pieces)
        unclear += doubtful
    if unclear or not any(len(p) > 1 for p in all_pieces):
        return None, np.unique(np.array(unclear, dtype=int))  # with no switch there is nothing to move
    least = 1e-4 * (values.tf - values.t0)
    cuts = np.sort(np.array([p.start for pieces in all_pieces for p in pieces[1:]]))
    cuts = cuts[np.concatenate([[True], np.diff(cuts) > least])] if cuts.size else cuts
    cuts = cuts[(cuts > values.t0 + least) & (cuts < values.tf - least)]
    times = np.concatenate([[values.t0], cuts, [values.tf]])
    middles = 0.5 * (times[1:] + times[:-1])
    roles = np.array([[_role_at(pieces, t) for pieces in all_pieces] for t in middles], dtype=int)
    held = np.array([_held_between(a, b, values, active) for a, b in itertools.pairwise(times)])
    riding = (roles >= RIDING).sum(axis=1)
    # As many constraints as they decide controls; of more, nobody knows which.
    held = np.where(((held != FREE).sum(axis=1) <= riding)[:, None], held, FREE)
    return Structure(times, np.where(roles >= RIDING, FREE, roles), held), np.zeros(0, dtype=int)


def _held_between(start: float, end: float, values: PhaseValues, active: NDArray[np.int_]) -> NDArray[np.int_]:
    """(states + path constraints,): what holds on most of the intervals inside an arc."""
    middles = 0.5 * (values.breaks[1:] + values.breaks[:-1])
    inside = (middles > start) & (middles < end)
    if not inside.any():
        return np.zeros(active.shape[1], dtype=int)
    share = active[inside].mean(axis=0)
    return np.where(np.abs(share) > 0.6, np.sign(share), 0).astype(int)


def _active(ph: PhaseLayout, program: Program, index: int, values: PhaseValues) -> NDArray[np.int_]:
    """(intervals, states + path constraints): which of their bounds they touch there, if one."""
    block = program.blocks[index]
    first, count = ph.nx + ph.form.g.numel(), ph.form.c.numel()
    c = (
        np.asarray(block.kernel.constraints(*places(block, program)))[first : first + count].T
        if count
        else np.zeros((ph.points, 0))
    )
    of = np.hstack([values.X[ph.point_state], c])
    bound = stacked([ph.form.x_bound, ph.form.c_bound])
    size = np.maximum(np.abs(of).max(axis=0), 1e-12)
    below, above = (of - bound.lower) / size, (bound.upper - of) / size
    touched = np.where((below < TOUCH) & (above >= TOUCH), AT_LOWER, np.where((above < TOUCH) & (below >= TOUCH), AT_UPPER, FREE))
    low, high = (f.reduceat(touched, ph.first_point, axis=0) for f in (np.minimum, np.maximum))
    active = np.where(low < 0, AT_LOWER, high)
    near = {
        role: np.asarray(np.maximum.reduceat(distance, ph.first_point, axis=0) < HOVER)
        for role, distance in ((AT_LOWER, below), (AT_UPPER, above))
    }
    return _without_gaps(active, near)


def _without_gaps(active: NDArray[np.int_], near: dict[int, NDArray[np.bool_]]) -> NDArray[np.int_]:
    """What a control moves through others, on a mesh that fits no arc, hovers at its bound and touches it only here and there."""
    filled = active.copy()
    for column in range(active.shape[1]):
        for first, last in itertools.pairwise(np.flatnonzero(active[:, column]).tolist()):
            role = int(active[first, column])
            between = slice(first + 1, last)
            if role == active[last, column] and last - first - 1 <= LONGEST_GAP and near[role][between, column].all():
                filled[between, column] = role
    return filled


def decided(ph: PhaseLayout, program: Program, index: int, values: PhaseValues) -> NDArray[np.bool_]:
    """(intervals, controls): where a constraint decides a control, all along between its bounds."""
    bound = ph.form.u_bound
    span = np.where(np.isfinite(bound.upper - bound.lower), bound.upper - bound.lower, 1.0)
    inside = (bound.lower + NEAR * span < values.U) & (bound.upper - NEAR * span > values.U)
    constrained = _active(ph, program, index, values).any(axis=1)
    return np.asarray(np.logical_and.reduceat(inside, ph.first_point, axis=0) & np.asarray(constrained)[:, None])


def _pieces(
    ph: PhaseLayout, values: PhaseValues, j: int, affine: bool, active: NDArray[np.int_]
) -> tuple[list[Piece], list[int]]:
    lower, upper = ph.form.u_bound.lower[j], ph.form.u_bound.upper[j]
    left, right, level, interval = _samples(ph, values, j)
    span = upper - lower if np.isfinite(upper - lower) else max(1.0, float(np.abs(level).max()))
    role = np.where(level <= lower + NEAR * span, AT_LOWER, np.where(level >= upper - NEAR * span, AT_UPPER, FREE))
    if affine:
        riding = (role == FREE) & np.asarray(active.any(axis=1))[interval]
        sets = RIDING + np.unique(active, axis=0, return_inverse=True)[1].ravel()[interval]
        # A touch of an interval or two is no arc: three in a row are.
        lasting = riding & np.roll(riding, 1) & np.roll(riding, -1)
        lasting = riding & (lasting | np.roll(lasting, 1) | np.roll(lasting, -1))
        role = np.where(lasting, sets, role)
        for run in np.split(np.arange(role.size), np.flatnonzero(np.diff(role)) + 1):
            if role[run[0]] == FREE and run.size > 1 and riding[run].mean() > 0.5:
                role[run] = sets[run]
    edges = np.concatenate([[0], np.flatnonzero(np.diff(role)) + 1, [role.size]])
    runs = []
    for a, b in itertools.pairwise(edges):
        widths = np.diff(values.breaks)[interval[a:b]]
        length = float((right[a:b] - left[a:b]) @ (1.0 / widths))
        runs.append(
            (
                Piece(int(role[a]), float(left[a]), float(right[b - 1]), length),
                float(level[a:b] @ (right[a:b] - left[a:b])),
                interval[a:b],
            )
        )
    if affine:
        return _switched(runs, lower, upper)
    # A control that bends away from its bound: contact shorter than an interval is a touch, not an arc.
    kept = [p if p.role == FREE or p.intervals > 0.9 else Piece(FREE, p.start, p.end, p.intervals) for p, _, _ in runs]
    return _merged(kept), []


def _switched(runs: list[tuple[Piece, float, NDArray[np.int_]]], lower: float, upper: float) -> tuple[list[Piece], list[int]]:
    """Short in-between values of an affine control are switches inside an interval; long ones are arcs of their own."""
    pieces: list[Piece] = []
    unclear: list[int] = []
    bound = {AT_LOWER: lower, AT_UPPER: upper}
    for i, (piece, area, intervals) in enumerate(runs):
        before = runs[i - 1][0].role if i else FREE
        after = runs[i + 1][0].role if i + 1 < len(runs) else FREE
        if abs(piece.role) == 1 or piece.intervals > 2.2:
            pieces.append(piece)
        elif FREE not in (before, after) and before != after:
            share = 0.5
            if before * after == -1:  # from one bound to the other: keep the mean
                mean = area / (piece.end - piece.start)
                share = float(np.clip((mean - bound[after]) / (bound[before] - bound[after]), 0.0, 1.0))
            switch = piece.start + share * (piece.end - piece.start)
            last = pieces.pop()
            pieces.append(Piece(last.role, last.start, float(switch), last.intervals))
            following = runs[i + 1][0]
            runs[i + 1] = (
                Piece(following.role, float(switch), following.end, following.intervals),
                runs[i + 1][1],
                runs[i + 1][2],
            )
        else:
            unclear += [int(k) for k in intervals] if piece.role == FREE else []
            pieces.append(piece)
    return _merged(pieces), unclear


def _merged(pieces: list[Piece]) -> list[Piece]:
    merged: list[Piece] = []
    for p in pieces:
        if merged and merged[-1].role == p.role:
            merged[-1] = Piece(p.role, merged[-1].start, p.end, merged[-1].intervals + p.intervals)
        else:
            merged.append(p)
    return merged


def _samples(ph: PhaseLayout, values: PhaseValues, j: int) -> tuple[Array, Array, Array, NDArray[np.int_]]:
    """Stretches of time with one control value each: intervals of constant control, or the neighbourhoods of points."""
    constant = ph.u_count[:, j] == 1
    counts = np.where(constant, 1, ph.sizes)
    cuts = [
        np.array([0.0, 1.0]) if one else np.concatenate([[0.0], 0.5 * (rule.points[1:] + rule.points[:-1]), [1.0]])
        for one, rule in zip(constant, ph.rules, strict=True)
    ]
    interval = np.repeat(np.arange(counts.size), counts)
    point = np.arange(interval.size) + np.repeat(ph.first_point - np.cumsum(counts) + counts, counts)
    starts, widths = values.breaks[interval], np.diff(values.breaks)[interval]
    left, right = (np.concatenate(part) for part in ([c[:-1] for c in cuts], [c[1:] for c in cuts]))
    return starts + widths * left, starts + widths * right, values.U[point, j], interval


def _role_at(pieces: list[Piece], t: float) -> int:
    return next((p.role for p in pieces if p.start <= t <= p.end), pieces[-1].role)


def arc_mesh(structure: Structure, affine: NDArray[np.bool_], degree: int, density: float = 12.0) -> tuple[Mesh, Array]:
    """A mesh with moving knots at the ends of the arcs, and their times."""
    total = structure.times[-1] - structure.times[0]
    breaks, degrees, roles, points, held, knots = [0.0], [], [], [], [], []
    for a in range(structure.arcs):
        start, end = (structure.times[a : a + 2] - structure.times[0]) / total
        singular = (structure.roles[a] == FREE) & affine & ~structure.held[a].any()  # where a constraint decides, all freedom
        count = max(4 if singular.any() else 2, round(density * (end - start) * (1.5 if singular.any() else 1.0)))
        for i in range(count):
            breaks.append(start + (end - start) * (i + 1) / count if i < count - 1 else end)
            degrees.append(degree)
            roles.append(structure.roles[a])
            held.append(structure.held[a])
            points.append(np.where(structure.roles[a] != FREE, 1, np.where(singular, SINGULAR_POINTS, 0)))
        knots.append(len(degrees))
    breaks[-1] = 1.0
    mesh = Mesh(np.array(breaks), np.array(degrees), tuple(knots[:-1]), np.array(roles), np.array(points), np.array(held))
    return mesh, structure.times


def with_entries(mesh: Mesh, ph: PhaseLayout, kernel: Kernel, affine: NDArray[np.bool_]) -> Mesh:
    """The mesh with fewer values for the controls where arcs begin to ride a constraint that controls move through others.

    Such an arc begins with the constraint's derivatives at zero, up to the one that the controls enter. Free at every point, a
    control could bring them there on the first interval.
    """
    if mesh.held is None or not mesh.held.any() or mesh.roles is None or mesh.control_points is None:
        return mesh
    points = mesh.control_points.copy()
    for k in range(1, mesh.intervals):
        riding = mesh.held[k] != FREE
        orders = {ph.order(kernel, int(i)) for i in np.flatnonzero(riding & (mesh.held[k - 1] == FREE))}
        fewer = orders.pop() - 1 if len(orders) == 1 else 0
        points[k] = np.where(affine & (mesh.roles[k] == FREE) & riding.any(), -max(fewer, 0), points[k])
    return replace(mesh, control_points=points)


def switching(ph: PhaseLayout, program: Program, index: int, values: PhaseValues, constraint_multipliers: Array) -> Array:
    """(points, controls): the derivative of the Hamiltonian, path constraints adjoined, by each control."""
    slopes, _ = _control_derivatives(ph, program, index, constraint_multipliers)
    lengths = np.diff(values.spans)[ph.mesh.spans[1]][ph.interval_of]
    return np.asarray(slopes / (ph.weights * np.maximum(lengths, 1e-300))[:, None])


def wants_to_leave(
    ph: PhaseLayout, program: Program, index: int, values: PhaseValues, constraint_multipliers: Array, bound_multipliers: Array
) -> tuple[float, NDArray[np.bool_]]:
    """How much of the push of what is held against its bounds has the wrong sign: 0 confirms the arcs, 1 refutes them.

    Also, (intervals, controls), where that of the controls does.
    """
    if ph.mesh.roles is None:
        return 0.0, np.zeros((ph.mesh.intervals, ph.nu), dtype=bool)
    slopes = switching(ph, program, index, values, constraint_multipliers)
    push = slopes * ph.mesh.roles[ph.interval_of]
    push = ph.weights[:, None] * np.where(_touching(ph, values)[:, None], 0.0, push)
    pushed = float(np.abs(push).sum())
    wrong = np.add.reduceat(np.maximum(push, 0.0), ph.first_point, axis=0)
    doubt = float(wrong.sum()) / pushed if pushed > 0 else 0.0
    return max(doubt, _unwilling(ph, constraint_multipliers, bound_multipliers)), wrong > 1e-4 * pushed


def _unwilling(ph: PhaseLayout, constraint_multipliers: Array, bound_multipliers: Array) -> float:
    """How much of the push of states and path constraints that are held has the wrong sign."""
    if ph.mesh.held is None or not ph.mesh.held.any():
        return 0.0
    roles = ph.mesh.held[ph.interval_of]
    states = bound_multipliers[ph.x : ph.z].reshape(-1, ph.nx)[ph.point_state]
    paths = constraint_multipliers[ph.c_rows : ph.q_rows].reshape(ph.points, -1)
    push = roles * np.hstack([states, paths])  # positive where the bound pushes back
    shares = [np.maximum(-p, 0.0).sum() / np.abs(p).sum() for p in push.T if p.any()]
    return float(max(shares, default=0.0))


def _touching(ph: PhaseLayout, values: PhaseValues) -> NDArray[np.bool_]:
    """(points,): where a state is at one of its bounds, so that the bound and not the Hamiltonian decides."""
    x, bound = values.X[ph.point_state], ph.form.x_bound
    size = np.maximum(np.abs(values.X).max(axis=0), 1e-12)
    return np.asarray(((x - bound.lower < 1e-5 * size) | (bound.upper - x < 1e-5 * size)).any(axis=1))


def repaired(ph: PhaseLayout, values: PhaseValues, wrong: NDArray[np.bool_]) -> Structure | None:
    """The arcs of an answer with new ones, free at first, where a held control wants to leave its bound."""
    if ph.mesh.roles is None or ph.mesh.held is None:
        return None
    roles = np.where(wrong, FREE, ph.mesh.roles)
    both = np.hstack([roles, ph.mesh.held])
    changes = {k for k in range(1, ph.mesh.intervals) if np.any(both[k] != both[k - 1])}
    firsts = [0, *sorted(changes)]
    return _without_slivers(Structure(values.breaks[[*firsts, ph.mesh.intervals]], roles[firsts], ph.mesh.held[firsts]))


def continuous_knots(ph: PhaseLayout, values: PhaseValues) -> tuple[int, ...]:
    """Knots at which an arc that rides a constraint begins or ends with a control as it is on the other side.

    There the constraint, or the control's bound, is just reached: the place is exact if that is said.
    """
    if ph.mesh.held is None or not ph.mesh.held.any() or ph.mesh.roles is None:
        return ()
    bound, found = ph.form.u_bound, []
    size = np.abs(values.U).max(axis=0)
    for k in ph.mesh.knots:
        before, after = values.U[ph.first_point[k] - 1], values.U[ph.first_point[k]]
        both_ride = ph.mesh.held[k - 1].any() and ph.mesh.held[k].any() and np.any(ph.mesh.held[k - 1] != ph.mesh.held[k])
        free = (ph.mesh.roles[k - 1] == FREE) & (ph.mesh.roles[k] == FREE)
        if both_ride and free.any() and np.all(np.abs(after - before)[free] < CONTINUOUS * size[free]):
            found.append(int(k))
        for riding, other, point in ((k, k - 1, ph.first_point[k]), (k - 1, k, ph.first_point[k] - 1)):
            decided = (ph.mesh.roles[riding] == FREE) & (ph.mesh.roles[other] != FREE) & ph.mesh.held[riding].any()
            limit = np.where(ph.mesh.roles[other] == AT_LOWER, bound.lower, bound.upper)
            with np.errstate(invalid="ignore"):
                close = np.abs(values.U[point] - limit) < CONTINUOUS * (bound.upper - bound.lower)
            if np.any(decided & close):
                found.append(int(k))
    return tuple(sorted(set(found)))


def collapsed(ph: PhaseLayout, values: PhaseValues) -> bool:
    """Whether the solver has shrunk an arc to nothing: it is not part of the answer."""
    return ph.mesh.roles is not None and bool(np.any(np.diff(values.spans) < SLIVER * (values.tf - values.t0)))


def _without_slivers(structure: Structure) -> Structure | None:
    """The arcs without those that are too short to be real, their time given to the next one; None if one is left."""
    long = np.diff(structure.times) > SLIVER * (structure.times[-1] - structure.times[0])
    roles, held = structure.roles[long], structure.held[long]
    ends = structure.times[1:][long]
    both = np.hstack([roles, held])
    last = np.append(np.any(both[1:] != both[:-1], axis=1), True)  # neighbours that do the same are one
    if last.sum() < 2:
        return None
    return Structure(np.concatenate([structure.times[:1], ends[last][:-1], structure.times[-1:]]), roles[last], held[last])


def switching_losses(
    ph: PhaseLayout, program: Program, index: int, values: PhaseValues, affine: NDArray[np.bool_], multipliers: Array
) -> Array:
    """(intervals,): what the cost could still fall, to first order, if every affine control took its better bound at every point.

    Points where a state touches its bounds do not count: there the bound, not the Hamiltonian, decides.
    """
    bound = ph.form.u_bound
    which = affine & np.isfinite(bound.lower) & np.isfinite(bound.upper)
    if not which.any():
        return np.zeros(ph.mesh.intervals)
    slopes, _ = _control_derivatives(ph, program, index, multipliers)
    s, u = slopes[:, which], values.U[:, which]
    losses = (s * u - np.minimum(s * bound.lower[which], s * bound.upper[which])).sum(axis=1)
    return np.asarray(np.add.reduceat(np.where(_touching(ph, values), 0.0, np.maximum(losses, 0.0)), ph.first_point))


def withheld_losses(
    ph: PhaseLayout, program: Program, index: int, values: PhaseValues, affine: NDArray[np.bool_], multipliers: Array
) -> Array:
    """(intervals,): what the cost could still fall, to first order, where constraints decide a control that is kept constant.

    At every point it could change by its own size, no more being known; no error of the motion tells of that.
    """
    constant = affine & (ph.u_count < ph.sizes[:, None])
    if not constant.any():
        return np.zeros(ph.mesh.intervals)
    kept = constant & decided(ph, program, index, values)
    if not kept.any():
        return np.zeros(ph.mesh.intervals)
    slopes, _ = _control_derivatives(ph, program, index, multipliers)
    losses = np.add.reduceat(np.abs(slopes) * np.abs(values.U).max(axis=0), ph.first_point, axis=0)
    return np.asarray(np.where(kept, losses, 0.0).sum(axis=1))


def control_losses(
    ph: PhaseLayout, program: Program, index: int, affine: NDArray[np.bool_], constraint_multipliers: Array
) -> Array:
    """(intervals,): what the cost could still fall, to second order, if every smooth control were free at every point."""
    withheld = ~affine & (ph.u_count < ph.sizes[:, None]).any(axis=0)
    if ph.mesh.control_points is None or not withheld.any():
        return np.zeros(ph.mesh.intervals)
    block = program.blocks[index]
    slopes, curvature = _control_derivatives(ph, program, index, constraint_multipliers)
    u = block.gather.along(program.start).reshape(block.count, block.kernel.inputs)[:, ph.nx + ph.nz : ph.nx + ph.nz + ph.nu]
    bound = ph.form.u_bound
    span = np.where(np.isfinite(bound.upper - bound.lower), bound.upper - bound.lower, 1.0)
    inside = (u > bound.lower + NEAR * span) & (u < bound.upper - NEAR * span) & (curvature > 0) & withheld
    losses = np.where(inside, 0.5 * slopes**2 / np.where(inside, curvature, 1.0), 0.0).sum(axis=1)
    return np.asarray(np.add.reduceat(losses, ph.first_point))


def _control_derivatives(ph: PhaseLayout, program: Program, index: int, constraint_multipliers: Array) -> tuple[Array, Array]:
    """(points, controls): first and second derivatives of the Lagrangian by the controls at the collocation points."""
    block = program.blocks[index]
    kernel = block.kernel
    jacobian, gradient = point_derivatives(block, program)
    rows = block.scatter.along(constraint_multipliers).reshape(block.count, -1)
    u = slice(ph.nx + ph.nz, ph.nx + ph.nz + ph.nu)
    slopes = np.einsum("kr,kru->ku", rows, jacobian[:, :, u])
    multipliers = rows
    if gradient is not None:
        slopes = slopes + block.weights[:, None] * gradient[:, 0, u]
        multipliers = np.hstack([rows, block.weights[:, None]])
    curvature = np.zeros_like(slopes)
    first, second = kernel.hessian_pattern
    diagonal = np.flatnonzero((first == second) & (first >= u.start) & (first < u.stop))
    if diagonal.size:
        arguments = places(block, program)
        values = np.asarray(kernel.hessian(*arguments, multipliers.T))
        curvature[:, first[diagonal] - u.start] = values[diagonal].T
    return slopes, curvature
