"""The values of a program's unknowns and multipliers by phase, in physical units; and a guess as unknowns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from trajopt.curve import Curve, lagrange_basis
from trajopt.direct.schemes import integration_matrix
from trajopt.direct.transcribe import Layout, PhaseLayout
from trajopt.guess import Guess, PhaseGuess
from trajopt.nlp.program import Program

Array = NDArray[np.float64]

FENCE = 4.0  # a little more than half a turn to either side
TOUCHES = 1e-6  # of a fence's width: an angle that close rests on it


@dataclass(frozen=True, eq=False)
class PhaseValues:
    """One phase of an iterate."""

    spans: Array  # times of start, moving knots and end
    breaks: Array  # times of the nodes
    X: Array  # (state points, nx)
    Z: Array  # (points, nz)
    U: Array  # (points, nu)
    integrals: Array  # of those that are unknowns

    @property
    def t0(self) -> float:
        return float(self.spans[0])

    @property
    def tf(self) -> float:
        return float(self.spans[-1])


def read(layout: Layout, y: Array) -> tuple[PhaseValues, ...]:
    """The unknowns by phase."""
    phases = []
    for ph in layout.phases:
        spans = y[ph.times : ph.integrals]
        phases.append(
            PhaseValues(
                spans=spans,
                breaks=np.interp(ph.mesh.breaks, ph.mesh.spans[0], spans),
                X=y[ph.x : ph.z].reshape(-1, ph.nx),
                Z=y[ph.z : ph.u].reshape(ph.points, ph.nz),
                U=ph.controls(y),
                integrals=y[ph.integrals : ph.end],
            )
        )
    return tuple(phases)


def write(layout: Layout, guess: Guess, span_times: tuple[Array | None, ...] | None = None) -> Array:
    """A guess as unknowns."""
    y = np.zeros(layout.unknowns)
    for i, (ph, start) in enumerate(zip(layout.phases, guess.phases, strict=True)):
        given = None if span_times is None else span_times[i]
        spans = start.t0 + ph.mesh.spans[0] * (start.tf - start.t0) if given is None else given
        y[ph.times : ph.integrals] = spans

        def tau(normalised: Array, ph: PhaseLayout = ph, spans: Array = spans, start: PhaseGuess = start) -> Array:
            times = np.interp(normalised, ph.mesh.spans[0], spans)
            return np.clip((times - start.t0) / (start.tf - start.t0), 0.0, 1.0)

        y[ph.x : ph.z] = start.x(tau(ph.state_times())).ravel()
        y[ph.z : ph.u] = start.z(tau(ph.point_times())).ravel() if ph.nz else 0.0
        y[ph.u : ph.times] = _control_unknowns(ph, start, tau)
    y[layout.s : layout.s + guess.s.size] = guess.s
    return y


def _control_unknowns(ph: PhaseLayout, start: PhaseGuess, tau: Callable[[Array], Array]) -> Array:
    if ph.shares_nodes or (ph.nu == 1 and bool(np.all(ph.u_count[:, 0] == ph.sizes))):
        return start.u(tau(ph.point_times())).ravel()
    counts = ph.u_count.ravel()
    nodes = [ph.control_nodes(k, j) for k in range(ph.mesh.intervals) for j in range(ph.nu)]
    starts, widths = (np.repeat(np.repeat(a, ph.nu), counts) for a in (ph.mesh.breaks[:-1], np.diff(ph.mesh.breaks)))
    values = start.u(tau(starts + widths * np.concatenate([np.zeros(0), *nodes])))
    which = np.repeat(np.tile(np.arange(ph.nu), ph.mesh.intervals), counts)
    return values[np.arange(which.size), which]


def state_curve(ph: PhaseLayout, values: PhaseValues, rates: Array | None = None) -> Curve:
    """The state polynomials; collocation at both ends needs the rates at its points for their full degree."""
    if rates is not None and ph.rules[0].points[0] == 0.0:
        return _integrated(ph, values, rates)
    nodes = tuple(r.nodes for r in ph.rules)
    return Curve(values.breaks, nodes, tuple(values.X[f : f + n.size] for f, n in zip(ph.first[:-1], nodes, strict=True)))


def _integrated(ph: PhaseLayout, values: PhaseValues, rates: Array) -> Curve:
    """x_k + h times the integral of the polynomial through the rates: a parabola for trapezoids, a cubic for Hermite-Simpson."""
    nodes, pieces = [], []
    for k, rule in enumerate(ph.rules):
        at = np.linspace(0.0, 1.0, rule.points.size + 1)
        F = rates[ph.first_point[k] : ph.first_point[k] + rule.points.size]
        nodes.append(at)
        pieces.append(values.X[ph.first[k]] + (values.breaks[k + 1] - values.breaks[k]) * integration_matrix(rule.points, at) @ F)
    return Curve(values.breaks, tuple(nodes), tuple(pieces))


def point_curve(ph: PhaseLayout, breaks: Array, values: Array) -> Curve:
    """The polynomials through values at the collocation points."""
    nodes = tuple(r.points for r in ph.rules)
    return Curve(breaks, nodes, tuple(values[f : f + n.size] for f, n in zip(ph.first_point, nodes, strict=True)))


def control_curve(ph: PhaseLayout, values: PhaseValues) -> Curve:
    """The control polynomials, kept within their bounds; of full degree even where fewer unknowns describe them."""
    bound = ph.form.u_bound
    curve = point_curve(ph, values.breaks, values.U)
    return Curve(curve.breaks, curve.nodes, curve.values, bound.lower, bound.upper)


def guess_of(layout: Layout, y: Array) -> Guess:
    """An iterate as a guess for another mesh."""
    phases = []
    for ph, values in zip(layout.phases, read(layout, y), strict=True):
        x, u, z = state_curve(ph, values), control_curve(ph, values), point_curve(ph, values.breaks, values.Z)
        t0, tf = values.t0, values.tf

        def along(curve: Curve, t0: float = t0, tf: float = tf):  # type: ignore[no-untyped-def]
            return lambda tau: curve.evaluate(t0 + np.asarray(tau) * (tf - t0))

        phases.append(PhaseGuess(t0, tf, along(x), along(z), along(u)))
    return Guess(tuple(phases), y[layout.s : layout.s + layout.form.s.numel()])


def unwound(layout: Layout, angles: tuple[NDArray[np.bool_], ...], y: Array) -> Array:
    """The same answer with angle controls moved by whole turns so that they run on smoothly.

    A solver does not care by how many turns neighbouring values differ; a polynomial through them does.
    """
    if layout.scheme.shares_nodes or not any(a.any() for a in angles):
        return y
    y = y.copy()
    turn = 2 * np.pi
    for ph, which in zip(layout.phases, angles, strict=True):
        for j in np.flatnonzero(which).tolist():
            last: float | None = None
            for k, rule in enumerate(ph.rules):
                here = slice(ph.u_first[k, j], ph.u_first[k, j] + ph.u_count[k, j])
                if ph.u_count[k, j] == rule.points.size:
                    y[here] = np.unwrap(y[here])  # each value stands for itself
                ends = lagrange_basis(ph.control_nodes(k, j), np.array([0.0, 1.0])) @ y[here]
                if last is not None:
                    shift = turn * np.round((ends[0] - last) / turn)
                    y[here] -= shift
                    ends = ends - shift
                last = float(ends[1])
    return y


def fenced(layout: Layout, angles: tuple[NDArray[np.bool_], ...], program: Program) -> Program:
    """Angles that are constant on their intervals kept within a turn of their guess, so that they do not wander off."""
    if layout.scheme.shares_nodes or not any(a.any() for a in angles):
        return program
    lower, upper = program.lower.copy(), program.upper.copy()
    for ph, which in zip(layout.phases, angles, strict=True):
        for j in np.flatnonzero(which):
            here = ph.u_first[ph.u_count[:, j] == 1, j]
            lower[here], upper[here] = program.start[here] - FENCE, program.start[here] + FENCE
    return replace(program, lower=lower, upper=upper)


def rests_on_fence(inside: Program, around: Program) -> bool:
    """Whether an answer found ``inside`` fences rests on one of them; ``around`` begins at it, with fences of its own."""
    moved = (inside.lower != around.lower) | (inside.upper != around.upper)  # bounds of the problem stay where they are
    lower, upper, y = inside.lower[moved], inside.upper[moved], around.start[moved]
    return bool(np.any(np.minimum(y - lower, upper - y) < TOUCHES * (upper - lower)))
