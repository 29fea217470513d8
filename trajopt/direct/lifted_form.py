"""Problems without the kinks of their terms: what the direct method solves in place of the
statement, and the way back.

Lengths of vectors of controls go first (``control_lengths.py``), then absolute values, maxima and
minima (``positive_parts.py``). Each step replaces the controls of a phase by others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.direct.control_lengths import ControlLengths, lengths_of
from trajopt.direct.kernels import Kernels, PhaseKernels
from trajopt.direct.positive_parts import parts_of
from trajopt.statement.normal_form import NormalForm, PhaseForm
from trajopt.trajectory.arcs import Arc
from trajopt.trajectory.curve import Curve, NamedCurves
from trajopt.trajectory.naming import known_columns, trajectory_of
from trajopt.trajectory.output_curves import with_outputs
from trajopt.trajectory.solution import PhaseSolution, Solution
from trajopt.trajectory.trajectory import Trajectories, Trajectory

Array = NDArray[np.float64]


class PhaseLift(Protocol):
    """A phase with other controls in the place of its own."""

    @property
    def phase(self) -> PhaseForm: ...
    @property
    def own(self) -> PhaseForm: ...

    def lifted(self, form: NormalForm, start: Trajectory, s: Array, p: Array) -> Trajectory:
        """A guess in the other controls."""
        ...

    def own_controls(self, u: Curve) -> Curve:
        """The controls of the statement."""
        ...

    def own_roles(self, roles: Mapping[str, str]) -> dict[str, str]:
        """The roles of an arc for the controls of the statement."""
        ...

    def with_free_parts(self, kernels: PhaseKernels) -> PhaseKernels:
        """Kernels of the phase, with what its controls need."""
        ...


STEPS: tuple[Callable[[NormalForm, PhaseForm, Array], PhaseLift | None], ...] = (
    lengths_of,
    parts_of,
)


@dataclass(frozen=True, eq=False)
class LiftedForm:
    """A problem without kinks, and the way back to ``own``, which may be lifted itself."""

    form: NormalForm
    own: NormalForm
    parts: Mapping[str, PhaseLift] = field(default_factory=dict)
    before: LiftedForm | None = None

    @property
    def has_lengths(self) -> bool:
        """True if lengths of vectors are controls. Without them a method with derivatives cannot
        pass where a vector vanishes.
        """
        here = any(isinstance(part, ControlLengths) for part in self.parts.values())
        return here or (self.before is not None and self.before.has_lengths)

    def lifted(self, guess: Trajectories, p: Array) -> Trajectories:
        """A guess in the controls of the lifted problem."""
        if self.before is not None:
            guess = self.before.lifted(guess, p)
        phases = [
            self.parts[form.name].lifted(self.own, start, guess.s, p)
            if form.name in self.parts
            else start
            for form, start in zip(self.own.phases, guess.phases, strict=True)
        ]
        return Trajectories(tuple(phases), guess.s)

    def restored(self, answer: Solution) -> Solution:
        """The answer in the names of the statement."""
        one = self._one_back(answer)
        return one if self.before is None else self.before.restored(one)

    def with_free_parts(self, kernels: Kernels) -> Kernels:
        """Kernels of the lifted problem, with what its controls need."""
        phases = [
            self.parts[form.name].with_free_parts(one) if form.name in self.parts else one
            for form, one in zip(self.form.phases, kernels.phases, strict=True)
        ]
        return replace(kernels, phases=tuple(phases))

    def _one_back(self, answer: Solution) -> Solution:
        phases = {name: self._restored(phase) for name, phase in answer.phases.items()}
        arcs = tuple(self._restored_arc(arc) for arc in answer.arcs)
        restored = replace(answer, phases=phases, arcs=arcs, form=self.own, program=None)
        return with_outputs(restored)

    def _restored(self, phase: PhaseSolution) -> PhaseSolution:
        parts = self.parts.get(phase.name)
        if parts is None:
            return phase
        default = Curve.linear(np.array([phase.t0, phase.tf]), np.zeros((2, 0)))
        u = parts.own_controls(known_columns(parts.phase.controls, phase.controls, default))
        own = {q.name: (q.rows, q.unit, q.names) for q in parts.own.controls}
        known = phase.path_multipliers
        path = {name: known[name] for name in parts.own.c_names if name in known}
        controls = NamedCurves(u, own, phase.time_unit)
        return replace(phase, controls=controls, path_multipliers=path)

    def _restored_arc(self, arc: Arc) -> Arc:
        """An arc with the roles of the controls of the statement."""
        parts = self.parts.get(arc.phase)
        if parts is None:
            return arc
        roles, own = parts.own_roles(arc.roles), parts.own
        known = {*own.u_names, *own.x_names, *own.c_names}
        return replace(arc, roles={name: role for name, role in roles.items() if name in known})

    def gap(self, answer: Solution, p: Array) -> float:
        """How far an answer is from one of the statement: the largest mean difference of the rates,
        the algebraic equations and the integrands of both problems along it, and the largest mean
        violation of the path constraints of the statement, relative to the size of each.
        """
        largest, restored = 0.0, self._one_back(answer)
        s = np.concatenate([np.zeros(0), *[answer.variables[q.name] for q in self.own.statics]])
        for i, phase in enumerate(self.own.phases):
            if phase.name not in self.parts:
                continue
            own = _rows_along(self.own, i, restored.phases[phase.name], s, p)
            lifted = _rows_along(self.form, i, answer.phases[phase.name], s, p)
            first, c = phase.f.numel() + phase.g.numel(), phase.c.numel()
            last = phase.l.numel()
            a, limited = np.delete(own, range(first, first + c), axis=0), own[first : first + c]
            b = np.concatenate([lifted[:first], lifted[lifted.shape[0] - last :]])
            bound = phase.c_bound
            inside = np.clip(limited, bound.lower[:, None], bound.upper[:, None])
            a, b = np.concatenate([a, limited]), np.concatenate([b, inside])
            size = np.maximum(np.abs(a).max(axis=1), np.abs(b).max(axis=1))
            off = np.abs(a - b) @ _weights(answer.phases[phase.name].controls)
            largest = max(largest, float((off[size > 0] / size[size > 0]).max(initial=0.0)))
        return largest if self.before is None else max(largest, self.before.gap(restored, p))


def _weights(controls: Mapping[str, Curve]) -> Array:
    """The weights of the nodes of controls in a mean over time: those of an interval share it."""
    curve = next(iter(controls.values()))
    counts = np.array([nodes.size for nodes in curve.nodes])
    widths = np.diff(curve.breaks)
    return np.asarray(np.repeat(widths / counts, counts) / widths.sum())


def _rows_along(form: NormalForm, index: int, phase: PhaseSolution, s: Array, p: Array) -> Array:
    """The rows of the model at the nodes of the controls."""
    of = form.phases[index]
    along = trajectory_of(of, replace(phase, costates=phase.states))
    t = along.u.t
    x, z, u = along.x.evaluate(t).T, along.z.evaluate(t).T, np.concatenate(along.u.values).T
    return np.asarray(form.models[index](t[None, :], x, z, u, s, p))


def without_kinks(form: NormalForm, parameters: Array) -> LiftedForm | None:
    """The problem without the kinks of its terms; None where it has none that can be lifted."""
    lifted: LiftedForm | None = None
    for step in STEPS:
        here = form if lifted is None else lifted.form
        phases = [step(here, phase, parameters) for phase in here.phases]
        found = {one.own.name: one for one in phases if one is not None}
        if found:
            lifted = LiftedForm(_replaced(here, found), here, found, lifted)
    return lifted


def _replaced(form: NormalForm, found: Mapping[str, PhaseLift]) -> NormalForm:
    """The problem with its lifted phases."""
    phases = [found[ph.name].phase if ph.name in found else ph for ph in form.phases]
    # The values of controls at the ends are other symbols where columns are MX.
    pairs = [
        (getattr(old.ends, name), getattr(new.ends, name)[: old.u.numel()])
        for old, new in zip(form.phases, phases, strict=True)
        for name in ("u0", "uf")
        if old is not new and form.symbols is casadi.MX and old.u.numel()
    ]
    phi, b = (
        casadi.substitute([form.phi, form.b], *map(list, zip(*pairs, strict=True)))
        if pairs
        else (form.phi, form.b)
    )
    return replace(form, phases=tuple(phases), phi=phi, b=b)
