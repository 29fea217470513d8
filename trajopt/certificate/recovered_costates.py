"""Costates of an answer that has none, from its times, states and controls.

The costate equation, stationarity of H in free controls, continuity of H at jumps of controls and
transversality are linear in the costates at breaks, the multipliers of conditions, and atoms of
state constraints at breaks: one sparse least-squares problem. Multipliers of inequalities that come
out with the wrong sign are dropped, and it is solved again. Rows of the certificate judge what is
found like costates of any file.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import casadi
import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from numpy.typing import NDArray

from trajopt.certificate.feasibility_rows import conditions
from trajopt.certificate.hamiltonian_system import Hamiltonian, hamiltonians
from trajopt.certificate.linearized_motion import gauss
from trajopt.certificate.multipliers import endpoint_slopes
from trajopt.certificate.sampled_solution import SampledPhase, SampledSolution, evaluated
from trajopt.compiled.pointwise import Pointwise
from trajopt.second_order.linearized import Linearized, PhaseData
from trajopt.trajectory.curve import Curve
from trajopt.trajectory.solution import Solution

Array = NDArray[np.float64]
COUNT = 6  # points of an interval
# weights beside stationarity: what is exact counts more than what an approximate answer satisfies
EQUATION, ENDS, TIMES, JUMPS = 1e3, 30.0, 10.0, 3.0
ON_LIMIT = 1e-4  # of a size
JUMP = 1e-2  # of a control's size
REGULAR = 1e-12  # relative: unknowns that nothing determines are small
ROUNDS = 6  # in which multipliers of the wrong sign are dropped


@dataclass(eq=False)
class _System:
    """Rows of the least-squares problem; the first unknowns are multipliers of the conditions."""

    conditions: int
    count: int
    values: list[Array] = field(default_factory=list)
    columns: list[NDArray[np.intp]] = field(default_factory=list)
    right: list[float] = field(default_factory=list)

    def put(self, columns: Array, values: Array, by_condition: Array, right: float) -> None:
        """One row: some columns, all conditions, and the right-hand side."""
        which = np.concatenate([np.arange(self.conditions), columns])
        self.columns.append(which.astype(np.intp))
        self.values.append(np.concatenate([by_condition, values]))
        self.right.append(right)

    def solved(self, units: Array, signs: Array) -> Array:
        """The least squares, with unknowns of a sign; a sign of two leaves no unknown."""
        rows = np.repeat(np.arange(len(self.right)), [c.size for c in self.columns])
        columns = np.concatenate(self.columns)
        entries = np.concatenate(self.values) * units[columns]
        shape = len(self.right), self.count
        matrix = scipy.sparse.csc_matrix((entries, (rows, columns)), shape=shape)
        right, used = np.array(self.right), signs != 2
        for _ in range(ROUNDS):
            part = matrix[:, np.flatnonzero(used)]
            # [[I, A], [A', -e I]]: the residual and the unknowns together, better conditioned than
            # the normal equations
            scale = float(abs(part).max()) if part.nnz else 1.0
            corner = -(REGULAR * scale) * scipy.sparse.identity(part.shape[1])
            whole = scipy.sparse.bmat([[scipy.sparse.identity(shape[0]), part], [part.T, corner]])
            found = scipy.sparse.linalg.spsolve(
                whole.tocsc(), np.concatenate([right, np.zeros(part.shape[1])])
            )
            y = np.zeros(self.count)
            y[used] = found[shape[0] :]
            wrong = used & (y * np.where(np.abs(signs) == 1, signs, 0) < 0)
            if not wrong.any():
                break
            used &= ~wrong
        return y * units


def recovered(whole: SampledSolution) -> Solution:
    """The solution with costates, and with multipliers of conditions."""
    form = whole.form
    gradient, slopes = endpoint_slopes(whole)
    nb = form.b.numel()
    signs, units = [_condition_signs(whole)], [whole.sizes.cost / np.maximum(whole.sizes.b, 1e-300)]
    parts: list[_PhaseSystem] = []
    column, first = nb, 0
    for ph, ham in zip(whole.phases, hamiltonians(form), strict=True):
        part = _PhaseSystem(whole, ph, ham, column, first)
        parts.append(part)
        signs += [np.zeros(part.costates), np.ones(part.atoms.size)]
        units += [np.tile(part.costate_size, ph.widths.size + 1), part.atom_units]
        column += part.costates + part.atoms.size
        first += ph.form.ends.column.numel()
    system = _System(nb, column)
    for part in parts:
        part.add_to(system, gradient, slopes)
    y = system.solved(np.concatenate(units), np.concatenate(signs))
    phases = {
        part.ph.form.name: replace(part.ph.given, costates=part.curves(y, gradient, slopes))
        for part in parts
    }
    multipliers = dict(zip(form.b_names, y[:nb].tolist(), strict=True))
    return replace(
        whole.solution,
        phases={**whole.solution.phases, **phases},
        multipliers={**multipliers, **whole.solution.multipliers},
    )


def _condition_signs(whole: SampledSolution) -> Array:
    """Of the multipliers of conditions: zero for any sign, two for none."""
    bound = whole.form.b_bound
    if not whole.form.b.numel():
        return np.zeros(0)
    value, near = conditions(whole), ON_LIMIT * whole.sizes.b
    upper, lower = value >= bound.upper - near, value <= bound.lower + near
    return np.where(bound.fixed, 0.0, np.where(upper, 1.0, np.where(lower, -1.0, 2.0)))


@dataclass(eq=False)
class _PhaseSystem:
    """One phase: its costates just after the breaks, column by column, then its atoms."""

    whole: SampledSolution
    ph: SampledPhase
    ham: Hamiltonian
    column: int  # the first
    first: int  # its place in the endpoint column

    def __post_init__(self) -> None:
        ph, form = self.ph, self.ph.form
        self.nx, self.nl = form.x.numel(), form.l.numel()
        self.costates = self.nx * (ph.widths.size + 1)
        self.costate_size = self.whole.sizes.cost / ph.sizes
        self.power = self.whole.sizes.cost / ph.measure.time
        self._find_atoms()
        self._integrate()

    def _find_atoms(self) -> None:
        """State constraints on their limits at breaks."""
        rows, ph = self.ham.of_states, self.ph
        self.atoms = np.zeros(0, dtype=np.intp)
        self.atom_slopes, self.atom_units = np.zeros((0, self.nx)), np.zeros(0)
        if not rows.size:
            return
        t = ph.breaks
        slope = casadi.jacobian(rows.expression, ph.form.x).T.reshape((-1, 1))
        values = self._values(rows.expression, t)
        slopes = self._values(slope, t).reshape(rows.size, self.nx, t.size)
        kinds = {-1: ph.sizes, -2: ph.measure.z}
        sizes = np.array(
            [
                kinds.get(int(kind), ph.measure.c)[k]
                for kind, k in zip(rows.of_path, rows.of_variable, strict=True)
            ]
        )
        near = ON_LIMIT * sizes[:, None]
        upper, lower = values >= rows.upper[:, None] - near, values <= rows.lower[:, None] + near
        which, self.atoms = np.nonzero(upper | lower)
        sign = np.where(upper[which, self.atoms], 1.0, -1.0)
        self.atom_slopes = sign[:, None] * slopes[which, :, self.atoms]
        self.atom_units = self.whole.sizes.cost / sizes[which]

    def _values(self, expression: Any, t: Array, controls: Array | None = None) -> Array:
        ph, ham = self.ph, self.ham
        symbols = [ph.form.t, ph.form.x, ph.form.z, ph.form.u, ham.s, ham.p]
        function = casadi.Function("value", symbols, [casadi.densify(expression)])
        u = ph.u(t) if controls is None else controls
        return evaluated(Pointwise(function), t[None, :], ph.x(t), ph.z(t), u, ph.s, ph.p)

    def _held(self, t: Array) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        ph, form, u = self.ph, self.ph.form, self.ph.u(t)
        room = np.minimum(u - form.u_bound.lower[:, None], form.u_bound.upper[:, None] - u)
        on = room <= ON_LIMIT * ph.spans[:, None]
        if not form.c.numel():
            return on, np.zeros((0, t.size), dtype=bool)
        c, near = self._values(form.c, t), ON_LIMIT * ph.measure.c[:, None]
        low, high = form.c_bound.lower[:, None], form.c_bound.upper[:, None]
        return on, np.asarray((c <= low + near) | (c >= high - near))

    def _integrate(self) -> None:
        """Costates at the points and at the end of each interval, by those at its start and the
        derivatives of the cost by the integrals.
        """
        ph, form, n, nl = self.ph, self.ph.form, self.nx, self.nl
        nodes, weights, inner = gauss(COUNT)
        count = ph.widths.size
        t = ph.inside(np.repeat(nodes[None, :], count, axis=0), np.arange(count)).ravel()

        def at(times: Array) -> tuple[Array, Array, Array, Array]:
            return ph.x(times), ph.z(times), ph.u(times), np.zeros((n, times.size))

        rows = form.g.numel() + form.c.numel()
        data = PhaseData(
            form,
            ph.breaks,
            ph.breaks[[0, -1]],
            at,
            lambda times: np.zeros((rows, times.size)),
            self._held,
            np.zeros(nl),
            (ph.sizes, ph.spans, ph.measure.time),
            ph.deadline,
        )
        whole = self.whole
        found = Linearized(data, (whole.form.s, whole.s), (whole.form.p, whole.p))(t)
        A = found.A.reshape(count, COUNT, n + 1 + nl, n + 1 + nl)
        self.B = found.B.reshape(count, COUNT, n + 1 + nl, -1)
        by_state, by_integral = A[:, :, :n, :n], A[:, :, n + 1 :, :n]
        h = ph.widths
        # lambda' = -A' lambda - A_l' w
        block = np.einsum("k,ij,kjba->kiajb", h, inner, by_state)
        block = block.reshape(count, COUNT * n, COUNT * n)
        force = -np.einsum("k,ij,kjla->kial", h, inner, by_integral).reshape(count, COUNT * n, nl)
        start = np.tile(np.eye(n), (COUNT, 1))[None].repeat(count, axis=0)
        right = np.concatenate([start, force], axis=2)
        stage = np.linalg.solve(np.eye(COUNT * n)[None] + block, right)
        self.stage = stage.reshape(count, COUNT, n, n + nl)
        self.end = np.zeros((count, n, n + nl))
        self.end[:, :, :n] = np.eye(n)
        self.end -= np.einsum("k,j,kjba,kjbm->kam", h, weights, by_state, self.stage)
        self.end[:, :, n:] -= np.einsum("k,j,kjla->kal", h, weights, by_integral)
        self.weights = weights

    def _of_break(self, k: int) -> Array:
        return np.arange(self.column + k * self.nx, self.column + (k + 1) * self.nx)

    def add_to(self, system: _System, gradient: Array, slopes: Array) -> None:
        """All rows of the phase."""
        total = self.ph.form.ends.column.numel()
        integrals = slice(self.first + total - self.nl, self.first + total)
        w0, W = gradient[integrals], slopes[:, integrals].T  # derivatives by integrals: w0 + W nu
        self._add_equation(system, w0, W)
        if self.ph.form.u.numel():
            self._add_stationarity(system, w0, W)
            self._add_jumps(system, w0, W)
        self._add_ends(system, gradient, slopes, (w0, W))

    def _add_equation(self, system: _System, w0: Array, W: Array) -> None:
        """From one break to the next; an atom at a break is part of the interval before it."""
        n, atoms = self.nx, self.column + self.costates
        for i in range(self.ph.widths.size):
            here = np.flatnonzero(self.atoms == i + 1)
            if i == 0:
                here = np.concatenate([np.flatnonzero(self.atoms == 0), here])
            for a in range(n):
                weight = EQUATION / self.costate_size[a]
                columns = np.concatenate([self._of_break(i), [self._of_break(i + 1)[a]]])
                values = np.append(-self.end[i, a, :n], 1.0)
                columns = np.concatenate([columns, atoms + here])
                values = np.concatenate([values, self.atom_slopes[here, a]])
                by_condition = -self.end[i, a, n:] @ W if self.nl else np.zeros(system.conditions)
                right = float(self.end[i, a, n:] @ w0)
                system.put(columns, values * weight, by_condition * weight, right * weight)

    def _add_stationarity(self, system: _System, w0: Array, W: Array) -> None:
        """H_u = 0 along free controls, away from atoms."""
        ph, n = self.ph, self.nx
        beside = np.zeros(ph.widths.size, dtype=bool)
        for k in np.unique(self.atoms):
            beside[max(k - 1, 0) : k + 1] = True
        shares = np.sqrt(self.weights[None, :] * ph.widths[:, None] / ph.measure.time)
        B = self.B * ph.spans / self.power * shares[:, :, None, None]
        by_costate = np.einsum("kjam,kjab->kjmb", B[:, :, :n], self.stage)
        by_costate[..., n:] += np.einsum("kjlm->kjml", B[:, :, n + 1 :])
        moved = np.abs(B).max(axis=2, initial=0.0) > 0
        for i, j, m in np.argwhere(moved & ~beside[:, None, None]):
            row = by_costate[i, j, m]
            system.put(self._of_break(i), row[:n], row[n:] @ W, -float(row[n:] @ w0))

    def _add_jumps(self, system: _System, w0: Array, W: Array) -> None:
        """H is continuous where controls jump."""
        ph, n = self.ph, self.nx
        every = np.arange(ph.widths.size)
        before = ph.u(ph.inside(np.ones((every.size, 1)), every).ravel())[:, :-1]
        after = ph.u(ph.inside(np.zeros((every.size, 1)), every).ravel())[:, 1:]
        here = np.flatnonzero((np.abs(after - before) > JUMP * ph.spans[:, None]).any(axis=0))
        here = here[~np.isin(here + 1, self.atoms)]
        if not here.size or ph.form.z.numel():
            return
        rates = casadi.vertcat(ph.form.f, ph.form.l)
        t = ph.breaks[here + 1]
        change = self._values(rates, t, after[:, here]) - self._values(rates, t, before[:, here])
        for k, d in zip(here.tolist(), change.T, strict=True):
            d = d * JUMPS / self.power
            system.put(self._of_break(k + 1), d[:n], d[n:] @ W, -float(d[n:] @ w0))

    def _add_ends(
        self, system: _System, gradient: Array, slopes: Array, by: tuple[Array, Array]
    ) -> None:
        """Transversality at free ends and free times."""
        ph, form, n, count = self.ph, self.ph.form, self.nx, self.ph.widths.size
        last = ph.x(np.array([ph.given.tf]), left=True)[:, 0]
        states = (ph.x(np.array([ph.given.t0]))[:, 0], form.x_start, 0, 1.0)
        for which, (x, bound, place, sign) in enumerate((states, (last, form.x_end, count, -1.0))):
            free = np.minimum(x - bound.lower, bound.upper - x) > ON_LIMIT * ph.sizes
            for a in np.flatnonzero(free):
                k, weight = self.first + 2 + which * n + a, ENDS / self.costate_size[a]
                column = self._of_break(place)[a : a + 1]
                value, right = np.array([sign * weight]), -float(gradient[k] * weight)
                system.put(column, value, slopes[:, k] * weight, right)
        near = ph.inside(np.array([[0.0], [1.0]]), np.array([0, count - 1])).ravel()
        rates = self._values(casadi.vertcat(form.f, form.l), near)
        times = ((ph.given.t0, form.start_time, 0, -1.0), (ph.given.tf, form.end_time, count, 1.0))
        w0, W = by
        for which, (t, bound, place, sign) in enumerate(times):
            if min(t - bound.lower[0], bound.upper[0] - t) <= ON_LIMIT * ph.measure.time:
                continue
            weight, k, d = TIMES / self.power, self.first + which, sign * rates[:, which]
            by_condition = (slopes[:, k] + d[n:] @ W) * weight
            right = -float(gradient[k] + d[n:] @ w0) * weight
            system.put(self._of_break(place), d[:n] * weight, by_condition, right)

    def curves(self, y: Array, gradient: Array, slopes: Array) -> dict[str, Curve]:
        """Costates of the states, by their names."""
        ph, n, total = self.ph, self.nx, self.ph.form.ends.column.numel()
        integrals = slice(self.first + total - self.nl, self.first + total)
        w = gradient[integrals] + y[: slopes.shape[0]] @ slopes[:, integrals]
        at_breaks = y[self.column : self.column + self.costates].reshape(-1, n)
        count = ph.widths.size
        given = np.concatenate([at_breaks[:-1], np.tile(w, (count, 1))], axis=1)
        inner = np.einsum("kjam,km->kja", self.stage, given)
        end = np.einsum("kam,km->ka", self.end, given)
        values = np.concatenate([at_breaks[:-1, None], inner, end[:, None]], axis=1)
        nodes = np.concatenate([[0.0], gauss(COUNT)[0], [1.0]])
        return {
            q.name: Curve.through(ph.breaks, nodes, values[:, :, q.rows]) for q in ph.form.states
        }
