"""States at given times inside a phase: breaks of the mesh, inputs of the endpoint kernel.

A cost or a condition on x at a time makes the costates jump there. So every mesh has a break at
such a time, whose node is an input of the endpoint kernel, as the ends of a phase are.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from trajopt.direct.mesh import Mesh
from trajopt.direct.packing import Layout, PhaseLayout
from trajopt.statement.normal_form import NormalForm, PhaseForm

Array = NDArray[np.float64]
Index = NDArray[np.int_]

# of a phase: a break so close to a time is at that time
CLOSE = float(np.sqrt(np.finfo(float).eps))


def with_sample_breaks(form: NormalForm, meshes: tuple[Mesh, ...]) -> tuple[Mesh, ...]:
    """The meshes with breaks at the times of the samples of their phases."""
    return tuple(
        mesh.with_breaks(_places(phase), CLOSE) if phase.samples else mesh
        for phase, mesh in zip(form.phases, meshes, strict=True)
    )


def _places(phase: PhaseForm) -> Array:
    """Normalised times of the samples."""
    start, end = phase.start_time.lower[0], phase.end_time.lower[0]
    return np.array([(sample.time - start) / (end - start) for sample in phase.samples])


def _nodes(ph: PhaseLayout) -> Index:
    """The node of each sample."""
    breaks = ph.mesh.breaks
    return np.asarray(np.abs(breaks[None, :] - _places(ph.form)[:, None]).argmin(axis=1))


def sampled_states(layout: Layout, y: NDArray[np.int_]) -> NDArray[np.int_]:
    """The states at all samples, in the order of the inputs of the endpoint kernel."""
    parts = [
        ph.states(y)[ph.grid.first[_nodes(ph)]].ravel() for ph in layout.phases if ph.form.samples
    ]
    return np.concatenate([np.zeros(0, dtype=y.dtype), *parts])


def sample_jumps(layout: Layout, gradient: Array) -> Iterator[Array]:
    """For each phase, the jumps of the costates at the end of each interval (intervals, nx), from
    the derivatives of the endpoint Lagrangian by the sampled states.
    """
    first = gradient.size - sum(len(ph.form.samples) * ph.nx for ph in layout.phases)
    for ph in layout.phases:
        jumps = np.zeros((ph.mesh.intervals, ph.nx))
        count = len(ph.form.samples) * ph.nx
        if count:
            own = gradient[first : first + count].reshape(-1, ph.nx)
            np.add.at(jumps, _nodes(ph) - 1, own)
        first += count
        yield jumps
