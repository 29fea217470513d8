"""The certificate of one and the same solution in other units, shifted, and with inactive bounds
widened: equal verdicts.

python -m tests.benchmarks.invariance [NAME ...]

Each solution is rewritten, not solved again: units of every variable, of time and of the cost
change by 1e3 and 1e-3, every state is shifted by 1e6 (by 1e6 times its range, where that is less
than one: numbers of double precision resolve no more), and bounds that are nowhere active are
widened. Verdicts must be the same; values must agree to 1 % or be below 1 % of their tolerance.
Exit code 1 where they differ.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import casadi
import numpy as np

from trajopt import Certificate, Solution, certify, solve
from trajopt.catalogue import builder
from trajopt.statement.bounds import Bound
from trajopt.statement.normal_form import InvariantForm, NamedVector, NormalForm, PhaseForm
from trajopt.trajectory.curve import Curve
from trajopt.trajectory.solution import PhaseSolution

NAMES = (
    "block-move",
    "brachistochrone",
    "lqr-scalar",
    "vanderpol-bounded",
    "double-integrator-minfuel",
    "double-integrator-mintime",
    "moon-lander",
    "bryson-denham",
    "goddard-cops",
    "cart-pole",
    "linear-tangent-steering",
    "orbit-raising",
)
CLOSE = 0.01


@dataclass(frozen=True)
class Rewriting:
    """New value = factor * value + shift, by the name of a variable; factors of time and of the
    cost.
    """

    label: str
    factors: Mapping[str, float] = field(default_factory=dict)
    shifts: Mapping[str, float] = field(default_factory=dict)
    time: float = 1.0
    cost: float = 1.0
    widened: bool = False

    def of(self, name: str) -> tuple[float, float]:
        return self.factors.get(name, 1.0), self.shifts.get(name, 0.0)

    def columns(self, quantities: tuple[NamedVector, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Factor and shift of every component."""
        found = np.array([self.of(q.name) for q in quantities for _ in range(q.size)]).reshape(
            -1, 2
        )
        return found[:, 0], found[:, 1]


def rewritings(form: NormalForm, solution: Solution) -> Iterator[Rewriting]:
    """One change at a time."""
    groups = [(ph.states, ph.controls, ph.algebraics) for ph in form.phases]
    names = {q.name for of in groups for group in of for q in group} | {
        q.name for q in form.statics
    }
    for factor in (1e3, 1e-3):
        for name in sorted(names):
            yield Rewriting(f"{name} times {factor:g}", factors={name: factor})
        yield Rewriting(f"time times {factor:g}", time=factor)
        yield Rewriting(f"cost times {factor:g}", cost=factor)
    for name in sorted({q.name for ph in form.phases for q in ph.states}):
        ranges = [
            np.ptp(ph.states[name].points, axis=0).max()
            for ph in solution.phases.values()
            if name in ph.states
        ]
        shift = 1e6 * min(1.0, float(max(ranges)) or 1.0)
        yield Rewriting(f"{name} plus {shift:.3g}", shifts={name: shift})
    yield Rewriting("inactive bounds widened", widened=True)


def rewritten(
    form: NormalForm, solution: Solution, change: Rewriting
) -> tuple[NormalForm, Solution]:
    """The same problem and the same solution."""
    statics, shift = change.columns(form.statics)
    s = form.symbols.sym("s", form.s.numel())
    old, new = [form.s], [(s - shift) / statics if form.s.numel() else s]
    phases, ends = [], ([], [])
    for ph in form.phases:
        phase, replaced = _phase(form, ph, solution, change, (old, new))
        phases.append(phase)
        for kept, more in zip(ends, replaced, strict=True):
            kept.extend(more)
    phi, b = casadi.substitute([form.phi, form.b], old + ends[0], new + ends[1])
    moved = replace(
        form,
        phases=tuple(phases),
        s=s,
        statics=tuple(_vector(q, change) for q in form.statics),
        phi=change.cost * phi,
        b=b,
    )
    answer = replace(
        solution,
        objective=change.cost * solution.objective,
        phases={name: _curves(ph, change) for name, ph in solution.phases.items()},
        variables={
            name: change.of(name)[0] * np.asarray(v) + change.of(name)[1]
            for name, v in solution.variables.items()
        },
        multipliers={name: change.cost * v for name, v in solution.multipliers.items()},
        form=moved,
    )
    return moved, answer


def _phase(
    form: NormalForm, ph: PhaseForm, solution: Solution, change: Rewriting, shared: Any
) -> tuple[PhaseForm, Any]:
    sym = form.symbols.sym
    (a, b), (c, d), (e, f) = (change.columns(of) for of in (ph.states, ph.algebraics, ph.controls))
    t, x, z, u, costate = (
        sym(n, v.numel())
        for n, v in (("t", ph.t), ("x", ph.x), ("z", ph.z), ("u", ph.u), ("l", ph.x))
    )
    old = [ph.t, ph.x, ph.z, ph.u, ph.costate, *shared[0]]
    new = [
        t / change.time,
        (x - b) / a,
        (z - d) / c,
        (u - f) / e,
        costate * a / change.cost,
        *shared[1],
    ]
    rates, g, paths, integrands, *kept = casadi.substitute(
        [ph.f, ph.g, ph.c, ph.l, *[i.expression for i in ph.invariants]], old, new
    )
    symbols = [sym(f"e{k}", v.numel()) for k, v in enumerate(ph.ends)]
    scales = [change.time, change.time, a, a, c, c, e, e, 1.0]
    shifts = [0.0, 0.0, b, b, d, d, f, f, 0.0]
    values = [
        (v - shift) / scale if v.numel() else v
        for v, scale, shift in zip(symbols, scales, shifts, strict=True)
    ]
    bound = (
        (lambda q: _widened(q, solution.phase(ph.name)[q.name]))
        if change.widened
        else (lambda q: q)
    )
    moved = replace(
        ph,
        t=t,
        x=x,
        z=z,
        u=u,
        costate=costate,
        f=a * rates / change.time,
        g=g,
        c=paths,
        l=integrands / change.time,
        states=tuple(_vector(bound(q), change) for q in ph.states),
        algebraics=tuple(_vector(q, change) for q in ph.algebraics),
        controls=tuple(_vector(bound(q), change) for q in ph.controls),
        start_time=_bound(ph.start_time, change.time, 0.0),
        end_time=_bound(ph.end_time, change.time, 0.0),
        ends=type(ph.ends)(*symbols),
        invariants=tuple(
            InvariantForm(i.name, k, i.order) for i, k in zip(ph.invariants, kept, strict=True)
        ),
        redundant=None,
    )
    return moved, (list(ph.ends), values)


def _vector(q: NamedVector, change: Rewriting) -> NamedVector:
    factor, shift = change.of(q.name)
    return replace(
        q, **{name: _bound(getattr(q, name), factor, shift) for name in ("bound", "start", "end")}
    )


def _bound(bound: Bound, factor: float, shift: float) -> Bound:
    return Bound(factor * bound.lower + shift, factor * bound.upper + shift)


def _widened(q: NamedVector, curve: Curve) -> NamedVector:
    """Bounds ten times the width further away, where the curve stays away from them."""
    values = curve.points.reshape(-1, q.size)
    low, high = values.min(axis=0), values.max(axis=0)
    away = 10 * (high - low) + 1e-9
    lower = np.where(low - q.bound.lower > 0.05 * (high - low), q.bound.lower - away, q.bound.lower)
    upper = np.where(
        q.bound.upper - high > 0.05 * (high - low), q.bound.upper + away, q.bound.upper
    )
    return replace(q, bound=Bound(lower, upper))


def _curves(ph: PhaseSolution, change: Rewriting) -> PhaseSolution:
    def moved(curve: Curve, factor: float, shift: float = 0.0) -> Curve:
        limits = {
            n: None if getattr(curve, n) is None else factor * getattr(curve, n) + shift
            for n in ("lower", "upper")
        }
        values = tuple(factor * v + shift for v in curve.values)
        return replace(curve, breaks=change.time * curve.breaks, values=values, **limits)

    groups = {
        n: {k: moved(c, *change.of(k)) for k, c in getattr(ph, n).items()}
        for n in ("states", "controls", "algebraics")
    }
    return replace(
        ph,
        t0=change.time * ph.t0,
        tf=change.time * ph.tf,
        costates={k: moved(c, change.cost / change.of(k)[0]) for k, c in ph.costates.items()},
        path_multipliers={
            k: moved(c, change.cost / change.time) for k, c in ph.path_multipliers.items()
        },
        breaks=change.time * ph.breaks,
        **groups,
    )


def differences(first: Certificate, second: Certificate) -> list[str]:
    """Rows whose verdict or value is another."""
    found = [] if first.claim == second.claim else [f"claim {first.claim}, {second.claim}"]
    for one, two in zip(first.checks, second.checks, strict=True):
        small = CLOSE * max(one.tolerance, two.tolerance) if np.isfinite(one.tolerance) else np.inf
        near = (
            abs(one.value - two.value) <= CLOSE * max(one.value, two.value)
            or max(one.value, two.value) <= small
        )
        if (
            one.name != two.name
            or one.ok != two.ok
            or one.applies != two.applies
            or (one.applies and not near)
        ):
            found.append(
                f"{one.name}: {one.value:.3g}, {two.value:.3g} (tolerance {one.tolerance:.0e})"
            )
    return found


def main() -> int:
    wrong = count = 0
    for name in sys.argv[1:] or NAMES:
        form = builder(name)().finish()
        solution = solve(builder(name)())
        plain = certify(solution, form)
        for change in rewritings(form, solution):
            moved, answer = rewritten(form, solution, change)
            found = differences(plain, certify(answer, moved))
            count += 1
            wrong += bool(found)
            if found:
                print(f"{name}, {change.label}: {'; '.join(found)}", flush=True)
        print(f"{name}: {plain.claim}", flush=True)
    print(f"{count} rewritings, {wrong} with another verdict or value")
    return int(bool(wrong))


if __name__ == "__main__":
    raise SystemExit(main())
