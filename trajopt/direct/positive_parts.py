"""Kinks as positive parts: ``|e|``, ``max(a, b)`` and ``min(a, b)`` by a control that is not
negative.

``max(a, b) = b + q`` with ``q = max(a - b, 0)``. The control q has the limits ``q >= 0`` and
``q >= a - b``: the epigraph of a convex function, which has no kink (Boyd and Vandenberghe, Convex
Optimization, 2004, 4.2.5). A control u of which the positive part is taken is the difference of two
that are not negative. Where a smaller q costs less, this is the same problem. Elsewhere it is a
relaxation, whose solution is one of the problem where ``q = max(a - b, 0)`` along it; that is
checked, and the problem is solved as it stands where it does not hold.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
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
from trajopt.statement.bounds import Bound
from trajopt.statement.normal_form import NamedVector, NormalForm, PhaseForm
from trajopt.trajectory.curve import Curve
from trajopt.trajectory.trajectory import Trajectory

Array = NDArray[np.float64]

KINDS = (casadi.OP_FABS, casadi.OP_FMAX, casadi.OP_FMIN)
SAMPLES = 50  # random places at which terms are evaluated
DEPTH = 8  # of the comparison of two expressions


@dataclass(frozen=True, eq=False)
class PositiveParts:
    """The positive parts of one phase."""

    split: tuple[int, ...]  # controls that are differences; their negative parts come first
    terms: casadi.Function  # (t, x, z, u, s, p, parts) -> e, of the parts q = max(e, 0)
    phase: PhaseForm  # with the parts as controls after its own
    own: PhaseForm

    @property
    def count(self) -> int:
        """Additional controls."""
        return int(self.phase.u.numel() - self.own.u.numel())

    def lifted(self, form: NormalForm, start: Trajectory, s: Array, p: Array) -> Trajectory:
        """A guess with the parts that its controls have."""
        u, nu, split = start.u, start.u.size, list(self.split)
        times = u.t
        columns = [curve.evaluate(times) for curve in (start.x, start.z)]
        own = np.concatenate(u.values)
        parts = np.zeros((times.size, self.count))
        parts[:, : len(split)] = np.maximum(-own[:, split], 0.0)
        above = own.copy()
        above[:, split] = np.maximum(own[:, split], 0.0)
        for k in range(len(split), self.count):  # terms may contain earlier parts
            e = [
                np.asarray(self.terms(t, x, z, v, s, p, q)).ravel()[k - len(split)]
                for t, x, z, v, q in zip(times, *columns, above, parts, strict=True)
            ]
            parts[:, k] = np.maximum(e, 0.0)
        whole = np.concatenate([above, parts], axis=1)
        ends = np.cumsum([0, *[values.shape[0] for values in u.values]])
        values = tuple(whole[a:b] for a, b in itertools.pairwise(ends))
        assert whole.shape[1] == nu + self.count
        return replace(start, u=Curve(u.breaks, u.nodes, values), arcs=())

    def own_controls(self, u: Curve) -> Curve:
        """The controls of the statement."""
        nu, split = self.own.u.numel(), list(self.split)

        def joined(values: Array) -> Array:
            own = values[:, :nu].copy()
            own[:, split] -= values[:, nu : nu + len(split)]
            return own

        bound = self.own.u_bound
        values = tuple(joined(v) for v in u.values)
        return Curve(u.breaks, u.nodes, values, bound.lower, bound.upper)

    def own_roles(self, roles: Mapping[str, str]) -> dict[str, str]:
        """The roles of an arc for the controls of the statement."""
        found, nu = dict(roles), self.own.u.numel()
        names = self.phase.u_names
        for k, i in enumerate(self.split):
            above, below = found[names[i]], found[names[nu + k]]
            found[names[i]] = (
                "lower"
                if below == "upper"
                else above
                if above == "upper"
                else "singular"
                if "singular" in (above, below)
                else "interior"
            )
        return found

    def with_free_parts(self, kernels: PhaseKernels) -> PhaseKernels:
        """Kernels for which, among smooth controls, a part that follows a term has a value of its
        own at every point; constant on an interval it would be the largest value of its term.
        """
        first = self.own.u.numel() + len(self.split)
        if kernels.affine[:first].any():
            return kernels
        return replace(kernels, affine=np.zeros_like(kernels.affine))


@dataclass
class _Walk:
    """The instructions of the rows of a phase, with symbols for positive parts."""

    inputs: list[Any]  # SX columns t, x, z, u, s, p
    kept: set[int]  # instructions that stay as they are
    parts: list[Any] = field(default_factory=list)
    terms: list[Any] = field(default_factory=list)
    places: list[int] = field(default_factory=list)  # the instruction of each part

    def replacement(self, k: int, op: int, of: list[Any]) -> Any | None:
        return self._lifted(k, op, of) if op in KINDS and k not in self.kept else None

    def _lifted(self, k: int, op: int, of: list[Any]) -> Any | None:
        a, b = (of[0], -of[0]) if op == casadi.OP_FABS else (of[0], of[1])
        e = of[0] if op == casadi.OP_FABS else a - b
        q = self._part(k, e)
        if q is None:
            return None
        # |e| = 2 q - e, max(a, b) = b + q, min(a, b) = a - q
        return 2 * q - e if op == casadi.OP_FABS else b + q if op == casadi.OP_FMAX else a - q

    def _part(self, k: int, e: Any) -> Any | None:
        """max(e, 0); None for what depends on time and parameters alone."""
        if not casadi.depends_on(e, casadi.vertcat(*self.inputs[1:4], *self.parts)):
            return None
        for q, term in zip(self.parts, self.terms, strict=True):
            if casadi.is_equal(term, e, DEPTH):
                return q
            if casadi.is_equal(casadi.simplify(term + e), casadi.SX(0), 2):
                return q - term  # max(-e, 0) = max(e, 0) - e
        q = casadi.SX.sym(f"q{len(self.parts) + 1}")
        self.parts.append(q)
        self.terms.append(e)
        self.places.append(k)
        return q


def parts_of(form: NormalForm, phase: PhaseForm, parameters: Array) -> PositiveParts | None:
    """The positive parts of a phase; None where it has none that can be lifted."""
    function = expanded_rows(form, phase)
    if function is None or not has_operation(function, KINDS):
        return None
    inputs = input_columns(form, phase)
    kept = set[int]()
    while True:
        walk = _Walk(inputs, kept)
        rows = rebuilt(function, inputs, walk.replacement)
        unfit = _unfit(form, phase, walk, rows, parameters)
        if not unfit:
            break
        kept = kept | unfit
    return _phase_with_parts(form, phase, walk, rows, parameters) if walk.parts else None


def _unfit(
    form: NormalForm, phase: PhaseForm, walk: _Walk, rows: Any, parameters: Array
) -> set[int]:
    """The instructions whose positive part would be no convex term of the cost, or is a function of
    states in the dynamics, where a relaxation is seldom exact.
    """
    if not walk.parts:
        return set()
    q = casadi.vertcat(*walk.parts)
    nf, nl = phase.f.numel() + phase.g.numel(), phase.l.numel()
    in_motion = casadi.which_depends(rows[:nf], q, 1, False) if nf else [False] * len(walk.parts)
    unfit = {
        place
        for place, term, moves in zip(walk.places, walk.terms, in_motion, strict=True)
        if moves and not casadi.depends_on(term, casadi.vertcat(walk.inputs[3], *walk.parts))
    }
    if nl:
        integrands = rows[rows.numel() - nl :]
        slopes = casadi.Function("slopes", [*walk.inputs, q], [casadi.jacobian(integrands, q)])
        weights = _weights(form, phase, parameters)
        for values in _places(form, phase, parameters, SAMPLES):
            J = np.asarray(casadi.DM(slopes(*values, np.ones(q.numel()))).full())
            less = np.flatnonzero((weights[:, None] * J < 0).any(axis=0))
            unfit |= {walk.places[int(k)] for k in less}
    return unfit


def _weights(form: NormalForm, phase: PhaseForm, parameters: Array) -> Array:
    """The slope of the cost by each integral of a phase, at zero; NaN, which decides nothing, where
    the cost is not affine in it.
    """
    q = phase.ends.q
    column = form.endpoint_column
    if not casadi.depends_on(form.phi, q):
        return np.zeros(q.numel())
    samples = casadi.vertcat(*[sample.x for ph in form.phases for sample in ph.samples])
    slope = casadi.gradient(form.phi, q)
    function = casadi.Function("weights", [column, form.s, form.p, samples], [slope])
    zero = [np.zeros(part.numel()) for part in (column, form.s)]
    found = np.asarray(function(*zero, parameters, np.zeros(samples.numel()))).ravel()
    affine = ~np.array(casadi.which_depends(form.phi, q, 2, False), dtype=bool)
    return np.where(affine, found, np.nan)


def _places(form: NormalForm, phase: PhaseForm, parameters: Array, count: int) -> Any:
    """Yield random values of t, x, z, u, s, p within their limits, of their stated sizes."""
    generator = np.random.default_rng(0)
    columns = (
        (phase.x_bound, phase.state_sizes.limits),
        (phase.z_bound, phase.algebraic_sizes.limits),
        (phase.u_bound, phase.control_sizes.limits),
    )
    s = np.ones(form.s.numel())
    for _ in range(count):
        drawn = [
            np.clip(size * generator.uniform(-1, 1, size.size), bound.lower, bound.upper)
            for bound, size in columns
        ]
        yield [generator.uniform(), *drawn, s, parameters]


def _phase_with_parts(
    form: NormalForm, phase: PhaseForm, walk: _Walk, rows: Any, parameters: Array
) -> PositiveParts:
    split = _split(form, phase, walk)
    others = [k for k in range(len(walk.parts)) if k not in split]
    nu, count = phase.u.numel(), len(split) + len(others)
    t, x, z, u, s, p = walk.inputs
    extra = casadi.SX.sym("parts", count)
    q, shift = [casadi.SX(0)] * len(walk.parts), [casadi.SX(0)] * nu
    for j, (k, (i, sign)) in enumerate(split.items()):
        shift[i] = extra[j]
        q[k] = u[i] if sign > 0 else extra[j]
    for j, k in enumerate(others):
        q[k] = extra[len(split) + j]
    own_u = u - casadi.vertcat(*shift)
    symbols = [*walk.inputs, casadi.vertcat(*walk.parts)]
    of_parts = casadi.Function("parts", symbols, [rows, casadi.vertcat(*walk.terms)])
    lifted_rows, terms = of_parts(t, x, z, own_u, s, p, casadi.vertcat(*q))
    chosen = terms[others] if others else casadi.SX(0, 1)
    lifted = casadi.Function("lifted", [*walk.inputs, extra], [lifted_rows, chosen])
    scale = _sizes(form, phase, lifted, count, parameters)
    return PositiveParts(
        tuple(i for i, _ in split.values()),
        casadi.Function("terms", [*walk.inputs, extra], [chosen]),
        _with_controls(form, phase, split, lifted, scale),
        phase,
    )


def _split(form: NormalForm, phase: PhaseForm, walk: _Walk) -> dict[int, tuple[int, int]]:
    """The parts of controls: part -> (control, sign). A control that is not negative anyway is not
    split, nor is one with a guess or whose values at the ends count.
    """
    ends = casadi.vertcat(phase.ends.u0, phase.ends.uf)
    needed = casadi.depends_on(casadi.vertcat(form.phi, form.b), ends)
    if needed or any(casadi.depends_on(i.expression, phase.u) for i in phase.invariants):
        return {}
    u, bound, split = walk.inputs[3], phase.u_bound, dict[int, tuple[int, int]]()
    columns = range(phase.u.numel())
    guessed = {i for q in phase.controls if q.guess is not None for i in columns[q.rows]}
    for k, term in enumerate(walk.terms):
        for i in range(u.numel()):
            taken = i in guessed or any(i == j for j, _ in split.values())
            signs = [s for s in (1, -1) if casadi.is_equal(term, s * u[i], DEPTH)]
            if signs and not taken and bound.lower[i] < 0 < bound.upper[i]:
                split[k] = i, signs[0]
    return split


def _sizes(
    form: NormalForm, phase: PhaseForm, lifted: casadi.Function, count: int, parameters: Array
) -> Array:
    """The median sizes of the terms at random places."""
    found = [
        np.abs(np.asarray(lifted(*values, np.zeros(count))[1]).ravel())
        for values in _places(form, phase, parameters, SAMPLES)
    ]
    size = np.median(np.array(found), axis=0)
    return np.where(np.isfinite(size) & (size > 0), size, 1.0)


def _with_controls(
    form: NormalForm,
    phase: PhaseForm,
    split: Mapping[int, tuple[int, int]],
    lifted: casadi.Function,
    scale: Array,
) -> PhaseForm:
    """The phase with its parts as controls."""
    sym, nu, kinds = form.symbols, phase.u.numel(), len(split)
    count = kinds + scale.size
    u = appended(sym, phase.u, "u", count)
    own_u, extra = casadi.vertsplit(u, [0, nu, nu + count])
    arguments = [phase.t, phase.x, phase.z, own_u, form.s, form.p, extra]
    rows, terms = lifted.call(arguments, True, False)  # inlined: no row depends on all of them
    sizes = np.cumsum([0, *[part.numel() for part in (phase.f, phase.g, phase.c, phase.l)]])
    f, g, c, l = casadi.vertsplit(rows, sizes.tolist())
    places = [i for i, _ in split.values()]
    lower, upper = phase.u_bound.lower.copy(), phase.u_bound.upper
    minus = np.where(np.isfinite(lower), -lower, np.inf)
    lower[places] = 0.0
    own = tuple(
        replace(q, bound=Bound(lower[q.rows], upper[q.rows], q.bound.guess)) for q in phase.controls
    )
    names = [f"negative part of {phase.u_names[i]}" for i in places]
    names += [f"positive part {k + 1}" for k in range(scale.size)]
    most = np.concatenate([minus[places], np.full(scale.size, np.inf)])
    new = tuple(
        NamedVector(
            name,
            1,
            "",
            slice(nu + k, nu + k + 1),
            Bound(np.zeros(1), most[k : k + 1]),
            None,
            None if k < kinds else scale[k - kinds : k - kinds + 1],
            Bound.open(1),
            Bound.open(1),
        )
        for k, name in enumerate(names)
    )
    above = (extra[kinds:] - terms) / scale if scale.size else sym(0, 1)
    c_bound = Bound(
        np.concatenate([phase.c_bound.lower, np.zeros(scale.size)]),
        np.concatenate([phase.c_bound.upper, np.full(scale.size, np.inf)]),
    )
    ends = phase.ends
    u0, uf = (appended(sym, part, n, count) for part, n in ((ends.u0, "u0"), (ends.uf, "uf")))
    return replace(
        phase,
        u=u,
        controls=(*own, *new),
        f=f,
        g=g,
        c=casadi.vertcat(c, above),
        l=l,
        c_bound=c_bound,
        c_names=(*phase.c_names, *names[kinds:]),
        ends=replace(ends, u0=u0, uf=uf),
        redundant=None,
    )
