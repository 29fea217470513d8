"""Loosening: a program whose conditions may be violated, at a cost.

Each group of conditions may be violated by one amount, in units of its size, at a weight (an exact
penalty of first order).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.nlp.backends import Outcome, Result
from trajopt.nlp.program import Block, Program, constraints_at, cost_at, make_kernel
from trajopt.nlp.sparse_rows import SparseRows, compressed

Array = NDArray[np.float64]
Index = NDArray[np.int_]


@dataclass(frozen=True, eq=False)
class ElasticGroup:
    """What may be violated together by one amount: constraint rows, or the bounds of unknowns."""

    rows: Index
    unknowns: Index
    within: Index  # unknowns whose bounds they keep instead; none where they are set free
    weight: float = 1.0


@dataclass(frozen=True, eq=False)
class Loosening:
    """A transformation of programs in which some of their constraints become elastic."""

    groups: tuple[ElasticGroup, ...]
    kept: Index  # unknowns that stay where they start
    regularization: float
    start: float  # initial violation, in sizes
    violated: float  # of its size: how much of a constraint is

    def loosened(self, program: Program) -> Program:
        """The program whose cost is the weighted sum of violations."""
        loose = make_elastic(program, self.groups, self.regularization, self.start)
        start = np.clip(loose.start, loose.lower, loose.upper)[self.kept]
        loose.lower[self.kept] = loose.upper[self.kept] = start
        return loose

    def restored(self, result: Result, program: Program) -> Result:
        """The answer to the loosened program as one to ``program``: SOLVED if no condition had to
        be violated, else LEAST_VIOLATION.
        """
        y = result.y[: program.unknowns]
        slack = result.y[program.unknowns :].reshape(2, -1)
        outcome = result.outcome
        if (
            outcome is Outcome.SOLVED
            and float(np.abs(slack[1] - slack[0]).max(initial=0.0)) > self.violated
        ):
            outcome = Outcome.LEAST_VIOLATION
        return replace(
            result,
            outcome=outcome,
            y=y,
            f=cost_at(program, y),
            g=constraints_at(program, y),
            bound_multipliers=result.bound_multipliers[: program.unknowns],
            constraint_multipliers=result.constraint_multipliers[: program.constraints],
        )


def make_elastic(
    program: Program, loose: tuple[ElasticGroup, ...], regularization: float, start: float
) -> Program:
    """The program with amounts by which constraints are violated, up or down, as further unknowns.

    Their weighted sum is its cost.
    """
    n, m, count = program.unknowns, program.constraints, len(loose)
    bounds = np.concatenate([np.zeros(0, int), *[part.unknowns for part in loose]])
    within = np.concatenate(
        [
            np.zeros(0, int),
            *[
                part.within if part.within.size else -np.ones(part.unknowns.size, int)
                for part in loose
            ],
        ]
    )
    of_bound = np.repeat(np.arange(count), [part.unknowns.size for part in loose])
    rows = np.concatenate(
        [np.zeros(0, int), *[part.rows for part in loose], m + np.arange(bounds.size)]
    )
    which = np.concatenate(
        [np.repeat(np.arange(count), [part.rows.size for part in loose]), of_bound]
    )
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
    weights = np.tile([part.weight for part in loose], 2)
    open_ended = np.flatnonzero(~np.isfinite(lower) & ~np.isfinite(upper))
    small = np.full(open_ended.size, regularization / max(open_ended.size, 1))
    shape = (n + 2 * count, m + bounds.size)
    sides = np.arange(n, n + 2 * count)
    p = program.parameters.size
    return Program(
        (
            *blocks,
            *_weighted(sides, weights, 1, shape, p),
            *_weighted(open_ended, small, 2, shape, p),
        ),
        linear,
        np.concatenate([lower, np.zeros(2 * count)]),
        np.concatenate([upper, np.full(2 * count, np.inf)]),
        np.concatenate([program.g_lower, program.lower[bounds]]),
        np.concatenate([program.g_upper, program.upper[bounds]]),
        np.concatenate([program.start, np.full(2 * count, start)]),
        program.parameters,
    )


def _weighted(
    unknowns: Index, weights: Array, power: int, shape: tuple[int, int], parameters: int
) -> Iterator[Block]:
    """The weighted sum of unknowns, each raised to a power; zero without unknowns."""
    count = unknowns.size
    if count:
        w = casadi.SX.sym("w")
        kernel = make_kernel(
            "weighted",
            w,
            casadi.SX(0, 1),
            casadi.SX.sym("p", parameters),
            casadi.SX(0, 1),
            w**power,
        )
        gather = compressed(np.arange(count), unknowns, np.ones(count), (count, shape[0]))
        yield Block(
            kernel,
            count,
            gather,
            np.zeros((0, count)),
            compressed([], [], [], (0, shape[1])),
            weights,
        )


def _widened(lines: SparseRows, width: int) -> SparseRows:
    return SparseRows(lines.pointers, lines.indices, lines.data, width)
