"""Newmark's scheme, for second-order systems."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import casadi

from trajopt.errors import ModelError, UsageError
from trajopt.integrate.dense_output import Segment
from trajopt.integrate.fixed_step import Integrator, Leg, march, positive
from trajopt.integrate.rates import Rate


@dataclass(frozen=True)
class Newmark(Integrator):
    """Newmark's scheme for q'' = a(t, q, q'), implicit, of order 2 for gamma = 1/2.

    q1 = q0 + h v0 + h^2 ((1/2 - beta) a0 + beta a1),  v1 = v0 + h ((1 - gamma) a0 + gamma a1); beta
    = 1/4: trapezoidal rule.
    """

    step: float = 1e-3
    beta: float = 0.25
    gamma: float = 0.5

    def __post_init__(self) -> None:
        positive(self.step, "step")
        if not 0 <= self.beta <= 0.5 or not 0 <= self.gamma <= 1:
            raise UsageError(
                "Newmark's parameters are out of range",
                got=(self.beta, self.gamma),
                expected="0 <= beta <= 1/2, 0 <= gamma <= 1",
            )

    @property
    def label(self) -> str:
        return f"newmark (beta {self.beta:g}), step {self.step:g}"

    @property
    def fixed_step(self) -> float | None:
        return self.step

    def pieces(
        self, rate: Rate, leg: Leg, project: casadi.Function | None = None
    ) -> Iterator[Segment]:
        step = rate.cached(
            ("newmark", self.beta, self.gamma, rate.kept(project)),
            lambda: self._step(rate, project),
        )
        yield from march(rate, step, self.step, leg)

    def _step(self, rate: Rate, project: casadi.Function | None) -> casadi.Function:
        positions, velocities = position_velocity_pairs(rate)
        n = len(positions)
        # of the states, from (q, v)
        order = [(positions + velocities).index(i) for i in range(2 * n)]
        t, q, v = casadi.SX.sym("t"), casadi.SX.sym("q", n), casadi.SX.sym("v", n)
        assert rate.function is not None  # checked by position_velocity_pairs
        f = rate.function(t, casadi.vertcat(q, v)[order])
        acceleration = casadi.Function("acceleration", [t, q, v], [f[velocities]])
        x, h, a1 = casadi.SX.sym("x", 2 * n), casadi.SX.sym("h"), casadi.SX.sym("a1", n)
        q0, v0 = x[positions], x[velocities]
        a0 = acceleration(t, q0, v0)
        q1 = q0 + h * v0 + h**2 * ((0.5 - self.beta) * a0 + self.beta * a1)
        v1 = v0 + h * ((1 - self.gamma) * a0 + self.gamma * a1)
        residual = casadi.Function("residual", [a1, x, t, h], [a1 - acceleration(t + h, q1, v1)])
        solver = casadi.rootfinder(
            "newmark",
            "newton",
            residual,
            {"abstol": 1e-13, "abstolStep": 1e-13, "max_iter": 50, "error_on_fail": False},
        )
        update = casadi.Function("update", [a1, x, t, h], [casadi.vertcat(q1, v1)[order]])
        start = casadi.Function("start", [x, t], [a0])
        xs, ts, hs = casadi.MX.sym("x", 2 * n), casadi.MX.sym("t"), casadi.MX.sym("h")
        x1 = update(solver(start(xs, ts), xs, ts, hs), xs, ts, hs)
        return casadi.Function(
            "step", [xs, ts, hs], [x1 if project is None else project(ts + hs, x1)]
        )


def position_velocity_pairs(rate: Rate) -> tuple[list[int], list[int]]:
    """Return the indices of positions and of their velocities, q' = v."""
    if rate.function is None or not rate.function.is_a("SXFunction"):
        raise ModelError(
            "Newmark's scheme needs the rates as an SX expression",
            hint="use another integrator, as Rk4(1e-3)",
        )
    t, x = casadi.SX.sym("t"), casadi.SX.sym("x", rate.size)
    f = rate.function(t, x)
    pairs = [
        (i, j) for i in range(rate.size) for j in range(rate.size) if casadi.is_equal(f[i], x[j], 2)
    ]
    positions, velocities = [i for i, _ in pairs], [j for _, j in pairs]
    if sorted(positions + velocities) != list(range(rate.size)):
        odd = [
            name for i, name in enumerate(rate.names) if i not in positions and i not in velocities
        ]
        raise ModelError(
            "Newmark's scheme needs a second-order system",
            got=f"no pair position, velocity for {', '.join(odd) or 'some states'}",
            expected="each state a position or the velocity of one",
            hint="use another integrator, as Rk4(1e-3)",
        )
    return positions, velocities
