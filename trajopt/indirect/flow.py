"""The flow of an arc and its exact sensitivities, for many segments at once.

The steps of a segment are fixed numbers in its normalised time, so that the flow is a smooth
function of its start and of the times of the arc, and the sensitivities are the derivatives of
exactly this function: Newton's method then converges quadratically down to rounding. Where the
steps are is decided before, from local errors (``grid.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.compiled.pointwise import Pointwise
from trajopt.deadline import Budget
from trajopt.indirect.control_law import ArcLaw
from trajopt.indirect.first_integrals import ConservedIntegrals, project_to_levels
from trajopt.indirect.settings import GRID
from trajopt.integrate.tableaus import DOP853

Array = NDArray[np.float64]

_A = [np.array(row) for row in DOP853.a]
_B, _C = np.array(DOP853.b), np.array(DOP853.c)
_E5, _E3 = (np.array(row) for row in DOP853.errors)
STAGES = DOP853.stages


@dataclass(frozen=True)
class FlowResult:
    """Many trajectories side by side: ends (N, n), sensitivities to the start (N, n, n) and to the
    arc's numbers (N, n, m).
    """

    end: Array
    by_start: Array
    by_numbers: Array


class WithJacobians:
    """A column and its Jacobians by some of its inputs, at many points; only nonzero entries are
    evaluated.
    """

    def __init__(self, name: str, inputs: list[Any], column: Any, by: tuple[int, ...]) -> None:
        jacobians = [casadi.jacobian(column, inputs[i]) for i in by]
        self.patterns = [
            (np.array(j.sparsity().row(), dtype=int), np.array(j.sparsity().get_col(), dtype=int))
            for j in jacobians
        ]
        self.shapes = [j.shape for j in jacobians]
        self.many = Pointwise(
            casadi.Function(name, inputs, [casadi.densify(column), *[j.nz[:] for j in jacobians]])
        )

    def __call__(self, *values: Array) -> tuple[Array, list[Array]]:
        """Inputs (size, N) or (size,) -> the column (N, n), and the Jacobians (N, n, size of the
        input).
        """
        column, *entries = self.many(*values)
        dense = []
        for (rows, columns), shape, nonzero in zip(
            self.patterns, self.shapes, entries, strict=True
        ):
            matrices = np.zeros((column.shape[1], *shape))
            matrices[:, rows, columns] = nonzero.T
            dense.append(matrices)
        return column.T, dense


class RateFunctions:
    """The rate of an arc as a function of (tau, y, numbers, p), and its derivatives by y and the
    numbers.
    """

    def __init__(self, function: Any) -> None:
        self.function, self.rate = function, Pointwise(function)

    @cached_property
    def variational(self) -> WithJacobians:
        inputs = (
            self.function.sx_in() if self.function.is_a("SXFunction") else self.function.mx_in()
        )
        (rate,) = self.function.call(inputs, True, False)
        return WithJacobians("variational", list(inputs), rate, (1, 2))


@lru_cache(maxsize=64)
def _functions_of(text: str) -> RateFunctions:
    """By the text of the function: phases with the same model, further grids and neighbouring
    solves share the derivatives.
    """
    return RateFunctions(casadi.Function.deserialize(text))


@dataclass(frozen=True, eq=False)
class ArcFlow:
    """y' = rate of an arc over its normalised time 0..1; its numbers are (start time, end time,
    weights, static variables).
    """

    law: ArcLaw
    budget: Budget = field(default_factory=Budget)
    kept: ConservedIntegrals | None = (
        None  # first integrals that are brought back to their levels after each step
    )
    _ran: dict[str, tuple[tuple[Array, ...], FlowResult]] = field(default_factory=dict, init=False)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What each component of the flow is."""
        law, ph = self.law, self.law.hamiltonian.phase
        known = [*[f"'{n}'" for n in ph.x_names], *[f"the costate of '{n}'" for n in ph.x_names]]
        return (
            *known,
            *["a control"] * law.v.numel(),
            *["an integral"] * (law.size - len(known) - law.v.numel()),
        )

    @cached_property
    def _functions(self) -> RateFunctions:
        law, ham = self.law, self.law.hamiltonian
        sym, ph = ham.symbols, ham.phase
        tau, y = sym.sym("tau"), sym.sym("y", law.size)
        numbers = sym.sym("numbers", 2 + ham.weight.numel() + ham.s.numel())
        start, duration = numbers[0], numbers[1] - numbers[0]
        old = casadi.vertcat(ph.t, ph.x, ham.costate, law.v, ham.weight, ham.s)
        new = casadi.vertcat(start + tau * duration, y[: law.node_size], numbers[2:])
        # dy/dtau
        rate = casadi.densify(duration * casadi.substitute(law.rate, old, new))
        function = casadi.Function("rate", [tau, y, numbers, ham.p], [rate])
        return (
            _functions_of(function.serialize())
            if function.is_a("SXFunction")
            else RateFunctions(function)
        )

    def rates(self, tau: Array, y: Array, numbers: Array, p: Array) -> Array:
        """(N,), (N, n) -> (N, n)"""
        return np.asarray(self._functions.rate(tau[None, :], y.T, numbers, p)).T

    def variational(
        self, tau: Array, y: Array, numbers: Array, p: Array
    ) -> tuple[Array, Array, Array]:
        """(N,), (N, n) -> rates (N, n), their derivatives by y (N, n, n) and by the numbers (N, n,
        m).
        """
        rate, (by_y, by_numbers) = self._functions.variational(tau[None, :], y.T, numbers, p)
        return rate, by_y, by_numbers

    def spend(self, points: int, numbers: int | None = None) -> None:
        """Count the operations of a step at so many points; with sensitivities if the count of
        numbers is given.
        """
        each = self._functions.rate.operations
        if numbers is not None:
            columns = self.law.node_size + numbers
            each = self._functions.variational.many.operations + 2 * self.law.size**2 * columns
        self.budget.spend(float(STAGES * (points * each + GRID.call)))

    def step(self, tau: Array, h: Array, y: Array, numbers: Array, p: Array) -> tuple[Array, Array]:
        """One step of each trajectory, and its estimated error: (N,), (N,), (N, n) -> (N, n), (N,
        n).
        """
        k = np.empty((STAGES, *y.shape))
        for i in range(STAGES):
            inner = y + h[:, None] * np.tensordot(_A[i], k[:i], 1) if i else y
            k[i] = self.rates(tau + _C[i] * h, inner, numbers, p)
        return y + h[:, None] * np.tensordot(_B, k, 1), _error(k, h)

    def step_with_sensitivity(
        self, tau: Array, h: Array, run: FlowResult, numbers: Array, p: Array
    ) -> tuple[FlowResult, Array, Array]:
        """The same together with the sensitivities, and the estimated errors of those
        to the start.
        """
        y, w = run.end, np.concatenate([run.by_start, run.by_numbers], axis=2)
        starts = run.by_start.shape[2]
        k, kw = np.empty((STAGES, *y.shape)), np.empty((STAGES, *w.shape))
        for i in range(STAGES):
            inner = y + h[:, None] * np.tensordot(_A[i], k[:i], 1) if i else y
            inner_w = w + h[:, None, None] * np.tensordot(_A[i], kw[:i], 1) if i else w
            k[i], by_y, by_numbers = self.variational(tau + _C[i] * h, inner, numbers, p)
            # The variational equation, stage by stage: the derivative of the step itself, not an
            # approximation of the true one.
            kw[i] = np.matmul(by_y, inner_w)
            kw[i][:, :, starts:] += by_numbers
        new_w = w + h[:, None, None] * np.tensordot(_B, kw, 1)
        end = FlowResult(
            y + h[:, None] * np.tensordot(_B, k, 1), new_w[:, :, :starts], new_w[:, :, starts:]
        )
        return end, _error(k, h), _error(kw[..., :starts], h)

    def start(self, nodes: Array, numbers: Array) -> FlowResult:
        """Trajectories that begin at nodes (N, node size), with integrals at zero."""
        count, size, n = nodes.shape[0], nodes.shape[1], self.law.size
        y = np.concatenate([nodes, np.zeros((count, n - size))], axis=1)
        by_start = np.zeros((count, n, size))
        by_start[:, np.arange(size), np.arange(size)] = 1.0
        return FlowResult(y, by_start, np.zeros((count, n, numbers.size)))

    def run(self, nodes: Array, steps: Array, numbers: Array, p: Array) -> FlowResult:
        """Segments from their nodes to their ends: nodes (N, node size), steps (N, number of steps
        + 1) in normalised time.

        The last run is kept: where only multipliers change, as while a first vector of unknowns is
        found, it is still right.
        """
        given = (nodes, steps, numbers, p)
        if "last" in self._ran and all(
            np.array_equal(a, b) for a, b in zip(given, self._ran["last"][0], strict=True)
        ):
            return self._ran["last"][1]
        run = self._run(nodes, steps, numbers, p)
        self._ran["last"] = (tuple(a.copy() for a in given), run)
        return run

    def _run(self, nodes: Array, steps: Array, numbers: Array, p: Array) -> FlowResult:
        run = self.start(nodes, numbers)
        levels = self._levels(steps[:, 0], nodes, numbers, p) if self.kept is not None else None
        for j in range(steps.shape[1] - 1):
            self.spend(run.end.shape[0], numbers.size)
            run, _, _ = self.step_with_sensitivity(
                steps[:, j], steps[:, j + 1] - steps[:, j], run, numbers, p
            )
            if levels is not None:
                run = self._pulled(steps[:, j + 1], run, levels, numbers, p)
        return run

    def run_alone(self, nodes: Array, steps: Array, numbers: Array, p: Array) -> FlowResult:
        """The same without sensitivities, which are zero in the result."""
        self.spend(steps.shape[0] * (steps.shape[1] - 1))
        values, _ = self.trace(nodes, steps, numbers, p)
        count, size, n = nodes.shape[0], nodes.shape[1], self.law.size
        none = np.zeros(())
        shapes = ((count, n, size), (count, n, numbers.size))
        return FlowResult(values[:, -1], *[np.broadcast_to(none, shape) for shape in shapes])

    def trace(self, nodes: Array, steps: Array, numbers: Array, p: Array) -> tuple[Array, Array]:
        """The values at the start of every step (N, number of steps + 1, n), and the estimated
        errors of the steps.
        """
        y = self.start(nodes, numbers).end
        levels = self._levels(steps[:, 0], nodes, numbers, p).end if self.kept is not None else None
        values, errors = [y], []
        for j in range(steps.shape[1] - 1):
            y, error = self.step(steps[:, j], steps[:, j + 1] - steps[:, j], y, numbers, p)
            if levels is not None:
                n = 2 * self.law.hamiltonian.phase.x.numel()
                back, _ = self._pull(
                    steps[:, j + 1][None, :], np.hstack([y[:, :n], levels]).T, numbers, p
                )
                y = np.hstack([back, y[:, n:]])
            values.append(y)
            errors.append(error)
        return np.stack(values, axis=1), np.stack(errors, axis=1)

    def _levels(self, tau: Array, nodes: Array, numbers: Array, p: Array) -> FlowResult:
        """The values of the kept integrals where segments begin, and how they depend on the nodes
        and on the numbers.
        """
        count, size = nodes.shape
        n, k = 2 * self.law.hamiltonian.phase.x.numel(), self._kept.count
        values, (by_node, by_numbers) = self._level(tau[None, :], nodes[:, :n].T, numbers, p)
        by_start = np.zeros((count, k, size))
        by_start[:, :, :n] = by_node
        return FlowResult(values, by_start, by_numbers)

    def _pulled(
        self, tau: Array, run: FlowResult, levels: FlowResult, numbers: Array, p: Array
    ) -> FlowResult:
        """After a step: states and costates back on the levels, with the sensitivities of exactly
        this.
        """
        n = 2 * self.law.hamiltonian.phase.x.numel()
        inputs = np.hstack([run.end[:, :n], levels.end])
        back, (slope, by_numbers) = self._pull(tau[None, :], inputs.T, numbers, p)

        def moved(own: Array, level: Array) -> Array:
            return np.asarray(np.matmul(slope, np.concatenate([own[:, :n], level], axis=1)))

        end = np.hstack([back, run.end[:, n:]])
        start = np.concatenate([moved(run.by_start, levels.by_start), run.by_start[:, n:]], axis=1)
        times = np.concatenate(
            [moved(run.by_numbers, levels.by_numbers) + by_numbers, run.by_numbers[:, n:]], axis=1
        )
        return FlowResult(end, start, times)

    @property
    def _kept(self) -> ConservedIntegrals:
        assert self.kept is not None
        return self.kept

    @cached_property
    def _level(self) -> WithJacobians:
        tau, z, numbers, (y,) = self._inserted([self._kept.y])
        return WithJacobians("level", [tau, z, numbers, self.law.hamiltonian.p], y, (1, 2))

    @cached_property
    def _pull(self) -> WithJacobians:
        levels = self.law.hamiltonian.symbols.sym("levels", self._kept.count)
        tau, z, numbers, (back,) = self._inserted(
            [project_to_levels(self._kept, self.law.hamiltonian, levels)]
        )
        both = self.law.hamiltonian.symbols.sym("both", z.numel() + levels.numel())
        back = casadi.substitute(back, casadi.vertcat(z, levels), both)
        return WithJacobians("pull", [tau, both, numbers, self.law.hamiltonian.p], back, (1, 2))

    def _inserted(self, expressions: list[Any]) -> tuple[Any, Any, Any, list[Any]]:
        """tau, (x, costate) and numbers as symbols, and expressions of the phase in them."""
        ham = self.law.hamiltonian
        sym, ph = ham.symbols, ham.phase
        tau, z = sym.sym("tau"), sym.sym("z", 2 * ph.x.numel())
        numbers = sym.sym("numbers", 2 + ham.weight.numel() + ham.s.numel())
        old = casadi.vertcat(ph.t, ph.x, ham.costate, ham.weight, ham.s)
        new = casadi.vertcat(numbers[0] + tau * (numbers[1] - numbers[0]), z, numbers[2:])
        return (
            tau,
            z,
            numbers,
            [casadi.densify(casadi.substitute(e, old, new)) for e in expressions],
        )


def _error(k: Array, h: Array) -> Array:
    """Hairer's estimate of DOP853 from its embedded formulas of order five and three (II.10),
    component by component.
    """
    fifth, third = np.tensordot(_E5, k, 1), np.tensordot(_E3, k, 1)
    size = np.hypot(fifth, 0.1 * third)
    fraction = np.divide(np.abs(fifth), size, out=np.zeros_like(size), where=size > 0)
    return np.abs(fifth) * fraction * np.abs(h).reshape(-1, *[1] * (k.ndim - 2))
