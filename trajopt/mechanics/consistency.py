"""Checks of a mechanism at random states: conditions that every model must satisfy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import casadi
import numpy as np
import scipy.linalg

from trajopt.errors import ModelError
from trajopt.mechanics.constraints import Vector
from trajopt.mechanics.lagrange import Mechanism
from trajopt.system import System


@dataclass(frozen=True)
class ModelCheck:
    """One row of a report: the largest value, its tolerance, and the state at which it occurs."""

    name: str
    value: float
    tolerance: float
    ok: bool
    where: str = ""


@dataclass(frozen=True)
class ModelReport:
    """The checks of a model; ``print`` formats them as a table."""

    model: str
    rows: tuple[ModelCheck, ...]

    @property
    def ok(self) -> bool:
        return all(row.ok for row in self.rows)

    @property
    def failing(self) -> tuple[str, ...]:
        return tuple(row.name for row in self.rows if not row.ok)

    def check(self) -> ModelReport:
        """Return the report; raise ``ModelError`` with the names of failed rows."""
        if not self.ok:
            raise ModelError(
                f"'{self.model}' fails its checks: {', '.join(self.failing)}", got="\n" + str(self)
            )
        return self

    def __str__(self) -> str:
        width = max(len(row.name) for row in self.rows)
        lines = [f"{self.model}"]
        for row in self.rows:
            verdict = "ok" if row.ok else "FAILS"
            lines.append(
                f"  {row.name:<{width}}  {row.value:9.2e}  {row.tolerance:9.2e}  {verdict:5}  "
                f"{row.where}".rstrip()
            )
        return "\n".join(lines)


def check_model(
    model: Mechanism | System, samples: int = 20, seed: int = 0, spread: float = 0.3
) -> ModelReport:
    """Check symmetry and definiteness of M, power balance, agreement of derivations and rank of
    constraints at random states.

    ``model`` is a mechanism, or a system made from one. The states are consistent: positions around
    the initial ones (``spread`` is their standard deviation) and velocities of the same size, both
    projected onto the constraints. Definiteness is checked on the null space of the constraints.

    >>> from trajopt.mechanics.lagrange import Coordinate
    >>> x = Coordinate("x", 1.0)
    >>> check_model(Mechanism("oscillator", (x,), x.v**2 / 2, x.q**2)).ok
    True
    >>> check_model(Mechanism("nonsense", (x,), -(x.v**2) / 2)).failing
    ('definiteness of M',)
    """
    mechanism = model.mechanism if isinstance(model, System) else model
    if mechanism is None:
        raise ModelError(
            f"system '{model.name}' was not made from a mechanism",
            expected="a system made by mechanism.system()",
        )
    worst: dict[str, tuple[float, str]] = {}

    def note(name: str, value: float, where: str) -> None:
        value = float(value) if np.isfinite(value) else np.inf
        if name not in worst or value > worst[name][0]:
            worst[name] = (value, where)

    evaluator = _Evaluator.of(mechanism)
    for q, v, t in _states(mechanism, samples, seed, spread):
        where = "q = " + np.array2string(q, precision=3, suppress_small=True, threshold=8)
        for name, value in evaluator.figures(q, v, t):
            note(name, value, where)
    rows = [
        ModelCheck(
            name,
            value,
            _TOLERANCES[name],
            value <= _TOLERANCES[name],
            "" if value <= _TOLERANCES[name] else where,
        )
        for name, (value, where) in worst.items()
    ]
    return ModelReport(mechanism.name, tuple(rows))


# Relative values, limited by round-off. Definiteness is the ratio of the largest to the smallest
# eigenvalue.
_TOLERANCES = {
    "symmetry of M": 1e-12,
    "definiteness of M": 1e12,
    "power balance": 1e-9,
    "equations of motion": 1e-9,
    "Lagrange and Newton-Euler": 1e-10,
    "dependent constraints": 0.0,
}


@dataclass(frozen=True, eq=False)
class _Evaluator:
    """The expressions of all checks as one function of a state, its accelerations and reactions."""

    mechanism: Mechanism
    names: tuple[str, ...]
    whole: casadi.Function

    @staticmethod
    def of(m: Mechanism) -> _Evaluator:
        a, r = casadi.SX.sym("a", len(m.coordinates)), casadi.SX.sym("r", len(m.rows))
        found = _expressions(m, a, r)
        whole = casadi.Function(
            "checks",
            [m.q, m.v, m.u, m.p, m.time, a, r],
            [casadi.densify(e) for e in found.values()],
        )
        return _Evaluator(m, tuple(found), whole)

    def figures(self, q: Vector, v: Vector, t: float) -> Iterator[tuple[str, float]]:
        m = self.mechanism
        arguments = m.arguments(q, v, t=t)
        a, r, _ = m.functions.solved(*arguments)
        at = {
            name: np.array(value)
            for name, value in zip(self.names, self.whole(*arguments, a, r), strict=True)
        }
        M, A = at["mass"], at["matrix"]
        size = float(np.abs(M).max())
        yield "symmetry of M", float(np.abs(M - M.T).max()) / size
        allowed = scipy.linalg.null_space(A) if len(A) else np.eye(len(M))
        if allowed.shape[1]:
            values = np.linalg.eigvalsh(allowed.T @ (M + M.T) @ allowed / 2)
            yield "definiteness of M", float(values[-1] / values[0]) if values[0] > 0 else np.inf
        yield "power balance", abs(at["imbalance"].item()) / (1e-3 + at["exchange"].item())
        yield (
            "equations of motion",
            float(np.abs(at["residual"]).max()) / (1e-3 + at["terms"].item()),
        )
        if m.inertia:
            of_mass = float(np.abs(M - at["mass by Lagrange"]).max()) / size
            of_bias = float(
                np.abs(at["bias"] - at["bias by Lagrange"]).max() / (1.0 + np.abs(at["bias"]).max())
            )
            yield "Lagrange and Newton-Euler", max(of_mass, of_bias)
        if m.rows:
            yield "dependent constraints", float(len(m.dependent_constraints(q, t)))


def _expressions(m: Mechanism, a: casadi.SX, r: casadi.SX) -> dict[str, casadi.SX]:
    lagrange = replace(m, inertia=None) if m.inertia else m
    size, dot, total = casadi.fabs, casadi.dot, casadi.sum1
    terms = m.equations
    E_q, E_v = casadi.gradient(terms.energy, m.q), casadi.gradient(terms.energy, m.v)
    reaction = terms.directions @ r
    energy_rate = dot(E_q, m.v) + dot(E_v, a) + casadi.jacobian(terms.energy, m.time)
    power = dot(terms.force + reaction, m.v) - casadi.jacobian(terms.lagrangian, m.time)
    return {
        "mass": terms.mass,
        "bias": terms.bias,
        "matrix": terms.matrix,
        "mass by Lagrange": lagrange.equations.mass,
        "bias by Lagrange": lagrange.equations.bias,
        "imbalance": energy_rate - power,
        "exchange": dot(size(E_q), size(m.v)) + dot(size(E_v), size(a)),  # scale of the imbalance
        "residual": casadi.vertcat(
            terms.mass @ a + terms.bias - terms.force - reaction, terms.matrix @ a + terms.drift
        ),
        "terms": total(size(terms.mass) @ size(a))
        + total(size(terms.bias))
        + total(size(terms.matrix) @ size(a)),
    }


def _states(
    mechanism: Mechanism, samples: int, seed: int, spread: float
) -> Iterator[tuple[Vector, Vector, float]]:
    rng = np.random.default_rng(seed)
    names = [c.name for c in mechanism.coordinates]
    q0, v0 = mechanism.start
    for _ in range(samples):
        t, reach = float(rng.uniform(0.0, 1.0)), spread
        dq, dv = rng.standard_normal(q0.size), rng.standard_normal(q0.size)
        while True:
            moved = mechanism.starting_at(
                dict(zip(names, q0 + reach * dq, strict=True)),
                dict(zip(names, v0 + spread * dv, strict=True)),
            )
            try:
                q, v = moved.consistent(t=t).start
            except ModelError:
                reach /= 2  # the constraints cannot be satisfied there
                if reach < 1e-3 * spread:
                    raise
            else:
                yield q, v, t
                break
