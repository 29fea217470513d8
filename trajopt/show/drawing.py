"""Drawing: the geometry of a mechanism in terms of its variables, independent of a plotting
library.

A *place* is a position in two or three coordinates:

1. a CasADi column, or a tuple of numbers and scalar expressions, whose symbols have the names of
   variables: states, controls, parameters, or ``t``; component i of a vector ``r`` is ``r_i``; or
2. a function of the variables by name: ``lambda now: (now["x"], 0.0)``; slow, called once per
   frame; or
3. ``Either(place, place, ...)``, if phases have different variables.

Symbols are identified by name, so that one drawing works for simulations, solutions and loaded
solutions.
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
    """The first of several places whose variables a phase has."""

    places: tuple[Place, ...]

    def __init__(self, *places: Place) -> None:
        object.__setattr__(self, "places", places)


@dataclass(frozen=True, eq=False)
class Where:
    """A place in phases that have a variable, even if the place does not depend on it."""

    variable: str
    place: Place


@dataclass(frozen=True)
class Rod:
    """A line through places: a link, a chain of links, or the outline of a body if ``closed``."""

    points: tuple[Place, ...]
    colour: int = 0
    width: float = 4.0
    closed: bool = False

    def __post_init__(self) -> None:
        if len(self.points) < 2:
            raise ModelError(
                "a rod of a drawing needs at least two places", got=f"{len(self.points)} places"
            )


@dataclass(frozen=True)
class Disc:
    """A wheel with one spoke at ``angle`` (an expression or a function, as a place); ``normal`` is
    its axle in space.

    Without ``spoke`` it is a circle: a head, a planet.
    """

    centre: Place
    radius: float
    angle: Any = 0.0
    normal: Place | None = None
    colour: int = 2
    spoke: bool = True

    def __post_init__(self) -> None:
        if not self.radius > 0:
            raise ModelError("a disc of a drawing needs a positive radius", got=self.radius)


@dataclass(frozen=True)
class Mark:
    """A point such as a mass or a joint; the size is in typographic points."""

    at: Place
    size: float = 8.0
    colour: int = 1


@dataclass(frozen=True)
class Trail:
    """The path of a place up to the current frame."""

    at: Place
    colour: int = 4
    width: float = 1.3


@dataclass(frozen=True)
class Ground:
    """A fixed line: a floor, a track, a wall.

    The window is extended to contain it only if ``whole``.
    """

    points: tuple[tuple[float, ...], ...]
    width: float = 1.2
    whole: bool = False


@dataclass(frozen=True)
class Arrow:
    """A vector at a place, such as a force; ``scale`` is the length per unit.

    Zero vectors are not drawn.
    """

    at: Place
    vector: Place
    scale: float = 1.0
    colour: int = 3
    width: float = 2.2


Shape = Rod | Disc | Mark | Trail | Ground | Arrow


@dataclass(frozen=True)
class Drawing:
    """Shapes in order from back to front.

    Parameters
    ----------
    follow : a place that stays at the centre of the window, for motions over long distances.
    reach : with ``follow``, half the height of the window, in the unit of the drawing.
    view : azimuth and elevation in degrees, for three dimensions.
    unit : of all places.
    caption : one line that explains colours and arrows.

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
            raise ModelError(
                "a drawing needs at least one shape", expected="rods, discs, marks or trails"
            )
        if (self.follow is None) != (self.reach is None):
            raise ModelError(
                "a drawing needs both follow= and reach=, or neither", expected="follow= and reach="
            )


def link_shapes(tree: Tree, planar: bool = False) -> tuple[Shape, ...]:
    """Return shapes of a tree of links: a rod from each joint to twice the mass centre, and a mark
    at the joint.

    ``planar`` omits the third coordinate.
    """
    size = 2 if planar else 3
    rods: list[Shape] = []
    marks: list[Shape] = []
    for number, link in enumerate(tree.links):
        joint = tree.point(link.name)[:size]
        if any(link.centre):
            rods.append(
                Rod(
                    (joint, tree.point(link.name, tuple(2 * c for c in link.centre))[:size]), number
                )
            )
        marks.append(Mark(joint, 6.0 if any(link.centre) else 10.0, number))
    return (*rods, *marks)


def drawing_beside(
    build: Callable[..., Any], settings: Mapping[str, Any] | None = None
) -> Drawing | None:
    """Return the drawing of a problem: the result of the function ``drawing`` of its module; None
    if there is none.

    That function takes the arguments of the builder that affect the geometry, with the values of
    the settings or the defaults of the builder, so that one function can serve several builders of
    a module.
    """
    hook = getattr(sys.modules.get(build.__module__), "drawing", None)
    if not callable(hook):
        return None
    usual = {
        key: p.default
        for key, p in inspect.signature(build).parameters.items()
        if p.default is not p.empty
    }
    taken = {
        key: value
        for key, value in (usual | dict(settings or {})).items()
        if key in inspect.signature(hook).parameters
    }
    found = hook(**taken)
    if not isinstance(found, Drawing):
        raise ModelError(
            f"'drawing' in {build.__module__} did not return a drawing",
            got=type(found).__name__,
            expected="a Drawing",
        )
    return found


# A value of the dictionary ``pictures`` of a problem's module: a function from a solution or a
# simulation to a figure.
Picture = Callable[[Any], Any]


def pictures_beside(build: Callable[..., Any]) -> Mapping[str, Picture]:
    """Return the dictionary ``pictures`` of the builder's module: plots by kind."""
    found = getattr(sys.modules.get(build.__module__), "pictures", None)
    if found is None:
        return {}
    if not isinstance(found, Mapping) or not all(callable(draw) for draw in found.values()):
        raise ModelError(
            f"'pictures' in {build.__module__} is invalid",
            expected="a dictionary of functions by their names",
        )
    return found
