"""One phase of an answer beside its Hamiltonian: what Pontryagin's conditions are checked on.

Multipliers of algebraic equations and of mixed constraints are not taken from the solver:
stationarity gives them, at every point. Where a state constraint is active its multiplier is
fitted, non-negative, so that the costate equation and stationarity hold together; inside such
intervals the costate is the one that follows from the fit, not the polynomial of the answer, which
cannot jump.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import casadi
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from trajopt.certificate.branches import jumps_of_data
from trajopt.certificate.hamiltonian_system import ALGEBRAIC, STATE, Hamiltonian, Rows, hamiltonians
from trajopt.certificate.sampled_solution import SampledPhase, SampledSolution, evaluated
from trajopt.compiled.pointwise import Pointwise

if TYPE_CHECKING:
    from trajopt.certificate.adjoint import Fit
    from trajopt.certificate.kink_rows import KinksAlong

Array = NDArray[np.float64]
# of a constraint's size: so close to its limit it may have a multiplier; what that is worth counts
# as a gain
NEAR = 1e-3
STEEP = (
    1e-9  # slope of H, relative to the size of the cost, by which a variable would leave its bound
)
SAME_TIME = 1e-9  # of the duration
LEAST_COSTATE = 0.1  # of cost over state: costates below that do not matter


@dataclass(frozen=True, eq=False)
class PhaseConditions:
    """A phase, its Hamiltonian and the derivatives of the cost by its integrals."""

    phase: SampledPhase
    ham: Hamiltonian
    weight: Array
    cost: float  # the size of the cost
    told_costate: Array | None = (
        None  # at the quadrature points, where it is not that of the answer or the fitted one
    )

    @property
    def symbols(self) -> list[Any]:
        ph = self.phase.form
        return [ph.t, ph.x, ph.z, ph.u, self.ham.costate, self.ham.weight, self.ham.s, self.ham.p]

    @property
    def fixed(self) -> tuple[Array, Array, Array]:
        return self.weight, self.phase.s, self.phase.p

    @property
    def power(self) -> float:
        """The size of the cost over the duration."""
        return self.cost / self.phase.measure.time

    @cached_property
    def largest_terms(self) -> float:
        """What H is measured by, since it may be zero: the largest sum of the sizes
        of its terms.
        """
        ph = self.phase.form
        terms = casadi.vertcat(
            self.ham.costate * ph.f, self.ham.weight * ph.l if ph.l.numel() else ph.f[:0]
        )
        return max(
            float(np.abs(self.values(terms, self.given)).sum(axis=0).max(initial=0.0)), self.power
        )

    @cached_property
    def given(self) -> tuple[Array, ...]:
        """t, x, z, u and the answer's costate at the quadrature points."""
        t, x, z, u = self.phase.sampled
        return t, x, z, u, self.phase.costate(t[0])

    @cached_property
    def points(self) -> tuple[Array, ...]:
        """The same with the fitted costate where state constraints are active."""
        return *self.given[:4], self.fit.costate if self.told_costate is None else self.told_costate

    @cached_property
    def fit(self) -> Fit:
        """Costates and multipliers where state constraints are active."""
        from trajopt.certificate.adjoint import fitted  # which evaluates this phase

        return fitted(self)

    @cached_property
    def at_breaks(self) -> tuple[Array, ...]:
        """Both ends of every interval, from inside: collocation is most accurate there, in states
        and costates.
        """
        ph, every = self.phase, np.arange(self.phase.widths.size)
        sides = []
        for fraction, ends in ((0.0, ph.breaks[:-1]), (1.0, ph.breaks[1:])):
            near, left = (
                ph.inside(np.full((every.size, 1), fraction), every).ravel(),
                fraction == 1.0,
            )
            sides.append(
                (near[None, :], ph.x(ends, left), ph.z(near), ph.u(near), ph.costate(ends, left))
            )
        return tuple(np.hstack(pair) for pair in zip(*sides, strict=True))

    @cached_property
    def given_breaks(self) -> NDArray[np.bool_]:
        """(breaks,): inner breaks at which data jump at a given time; they cannot move."""
        ph = self.phase
        inner, jumps = ph.breaks[1:-1], jumps_of_data(ph)
        apart = np.abs(inner[:, None] - jumps[None, :]).min(axis=1, initial=np.inf)
        return np.asarray(apart <= SAME_TIME * ph.measure.time)

    @cached_property
    def costate_sizes(self) -> Array:
        """Of each costate: its largest value, or what matters beside the size of the cost."""
        largest = np.abs(self.given[4]).max(axis=1, initial=0.0)
        return np.asarray(np.maximum(largest, LEAST_COSTATE * self.cost / self.phase.sizes))

    def distances(self, rows: Rows, at: tuple[Array, ...] | None = None) -> tuple[Array, Array]:
        """(rows, points): distance from the nearer limit, and the side: 1 upper, -1 lower, 2 an
        equality.
        """
        values = (
            self.values(rows.expression, at)
            if rows.size
            else np.zeros((0, (at or self.given)[0].size))
        )
        below, above = values - rows.lower[:, None], rows.upper[:, None] - values
        side = np.where(above <= below, 1.0, -1.0)
        side[rows.lower == rows.upper] = 2.0
        return np.maximum(np.minimum(below, above), 0.0), side

    def sizes_of(self, rows: Rows) -> Array:
        """Of constraint rows: those of the path constraints, or of the variables whose bounds they
        are.
        """
        ph = self.phase
        of = {STATE: ph.sizes, ALGEBRAIC: ph.measure.z}
        return np.array(
            [
                of.get(int(kind), ph.measure.c)[k]
                for kind, k in zip(rows.of_path, rows.of_variable, strict=True)
            ]
        )

    @cached_property
    def mixed_sides(self) -> Array:
        """(mixed rows, points): the side on which a mixed constraint may have a multiplier, 0 where
        it may not.
        """
        rows = self.ham.mixed
        distance, side = self.distances(rows, self.given)
        return np.where((distance <= NEAR * self.sizes_of(rows)[:, None]) | (side == 2), side, 0.0)

    @cached_property
    def multipliers(self) -> Array:
        """Of algebraic equations, then of mixed constraints: what makes H stationary in the
        variables that are free to move.
        """
        return self._multipliers(self.given[4])

    def _multipliers(self, costate: Array) -> Array:
        ph, ng = self.phase.form, self.phase.form.g.numel()
        count, total = self.given[0].size, ng + self.ham.mixed.size
        if not total:
            return np.zeros((0, count))
        gradient, jacobian = self.slopes
        gradient = gradient + np.einsum("nji,jn->in", self.rate_slopes, costate - self.given[4])
        y = np.vstack([self.given[3], self.given[2]])
        size = np.concatenate([self.phase.spans, self.phase.measure.z])
        lower = np.concatenate([ph.u_bound.lower, self.ham.z_bound.lower])[:, None]
        upper = np.concatenate([ph.u_bound.upper, self.ham.z_bound.upper])[:, None]
        near = NEAR * size[:, None]
        free = (y > lower + near) & (y < upper - near)
        used = np.vstack([np.ones((ng, count), dtype=bool), self.mixed_sides != 0])
        jacobian, gradient = jacobian * size[None, None, :], gradient * size[:, None]
        found = np.zeros((total, count))
        for _ in range(1 + self.ham.mixed.size):
            # (N, rows, nu + nz); away from its limit a constraint may have no derivative
            chosen = free.T[:, None, :] & used.T[:, :, None]
            matrix = np.where(chosen, jacobian, 0.0)
            length = np.sqrt((matrix**2).sum(axis=2, keepdims=True))
            matrix = matrix / np.where(length > 0, length, 1.0)
            solved = np.einsum(
                "nij,in->jn",
                np.linalg.pinv(matrix.transpose(0, 2, 1), rcond=1e-10).transpose(0, 2, 1),
                gradient * free,
            )
            found = -solved / np.where(length > 0, length, 1.0)[:, :, 0].T
            signed = found[ng:] * self.mixed_sides
            wrong = (signed < 0) & (np.abs(self.mixed_sides) == 1)
            if not wrong.any():
                break
            used[ng:] &= ~wrong
        found = np.where(used, found, 0.0)
        return self._with_held(found, gradient, jacobian, (y - lower, upper - y))

    def _with_held(
        self, found: Array, gradient: Array, jacobian: Array, room: tuple[Array, Array]
    ) -> Array:
        """The same where too few variables are free: a bound may hold a variable as well, with a
        multiplier of its own.

        Where a control reaches its bound on an active mixed constraint no control may be free. Of
        the non-negative multipliers that make H stationary those are taken whose limits are
        nearest, by least squares. Slopes are relative to the sizes.
        """
        ng, size = (
            self.phase.form.g.numel(),
            np.concatenate([self.phase.spans, self.phase.measure.z]),
        )
        if not self.ham.mixed.size or not self.ham.y.numel():
            return found
        rest = gradient + np.einsum("nri,rn->in", jacobian, found)
        down, up = (np.maximum(part, 0.0) / size[:, None] for part in room)
        near = np.minimum(down, up) <= NEAR
        leaving = near & np.where(down < up, rest < -STEEP * self.power, rest > STEEP * self.power)
        reach = np.einsum("nri,rn->in", np.abs(jacobian[:, ng:]), np.abs(self.mixed_sides)) > 0
        distance, _ = self.distances(self.ham.mixed, self.given)
        distance = distance / self.sizes_of(self.ham.mixed)[:, None]
        for k in np.flatnonzero((leaving & reach).any(axis=0)):
            self.phase.deadline.check()
            rows = ng + np.flatnonzero(self.mixed_sides[:, k])
            sides = self.mixed_sides[rows - ng, k]
            signs = np.concatenate(
                [
                    np.ones(ng),
                    -np.ones(ng),
                    np.where(sides == 2, 1.0, sides),
                    -np.ones((sides == 2).sum()),
                ]
            )
            which = np.concatenate([np.arange(ng), np.arange(ng), rows, rows[sides == 2]])
            slack = np.concatenate(
                [
                    np.zeros(2 * ng),
                    np.where(sides == 2, 0.0, distance[rows - ng, k]),
                    np.zeros((sides == 2).sum()),
                ]
            )
            bounds = np.eye(size.size)
            lower, upper = np.flatnonzero(down[:, k] <= NEAR), np.flatnonzero(up[:, k] <= NEAR)
            matrix = np.vstack(
                [jacobian[k][which] * signs[:, None], -bounds[lower], bounds[upper]]
            ).T
            lengths = np.abs(matrix).max(axis=0)
            lengths = np.where(lengths > 0, lengths, 1.0)
            slack = np.concatenate([slack, down[lower, k], up[upper, k]])
            whole = np.vstack([matrix / lengths, np.diag(slack)])
            right = np.concatenate([-gradient[:, k], np.zeros(slack.size)])
            if np.isfinite(whole).all() and np.isfinite(right).all():
                sizes = nnls(whole, right)[0] / lengths
                found[:, k] = 0.0
                np.add.at(found[:, k], which, signs * sizes[: which.size])
        return found

    @cached_property
    def slopes(self) -> tuple[Array, Array]:
        """Derivatives by (u, z): of H, (nu + nz, N), and of equations and mixed constraints, (N,
        rows, nu + nz).
        """
        ph = self.phase.form
        variables = [v for v in (ph.u, ph.z) if v.numel()]
        rows = casadi.vertcat(ph.g, self.ham.mixed.expression)
        gradient = self.values(
            casadi.vertcat(*[casadi.gradient(self.ham.H, v) for v in variables]), self.given
        )
        jacobian = self.values(
            casadi.horzcat(*[casadi.jacobian(rows, v) for v in variables]).reshape((-1, 1)),
            self.given,
        )
        return gradient, jacobian.T.reshape(
            gradient.shape[1], self.ham.y.numel(), rows.numel()
        ).transpose(0, 2, 1)

    @cached_property
    def rate_slopes(self) -> Array:
        """df/d(u, z): (N, nx, nu + nz)."""
        ph = self.phase.form
        variables = [v for v in (ph.u, ph.z) if v.numel()]
        found = self.values(
            casadi.horzcat(*[casadi.jacobian(ph.f, v) for v in variables]).reshape((-1, 1)),
            self.given,
        )
        return found.T.reshape(-1, self.ham.y.numel(), ph.x.numel()).transpose(0, 2, 1)

    def augmented(self, at: tuple[Array, ...], multipliers: Array) -> dict[str, Array]:
        """H and the derivatives of H + multipliers . (equations, mixed constraints), at some
        points: H, x, s, t.
        """
        ph = self.phase.form
        rows = casadi.vertcat(ph.g, self.ham.mixed.expression)
        m = self.ham.symbols.sym("multipliers", rows.numel())
        whole = self.ham.H + (casadi.dot(m, rows) if rows.numel() else 0)
        outputs = [
            self.ham.H,
            *[casadi.gradient(whole, v) if v.numel() else v for v in (ph.x, self.ham.s, ph.t)],
        ]
        function = Pointwise(
            casadi.Function("augmented", [*self.symbols, m], [casadi.densify(o) for o in outputs])
        )
        with np.errstate(all="ignore"):
            found = function(*at, *self.fixed, multipliers)
        return dict(zip(("H", "x", "s", "t"), found, strict=True))

    @cached_property
    def gradients(self) -> dict[str, Array]:
        """``augmented`` at the quadrature points."""
        return self.generalized(self.points, self._multipliers(self.points[4]))

    def generalized(self, at: tuple[Array, ...], multipliers: Array) -> dict[str, Array]:
        """The same, with generalized gradients where the motion stays on a kink."""
        from trajopt.certificate.kink_rows import with_generalized  # which evaluates this phase

        return with_generalized(self, self.augmented(at, multipliers), at, multipliers)

    @cached_property
    def kinks(self) -> KinksAlong | None:
        """Where the motion stays on a kink of the states, or crosses one."""
        from trajopt.certificate.kink_rows import KinksAlong  # which evaluates this phase

        return KinksAlong.of(self)

    def lagrangian(
        self,
        at: tuple[Array, ...] | None = None,
        which: NDArray[np.intp] | None = None,
        statics: Array | None = None,
        constraints: bool = True,
    ) -> Array:
        """H with the algebraic equations and, unless told not, mixed constraints, at values moved
        from the quadrature points ``which``: H as algebraic variables and constraints follow, to
        first order.
        """
        points = self.points if at is None else at
        fixed = self.weight, self.phase.s if statics is None else statics, self.phase.p
        multipliers = self._multipliers(self.points[4])
        multipliers = multipliers if which is None else multipliers[:, which]
        if not constraints:
            multipliers = multipliers.copy()
            multipliers[self.phase.form.g.numel() :] = 0.0
        with np.errstate(all="ignore"):
            found = self._lagrangian(*points, *fixed, multipliers)
        return np.asarray(found[0], dtype=float)

    @cached_property
    def _lagrangian(self) -> Pointwise:
        rows = casadi.vertcat(self.phase.form.g, self.ham.mixed.expression)
        m = self.ham.symbols.sym("multipliers", rows.numel())
        whole = casadi.densify(self.ham.H + casadi.dot(m, rows))
        return Pointwise(casadi.Function("lagrangian", [*self.symbols, m], [whole]))

    def values(self, expression: Any, at: tuple[Array, ...] | None = None) -> Array:
        """An expression at the quadrature points, or at others."""
        points = self.points if at is None else at
        return evaluated(
            casadi.Function("value", self.symbols, [casadi.densify(expression)]),
            *points,
            *self.fixed,
        )


def extremals(whole: SampledSolution) -> tuple[PhaseConditions, ...]:
    """All phases with their Hamiltonians; raises where Pontryagin's conditions cannot be set up."""
    gradient = endpoint_gradient(whole)[0]
    found, first = [], 0
    for ph, ham in zip(whole.phases, hamiltonians(whole.form), strict=True):
        size = ph.form.ends.column.numel()
        weight = gradient[first + size - ph.form.l.numel() : first + size]
        found.append(PhaseConditions(ph, ham, weight, whole.sizes.cost))
        first += size
    return tuple(found)


def endpoint_gradient(whole: SampledSolution) -> tuple[Array, Array]:
    """Derivatives of cost and weighted conditions by all endpoint values, and
    by static variables.
    """
    form = whole.form
    total = form.phi + (
        casadi.dot(form.b, casadi.DM(whole.multipliers)) if whole.multipliers.size else 0
    )
    ends = [e for ph in form.phases for e in ph.ends]
    slopes = [casadi.gradient(total, e) if e.numel() else e for e in (*ends, form.s)]
    column = casadi.densify(casadi.vertcat(*slopes))
    function = casadi.Function("gradient", [*ends, form.s, form.p], [column])

    def gradient(*at: Array) -> Array:
        return np.asarray(function(*at).full()).ravel()

    from trajopt.certificate.kink_rows import generalized_at_ends  # which evaluates phases

    found = generalized_at_ends(whole, gradient)
    return found[: found.size - whole.s.size], found[found.size - whole.s.size :]
