"""The nearest motion: one that obeys its equations exactly, and misses what was asked of it by as little as it can.

What was asked for is loosened: conditions over endpoints and integrals, path constraints, end values. Each may be missed at a
price, in units of its size. Where the price falls to nothing there is a motion that misses nothing; where it does not, what is
missed says why there is none, in words that a person would use, and not a word about equations that no motion can break.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.deadline import UNLIMITED, Deadline
from trajopt.direct.collocation import Session, solve_on
from trajopt.direct.iterate import Iterate
from trajopt.direct.mesh import Mesh
from trajopt.direct.transcribe import Layout, PhaseLayout, make_layout
from trajopt.guess import Guess
from trajopt.nlp.backends import Backend, Outcome, Result, Warm
from trajopt.nlp.lines import Lines, compressed
from trajopt.nlp.program import Block, Program, constraints_at_start, cost_at_start, make_kernel

Array = NDArray[np.float64]
Index = NDArray[np.int_]

NEAREST = "nearest motion"  # the word of a result that misses something
END_PRICE = 30.0  # of an end value, against that of a condition: it is missed where no condition can give
LINK_PRICE = 300.0  # phases are torn apart only where nothing else can give
CALM = 1e-8  # price of the mean square of what has no bounds: much is open, and need not be wild
MISSED = 1e-6  # of its size: how much of a condition is


@dataclass(frozen=True, eq=False)
class Loosening:
    """What may be missed together by one amount: constraint rows, or the bounds of unknowns."""

    rows: Index
    unknowns: Index
    within: Index  # unknowns whose bounds they keep instead; none where they are set free
    price: float = 1.0


@dataclass(frozen=True)
class Nearest:
    """A backend that solves programs with some of their conditions loosened.

    Its answers are SOLVED where nothing had to be missed, and INFEASIBLE with the message ``NEAREST`` where something had.
    """

    backend: Backend
    loosenings: tuple[Loosening, ...]
    kept: Index  # unknowns that stay where they start
    name: str = "nearest"

    def tightened(self, tolerance: float) -> Nearest:
        return replace(self, backend=self.backend.tightened(tolerance))

    def solve(self, program: Program, warm: Warm | None = None, deadline: Deadline = UNLIMITED) -> Result:
        loose = loosened(program, self.loosenings)
        start = np.clip(loose.start, loose.lower, loose.upper)[self.kept]
        loose.lower[self.kept] = loose.upper[self.kept] = start
        result = self.backend.solve(loose, warm, deadline)
        y = result.y[: program.unknowns]
        slack = result.y[program.unknowns :].reshape(2, -1)
        missed = float(np.abs(slack[1] - slack[0]).max(initial=0.0))
        outcome, message = result.outcome, result.message
        if outcome is Outcome.SOLVED and missed > MISSED:
            outcome, message = Outcome.INFEASIBLE, NEAREST
        there = replace(program, start=y)
        return replace(
            result,
            outcome=outcome,
            message=message,
            y=y,
            f=cost_at_start(there),
            g=constraints_at_start(there),
            bound_multipliers=result.bound_multipliers[: program.unknowns],
            constraint_multipliers=result.constraint_multipliers[: program.constraints],
        )


def nearest_motion(session: Session, meshes: tuple[Mesh, ...], guess: Guess, keep_time: bool = False) -> Iterate:
    """The motion that misses least, as far as can be seen from a guess.

    ``keep_time`` keeps the guessed times: where a way round is needed, a time that may shrink makes it look the wrong way.
    Where bounds of states leave no motion at all, these may be missed as well.
    """
    layout = make_layout(session.form, session.kernels, session.method.scheme, meshes)
    times = [np.arange(ph.times, ph.integrals) for ph in layout.phases] if keep_time else []
    kept = np.concatenate([np.zeros(0, int), *times])
    iterate: Iterate | None = None
    for loose in (tuple(_conditions(layout)), (*_conditions(layout, free=True), *_state_bounds(layout))):
        backend = Nearest(session.method.backend, loose, kept)
        following = solve_on(replace(session, method=replace(session.method, backend=backend)), meshes, guess, None)
        if iterate is None or following.solved or following.result.message == NEAREST:
            iterate = following
        if iterate.result.outcome is not Outcome.INFEASIBLE or iterate.result.message == NEAREST:
            break
    assert iterate is not None
    return iterate


def _conditions(layout: Layout, free: bool = False) -> Iterator[Loosening]:
    """End values, conditions and path constraints: all that was asked of a motion, besides its bounds and where it begins."""
    none = np.zeros(0, dtype=int)
    for ph in layout.phases:
        last = ph.x + (ph.state_points - 1) * ph.nx
        for i in np.flatnonzero(end_asked(ph)):
            within = none if free or ph.state_points < 3 else np.array([last + i - ph.nx])
            yield Loosening(none, np.array([last + i]), within, END_PRICE)
        count = ph.form.c.numel()
        yield from (Loosening(np.arange(ph.c_rows + row, ph.q_rows, count), none, none) for row in range(count))
    for row in range(layout.b_rows, layout.constraints):
        if not condition_name(layout, row).startswith("duration of phase '"):  # time never runs backwards
            yield Loosening(np.array([row]), none, none, price_of(layout, row))


def condition_name(layout: Layout, row: int) -> str:
    """The name of a condition over endpoints; the rows beyond them are path constraints at the start."""
    names = layout.form.b_names
    return names[row - layout.b_rows] if row - layout.b_rows < len(names) else "path constraint at the start"


def price_of(layout: Layout, row: int) -> float:
    """The price of missing a constraint by its size."""
    names = [ph.form.name for ph in layout.phases]
    links = tuple(f" from '{a}' to '{b}'" for a in names for b in names)
    return LINK_PRICE if row >= layout.b_rows and condition_name(layout, row).split("[")[0].endswith(links) else 1.0


def _state_bounds(layout: Layout) -> Iterator[Loosening]:
    """The bounds of each state after the start."""
    for ph in layout.phases:
        bound, asked = ph.form.x_bound, end_asked(ph)
        for i in np.flatnonzero(np.isfinite(bound.lower) | np.isfinite(bound.upper)):
            points = np.arange(1, ph.state_points - int(asked[i]))
            yield Loosening(np.zeros(0, int), ph.x + points * ph.nx + i, np.zeros(0, int))


def end_asked(ph: PhaseLayout) -> NDArray[np.bool_]:
    """(states,): which are told where to end."""
    ends = [np.isfinite(q.end.lower) | np.isfinite(q.end.upper) for q in ph.form.states]
    return np.concatenate([np.zeros(0, bool), *ends])


def loosened(program: Program, loose: tuple[Loosening, ...]) -> Program:
    """The program with amounts by which conditions are missed, up or down, as further unknowns; their price is its cost."""
    n, m, count = program.unknowns, program.constraints, len(loose)
    bounds = np.concatenate([np.zeros(0, int), *[part.unknowns for part in loose]])
    within = np.concatenate(
        [np.zeros(0, int), *[part.within if part.within.size else -np.ones(part.unknowns.size, int) for part in loose]]
    )
    of_bound = np.repeat(np.arange(count), [part.unknowns.size for part in loose])
    rows = np.concatenate([np.zeros(0, int), *[part.rows for part in loose], m + np.arange(bounds.size)])
    which = np.concatenate([np.repeat(np.arange(count), [part.rows.size for part in loose]), of_bound])
    lower, upper = program.lower.copy(), program.upper.copy()
    lower[bounds] = np.where(within < 0, -np.inf, program.lower[within])
    upper[bounds] = np.where(within < 0, np.inf, program.upper[within])
    B = program.linear
    linear = compressed(
        np.concatenate([B.line_of, bounds, n + which, n + count + which]),
        np.concatenate([B.indices, m + np.arange(bounds.size), rows, rows]),
        np.concatenate([B.data, np.ones(bounds.size), np.ones(rows.size), -np.ones(rows.size)]),
        (n + 2 * count, m + bounds.size),
    )
    blocks = [
        replace(
            b,
            gather=_widened(b.gather, n + 2 * count),
            scatter=_widened(b.scatter, m + bounds.size),
            weights=np.zeros_like(b.weights),
        )
        for b in program.blocks
    ]
    prices = np.tile([part.price for part in loose], 2)
    open_ended = np.flatnonzero(~np.isfinite(lower) & ~np.isfinite(upper))
    calm = np.full(open_ended.size, CALM / max(open_ended.size, 1))
    shape = (n + 2 * count, m + bounds.size)
    sides = np.arange(n, n + 2 * count)
    p = program.parameters.size
    return Program(
        (*blocks, *_priced(sides, prices, 1, shape, p), *_priced(open_ended, calm, 2, shape, p)),
        linear,
        np.concatenate([lower, np.zeros(2 * count)]),
        np.concatenate([upper, np.full(2 * count, np.inf)]),
        np.concatenate([program.g_lower, program.lower[bounds]]),
        np.concatenate([program.g_upper, program.upper[bounds]]),
        np.concatenate([program.start, np.full(2 * count, 0.1)]),
        program.parameters,
    )


def _priced(unknowns: Index, prices: Array, power: int, shape: tuple[int, int], parameters: int) -> Iterator[Block]:
    """The cost of unknowns, each raised to a power, at its price; nothing where there are none."""
    count = unknowns.size
    if count:
        w = casadi.SX.sym("w")
        kernel = make_kernel("price", w, casadi.SX(0, 1), casadi.SX.sym("p", parameters), casadi.SX(0, 1), w**power)
        gather = compressed(np.arange(count), unknowns, np.ones(count), (count, shape[0]))
        yield Block(kernel, count, gather, np.zeros((0, count)), compressed([], [], [], (0, shape[1])), prices)


def _widened(lines: Lines, width: int) -> Lines:
    return Lines(lines.pointers, lines.indices, lines.data, width)
