"""The second variation of the cost about an answer, with no control discretized.

Every phase is a row of equivalent stages (``stages``). What remains is a quadratic form in the
start of every phase, relative durations of arcs, durations of arcs that an answer has with length
zero, static variables, and the variables of the stages, under linear conditions. Its inertia on
them is that of the second variation: Hestenes, Pacific J. Math. 1, 1951; Zeidan, Zezza, J. Math.
Anal. Appl. 132, 1988. Arcs of variable duration: Maurer, Osmolovskii, SIAM J. Control Optim. 42,
2004; Osmolovskii, Maurer, Applications to Regular and Bang-Bang Control, SIAM 2012.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import casadi
import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from trajopt.deadline import OutOfWork
from trajopt.second_order.linearized import Linearized, PhaseData
from trajopt.second_order.stages import Flow, Stages, canonical_flow, reduced
from trajopt.statement.normal_form import NormalForm

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
# relative: what the accuracy of an answer leaves of conditions that depend on each other
RANK = 1e-7
MOST_STAGES = 400  # of a phase: matrices of all their variations
EMPTY = 1e-15  # of the largest: what controls cannot reach
MOST_ORDERS = 16  # of controls that switch together
BALANCED = 6  # rounds of the scaling by rows
MARGIN = 10.0  # the least value exceeds its change with the accuracy by this
LEAST = 1e-12  # relative: round-off of eigenvalues


@dataclass(frozen=True, eq=False)
class QuadraticForm:
    """y' Q y / 2 over variations y with C y = 0; ``units`` are the sizes of each."""

    Q: Array
    C: Array
    units: Array


@dataclass(frozen=True)
class Signature:
    """The least eigenvalue on the conditions, relative to |Q|: between -1 and 1.

    ``change`` is what a coarser integration of the canonical equations changes of it; ``index`` the
    number of negative eigenvalues, ``dimension`` of all.
    """

    least: float
    change: float
    index: int
    dimension: int

    @property
    def positive(self) -> bool:
        return not self.dimension or self.least > max(MARGIN * self.change, LEAST)

    @property
    def negative(self) -> bool:
        return bool(self.dimension) and self.least < -max(MARGIN * self.change, LEAST)


@dataclass(frozen=True, eq=False)
class SecondVariation:
    """The second variation of an answer of several phases.

    Parameters
    ----------
    values : static variables, parameters, multipliers of the conditions
    endpoints : endpoint column of the form
    fixed : which endpoint values, which conditions and which static variables do not vary
    of_statics : sizes of the static variables
    """

    form: NormalForm
    phases: tuple[PhaseData, ...]
    values: tuple[Array, Array, Array]
    endpoints: Array
    fixed: tuple[Mask, Mask, Mask]
    of_statics: Array

    def inertia(self, sign: float = 1.0) -> Signature | None:
        """The worst over all orders of switches; None where H is not strictly convex (times
        ``sign``) along free controls.
        """
        flows = self.flows(sign)
        return None if flows is None else self.inertia_of(flows, sign)

    def inertia_of(self, flows: Sequence[tuple[Linearized, Flow]], sign: float = 1.0) -> Signature:
        """The same from canonical flows that are there."""
        worst = Signature(np.inf, 0.0, 0, 0)
        for order in self._orders():
            halved, whole = self.quadratic_forms(flows, order, sign)
            fine, rank = eigenvalues(halved)
            if not fine.size:
                continue
            coarse, _ = eigenvalues(whole, rank)
            change = abs(float(fine[0] - coarse[0]))
            found = Signature(float(fine[0]), change, int((fine < 0).sum()), fine.size)
            worst = min(worst, found, key=lambda one: one.least)
        return worst

    def flows(self, sign: float = 1.0) -> list[tuple[Linearized, Flow]] | None:
        """The canonical flow of every phase."""
        found = []
        for data in self.phases:
            linearized = Linearized(
                data, (self.form.s, self.values[0]), (self.form.p, self.values[1])
            )
            flow = canonical_flow(linearized, _cuts(data), self.of_statics, sign)
            if flow is None:
                return None
            found.append((linearized, flow))
        return found

    def _orders(self) -> list[dict[tuple[int, tuple[float, bool]], tuple[Array, ...]]]:
        """Every choice of an order at each time at which several controls jump."""
        keys = [(k, t) for k, data in enumerate(self.phases) for t in data.orders]
        choices = [self.phases[k].orders[t] for k, t in keys]
        return [dict(zip(keys, one, strict=True)) for one in product(*choices)][:MOST_ORDERS]

    @property
    def every_order(self) -> bool:
        """Whether all orders are tried, and their durations are free on a half-space, so that a
        form that is not positive on the whole space is not on it either. Without another order that
        has the other half, that is so for one duration alone.
        """
        counts = [len(o) for data in self.phases for o in data.orders.values()]
        halves = len(counts) == 1 or 1 not in counts
        return int(np.prod(counts)) <= MOST_ORDERS and all(c <= 2 for c in counts) and halves

    def quadratic_forms(
        self,
        flows: Sequence[tuple[Linearized, Flow]],
        orders: dict[tuple[int, tuple[float, bool]], tuple[Array, ...]] | None = None,
        sign: float = 1.0,
    ) -> list[QuadraticForm]:
        """The forms from the flows of the phases, on halved steps and on whole ones."""
        pairs = []
        for k, (linearized, flow) in enumerate(flows):
            arcs = {t: one for (phase, t), one in (orders or {}).items() if phase == k}
            pairs.append(_PhaseRows.of(linearized, flow, arcs, sign))
        return [self._assembled(rows, sign) for rows in zip(*pairs, strict=True)]

    def _assembled(self, rows: Sequence[_PhaseRows], sign: float) -> QuadraticForm:
        ns = self.values[0].size
        count = sum(one.count for one in rows) + ns
        statics = np.arange(count - ns, count)
        Q, first = np.zeros((count, count)), 0
        extra: list[Array] = []
        ends: list[Array] = []
        for one in rows:
            columns = np.concatenate([np.arange(first, first + one.count), statics])
            Q[np.ix_(columns, columns)] += one.Q
            for wide, own in ((ends, one.ends), (extra, one.extra)):
                placed = np.zeros((own.shape[0], count))
                placed[:, columns] = own
                wide.append(placed)
            first += one.count
        E = self._endpoint_rows(ends, count, statics)
        second, slopes = self._boundary(sign)
        Q += E.T @ second @ E
        ends_only = E[: self.endpoints.size]
        statics_only = E[self.endpoints.size :]
        given = (ends_only, slopes @ E, statics_only)
        rows_held = [part[mask] for part, mask in zip(given, self.fixed, strict=True)]
        C = np.vstack([*rows_held, *extra])
        units = np.concatenate([*[one.units for one in rows], self.of_statics])
        return QuadraticForm(0.5 * (Q + Q.T), C, units)

    def _endpoint_rows(self, ends: Sequence[Array], count: int, statics: NDArray[np.intp]) -> Array:
        """Endpoint values and static variables as functions of the variations."""
        E = np.zeros((self.endpoints.size + statics.size, count))
        row = 0
        for data, end in zip(self.phases, ends, strict=True):
            ph = data.form
            states, inputs = 2 + 2 * ph.x.numel(), 2 * (ph.z.numel() + ph.u.numel())
            integrals = row + states + inputs
            E[row : row + states] = end[:states]
            E[integrals : integrals + ph.l.numel()] = end[states:]
            row = integrals + ph.l.numel()
        E[row:, statics] = np.eye(statics.size)
        return E

    def _boundary(self, sign: float) -> tuple[Array, Array]:
        """Second derivatives of cost and weighted conditions by (endpoints, statics), and first
        derivatives of the conditions.
        """
        form, (s, p, nu) = self.form, self.values
        count = self.endpoints.size + s.size
        every = form.symbols.sym("every", count)
        old = [e for ph in form.phases for e in ph.ends if e.numel()] + ([form.s] if s.size else [])
        new = casadi.vertsplit(every, np.cumsum([0, *[v.numel() for v in old]]).tolist())
        phi, b = casadi.substitute([form.phi, form.b], old, new)
        total = sign * (phi + (casadi.dot(b, casadi.DM(nu)) if nu.size else 0))
        outputs = [
            casadi.densify(casadi.hessian(total, every)[0]),
            casadi.densify(casadi.jacobian(b, every)),
        ]
        second, slopes = casadi.Function("ends", [every, form.p], outputs)(
            np.concatenate([self.endpoints, s]), p
        )
        second, slopes = (np.nan_to_num(np.asarray(part.full())) for part in (second, slopes))
        return second, slopes.reshape(-1, count)


@dataclass(frozen=True, eq=False)
class _PhaseRows:
    """One phase: what it adds to Q, its ends (t0, tf, x0, xf, q) and the tangents of state
    constraints, by its ``count`` variations and the static variables behind them.
    """

    count: int
    Q: Array
    ends: Array
    extra: Array
    units: Array

    @staticmethod
    def of(
        linearized: Linearized,
        flow: Flow,
        orders: dict[tuple[float, bool], tuple[Array, ...]],
        sign: float,
    ) -> tuple[_PhaseRows, _PhaseRows]:
        """On halved steps, and on whole ones."""
        fine, coarse = Stages.of(flow.fine), Stages.of(flow.coarse)
        walls = np.isin(flow.edges[1:], _cuts(linearized.data))
        last = reduced((fine, coarse), walls)
        if last.size > MOST_STAGES:
            raise OutOfWork(f"the second variation needs more than {MOST_STAGES} stages")
        roots = [_root(G) for G in fine.G]
        alike = [_root(G, L.shape[1]) for G, L in zip(coarse.G, roots, strict=True)]
        return (
            _PhaseRows._from(linearized, flow, orders, sign, (fine, roots, last)),
            _PhaseRows._from(linearized, flow, orders, sign, (coarse, alike, last)),
        )

    @staticmethod
    def _from(
        linearized: Linearized,
        flow: Flow,
        orders: dict[tuple[float, bool], tuple[Array, ...]],
        sign: float,
        joined: tuple[Stages, list[Array], NDArray[np.intp]],
    ) -> _PhaseRows:
        data, ns = linearized.data, linearized.s[1].size
        nx, nX = data.form.x.numel(), data.form.x.numel() + 1 + data.form.l.numel()
        stages, roots, last = joined
        inserted = sum(len(one) for one in orders.values())
        arcs = data.arcs.size - 1
        place = nx + 1 + arcs + inserted
        count = place + sum(L.shape[1] for L in roots)
        Q = np.zeros((count + ns, count + ns))
        X = np.zeros((nX, count + ns))
        X[: nx + 1, : nx + 1] = np.eye(nx + 1)
        start, zero, extra = X.copy(), nx + 1 + arcs, []
        gains = _gains(stages, roots, nx)
        begins = flow.edges[np.concatenate([[0], last[:-1] + 1])]
        ends = flow.edges[last + 1]
        for i, (begin, end) in enumerate(zip(begins, ends, strict=True)):
            for controls in orders.get((begin, True), ()):
                after = np.nextafter(begin, np.inf)
                X = _inserted(linearized, after, controls, X, Q, zero, sign)
                zero += 1
            arc = int(np.searchsorted(data.arcs, 0.5 * (begin + end), side="right")) - 1
            Y = np.zeros((flow.scale.size, count + ns))
            Y[:nX] = X / flow.scale[:nX, None]
            Y[nX:-1, count:] = np.diag(1 / flow.scale[nX:-1])
            Y[-1, nx + 1 + arc] = 1.0
            w = -gains[i] @ Y
            w[:, place : place + w.shape[0]] += np.eye(w.shape[0])
            place += w.shape[0]
            Q += flow.unit * (Y.T @ stages.Y[i] @ Y + w.T @ w)
            X = (stages.Phi[i] @ Y + roots[i] @ w)[:nX] * flow.scale[:nX, None]
            for controls in orders.get((end, False), ()):
                before = np.nextafter(end, -np.inf)
                X = _inserted(linearized, before, controls, X, Q, zero, sign)
                zero += 1
            for t, row in data.tangents:
                if t == end:
                    held = row[:nX] @ X
                    held[count:] += row[nX:]
                    extra.append(held)
        rows = np.vstack([start[nx : nx + 1], X[nx : nx + 1], start[:nx], X[:nx], X[nx + 1 :]])
        units = np.ones(count)
        units[: nx + 1] = flow.scale[: nx + 1]
        units[nx + 1 + arcs : nx + 1 + arcs + inserted] = data.sizes[2]
        return _PhaseRows(count, Q, rows, np.array(extra).reshape(-1, count + ns), units)


def _cuts(data: PhaseData) -> Array:
    """Times after which stages are not joined with what follows."""
    return np.unique(np.concatenate([data.arcs[1:-1], [t for t, _ in data.tangents]]))


def _root(G: Array, rank: int | None = None) -> Array:
    """L with L L' = G, without columns for what controls do not reach."""
    values, vectors = np.linalg.eigh(G)
    if rank is None:
        rank = int((values > EMPTY * max(float(values[-1]), 1e-300)).sum())
    kept = slice(values.size - rank, values.size)
    return np.asarray(vectors[:, kept] * np.sqrt(np.maximum(values[kept], 0.0)))


def _gains(stages: Stages, roots: Sequence[Array], nx: int) -> list[Array]:
    """Feedback w = v - K x that keeps variations of unstable motions bounded: a change of variables
    that no inertia depends on, without which round-off decides.
    """
    weight = np.zeros_like(stages.Phi[0])
    weight[:nx, :nx] = np.eye(nx)
    P, found = weight.copy(), []
    for Phi, L in zip(stages.Phi[::-1], roots[::-1], strict=True):
        K = np.linalg.solve(np.eye(L.shape[1]) + L.T @ P @ L, L.T @ P @ Phi)
        closed = Phi - L @ K
        P = (weight + K.T @ K) / len(roots) + closed.T @ P @ closed
        P = 0.5 * (P + P.T)
        found.append(K)
    return found[::-1]


def _inserted(
    linearized: Linearized, t: float, controls: Array, X: Array, Q: Array, place: int, sign: float
) -> Array:
    """An arc of length zero with other controls, whose duration varies: the variations after it."""
    at = linearized(np.array([t]), controls)
    F, slope = at.F[0], sign * at.g[0][: at.F.shape[1]]
    along = np.zeros(Q.shape[0])
    along[place] = 1.0
    bent = slope @ X
    Q += np.outer(along, bent) + np.outer(bent, along)
    Q += float(slope @ F) * np.outer(along, along)
    return X + np.outer(F, along)


def eigenvalues(problem: QuadraticForm, rank: int | None = None) -> tuple[Array, int]:
    """Eigenvalues of Q on C y = 0 relative to |Q|, in ascending order: between -1 and 1, whatever
    units and which basis of the conditions are chosen; and the rank of C, unless it is given.

    >>> eigenvalues(QuadraticForm(np.diag([2.0e9, -1.0]), np.array([[0.0, 1.0]]), np.ones(2)))
    (array([1.]), 1)
    """
    does = np.abs(problem.Q).max(axis=0, initial=0.0) > 0
    if problem.C.size:
        does |= np.abs(problem.C).max(axis=0) > 0
    Q, C = problem.Q[np.ix_(does, does)], problem.C[:, does]
    if not (np.isfinite(Q).all() and np.isfinite(C).all()):
        return np.full(1, -np.inf), 0
    Q, units = _balanced(Q)
    C = C / units[None, :]
    lengths = np.abs(C).max(axis=1, initial=0.0)
    C = C[lengths > 0] / lengths[lengths > 0][:, None]
    _, singular, right = np.linalg.svd(C, full_matrices=True)
    if rank is None:
        rank = int((singular > RANK * singular.max(initial=0.0)).sum())
    basis = right[rank:].T
    if not basis.shape[1]:
        return np.zeros(0), rank
    values, vectors = np.linalg.eigh(Q)
    # |Q|, and a little for variations that Q does not see at all
    size = (vectors * (np.abs(values) + LEAST)) @ vectors.T
    own, measure = (basis.T @ part @ basis for part in (Q, size))
    found = scipy.linalg.eigvalsh(0.5 * (own + own.T), 0.5 * (measure + measure.T))
    return np.asarray(found), rank


def _balanced(Q: Array) -> tuple[Array, Array]:
    """D^-1 Q D^-1 whose rows have a largest entry near one, and the diagonal of D."""
    total = np.ones(Q.shape[0])
    for _ in range(BALANCED if Q.size else 0):
        unit = np.sqrt(np.abs(Q).max(axis=1))
        unit = np.where(unit > 0, unit, 1.0)
        Q, total = Q / unit[:, None] / unit[None, :], total * unit
    return 0.5 * (Q + Q.T), total
