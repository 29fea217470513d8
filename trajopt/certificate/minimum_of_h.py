"""How much smaller H could be: its least value over all admissible controls, at every quadrature
point.

In closed form where H is affine in the controls, or quadratic without products of them, between
bounds; else by Newton's method with bounds, all points together. Where H is not convex it starts
from several places: the best of many candidates at each point, other ones at every point. Mixed
constraints and algebraic equations enter as an augmented Lagrangian with the fitted multipliers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.certificate.box_search import better_controls, groups
from trajopt.certificate.branches import smooth_in
from trajopt.certificate.sampled_solution import beyond
from trajopt.compiled.pointwise import Pointwise

if TYPE_CHECKING:
    from trajopt.certificate.phase_conditions import PhaseConditions

Array = NDArray[np.float64]
BEYOND = 3.0  # sizes of a control without bounds that are searched beyond its range
# of the size of a control without bounds: distances at which it is tried alone
DISTANCES = 2.0 ** np.arange(2, 20.25, 0.25)
# of the sizes of the algebraic variables: distances from which Newton's method looks for another
# solution of the algebraic equations, its rounds, and directions in which several are moved
BRANCHES, FARTHER, DIRECTIONS = 2.0 ** np.arange(-1, 21), 12, 8
# points of a phase at which boxes of controls, and other solutions of the equations, are looked for
BOXED, SOME = 8, 32
PENALTY = 100.0  # of a constraint missed by its size, in units of H
WORK = 3e8  # instructions spent on candidates
CANDIDATES = (8, 256)
SCAN = 17  # values of each control alone
NEWTON = 40
ADMISSIBLE = 1e-6  # of a constraint's size
UPDATES = 4  # of the multipliers of constraints that a candidate violates
CHUNK = 20000  # points evaluated together
FLAT = 1e-9  # curvature that counts as none, in units of H per size squared


@dataclass(frozen=True, eq=False)
class HamiltonianMinimization:
    """H minimized over the controls (and algebraic variables) of one phase."""

    e: PhaseConditions

    @cached_property
    def gap(self) -> Array:
        """(N,): H minus its least value at the quadrature points."""
        if not self.e.phase.form.u.numel():
            return np.zeros(self.e.points[0].size)
        if self.plain and self.smooth and self.hessian.nnz() == 0:
            return self._affine()
        if self.plain and self.smooth and self.diagonal:
            return self._separable()
        return self._searched()

    @property
    def proved(self) -> bool:
        """Whether the least value is proved: H has a closed form, or one minimum."""
        closed = self.plain and self.smooth and self.diagonal
        return not self.e.phase.form.u.numel() or closed or self.convex

    # Structure
    # ----------------------------------------------------------------------------------------------

    @cached_property
    def plain(self) -> bool:
        """Whether controls are limited by their bounds alone."""
        return not (self.e.phase.form.z.numel() or self.e.ham.mixed.size)

    @cached_property
    def smooth(self) -> bool:
        """Whether H, the equations and the mixed constraints have no kinks or steps in the controls
        and algebraic variables, of which derivatives know nothing.
        """
        e = self.e
        rows = casadi.vertcat(e.ham.H, e.phase.form.g, e.ham.mixed.expression)
        return smooth_in(rows, e.symbols, (2, 3))

    @cached_property
    def hessian(self) -> Any:
        return casadi.hessian(self.e.ham.H, self.e.phase.form.u)[0]

    @cached_property
    def quadratic(self) -> bool:
        return not casadi.depends_on(self.hessian, self.e.phase.form.u)

    @cached_property
    def diagonal(self) -> bool:
        pattern = self.hessian.sparsity()
        return self.quadratic and all(i == j for i, j in zip(*pattern.get_triplet(), strict=True))

    @cached_property
    def size(self) -> Array:
        ph = self.e.phase
        return np.concatenate([ph.spans, ph.measure.z])

    @cached_property
    def limits(self) -> tuple[Array, Array]:
        """(nu + nz, 1): bounds of controls and algebraic variables."""
        form, z = self.e.phase.form, self.e.ham.z_bound
        lower = np.concatenate([form.u_bound.lower, z.lower])
        upper = np.concatenate([form.u_bound.upper, z.upper])
        return lower[:, None], upper[:, None]

    @cached_property
    def box(self) -> tuple[Array, Array]:
        """(nu + nz, 1): where candidates are spread; the bounds, or what is near the answer."""
        y, reach = self.y, BEYOND * self.size[:, None]
        lower, upper = self.limits
        lower = np.where(np.isfinite(lower), lower, y.min(axis=1, keepdims=True) - reach)
        upper = np.where(np.isfinite(upper), upper, y.max(axis=1, keepdims=True) + reach)
        return lower, upper

    @cached_property
    def y(self) -> Array:
        return np.vstack([self.e.points[3], self.e.points[2]])

    # Closed forms
    # ----------------------------------------------------------------------------------------------

    def _affine(self) -> Array:
        slope = self.e.values(casadi.gradient(self.e.ham.H, self.e.phase.form.u))
        lower, upper = self.box
        y = np.clip(self.y, lower, upper)
        return np.asarray(np.maximum(slope * (y - lower), slope * (y - upper)).sum(axis=0))

    def _separable(self) -> Array:
        u = self.e.phase.form.u
        slope = self.e.values(casadi.gradient(self.e.ham.H, u))
        bend = self.e.values(casadi.diag(self.hessian))
        lower, upper = self.box
        y = np.clip(self.y, lower, upper)

        def change(to: Array) -> Array:
            step = to - y
            return np.asarray(slope * step + 0.5 * bend * step**2)

        inner = np.clip(y - slope / np.where(bend > 0, bend, np.inf), lower, upper)
        return np.asarray(
            -np.minimum(
                np.minimum(change(inner), change(lower + 0 * y)),
                np.minimum(change(upper + 0 * y), 0),
            ).sum(axis=0)
        )

    # Search
    # ----------------------------------------------------------------------------------------------

    @cached_property
    def function(self) -> tuple[Any, Any]:
        """Functions of (y, t, x, costate, weight, s, p, multipliers): the augmented H, and with it
        its gradient and Hessian.
        """
        e, ph = self.e, self.e.phase.form
        sym = e.ham.symbols
        y = sym.sym("y", e.ham.y.numel())
        rows = e.ham.mixed
        m = sym.sym("m", ph.g.numel() + rows.size)
        value = e.ham.H
        rho = PENALTY * e.power
        for i in range(ph.g.numel()):
            value = (
                value + m[i] * ph.g[i] + 0.5 * rho * (ph.g[i] / float(e.phase.measure.g[i])) ** 2
            )
        sizes = e.sizes_of(rows)
        for k in range(rows.size):
            c, own = rows.expression[k], m[ph.g.numel() + k]
            stiff = rho / float(sizes[k]) ** 2
            if rows.lower[k] == rows.upper[k]:
                value = value + own * (c - rows.lower[k]) + 0.5 * stiff * (c - rows.lower[k]) ** 2
                continue
            for limit, sign in ((rows.upper[k], 1.0), (rows.lower[k], -1.0)):
                if np.isfinite(limit):
                    push = casadi.fmax(sign * own, 0)
                    value = value + (
                        casadi.fmax(push + stiff * sign * (c - limit), 0) ** 2 - push**2
                    ) / (2 * stiff)
        parts = casadi.vertsplit(y, [0, ph.u.numel(), y.numel()]) if ph.z.numel() else [y]
        old = [ph.u, ph.z] if ph.z.numel() else [ph.u]
        value = casadi.substitute([value], old, parts)[0]
        inputs = [y, ph.t, ph.x, e.ham.costate, e.ham.weight, e.ham.s, e.ham.p, m]
        hessian, gradient = casadi.hessian(value, y)
        every = [value, casadi.densify(gradient), casadi.densify(hessian).reshape((-1, 1))]
        return Pointwise(casadi.Function("H", inputs, [value])), Pointwise(
            casadi.Function("H", inputs, every)
        )

    def _inputs(
        self, which: NDArray[np.intp], multipliers: Array | None = None
    ) -> tuple[Array, ...]:
        t, x, _, _, costate = (part[:, which] for part in self.e.points)
        return (
            t,
            x,
            costate,
            *self.e.fixed,
            self.multipliers[:, which] if multipliers is None else multipliers,
        )

    @cached_property
    def multipliers(self) -> Array:
        return self.e._multipliers(self.e.points[4])

    def value(self, y: Array, which: NDArray[np.intp], multipliers: Array | None = None) -> Array:
        with np.errstate(all="ignore"):
            found = np.asarray(self.function[0](y, *self._inputs(which, multipliers)))[0]
        return np.where(np.isfinite(found), found, np.inf)

    @cached_property
    def convex(self) -> bool:
        """Whether one start is enough: H quadratic with a Hessian that is nowhere negative, limits
        affine.
        """
        e = self.e
        if not self.smooth:
            return False
        rows = casadi.vertcat(e.phase.form.g, e.ham.mixed.expression)
        y = e.ham.y
        if rows.numel() and casadi.depends_on(casadi.jacobian(rows, y), y):
            return False
        hessian = casadi.hessian(e.ham.H, y)[0]
        if casadi.depends_on(hessian, y):
            return False
        n = y.numel()
        values = (
            e.values(hessian.reshape((-1, 1))).T.reshape(-1, n, n)
            * self.size[:, None]
            * self.size[None, :]
        )
        if not np.isfinite(values).all():
            return False
        return bool(np.linalg.eigvalsh(values)[:, 0].min(initial=0.0) >= -FLAT * e.power)

    def _searched(self) -> Array:
        count = self.e.points[0].size
        every = np.arange(count)
        gap = np.zeros(count)
        for part in np.array_split(every, max(1, count // CHUNK)):
            here = self.value(self.y[:, part], part)
            found, _ = self._descended(self.y[:, part], part, self.multipliers[:, part])
            if not self.convex:
                for start in (self._candidate(part), *self._distant(part)):
                    found = np.minimum(found, self._admissible(start, part))
                found = np.minimum(found, self._branches(part))
            gap[part] = np.where(np.isfinite(here), np.maximum(here - found, 0.0), np.inf)
        return gap

    def _candidate(self, part: NDArray[np.intp]) -> Array:
        """The best of candidates: points all over the box, others at every quadrature point, and
        scans of each control alone.
        """
        nu = self.e.phase.form.u.numel()
        lower, upper = (side[:nu] for side in self.box)
        function = self.function[0].function
        cost = max(function.n_instructions() if function.is_a("SXFunction") else 200, 20)
        most = int(np.clip(WORK / cost / self.e.points[0].size, *CANDIDATES))
        best_y, best = self.y[:, part].copy(), np.full(part.size, np.inf)
        shift = np.modf(part[None, :] * _irrational(nu)[:, None])[0]
        tries = []
        for k in range(most):
            fraction = np.modf(shift + (k + 0.5) * _irrational(nu + 1)[1:, None])[0]
            tries.append(lower + fraction * (upper - lower))
        scan = min(SCAN, max(3, most // max(nu, 1)))
        for i in range(nu):
            for j in range(scan):
                alone = self.y[:nu, part].copy()
                alone[i] = (
                    lower + (j + shift[i] * (0 < j < scan - 1)) / (scan - 1) * (upper - lower)
                )[i]
                tries.append(np.clip(alone, lower, upper))
        for u in tries:
            self.e.phase.deadline.check()
            y = self.y[:, part].copy()
            y[:nu] = u
            y = self._onto_equations(y, part)
            value = self.value(y, part)
            better = value < best
            best[better], best_y[:, better] = value[better], y[:, better]
        return best_y

    def _distant(self, part: NDArray[np.intp]) -> list[Array]:
        """Starts from what interval bounds find at some points, in each group of controls that H
        does not separate; with constraints, the best minimum along each control without bounds.
        """
        if not self.plain:
            return self._along_each(part)
        starts = []
        for group in groups(self.e):
            some = part[np.unique(np.linspace(0, part.size - 1, BOXED).astype(int))]
            found = better_controls(self.e, group, some, self.box)
            if np.array_equal(found, self.y[:, some]):
                continue
            nearest = np.argmin(np.abs(part[:, None] - some[None, :]), axis=1)
            y = self.y[:, part].copy()
            y[group] = found[group][:, nearest]
            starts.append(y)
        return starts

    def _along_each(self, part: NDArray[np.intp]) -> list[Array]:
        """For each control without a bound the best minimum of H along it alone, at distances that
        grow to a million of its size; where there is none, the answer itself.
        """
        nu, starts = self.e.phase.form.u.numel(), []
        for i in range(nu):
            for side, limit in ((-1.0, self.limits[0][i, 0]), (1.0, self.limits[1][i, 0])):
                if np.isfinite(limit):
                    continue
                values = []
                for distance in DISTANCES:
                    self.e.phase.deadline.check()
                    values.append(self.value(self._moved(i, side * distance, part), part))
                ray = np.array(values)
                inner = np.full(ray.shape, np.inf)
                least = (ray[1:-1] < ray[:-2]) & (ray[1:-1] <= ray[2:])
                inner[1:-1][least] = ray[1:-1][least]
                which = np.argmin(inner, axis=0)
                some = np.isfinite(inner.min(axis=0))
                y = self._moved(i, 0.0, part)
                y[i, some] += side * DISTANCES[which[some]] * self.size[i]
                if some.any():
                    starts.append(self._onto_equations(y, part))
        return starts

    def _moved(self, i: int, distance: float, part: NDArray[np.intp]) -> Array:
        """The answer with one control moved, in units of its size."""
        y = self.y[:, part].copy()
        y[i] += distance * self.size[i]
        return self._onto_equations(y, part) if distance else y

    def _branches(self, part: NDArray[np.intp]) -> Array:
        """The least value of H at other solutions of the algebraic equations for the same controls:
        Newton's method from other algebraic variables; first at some points, then at all those
        where it found a better one.
        """
        form, found = self.e.phase.form, np.full(part.size, np.inf)
        nz, nu = form.z.numel(), form.u.numel()
        if not nz or not casadi.depends_on(casadi.jacobian(form.g, form.z), form.z):
            return found
        some = part[np.unique(np.linspace(0, part.size - 1, SOME).astype(int))]
        here = self.value(self.y[:, some], some)
        mixed = 2 * np.modf(np.outer(np.arange(1, DIRECTIONS + 1), _irrational(nz)))[0] - 1
        directions = np.vstack([np.eye(nz), mixed] if nz > 1 else [np.eye(nz)])
        for direction in np.vstack([directions, -directions]):
            for distance in BRANCHES:
                self.e.phase.deadline.check()
                shift = distance * direction * self.size[nu:]
                if (self._other_branch(shift, some) < here - FLAT * self.e.power).any():
                    found = np.minimum(found, self._other_branch(shift, part))
        return found

    def _other_branch(self, shift: Array, part: NDArray[np.intp]) -> Array:
        """H where Newton's method ends from shifted algebraic variables, if that is admissible."""
        y = self.y[:, part].copy()
        y[-shift.size :] += shift[:, None]
        y = self._onto_equations(y, part, FARTHER)
        return np.where(self._kept(y, part), self.value(y, part), np.inf)

    def _kept(self, y: Array, part: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Where controls and algebraic variables satisfy bounds, equations and constraints."""
        e, form, mixed = self.e, self.e.phase.form, self.e.ham.mixed
        nu, slack = form.u.numel(), ADMISSIBLE * self.size[:, None]
        t, x, _, _, costate = (v[:, part] for v in e.points)
        at = t, x, y[nu:], y[:nu], costate
        lower, upper = self.limits
        kept = ((y >= lower - slack) & (y <= upper + slack)).all(axis=0)
        missed = np.abs(e.values(form.g, at)) / e.phase.measure.g[:, None]
        kept &= (missed <= ADMISSIBLE).all(axis=0)
        if mixed.size:
            over = beyond(e.values(mixed.expression, at), mixed.lower, mixed.upper)
            kept &= (over <= ADMISSIBLE * e.sizes_of(mixed)[:, None]).all(axis=0)
        return np.asarray(kept)

    def _onto_equations(self, y: Array, part: NDArray[np.intp], rounds: int = 3) -> Array:
        """Algebraic variables that belong to the controls, by Newton's method."""
        ph = self.e.phase.form
        if not ph.z.numel() or not ph.g.numel():
            return y
        nu = ph.u.numel()
        t, x, _, _, costate = (v[:, part] for v in self.e.points)
        for _ in range(rounds):
            with np.errstate(all="ignore"):
                g, slope = (
                    np.array(o)
                    for o in self._equations(t, x, y[nu:], y[:nu], costate, *self.e.fixed)
                )
            matrix = slope.T.reshape(-1, ph.z.numel(), ph.g.numel()).transpose(0, 2, 1)
            good = np.isfinite(matrix).all(axis=(1, 2)) & np.isfinite(g).all(axis=0)
            matrix[~good], g[:, ~good] = 0.0, 0.0
            y[nu:] -= _solved(matrix, g.T).T
        return y

    @cached_property
    def _equations(self) -> Any:
        ph = self.e.phase.form
        slope = casadi.densify(casadi.jacobian(ph.g, ph.z)).reshape((-1, 1))
        return Pointwise(casadi.Function("g", self.e.symbols, [casadi.densify(ph.g), slope]))

    def _admissible(self, start: Array, part: NDArray[np.intp]) -> Array:
        """The values reached from a start by controls that keep the constraints: multipliers follow
        what is violated.
        """
        multipliers = self.multipliers[:, part].copy()
        value, y = self._descended(start, part, multipliers)
        for _ in range(0 if self.plain else UPDATES):
            with np.errstate(all="ignore"):
                moved = np.nan_to_num(self._updated(y, *self._inputs(part, multipliers)))
            multipliers = moved
            value, y = self._descended(y, part, multipliers)
        if self.plain:
            return value
        # What the next update would change is what is still violated: such controls are not
        # admissible.
        size = np.concatenate([self.e.phase.measure.g, self.e.sizes_of(self.e.ham.mixed)])[:, None]
        with np.errstate(all="ignore"):
            missed = (
                np.abs(self._updated(y, *self._inputs(part, multipliers)) - multipliers)
                * size
                / (PENALTY * self.e.power)
            )
        return np.where((missed <= ADMISSIBLE).all(axis=0), value, np.inf)

    @cached_property
    def _updated(self) -> Any:
        """Multipliers of the augmented Lagrangian after one update."""
        e, ph, rows = self.e, self.e.phase.form, self.e.ham.mixed
        y = e.ham.symbols.sym("y", e.ham.y.numel())
        m = e.ham.symbols.sym("m", ph.g.numel() + rows.size)
        rho, sizes, found = PENALTY * e.power, e.sizes_of(rows), []
        for i in range(ph.g.numel()):
            found.append(m[i] + rho * ph.g[i] / float(e.phase.measure.g[i]) ** 2)
        for k in range(rows.size):
            c, own, stiff = rows.expression[k], m[ph.g.numel() + k], rho / float(sizes[k]) ** 2
            if rows.lower[k] == rows.upper[k]:
                found.append(own + stiff * (c - rows.lower[k]))
                continue
            above = (
                casadi.fmax(casadi.fmax(own, 0) + stiff * (c - rows.upper[k]), 0)
                if np.isfinite(rows.upper[k])
                else 0
            )
            below = (
                casadi.fmax(casadi.fmax(-own, 0) - stiff * (c - rows.lower[k]), 0)
                if np.isfinite(rows.lower[k])
                else 0
            )
            found.append(above - below)
        parts = casadi.vertsplit(y, [0, ph.u.numel(), y.numel()]) if ph.z.numel() else [y]
        column = casadi.substitute(
            [casadi.vertcat(*found)], [ph.u, ph.z] if ph.z.numel() else [ph.u], parts
        )[0]
        inputs = [y, ph.t, ph.x, e.ham.costate, e.ham.weight, e.ham.s, e.ham.p, m]
        return Pointwise(casadi.Function("update", inputs, [casadi.densify(column)]))

    def _descended(
        self, start: Array, part: NDArray[np.intp], multipliers: Array
    ) -> tuple[Array, Array]:
        """Newton's method between bounds from a start at each point: the values
        reached, and where.
        """
        n, size, power = self.y.shape[0], self.size[:, None], self.e.power
        lower, upper = self.limits
        y = np.clip(start, lower, upper)
        value = self.value(y, part, multipliers)
        moving = np.flatnonzero(np.isfinite(value))
        for _ in range(NEWTON):
            if not moving.size:
                break
            self.e.phase.deadline.check()
            at = part[moving]
            with np.errstate(all="ignore"):
                _, gradient, hessian = self.function[1](
                    y[:, moving], *self._inputs(at, multipliers[:, moving])
                )
            gradient = np.nan_to_num(gradient) * size
            matrix = (
                np.nan_to_num(hessian).T.reshape(-1, n, n)
                * size[None, :, :]
                * size[None, :, :].transpose(0, 2, 1)
            )
            own = y[:, moving]
            held = ((own <= lower) & (gradient > 0)) | ((own >= upper) & (gradient < 0))
            gradient = np.where(held, 0.0, gradient)
            matrix = np.where(held.T[:, :, None] | held.T[:, None, :], 0.0, matrix)
            curvature, basis = np.linalg.eigh(matrix)
            step = -np.einsum(
                "nij,nj->ni",
                basis,
                np.einsum("nji,jn->ni", basis, gradient)
                / np.maximum(np.abs(curvature), FLAT * power),
            )
            step = np.where(held, 0.0, step.T)
            decrease = np.abs((gradient * np.clip(step, -1, 1)).sum(axis=0))
            length = np.ones(moving.size)
            pending = decrease > 1e-14 * power
            improved = np.zeros(moving.size, dtype=bool)
            for _ in range(12):
                some = np.flatnonzero(pending & ~improved)
                if not some.size:
                    break
                trial = np.clip(own[:, some] + length[some] * size * step[:, some], lower, upper)
                found = self.value(trial, at[some], multipliers[:, moving[some]])
                better = found < value[moving[some]]
                chosen = some[better]
                y[:, moving[chosen]], value[moving[chosen]] = trial[:, better], found[better]
                improved[chosen] = True
                length[some[~better]] *= 0.3
            moving = moving[improved]
        return value, y


def _solved(matrix: Array, right: Array) -> Array:
    """Many small systems, (N, rows, columns) and (N, rows); those without a unique solution by
    least squares.
    """
    try:
        if matrix.shape[1] == matrix.shape[2]:
            return np.asarray(np.linalg.solve(matrix, right[:, :, None])[:, :, 0])
    except np.linalg.LinAlgError:  # one of them is singular
        pass
    return np.asarray(np.einsum("nij,nj->ni", np.linalg.pinv(matrix, rcond=1e-13), right))


def _irrational(count: int) -> Array:
    """Independent irrational steps: multiples of them modulo one fill a cube evenly (the R-sequence
    of M. Roberts, 2018).
    """
    root = 2.0
    for _ in range(50):
        root = (1 + root) ** (1 / (count + 1))
    return np.modf(root ** -np.arange(1.0, count + 1))[0]
