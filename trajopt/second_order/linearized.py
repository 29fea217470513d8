"""The extended system of one phase, X = (x, t, integrals), and its derivatives along an answer.

Algebraic variables are eliminated by 0 = g, controls that a limit holds by that limit: du = K dX +
P v with v free.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.compiled.pointwise import Pointwise
from trajopt.deadline import UNLIMITED, Deadline, OutOfWork
from trajopt.statement.normal_form import PhaseForm

Array = NDArray[np.float64]
# relative: smaller singular values of active limits, and entries of their projector, are zero
RANK = 1e-9


@dataclass(frozen=True, eq=False)
class PhaseData:
    """What the second variation needs of one phase of an answer.

    Attributes
    ----------
    form : PhaseForm
    grid : (n + 1,) times between which the curves of the answer are smooth
    arcs : (m + 1,) times of ``grid``: ends of the phase, and jumps of controls, which are free to
    move
    at : times -> (x, z, u, costate) columns
    multipliers : times -> of the algebraic equations, then of the path constraints, columns
    held : times -> (nu, N), True where a control is held by its bound, and (path constraints, N),
    True where one is active
    weight : derivatives of the cost by the integrals
    sizes : of states, controls, and the duration
    tangents : (time, row): what variations of (x, t, integrals, static variables) obey at a time
    bends : times -> (N, nx + 1, nx + 1), what state constraints add to the second derivatives of H
    orders : time, and whether after it -> the orders of arcs of length zero there, each a list of
    controls: between several jumps, or where an arc may appear
    """

    form: PhaseForm
    grid: Array
    arcs: Array
    at: Callable[[Array], tuple[Array, Array, Array, Array]]
    multipliers: Callable[[Array], Array]
    held: Callable[[Array], tuple[NDArray[np.bool_], NDArray[np.bool_]]]
    weight: Array
    sizes: tuple[Array, Array, float]
    deadline: Deadline = UNLIMITED
    tangents: tuple[tuple[float, Array], ...] = ()
    bends: Callable[[Array], Array] | None = None
    orders: Mapping[tuple[float, bool], tuple[tuple[Array, ...], ...]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Points:
    """The extended system at some times: derivatives after elimination."""

    F: Array  # (N, nX) rates of X
    A: Array  # (N, nX, nX)
    B: Array  # (N, nX, nu), by the free part v of the controls
    S: Array  # (N, nX, ns)
    W: Array  # (N, m, m) second derivatives of H by (X, v, s)
    g: Array  # (N, m) first derivatives of H by (X, v, s)
    K: Array  # (N, nu, nX), feedback of held controls
    P: Array  # (N, nu, nu), projector on the free controls


@dataclass(frozen=True, eq=False)
class Linearized:
    """The derivatives of one phase, built once and evaluated at any times.

    ``s`` and ``p`` are the symbols and the values of static variables and parameters.
    """

    data: PhaseData
    s: tuple[Any, Array]
    p: tuple[Any, Array]

    @cached_property
    def function(self) -> Pointwise:
        """Of ((x, t, u, s, z), costate, weight, p, multipliers): rates, their slopes, the slopes of
        the rows, the Hessian and the gradient of H.
        """
        ph, s = self.data.form, self.s
        nx, nz, nu, nl, ns = (v.numel() for v in (ph.x, ph.z, ph.u, ph.l, s[0]))
        rows = casadi.vertcat(ph.g, ph.c)
        m = type(ph.x).sym("m", rows.numel())
        w = type(ph.x).sym("w", nl)
        H = (
            casadi.dot(ph.costate, ph.f)
            + (casadi.dot(w, ph.l) if nl else 0)
            + (casadi.dot(m, rows) if rows.numel() else 0)
        )
        # One symbol for all variables, so that mixed derivatives of MX expressions exist.
        every = type(ph.x).sym("every", nx + 1 + nu + ns + nz)
        parts = casadi.vertsplit(every, np.cumsum([0, nx, 1, nu, ns, nz]).tolist())
        old = [v for v in (ph.x, ph.t, ph.u, s[0], ph.z) if v.numel()]
        new = [v for v in parts if v.numel()]
        H, F, G = casadi.substitute([H, casadi.vertcat(ph.f, ph.l), rows], old, new)
        hessian, gradient = casadi.hessian(H, every)
        outputs = [
            F,
            casadi.jacobian(F, every),
            casadi.jacobian(G, every) if rows.numel() else m,
            hessian,
            gradient,
        ]
        inputs = [every, ph.costate, w, self.p[0], m]
        columns = [casadi.densify(o).reshape((-1, 1)) for o in outputs]
        return Pointwise(casadi.Function("second", inputs, columns))

    def __call__(self, times: Array, controls: Array | None = None) -> Points:
        """Evaluate and eliminate; ``controls`` (nu,) instead of those of the answer."""
        data, s, p = self.data, self.s[1], self.p[1]
        ph = data.form
        nx, nz, nu, nl, ns = (v.numel() for v in (ph.x, ph.z, ph.u, ph.l, self.s[0]))
        x, z, u, costate = data.at(times)
        if controls is not None:
            u = np.repeat(controls[:, None], times.size, axis=1)
        count, m, N = nx + 1 + nu + ns + nz, ph.g.numel() + ph.c.numel(), times.size
        statics = np.repeat(s[:, None], N, axis=1)
        columns = np.vstack([x, times[None, :], u, statics, z])
        with np.errstate(all="ignore"):
            rate, slopes, by_rows, second, first = self.function(
                columns, costate, data.weight, p, data.multipliers(times)
            )
        require_finite(times, slopes, by_rows, second)
        slope = slopes.T.reshape(N, count, nx + nl).transpose(0, 2, 1)
        limit = by_rows.T.reshape(N, count, m).transpose(0, 2, 1) if m else np.zeros((N, 0, count))
        second = second.T.reshape(N, count, count)
        if data.bends is not None:
            second = second.copy()
            second[:, : nx + 1, : nx + 1] += data.bends(times)
        T, K, P = _eliminated(data, times, limit, (nx, nz, nu, ns))
        nX = nx + 1 + nl
        wide = np.zeros((N, count, nX + nu + ns))  # (x, t, u, s, z) by (X, v, s)
        wide[:, :, : nx + 1], wide[:, :, nX:] = T[:, :, : nx + 1], T[:, :, nx + 1 :]
        reduced = slope @ wide
        matrix = np.zeros((N, nX, nX + nu + ns))
        matrix[:, :nx], matrix[:, nx + 1 :] = reduced[:, :nx], reduced[:, nx:]
        W = wide.transpose(0, 2, 1) @ second @ wide
        g = np.einsum("nij,in->nj", wide, first)
        rates = np.zeros((N, nX))
        rates[:, :nx], rates[:, nx], rates[:, nx + 1 :] = rate[:nx].T, 1.0, rate[nx:].T
        feedback = np.zeros((N, nu, nX))
        feedback[:, :, : nx + 1] = K[:, :, : nx + 1]
        A, B, S = matrix[:, :, :nX], matrix[:, :, nX : nX + nu], matrix[:, :, nX + nu :]
        return Points(rates, A, B, S, W, g, feedback, P)


def require_finite(times: Array, *derivatives: Array) -> None:
    """Refuse derivatives that are infinite or undefined, as that of a root at zero."""
    finite = np.all([np.isfinite(one).all(axis=0) for one in derivatives], axis=0)
    if not finite.all():
        where = float(times[int(np.argmin(finite))])
        raise OutOfWork(f"derivatives of the model are not finite at t = {where:.6g}")


def _eliminated(
    data: PhaseData, times: Array, limit: Array, counts: tuple[int, int, int, int]
) -> tuple[Array, Array, Array]:
    """(x, t, u, s, z) as functions of (x, t, v, s): T (N, all, nx + 1 + nu + ns), with K and P of
    the controls.
    """
    nx, nz, nu, ns = counts
    N, ng = times.size, data.form.g.numel()
    held_u, held_c = data.held(times)
    eye = np.eye(nx + 1 + nu + ns)
    T = np.zeros((N, nx + 1 + nu + ns + nz, nx + 1 + nu + ns))
    T[:, : nx + 1 + nu + ns] = eye
    if nz:
        g_z = limit[:, :ng, nx + 1 + nu + ns :]
        T[:, nx + 1 + nu + ns :] = -np.linalg.solve(g_z, limit[:, :ng, : nx + 1 + nu + ns])
    c = limit[:, ng:] @ T  # path constraints by (x, t, u, s)
    active = np.zeros((N, nu + c.shape[1], nx + 1 + nu + ns))
    active[:, :nu, nx + 1 : nx + 1 + nu] = np.eye(nu)[None] * held_u.T[:, :, None]
    active[:, nu:] = c * held_c.T[:, :, None]
    size = data.sizes[1]
    by_u = active[:, :, nx + 1 : nx + 1 + nu] * size[None, None, :]
    inverse = np.linalg.pinv(by_u, rcond=RANK)
    projector = np.eye(nu)[None] - inverse @ by_u
    projector[np.abs(projector) < RANK] = (
        0.0  # round-off: a held control would seem to move a little, at no cost
    )
    P = projector * size[None, :, None] / size[None, None, :]
    others = active.copy()
    others[:, :, nx + 1 : nx + 1 + nu] = 0.0
    K = -(inverse @ others) * size[None, :, None]
    inner = np.tile(eye, (N, 1, 1))
    inner[:, nx + 1 : nx + 1 + nu] = K
    inner[:, nx + 1 : nx + 1 + nu, nx + 1 : nx + 1 + nu] = P
    return T @ inner, K, P
