"""The accessory problem: the second variation of the cost in finitely many variations of an answer.

Variations are: the start of every phase, static variables, relative durations of arcs between jumps
of controls, and controls that are constant on each interval of a grid. They obey the linearized
motion exactly, up to the order of Gauss collocation. Bryson & Ho, Applied Optimal Control, section
6.2; arcs of variable duration: Maurer, Osmolovskii, SIAM J. Control Optim. 42, 2004.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.second_order.linearized import Linearized, PhaseData, Points
from trajopt.statement.normal_form import NormalForm

Array = NDArray[np.float64]
STAGES = 4

__all__ = ["Accessory", "PhaseData"]


@dataclass(frozen=True, eq=False)
class Accessory:
    """The quadratic form y^T Q y / 2 over variations y with C y = 0; M measures them. ``controls``
    are columns of controls.

    ``starts`` are the times at which control variations begin.
    """

    Q: Array
    C: Array
    M: Array
    controls: NDArray[np.bool_]
    starts: Array

    @property
    def units(self) -> Array:
        """Of each variation."""
        return np.asarray(1.0 / np.sqrt(np.maximum(np.diag(self.M), 1e-300)))


def accessory(
    form: NormalForm,
    phases: Sequence[PhaseData],
    values: tuple[Array, Array, Array],
    endpoints: Array,
    fixed: tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]],
    sizes: tuple[Array, float],
) -> Accessory:
    """Assemble the accessory problem.

    Parameters
    ----------
    values : static variables, parameters, multipliers of the conditions
    endpoints : endpoint column of the form
    fixed : which endpoint values, which conditions and which static variables do not vary
    sizes : of the static variables, and of the cost
    """
    s, p, nu = values
    ns = s.size
    layout = _Layout.of(phases, ns)
    Q, M = np.zeros((layout.count, layout.count)), np.zeros((layout.count, layout.count))
    ends = []
    for k, data in enumerate(phases):
        own, columns = _Layout.of([data], ns), layout.columns(k)
        rows = np.zeros((2 + 2 * data.form.x.numel() + data.form.l.numel(), layout.count))
        rows[:, columns], curvature, measure = _swept(data, own, (form.s, s), (form.p, p))
        Q[np.ix_(columns, columns)] += curvature
        M[np.ix_(columns, columns)] += measure
        ends.append(rows)
    M[layout.statics, layout.statics] += 1.0 / np.maximum(sizes[0], 1e-300) ** 2
    second, slopes = _boundary(form, endpoints, s, p, nu)
    E = np.zeros((endpoints.size + ns, layout.count))
    row = 0
    for data, end in zip(phases, ends, strict=True):
        ph = data.form
        nx, inputs, nl = ph.x.numel(), 2 * (ph.z.numel() + ph.u.numel()), ph.l.numel()
        E[row : row + 2 + 2 * nx] = end[: 2 + 2 * nx]
        E[row + 2 + 2 * nx + inputs : row + 2 + 2 * nx + inputs + nl] = end[2 + 2 * nx :]
        row += 2 + 2 * nx + inputs + nl
    E[row:, layout.statics] = np.eye(ns)
    Q += E.T @ second @ E
    C = np.vstack([E[:row][fixed[0]], (slopes @ E)[fixed[1]], E[row:][fixed[2]]])
    starts = np.concatenate([data.grid[:-1] for data in phases])
    return Accessory(0.5 * (Q + Q.T), C, M, layout.is_control, starts)


@dataclass(frozen=True, eq=False)
class _Layout:
    """Places of the variations in their column."""

    count: int
    starts: tuple[slice, ...]
    arcs: tuple[slice, ...]
    controls: tuple[slice, ...]
    statics: NDArray[np.intp]
    is_control: NDArray[np.bool_]

    def columns(self, k: int) -> NDArray[np.intp]:
        """The places of the variations of one phase, in the order of its own layout."""
        return np.concatenate(
            [
                np.arange(part.start, part.stop)
                for part in (self.starts[k], self.arcs[k], self.controls[k])
            ]
            + [self.statics]
        )

    @staticmethod
    def of(phases: Sequence[PhaseData], ns: int) -> _Layout:
        first = 0
        starts: list[slice] = []
        arcs: list[slice] = []
        controls: list[slice] = []
        for data in phases:
            sizes = (
                data.form.x.numel() + 1,
                data.arcs.size - 1,
                (data.grid.size - 1) * data.form.u.numel(),
            )
            for size, into in zip(sizes, (starts, arcs, controls), strict=True):
                into.append(slice(first, first + size))
                first += size
        mask = np.zeros(first + ns, dtype=bool)
        for part in controls:
            mask[part] = True
        return _Layout(
            first + ns,
            tuple(starts),
            tuple(arcs),
            tuple(controls),
            np.arange(first, first + ns),
            mask,
        )


def _swept(
    data: PhaseData, layout: _Layout, s: tuple[Any, Array], p: tuple[Any, Array]
) -> tuple[Array, Array, Array]:
    """Return the ends of one phase (t0, tf, x0, xf, q) as linear functions of its variations, and
    what it adds to Q and M.
    """
    Q, M = np.zeros((layout.count, layout.count)), np.zeros((layout.count, layout.count))
    ph, grid = data.form, data.grid
    nx, nu, nl, ns = ph.x.numel(), ph.u.numel(), ph.l.numel(), s[1].size
    nX, n, h = nx + 1 + nl, grid.size - 1, np.diff(grid)
    nodes, weights, inner = _gauss()
    times = (grid[:-1, None] + h[:, None] * nodes[None, :]).ravel()
    at = Linearized(data, s, p)(times)
    stage, step = _maps(at, h, inner, weights, (nX, nu, ns))
    gains = _gains(step, data, (nX, nu, ns), h)
    state = np.zeros((nX, layout.count))
    state[: nx + 1, layout.starts[0]] = np.eye(nx + 1)
    begin = state.copy()
    size = np.concatenate([data.sizes[0], [data.sizes[2]]])
    M[layout.starts[0], layout.starts[0]] += np.diag(size**-2.0)
    M[layout.arcs[0], layout.arcs[0]] += np.eye(data.arcs.size - 1)
    arc_of = np.clip(
        np.searchsorted(data.arcs, grid[:-1] + 0.5 * h, side="right") - 1, 0, data.arcs.size - 2
    )
    inputs = np.zeros((nX + nu + ns + 1, layout.count))
    inputs[nX + nu : nX + nu + ns, layout.statics] = np.eye(ns)
    duration = float(grid[-1] - grid[0])
    for i in range(n):
        data.deadline.check()
        column = slice(layout.controls[0].start + i * nu, layout.controls[0].start + (i + 1) * nu)
        inputs[:nX] = state
        inputs[nX : nX + nu] = -gains[i] @ state
        inputs[nX : nX + nu, column] += np.eye(nu)
        inputs[nX + nu + ns] = 0.0
        inputs[nX + nu + ns, layout.arcs[0].start + arc_of[i]] = 1.0
        here = slice(i * STAGES, (i + 1) * STAGES)
        for j, weight in enumerate(weights):
            local = np.vstack([stage[i, j] @ inputs, inputs[nX : nX + nu + ns]])  # (X, v, s)
            bent = at.W[here][j] @ local + np.outer(at.g[here][j], inputs[nX + nu + ns])
            Q += h[i] * weight * (local.T @ bent)
            Q += h[i] * weight * np.outer(inputs[nX + nu + ns], at.g[here][j] @ local)
        # What limits leave of the variations of the controls: a combination that they hold whole
        # does nothing and has no size.
        moved = (at.P[here] @ inputs[nX : nX + nu]) / data.sizes[1][None, :, None]
        scaled = np.vstack(
            [state[: nx + 1] / size[:, None], *(np.sqrt(weights)[:, None, None] * moved)]
        )
        M += h[i] / duration * (scaled.T @ scaled)
        state = step[i] @ inputs
    rows = np.vstack(
        [begin[nx : nx + 1], state[nx : nx + 1], begin[:nx], state[:nx], state[nx + 1 :]]
    )
    return rows, Q, M


def _maps(
    at: Points, h: Array, inner: Array, weights: Array, sizes: tuple[int, int, int]
) -> tuple[Array, Array]:
    """States at the points of each interval and at its end, as functions of (X at its start, v, s,
    relative duration).
    """
    nX, nu, ns = sizes
    n, width = h.size, nX + nu + ns + 1
    A = at.A.reshape(n, STAGES, nX, nX)
    forcing = np.concatenate([at.B, at.S, at.F[:, :, None]], axis=2).reshape(
        n, STAGES, nX, nu + ns + 1
    )
    block = np.einsum("k,ij,kjab->kiajb", h, inner, A).reshape(n, STAGES * nX, STAGES * nX)
    right = np.zeros((n, STAGES, nX, width))
    right[:, :, :, :nX] = np.eye(nX)
    right[:, :, :, nX:] = np.einsum("k,ij,kjab->kiab", h, inner, forcing)
    stage = np.linalg.solve(
        np.eye(STAGES * nX)[None] - block, right.reshape(n, STAGES * nX, width)
    ).reshape(n, STAGES, nX, width)
    rates = A @ stage
    rates[:, :, :, nX:] += forcing
    step = np.einsum("k,j,kjab->kab", h, weights, rates)
    step[:, :, :nX] += np.eye(nX)
    return stage, step


def _gains(step: Array, data: PhaseData, sizes: tuple[int, int, int], h: Array) -> Array:
    """Feedback that keeps variations of unstable motions bounded: a change of variables, which no
    definiteness depends on.
    """
    nX, nu, _ = sizes
    nx = data.form.x.numel()
    scale = np.concatenate([data.sizes[0], [data.sizes[2]], np.ones(nX - nx - 1)])
    gains = np.zeros((step.shape[0], nu, nX))
    if not nu:
        return gains
    weight = np.diag(np.concatenate([np.ones(nx), np.zeros(nX - nx)]))
    P = weight.copy()
    for i in range(step.shape[0] - 1, -1, -1):
        share = h[i] / h.sum()
        Phi = step[i][:, :nX] * scale[None, :] / scale[:, None]
        Gamma = step[i][:, nX : nX + nu] * data.sizes[1][None, :] / scale[:, None]
        G = np.linalg.solve(share * np.eye(nu) + Gamma.T @ P @ Gamma, Gamma.T @ P @ Phi)
        closed = Phi - Gamma @ G
        P = share * weight + share * G.T @ G + closed.T @ P @ closed
        P = 0.5 * (P + P.T)
        gains[i] = data.sizes[1][:, None] * G / scale[None, :]
    return gains


def _boundary(
    form: NormalForm, endpoints: Array, s: Array, p: Array, nu: Array
) -> tuple[Array, Array]:
    """Second derivatives of cost and weighted conditions by (endpoints, statics), and first
    derivatives of the conditions.
    """
    sym = form.symbols
    count = endpoints.size + s.size
    every = sym.sym("every", count)
    old = [e for ph in form.phases for e in ph.ends if e.numel()] + ([form.s] if s.size else [])
    new = casadi.vertsplit(every, np.cumsum([0, *[v.numel() for v in old]]).tolist())
    phi, b = casadi.substitute([form.phi, form.b], old, new)
    total = phi + (casadi.dot(b, casadi.DM(nu)) if nu.size else 0)
    outputs = [
        casadi.densify(casadi.hessian(total, every)[0]),
        casadi.densify(casadi.jacobian(b, every)),
    ]
    second, slopes = casadi.Function("ends", [every, form.p], outputs)(
        np.concatenate([endpoints, s]), p
    )
    return np.nan_to_num(np.asarray(second.full())), np.nan_to_num(
        np.asarray(slopes.full())
    ).reshape(-1, count)


def _gauss() -> tuple[Array, Array, Array]:
    nodes, weights = np.polynomial.legendre.leggauss(STAGES)
    nodes, weights = 0.5 * (nodes + 1), 0.5 * weights
    values = np.linalg.inv(np.polynomial.legendre.legvander(2 * nodes - 1, STAGES - 1))
    integrals = np.polynomial.legendre.legint(values, lbnd=-1, axis=0) / 2
    return nodes, weights, np.polynomial.legendre.legvander(2 * nodes - 1, STAGES) @ integrals
