"""``recommended_gain``: the gain with the least drift, predicted from single steps.

A step from a point on the manifold leaves it by a local error e. Over a run the deviations follow y
<- R(tau K) y + e. With Euler's scheme, and with other fixed-step schemes if the deviation is
sampled at the start of the step (``Baumgarte``), e hardly depends on the gain, and the best gain is
of the order of 1/tau. Otherwise e grows with a power of tau a: inside a step the stages leave the
manifold and the stabilization responds to that; the best gain is then set by the rates of the
motion and far lower.

An initial deviation adds R^n y(start). Since no gain removes it at once, only its remainder in the
last quarter of the run counts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import casadi
import numpy as np
import scipy.optimize

from trajopt.compiled.pointwise import Pointwise
from trajopt.integrate.corrections import projection
from trajopt.integrate.events import run
from trajopt.integrate.fixed_step import Integrator, runge_kutta
from trajopt.integrate.gains import stability_limit, stability_polynomial
from trajopt.integrate.library_integrators import Dop853
from trajopt.integrate.rates import Rate, evaluate, function_of_state, rate_of_system
from trajopt.integrate.reactions import Baumgarte
from trajopt.integrate.stabilize import Stabilization
from trajopt.integrate.tableaus import FEHLBERG, Tableau
from trajopt.system import System

FEWEST, MOST = 300, 1000  # points of the motion at which single steps are evaluated
WORK = 5_000_000  # instructions for each gain, which determine the number of points
PILOT = 20.0  # s, maximum duration of the pilot run
DECADES = 4.5  # search range below the stability limit
MARGIN = 0.75  # of the range of stable gains, as margin for nonlinearity
NEGLIGIBLE = 1e-13  # deviations below this are ignored
LAST_QUARTER = 0.75
RESOLUTION = 0.5  # sampling interval relative to the steps of an integrator of order 8
AS_GOOD = 1.05  # drifts within this factor of the least are considered equal
STAND_IN = FEHLBERG  # used for implicit schemes, whose stable range of gains is at least as large


def recommended_gain(
    system: System,
    integrator: Integrator,
    stabilization: Stabilization | None = None,
    until: float | None = None,
) -> float:
    """Return the gain, in 1/s, with the least drift for this integrator.

    It is within a factor of two of the best gain found by full runs. If drifts are within 5 % of
    the least, it is the highest such gain. For adaptive integrators the criterion is the drift at
    equal work: at a given tolerance a higher gain always leaves less drift but shortens the steps,
    and a finer tolerance would reduce the drift more. An initial deviation must decay within three
    quarters of the run.

    Examples
    --------
    >>> from problems.lecture import pendulum_cartesian
    >>> from trajopt.integrate import Euler, Fehlberg, Rk4
    >>> 1000 < recommended_gain(pendulum_cartesian(), Euler(1e-3)) < 2000
    True
    >>> 1000 < recommended_gain(pendulum_cartesian(), Rk4(1e-3)) < 2200
    True
    >>> 1 < recommended_gain(pendulum_cartesian(), Fehlberg(1e-8)) < 5
    True
    """
    way = stabilization or Baumgarte()
    trial = _trial(system, integrator, way, system.until if until is None else until)
    top = np.log10(MARGIN * stability_limit(trial.tableau) / np.median(trial.step))
    grid = np.linspace(top - DECADES, top, 14)
    tried = {g: trial.score(10**g) for g in grid}
    best = int(np.argmin(list(tried.values())))

    def score(g: float) -> float:
        tried[g] = trial.score(10**g)
        return tried[g]

    bounds = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    scipy.optimize.minimize_scalar(
        score, bounds=bounds, method="bounded", options={"maxiter": 8, "xatol": 0.02}
    )
    least = min(tried.values())
    # If the drift hardly depends on the gain, a higher one corrects unpredicted errors faster.
    return float(10 ** max(g for g, drift in tried.items() if drift <= least + np.log10(AS_GOOD)))


@dataclass(frozen=True)
class _Trial:
    """Data for the evaluation of single steps: the scheme, points on the manifold, and step sizes
    there.
    """

    system: System
    way: Stabilization
    tableau: Tableau
    t: np.ndarray  # (k,)
    x: np.ndarray  # (k, n)
    step: np.ndarray  # (k,) step sizes
    repeat: int  # number of steps from one point to the next
    initial: np.ndarray  # (rows,) initial deviations
    duration: float  # of the run
    errors: np.ndarray | None = None  # (k, rows) local errors, if independent of the gain

    def score(self, gain: float) -> float:
        """Return the mean logarithm of the largest predicted drift of each deviation."""
        way = self.way.with_gain(gain)
        K = way.matrix(self.system)
        assert K is not None
        e = (
            self.errors
            if self.errors is not None
            else self._local_errors(rate_of_system(way.prepare(self.system).system))
        )
        coefficients = stability_polynomial(self.tableau)
        y, largest = np.zeros(len(K)), self._left_of_start(coefficients, K)
        decay = gather = np.zeros_like(K)
        for i, error in enumerate(e):
            if i == 0 or self.step[i] != self.step[i - 1]:
                decay, gather = _recursion(coefficients, self.step[i] * K, self.repeat)
            with np.errstate(all="ignore"):
                y = decay @ y + gather @ error
            largest = np.maximum(largest, np.abs(y))
        score = float(
            np.mean(np.log10(largest[list(self.way.deviations(self.system).levels)] + NEGLIGIBLE))
        )
        return score if np.isfinite(score) else np.inf

    def _left_of_start(self, coefficients: np.ndarray, K: np.ndarray) -> np.ndarray:
        """Return the remainder of the initial deviation in the last quarter of the run."""
        step = float(np.median(self.step))
        with np.errstate(all="ignore"):
            decay, _ = _recursion(
                coefficients, step * K, max(1, round(LAST_QUARTER * self.duration / step))
            )
            left: np.ndarray = (
                np.abs(decay @ self.initial) if np.any(self.initial) else np.zeros(len(K))
            )
        return left

    def _local_errors(self, rate: Rate) -> np.ndarray:
        assert rate.function is not None
        t, x, h = rate.symbolic(self.tableau.stages)
        x1, _ = runge_kutta(self.tableau, rate.function, t, x, h)
        one = casadi.Function("one", [t, x, h], [x1])
        after = np.asarray(one(self.t.reshape(1, -1), self.x.T, self.step.reshape(1, -1))).T
        y = _deviations(self.system, self.way)
        left: np.ndarray = evaluate(y, self.t + self.step, after) - evaluate(y, self.t, self.x)
        return left


def _recursion(
    coefficients: np.ndarray, z: np.ndarray, repeat: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return R(z)^repeat and the sum of the lower powers: the effect of ``repeat`` steps with a
    constant error.
    """
    R, power = np.zeros_like(z), np.eye(len(z))
    for coefficient in coefficients:
        R, power = R + coefficient * power, power @ z
    if repeat == 1:
        return R, np.eye(len(z))
    decay = np.linalg.matrix_power(R, repeat)
    return decay, np.linalg.solve(np.eye(len(z)) - R, np.eye(len(z)) - decay)


def _trial(system: System, integrator: Integrator, way: Stabilization, until: float) -> _Trial:
    pilot = min(until, PILOT)
    rate = rate_of_system(system)
    tableau = integrator.scheme or STAND_IN
    assert rate.function is not None
    points = int(np.clip(WORK / (tableau.stages * rate.function.n_instructions()), FEWEST, MOST))
    if integrator.fixed_step is not None:
        path, _ = run(rate, Dop853(1e-8), (0.0, system.start, pilot))
        t, stride = _busiest(path.t, integrator.fixed_step, points)
        x, step = path(t), np.full(len(t), integrator.fixed_step)
    else:
        path, _ = run(rate, integrator, (0.0, system.start, pilot))
        stride = max(1, len(path.t) // points)
        t, x, step = path.t[:-1:stride], path.x[:-1:stride], np.diff(path.t)[::stride]
    initial = evaluate(_deviations(system, way), np.zeros(1), system.start[None])[0]
    # Points on the manifold, so that the deviation after a step is its local error.
    x = evaluate(Pointwise(projection(system, way.deviations(system).y)), t, x)
    trial = _Trial(system, way, tableau, t, x, step, stride, initial, until)
    if not samples(integrator) or way.with_gain(1.0).sampled(system) is None:
        return trial
    # With a deviation sampled at the beginning, a step from a point on the manifold is a step
    # without stabilization.
    return replace(trial, errors=trial._local_errors(rate))


def samples(integrator: Integrator) -> bool:
    """True if a stabilization samples the deviation at the beginning of a step: fixed step and
    several stages.
    """
    return (
        integrator.fixed_step is not None
        and integrator.scheme is not None
        and integrator.scheme.stages > 1
    )


def _busiest(knots: np.ndarray, step: float, samples: int) -> tuple[np.ndarray, int]:
    """Return sample times and the number of steps between them, in the part of a motion where
    adaptive steps are shortest.

    Local errors oscillate faster than the motion, with the harmonics of its rates. Coarse sampling
    would alias them to slow oscillations, which a gain would damp. Therefore the samples are dense
    and, if their number does not suffice for the whole motion, cover the part with the largest
    errors.
    """
    stride = max(1, int(RESOLUTION * np.quantile(np.diff(knots), 0.1) / step))
    end, length = float(knots[-1]), samples * stride * step
    crowd = np.searchsorted(knots, knots + length) - np.arange(len(knots))
    first = 0.0 if length >= end else min(float(knots[int(np.argmax(crowd))]), end - length)
    count = max(1, round(min(length, end) / (stride * step)))
    return first + stride * step * np.arange(count), stride


def _deviations(system: System, way: Stabilization) -> Pointwise:
    return Pointwise(function_of_state(system, way.deviations(system).y))
