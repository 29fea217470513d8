"""The equations of a boundary-value problem of several arcs, as CasADi functions with their
derivatives.

Conditions at junctions of arcs and at the ends of phases are small functions of the values on both
sides. The system may have more equations than unknowns (a singular arc to the end repeats a
transversality condition): they are consistent, and solved in least squares.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi

from trajopt.indirect.control_law import ArcLaw
from trajopt.indirect.first_integrals import ConservedIntegrals
from trajopt.indirect.hamiltonian import BoundaryRow, Constraint
from trajopt.statement.normal_form import NormalForm, PhaseForm

# what an equation says, for each component if it has several, and its residual
Row = tuple[str | tuple[str, ...], Any]


@dataclass(frozen=True, eq=False)
class Equations:
    """A function (inputs) -> residuals and their derivatives by each input but the last; ``names``
    has the text of each row.
    """

    function: Any
    names: tuple[str, ...]

    def __call__(self, *values: Any) -> Any:
        return self.function(*values)


@dataclass(frozen=True, eq=False)
class Side:
    """The law of an arc at one of its ends, in symbols of its own for time and node values."""

    law: ArcLaw
    t: Any
    y: Any

    def at(self, expression: Any) -> Any:
        ham, law = self.law.hamiltonian, self.law
        old = casadi.vertcat(ham.phase.t, ham.phase.x, ham.costate, law.v)
        return casadi.substitute(casadi.densify(expression), old, casadi.vertcat(self.t, self.y))

    @property
    def x(self) -> Any:
        return self.y[: self.law.hamiltonian.phase.x.numel()]

    @property
    def costate(self) -> Any:
        nx = self.law.hamiltonian.phase.x.numel()
        return self.y[nx : 2 * nx]


@dataclass(frozen=True)
class EntryPoint:
    """State constraints that an arc meets where it begins: those it stays on, and those it only
    touches, as (number, side).
    """

    kept: tuple[tuple[int, str], ...]
    touched: tuple[tuple[int, str], ...] = ()

    def jumps(self, constraints: tuple[Constraint, ...]) -> int:
        """How many multipliers the jump of the costate has there."""
        return sum(constraints[i].order or 0 for i, _ in self.kept) + len(self.touched)


def entrance(
    before: ArcLaw | None,
    after: ArcLaw,
    touched: tuple[tuple[int, str], ...] = (),
    implied: tuple[tuple[int, str], ...] = (),
) -> EntryPoint:
    """``implied``: constraints that conditions where the phase begins hold already: they bring no
    equation of their own.
    """
    constraints = after.hamiltonian.constraints
    held = before.mode.active if before is not None else implied
    return EntryPoint(
        tuple(a for a in after.mode.active if constraints[a[0]].order and a not in held), touched
    )


def jumped_costate(after: Side, entry: EntryPoint, jumps: Any) -> Any:
    """The costate just before an arc that begins on state constraints: it jumps along their
    gradients (Bryson & Ho, 3.11.9).
    """
    ham = after.law.hamiltonian
    costate, place = after.costate, 0
    for number, side in entry.kept:
        tangency = casadi.vertcat(*ham.constraints[number].tangency(side))
        normals = after.at(casadi.jacobian(tangency, ham.phase.x).T)
        costate = costate + casadi.mtimes(normals, jumps[place : place + tangency.numel()])
        place += tangency.numel()
    for number, _ in entry.touched:
        costate = (
            costate
            + after.at(casadi.gradient(ham.constraints[number].expression, ham.phase.x))
            * jumps[place]
        )
        place += 1
    return costate


def entry_equations(
    before: Side | None,
    after: Side,
    entry: EntryPoint,
    jumps: Any,
    released: frozenset[int] = frozenset(),
) -> list[Row]:
    """What must hold where an arc begins on a state constraint or becomes singular; not for the
    jump of those ``released``.

    Where a phase begins, the measure of a constraint may have an atom of any size: there is no
    condition for the jump.
    """
    law, ham = after.law, after.law.hamiltonian
    rows: list[Row] = []
    place = 0
    for number, side in entry.kept:
        tangency, name = ham.constraints[number].tangency(side), ham.constraints[number].name
        met = f"constraint '{name}' where it becomes active"
        rows += [(_derivative(j) + met, after.at(row)) for j, row in enumerate(tangency)]
        place += len(tangency)
        # Equivalent to a control that is continuous (H regular) or to a vanishing switching
        # function (H affine): with this jump the controls on both sides are stationary for the
        # costate before.
        own = after.at(law.multipliers[law.mode.active.index((number, side))])
        if number not in released and before is not None:
            rows.append(
                (
                    f"jump of the costates where constraint '{name}' becomes active",
                    jumps[place - 1] - own,
                )
            )
    for number, side in entry.touched:
        constraint = ham.constraints[number]
        touch = f"constraint '{constraint.name}' at its touch point"
        rows.append((touch, after.at(constraint.expression - constraint.limit(side))))
        if not _held_by_bounds(constraint):
            rows.append((_derivative(1) + touch, after.at(constraint.derivatives[1])))
    were = before.law.mode.roles if before is not None else ("",) * len(law.mode.roles)
    for i, (was, role) in enumerate(zip(were, law.mode.roles, strict=True)):
        if role == "singular" and was != "singular":
            name = f"switching function of control '{ham.phase.u_names[i]}'"
            rows += [
                (_derivative(j) + name, after.at(d))
                for j, d in enumerate(law.switching[law.singular_place(i)])
            ]
    return rows


def _held_by_bounds(constraint: Constraint) -> bool:
    """Whether a touched constraint stays at its limit: its rate is a matter of controls, which have
    come to their bounds.
    """
    return constraint.order == 1


def _derivative(order: int) -> str:
    return f"derivative {order} of the " if order else ""


def entrance_by_static(after: ArcLaw, entry: EntryPoint) -> Equations:
    """Function (t, y, jumps, weight, s, p) -> what the conditions of an entrance add to the
    derivative of the cost by s.
    """
    ham = after.hamiltonian
    side = Side(after, ham.symbols.sym("t"), ham.symbols.sym("after", after.node_size))
    jumps = ham.symbols.sym("jumps", entry.jumps(ham.constraints))
    met = [row for number, word in entry.kept for row in ham.constraints[number].tangency(word)]
    met += [ham.constraints[number].expression for number, _ in entry.touched]
    column = side.at(casadi.mtimes(casadi.jacobian(casadi.vertcat(*met), ham.s).T, jumps))
    return with_derivatives(
        "entrance",
        [side.t, side.y, jumps, ham.weight, ham.s, ham.p],
        [("static variables", column)],
    )


def junction(
    before: ArcLaw,
    after: ArcLaw,
    entry: EntryPoint,
    continuous: bool = False,
) -> Equations:
    """Function (t, y before, y after, jumps, weight, s, p) -> residual and its derivatives by all
    but p.

    ``continuous``: a control goes from a bound to a constraint, or to the interior, or back,
    without a jump.
    """
    ham = after.hamiltonian
    sym = ham.symbols
    t = sym.sym("t")
    a = Side(before, t, sym.sym("before", before.node_size))
    b = Side(after, t, sym.sym("after", after.node_size))
    jumps = sym.sym("jumps", entry.jumps(ham.constraints))
    gaps = casadi.vertcat(a.x - b.x, a.costate - jumped_costate(b, entry, jumps))
    rows: list[Row] = [(continuity_names(ham.phase), gaps)]
    sliding = between_bound_and_constraint(before, after) if continuous else []
    jumping = [] if continuous else between_bound_and_interior(before, after)
    released = _released(before, after) if sliding else frozenset()
    rows += entry_equations(a, b, entry, jumps, released)
    rows += _multiplier_rows(a, b, released)
    held = any(_held_by_bounds(ham.constraints[number]) for number, _ in entry.touched)
    rows += _switch_rows(a, b, sliding, jumping, held)
    rows += [
        (f"continuity of control '{ham.phase.u_names[i]}'", a.at(a.law.u[i]) - b.at(b.law.u[i]))
        for i in sliding[:1]
    ]
    return with_derivatives("junction", [t, a.y, b.y, jumps, ham.weight, ham.s, ham.p], rows)


def continuity_names(phase: PhaseForm) -> tuple[str, ...]:
    """What says that (x, costate) are continuous, for each component."""
    return (
        *(f"continuity of '{n}'" for n in phase.x_names),
        *(f"continuity of the costate of '{n}'" for n in phase.x_names),
    )


def between_bound_and_constraint(before: ArcLaw, after: ArcLaw) -> list[int]:
    """Controls that go from a bound to a constraint that becomes active, or back where it is left.

    At such a junction either the multiplier of the constraint vanishes (or a switching function,
    where it stays active) and the control may jump; or the control is continuous: it slides along
    the constraint into its bound. Then multipliers jump, and on a state constraint, which it meets
    or leaves tangentially, the costate too.
    """
    ham = after.hamiltonian
    mixed = any(
        ham.constraints[number].order == 0
        for number, _ in (*before.mode.active, *after.mode.active)
    )
    found = []
    for i, roles in enumerate(zip(before.mode.roles, after.mode.roles, strict=True)):
        if roles[0] == roles[1] or "interior" not in roles or "singular" in roles:
            continue
        if ham.affine[i] if mixed else _released(before, after):
            found.append(i)
    return found


def between_bound_and_interior(before: ArcLaw, after: ArcLaw) -> list[int]:
    """Controls with a curved H that leave a bound, or come to it, while the same constraints are
    active.

    Either the slope of H at the bound vanishes there and the control is continuous; or H has two
    minima, at the bound and inside, which are equally deep there, and the control jumps.
    """
    pairs = enumerate(zip(before.mode.roles, after.mode.roles, strict=True))
    changed = [
        i
        for i, roles in pairs
        if roles[0] != roles[1] and "interior" in roles and "singular" not in roles
    ]
    if set(before.mode.active) != set(after.mode.active) or between_bound_and_constraint(
        before, after
    ):
        return []
    return [i for i in changed if not after.hamiltonian.affine[i]]


def _released(before: ArcLaw, after: ArcLaw) -> frozenset[int]:
    """The constraints whose multiplier a control that slides leaves undetermined at a junction,
    where they are met or left.
    """
    constraints = after.hamiltonian.constraints
    changed = {n for n, _ in set(before.mode.active) ^ set(after.mode.active)}
    mixed = frozenset(number for number in changed if constraints[number].order == 0)
    return mixed or frozenset(sorted(changed)[:1])


def _multiplier_rows(a: Side, b: Side, released: frozenset[int]) -> list[Row]:
    """Multipliers vanish where a constraint is left, and where a mixed constraint is met; not where
    a control slides.
    """
    constraints = a.law.hamiltonian.constraints
    names = [f"multiplier of constraint '{c.name}' where it is " for c in constraints]
    rows: list[Row] = []
    for row, held in enumerate(a.law.mode.active):
        if held not in b.law.mode.active and held[0] not in released:
            rows.append((names[held[0]] + "left", a.at(a.law.multipliers[row])))
    for row, held in enumerate(b.law.mode.active):
        if (
            held not in a.law.mode.active
            and constraints[held[0]].order == 0
            and held[0] not in released
        ):
            rows.append((names[held[0]] + "met", b.at(b.law.multipliers[row])))
    return rows


def _switch_rows(a: Side, b: Side, sliding: list[int], jumping: list[int], held: bool) -> list[Row]:
    """What determines the time at which a control component changes its role, unless it slides.

    ``held``: a state constraint is met there, and bounds of controls keep it: the costate jumps,
    and slopes of H with it.
    """
    rows: list[Row] = []
    ham = a.law.hamiltonian
    same_constraints = set(a.law.mode.active) == set(b.law.mode.active)
    for i, (was, role) in enumerate(zip(a.law.mode.roles, b.law.mode.roles, strict=True)):
        if was == role or "singular" in (was, role) or i in sliding:
            continue
        if "interior" not in (was, role) or i in jumping[:1]:
            # H is continuous; divided by the jump of the control this is the switching function
            # where H is affine.
            slope = a.at(a.law.stationarity[i]) if ham.affine[i] else a.at(a.law.H) - b.at(b.law.H)
        elif held:
            rows.append(
                (
                    f"continuity of control '{ham.phase.u_names[i]}'",
                    a.at(a.law.u[i]) - b.at(b.law.u[i]),
                )
            )
            continue
        elif same_constraints:
            # Continuity of H has a double root where the control itself is continuous.
            slope = (
                a.at(a.law.stationarity[i]) if role == "interior" else b.at(b.law.stationarity[i])
            )
        else:
            continue
        rows.append(
            (f"slope of H by control '{ham.phase.u_names[i]}' where its role changes", slope)
        )
    return rows


@dataclass(frozen=True, eq=False)
class PhaseEnds:
    """The laws of the first and last arc of a phase, and what the first one meets
    where it begins.
    """

    first: ArcLaw
    last: ArcLaw
    entry: EntryPoint


@dataclass(frozen=True, eq=False)
class Replacement:
    """First integrals that take the places of some final costates among the equations
    of a phase.
    """

    kept: ConservedIntegrals
    costates: tuple[int, ...]

    def rows(self, start: Side, end: Side, final_costate: Any) -> list[Row]:
        """Their values with the final costates that transversality asks for are those that they
        have at the start.

        The flow does not enter, which amplifies errors of the unknowns; and with the costates that
        are left, and the integrals constant, these rows say as much as those that they replace.
        """
        ham = end.law.hamiltonian
        old = casadi.vertcat(ham.phase.t, ham.phase.x, ham.costate)
        last = casadi.substitute(self.kept.y, old, casadi.vertcat(end.t, end.x, final_costate))
        names = transversality_names(ham.phase, "end")
        others = [
            (name, (end.costate - final_costate)[i])
            for i, name in enumerate(names)
            if i not in self.costates
        ]
        return [("first integrals", last - start.at(self.kept.y)), *others]


def transversality_names(phase: PhaseForm, end: str) -> tuple[str, ...]:
    return tuple(
        f"transversality of '{name}' at the {end} of phase '{phase.name}'" for name in phase.x_names
    )


@dataclass(frozen=True)
class ActiveRow:
    """A condition on endpoints that holds with equality, at this value."""

    row: BoundaryRow
    value: float


def boundary_conditions(
    form: NormalForm,
    phases: list[PhaseEnds],
    active: list[ActiveRow],
    constant_H: tuple[bool, ...],
    replaced: tuple[Replacement | None, ...],
) -> Equations:
    """Function of the endpoint values -> transversality conditions and boundary conditions, with
    derivatives.

    Inputs, for each phase: t0, tf, y at the start, y at the end, integrals found, derivative of H
    by s integrated, integrals, weights, jumps at the start; then s, multipliers nu, p.
    """
    sym = form.symbols
    nu = sym.sym("nu", len(active))
    inputs, old, new, pieces = [], [], [], []
    rows: list[Row] = []
    for ph, ends in zip(form.phases, phases, strict=True):
        ham = ends.first.hamiltonian
        t0, tf = sym.sym("t0"), sym.sym("tf")
        start = Side(ends.first, t0, sym.sym("start", ends.first.node_size))
        end = Side(ends.last, tf, sym.sym("end", ends.last.node_size))
        found = sym.sym("found", ph.l.numel())
        integrals = sym.sym("integrals", ph.l.numel())
        by_s = sym.sym("by_s", form.s.numel())
        jumps = sym.sym("jumps", ends.entry.jumps(ham.constraints))
        inputs += [t0, tf, start.y, end.y, found, by_s, integrals, ham.weight, jumps]
        old += [ph.ends.t0, ph.ends.tf, ph.ends.x0, ph.ends.xf, ph.ends.q]
        new += [t0, tf, start.x, end.x, integrals]
        rows += [
            (f"integrals of phase '{ph.name}'", integrals - found),
            *entry_equations(None, start, ends.entry, jumps),
        ]
        pieces.append((ph, start, end, ends.entry, jumps, by_s))

    def inserted(expression: Any) -> Any:
        return casadi.substitute(expression, casadi.vertcat(*old), casadi.vertcat(*new))

    G = form.phi + sum((nu[i] * a.row.expression for i, a in enumerate(active)), sym(0))
    for (ph, start, end, entry, jumps, _), steady, instead in zip(
        pieces, constant_H, replaced, strict=True
    ):
        e = ph.ends
        gradients = [inserted(casadi.gradient(G, symbol)) for symbol in (e.x0, e.xf, e.t0, e.tf)]
        rows += _transversality(
            start, end, jumped_costate(start, entry, jumps), gradients, steady, instead
        )
        if e.q.numel():
            weight = start.law.hamiltonian.weight
            rows.append(
                (
                    f"weights of integrals of phase '{ph.name}'",
                    weight - inserted(casadi.gradient(G, e.q)),
                )
            )
    if form.s.numel():
        total = sum((by_s for *_, by_s in pieces), sym.zeros(form.s.numel()))
        rows.append(("static variables", inserted(casadi.gradient(G, form.s)) + total))
    rows += [(f"condition '{a.row.name}'", inserted(a.row.expression) - a.value) for a in active]
    return with_derivatives("boundary", [*inputs, form.s, nu, form.p], rows)


def _transversality(
    start: Side,
    end: Side,
    first_costate: Any,
    gradients: list[Any],
    steady: bool,
    instead: Replacement | None,
) -> list[Row]:
    """Transversality (Bryson & Ho, 2.7 and 2.8); ``gradients`` of G by x0, xf, t0 and tf."""
    ph = start.law.hamiltonian.phase
    names = [transversality_names(ph, side) for side in ("start", "end")]
    rows: list[Row] = [(names[0], first_costate + gradients[0])]
    rows += (
        [(names[1], end.costate - gradients[1])]
        if instead is None
        else instead.rows(start, end, gradients[1])
    )
    last_H = start.at(start.law.H) if steady else end.at(end.law.H)
    rows.append((f"H at the start of phase '{ph.name}'", start.at(start.law.H) - gradients[2]))
    rows.append((f"H at the end of phase '{ph.name}'", last_H + gradients[3]))
    return rows


def with_derivatives(name: str, inputs: list[Any], rows: list[Row]) -> Equations:
    """The stacked rows, and their derivatives by each input but the last (the parameters)."""
    column = casadi.densify(casadi.vertcat(type(inputs[0])(0, 1), *[row for _, row in rows]))
    texts = [
        text
        for text, row in rows
        for text in ((text,) * row.numel() if isinstance(text, str) else text)
    ]
    derivatives = [casadi.densify(casadi.jacobian(column, symbol)) for symbol in inputs[:-1]]
    return Equations(casadi.Function(name, inputs, [column, *derivatives]), tuple(texts))
