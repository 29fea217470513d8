"""PhaseView: one phase of the solution on a mesh, with what follows from it at the collocation
points and between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from trajopt.direct.collocation import Collocation
from trajopt.direct.costates import costates_of, interpolated_costates
from trajopt.direct.interpolation import (
    interpolated_controls,
    interpolated_states,
    point_curve,
    sampled_between,
)
from trajopt.direct.kernels import PhaseKernels
from trajopt.direct.packing import PhaseLayout, PhaseValues
from trajopt.direct.scaling import row_sizes
from trajopt.nlp.program import Block, Kernel, arguments
from trajopt.trajectory.trajectory import Trajectory

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

ROUND_OFF = float(np.sqrt(np.finfo(float).eps))


@dataclass(frozen=True, eq=False)
class PhaseView:
    """One phase of a mesh solution, in physical units."""

    index: int
    method: Collocation
    layout: PhaseLayout
    kernels: PhaseKernels
    block: Block
    y: Array  # unknowns of the whole program
    values: PhaseValues
    statics: Array
    parameters: Array
    sizes: Array  # of the unknowns of the whole program
    bound_multipliers: Array  # of the whole program
    constraint_multipliers: Array
    end_gradient: Array  # (nx,): derivative of the endpoint Lagrangian by the final state
    sample_jumps: (
        Array  # (intervals, nx): the same by states at given times, at the ends of intervals
    )

    # Sizes, by which errors and distances are relative. A quantity that is zero to round-off has
    # the size of its limits, or one.

    @cached_property
    def x_size(self) -> Array:
        """(nx,)"""
        return _size(self.values.X, self.layout.form.state_sizes.limits)

    @cached_property
    def u_size(self) -> Array:
        """(nu,)"""
        return _size(self.values.U, self.layout.form.control_sizes.limits)

    @cached_property
    def u_range(self) -> Array:
        """(nu,): distance of the bounds; one where there are none."""
        span = self.layout.form.u_bound.upper - self.layout.form.u_bound.lower
        return np.where(np.isfinite(span), span, 1.0)

    def inside(self, u: Array) -> Bools:
        """(places, nu): where controls are between their bounds, not at them."""
        bound, margin = self.layout.form.u_bound, self.method.arcs.at_bound * self.u_range
        return np.asarray((u > bound.lower + margin) & (u < bound.upper - margin))

    # At the collocation points.

    @property
    def kernel(self) -> Kernel:
        return self.block.kernel

    @cached_property
    def lengths(self) -> Array:
        """(intervals,): duration of the span of each interval."""
        return np.asarray(np.diff(self.values.spans)[self.layout.mesh.spans[1]])

    @cached_property
    def times(self) -> Array:
        """(points,) of the collocation points."""
        return np.interp(self.layout.grid.point_times, self.layout.mesh.spans[0], self.values.spans)

    @cached_property
    def arguments(self) -> tuple[Array, Array, Array]:
        return arguments(self.block, self.y, self.parameters)

    @cached_property
    def outputs(self) -> Array:
        """(points, constraint rows of the kernel)"""
        return np.asarray(self.kernel.constraints(*self.arguments)).T

    @property
    def path(self) -> Array:
        """(points, path constraints)"""
        return self.outputs[:, self.layout.outputs[2]]

    @cached_property
    def running_cost(self) -> Array:
        """(points,): the integrand of the cost; empty where there is none."""
        return (
            np.asarray(self.kernel.objective(*self.arguments)).ravel()
            if self.kernel.objective_rows
            else np.zeros(0)
        )

    @cached_property
    def derivatives(self) -> tuple[Array, Array | None]:
        """(points, rows, inputs) of constraints and running cost."""
        return point_derivatives(self.block, self.arguments)

    @cached_property
    def point_multipliers(self) -> Array:
        """(points, constraint rows of the kernel)"""
        return self.block.scatter.along(self.constraint_multipliers).reshape(
            self.layout.grid.points, -1
        )

    @cached_property
    def term_sizes(self) -> Array:
        """(constraint rows of the kernel,): the largest term of each row, to first order; an
        equation's own value is zero.
        """
        return row_sizes(self.block, self.y, self.parameters, np.abs(self.y))

    @property
    def state_multipliers(self) -> Array:
        """(state points, nx): of the bounds of states."""
        return self.layout.states(self.bound_multipliers)

    costates = cached_property(costates_of)

    @cached_property
    def free_intervals(self) -> Bools:
        """(intervals,): where no bound of a state and no path constraint has a multiplier; there
        costates are smooth.

        Multipliers are compared with all costates and with the cost: those of a state without
        influence on it are round-off.
        """
        ph, costates = self.layout, self.costates
        cost = float(ph.grid.weights @ np.abs(self.running_cost)) if self.running_cost.size else 0.0
        least = self.method.round_off * max(
            cost, float((np.abs(costates.points) * self.x_size).max(initial=0.0))
        )
        active = np.asarray((np.abs(self.state_multipliers) * self.x_size > least).any(axis=1))
        active[[0, -1]] = False  # boundary values
        before = np.concatenate([[0], active.cumsum()])  # number of active nodes before each
        busy = before[ph.grid.first[1:] + 1] > before[ph.grid.first[:-1]]
        if ph.nc:
            reach = np.abs(self.path).max(axis=0) * (self.values.tf - self.values.t0)
            bound = np.abs(costates.path) * reach > least
            busy |= np.logical_or.reduceat(np.asarray(bound.any(axis=1)), ph.grid.first_point)
        return np.asarray(~busy)

    # Polynomials.

    state_curve = cached_property(interpolated_states)
    control_curve = cached_property(interpolated_controls)
    costate_curve = cached_property(interpolated_costates)

    @cached_property
    def trajectory(self) -> Trajectory:
        """States, algebraic variables and controls."""
        return Trajectory(self.state_curve, point_curve(self, self.values.Z), self.control_curve)

    @cached_property
    def between(self) -> tuple[Array, Array, Array]:
        """States, and inputs and data of the kernel, at the Gauss points between the collocation
        points of all intervals.
        """
        return sampled_between(
            self, [(here, rule.between) for rule, here in self.layout.grid.groups]
        )

    # Derivatives.

    @cached_property
    def control_slopes(self) -> Array:
        """(points, nu): the derivative of the Lagrangian of the program by the controls."""
        u = self.layout.control_inputs
        jacobian, gradient = self.derivatives
        slopes = np.einsum("kr,kru->ku", self.point_multipliers, jacobian[:, :, u])
        return np.asarray(
            slopes if gradient is None else slopes + self.block.weights[:, None] * gradient[:, 0, u]
        )

    @cached_property
    def control_curvature(self) -> Array:
        """(points, nu): its second derivatives by each control alone."""
        u = self.layout.control_inputs
        first, second = self.kernel.hessian_pattern
        diagonal = np.flatnonzero((first == second) & (first >= u.start) & (first < u.stop))
        curvature = np.zeros((self.layout.grid.points, self.layout.nu))
        if diagonal.size:
            weights = (
                self.block.weights[:, None]
                if self.kernel.objective_rows
                else np.zeros((self.layout.grid.points, 0))
            )
            values = np.asarray(
                self.kernel.hessian(*self.arguments, np.hstack([self.point_multipliers, weights]).T)
            )
            curvature[:, first[diagonal] - u.start] = values[diagonal].T
        return curvature

    def order(self, column: int) -> int:
        """The first time derivative of a state or path constraint that the controls enter; 0 if
        they enter none.
        """
        ph, kernel = self.layout, self.kernel
        rows, columns = kernel.constraint_pattern
        depends = np.zeros((kernel.constraint_rows, kernel.inputs), dtype=bool)
        depends[rows, columns] = True
        rates = depends[: ph.nx, : ph.nx]
        controls = np.asarray(depends[: ph.nx, ph.control_inputs].any(axis=1))
        states: Bools = (
            np.eye(ph.nx, dtype=bool)[column]
            if column < ph.nx
            else depends[ph.ng + column, : ph.nx]
        )
        for order in range(1, ph.nx + 1):
            if controls[states].any():
                return order
            states = np.asarray(states | rates[states].any(axis=0), dtype=bool)
        return 0


def _size(values: Array, limits: Array) -> Array:
    largest = np.abs(values).max(axis=0, initial=0.0)
    return np.where(largest > ROUND_OFF * limits, largest, limits)


def point_derivatives(block: Block, at: tuple[Array, Array, Array]) -> tuple[Array, Array | None]:
    """(places, rows, inputs): derivatives of a kernel's constraint and objective rows."""
    kernel = block.kernel
    jacobian = np.zeros((block.count, kernel.constraint_rows, kernel.inputs))
    rows, columns = kernel.constraint_pattern
    if rows.size:
        jacobian[:, rows, columns] = np.asarray(kernel.constraint_jacobian(*at)).T
    if not kernel.objective_rows:
        return jacobian, None
    gradient = np.zeros((block.count, kernel.objective_rows, kernel.inputs))
    rows, columns = kernel.objective_pattern
    if rows.size:
        gradient[:, rows, columns] = np.asarray(kernel.objective_jacobian(*at)).T
    return jacobian, gradient
