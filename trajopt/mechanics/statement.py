"""Checks of a mechanism: its statement, its initial values, its constraints."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import casadi
import numpy as np

from trajopt.errors import ModelError
from trajopt.mechanics.constraints import Vector, nearest_velocity, newton

if TYPE_CHECKING:
    from trajopt.mechanics.lagrange import Mechanism


def require_values(mechanism: Mechanism, what: str) -> None:
    """Raise if a parameter is a symbol of a problem, which has no value by itself."""
    from trajopt.mechanics.lagrange import symbolic

    unknown = [p.name for p in mechanism.parameters if symbolic(p.value)]
    if unknown:
        raise ModelError(
            f"'{mechanism.name}': {what} need values for all parameters",
            got=f"{', '.join(unknown)} without a value",
            hint=f"m = Quantity('{unknown[0]}', 1.0), m.symbol in the model, and parameters=(m,)",
        )


def check_statement(mechanism: Mechanism) -> None:
    """Raise if names collide, symbols are undeclared, or a velocity condition is not linear."""
    _check_names(mechanism)
    for what, expression, known in _uses(mechanism):
        _check_symbols(mechanism, what, expression, known)
    for c in mechanism.nonholonomic:
        if casadi.depends_on(casadi.jacobian(c.expression, mechanism.v), mechanism.v):
            raise ModelError(
                f"'{mechanism.name}': constraint '{c.name}' is not linear in the velocities",
                expected="N(q, t) v + n(q, t)",
            )


def _check_names(mechanism: Mechanism) -> None:
    name = mechanism.name
    named = [
        *mechanism.coordinates,
        *mechanism.controls,
        *mechanism.parameters,
        *mechanism.constraints,
    ]
    names = [n.name for n in named] + [c.rate for c in mechanism.coordinates]
    twice = sorted({n for n in names if names.count(n) > 1})
    if not mechanism.coordinates:
        raise ModelError(f"'{name}' has no coordinates", expected="at least one Coordinate")
    if twice:
        raise ModelError(
            f"'{name}': duplicate names",
            got=", ".join(twice),
            expected="names of coordinates, rates, controls and parameters that all differ",
        )
    for c in mechanism.coordinates:
        if not (math.isfinite(c.start) and math.isfinite(c.speed)):
            raise ModelError(
                f"'{name}': coordinate '{c.name}' has no finite initial value",
                got=(c.start, c.speed),
            )
    for coordinate in (
        *mechanism.forces,
        *(n for c in mechanism.constraints for n in (c.along or {})),
    ):
        mechanism.index(coordinate)


def _uses(m: Mechanism) -> list[tuple[str, Any, casadi.SX]]:
    """List every expression of the statement with its allowed symbols."""
    places = casadi.vertcat(m.q, m.p, m.time)
    moving = casadi.vertcat(places, m.v)
    found = [
        ("the kinetic energy", m.kinetic, moving),
        ("the potential energy", m.potential, places),
    ]
    found += [(f"the force on '{k}'", f, casadi.vertcat(moving, m.u)) for k, f in m.forces.items()]
    found += [(f"constraint '{c.name}'", c.expression, places) for c in m.holonomic]
    found += [(f"constraint '{c.name}'", c.expression, moving) for c in m.nonholonomic]
    for c in m.constraints:
        found += [
            (f"the reaction of '{c.name}'", casadi.SX(e), moving) for e in (c.along or {}).values()
        ]
    if m.inertia:
        found.append(("the mass matrix", casadi.sumsqr(m.inertia.mass), moving))
        found.append(("the bias", casadi.sumsqr(m.inertia.bias), moving))
    return found


def _check_symbols(mechanism: Mechanism, what: str, expression: Any, known: casadi.SX) -> None:
    given = casadi.SX(expression)
    if given.numel() != 1:
        raise ModelError(f"'{mechanism.name}': {what} is not a scalar", got=given.shape)
    undeclared = [str(s) for s in casadi.symvar(given) if not casadi.depends_on(known, s)]
    if undeclared:
        raise ModelError(
            f"'{mechanism.name}': {what} uses undeclared symbols",
            got=", ".join(undeclared),
            expected=", ".join(str(known[i]) for i in range(known.numel())),
            hint="use Nonholonomic(name, expression) for a condition with velocities"
            if what.startswith("constraint")
            else None,
        )


def consistent_start(mechanism: Mechanism, hold: Sequence[str], t: float) -> tuple[Vector, Vector]:
    """Return the position and velocity nearest to the initial ones that satisfy the constraints;
    ``hold`` fixes coordinates.
    """
    q, v = mechanism.start
    if not mechanism.rows:
        return q, v
    held = {mechanism.index(name) for name in hold}
    free = [k for k in range(q.size) if k not in held]
    h = mechanism.equations.position_residual
    residual, slope = mechanism.function(h), mechanism.function(casadi.jacobian(h, mechanism.q))

    def full(values: Vector) -> Vector:
        moved = q.copy()
        moved[free] = values
        return moved

    def at(function: casadi.Function, position: Vector) -> Vector:
        return np.array(function(*mechanism.arguments(position, v, t=t)))

    if mechanism.holonomic:
        names = [c.name for c in mechanism.holonomic]
        q = full(
            newton(
                lambda x: at(residual, full(x)).ravel(),
                lambda x: at(slope, full(x))[:, free],
                q[free],
                names,
            )
        )
    A, b = (
        at(mechanism.function(mechanism.equations.matrix), q),
        at(mechanism.function(mechanism.equations.offset), q).ravel(),
    )
    fixed = b + A @ v - A[:, free] @ v[free]  # contribution of the fixed velocities
    v[free] = nearest_velocity(A[:, free], fixed, v[free], [c.name for c in mechanism.rows])
    return q, v


def require_independent(mechanism: Mechanism, t: float = 0.0) -> None:
    """Raise if the constraints are redundant, or singular at the initial position."""
    found = mechanism.dependent_constraints(t=t)
    if not found:
        return
    # Redundant constraints are dependent everywhere, singular ones only at isolated positions.
    moved = mechanism.start[0] + 1e-2 * np.random.default_rng(0).standard_normal(
        len(mechanism.coordinates)
    )
    nearby = mechanism.starting_at(
        {c.name: x for c, x in zip(mechanism.coordinates, moved, strict=True)}
    )
    everywhere = bool(nearby.consistent(t=t).dependent_constraints(t=t))
    raise ModelError(
        f"the constraints of '{mechanism.name}' are "
        f"{'redundant' if everywhere else 'singular at the start'}",
        got="; ".join(map(str, found)),
        expected="independent rows, since reactions are undetermined otherwise",
        hint="omit " + ", ".join(f"'{d.name}'" for d in found)
        if everywhere
        else "start from another position",
    )
