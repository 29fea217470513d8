"""Drawing: the geometry of a mechanism, from the names of its variables; nothing here needs a plotting library.

A *place* is where something is, in two or three coordinates:

1. a CasADi column, or a tuple of numbers and scalar expressions, whose symbols have the names of variables: states, controls,
   parameters, or ``t``; component i of a vector ``r`` is ``r_i``; or
2. a function of the variables by name: ``lambda now: (now["x"], 0.0)``; slow, one frame after the other; or
3. ``Either(place, place, ...)``, where phases differ in their variables.

Places go by names and not by symbols, so one drawing serves a simulation, an answer and an answer read from a file.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trajopt.errors import ModelError

if TYPE_CHECKING:
    from trajopt.mechanics import Tree

Place = Any


@dataclass(frozen=True, eq=False)
class Either:
    """The first of several places of which a phase has all variables."""

    places: tuple[Place, ...]

    def __init__(self, *places: Place) -> None:
        object.__setattr__(self, "places", places)


@dataclass(frozen=True, eq=False)
class Where:
    """A place for phases that have a variable, also where the place itself does not depend on it."""

    variable: str
    place: Place


@dataclass(frozen=True)
class Rod:
    """A line through places: a link, a chain of links, or the outline of a body where ``closed``."""

    points: tuple[Place, ...]
    colour: int = 0
    width: float = 4.0
    closed: bool = False

    def __post_init__(self) -> None:
        if len(self.points) < 2:
            raise ModelError("a rod of a drawing has two ends or more", got=f"{len(self.points)} places")


@dataclass(frozen=True)
class Disc:
    """A wheel with one spoke at ``angle`` (an expression or a function, as a place); ``normal`` is its axle in space.

    Without its ``spoke`` it is a circle: a head, a planet.
    """

    centre: Place
    radius: float
    angle: Any = 0.0
    normal: Place | None = None
    colour: int = 2
    spoke: bool = True

    def __post_init__(self) -> None:
        if not self.radius > 0:
            raise ModelError("a disc of a drawing has a positive radius", got=self.radius)


@dataclass(frozen=True)
class Mark:
    """A point: a mass, a joint; the size is in points of print."""

    at: Place
    size: float = 8.0
    colour: int = 1


@dataclass(frozen=True)
class Trail:
    """The way that a place has come."""

    at: Place
    colour: int = 4
    width: float = 1.3


@dataclass(frozen=True)
class Ground:
    """A line that stays: a floor, a track, a wall. It does not widen the picture unless it is to be ``whole`` in it."""

    points: tuple[tuple[float, ...], ...]
    width: float = 1.2
    whole: bool = False


@dataclass(frozen=True)
class Arrow:
    """A vector at a place, such as a force; ``scale`` is the length drawn for a unit of it. One of no length is not drawn."""

    at: Place
    vector: Place
    scale: float = 1.0
    colour: int = 3
    width: float = 2.2


Shape = Rod | Disc | Mark | Trail | Ground | Arrow


@dataclass(frozen=True)
class Drawing:
    """Shapes, from back to front.

    Parameters
    ----------
    follow : a place that the picture keeps in its middle, for what travels far.
    reach : then half the height of the picture, in the drawing's unit.
    view : azimuth and elevation (degrees) from which a drawing in three dimensions is seen.
    unit : of all places.
    caption : what colours and arrows mean, in a line.

    Examples
    --------
    >>> from casadi import SX, cos, sin
    >>> theta = SX.sym("theta")
    >>> bob = (2 * sin(theta), -2 * cos(theta))
    >>> pendulum = Drawing((Trail(bob), Rod(((0, 0), bob)), Mark(bob)))
    >>> len(pendulum.shapes)
    3
    """

    shapes: tuple[Shape, ...]
    follow: Place | None = None
    reach: float | None = None
    view: tuple[float, float] = (-60.0, 22.0)
    unit: str = ""
    caption: str = ""

    def __post_init__(self) -> None:
        if not self.shapes:
            raise ModelError("a drawing needs something to draw", expected="rods, discs, marks or trails")
        if (self.follow is None) != (self.reach is None):
            raise ModelError(
                "a drawing that follows a place needs its reach, and the other way round", expected="follow= and reach="
            )


def link_shapes(tree: Tree, planar: bool = False) -> tuple[Shape, ...]:
    """Shapes of a tree of links: each as a rod from its joint through its mass centre and as far beyond, its joint as a mark.

    ``planar`` leaves the third coordinate out.
    """
    size = 2 if planar else 3
    rods: list[Shape] = []
    marks: list[Shape] = []
    for number, link in enumerate(tree.links):
        joint = tree.point(link.name)[:size]
        if any(link.centre):
            rods.append(Rod((joint, tree.point(link.name, tuple(2 * c for c in link.centre))[:size]), number))
        marks.append(Mark(joint, 6.0 if any(link.centre) else 10.0, number))
    return (*rods, *marks)


def drawing_beside(build: Callable[..., Any], settings: Mapping[str, Any] | None = None) -> Drawing | None:
    """The drawing that a problem's module has beside its builder, None where it has none.

    It is what the module's function ``drawing`` returns. That takes those arguments of the builder that matter for the picture,
    and gets the settings, or the builder's own defaults: one function may serve several builders of a module.
    """
    hook = getattr(sys.modules.get(build.__module__), "drawing", None)
    if not callable(hook):
        return None
    usual = {key: p.default for key, p in inspect.signature(build).parameters.items() if p.default is not p.empty}
    taken = {key: value for key, value in (usual | dict(settings or {})).items() if key in inspect.signature(hook).parameters}
    found = hook(**taken)
    if not isinstance(found, Drawing):
        raise ModelError(f"'drawing' in {build.__module__} gave no drawing", got=type(found).__name__, expected="a Drawing")
    return found


# What a problem's module may call ``pictures``: by name, functions from an answer or a simulation to a matplotlib figure.
Picture = Callable[[Any], Any]


def pictures_beside(build: Callable[..., Any]) -> Mapping[str, Picture]:
    """The pictures of its own that a module has beside a builder: a dictionary ``pictures``, by their kinds."""
    found = getattr(sys.modules.get(build.__module__), "pictures", None)
    if found is None:
        return {}
    if not isinstance(found, Mapping) or not all(callable(draw) for draw in found.values()):
        raise ModelError(f"'pictures' in {build.__module__} are no pictures", expected="a dictionary of functions by their names")
    return found
