"""The error of an answer between its nodes, and the next mesh (hp).

The estimate integrates the rates along the answer's own polynomials at other points than those where the solver zeroed the
defects, and compares (Patterson, Hager and Rao 2015).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from trajopt.curve import inverse_legendre
from trajopt.direct.mesh import Mesh
from trajopt.direct.scaling import ROUND_OFF, cost_reach, row_sizes
from trajopt.direct.schemes import Places, Scheme, can_raise_degree, gauss_quadrature
from trajopt.direct.transcribe import Layout, PhaseLayout
from trajopt.direct.values import PhaseValues
from trajopt.nlp.program import Block, Program, places

Array = NDArray[np.float64]

MOST_DEGREE = 9  # beyond it widths pay better than degrees
SMOOTH = 0.4  # decay of the coefficients below which a higher degree is trusted to pay
COST = 2.0  # of an interval, as a power of its degree
CLOSE = 0.1  # of an interval: a bend nearer to one of its ends moves that end
SLIGHT = 0.01  # of an interval: an end that moves less leaves its error what it is
SLIVER = 1e-3  # of an interval: no break so close to another one
NOTICED = 1e-9  # relative: an error of an integral from which on it is asked whether the integral is as good as zero
MOST_PIECES = 6  # an interval is cut into at most so many at once


@dataclass(frozen=True, eq=False)
class Estimate:
    """Of one phase."""

    errors: Array  # (intervals,) relative
    decay: Array  # (intervals,) factor by which successive Legendre coefficients of the states fall; small is smooth


def estimate(
    layout: Layout, program: Program, values: tuple[PhaseValues, ...], costs: tuple[Array, ...], sizes: Array
) -> tuple[Estimate, ...]:
    """The relative error of every interval.

    ``costs``, by phase, are the running costs at the points; ``sizes``, of the unknowns, tell what integrals usually come to:
    one that is zero has no relative error.
    """
    phases = enumerate(zip(layout.phases, values, costs, strict=True))
    return tuple(_phase_estimate(ph, layout, program, i, v, cost, sizes) for i, (ph, v, cost) in phases)


def _phase_estimate(
    ph: PhaseLayout, layout: Layout, program: Program, index: int, values: PhaseValues, costs: Array, sizes: Array
) -> Estimate:
    errors, decay = np.zeros(ph.mesh.intervals), np.ones(ph.mesh.intervals)
    size = np.abs(values.X).max(axis=0)
    # A state that stays at zero is right to round-off, which must not count as an error of its own size.
    size = np.where(
        size > 1e-8,
        size,
        np.minimum(1.0, [1.0 if q.scale is None else np.min(q.scale) for q in ph.form.states for _ in range(q.size)]),
    )
    kernel = program.blocks[index].kernel
    g_size = row_sizes(program, index, np.abs(program.start))[ph.nx : ph.nx + ph.form.g.numel()] if ph.nz else np.ones(0)
    integrals = _integrals_by_interval(ph, program, index, costs)
    x, W, D = sampled(ph, layout, program, index, values, [(here, rule.between) for rule, here in ph.groups])
    parameters = np.repeat(program.parameters[:, None], W.shape[1], axis=1)
    all_outputs = np.asarray(kernel.constraints(W, D, parameters)).T  # one call for all: each costs more than its evaluations
    all_costs = np.asarray(kernel.objective(W, D, parameters)).T if kernel.objective_rows else np.zeros((W.shape[1], 0))
    gaps = np.zeros_like(integrals)
    place = 0
    for rule, here in ph.groups:
        at, weights, integration = gauss_quadrature(rule.between.at.size)
        rows = slice(place, place + here.size * at.size)
        place = rows.stop
        widths, X = ph.widths[here], _node_values(ph, values, here, rule.nodes.size)
        between = x[rows].reshape(here.size, at.size, ph.nx)
        outputs = all_outputs[rows].reshape(here.size, at.size, -1)
        moved = X[:, :1] + widths[:, None, None] * (integration @ outputs[..., : ph.nx])
        reached = np.concatenate([between, values.X[ph.first[here + 1]][:, None]], axis=1)
        errors[here] = np.nan_to_num((np.abs(moved - reached) / size).max(axis=(1, 2)), nan=np.inf)
        # A violated constraint costs its multiplier times the violation, often more than an error of the motion of that size.
        errors[here] = np.maximum(errors[here], 10 * _violations(ph, between, outputs[..., ph.nx :], size, g_size))
        if integrals.shape[1]:
            between_points = all_costs[rows].reshape(here.size, at.size, -1)
            first = kernel.constraint_rows - integrals.shape[1] + between_points.shape[2]
            finer = np.concatenate([outputs[..., first:], between_points], axis=2)
            gaps[here] = np.abs(widths[:, None] * (weights @ finer) - integrals[here])
        decay[here] = _decay(rule.nodes, X, size)
    if integrals.shape[1]:
        # Quadrature errors add up over the phase: the worst interval answers for their sum.
        total, sums = np.maximum(np.abs(integrals).sum(axis=0), 1e-300), gaps.sum(axis=0)
        if np.any(sums > NOTICED * total):
            usual = np.append(sizes[ph.integrals : ph.end], cost_reach(program, sizes))
            total = np.maximum(total, ROUND_OFF * usual[: total.size])
        shares = sums / total / np.maximum(gaps.max(axis=0), 1e-300)
        errors = np.maximum(errors, (gaps * shares).max(axis=1))
    return Estimate(errors, decay)


def _integrals_by_interval(ph: PhaseLayout, program: Program, index: int, costs: Array) -> Array:
    """(intervals, integrals): the scheme's own quadrature of each integral that is an unknown, and of the running cost."""
    block = program.blocks[index]
    kernel, unknown = block.kernel, ph.end - ph.integrals
    if not unknown and not kernel.objective_rows:
        return np.zeros((ph.mesh.intervals, 0))
    unknowns = [np.asarray(kernel.constraints(*places(block, program)))[kernel.constraint_rows - unknown :]] if unknown else []
    values = np.vstack([*unknowns, *([costs] if kernel.objective_rows else [])])  # (integrals, points)
    integrals = np.empty((ph.mesh.intervals, values.shape[0]))
    for rule, here in ph.groups:
        at_points = values[:, ph.first_point[here][:, None] + np.arange(rule.points.size)]  # (integrals, intervals, points)
        integrals[here] = ph.widths[here][:, None] * (at_points @ rule.weights).T
    return integrals


def sampled(
    ph: PhaseLayout, layout: Layout, program: Program, index: int, values: PhaseValues,
    where: Sequence[tuple[NDArray[np.int_], Places]],
) -> tuple[Array, Array, Array]:  # fmt: skip
    """The answer's polynomials at other places than the collocation points, for groups of intervals of one degree each.

    Gives the states (places, nx), and the kernel's inputs and data, group by group and interval by interval.
    """
    x, z, u = [], [], []
    for here, to in where:
        count, points = here.size * to.at.size, ph.first_point[here][:, None] + np.arange(to.from_points.shape[1])
        nodes = _node_values(ph, values, here, to.from_nodes.shape[1])
        x.append(np.einsum("mn,kni->kmi", to.from_nodes, nodes).reshape(count, ph.nx))
        z.append((to.from_points @ values.Z[points]).reshape(count, ph.nz))
        u.append((to.from_points @ values.U[points]).reshape(count, ph.nu))
    states, bound, within = np.concatenate(x), ph.form.u_bound, ph.form.x_bound
    interval = np.concatenate([np.repeat(here, to.at.size) for here, to in where])
    at = np.concatenate([np.tile(to.at, here.size) for here, to in where])
    normalised = ph.mesh.breaks[interval] + np.diff(ph.mesh.breaks)[interval] * at
    knots, span = ph.mesh.spans[0], ph.mesh.spans[1][interval]
    theta = (normalised - knots[span]) / (knots[span + 1] - knots[span])
    times = values.spans[span[:, None] + np.arange(2)]
    s = program.start[layout.s : layout.s + layout.form.s.numel()]
    shared = np.broadcast_to(s, (at.size, s.size))
    # What is beyond a bound may have no value: a table ends there, a root. That it is beyond counts by itself.
    inside = np.clip(states, within.lower, within.upper), np.clip(np.concatenate(u), bound.lower, bound.upper)
    W = np.hstack([inside[0], np.concatenate(z), inside[1], shared, *([times] if ph.free_time else [])])
    D = np.hstack([theta[:, None], *([] if ph.free_time else [times])])
    return states, W.T, D.T


def _node_values(ph: PhaseLayout, values: PhaseValues, here: NDArray[np.int_], count: int) -> Array:
    """(intervals, nodes, nx): of the state polynomials."""
    return np.asarray(values.X[ph.first[here][:, None] + np.arange(count)])


def _violations(ph: PhaseLayout, x: Array, outputs: Array, size: Array, g_size: Array) -> Array:
    """How far states and path constraints leave their bounds, and algebraic equations zero, between the nodes; relative."""
    bound = ph.form.x_bound
    worst = (np.maximum(np.maximum(bound.lower - x, x - bound.upper), 0.0) / size).max(axis=(1, 2))
    ng, nc = ph.form.g.numel(), ph.form.c.numel()
    if ng:
        g = np.abs(outputs[..., :ng]) / g_size
        worst = np.maximum(worst, 0.1 * np.nan_to_num(g.max(axis=(1, 2)), nan=np.inf))  # in the size of an error, not a violation
    if nc:
        c = outputs[..., ng : ng + nc]
        reach = np.maximum(1.0, np.abs(c).max(axis=(0, 1)))
        excess = np.maximum(np.maximum(ph.form.c_bound.lower - c, c - ph.form.c_bound.upper), 0.0) / reach
        worst = np.maximum(worst, np.nan_to_num(excess.max(axis=(1, 2)), nan=np.inf))
    return np.asarray(worst)


def _decay(support: Array, X: Array, size: Array) -> Array:
    """Fit of |a_n| ~ rho^n to the Legendre coefficients of the states on each interval."""
    degree = support.size - 1
    if degree < 2:
        return np.ones(X.shape[0])
    to_series = inverse_legendre(tuple(support.tolist()))
    coefficients = (np.abs(to_series @ X) / size).max(axis=2)[:, 1:] + 1e-14
    n = np.arange(degree) - (degree - 1) / 2
    slope = np.log10(coefficients) @ n / (n @ n)  # of the straight line through them, by least squares
    return np.asarray(np.power(10.0, slope))


@dataclass(frozen=True)
class Bend:
    """Where an answer is not smooth, in normalised time; ``now`` is the node of a contact, perhaps the break made for it."""

    place: float
    now: float | None = None


def refined(mesh: Mesh, result: Estimate, tolerance: float, scheme: Scheme, bends: Sequence[Bend] = ()) -> Mesh:
    """The next mesh: higher degree where the answer is smooth, narrower intervals where it is not.

    Intervals with a bend are cut there; where it is close to an end, that end moves there instead.
    """
    contacts = {int(np.searchsorted(mesh.breaks, bend.place)) - 1 for bend in bends if bend.now is not None}
    mesh, cuts = _at_bends(mesh, bends)
    breaks = [0.0]
    degrees: list[int] = []
    sources: list[int] = []
    moves: dict[int, int] = {}
    most = MOST_DEGREE if can_raise_degree(scheme) else 0
    for k in range(mesh.intervals):
        a, b, degree, error = mesh.breaks[k], mesh.breaks[k + 1], int(mesh.degrees[k]), result.errors[k]
        pieces, new_degree = 1, degree
        if error > tolerance:
            excess = min(np.log10(error / tolerance) + 1.0, 12.0)
            pieces, new_degree = _division(degree, excess, float(result.decay[k]), most)
        inner = [a + (b - a) * (i + 1) / pieces for i in range(pieces - 1)]
        if cuts.get(k):
            inner, new_degree = cuts[k], degree
            if k in contacts and error > tolerance:  # smooth on both sides from now on, whatever the decay says
                new_degree = min(degree + 1, max(most, degree))
        elif k in cuts and degree < most and error > tolerance:  # its end was moved: smooth from now on, whatever the decay says
            inner, new_degree = [], degree + 1
        if k in mesh.knots:
            moves[k] = len(degrees)
        breaks += [*inner, b]
        degrees += [new_degree] * (len(inner) + 1)
        sources += [k] * (len(inner) + 1)
    source = np.array(sources)
    return replace(
        mesh,
        breaks=np.array(breaks),
        degrees=np.array(degrees),
        knots=tuple(moves[k] for k in mesh.knots),
        joined=tuple(moves[k] for k in mesh.joined),
        roles=None if mesh.roles is None else mesh.roles[source],
        control_points=None if mesh.control_points is None else mesh.control_points[source],
        held=None if mesh.held is None else mesh.held[source],
    )


def _at_bends(mesh: Mesh, bends: Sequence[Bend]) -> tuple[Mesh, dict[int, list[float]]]:
    """The mesh with breaks moved to bends close to them, and the places at which intervals with bends are to be cut.

    A break moves once: to the bend that it was made for, or else to the nearest.
    """
    breaks, cuts = mesh.breaks.copy(), dict[int, list[float]]()
    moved: set[int] = set()

    def target(bend: Bend) -> tuple[float, int, int]:
        """The distance from the nearest end, in widths, the interval, and that end."""
        k = int(np.clip(np.searchsorted(mesh.breaks, bend.place, side="right") - 1, 0, mesh.intervals - 1))
        end = k + int(np.argmin(np.abs(mesh.breaks[k : k + 2] - bend.place)))
        # Where a bend has wandered, there may be several breaks beside it already.
        width = np.diff(mesh.breaks[k : k + 2] if bend.now is None else mesh.breaks[max(end - 1, 0) : end + 2]).max()
        return (0.0 if mesh.breaks[end] == bend.now else abs(mesh.breaks[end] - bend.place) / width), k, end

    for (distance, k, end), bend in sorted(((target(bend), bend) for bend in bends), key=lambda pair: pair[0]):
        slight = bend.now is not None and abs(mesh.breaks[end] - bend.place) < SLIGHT * (mesh.breaks[k + 1] - mesh.breaks[k])
        if distance > CLOSE or end in moved:
            cuts.setdefault(k, []).append(bend.place)
        elif not slight:
            cuts.setdefault(k, [])
        if distance <= CLOSE and 0 < end < mesh.intervals and end not in moved and end not in mesh.knots:
            breaks[end] = bend.place
            moved.add(end)
    for k, wanted in cuts.items():
        least = SLIVER * (breaks[k + 1] - breaks[k])
        inside = sorted(p for p in wanted if breaks[k] + least < p < breaks[k + 1] - least)
        cuts[k] = [p for i, p in enumerate(inside) if i == 0 or p - inside[i - 1] > least]
    return replace(mesh, breaks=breaks), cuts


def _division(degree: int, excess: float, decay: float, most: int) -> tuple[int, int]:
    """Into how many pieces of what degree an interval is cut to gain ``excess`` digits with the fewest points.

    n pieces divide the error by n ** (degree + 1) and the decay of the coefficients by n; where these hardly fall, there may be
    a kink, and higher degrees promise nothing.
    """
    choices = []
    for pieces in range(1, MOST_PIECES + 1):
        missing = excess - (degree + 1) * np.log10(pieces)
        further = int(np.ceil(max(missing, 0.0) / -np.log10(max(decay, 1e-3) / pieces))) if decay < SMOOTH else 99
        if missing <= 0 or degree + further <= most:
            raised = degree + (further if missing > 0 else 0)
            choices.append((pieces * raised**COST, pieces, raised))
    if choices:
        return min(choices)[1:]
    return int(np.clip(np.ceil(10 ** (excess / (degree + 1))), 2, MOST_PIECES)), degree


def running_cost(block: Block, program: Program) -> Array:
    """(points,): the integrand of the cost at the program's start; empty where there is none."""
    if not block.kernel.objective_rows:
        return np.zeros(0)
    return np.asarray(block.kernel.objective(*places(block, program))).ravel()
