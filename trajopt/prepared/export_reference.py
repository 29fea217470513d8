"""What Python finds for some parameters and boundary values: the reference of an export's test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trajopt.direct.mesh_session import OTHER_STRUCTURE, Attempt, MeshSession
from trajopt.direct.neighbours import phase_controls
from trajopt.errors import UsageError
from trajopt.prepared.c_text import ConstantText, fields
from trajopt.prepared.moving_numbers import (
    END_TIME,
    FINAL,
    INITIAL,
    START_TIME,
    MovingNumbers,
    numbers_of,
)
from trajopt.statement.normal_form import NormalForm
from trajopt.statement.stated_bounds import with_boundary

if TYPE_CHECKING:
    from trajopt.prepared.preparing import Prepared

Array = NDArray[np.float64]

ROUND_OFF = float(np.sqrt(np.finfo(float).eps))  # relative
SETS = 5
SPREAD = 0.01  # of values, relative
# Parts of a phase, where states and controls are compared: powers of the golden section, since at a
# break of the mesh rounding would decide which polynomial counts.
PLACES = (0.5 * (np.sqrt(5) - 1)) ** np.array([4, 2, 1])


@dataclass(frozen=True, eq=False)
class ReferenceSet:
    """Values, and the answer for them."""

    parameters: Array
    boundary: Array  # of the boundary values that may be set
    attempt: Attempt
    objective: float
    y: Array
    places: tuple[tuple[int, int, float, float, float], ...]  # phase, variable, time, value, size


def reference_text(prepared: Prepared, kept: MeshSession, found: MovingNumbers) -> str:
    """reference.h"""
    sets = list(_sets(prepared, kept.twin(), found))
    each = len(sets[0].places) if sets else 0
    text = ConstantText()
    places = [fields(*place) for one in sets for place in one.places]
    text.structures("reference_place", "reference_places", places)
    columns = {
        "parameter": [one.parameters for one in sets],
        "boundary": [one.boundary for one in sets],
        "y": [one.y for one in sets],
        "objective": [np.array([one.objective]) for one in sets],
    }
    names = {
        name: text.array("double", np.concatenate([np.zeros(0), *parts]))
        for name, parts in columns.items()
    }
    solved = text.array("int32_t", [int(one.attempt.solved) for one in sets])
    aliases = "".join(
        f"static const double *const reference_{name} = {of};\n" for name, of in names.items()
    )
    return (
        "/* Solutions of trajopt in Python, for test.c. */\n"
        "#include <math.h>\n#include <stdint.h>\n\n"
        f"enum {{ REFERENCE_SETS = {len(sets)}, REFERENCE_PLACES = {each} }};\n\n"
        "/* A state or, counted after these, a control at a time. */\n"
        "typedef struct {\n    int32_t phase, variable;\n    double time, value, size;\n"
        "} reference_place;\n\n" + "\n".join(text.lines) + f"\n{aliases}"
        f"static const int32_t *const reference_solved = {solved};\n"
    )


def _sets(prepared: Prepared, twin: MeshSession, found: MovingNumbers) -> Iterator[ReferenceSet]:
    """Each is solved from the answer before it, as the exported program does."""
    generator = np.random.default_rng(0)
    p0 = twin.program.parameters.copy()
    given = np.array([g.base for g in found.given])
    sizes = np.array([abs(g.base) or g.size for g in found.given])
    stated = np.zeros(given.size, dtype=bool)
    stated[[v.given for v in found.values if v.given >= 0 and v.output >= 0]] = True
    for number_of_set in range(SETS):
        spread = SPREAD if number_of_set else 0.0
        p = p0 + spread * np.where(p0 == 0, 1.0, np.abs(p0)) * generator.uniform(-1, 1, p0.size)
        boundary = given + spread * sizes * generator.uniform(-1, 1, given.size)
        if number_of_set % 2:  # those that parameters state follow these
            boundary = np.where(stated, np.nan, boundary)
        chosen = _within(prepared, found, p, boundary)
        if chosen is None:
            continue
        p, boundary, form = chosen
        attempt = twin.solve_by_newton(form, p, prepared.session_settings)
        if attempt.line != OTHER_STRUCTURE:
            _check_followers(twin, found, form, p, boundary)
        yield _reference(prepared, twin, attempt, p, boundary)


def _within(
    prepared: Prepared, found: MovingNumbers, p: Array, boundary: Array
) -> tuple[Array, Array, NormalForm] | None:
    """Parameters within their ranges and boundary values within limits, and the form at them;
    values that limits exclude are moved the other way, or stay.
    """
    given = np.array([g.base for g in found.given])
    values = dict[str, Any]()
    start = 0
    for q in prepared.form.parameters:
        size = q.value.size
        part = p[start : start + size]
        values[q.name] = p[start : start + size] = np.clip(part, q.lower, q.upper)
        start += size
    for tried in (boundary, 2 * given - boundary, given):
        try:
            return p, tried, _stated(prepared.form.at(values), found, tried)
        except UsageError:
            continue
    return None


def _stated(form: NormalForm, found: MovingNumbers, boundary: Array) -> NormalForm:
    """The form with boundary values; NaN leaves one as stated."""
    sides: dict[int, dict[Any, Any]] = {INITIAL: {}, FINAL: {}}
    for g, value in zip(found.given, boundary.tolist(), strict=True):
        if g.side in (START_TIME, END_TIME):
            if not np.isnan(value):
                sides[INITIAL if g.side == START_TIME else FINAL]["t"] = value
            continue
        phase = form.phases[g.phase]
        q = next(q for q in phase.states if q.rows.start <= g.state < q.rows.stop)
        components = sides[g.side].setdefault((phase.name, q.name), np.full(q.size, np.nan))
        components[g.state - q.rows.start] = value
    initial, final = (
        {key: value for key, value in sides[side].items() if not np.all(np.isnan(value))}
        for side in (INITIAL, FINAL)
    )
    return with_boundary(form, initial, final)


def _check_followers(
    twin: MeshSession, found: MovingNumbers, form: NormalForm, p: Array, boundary: Array
) -> None:
    """Raise unless the numbers of the program are what the export computes from the values."""
    stated = np.zeros(0) if found.limits is None else found.limits.run([p[:, None]], 1).ravel()
    values = [stated[v.output] if v.output >= 0 else v.base for v in found.values]
    for k, v in enumerate(found.values):
        if v.given >= 0 and not np.isnan(boundary[v.given]):
            values[k] = boundary[v.given]
    numbers = found.numbers.copy()
    for f in found.followers:
        numbers[f.number] = values[f.value] + f.offset
    expected = numbers_of(twin, form)
    with np.errstate(invalid="ignore"):
        apart = np.abs(numbers - expected) > ROUND_OFF * np.maximum(np.abs(expected), 1.0)
    if np.any(apart):
        raise UsageError(
            "export: which limits count depends on parameters or boundary values",
            got=f"{int(apart.sum())} numbers of the program that follow no single limit",
        )


def _reference(
    prepared: Prepared, twin: MeshSession, attempt: Attempt, p: Array, boundary: Array
) -> ReferenceSet:
    result = twin.last
    y = result.y * twin.base.sizes
    places = []
    solution = twin.read(Attempt(result, ""))
    of_controls = phase_controls(twin.layout)
    for i, (view, controls) in enumerate(zip(solution.phases, of_controls, strict=True)):
        ph, values = view.layout, view.values
        inside = values.t0 + PLACES * (values.tf - values.t0)
        times = np.concatenate([[values.t0], inside, [values.tf]])
        states = view.state_curve.evaluate(times)
        for time, x in zip(times.tolist(), states, strict=True):
            both = np.concatenate([x, controls.control(y, time)])
            sizes = np.concatenate([view.x_size, view.u_size])
            places += [(i, j, time, float(both[j]), float(sizes[j])) for j in range(ph.nx + ph.nu)]
    return ReferenceSet(p, boundary, attempt, result.f * prepared.form.sense, y, tuple(places))
