"""The minimum of the Hamiltonian over all controls, and what a solution loses by other controls
than these.

A program finds controls that are stationary. Pontryagin's condition asks for the smallest
Hamiltonian among all controls; the integral of H - min H is what the cost could fall by, to first
order, if they were taken for a short while (Weierstrass' excess). Controls are compared at samples
of their ranges, one control at a time and two together, and the best is improved by a pattern
search. Only controls farther from those of the solution than a sample count: nearer ones belong to
the same minimum.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from trajopt.direct.collocation import DISTINCT
from trajopt.direct.control_error import hamiltonian_rows
from trajopt.direct.mesh_solution import MeshSolution
from trajopt.direct.phase_view import PhaseView
from trajopt.direct.whole_turns import TURN

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

SAMPLES = 9  # of the range of a control, at which H is compared (Weierstrass condition)
PAIRED = 4  # controls; the number of pairs grows with the square
HALVINGS = 10  # of the step of the pattern search


@dataclass(frozen=True, eq=False)
class OtherMinimum:
    """Of one phase, at the collocation points: the best controls away from those
    of the solution.
    """

    controls: Array  # (points, controls): those of the solution where H has no other minimum
    losses: Array  # (points,): what the cost could fall by, to first order; they add up

    @property
    def loss(self) -> float:
        return float(self.losses.sum())


def other_minima(solution: MeshSolution) -> tuple[OtherMinimum, ...]:
    """By phase."""
    return tuple(_other_minimum(view) for view in solution.phases)


def excess(solution: MeshSolution) -> float:
    """The integral of H - min H, relative to the cost."""
    if solution.layout.scheme.shares_nodes or not (solution.solved and solution.cost_size > 0):
        return 0.0
    loss = sum(other.loss for other in other_minima(solution))
    return float(loss / solution.relative_to_cost(loss))


def with_excess(solution: MeshSolution) -> MeshSolution:
    """The solution with errors that also count the integral of H - min H, relative to the cost."""
    others = other_minima(solution)
    largest = max(float(other.losses.max()) for other in others)
    total = sum(other.loss for other in others)
    if not largest > 0:
        return solution
    # losses add up: the worst interval answers for their sum
    share = total / largest / solution.relative_to_cost(total)
    estimates = []
    for view, estimate, other in zip(solution.phases, solution.estimates, others, strict=True):
        losses = np.maximum.reduceat(other.losses, view.layout.grid.first_point)
        estimates.append(replace(estimate, errors=np.maximum(estimate.errors, share * losses)))
    return solution.judged(tuple(estimates))


def _other_minimum(view: PhaseView) -> OtherMinimum:
    ph = view.layout
    controls, losses = view.values.U.copy(), np.zeros(ph.grid.points)
    smooth = np.flatnonzero(~view.kernels.affine)
    free = np.flatnonzero(view.free_intervals[ph.grid.interval_of])
    # algebraic variables move with the controls: H alone does not decide
    if not smooth.size or ph.nz or not free.size:
        return OtherMinimum(controls, losses)
    search = _Search(view, free, smooth)
    found, gains = search.best(controls[free], _ranges(view))
    used = _used_ranges(view)
    if used is not None:
        near, more = search.best(controls[free], used)
        found, gains = np.where((more > gains)[:, None], near, found), np.maximum(gains, more)
    losses[free] = ph.grid.weights[free] * gains
    controls[free] = found
    return OtherMinimum(controls, losses)


@dataclass(frozen=True, eq=False)
class _Search:
    """For controls with a smaller Hamiltonian at some collocation points."""

    view: PhaseView
    points: NDArray[np.int_]
    smooth: NDArray[np.int_]  # controls that are varied

    @cached_property
    def rows(self) -> Array:
        """(rows of the kernel, points)"""
        view, points = self.view, self.points
        rows = hamiltonian_rows(view, view.times[points], view.layout.grid.at_end[points])
        return np.ascontiguousarray(rows.T)

    @cached_property
    def _tiles(self) -> dict[int, tuple[Array, Array]]:
        """Inputs and data of the kernel for some number of choices at each point; the controls are
        written into them.
        """
        return {}

    def best(self, u: Array, limits: tuple[Array, Array]) -> tuple[Array, Array]:
        """(points, controls), (points,): the best controls away from ``u``, and by how much H
        falls, times the span's length.
        """
        spacing = (limits[1] - limits[0]) / (SAMPLES - 1)
        choices, here = self._candidates(u, limits), np.arange(u.shape[0])
        distant = self._distant(choices, u, spacing)
        values = np.where(distant, self._values(choices), np.inf)
        which = values.argmin(axis=0)
        found, value = self._improved(choices[which, here], values[which, here], spacing, limits)
        gains = np.maximum(self._values(u[None])[0] - value, 0.0)
        away = np.isfinite(value) & self._distant(found[None], u, spacing)[0]
        return found, np.where(away, gains, 0.0)

    def _distant(self, choices: Array, u: Array, spacing: Array) -> Bools:
        """(choices, points); angles a whole turn apart are the same."""
        difference = choices - u
        turns = np.round(difference / TURN) * self.view.kernels.angles
        return np.asarray((np.abs(difference - TURN * turns) > spacing).any(axis=2))

    def _candidates(self, u: Array, limits: tuple[Array, Array]) -> Array:
        """(choices, points, controls)"""
        choices = []
        low, high = limits
        for j in self.smooth:
            for value in np.linspace(low[j], high[j], SAMPLES):
                choices.append(u.copy())
                choices[-1][:, j] = value
        for i, j in itertools.combinations(self.smooth, 2) if self.smooth.size <= PAIRED else ():
            values = (np.linspace(low[k], high[k], (SAMPLES + 1) // 2) for k in (i, j))
            for a, b in itertools.product(*values):
                choices.append(u.copy())
                choices[-1][:, i], choices[-1][:, j] = a, b
        return np.array(choices)

    def _improved(
        self, u: Array, value: Array, step: Array, limits: tuple[Array, Array]
    ) -> tuple[Array, Array]:
        """Controls and their Hamiltonians after a pattern search along the coordinates."""
        here = np.arange(u.shape[0])
        for _ in range(HALVINGS):
            step = 0.5 * step
            for j in self.smooth:
                moved = np.stack([u, u])
                moved[:, :, j] += step[j] * np.array([[-1.0], [1.0]])
                moved = np.clip(moved, *limits)
                values = self._values(moved)
                which = values.argmin(axis=0)
                least = values[which, here]
                u = np.where((least < value)[:, None], moved[which, here], u)
                value = np.minimum(least, value)
        return u, value

    def _values(self, controls: Array) -> Array:
        """(choices, points): H times the span; infinite where a path constraint is violated."""
        view, ph, (choices, count) = self.view, self.view.layout, controls.shape[:2]
        if choices not in self._tiles:
            inputs, data = (np.tile(part[:, self.points], choices) for part in view.arguments[:2])
            self._tiles[choices] = inputs, data
        inputs, data = self._tiles[choices]
        inputs[ph.control_inputs] = controls.reshape(choices * count, -1).T
        outputs = np.asarray(view.kernel.constraints(inputs, data, view.parameters)).reshape(
            -1, choices, count
        )
        H = np.einsum("rp,rcp->cp", self.rows[: outputs.shape[0]], outputs)
        if view.kernel.objective_rows:
            costs = np.asarray(view.kernel.objective(inputs, data, view.parameters)).reshape(
                -1, choices, count
            )
            H += np.einsum("rp,rcp->cp", self.rows[outputs.shape[0] :], costs)
        mixed = ~view.kernels.state_paths
        if mixed.size and mixed.any():
            c = outputs[ph.outputs[2]][mixed]
            margin = view.method.round_off * np.maximum(np.abs(c).max(axis=(1, 2)), 1.0)
            low = ph.form.c_bound.lower[mixed] - margin
            high = ph.form.c_bound.upper[mixed] + margin
            H = np.where(
                ((c < low[:, None, None]) | (c > high[:, None, None])).any(axis=0), np.inf, H
            )
        return np.where(np.isfinite(H), H, np.inf)


def _ranges(view: PhaseView) -> tuple[Array, Array]:
    """(controls,), (controls,): within which controls are compared; where they have no bounds,
    twice their size to both sides.
    """
    bound, angle = view.layout.form.u_bound, view.kernels.angles
    reach = np.where(angle, TURN, 2 * view.u_size)
    low = np.where(np.isfinite(bound.lower), bound.lower, np.minimum(-reach, bound.upper - reach))
    high = np.where(np.isfinite(bound.upper), bound.upper, np.maximum(reach, bound.lower + reach))
    return np.where(np.isfinite(low), low, -reach), np.where(np.isfinite(high), high, reach)


def _used_ranges(view: PhaseView) -> tuple[Array, Array] | None:
    """The ranges that the controls of the solution take, where samples between their bounds are too
    far apart for these.
    """
    low, high = _ranges(view)
    least, most = view.values.U.min(axis=0), view.values.U.max(axis=0)
    varies = most - least > DISTINCT * view.u_size
    narrow = varies & (2 * (most - least) < high - low)
    if not narrow.any():
        return None
    return np.where(narrow, least, low), np.where(narrow, most, high)
