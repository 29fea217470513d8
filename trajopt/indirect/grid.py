"""Where the segments of an arc begin, and where their steps are.

Both come from the guess: steps from local errors of the flow and of its sensitivities, segments
from how fast neighbouring solutions separate. A hypersensitive problem has many short segments,
because in each of them an error may grow only by a limited factor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from trajopt.errors import GuessError
from trajopt.indirect.flow import ArcFlow
from trajopt.indirect.settings import GRID

Array = NDArray[np.float64]

# order of the error of a step; across the knot of a table, whose third derivative jumps
SMOOTH, ROUGH = (8, 4)


@dataclass(frozen=True)
class Grid:
    """Segments of an arc: each row of ``steps`` (N, number of steps + 1) is one segment in
    normalised time.
    """

    steps: Array

    @property
    def segments(self) -> int:
        return int(self.steps.shape[0])

    @property
    def starts(self) -> Array:
        return self.steps[:, 0]


@dataclass(frozen=True, eq=False)
class Probe:
    """The guess along an arc: values(tau) gives (N, node size).

    ``scale`` is a typical size of each component of the flow, ``places`` are where the guess itself
    has its knots. ``taken`` are the steps of an earlier flow along the same trajectories: start,
    end and relative error.
    """

    values: Callable[[Array], Array]
    scale: Array
    places: Array
    taken: Array = field(default_factory=lambda: np.zeros((0, 3)))


def choose_grid(flow: ArcFlow, probe: Probe, numbers: Array, p: Array, tolerance: float) -> Grid:
    """The grid of an arc along a guess."""
    tau, density, growth = _with_taken(
        probe.taken, tolerance, *_densities(flow, probe, numbers, p, tolerance)
    )
    total = _cumulative(tau, density)
    if not total[-1] < GRID.most_steps:
        raise _too_many_steps(flow, probe, (tau, 1.0 / density), numbers, p)
    limit = np.maximum(growth / np.log(GRID.growth), 1e-300)
    # Few steps make many segments; many make some segments have more than they need, because growth
    # makes them short. A segment itself costs about as much as a step. With more steps than growth
    # leaves room for, the segments stay the same.
    most = int(np.ceil(max(min(total[-1], float((density / limit).max())), 1.0)))

    def measure_with(n: int) -> Array:
        return _cumulative(tau, np.maximum(density / n, limit))

    steps = min(
        range(1, most + 1), key=lambda n: float(np.ceil(measure_with(n)[-1] - 1e-9)) * (n + 1)
    )
    measure = measure_with(steps)
    segments = max(int(np.ceil(measure[-1] - 1e-9)), 1)
    bounds = np.interp(np.linspace(0.0, measure[-1], segments + 1), measure, tau)
    bounds[0], bounds[-1] = 0.0, 1.0
    marks = np.interp(bounds, tau, total)
    inner = marks[:-1, None] + np.diff(marks)[:, None] * np.linspace(0.0, 1.0, steps + 1)[None, :]
    grid = np.interp(inner, total, tau)
    grid[:, 0], grid[:, -1] = bounds[:-1], bounds[1:]
    return Grid(grid)


def _too_many_steps(
    flow: ArcFlow, probe: Probe, steps: tuple[Array, Array], numbers: Array, p: Array
) -> GuessError:
    """Name the component with the largest error where steps are shortest; it is noise if it does
    not fall with the step.
    """
    worst = int(np.argmin(steps[1]))
    tau = steps[0][worst : worst + 1]
    h = steps[1][worst : worst + 1] * (1.0 if steps[0][worst] < 0.5 else -1.0)
    with np.errstate(all="ignore"):
        y = flow.start(probe.values(tau), numbers).end
        coarse, fine = (
            np.nan_to_num(flow.step(tau, part * h, y, numbers, p)[1][0] / probe.scale)
            for part in (16.0, 8.0)
        )
    component = int(np.argmax(fine))
    # A truncation error of order eight falls by 2^8 with half the step, a rounding error by two.
    noise = 0 < coarse[component] < 2.0**4 * fine[component]
    t = numbers[0] + tau[0] * (numbers[1] - numbers[0])
    return GuessError(
        "the Hamiltonian system cannot be followed along this guess",
        got=f"more than {GRID.most_steps} steps; "
        f"shortest at t = {t:.6g}, for {flow.names[component]}",
        hint="noise: rounding errors of the control law exceed the tolerance; try a larger one"
        if noise
        else "growth: costates or multipliers are far from a solution, or the control law is not "
        "defined there",
    )


def _densities(
    flow: ArcFlow, probe: Probe, numbers: Array, p: Array, tolerance: float
) -> tuple[Array, Array, Array]:
    """Places along the arc, how many steps per normalised time the tolerance asks for there, and
    growth rates of errors.
    """
    tau = np.unique(
        np.concatenate([np.linspace(0.0, 1.0, GRID.probes + 1), np.clip(probe.places, 0.0, 1.0)])
    )
    step, growth = _local_steps(
        flow, probe, numbers, p, tolerance, tau, np.full(tau.size, 1.0 / GRID.probes)
    )
    for _ in range(12):
        gaps = np.diff(tau)
        # The density is read between the places by linear interpolation, so neighbours must not
        # differ by much.
        ratio = np.maximum(step[1:] / step[:-1], step[:-1] / step[1:])
        split = (ratio > 2.0) & (gaps > 3 * np.minimum(step[1:], step[:-1]))
        if not np.any(split) or tau.size > GRID.most_probes:
            break
        between = 0.5 * (tau[1:] + tau[:-1])[split]
        first = np.sqrt(step[1:] * step[:-1])[split]
        more, more_growth = _local_steps(flow, probe, numbers, p, tolerance, between, first)
        order = np.argsort(np.concatenate([tau, between]))
        tau = np.concatenate([tau, between])[order]
        step = np.concatenate([step, more])[order]
        growth = np.concatenate([growth, more_growth])[order]
    return tau, 1.0 / step, growth


def _with_taken(
    taken: Array, tolerance: float, tau: Array, density: Array, growth: Array
) -> tuple[Array, Array, Array]:
    """Places, densities and growth rates, with densities that the errors of steps taken before ask
    for.

    Where the model is not smooth, as at a knot of a table, steps from the places of a guess do not
    show it; steps across it do.
    """
    for start, end, error in taken[taken[:, 2] > 0.0]:
        ratio = error / (GRID.taken * tolerance)
        asked = ratio ** (1 / (ROUGH if ratio > 1 else SMOOTH)) / (end - start)
        edges = np.clip([start, end], 0.0, 1.0)
        if asked <= np.interp(edges, tau, density).min():
            continue
        places = np.union1d(tau, edges)
        density, growth = np.interp(places, tau, density), np.interp(places, tau, growth)
        tau, inside = places, (places >= edges[0]) & (places <= edges[1])
        density[inside] = np.maximum(density[inside], asked)
    return tau, density, growth


def _local_steps(
    flow: ArcFlow, probe: Probe, numbers: Array, p: Array, tolerance: float, tau: Array, step: Array
) -> tuple[Array, Array]:
    """The step that meets the tolerance at each place, and the growth rate of errors over it."""
    run = flow.start(probe.values(tau), numbers)
    nodes = run.by_start.shape[2]
    relative = probe.scale[:nodes][None, None, :] / probe.scale[None, :, None]
    # steps stay inside the arc: beyond it the model may not be defined
    forward = np.where(tau > 0.5, -1.0, 1.0)
    growth = np.zeros(tau.size)
    with np.errstate(all="ignore"):
        for sweep in range(GRID.sweeps):
            step = np.clip(step, GRID.smallest, np.where(forward > 0, 1.0 - tau, tau))
            flow.spend(tau.size, None if sweep < GRID.plain_sweeps else numbers.size)
            if sweep < GRID.plain_sweeps:
                end, errors = flow.step(tau, forward * step, run.end, numbers, p)
                worst = (errors / (tolerance * (probe.scale + np.abs(run.end)))).max(axis=1)
            else:
                with_variation, errors, variation = flow.step_with_sensitivity(
                    tau, forward * step, run, numbers, p
                )
                end, sizes = with_variation.end, np.abs(with_variation.by_start * relative)
                largest, norm = sizes.max(axis=(1, 2)), sizes.sum(axis=2).max(axis=1)
                worst = (errors / (tolerance * (probe.scale + np.abs(run.end)))).max(axis=1)
                bent = np.abs(variation * relative).max(axis=(1, 2)) / (
                    GRID.sensitivity_tolerance * np.maximum(largest, 1.0)
                )
                worst = np.fmax(worst, bent)
                growth = np.log(np.maximum(np.where(np.isfinite(norm), norm, 1.0), 1.0)) / step
            worst = np.where(np.all(np.isfinite(end), axis=1), worst, np.inf)
            factor = np.clip(0.9 * np.maximum(worst, 1e-12) ** (-1 / 8), 0.1, 5.0)
            if sweep > GRID.plain_sweeps and not np.any(worst > GRID.accepted):
                break
            step = step * np.where(np.isfinite(worst), factor, 0.1)
    return np.clip(step, GRID.smallest, 1.0), growth


def _cumulative(tau: Array, density: Array) -> Array:
    return np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]) * np.diff(tau))])
