"""The controls that minimize H at one point (t, x, costate), found from several starts where H is
not convex.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.errors import GuessError
from trajopt.indirect.control_law import ArcLaw, ArcParts
from trajopt.indirect.hamiltonian import PhaseHamiltonian
from trajopt.indirect.modes import Mode
from trajopt.indirect.settings import START

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Minimum:
    """The minimizing controls at a point, with algebraic variables and multipliers (of those, of
    equality constraints).
    """

    u: Array
    z: Array
    kappa: Array
    mu: Array

    def unknowns(self, law: ArcLaw) -> Array:
        """The unknowns v of an arc's law, in its order."""
        roles = law.mode.roles
        free = [i for i, r in enumerate(roles) if r == "interior"] + [
            i for i, r in enumerate(roles) if r == "singular"
        ]
        mu = self.mu if self.mu.size == len(law.mode.active) else np.zeros(len(law.mode.active))
        return np.concatenate([self.u[free], self.z, self.kappa, mu])


def idle_minimizer(law: ArcLaw) -> Minimizer:
    """For an arc with controls that H leaves open: minimizes what decides about them.

    The others are held anywhere.
    """
    ham = law.hamiltonian
    others = [ham.phase.u[i] for i in range(ham.phase.u.numel()) if i not in law.idle]
    H = law.idle_H + 0.5 * casadi.sumsqr(casadi.vertcat(ham.symbols(0, 1), *others))
    return Minimizer(replace(ham, H=H), law.idle)


class Minimizer:
    """Minimizes the Hamiltonian of a phase over its controls.

    Controls between bounds by a projected Newton method that follows directions of negative
    curvature downhill; together with equality constraints or algebraic variables by Newton's method
    on the stationarity conditions. ``varied`` are the controls in which the starts differ, all by
    default.
    """

    def __init__(self, ham: PhaseHamiltonian, varied: tuple[int, ...] | None = None) -> None:
        self.ham, ph = ham, ham.phase
        self.varied = tuple(range(ph.u.numel())) if varied is None else varied
        fixed = ham.arguments
        hessian, gradient = casadi.hessian(ham.H, ph.u)
        self.coupled = bool(ph.z.numel()) or any(c.equality for c in ham.constraints)
        self.affine = not self.coupled and hessian.nnz() == 0
        if self.coupled:
            mode = Mode(
                ("interior",) * ph.u.numel(),
                tuple((i, "upper") for i, c in enumerate(ham.constraints) if c.equality),
            )
            arc = ArcParts(ham, mode)
            equations = arc.equations()
            self._kkt: Any = casadi.Function(
                "kkt",
                [arc.v, *fixed],
                [equations, casadi.densify(casadi.jacobian(equations, arc.v)), arc.bare_H],
            )
        else:
            self._H: Any = casadi.Function(
                "H", [ph.u, *fixed], [ham.H, casadi.densify(gradient), casadi.densify(hessian)]
            )
            self._value: Any = casadi.Function("H", [ph.u, *fixed], [ham.H])

    def __call__(
        self,
        t: float,
        x: Array,
        costate: Array,
        fixed: tuple[Array, ...],
        near: Array | None = None,
    ) -> Minimum:
        """The minimum at a point; ``near`` is a first start."""
        ph, at = self.ham.phase, (t, x, costate, *fixed)
        starts = ([near] if near is not None else []) + self._starts()
        found = [
            m
            for m in (
                self._stationary(u, at) if self.coupled else self._descended(u, at) for u in starts
            )
            if m is not None
        ]
        if not found:
            raise GuessError(
                f"no controls of phase '{ph.name}' minimize H",
                got=f"t = {t:g}, costates {np.array2string(costate, precision=4)}",
            )
        return min(found, key=lambda pair: pair[0])[1]

    def _starts(self) -> list[Array]:
        bound = self.ham.phase.u_bound
        low = np.where(
            np.isfinite(bound.lower),
            bound.lower,
            np.where(np.isfinite(bound.upper), bound.upper - 2 * START.unbounded, -START.unbounded),
        )
        high = np.where(
            np.isfinite(bound.upper),
            bound.upper,
            np.where(np.isfinite(bound.lower), bound.lower + 2 * START.unbounded, START.unbounded),
        )
        varied = len(self.varied)
        count = START.starts if START.starts**varied <= START.most_starts else 2
        middle = 0.5 * (low + high)
        if self.affine or 2**varied > START.most_starts:
            return [middle]
        ticks = [
            np.linspace(low[i], high[i], count + 2)[1:-1] if i in self.varied else middle[[i]]
            for i in range(low.size)
        ]
        return [np.array(point) for point in product(*ticks)]

    def _descended(self, u: Array, at: tuple[Any, ...]) -> tuple[float, Minimum] | None:
        bound = self.ham.phase.u_bound
        u = np.clip(u, bound.lower, bound.upper)
        for _ in range(60):
            value, gradient, hessian = (np.asarray(part.full()) for part in self._H(u, *at))
            H, g = float(value[0, 0]), gradient.ravel()
            if not np.isfinite(H):
                return None
            free = ~(((u <= bound.lower) & (g > 0)) | ((u >= bound.upper) & (g < 0)))
            if not np.any(free) or np.abs(g[free]).max() <= 1e-14 * (1 + np.abs(g).max()):
                break
            curvatures, directions = np.linalg.eigh(hessian[np.ix_(free, free)])
            small = 1e-12 * max(1.0, float(np.abs(curvatures).max()))
            if self.affine or np.all(np.abs(curvatures) < small):
                far = np.where(g[free] > 0, bound.lower[free], bound.upper[free])
                if not np.all(np.isfinite(far)):
                    return None
                u[free] = far
                continue
            step = np.zeros_like(u)
            step[free] = -directions @ (
                (directions.T @ g[free]) / np.maximum(np.abs(curvatures), small)
            )
            moved = self._searched(u, step, H, at)
            if moved is None:
                # H no longer resolves the difference, but its gradient does: the last Newton step
                # is still good.
                if np.all(curvatures > small) and np.abs(step).max() < 1e-3 * (1 + np.abs(u).max()):
                    u = np.clip(u + step, bound.lower, bound.upper)
                break
            u = moved
        return float(self._value(u, *at)), Minimum(u, np.zeros(0), np.zeros(0), np.zeros(0))

    def _searched(self, u: Array, step: Array, H: float, at: tuple[Any, ...]) -> Array | None:
        bound, fraction = self.ham.phase.u_bound, 1.0
        while fraction > 1e-8:
            trial = np.clip(u + fraction * step, bound.lower, bound.upper)
            if float(self._value(trial, *at)) < H - 1e-15 * abs(H):
                return np.asarray(trial)
            fraction *= 0.5
        return None

    def _stationary(self, u: Array, at: tuple[Any, ...]) -> tuple[float, Minimum] | None:
        ph = self.ham.phase
        nu, nz = ph.u.numel(), ph.z.numel()
        v = np.concatenate([u, np.zeros(self._kkt.size1_in(0) - nu)])
        with np.errstate(all="ignore"):
            for iteration in range(60):
                residual, jacobian, H = (np.asarray(part.full()) for part in self._kkt(v, *at))
                if not np.all(np.isfinite(jacobian)):
                    return None
                step = np.linalg.lstsq(jacobian, -residual.ravel(), rcond=1e-13)[0]
                # multipliers are linear: put them in place before the controls move
                if iteration == 0:
                    step[:nu] = 0.0
                v = v + step * min(
                    1.0, 1.0 / max(float(np.abs(step[:nu]).max(initial=0.0)), 1e-300)
                )
                if iteration and np.abs(step).max() < 1e-13 * (1 + np.abs(v).max()):
                    break
        bound, slack = ph.u_bound, 1e-9
        if (
            np.abs(residual).max() > 1e-8
            or np.any(v[:nu] < bound.lower - slack)
            or np.any(v[:nu] > bound.upper + slack)
        ):
            return None
        return float(H[0, 0]), Minimum(
            v[:nu], v[nu : nu + nz], v[nu + nz : nu + 2 * nz], v[nu + 2 * nz :]
        )
