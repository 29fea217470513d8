"""The next mesh.

Higher degrees where the solution is smooth, narrower intervals where it is not, breaks where it has
kinks (hp).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from trajopt.direct.collocation import Collocation, Refinement
from trajopt.direct.mesh import Mesh
from trajopt.direct.mesh_solution import Estimate
from trajopt.direct.schemes import can_raise_degree

Array = NDArray[np.float64]

EPSILON = np.finfo(float).eps


@dataclass(frozen=True)
class Bend:
    """Where a solution is not smooth, in normalised time; ``now``: the node of a touch point,
    perhaps the break made for it.
    """

    place: float
    now: float | None = None


def refine_mesh(
    mesh: Mesh, estimate: Estimate, method: Collocation, bends: Sequence[Bend] = ()
) -> Mesh:
    """The next mesh.

    Intervals with a bend are cut there; where it is close to an end, that end moves there instead.
    """
    touched = {
        int(np.searchsorted(mesh.breaks, bend.place)) - 1 for bend in bends if bend.now is not None
    }
    mesh, cuts = _at_bends(mesh, bends, method.refinement.near_break)
    breaks = [0.0]
    degrees: list[int] = []
    sources: list[int] = []
    moves: dict[int, int] = {}
    most = method.refinement.max_degree if can_raise_degree(method.scheme) else 0
    places, errors, decay = mesh.breaks.tolist(), estimate.errors.tolist(), estimate.decay.tolist()
    for k, degree in enumerate(mesh.degrees.tolist()):
        a, b, error = places[k], places[k + 1], errors[k]
        pieces, new_degree = 1, degree
        if error > method.tolerance:
            pieces, new_degree = _division(
                degree, error / method.tolerance, decay[k], most, method.refinement
            )
        inner = [a + (b - a) * (i + 1) / pieces for i in range(pieces - 1)]
        if cuts.get(k):
            inner, new_degree = cuts[k], degree
            # smooth on both sides from now on, for any decay of the coefficients
            if k in touched and error > method.tolerance:
                new_degree = min(degree + 1, max(most, degree))
        elif (
            k in cuts and degree < most and error > method.tolerance
        ):  # its end was moved: smooth from now on
            inner, new_degree = [], degree + 1
        if k in mesh.knots:
            moves[k] = len(degrees)
        breaks += [*inner, b]
        degrees += [new_degree] * (len(inner) + 1)
        sources += [k] * (len(inner) + 1)
    source = np.array(sources)
    return replace(
        mesh,
        breaks=np.array(breaks),
        degrees=np.array(degrees),
        knots=tuple(moves[k] for k in mesh.knots),
        joined=tuple(moves[k] for k in mesh.joined),
        roles=None if mesh.roles is None else mesh.roles[source],
        control_points=None if mesh.control_points is None else mesh.control_points[source],
        held=None if mesh.held is None else mesh.held[source],
    )


def _at_bends(
    mesh: Mesh, bends: Sequence[Bend], close: float
) -> tuple[Mesh, dict[int, list[float]]]:
    """The mesh with breaks moved to bends ``close`` to them (in widths), and the places at which
    intervals are to be cut.

    A break moves once: to the bend that it was made for, or else to the nearest. An end that moves
    by less than the square of ``close`` leaves the error of its interval what it is; no two breaks
    are closer than its cube.
    """
    breaks, cuts = mesh.breaks.copy(), dict[int, list[float]]()
    moved: set[int] = set()

    def target(bend: Bend) -> tuple[float, int, int]:
        """The distance from the nearest end, in widths, the interval, and that end."""
        k = int(
            np.clip(
                np.searchsorted(mesh.breaks, bend.place, side="right") - 1, 0, mesh.intervals - 1
            )
        )
        end = k + int(np.argmin(np.abs(mesh.breaks[k : k + 2] - bend.place)))
        # Where a kink has moved often, there may be several breaks near it already.
        width = np.diff(
            mesh.breaks[k : k + 2] if bend.now is None else mesh.breaks[max(end - 1, 0) : end + 2]
        ).max()
        return (
            (0.0 if mesh.breaks[end] == bend.now else abs(mesh.breaks[end] - bend.place) / width),
            k,
            end,
        )

    for (distance, k, end), bend in sorted(
        ((target(bend), bend) for bend in bends), key=lambda pair: pair[0]
    ):
        slight = bend.now is not None and abs(mesh.breaks[end] - bend.place) < close**2 * (
            mesh.breaks[k + 1] - mesh.breaks[k]
        )
        if distance > close or end in moved:
            cuts.setdefault(k, []).append(bend.place)
        elif not slight:
            cuts.setdefault(k, [])
        if (
            distance <= close
            and 0 < end < mesh.intervals
            and end not in moved
            and end not in mesh.knots
        ):
            breaks[end] = bend.place
            moved.add(end)
    for k, wanted in cuts.items():
        least = close**3 * (breaks[k + 1] - breaks[k])
        inside = sorted(p for p in wanted if breaks[k] + least < p < breaks[k + 1] - least)
        cuts[k] = [p for i, p in enumerate(inside) if i == 0 or p - inside[i - 1] > least]
    return replace(mesh, breaks=breaks), cuts


def _division(
    degree: int, factor: float, decay: float, most: int, refinement: Refinement
) -> tuple[int, int]:
    """Into how many pieces of what degree an interval is cut to divide its error by ``factor``, and
    by ten more, with few points.

    n pieces divide the error by n ** (degree + 1) and the decay of the coefficients by n; where
    these hardly fall, there may be a kink, and higher degrees do not reduce the error. The cost of
    an interval grows with the square of its degree.
    """
    excess, choices = math.log10(min(factor, 1 / EPSILON)) + 1.0, []
    for pieces in range(1, refinement.max_pieces + 1):
        missing = excess - (degree + 1) * math.log10(pieces)
        smooth = decay < refinement.smooth_decay
        further = (
            math.ceil(max(missing, 0.0) / -math.log10(max(decay, EPSILON) / pieces))
            if smooth
            else most
        )
        if missing <= 0 or degree + further <= most:
            raised = degree + (further if missing > 0 else 0)
            choices.append((pieces * raised**2, pieces, raised))
    if choices:
        return min(choices)[1:]
    return int(np.clip(np.ceil(10 ** (excess / (degree + 1))), 2, refinement.max_pieces)), degree
