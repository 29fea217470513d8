"""The numbers of a kept program that follow parameters and boundary values: bounds of unknowns and
rows, and the data of points.

In physical units each such number is a limit of the statement, plus what presolve has moved it by.
The limit is stated by parameters, or a given boundary value.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.compiled.tapes import Tape, tape_of
from trajopt.direct.mesh_session import MeshSession
from trajopt.direct.transcription import place_data
from trajopt.errors import UsageError
from trajopt.statement.bounds import Bound
from trajopt.statement.normal_form import NamedVector, NormalForm
from trajopt.statement.stated_bounds import bounds_of, with_bounds

Array = NDArray[np.float64]
Index = NDArray[np.int_]

INITIAL, FINAL, START_TIME, END_TIME = range(4)  # `problem_side` of problem_data.h
STEP = 1e-3  # relative, of a limit that is moved to see what follows it
SIDES = ("lower", "upper")
WHERE = tuple[int, int, str]  # number of a bound in ``bounds_of``, component, side


@dataclass(frozen=True)
class BoundaryValue:
    """A boundary value that may be set: of a component of a state, or of the time."""

    side: int
    phase: int
    state: int
    base: float
    size: float


@dataclass(frozen=True)
class StatedLimit:
    """A limit of the statement."""

    base: float
    output: int  # of the function of parameters that states it; -1 if none does
    given: int  # the boundary value that may replace it; -1 if there is none

    @property
    def moves(self) -> bool:
        return self.output >= 0 or self.given >= 0


@dataclass(frozen=True)
class MovingNumber:
    """A number of the program: value + offset."""

    number: int
    value: int
    offset: float


@dataclass(frozen=True, eq=False)
class MovingNumbers:
    """All numbers, in physical units, and those that are not constant."""

    numbers: Array
    limits: Tape | None  # parameters -> limits that depend on them
    given: tuple[BoundaryValue, ...]
    values: tuple[StatedLimit, ...]
    followers: tuple[MovingNumber, ...]
    orders: tuple[tuple[int, int, bool], ...]  # lesser and greater value; strictly


def numbers_of(kept: MeshSession, stated: NormalForm) -> Array:
    """The numbers of the program, in the order of problem_data.h, for bounds as in ``stated``."""
    layout = kept.laid_out(stated)
    own, rows = kept.limits(layout)
    data = [place_data(ph).ravel() for ph in layout.phases]
    limits = [ph.form.u_bound for ph in layout.phases]
    controls = [[bound.lower for bound in limits], [bound.upper for bound in limits]]
    return np.concatenate([*own, *rows, *data, *controls[0], *controls[1]])


def find_moving_numbers(kept: MeshSession) -> MovingNumbers:
    """Which numbers follow which limits."""
    limits, outputs = _limits(kept.stated)
    given, replaced = _given(kept)
    table = _Table(kept.stated, outputs, replaced)
    orders = tuple(_orders(kept.stated, table))
    base = numbers_of(kept, kept.stated)
    followers = _followed(kept, table, base)
    return MovingNumbers(base, limits, given, tuple(table.values), followers, orders)


class _Table:
    """Limits of the statement by where they are, each with a number once it is asked for."""

    def __init__(
        self, form: NormalForm, outputs: dict[WHERE, int], given: dict[tuple[int, int], int]
    ) -> None:
        self.bounds = list(bounds_of(form))
        self.outputs, self.given = outputs, given
        self.values: list[StatedLimit] = []
        self.places: dict[WHERE, int] = {}
        for b, bound in enumerate(self.bounds):
            for c in range(bound.size):
                for side in SIDES:
                    if (b, c, side) in outputs or (b, c) in given:
                        self.number((b, c, side))

    def number(self, where: WHERE) -> int:
        if where not in self.places:
            b, c, side = where
            base = float(getattr(self.bounds[b], side)[c])
            given = self.given.get((b, c), -1)
            self.values.append(StatedLimit(base, self.outputs.get(where, -1), given))
            self.places[where] = len(self.places)
        return self.places[where]

    def moves(self, b: int, c: int, side: str) -> bool:
        return (b, c, side) in self.outputs or (b, c) in self.given


def _limits(form: NormalForm) -> tuple[Tape | None, dict[WHERE, int]]:
    """The tape of the limits that depend on parameters, and where each of them is."""
    places: list[WHERE] = []
    columns = []
    for b, bound in enumerate(bounds_of(form)):
        if bound.stated is not None:
            for side, column in zip(SIDES, bound.stated, strict=True):
                columns.append(casadi.densify(column))
                places += [(b, c, side) for c in range(bound.size)]
    if not places:
        return None, {}
    symbols = [q.symbol for q in form.parameters]
    function = casadi.Function("limits", symbols, [casadi.vertcat(*columns)])
    try:
        function = function if function.is_a("SXFunction") else function.expand()
    except RuntimeError as error:
        raise _without_tape("a limit that parameters state") from error
    p = casadi.SX.sym("p", form.p.numel())
    ends = [0, *np.cumsum([q.value.size for q in form.parameters]).tolist()]
    column = function(*casadi.vertsplit(p, ends))
    depends = np.flatnonzero(casadi.which_depends(column, p, 1, True)).tolist()
    if not depends:
        return None, {}
    tape = tape_of(casadi.Function("limits", [p], [casadi.densify(column[depends])]))
    if tape is None:
        raise _without_tape("a limit that parameters state")
    return tape, {places[row]: k for k, row in enumerate(depends)}


def _without_tape(what: str) -> UsageError:
    return UsageError(
        f"export: the compiled core cannot evaluate {what}",
        expected="a model of arithmetic and elementary functions, without tables and external "
        "functions",
    )


def _given(kept: MeshSession) -> tuple[tuple[BoundaryValue, ...], dict[tuple[int, int], int]]:
    """The boundary values that may be set, and for each such component of a bound, which."""
    form, found, places = kept.stated, list[BoundaryValue](), dict[tuple[int, int], int]()
    numbers = {id(bound): b for b, bound in enumerate(bounds_of(form))}
    last = kept.layout.phases[-1]

    def add(bound: Bound, c: int, side: int, phase: int, state: int, size: float) -> None:
        places[numbers[id(bound)], c] = len(found)
        found.append(BoundaryValue(side, phase, state, float(bound.lower[c]), size))

    for i, (phase, ph) in enumerate(zip(form.phases, kept.layout.phases, strict=True)):
        sizes = ph.states(kept.base.sizes).max(axis=0)
        for q in phase.states:
            for side, bound in ((INITIAL, q.start), (FINAL, q.end)):
                for c in np.flatnonzero(bound.fixed).tolist():
                    row = q.rows.start + c
                    add(bound, c, side, i, row, float(sizes[row]))
        times = (START_TIME, phase.start_time, i == 0), (END_TIME, phase.end_time, ph is last)
        for side, bound, outer in times:
            if outer and bound.fixed[0] and not phase.samples:
                add(bound, 0, side, i, 0, float(ph.span_times(kept.base.sizes).max()))
    return tuple(found), places


def _orders(form: NormalForm, table: _Table) -> Iterator[tuple[int, int, bool]]:
    """The comparisons of ``check_bounds`` between limits of which one moves at least."""
    numbers = {id(bound): b for b, bound in enumerate(table.bounds)}

    def ordered(
        lesser: Bound, greater: Bound, strict: bool = False
    ) -> Iterator[tuple[int, int, bool]]:
        a, b = numbers[id(lesser)], numbers[id(greater)]
        for c in range(lesser.size):
            finite = np.isfinite(lesser.lower[c]) and np.isfinite(greater.upper[c])
            given = a == b and table.given.get((a, c), -1) >= 0
            if finite and not given and (table.moves(a, c, "lower") or table.moves(b, c, "upper")):
                yield table.number((a, c, "lower")), table.number((b, c, "upper")), strict

    def of(q: NamedVector) -> Iterator[tuple[int, int, bool]]:
        yield from ordered(q.bound, q.bound)
        for end in (q.start, q.end):
            _refuse_meeting(q, end, table, numbers)
            yield from ordered(end, end)
            yield from ordered(end, q.bound)
            yield from ordered(q.bound, end)

    for phase in form.phases:
        for q in (*phase.states, *phase.algebraics, *phase.controls):
            yield from of(q)
        for bound in (phase.c_bound, phase.start_time, phase.end_time):
            yield from ordered(bound, bound)
        yield from ordered(phase.start_time, phase.end_time, strict=True)
    for q in form.statics:
        yield from ordered(q.bound, q.bound)
    yield from ordered(form.b_bound, form.b_bound)


def _refuse_meeting(q: NamedVector, end: Bound, table: _Table, numbers: dict[int, int]) -> None:
    """Where a free boundary value has a limit besides the bound of its state, the narrower one
    counts: which one that is must not depend on parameters.
    """
    for c in np.flatnonzero(~end.fixed).tolist():
        for side in SIDES:
            both = [getattr(bound, side)[c] for bound in (end, q.bound)]
            moves = [table.moves(numbers[id(bound)], c, side) for bound in (end, q.bound)]
            if np.all(np.isfinite(both)) and any(moves):
                raise UsageError(
                    f"export: the {side} limit of a boundary value of '{q.name}' depends on "
                    "parameters, and so may which of its limits is the narrower one",
                    expected="one limit: of the boundary value or of the state",
                )


def _followed(kept: MeshSession, table: _Table, base: Array) -> tuple[MovingNumber, ...]:
    """Each limit is moved both ways; a number that is at another limit already follows one way."""
    found: dict[int, int] = {}
    ranked = sorted(range(len(table.values)), key=lambda k: table.values[k].given < 0)
    for k in ranked:
        value = table.values[k]
        if not value.moves or not np.isfinite(value.base):
            continue
        for step in (STEP, -STEP):
            change = step * max(abs(value.base), 1.0)
            moved = numbers_of(kept, _moved(kept.stated, table, k, change))
            for number in np.flatnonzero(moved != base).tolist():
                found.setdefault(
                    number, k
                )  # a boundary value counts before the bound that it meets
    return tuple(
        MovingNumber(number, k, float(base[number] - table.values[k].base))
        for number, k in sorted(found.items())
    )


def _moved(form: NormalForm, table: _Table, k: int, change: float) -> NormalForm:
    """The form with one limit moved; both limits of a boundary value that is given."""
    b, c, side = list(table.places)[k]
    sides = SIDES if table.values[k].given >= 0 else (side,)
    numbers = itertools.count()

    def changed(bound: Bound) -> Bound:
        if next(numbers) != b:
            return bound
        new = {of: getattr(bound, of).copy() for of in sides}
        for of in sides:
            new[of][c] += change
        return replace(bound, **new)

    return with_bounds(form, changed)
