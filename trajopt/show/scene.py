"""Scene: a drawing evaluated along a motion, for animations, snapshots and reports."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi
import numpy as np

from trajopt.errors import ModelError, UsageError, suggest
from trajopt.show.drawing import Arrow, Disc, Drawing, Either, Mark, Place, Rod, Shape, Trail, Where
from trajopt.show.frames import Array, FrameValues, frame_times, sampled, spans_of, thinned
from trajopt.trajectory.solution import Solution

if TYPE_CHECKING:
    from trajopt.integrate.simulation import Simulation

RIM = 48  # vertices of a circle
MOST_FRAMES = 300
TRAIL = 1500  # points of a trail, independent of the number of frames
SHORTEST, LONGEST = 1.5, 30.0  # s: durations between these play in real time
SLOWED, USUAL = 4.0, 8.0  # s: playing time of shorter and of longer motions
FLATTEST, STEEPEST = 0.45, 1.4  # height over width of the window
Window = tuple[float, float, float, float]  # left, right, low, high


class Role(enum.Enum):
    """How a stroke is drawn."""

    LINE = "line"
    WHEEL = "wheel"
    MARK = "mark"
    TRAIL = "trail"
    GROUND = "ground"
    ARROW = "arrow"


@dataclass(frozen=True, eq=False)
class Stroke:
    """A line through k points in m frames. A ground has one frame, a trail ``finer`` points per
    frame, an arrow its two end points.
    """

    role: Role
    points: Array  # (m, k, d); NaN in phases without its variables
    colour: int
    width: float
    framed: bool = True  # True if the window must contain it


@dataclass(frozen=True, eq=False)
class Scene:
    """All strokes in m frames, in d = 2 or 3 dimensions."""

    title: str
    t: Array  # (m,)
    strokes: tuple[Stroke, ...]
    seconds: float  # playing time
    finer: int = 1
    time_unit: str = "s"
    middle: Array | None = None  # (m, d): centre of the window
    reach: float | None = None
    view: tuple[float, float] = (-60.0, 22.0)
    unit: str = ""
    caption: str = ""

    @property
    def dimension(self) -> int:
        return int(self.strokes[0].points.shape[2])

    @property
    def speed(self) -> float:
        """Time of the motion per second of playing time."""
        return float(self.t[-1] - self.t[0]) / self.seconds


def scene(source: Simulation | Solution, drawing: Drawing, frames: int | None = None) -> Scene:
    """Evaluate a drawing along a simulation or a solution.

    Parameters
    ----------
    frames : number of frames; by default 25 per second, at most 300.

    Examples
    --------
    >>> from problems.lecture import pendulum
    >>> from trajopt.integrate.simulation import simulate
    >>> system = pendulum()
    >>> seen = scene(simulate(system, until=2.0), system.drawing)
    >>> len(seen.t), seen.dimension, seen.speed
    (51, 2, 1.0)
    """
    if frames is not None and frames < 2:
        raise UsageError("an animation needs at least two frames", got=frames)
    spans, unit = spans_of(source)
    duration = sum(b - a for a, b in spans)
    seconds = _playing(duration, unit)
    count = frames or _count(seconds)
    finer = max(1, round(TRAIL / count))
    phases = [
        sampled(source, k, times)
        for k, times in enumerate(frame_times(spans, (count - 1) * finer + 1))
    ]
    known = {name for phase in phases for name in phase.values}
    frames_only = thinned(phases, finer)
    strokes = tuple(
        _stroke(shape, phases if isinstance(shape, Trail) else frames_only, known)
        for shape in drawing.shapes
    )
    dimensions = {stroke.points.shape[2] for stroke in strokes}
    if len(dimensions) != 1 or not dimensions <= {2, 3}:
        raise ModelError(
            "all places of a drawing must have 2 coordinates, or all 3", got=sorted(dimensions)
        )
    middle = None if drawing.follow is None else _along(drawing.follow, frames_only, known)
    title = source.problem if isinstance(source, Solution) else source.system.name
    t = np.concatenate([phase.t for phase in frames_only])
    return Scene(
        title,
        t,
        strokes,
        seconds,
        finer,
        unit,
        middle,
        drawing.reach,
        drawing.view,
        drawing.unit,
        drawing.caption,
    )


def playback_speed_text(seen: Scene) -> str:
    """Return the playing speed as text, empty for real time: ``slowed 5 times``, ``sped up 500
    times``.
    """
    if abs(seen.speed - 1) < 0.01 and seen.time_unit == "s":
        return ""
    factor = max(seen.speed, 1 / seen.speed) if seen.time_unit == "s" else seen.speed
    figure = f"{factor:.0f}" if factor >= 100 else f"{factor:.3g}"
    if seen.time_unit != "s":
        return " ".join(word for word in (figure, seen.time_unit, "per second") if word)
    return f"{'sped up' if seen.speed > 1 else 'slowed'} {figure} times"


def projected(points: Array, view: tuple[float, float]) -> Array:
    """Project points orthographically, (..., d) -> (..., 2); planar points
    are returned unchanged.
    """
    if points.shape[-1] == 2:
        return points
    a, e = np.radians(view)
    right = np.array([-np.sin(a), np.cos(a), 0.0])
    up = np.array([-np.sin(e) * np.cos(a), -np.sin(e) * np.sin(a), np.cos(e)])
    return np.stack([points @ right, points @ up], axis=-1)


HEAD, ANGLE = (
    0.028,
    np.radians(24.0),
)  # arrow head: length relative to the width of the window, half angle


def arrow_line(ends: Array, window: Window) -> Array:
    """Return the polyline of an arrow, (2, 2) -> (5, 2): tail, tip and both sides of the head; NaN
    if it is too short.
    """
    (tail, tip), size = ends, HEAD * (window[1] - window[0])
    length = float(np.hypot(*(tip - tail)))
    if not length > 0.15 * size:
        return np.full((5, 2), np.nan)
    back = (tail - tip) / length * min(size, 0.6 * length)
    c, s = np.cos(ANGLE), np.sin(ANGLE)
    left, right = (
        np.array([back[0] * c - side * back[1] * s, side * back[0] * s + back[1] * c])
        for side in (1, -1)
    )
    return np.array([tail, tip, tip + left, tip, tip + right])


def window_of(seen: Scene) -> Window:
    """Return a window with a bounded aspect ratio that contains all moving shapes, or one about the
    followed place.
    """
    if seen.middle is not None and seen.reach is not None:
        return (-1.6 * seen.reach, 1.6 * seen.reach, -seen.reach, seen.reach)
    moving = [stroke for stroke in seen.strokes if stroke.framed] or list(seen.strokes)
    points = np.concatenate(
        [projected(stroke.points, seen.view).reshape(-1, 2) for stroke in moving]
    )
    low, high = np.nanmin(points, axis=0), np.nanmax(points, axis=0)
    middle, half = (low + high) / 2, 0.54 * (high - low)
    half = np.maximum(half, 1e-9 * max(1.0, float(np.abs(middle).max())))
    half = half + 0.03 * half.max()
    half[0] = max(half[0], half[1] / STEEPEST)
    half[1] = max(half[1], FLATTEST * half[0])
    return (
        float(middle[0] - half[0]),
        float(middle[0] + half[0]),
        float(middle[1] - half[1]),
        float(middle[1] + half[1]),
    )


def _playing(duration: float, unit: str) -> float:
    if unit != "s" or duration > LONGEST:
        return USUAL
    return duration if duration >= SHORTEST else SLOWED


def _count(seconds: float) -> int:
    """Return the number of frames; the delay is a multiple of 0.01 s, the unit of gif files."""
    delay = max(4, int(np.ceil(100 * seconds / MOST_FRAMES)))
    return max(2, round(100 * seconds / delay) + 1)


def _along(place: Place, phases: list[FrameValues], known: set[str]) -> Array:
    """Evaluate a place in every frame, (m, d); NaN in phases without its variables."""
    parts: list[Array | None] = []
    for phase in phases:
        if not len(phase.t):  # a phase shorter than the time between two frames
            parts.append(None)
            continue
        try:
            parts.append(_placed(place, phase))
        except KeyError as error:
            name = str(error.args[0])
            if name not in known:
                raise ModelError(
                    f"a drawing uses '{name}', which the motion does not have",
                    expected=", ".join(sorted(known)),
                    hint=suggest(name, known),
                ) from error
            parts.append(None)
    size = next((part.shape[1] for part in parts if part is not None), 2)
    filled = [
        np.full((len(phase.t), size), np.nan) if part is None else part
        for part, phase in zip(parts, phases, strict=True)
    ]
    return np.concatenate(filled)


def _placed(place: Place, phase: FrameValues) -> Array:
    """Evaluate a place in one phase, (m, d); ``KeyError`` for a variable that the phase lacks."""
    if isinstance(place, Where):
        _ = phase.values[place.variable]
        return _placed(place.place, phase)
    if not isinstance(place, Either):
        return _called(place, phase) if callable(place) else _evaluated(place, phase)
    for one in place.places[:-1]:
        try:
            return _placed(one, phase)
        except KeyError:
            continue
    return _placed(place.places[-1], phase)


def _called(place: Any, phase: FrameValues) -> Array:
    """Call a user's function once per frame, since it may not accept arrays."""
    rows = [
        np.atleast_1d(place({name: v[k] for name, v in phase.values.items()}))
        for k in range(len(phase.t))
    ]
    return np.array(rows, dtype=float).reshape(len(rows), -1)


def _evaluated(place: Any, phase: FrameValues) -> Array:
    entries = place if isinstance(place, (tuple, list)) else [place]
    column = casadi.densify(casadi.vertcat(*[casadi.SX(entry) for entry in entries]))
    symbols = casadi.symvar(column)
    given = np.array([phase.values[symbol.name()] for symbol in symbols]).reshape(
        len(symbols), len(phase.t)
    )
    if not symbols:
        return np.tile(np.asarray(casadi.DM(column).full(), dtype=float).T, (len(phase.t), 1))
    function = casadi.Function("place", [casadi.vertcat(*symbols)], [column])
    return np.asarray(function.map(len(phase.t))(given).full(), dtype=float).T


def _stroke(shape: Shape, phases: list[FrameValues], known: set[str]) -> Stroke:
    if isinstance(shape, Rod):
        places = (*shape.points, shape.points[0]) if shape.closed else shape.points
        points = np.stack([_along(place, phases, known) for place in places], axis=1)
        return Stroke(Role.LINE, points, shape.colour, shape.width)
    if isinstance(shape, Disc):
        return Stroke(Role.WHEEL, _wheel(shape, phases, known), shape.colour, 2.2)
    if isinstance(shape, Mark):
        return Stroke(
            Role.MARK, _along(shape.at, phases, known)[:, None, :], shape.colour, shape.size
        )
    if isinstance(shape, Arrow):
        tail, vector = (_along(place, phases, known) for place in (shape.at, shape.vector))
        ends = np.stack([tail, tail + shape.scale * vector], axis=1)
        return Stroke(
            Role.ARROW, ends, shape.colour, shape.width, framed=False
        )  # it may be large for a short time
    if isinstance(shape, Trail):
        return Stroke(
            Role.TRAIL, _along(shape.at, phases, known)[:, None, :], shape.colour, shape.width
        )
    return Stroke(Role.GROUND, np.array([shape.points], dtype=float), 0, shape.width, shape.whole)


def _wheel(disc: Disc, phases: list[FrameValues], known: set[str]) -> Array:
    """Return the polyline of a wheel: the rim from the spoke around, and along the spoke to the
    centre.
    """
    centre = _along(disc.centre, phases, known)  # (m, d)
    angle = _along(disc.angle, phases, known)  # (m, 1)
    turns = angle + np.linspace(0.0, 2 * np.pi, RIM + 1)  # (m, RIM + 1)
    if centre.shape[1] == 2:
        across, up = np.array([1.0, 0.0]), np.array([0.0, 1.0])
        rim = np.cos(turns)[..., None] * across + np.sin(turns)[..., None] * up
    else:
        if disc.normal is None:
            raise ModelError("a disc in space needs the direction of its axle", expected="normal=")
        first, second = _across(_along(disc.normal, phases, known))
        rim = (
            np.cos(turns)[..., None] * first[:, None, :]
            + np.sin(turns)[..., None] * second[:, None, :]
        )
    outline = centre[:, None, :] + disc.radius * rim
    return np.concatenate([outline, centre[:, None, :]], axis=1) if disc.spoke else outline


def _across(normal: Array) -> tuple[Array, Array]:
    """Return two unit vectors normal to an axle (m, 3); the first is horizontal, so that the zero
    of the spoke is fixed.
    """
    n = normal / np.linalg.norm(normal, axis=1, keepdims=True)
    level = np.cross(np.array([0.0, 0.0, 1.0]), n)
    size = np.linalg.norm(level, axis=1, keepdims=True)
    first = np.where(size > 1e-9, level / np.maximum(size, 1e-9), np.array([1.0, 0.0, 0.0]))
    return first, np.cross(n, first)
