"""A restart on the arcs of an earlier answer: its switches need not be found again, only moved to where they are now."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trajopt.direct.collocation import (
    MOST_DOUBT,
    ON_ARCS,
    ON_ARCS_DEGREE,
    ON_KNOWN_ARCS,
    Session,
    first_meshes,
    hasty,
    on_arcs,
    solve_on,
)
from trajopt.direct.iterate import Iterate
from trajopt.direct.mesh import AT_LOWER, AT_UPPER, FREE, Mesh
from trajopt.direct.structure import SINGULAR_POINTS, Structure, arc_mesh, collapsed, continuous_knots
from trajopt.guess import Guess, PhaseGuess
from trajopt.normal_form import PhaseForm
from trajopt.solution import MeshPass

Array = NDArray[np.float64]

_ROLES = {"lower": AT_LOWER, "upper": AT_UPPER}
NEAR_ENOUGH = 1e-9  # of a phase: a break this close to the end of an arc is there


def restarted(session: Session, guess: Guess) -> tuple[Iterate | None, list[MeshPass]]:
    """An answer on the arcs that a guess brings, and the meshes that it took; None if it brings none, or they do not hold."""
    if session.method.mesh is not None or session.method.scheme.shares_nodes or session.method.max_passes == 1:
        return None, []
    found = _meshes(session, guess)
    if found is None:
        return None, []
    meshes, knots = found
    first = solve_on(hasty(session, 100), meshes, guess, ON_KNOWN_ARCS, knots, ON_ARCS)
    if not first.solved:
        return None, [first.record]
    if first.error <= session.method.tolerance and first.doubt <= MOST_DOUBT and _settled(first):
        return first, [first.record]
    iterate, history, _ = on_arcs(session, first, (None,) * len(meshes), session.method.max_passes - 1)
    return iterate, [first.record, *history]


def _settled(iterate: Iterate) -> bool:
    """Whether no arc has shrunk to nothing, and every knot that can be placed exactly is."""
    return not any(
        collapsed(ph, v) or set(continuous_knots(ph, v)) - set(ph.mesh.joined)
        for ph, v in zip(iterate.layout.phases, iterate.values, strict=True)
    )


def _meshes(session: Session, guess: Guess) -> tuple[tuple[Mesh, ...], tuple[Array | None, ...]] | None:
    """The meshes of the earlier answer with its arcs, and their times; None where nothing switches."""
    meshes: list[Mesh] = []
    knots: list[Array | None] = []
    arcs = False
    plain = first_meshes(session, guess)
    for form, kernels, start, mesh in zip(session.form.phases, session.kernels.phases, guess.phases, plain, strict=True):
        structure = _structure(form, start)
        if structure is None or not kernels.affine.any():
            meshes.append(mesh)
            knots.append(None)
            continue
        arcs = True
        own = _own_mesh(structure, start, kernels.affine)
        meshes.append(arc_mesh(structure, kernels.affine, ON_ARCS_DEGREE)[0] if own is None else own)
        knots.append(structure.times)
    return (tuple(meshes), tuple(knots)) if arcs else None


def _structure(form: PhaseForm, start: PhaseGuess) -> Structure | None:
    """The arcs by the names of controls, states and path constraints; None where they do not cover the phase."""
    arcs = start.arcs
    if not arcs or any(name not in arc.roles for arc in arcs for name in form.u_names):
        return None
    times = np.array([start.t0, *[arc.end for arc in arcs[:-1]], start.tf])
    if np.any(np.diff(times) <= 0):
        return None
    return Structure(times, _roles(start, form.u_names), _roles(start, (*form.x_names, *form.c_names)))


def _roles(start: PhaseGuess, names: tuple[str, ...]) -> NDArray[np.int_]:
    """(arcs, names): which bound each is at, if one."""
    rows = [[_ROLES.get(arc.roles.get(name, ""), FREE) for name in names] for arc in start.arcs]
    return np.array(rows, dtype=int).reshape(len(start.arcs), len(names))


def _own_mesh(structure: Structure, start: PhaseGuess, affine: NDArray[np.bool_]) -> Mesh | None:
    """The earlier answer's mesh, if its arcs end at breaks."""
    if start.mesh is None:
        return None
    breaks = np.concatenate([[0.0], start.mesh[0][1:-1], [1.0]])
    ends = (structure.times[1:-1] - start.t0) / (start.tf - start.t0)
    knots = np.array([int(np.argmin(np.abs(breaks - end))) for end in ends], dtype=int)
    if np.any(np.abs(breaks[knots] - ends) > NEAR_ENOUGH) or np.any(np.diff([0, *knots, breaks.size - 1]) < 1):
        return None
    of_interval = np.searchsorted(knots, np.arange(breaks.size - 1), side="right")
    roles, held = structure.roles[of_interval], structure.held[of_interval]
    singular = (roles == FREE) & affine & (np.abs(held).sum(axis=1) == 0)[:, None]
    points = np.where(roles != FREE, 1, np.where(singular, SINGULAR_POINTS, 0))
    return Mesh(breaks, np.array(start.mesh[1]), tuple(int(k) for k in knots), roles, points, held)
