"""The first mesh of each phase."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trajopt.direct.mesh import Mesh
from trajopt.direct.solve_mesh import Context
from trajopt.trajectory.trajectory import Trajectories


def first_meshes(context: Context, guess: Trajectories | None = None) -> tuple[Mesh, ...]:
    """Few intervals of high degree where controls act smoothly; more, with constant controls, where
    they may switch, and where they are angles.

    A guess that comes from a solution with smooth controls brings its own mesh. ``context.finer``
    multiplies the intervals of the others.
    """
    meshes, finer = [], context.finer
    method, scheme, settings = context.method, context.method.scheme, context.method.refinement
    starts = guess.phases if guess is not None else (None,) * len(context.form.phases)
    for kernels, start in zip(context.kernels.phases, starts, strict=True):
        affine = kernels.affine
        if method.mesh is not None:
            mesh = method.mesh
        elif scheme.shares_nodes:
            degree = scheme.rule(scheme.degree).degree
            mesh = Mesh.uniform(finer * settings.switching_intervals, degree)
        elif start is not None and start.mesh is not None and not start.arcs and not affine.any():
            breaks, degrees = start.mesh
            free = np.zeros((breaks.size - 1, affine.size), dtype=int)
            mesh = Mesh(breaks, np.array(degrees), control_points=free)
        else:
            count, degree = (
                (settings.switching_intervals, scheme.degree - 1)
                if affine.any() or kernels.angles.any()
                else (settings.intervals, scheme.degree)
            )
            # A constant angle can be turned back by whole turns afterwards; a polynomial that went
            # round the wrong way cannot. Constant on an interval a control cannot satisfy an
            # equation at each of its points.
            points = np.where((affine & ~kernels.equated) | kernels.angles, 1, 0)
            mesh = Mesh.uniform(finer * count, max(degree, 1))
            mesh = replace(mesh, control_points=np.tile(points, (mesh.intervals, 1)))
        meshes.append(mesh)
    return tuple(meshes)
