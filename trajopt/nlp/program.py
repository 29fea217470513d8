"""Program: a sparse nonlinear program assembled from small kernels and constant sparse matrices.

A kernel r(w, d, p) is a small CasADi function. A block evaluates it at n points whose inputs are
linear in the unknowns, W = G y; constraints and objective are linear in the outputs of all blocks:

    g(y) = sum_b A_b r_b(G_b y) + B y,        f(y) = sum_b a_b . r_b(G_b y).

Hence the derivatives of the program are those of the kernels, assembled by sparse matrices that
depend on the mesh only: only kernels are differentiated, once per problem and not once per mesh.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.compiled.pointwise import Pointwise
from trajopt.nlp.sparse_rows import SparseRows, compressed

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Kernel:
    """A function of w (unknowns), d (data of the point) and p (parameters), with first and second
    derivatives.

    Its outputs are constraint rows, then ``objective_rows`` rows that enter the objective only.
    """

    inputs: int
    data: int
    parameters: int
    outputs: int
    objective_rows: int
    constraints: Pointwise  # (w, d, p) -> constraint rows
    objective: Pointwise  # (w, d, p) -> objective rows
    constraint_jacobian: Pointwise  # nonzeros
    objective_jacobian: Pointwise
    hessian: Pointwise  # (w, d, p, multipliers of all rows) -> nonzeros of the upper triangle
    # (w, d, p, multipliers, changes of d and p) -> changes of all rows, then of their weighted
    # sum's gradient by w
    changes: Pointwise
    slopes: Pointwise  # (w, d, p, multipliers) -> gradient of their weighted sum by d and p
    constraint_pattern: tuple[NDArray[np.int_], NDArray[np.int_]]  # rows, columns of the nonzeros
    objective_pattern: tuple[NDArray[np.int_], NDArray[np.int_]]
    hessian_pattern: tuple[NDArray[np.int_], NDArray[np.int_]]

    @property
    def constraint_rows(self) -> int:
        return self.outputs - self.objective_rows


def make_kernel(name: str, w: Any, d: Any, p: Any, constraints: Any, objective: Any) -> Kernel:
    """Differentiate the function and return its kernel."""
    rows = casadi.vertcat(constraints, objective)
    multipliers = type(w).sym("multipliers", rows.numel())
    jacobian_c, jacobian_o = (
        casadi.jacobian(e, w) if e.numel() else type(w)(0, w.numel())
        for e in (constraints, objective)
    )
    gradient = casadi.jtimes(rows, w, multipliers, True) if rows.numel() else type(w)(w.numel(), 1)
    hessian = casadi.triu(casadi.jacobian(_dense(gradient), w, {"symmetric": True}))

    def function(label: str, output: Any, *more: Any) -> Pointwise:
        return Pointwise(lambda: casadi.Function(f"{name}_{label}", [w, d, p, *more], [output]))

    def changes() -> casadi.Function:
        moved = [type(w).sym("change", a.numel()) for a in (d, p)]
        both = casadi.vertcat(rows, gradient)
        along = [
            casadi.jtimes(both, a, by) for a, by in zip((d, p), moved, strict=True) if a.numel()
        ]
        change = sum(along, type(w)(both.numel(), 1))
        return casadi.Function(f"{name}_dp", [w, d, p, multipliers, *moved], [_dense(change)])

    def slopes() -> casadi.Function:
        by = [
            casadi.jtimes(rows, a, multipliers, True)
            if a.numel() and rows.numel()
            else type(w)(a.numel(), 1)
            for a in (d, p)
        ]
        column = _dense(casadi.vertcat(*by))
        return casadi.Function(f"{name}_lp", [w, d, p, multipliers], [column])

    return Kernel(
        inputs=w.numel(),
        data=d.numel(),
        parameters=p.numel(),
        outputs=rows.numel(),
        objective_rows=objective.numel(),
        constraints=function("c", _dense(constraints)),
        objective=function("o", _dense(objective)),
        constraint_jacobian=function("jc", _nonzeros(jacobian_c)),
        objective_jacobian=function("jo", _nonzeros(jacobian_o)),
        hessian=function("h", _nonzeros(hessian), multipliers),
        changes=Pointwise(changes),
        slopes=Pointwise(slopes),
        constraint_pattern=_pattern(jacobian_c),
        objective_pattern=_pattern(jacobian_o),
        hessian_pattern=_pattern(hessian),
    )


@dataclass(frozen=True)
class Block:
    """A kernel evaluated at n points."""

    kernel: Kernel
    count: int
    gather: SparseRows  # rows (count * inputs) over the unknowns: W = G y, point by point
    data: Array  # (data, count)
    scatter: SparseRows  # columns (count * constraint rows) over the constraints
    weights: Array  # (count * objective rows,)


@dataclass(frozen=True)
class Program:
    """min f(y) subject to lower <= y <= upper and g_lower <= g(y) <= g_upper.

    ``start`` is the initial point.
    """

    blocks: tuple[Block, ...]
    linear: SparseRows  # B, its columns over the constraints
    lower: Array
    upper: Array
    g_lower: Array
    g_upper: Array
    start: Array
    parameters: Array
    slack: float = 0.0  # relative relaxation of the bounds

    @property
    def unknowns(self) -> int:
        return self.lower.size

    @property
    def constraints(self) -> int:
        return self.g_lower.size


@dataclass(frozen=True)
class Functions:
    """The program as CasADi functions for CasADi's solvers."""

    nlp: dict[str, Any]
    derivatives: dict[str, casadi.Function]
    kept: tuple[Any, ...] = ()  # objects that must outlive the functions


def arguments(block: Block, y: Array, parameters: Array) -> tuple[Array, Array, Array]:
    """Return the arguments of the block's kernel at ``y``: inputs and data, one column per point,
    and the parameters.
    """
    kernel = block.kernel
    inputs = block.gather.along(y).reshape(block.count, kernel.inputs).T
    return inputs, block.data.reshape(kernel.data, block.count), parameters


def cost_at(program: Program, y: Array) -> float:
    return costs_at(program, (y,))[0]


def costs_at(program: Program, points: Sequence[Array]) -> list[float]:
    """Return the objective at several points, by one call of each kernel."""
    costs = np.zeros(len(points))
    for block in program.blocks:
        if block.weights.size:
            inputs = np.hstack([arguments(block, y, program.parameters)[0] for y in points])
            data = np.tile(block.data.reshape(block.kernel.data, block.count), len(points))
            values = block.kernel.objective(inputs, data, program.parameters)
            costs += values.T.reshape(len(points), -1) @ block.weights
    return [float(cost) for cost in costs]


def constraints_at(program: Program, y: Array) -> Array:
    g = program.linear.across(y)
    for b in program.blocks:
        if b.kernel.constraint_rows:
            g = g + b.scatter.across(
                b.kernel.constraints(*arguments(b, y, program.parameters)).T.ravel()
            )
    return np.asarray(g)


def scaled(program: Program, unknowns: Array, constraints: Array) -> Program:
    """Return the program in y / unknowns, with constraint rows multiplied by ``constraints``."""
    blocks = [
        replace(
            b,
            gather=b.gather.with_data(b.gather.data * unknowns[b.gather.indices]),
            scatter=b.scatter.with_data(b.scatter.data * constraints[b.scatter.indices]),
        )
        for b in program.blocks
    ]
    B = program.linear
    linear = B.with_data(B.data * constraints[B.indices] * unknowns[B.line_of])
    return Program(
        tuple(blocks),
        linear,
        program.lower / unknowns,
        program.upper / unknowns,
        program.g_lower * constraints,
        program.g_upper * constraints,
        program.start / unknowns,
        program.parameters,
        program.slack,
    )


def with_cost_times(program: Program, factor: float) -> Program:
    """Return the program with its objective multiplied by a factor."""
    return replace(
        program, blocks=tuple(replace(b, weights=factor * b.weights) for b in program.blocks)
    )


def without_cost(program: Program) -> Program:
    """Return the program with a zero objective."""
    return with_cost_times(program, 0.0)


def functions_of(program: Program) -> Functions:
    """Return objective, constraints and their exact sparse derivatives as CasADi functions."""
    y, p = casadi.MX.sym("y", program.unknowns), casadi.MX.sym("p", program.parameters.size)
    lam_f, lam_g = casadi.MX.sym("lam_f"), casadi.MX.sym("lam_g", program.constraints)
    objective, gradient = [], []
    constraints = [_across(program.linear, y)] if program.linear.data.size else []
    jacobian = _Placement(program.linear)
    hessian = _Placement(compressed([], [], [], (program.unknowns, program.unknowns)))
    for block in program.blocks:
        kernel = block.kernel
        places = [
            _shaped(_across(block.gather.transposed(), y), kernel.inputs, block.count),
            casadi.DM(block.data),
            p,
        ]
        scatter = block.scatter.as_columns()
        if kernel.constraint_rows:
            constraints.append(
                casadi.mtimes(scatter, _column(kernel.constraints, block.count, places))
            )
        if kernel.constraint_pattern[0].size:
            jacobian.add(
                *_jacobian_entries(block), _column(kernel.constraint_jacobian, block.count, places)
            )
        if kernel.objective_rows:
            objective.append(
                casadi.dot(casadi.DM(block.weights), _column(kernel.objective, block.count, places))
            )
        if kernel.objective_pattern[0].size:
            slopes = _column(kernel.objective_jacobian, block.count, places)
            gradient.append(_across(_gradient_columns(block), slopes))
        if kernel.hessian_pattern[0].size:
            multipliers = _shaped(
                casadi.mtimes(lam_g.T, scatter), kernel.constraint_rows, block.count
            )
            if kernel.objective_rows:
                weights = casadi.DM(block.weights.reshape(block.count, kernel.objective_rows).T)
                multipliers = (
                    casadi.vertcat(multipliers, weights * lam_f)
                    if kernel.constraint_rows
                    else weights * lam_f
                )
            hessian.add(
                *_hessian_entries(block),
                _column(kernel.hessian, block.count, [*places, multipliers]),
            )
    f, g = _sum(objective, 1), _sum(constraints, program.constraints)
    # CasADi's signatures include the value as first output, which its solvers do not read: leave it
    # empty.
    outputs = (
        [casadi.MX(1, 1), _sum(gradient, program.unknowns)],
        [casadi.MX(program.constraints, 1), jacobian.matrix()],
    )
    return Functions(
        nlp={"x": y, "p": p, "f": f, "g": g},
        derivatives={
            "grad_f": casadi.Function(
                "nlp_grad_f", [y, p], outputs[0], ["x", "p"], ["f", "grad_f_x"]
            ),
            "jac_g": casadi.Function("nlp_jac_g", [y, p], outputs[1], ["x", "p"], ["g", "jac_g_x"]),
            "hess_lag": casadi.Function(
                "nlp_hess_l",
                [y, p, lam_f, lam_g],
                [hessian.matrix()],
                ["x", "p", "lam_f", "lam_g"],
                ["triu_hess_gamma_x_x"],
            ),
        },
    )


class _Placement:
    """Assembles (row, column, source, coefficient) entries into one sparse matrix; duplicate
    entries are summed.
    """

    def __init__(self, constant: SparseRows) -> None:
        """``constant``: columns of the part that does not depend on the sources."""
        self.shape = (constant.width, constant.count)
        self.constant = constant
        # in column-major order, as in CasADi
        self.places = [constant.line_of * constant.width + constant.indices]
        self.sources: list[Any] = []
        self.coefficients: list[Any] = []
        self.values: list[Any] = []
        self.offset = 0

    def add(self, rows: Any, columns: Any, sources: Any, coefficients: Any, values: Any) -> None:
        self.places.append(columns * self.shape[0] + rows)
        self.sources.append(sources + self.offset)
        self.coefficients.append(coefficients)
        self.values.append(values)
        self.offset += values.numel()

    def matrix(self) -> Any:
        unique, index = np.unique(np.concatenate(self.places), return_inverse=True)
        starts = np.searchsorted(
            unique, np.arange(self.shape[1] + 1, dtype=np.int64) * self.shape[0]
        )
        pattern = casadi.Sparsity(
            *self.shape, starts.tolist(), (unique % max(self.shape[0], 1)).tolist()
        )
        constants, moving = index[: self.places[0].size], index[self.places[0].size :]
        nonzeros = np.zeros(unique.size)
        nonzeros[constants] = self.constant.data
        if not self.values:
            return casadi.MX(casadi.DM(pattern, nonzeros))
        sources, coefficients = np.concatenate(self.sources), np.concatenate(self.coefficients)
        placing = compressed(sources, moving, coefficients, (self.offset, unique.size))
        placed = _across(placing, casadi.vertcat(*self.values))
        return casadi.MX(pattern, placed + casadi.DM(nonzeros) if constants.size else placed)


def _jacobian_entries(block: Block) -> tuple[Any, Any, Any, Any]:
    """Return the entries of the Jacobian from the nonzeros at each point: A[:, output] x G[input,
    :].
    """
    rows, columns = block.kernel.constraint_pattern
    places = np.repeat(np.arange(block.count), rows.size)
    outputs = np.tile(rows, block.count) + places * block.kernel.constraint_rows
    inputs = np.tile(columns, block.count) + places * block.kernel.inputs
    to, scatter, source = block.scatter.entries_of(outputs)
    by, gather, which = block.gather.entries_of(inputs[source])
    return to[which], by, source[which], scatter[which] * gather


def _hessian_entries(block: Block) -> tuple[Any, Any, Any, Any]:
    """Return the entries of the Hessian from the nonzeros at each point: G[input, :] x G[other
    input, :], upper triangle.
    """
    rows, columns = block.kernel.hessian_pattern
    places = np.repeat(np.arange(block.count), rows.size) * block.kernel.inputs
    first, second = np.tile(rows, block.count) + places, np.tile(columns, block.count) + places
    i, a, source = block.gather.entries_of(first)
    j, b, which = block.gather.entries_of(second[source])
    i, a, source = i[which], a[which], source[which]
    coefficient = a * b
    # An off-diagonal entry of a kernel represents both triangles; if both inputs are the same
    # unknown it counts twice.
    off_diagonal = (first != second)[source]
    both = off_diagonal & (i == j)
    coefficient = np.where(both, 2 * coefficient, coefficient)
    # A diagonal entry of a kernel gives a symmetric contribution G x G: keep one triangle of it.
    keep = off_diagonal | (i <= j)
    low, high = np.minimum(i, j), np.maximum(i, j)
    return low[keep], high[keep], source[keep], coefficient[keep]


def _gradient_columns(block: Block) -> SparseRows:
    """Return the matrix from the nonzeros of the objective's derivatives to the gradient."""
    rows, columns = block.kernel.objective_pattern
    places = np.repeat(np.arange(block.count), rows.size)
    weights = block.weights[np.tile(rows, block.count) + places * block.kernel.objective_rows]
    inputs = np.tile(columns, block.count) + places * block.kernel.inputs
    unknown, coefficient, source = block.gather.entries_of(inputs)
    return compressed(
        source, unknown, coefficient * weights[source], (inputs.size, block.gather.width)
    )


def _column(pointwise: Pointwise, count: int, places: list[Any]) -> Any:
    """Return the outputs at many points as one column; the parameters (third input) are the same at
    all points.
    """
    function = pointwise.function
    if count == 1:
        return function(*places)
    outputs = function.map("m_" + function.name(), "serial", count, [2], [])(*places)
    return _shaped(outputs, outputs.numel(), 1)


def _shaped(values: Any, rows: int, columns: int) -> Any:
    """Reshape; five times as fast as ``casadi.reshape``."""
    return casadi.MX(casadi.Sparsity.dense(rows, columns), _dense(values))


def _sum(terms: list[Any], size: int) -> Any:
    """Return a dense sum, as CasADi's solvers require; products omit zero rows."""
    return _dense(sum(terms[1:], terms[0])) if terms else casadi.MX.zeros(size)


def _dense(values: Any) -> Any:
    return values if values.is_dense() else casadi.densify(values)


def _across(columns: SparseRows, vector: Any) -> Any:
    """Multiply the matrix with these columns by a vector."""
    return (
        casadi.mtimes(columns.as_columns(), vector)
        if columns.data.size
        else casadi.MX.zeros(columns.width)
    )


def _nonzeros(matrix: Any) -> Any:
    return (
        type(matrix)(casadi.Sparsity.dense(matrix.nnz(), 1), matrix.nz[:])
        if matrix.nnz()
        else type(matrix)(0, 1)
    )


def _pattern(matrix: Any) -> tuple[NDArray[np.int_], NDArray[np.int_]]:
    rows, columns = matrix.sparsity().get_triplet()
    return np.array(rows, dtype=int), np.array(columns, dtype=int)
