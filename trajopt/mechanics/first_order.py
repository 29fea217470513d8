"""Convert a mechanism and a formulation to a first-order system."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi

from trajopt.errors import ModelError
from trajopt.mechanics.constraints import all_ideal
from trajopt.mechanics.formulations import Augmented, EquationsOfMotion, Formulation, Penalty
from trajopt.mechanics.lagrange import Mechanism, Quantity
from trajopt.mechanics.statement import require_independent, require_values
from trajopt.system import Invariant, Law, System, Variable


def as_system(
    mechanism: Mechanism,
    formulation: Formulation,
    controls: Mapping[str, Any],
    details: Mapping[str, Any],
) -> System:
    """Return a mechanism as a first-order system.

    Parameters
    ----------
    controls : the control laws by name, expressions in the coordinates, velocities, time and
    parameters (or numbers); a control
        without a law becomes a parameter of the system.
    details : further fields of ``System``: ``until``, ``description``, ``events``, ``outputs``,
    ``drawing``.
    """
    require_values(mechanism, "simulations")
    known = [c.name for c in mechanism.controls]
    for name in controls:
        if name not in known:
            raise ModelError(
                f"'{mechanism.name}' has no control '{name}'", expected=", ".join(known) or "none"
            )
    if not isinstance(formulation, Penalty):
        require_independent(mechanism)

    def build(law: Law | None, held: casadi.SX | None = None) -> System:
        """Build the system; ``held`` are further symbols of the law, which become parameters."""
        way = formulation if law is None else Augmented()
        motion = way.motion(mechanism, _wanted(mechanism, law))
        penalized = isinstance(formulation, Penalty)
        return _assemble(
            mechanism, motion, controls, dict(details), penalized=penalized, build=build, held=held
        )

    return build(None)


def _undriven(mechanism: Mechanism) -> bool:
    """Whether only the forces can change the energy: nothing depends on time or drives the
    constraints.
    """
    equations = casadi.vertcat(
        mechanism.equations.lagrangian, mechanism.equations.velocity_residual
    )
    timeless = not casadi.depends_on(equations, mechanism.time)
    return (
        timeless
        and all_ideal(mechanism.constraints)
        and casadi.SX(mechanism.equations.offset).is_zero()
    )


def _wanted(mechanism: Mechanism, law: Law | None) -> casadi.SX:
    k, m = len(mechanism.holonomic), len(mechanism.rows)
    if law is None:
        return casadi.SX(m, 1)
    f = mechanism.equations.velocity_residual
    positions = law(mechanism.equations.position_residual, f[:k], 2) if k else casadi.SX(0, 1)
    velocities = law(f[k:], casadi.SX.zeros(m - k, 1), 1) if m > k else casadi.SX(0, 1)
    return casadi.vertcat(positions, velocities)


def _assemble(
    mechanism: Mechanism,
    motion: EquationsOfMotion,
    controls: Mapping[str, Any],
    details: dict[str, Any],
    *,
    penalized: bool,
    build: Any,
    held: casadi.SX | None,
) -> System:
    kept = list(motion.independent)
    reduced = len(kept) < len(mechanism.coordinates)
    open_controls = [c for c in mechanism.controls if c.name not in controls]
    extra = (
        []
        if held is None
        else [Quantity(str(symbol), symbol=symbol) for symbol in casadi.vertsplit(held)]
    )
    quantities = [*mechanism.parameters, *open_controls, *extra]

    def closed(expression: Any) -> casadi.SX:
        """Insert control laws, and express dependent velocities by independent ones."""
        result = casadi.SX(expression)
        for c in mechanism.controls:
            if c.name in controls:
                result = casadi.substitute(result, c.symbol, casadi.SX(controls[c.name]))
        return casadi.substitute(result, mechanism.v, motion.velocity) if reduced else result

    variables = mechanism.state_variables()
    n = len(mechanism.coordinates)
    outputs = {
        name: (closed(e), unit)
        for name, (e, unit) in {**_outputs(mechanism, motion), **details.pop("outputs", {})}.items()
    }
    for k in range(n):
        if k not in kept:
            outputs[mechanism.coordinates[k].rate] = (
                motion.velocity[k],
                mechanism.coordinates[k].rate_unit,
            )
    return System(
        name=mechanism.name,
        time=mechanism.time,
        x=casadi.vertcat(mechanism.q, mechanism.v[kept]),
        states=(*variables[:n], *(variables[n + k] for k in kept)),
        rate=closed(casadi.vertcat(motion.velocity, motion.acceleration[kept])),
        p=casadi.vertcat(*[c.symbol for c in quantities]) if quantities else casadi.SX(0, 1),
        parameters=tuple(Variable(c.name, c.value, c.unit) for c in quantities),
        invariants=_invariants(mechanism, closed, reduced=reduced, penalized=penalized),
        outputs=outputs,
        through_reactions=build if mechanism.rows and not (reduced or penalized) else None,
        mechanism=mechanism,
        **details,
    )


def _outputs(mechanism: Mechanism, motion: EquationsOfMotion) -> dict[str, tuple[casadi.SX, str]]:
    total = (
        mechanism.equations.directions @ motion.reactions
        if mechanism.rows
        else casadi.SX(len(mechanism.coordinates), 1)
    )
    # The energy changes by forces, reactions of driven constraints and explicit time dependence.
    terms = mechanism.equations
    power = casadi.dot(terms.force + total, mechanism.v) - casadi.jacobian(
        terms.lagrangian, mechanism.time
    )
    found = {"energy": (terms.energy, "J"), "power": (power, "W")}
    for k, c in enumerate(mechanism.coordinates):
        found[f"{c.name}_acceleration"] = (
            motion.acceleration[k],
            f"{c.unit}/s^2" if c.unit else "",
        )
    for row, constraint in enumerate(mechanism.rows):
        found[f"reaction_{constraint.name}"] = (motion.reactions[row], "")
    if mechanism.rows:
        for k, c in enumerate(mechanism.coordinates):
            found[f"reaction_{c.name}"] = (total[k], {"m": "N", "rad": "N m"}.get(c.unit, ""))
    return found


def _invariants(
    mechanism: Mechanism, closed: Any, *, reduced: bool, penalized: bool
) -> tuple[Invariant, ...]:
    found = []
    if not penalized:
        # With dependent velocities eliminated the rate of a position condition is zero for all
        # states: only its value drifts.
        found += [
            Invariant(c.name, closed(c.expression), 1 if reduced else 2)
            for c in mechanism.holonomic
        ]
        found += (
            []
            if reduced
            else [Invariant(c.name, closed(c.expression), 1) for c in mechanism.nonholonomic]
        )
    if _undriven(mechanism) and closed(mechanism.equations.force).is_zero() and not penalized:
        found.append(Invariant("energy", closed(mechanism.equations.energy), 0))
    return tuple(found)
