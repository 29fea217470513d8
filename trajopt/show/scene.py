"""Scene: a drawing along a motion, as numbers: what an animation, a strip of stills and a report have in common."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi
import numpy as np

from trajopt.errors import ModelError, UsageError, suggest
from trajopt.show.drawing import Arrow, Disc, Drawing, Either, Mark, Place, Rod, Shape, Trail, Where
from trajopt.show.frames import Array, FrameValues, frame_times, sampled, spans_of, thinned
from trajopt.solution import Solution

if TYPE_CHECKING:
    from trajopt.integrate.simulation import Simulation

RIM = 48  # corners of a circle
MOST_FRAMES = 300
TRAIL = 1500  # points of a trail, so that it is smooth where frames are far apart
SHORTEST, LONGEST = 1.5, 30.0  # s: what lasts shorter is too quick for the eye, what lasts longer too slow for its patience
SLOWED, USUAL = 4.0, 8.0  # s of playing, of a short motion and of any other that is not shown in real time
FLATTEST, STEEPEST = 0.45, 1.4  # height over width of a picture
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
    """A line through k points in m frames; a ground has one frame only, a trail ``finer`` points from each frame to the next,
    an arrow its two ends."""

    role: Role
    points: Array  # (m, k, d); not a number where its variables do not exist
    colour: int
    width: float
    framed: bool = True  # whether it is to be inside the picture


@dataclass(frozen=True, eq=False)
class Scene:
    """Everything to draw in m frames, in d = 2 or 3 coordinates."""

    title: str
    t: Array  # (m,)
    strokes: tuple[Stroke, ...]
    seconds: float  # how long it plays
    finer: int = 1
    time_unit: str = "s"
    middle: Array | None = None  # (m, d): what the picture follows
    reach: float | None = None
    view: tuple[float, float] = (-60.0, 22.0)
    unit: str = ""
    caption: str = ""

    @property
    def dimension(self) -> int:
        return int(self.strokes[0].points.shape[2])

    @property
    def speed(self) -> float:
        """Units of the motion's time that pass in a second of playing; 1 is real time where the unit is a second."""
        return float(self.t[-1] - self.t[0]) / self.seconds


def scene(source: Simulation | Solution, drawing: Drawing, frames: int | None = None) -> Scene:
    """A drawing along a simulation or an answer.

    Parameters
    ----------
    frames : how many; 25 a second but no more than 300 where nothing is said.

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
        raise UsageError("an animation needs two frames or more", got=frames)
    spans, unit = spans_of(source)
    duration = sum(b - a for a, b in spans)
    seconds = _playing(duration, unit)
    count = frames or _count(seconds)
    finer = max(1, round(TRAIL / count))
    stretches = [sampled(source, k, times) for k, times in enumerate(frame_times(spans, (count - 1) * finer + 1))]
    known = {name for stretch in stretches for name in stretch.values}
    frames_only = thinned(stretches, finer)
    strokes = tuple(_stroke(shape, stretches if isinstance(shape, Trail) else frames_only, known) for shape in drawing.shapes)
    dimensions = {stroke.points.shape[2] for stroke in strokes}
    if len(dimensions) != 1 or not dimensions <= {2, 3}:
        raise ModelError("the places of a drawing have 2 or 3 coordinates, all the same number", got=sorted(dimensions))
    middle = None if drawing.follow is None else _along(drawing.follow, frames_only, known)
    title = source.problem if isinstance(source, Solution) else source.system.name
    t = np.concatenate([stretch.t for stretch in frames_only])
    return Scene(title, t, strokes, seconds, finer, unit, middle, drawing.reach, drawing.view, drawing.unit, drawing.caption)


def pace(seen: Scene) -> str:
    """How fast it plays, where that is not real time: ``500 s a second``."""
    if abs(seen.speed - 1) < 0.01 and seen.time_unit == "s":
        return ""
    figure = f"{seen.speed:.0f}" if seen.speed >= 100 else f"{seen.speed:.3g}"
    return " ".join(word for word in (figure, seen.time_unit, "a second") if word)


def projected(points: Array, view: tuple[float, float]) -> Array:
    """(..., d) -> (..., 2): as they are in a plane, as seen from far away in space."""
    if points.shape[-1] == 2:
        return points
    a, e = np.radians(view)
    right = np.array([-np.sin(a), np.cos(a), 0.0])
    up = np.array([-np.sin(e) * np.cos(a), -np.sin(e) * np.sin(a), np.cos(e)])
    return np.stack([points @ right, points @ up], axis=-1)


HEAD, ANGLE = 0.028, np.radians(24.0)  # of an arrow: its length by the width of the picture, half its angle


def arrow_line(ends: Array, window: Window) -> Array:
    """(2, 2) -> (5, 2): tail, tip, and both sides of the head, in a picture; nothing where there is hardly any length."""
    (tail, tip), size = ends, HEAD * (window[1] - window[0])
    length = float(np.hypot(*(tip - tail)))
    if not length > 0.15 * size:
        return np.full((5, 2), np.nan)
    back = (tail - tip) / length * min(size, 0.6 * length)
    c, s = np.cos(ANGLE), np.sin(ANGLE)
    left, right = (np.array([back[0] * c - side * back[1] * s, side * back[0] * s + back[1] * c]) for side in (1, -1))
    return np.array([tail, tip, tip + left, tip, tip + right])


def window_of(seen: Scene) -> Window:
    """What fits everything that moves, neither too flat nor too steep; about the middle where the picture follows one."""
    if seen.middle is not None and seen.reach is not None:
        return (-1.6 * seen.reach, 1.6 * seen.reach, -seen.reach, seen.reach)
    moving = [stroke for stroke in seen.strokes if stroke.framed] or list(seen.strokes)
    points = np.concatenate([projected(stroke.points, seen.view).reshape(-1, 2) for stroke in moving])
    low, high = np.nanmin(points, axis=0), np.nanmax(points, axis=0)
    middle, half = (low + high) / 2, 0.54 * (high - low)
    half = np.maximum(half, 1e-9 * max(1.0, float(np.abs(middle).max())))
    half = half + 0.03 * half.max()
    half[0] = max(half[0], half[1] / STEEPEST)
    half[1] = max(half[1], FLATTEST * half[0])
    return (float(middle[0] - half[0]), float(middle[0] + half[0]), float(middle[1] - half[1]), float(middle[1] + half[1]))


def _playing(duration: float, unit: str) -> float:
    if unit != "s" or duration > LONGEST:
        return USUAL
    return duration if duration >= SHORTEST else SLOWED


def _count(seconds: float) -> int:
    """Whole hundredths of a second for each frame, as gif files count time."""
    delay = max(4, int(np.ceil(100 * seconds / MOST_FRAMES)))
    return max(2, round(100 * seconds / delay) + 1)


def _along(place: Place, stretches: list[FrameValues], known: set[str]) -> Array:
    """(m, d): a place in every frame; not a number in phases that lack one of its variables."""
    parts: list[Array | None] = []
    for stretch in stretches:
        if not len(stretch.t):  # a phase shorter than the time between two frames
            parts.append(None)
            continue
        try:
            parts.append(_placed(place, stretch))
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
        np.full((len(stretch.t), size), np.nan) if part is None else part for part, stretch in zip(parts, stretches, strict=True)
    ]
    return np.concatenate(filled)


def _placed(place: Place, stretch: FrameValues) -> Array:
    """(m, d); a ``KeyError`` names a variable that the stretch lacks."""
    if isinstance(place, Where):
        _ = stretch.values[place.variable]
        return _placed(place.place, stretch)
    if not isinstance(place, Either):
        return _called(place, stretch) if callable(place) else _evaluated(place, stretch)
    for one in place.places[:-1]:
        try:
            return _placed(one, stretch)
        except KeyError:
            continue
    return _placed(place.places[-1], stretch)


def _called(place: Any, stretch: FrameValues) -> Array:
    """One frame after the other: a person's function may not take arrays."""
    rows = [np.atleast_1d(place({name: v[k] for name, v in stretch.values.items()})) for k in range(len(stretch.t))]
    return np.array(rows, dtype=float).reshape(len(rows), -1)


def _evaluated(place: Any, stretch: FrameValues) -> Array:
    entries = place if isinstance(place, (tuple, list)) else [place]
    column = casadi.densify(casadi.vertcat(*[casadi.SX(entry) for entry in entries]))
    symbols = casadi.symvar(column)
    given = np.array([stretch.values[symbol.name()] for symbol in symbols]).reshape(len(symbols), len(stretch.t))
    if not symbols:
        return np.tile(np.asarray(casadi.DM(column).full(), dtype=float).T, (len(stretch.t), 1))
    function = casadi.Function("place", [casadi.vertcat(*symbols)], [column])
    return np.asarray(function.map(len(stretch.t))(given).full(), dtype=float).T


def _stroke(shape: Shape, stretches: list[FrameValues], known: set[str]) -> Stroke:
    if isinstance(shape, Rod):
        places = (*shape.points, shape.points[0]) if shape.closed else shape.points
        points = np.stack([_along(place, stretches, known) for place in places], axis=1)
        return Stroke(Role.LINE, points, shape.colour, shape.width)
    if isinstance(shape, Disc):
        return Stroke(Role.WHEEL, _wheel(shape, stretches, known), shape.colour, 2.2)
    if isinstance(shape, Mark):
        return Stroke(Role.MARK, _along(shape.at, stretches, known)[:, None, :], shape.colour, shape.size)
    if isinstance(shape, Arrow):
        tail, vector = (_along(place, stretches, known) for place in (shape.at, shape.vector))
        ends = np.stack([tail, tail + shape.scale * vector], axis=1)
        return Stroke(Role.ARROW, ends, shape.colour, shape.width, framed=False)  # it may be large for a moment
    if isinstance(shape, Trail):
        return Stroke(Role.TRAIL, _along(shape.at, stretches, known)[:, None, :], shape.colour, shape.width)
    return Stroke(Role.GROUND, np.array([shape.points], dtype=float), 0, shape.width, shape.whole)


def _wheel(disc: Disc, stretches: list[FrameValues], known: set[str]) -> Array:
    """The rim from where the spoke meets it, round, and back along the spoke to the centre."""
    centre = _along(disc.centre, stretches, known)  # (m, d)
    angle = _along(disc.angle, stretches, known)  # (m, 1)
    turns = angle + np.linspace(0.0, 2 * np.pi, RIM + 1)  # (m, RIM + 1)
    if centre.shape[1] == 2:
        across, up = np.array([1.0, 0.0]), np.array([0.0, 1.0])
        rim = np.cos(turns)[..., None] * across + np.sin(turns)[..., None] * up
    else:
        if disc.normal is None:
            raise ModelError("a disc in space needs the direction of its axle", expected="normal=")
        first, second = _across(_along(disc.normal, stretches, known))
        rim = np.cos(turns)[..., None] * first[:, None, :] + np.sin(turns)[..., None] * second[:, None, :]
    outline = centre[:, None, :] + disc.radius * rim
    return np.concatenate([outline, centre[:, None, :]], axis=1) if disc.spoke else outline


def _across(normal: Array) -> tuple[Array, Array]:
    """Two unit vectors across an axle (m, 3): the first is level, so that a spoke's zero does not wander."""
    n = normal / np.linalg.norm(normal, axis=1, keepdims=True)
    level = np.cross(np.array([0.0, 0.0, 1.0]), n)
    size = np.linalg.norm(level, axis=1, keepdims=True)
    first = np.where(size > 1e-9, level / np.maximum(size, 1e-9), np.array([1.0, 0.0, 0.0]))
    return first, np.cross(n, first)
