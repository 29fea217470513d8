"""Lengths of vectors of controls, such as a thrust vector, as controls of their own.

The length ``norm_2(T)`` has no derivative at ``T = 0``, where the least fuel has its coasts. Length
and direction take the place of the vector,

    T = length * direction,    length >= 0,    |direction| <= 1,

so that every row is differentiable, and the length enters as linearly as it did in the statement:
it switches between its limits, and its arcs are found. A cone ``length >= norm_2(T)`` has the same
points, but none of its gradients at its tip are independent. Where a smaller length costs less, the
direction has length one (Acikmese and Blackmore, Lossless convexification, Automatica 47, 2011);
that is checked, and the problem is solved as it stands where it does not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.direct.instructions import (
    appended,
    expanded_rows,
    has_operation,
    input_columns,
    rebuilt,
)
from trajopt.direct.kernels import PhaseKernels
from trajopt.guess.plain import FINE, user_line
from trajopt.statement.bounds import Bound
from trajopt.statement.normal_form import NamedVector, NormalForm, PhaseForm
from trajopt.trajectory.curve import Curve
from trajopt.trajectory.trajectory import Trajectory

Array = NDArray[np.float64]

ROUND_OFF = float(np.sqrt(np.finfo(float).eps))  # relative: what differs by less is the same


@dataclass(frozen=True)
class Vector:
    """A vector of controls with the length ``sqrt(sum of weights * u[rows]^2)``."""

    rows: tuple[int, ...]  # of the controls
    weights: tuple[float, ...]

    @property
    def unit(self) -> Array:
        """The change of each control that changes the length by one."""
        return np.asarray(1 / np.sqrt(np.array(self.weights)))


@dataclass(frozen=True, eq=False)
class ControlLengths:
    """The vectors of one phase; their lengths are controls after its own."""

    vectors: tuple[Vector, ...]
    phase: PhaseForm  # with lengths, and directions in the place of the vectors
    own: PhaseForm

    def lifted(self, form: NormalForm, start: Trajectory, s: Array, p: Array) -> Trajectory:
        """A guess with the lengths and directions of its controls."""
        u, values = start.u, []
        for own in u.values:
            changed, lengths = own.copy(), []
            for vector in self.vectors:
                rows = list(vector.rows)
                scaled = own[:, rows] / vector.unit
                length = np.linalg.norm(scaled, axis=1, keepdims=True)
                changed[:, rows] = scaled / np.where(length > 0, length, 1.0)
                lengths.append(length)
            values.append(np.concatenate([changed, *lengths], axis=1))
        return replace(start, u=Curve(u.breaks, u.nodes, tuple(values)), arcs=())

    def own_controls(self, u: Curve) -> Curve:
        """The controls of the statement."""
        values, nu = [], self.own.u.numel()
        for all_values in u.values:
            own = all_values[:, :nu].copy()
            for k, vector in enumerate(self.vectors):
                length = all_values[:, nu + k, None]
                own[:, list(vector.rows)] *= length * vector.unit
            values.append(own)
        bound = self.own.u_bound
        return Curve(u.breaks, u.nodes, tuple(values), bound.lower, bound.upper)

    def own_roles(self, roles: Mapping[str, str]) -> dict[str, str]:
        """The roles of an arc for the controls of the statement: a vector is inside its bounds."""
        found, names = dict(roles), self.own.u_names
        lengths = self.phase.u_names[len(names) :]
        for vector, length in zip(self.vectors, lengths, strict=True):
            role = "singular" if roles.get(length) == "singular" else "interior"
            found.update({names[i]: role for i in vector.rows})
        return found

    def with_free_parts(self, kernels: PhaseKernels) -> PhaseKernels:
        """The kernels: lengths and directions are controls like others."""
        return kernels


def lengths_of(form: NormalForm, phase: PhaseForm, parameters: Array) -> ControlLengths | None:
    """The vectors of a phase whose lengths its rates or its cost contain; None without any, or
    where one of them enters with other powers, or values of controls at the ends or an invariant
    count.
    """
    ends = casadi.vertcat(phase.ends.u0, phase.ends.uf)
    needed = casadi.depends_on(casadi.vertcat(form.phi, form.b), ends)
    if needed or any(casadi.depends_on(i.expression, phase.u) for i in phase.invariants):
        return None
    function = expanded_rows(form, phase)
    if function is None or not has_operation(function, (casadi.OP_SQRT,)):
        return None
    found = _Lengths(input_columns(form, phase))
    rows = rebuilt(function, found.inputs, found.replacement)
    if not found.known:
        return None
    if not all(_decided_by_lengths(phase, found, rows)):
        return None
    return _phase_with_lengths(form, phase, found, rows)


def _decided_by_lengths(phase: PhaseForm, found: _Lengths, rows: Any) -> list[bool]:
    """Whether rates or integrands contain each length, and are affine in it for a constant
    direction. A length that enters with other powers too is often between its limits, and becomes
    zero together with its direction: a stationary point of any problem, at which a program ends.
    """
    first, nc = phase.f.numel() + phase.g.numel(), phase.c.numel()
    costly = casadi.vertcat(rows[:first], rows[first + nc :])
    lengths, u = casadi.vertcat(*[length for _, length in found.known]), found.inputs[3]
    own = casadi.vertsplit(u)
    for vector, length in found.known:
        for i in vector.rows:
            own[i] = length * own[i]
    directed = casadi.substitute(costly, u, casadi.vertcat(*own))
    used = casadi.which_depends(costly, lengths, 1, False)
    curved = casadi.which_depends(directed, lengths, 2, False)
    return [here and not bent for here, bent in zip(used, curved, strict=True)]


@dataclass
class _Lengths:
    """Vectors with symbols for their lengths."""

    inputs: list[Any]  # SX columns t, x, z, u, s, p
    known: list[tuple[Vector, Any]] = field(default_factory=list)

    def replacement(self, k: int, op: int, of: list[Any]) -> Any | None:
        """The symbol of a length for a root of a sum of squares of controls."""
        vector = _vector(of[0], self.inputs) if op == casadi.OP_SQRT else None
        if vector is None:
            return None
        for other, length in self.known:
            if other == vector:
                return length
            if set(other.rows) & set(vector.rows):
                return None
        self.known.append((vector, casadi.SX.sym(f"length{len(self.known) + 1}")))
        return self.known[-1][1]


def _vector(e: Any, inputs: list[Any]) -> Vector | None:
    """The vector whose squared length an expression is; None if it is not one."""
    t, x, z, u, s, p = inputs
    if not casadi.depends_on(e, u) or casadi.depends_on(e, casadi.vertcat(t, x, z, s, p)):
        return None
    if not casadi.is_quadratic(e, u):
        return None
    parts = casadi.quadratic_coeff(e, u)
    A, b, c = (np.asarray(casadi.DM(casadi.densify(part)).full()) for part in parts)
    diagonal = np.diag(A)
    rows = np.flatnonzero(diagonal)
    alone = not np.any(A - np.diag(diagonal)) and not np.any(b) and not np.any(c)
    if not alone or rows.size < 2 or np.any(diagonal < 0):
        return None
    return Vector(tuple(rows.tolist()), tuple((diagonal[rows] / 2).tolist()))


def _phase_with_lengths(
    form: NormalForm, phase: PhaseForm, found: _Lengths, rows: Any
) -> ControlLengths:
    """The phase with lengths and directions as controls."""
    vectors, lengths = [list(part) for part in zip(*found.known, strict=True)]
    t, x, z, u, s, p = found.inputs
    first, nc, count = phase.f.numel() + phase.g.numel(), phase.c.numel(), len(vectors)
    stated = rows[first : first + nc]
    bounds = [_length_bound(phase, *known, stated) for known in found.known]
    kept = [row for row in range(nc) if not any(row in taken for _, taken in bounds)]
    own, extra = [u[i] for i in range(u.numel())], list[tuple[str, Any, float, float]]()
    for vector, length, (bound, _) in zip(vectors, lengths, bounds, strict=True):
        squares = sum(u[i] ** 2 for i in vector.rows)
        extra.append((f"direction of {_name(phase, vector)}", squares, -np.inf, 1.0))
        for i, unit in zip(vector.rows, vector.unit, strict=True):
            own[i] = length * unit * u[i]
            extra += _component_limit(phase, i, own[i], float(bound.upper[0] * unit))
    column = casadi.vertcat(*lengths)
    replaced = casadi.Function("rows", [*found.inputs, column], [rows])
    changed = replaced(t, x, z, casadi.vertcat(*own), s, p, column)
    c = casadi.vertcat(*[changed[first + row] for row in kept], *[row for _, row, _, _ in extra])
    parts = [changed[: phase.f.numel()], changed[phase.f.numel() : first], c, changed[first + nc :]]
    lifted = casadi.Function("lifted", [t, x, z, casadi.vertcat(u, column), s, p], parts)
    symbols = appended(form.symbols, phase.u, "u", count)
    f, g, c, l = lifted.call([phase.t, phase.x, phase.z, symbols, form.s, form.p], True, False)
    ends = phase.ends
    u0, uf = (appended(form.symbols, a, n, count) for a, n in ((ends.u0, "u0"), (ends.uf, "uf")))
    new = replace(
        phase,
        u=symbols,
        controls=_controls(phase, vectors, [bound for bound, _ in bounds]),
        f=f,
        g=g,
        c=c,
        l=l,
        c_bound=Bound(
            np.array([*phase.c_bound.lower[kept], *[lower for _, _, lower, _ in extra]]),
            np.array([*phase.c_bound.upper[kept], *[upper for _, _, _, upper in extra]]),
        ),
        c_names=(*[phase.c_names[row] for row in kept], *[name for name, _, _, _ in extra]),
        ends=replace(ends, u0=u0, uf=uf),
        redundant=None,
    )
    return ControlLengths(tuple(vectors), new, phase)


def _component_limit(
    phase: PhaseForm, i: int, value: Any, most: float
) -> list[tuple[str, Any, float, float]]:
    """The bounds of a component as a path constraint, unless the length implies them."""
    bound, inside = phase.u_bound, most * (1 - ROUND_OFF)
    lower, upper = float(bound.lower[i]), float(bound.upper[i])
    if lower <= -inside and upper >= inside:
        return []
    return [(f"bounds of {phase.u_names[i]}", value, lower, upper)]


def _name(phase: PhaseForm, vector: Vector) -> str:
    """The names of the controls of a vector."""
    named = [q for q in phase.controls if not _columns(q).isdisjoint(vector.rows)]
    return ", ".join(q.name for q in named)


def _controls(
    phase: PhaseForm, vectors: list[Vector], bounds: list[Bound]
) -> tuple[NamedVector, ...]:
    """Directions in the place of the vectors, and the lengths after them."""
    nu = phase.u.numel()
    lower, upper = phase.u_bound.lower.copy(), phase.u_bound.upper.copy()
    scale, guesses = phase.control_sizes.scale.copy(), _guesses(phase, vectors)
    new = list[NamedVector]()
    for k, (vector, bound) in enumerate(zip(vectors, bounds, strict=True)):
        rows = list(vector.rows)
        lower[rows], upper[rows] = -1.0, 1.0
        size = np.linalg.norm(scale[rows] / vector.unit)
        scale[rows] = np.nan
        new.append(
            NamedVector(
                f"length of {_name(phase, vector)}",
                1,
                "",
                slice(nu + k, nu + k + 1),
                bound,
                guesses.get(nu + k),
                size if np.isfinite(size) else None,
                Bound.open(1),
                Bound.open(1),
            )
        )
    turned = {i for vector in vectors for i in vector.rows}
    own = [
        replace(
            q,
            name=q.name if _columns(q).isdisjoint(turned) else f"direction of {q.name}",
            bound=Bound(lower[q.rows], upper[q.rows], q.bound.guess),
            guess=guesses.get(q.rows.start, q.guess),
            scale=None if np.isnan(scale[q.rows]).all() else scale[q.rows],
        )
        for q in phase.controls
    ]
    return (*own, *new)


def _guesses(phase: PhaseForm, vectors: list[Vector]) -> dict[int, Callable[[float], Array]]:
    """The user's guesses of vectors as guesses of directions and lengths, by their first column."""
    nu, found = phase.u.numel(), dict[int, Callable[[float], Array]]()
    guessed = {i for q in phase.controls if q.guess is not None for i in _columns(q)}
    U = np.zeros((FINE.size, nu))
    for q in phase.controls:
        if q.guess is not None:
            line = user_line(q)
            U[:, q.rows] = _resampled(line, np.linspace(0, 1, line.shape[0]), FINE)
    for k, vector in enumerate(vectors):
        rows = list(vector.rows)
        if guessed.isdisjoint(rows):
            continue
        scaled = U[:, rows] / vector.unit
        length = np.linalg.norm(scaled, axis=1, keepdims=True)
        U[:, rows] = scaled / np.where(length > 0, length, 1.0)
        found[nu + k] = partial(_value, length)
        for q in phase.controls:
            if not _columns(q).isdisjoint(rows):
                found[q.rows.start] = partial(_value, U[:, q.rows])
    return found


def _columns(q: NamedVector) -> set[int]:
    return set(range(q.rows.start, q.rows.stop))


def _value(values: Array, tau: float) -> Array:
    """Values at the points of ``FINE``, between them."""
    return np.asarray(_resampled(values, FINE, np.array([tau]))[0])


def _resampled(values: Array, at: Array, times: Array) -> Array:
    return np.stack([np.interp(times, at, column) for column in values.T], axis=1)


def _length_bound(
    phase: PhaseForm, vector: Vector, length: Any, stated: Any
) -> tuple[Bound, tuple[int, ...]]:
    """The bound of a length, and the path constraints that state it."""
    rows, bound = list(vector.rows), phase.c_bound
    sides = np.abs([phase.u_bound.lower[rows], phase.u_bound.upper[rows]]).max(axis=0)
    taken = [k for k in range(stated.numel()) if casadi.is_equal(stated[k], length)]
    least = np.maximum(0.0, bound.lower[taken].max(initial=0.0))
    most = bound.upper[taken].min(initial=np.linalg.norm(sides / vector.unit))
    return Bound(np.array([least]), np.array([most])), tuple(taken)
