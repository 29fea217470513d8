"""Intervals of an accessory problem as discrete stages that are exactly equivalent to them.

The canonical flow Psi = [[A, B], [C, D]] of the accessory problem over an interval without focal
points gives

    x+ = Phi x + L w,  cost  x' Y x / 2 + w' w / 2,  Phi = A - B D^-1 C,  L L' = -B D^-1,
    Y = -D^-1 C,

where w is any vector: exactly what all square-integrable controls can do. Two stages in a row are
one, by a Schur complement with the pivot I + L1' Y2 L1, which is positive where no focal point is
between them. Structure-preserving doubling: Chu, Fan, Lin, J. Comput. Appl. Math. 180, 2005;
focal points and the index: Agrachev, Sachkov, Control Theory from the Geometric Viewpoint, Springer
2004, chapter 21.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trajopt.deadline import OutOfWork
from trajopt.second_order.linearized import Linearized

Array = NDArray[np.float64]
# stages of the collocation: order eight
COUNT = 4
# relative error of the flow over a step
ACCURACY = 1e-7
MOST_STEPS = 25_000
# of the duration: shorter steps are as accurate as round-off allows
SHORTEST = 1e-9
# pivots, which are one where nothing is between: two stages are joined, one step has no focal point
JOINED, CLEAR = 0.25, 0.5
# step times the norm of the coefficients: below the first no focal point is possible, above the
# second the pivot between two halves does not decide
SAFE, LONG = 0.7, 20.0
AMPLIFIED = 1e4  # of a start: stages that do so are not joined further
SINGULAR = 1e-12  # determinant of a flow at a focal point; what follows has a negative pivot
FLAT = 1e-10  # curvature of H, relative to its largest, that counts as none
HELD = 1e-9  # entries of a projector on no free control


@dataclass(eq=False)
class Stages:
    """Stages in a row: arrays (n, m, m); G = L L'."""

    Phi: Array
    G: Array
    Y: Array

    @staticmethod
    def of(flow: Array) -> Stages:
        """The stages that are equivalent to intervals with these flows (n, 2m, 2m)."""
        m = flow.shape[1] // 2
        A, B, C, D = flow[:, :m, :m], flow[:, :m, m:], flow[:, m:, :m], flow[:, m:, m:]
        focal = np.abs(np.linalg.det(D)) < SINGULAR
        inverse = np.linalg.inv(np.where(focal[:, None, None], np.eye(m), D))
        found = Stages(A - B @ inverse @ C, _even(-B @ inverse), _even(-inverse @ C))
        found.Y[focal], found.G[focal] = -np.eye(m) / SINGULAR, np.eye(m)
        return found

    def __getitem__(self, which: NDArray[np.intp] | slice) -> Stages:
        return Stages(self.Phi[which], self.G[which], self.Y[which])

    def replace(self, places: NDArray[np.intp], by: Stages, kept: NDArray[np.bool_]) -> None:
        """Put other stages at some places, then keep some."""
        self.Phi[places], self.G[places], self.Y[places] = by.Phi, by.G, by.Y
        self.Phi, self.G, self.Y = self.Phi[kept], self.G[kept], self.Y[kept]

    def joined(self, after: Stages) -> tuple[Stages, Array]:
        """Each stage with the one after it, and the least eigenvalues of the pivots."""
        values, vectors = np.linalg.eigh(self.G)
        L = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        pivot = _even(np.eye(L.shape[1])[None] + _turned(L) @ after.Y @ L)
        reach = after.Phi @ L
        cross = _turned(L) @ after.Y @ self.Phi
        both = np.linalg.solve(pivot, np.concatenate([cross, _turned(reach)], axis=2))
        by_start, by_reach = np.split(both, 2, axis=2)
        # The key lines: w of the first stage eliminated by its stationarity.
        Phi = after.Phi @ self.Phi - reach @ by_start
        G = after.G + reach @ by_reach
        Y = self.Y + _turned(self.Phi) @ after.Y @ self.Phi - _turned(cross) @ by_start
        return Stages(Phi, _even(G), _even(Y)), np.asarray(
            np.linalg.eigvalsh(pivot)[:, 0], dtype=float
        )


@dataclass(frozen=True, eq=False)
class Flow:
    """The canonical flow of one phase on steps between ``edges``, in two resolutions.

    ``coarse`` are the flows of the steps in one, ``fine`` in two halves; their difference is an
    error estimate. ``unit`` is that of the cost, ``scale`` those of (X, s, relative duration).
    """

    edges: Array
    coarse: Array
    fine: Array
    scale: Array
    unit: float
    least: float  # curvature of H along free controls, relative to its largest


def canonical_flow(
    linearized: Linearized, cuts: Array, of_statics: Array, sign: float = 1.0
) -> Flow | None:
    """Integrate the canonical equations of the accessory problem with error control.

    None where H, times ``sign``, is not strictly convex along free controls.

    Parameters
    ----------
    cuts : times at which steps end
    of_statics : sizes of the static variables
    sign : zero replaces the second derivatives of H by those of v' v / 2: G is then the Gramian of
    what controls can reach
    """
    data = linearized.data
    edges = np.unique(np.concatenate([data.grid, cuts]))
    edges = edges[np.append(np.diff(edges) > 1e-13 * (edges[-1] - edges[0]), True)]
    edges[-1] = data.grid[-1]
    scale = _scale(linearized, of_statics)
    system = _Coefficients(linearized, scale, sign)
    start, end = edges[:-1], edges[1:]
    if not system.set_unit(start, end):
        return None
    found: list[tuple[Array, Array, Array]] = []
    whole = system.flow(start, end)[0]
    duration, count = edges[-1] - edges[0], 0
    while start.size:
        data.deadline.check()
        middle = 0.5 * (start + end)
        half, norm = system.flow(*_halves(start, middle, end))
        fine = half[1::2] @ half[0::2]
        error = _difference(fine, whole, system.nx)
        stages = Stages.of(half)
        pivot = stages[slice(0, None, 2)].joined(stages[slice(1, None, 2)])[1]
        norm = norm.reshape(-1, 2).max(axis=1)
        clear = (norm < SAFE) | ((pivot > CLEAR) & (norm < LONG))
        good = (error < ACCURACY) & clear
        good |= end - start < SHORTEST * duration
        found.append((start[good], whole[good], fine[good]))
        count += start.size
        if system.least <= FLAT:
            return None
        if count > MOST_STEPS:
            raise OutOfWork(f"the second variation needs more than {MOST_STEPS} steps")
        whole = half.reshape(-1, 2, *half.shape[1:])[~good].reshape(-1, *half.shape[1:])
        start, end = _halves(start[~good], middle[~good], end[~good])
    starts, coarse, fine = (np.concatenate([part[k] for part in found]) for k in range(3))
    order = np.argsort(starts)
    return Flow(
        np.append(starts[order], edges[-1]),
        coarse[order],
        fine[order],
        scale,
        system.unit,
        system.least,
    )


def reduced(stages: Sequence[Stages], walls: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Join stages, in place, as long as the pivots are well positive; the last original stage of
    each that is left. The first of ``stages`` decides, others of the same steps follow.

    ``walls`` says after which stages something else follows, so that they are not joined with the
    next. A pivot that is not positive is no proof of a conjugate point, since the end of a stage is
    free here: such stages are left to the boundary conditions.
    """
    last = np.arange(walls.size)
    idle, shift = 0, 0
    while last.size > 1 and idle < 2:
        first = np.arange(shift, last.size - 1, 2)
        first = first[~walls[last[first]]]
        both = [one[first].joined(one[first + 1]) for one in stages] if first.size else []
        merged = np.flatnonzero(_joins(*both[0])) if both else np.zeros(0, dtype=np.intp)
        if not merged.size:
            idle, shift = idle + 1, 1 - shift
            continue
        idle = 0
        places = first[merged]
        last[places] = last[places + 1]
        kept = np.ones(last.size, dtype=bool)
        kept[places + 1] = False
        last = last[kept]
        for own, (new, _) in zip(stages, both, strict=True):
            own.replace(places, new[merged], kept)
    return last


def _joins(joined: Stages, pivot: Array) -> NDArray[np.bool_]:
    """Where stages are joined: no focal point, and a start that is not amplified so much that
    round-off hides what controls do.
    """
    return np.asarray((pivot > JOINED) & (np.abs(joined.Phi).max(axis=(1, 2)) < AMPLIFIED))


class _Coefficients:
    """The Hamiltonian matrix of the canonical equations, in units of the variables."""

    def __init__(self, linearized: Linearized, scale: Array, sign: float) -> None:
        self.linearized, self.scale, self.sign = linearized, scale, sign
        self.unit, self.least, self._largest = 1.0, np.inf, 0.0
        self.nx = linearized.data.form.x.numel()

    def set_unit(self, start: Array, end: Array) -> bool:
        """Choose the unit of the cost so that both off-diagonal blocks have about the same size;
        False where H is not strictly convex somewhere.
        """
        middle = 0.5 * (start + end)
        matrix, width = self.matrix(middle), end - start
        m, nx = matrix.shape[1] // 2, self.nx
        if self.least <= FLAT:
            return False
        by_costate, by_state = (
            float((width[:, None, None] * np.abs(part)).sum(axis=0).max(initial=0.0))
            for part in (matrix[:, :nx, m : m + nx], matrix[:, m : m + nx, :nx])
        )
        if by_costate > 0:
            self.unit = np.sqrt(by_state / by_costate) if by_state > 0 else 1 / by_costate
        return True

    def matrix(self, times: Array) -> Array:
        """(N, 2m, 2m), of (X, s, relative duration) and what belongs to them."""
        data = self.linearized.data
        at = self.linearized(times)
        N, nX, nu, ns = at.A.shape[0], at.A.shape[1], at.B.shape[2], at.S.shape[2]
        m = nX + ns + 1
        scale, of_control = self.scale, data.sizes[1]
        A, B = np.zeros((N, m, m)), np.zeros((N, m, nu))
        A[:, :nX, :nX], A[:, :nX, nX : nX + ns], A[:, :nX, -1] = at.A, at.S, at.F
        B[:, :nX] = at.B
        states = np.r_[0:nX, nX + nu : nX + nu + ns]
        controls = np.arange(nX, nX + nu)
        Q, S = np.zeros((N, m, m)), np.zeros((N, m, nu))
        Q[:, :-1, :-1] = at.W[:, states[:, None], states]
        Q[:, :-1, -1] = Q[:, -1, :-1] = at.g[:, states]
        S[:, :-1], S[:, -1] = at.W[:, states[:, None], controls], at.g[:, controls]
        A = A * scale / scale[:, None]
        B = B * of_control / scale[:, None]
        factor = self.sign / self.unit
        if not self.sign:
            inverse = _even(at.P * of_control / of_control[:, None])
            return _hamiltonian(A, B @ inverse @ _turned(B), np.zeros_like(A))
        Q = factor * Q * scale * scale[:, None]
        S = factor * S * of_control * scale[:, None]
        R = at.W[:, controls[:, None], controls] * of_control * of_control[:, None]
        inverse = self._inverse(factor * R, at.P * of_control / of_control[:, None])
        by_costate = B @ inverse
        F = A - by_costate @ _turned(S)
        return _hamiltonian(F, by_costate @ _turned(B), Q - S @ inverse @ _turned(S))

    def _inverse(self, R: Array, P: Array) -> Array:
        """The inverse of R on the free controls, zero on the others.

        One where H has no curvature: nothing finite belongs to it, and ``least`` tells it.
        """
        nu = R.shape[1]
        if not nu:
            return R
        P = _even(P)
        R = _even(P @ R @ P)
        largest = np.abs(R).max(axis=(1, 2))
        none = np.abs(P).max(axis=(1, 2)) < HELD
        self._largest = max(self._largest, float(largest[~none].max(initial=0.0)) * self.unit)
        flat = FLAT * self._largest / self.unit
        rest = np.eye(nu)[None] - P
        filled = R + 2 * nu * np.maximum(largest, flat)[:, None, None] * rest
        values = np.linalg.eigvalsh(filled)[:, 0]
        if not none.all():
            least = float(values[~none].min()) * self.unit
            self.least = min(self.least, least / self._largest if self._largest else 0.0)
        wrong = none | ~(values > flat)
        filled[wrong] = np.eye(nu)
        return np.where(wrong[:, None, None], 0.0, P @ np.linalg.inv(filled) @ P)

    def flow(self, start: Array, end: Array) -> tuple[Array, Array]:
        """Gauss collocation over each step; and what bounds focal points: the solution of
        y' = q + 2 f y + r y^2 from zero is finite over h where h (f + sqrt(q r)) < 1. Only states
        count: what drives them has linear equations once the Riccati equation of the states has a
        solution.
        """
        nodes, weights, inner = gauss(COUNT)
        h = end - start
        H = self.matrix((start[:, None] + h[:, None] * nodes).ravel())
        n, size = h.size, H.shape[1]
        H = H.reshape(n, COUNT, size, size)
        # Stage values P_i = I + h sum_j inner_ij H_j P_j.
        block = np.einsum("k,ij,kjab->kiajb", h, inner, H).reshape(n, COUNT * size, COUNT * size)
        right = np.tile(np.eye(size), (COUNT, 1))[None].repeat(n, axis=0)
        try:
            stage = np.linalg.solve(np.eye(COUNT * size)[None] - block, right)
        except np.linalg.LinAlgError:
            reason = "the canonical equations of the second variation are singular"
            raise OutOfWork(reason) from None
        stage = stage.reshape(n, COUNT, size, size)
        flow = np.eye(size)[None] + np.einsum("k,j,kjab->kab", h, weights, H @ stage)
        m = size // 2
        nx = self.nx
        blocks = (H[:, :, m : m + nx, :nx], H[:, :, :nx, m : m + nx], H[:, :, :nx, :nx])
        q, r, f = (np.sqrt((part**2).sum(axis=(-1, -2))).max(axis=1) for part in blocks)
        return flow, h * (f + np.sqrt(q * r))


def _hamiltonian(F: Array, by_costate: Array, by_state: Array) -> Array:
    """[[F, -B R^-1 B'], [-Q, -F']]."""
    N, m = F.shape[:2]
    found = np.zeros((N, 2 * m, 2 * m))
    found[:, :m, :m], found[:, m:, m:] = F, -_turned(F)
    found[:, :m, m:], found[:, m:, :m] = -by_costate, -by_state
    return found


def gauss(count: int) -> tuple[Array, Array, Array]:
    """Nodes and weights of Gauss collocation on [0, 1], and the integrals up to the nodes."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    nodes, weights = 0.5 * (nodes + 1), 0.5 * weights
    values = np.linalg.inv(np.polynomial.legendre.legvander(2 * nodes - 1, count - 1))
    integrals = np.polynomial.legendre.legint(values, lbnd=-1, axis=0) / 2
    return nodes, weights, np.polynomial.legendre.legvander(2 * nodes - 1, count) @ integrals


def _scale(linearized: Linearized, of_statics: Array) -> Array:
    """Units of (X, s, relative duration)."""
    data, form = linearized.data, linearized.data.form
    found = np.concatenate(
        [data.sizes[0], [data.sizes[2]], np.ones(form.l.numel()), of_statics, [1.0]]
    )
    return np.where(np.isfinite(found) & (found > 0), found, 1.0)


def _difference(one: Array, two: Array, nx: int) -> Array:
    """Of flows (n, 2m, 2m): the largest of the blocks of states and of what drives them (time,
    integrals, static variables, durations), each relative to its size, at least to one.
    """
    m = one.shape[1] // 2
    driven = np.tile(np.arange(m) < nx, 2)
    found = np.zeros(one.shape[0])
    gap, size = np.abs(one - two), np.abs(one)
    for rows in (driven, ~driven):
        for columns in (driven, ~driven):
            block = np.ix_(np.arange(one.shape[0]), rows, columns)
            largest = np.maximum(size[block].max(axis=(1, 2), initial=0.0), 1.0)
            found = np.maximum(found, gap[block].max(axis=(1, 2), initial=0.0) / largest)
    return found


def _halves(start: Array, middle: Array, end: Array) -> tuple[Array, Array]:
    return np.column_stack([start, middle]).ravel(), np.column_stack([middle, end]).ravel()


def _even(matrix: Array) -> Array:
    """The symmetric part of each matrix."""
    return np.asarray(0.5 * (matrix + _turned(matrix)))


def _turned(matrix: Array) -> Array:
    """Each matrix transposed."""
    return matrix.transpose(0, 2, 1)
