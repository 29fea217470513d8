"""Read a ``trajopt.mechanics.Tree`` from a TOML file with units.

gravity = [0, -9.81, 0]              # m/s^2

[[link]]
name = "upper"
parent = "ground"
joint = [{turn = "z", by = "shoulder", start = "0.3 rad"}]
mass = 2.0                           # kg
length = "0.4 m"                     # a thin rod along x

[[link]]
name = "fore"
parent = "upper"
joint = [{slide = "x", by = 0.4}, {turn = "z", by = "elbow"}]
mass = 1.5
centre = [0.2, 0, 0]                 # m, instead of a length
inertia = [0, 0.02, 0.02]            # kg m^2, about the mass centre
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from trajopt.errors import FileError, UsageError, suggest
from trajopt.mechanics.chains import Link, Tree, rod
from trajopt.mechanics.joints import Level, Slide, Step, Turn
from trajopt.mechanics.lagrange import Coordinate
from trajopt.parameters import Setting

TREE = {"gravity": Setting((0.0, 0.0, -9.80665), "m/s^2", "acceleration of free fall")}
LINK = {
    "mass": Setting(0.0, "kg", "mass", 0),
    "length": Setting(0.0, "m", "length of a thin rod along x", 0),
    "centre": Setting((0.0, 0.0, 0.0), "m", "mass centre"),
    "inertia": Setting((0.0, 0.0, 0.0), "kg m^2", "principal inertias about the mass centre", 0),
}
STEPS: Mapping[str, tuple[str, Callable[..., Step]]] = {
    "turn": ("rad", Turn),
    "slide": ("m", Slide),
}


def load_links(path: str | Path) -> Tree:
    """Read a tree of links; ``by`` of a joint is the name of a coordinate, or a number."""
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"cannot read '{path}'", got=error.strerror) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FileError(
            f"'{path}' is not a file of links", got=str(error), expected="TOML with [[link]] tables"
        ) from error
    _known(content, {"name", "link", *TREE}, f"'{path}'")
    gravity = _read(TREE, "gravity", content, f"'{path}'")
    coordinates: dict[str, Coordinate] = {}
    links = tuple(_link(entry, coordinates) for entry in content.get("link", ()))
    return Tree(str(content.get("name", Path(path).stem)), links, gravity)


def _link(entry: Mapping[str, Any], coordinates: dict[str, Coordinate]) -> Link:
    name = str(entry.get("name", ""))
    where = f"link '{name}'"
    _known(entry, {"name", "parent", "joint", *LINK}, where)
    if not name or "parent" not in entry:
        raise UsageError(
            f"{where} needs a name and a parent", expected='as in name = "upper", parent = "ground"'
        )
    joint = tuple(_step(step, coordinates, where) for step in entry.get("joint", ()))
    mass = _read(LINK, "mass", entry, where)
    if "length" in entry:
        if "centre" in entry or "inertia" in entry:
            raise UsageError(
                f"{where} has a length besides a centre or an inertia",
                hint="give length for a thin rod, or centre and inertia",
            )
        return rod(name, str(entry["parent"]), joint, mass, _read(LINK, "length", entry, where))
    return Link(
        name,
        str(entry["parent"]),
        joint,
        mass,
        _read(LINK, "centre", entry, where),
        _read(LINK, "inertia", entry, where),
    )


def _step(step: Mapping[str, Any], coordinates: dict[str, Coordinate], where: str) -> Step:
    _known(step, {"turn", "slide", "level", "by", "start", "speed"}, f"a joint of {where}")
    if step.get("level"):
        return Level()
    kind = next((kind for kind in STEPS if kind in step), None)
    if kind is None or "by" not in step:
        example = '{turn = "z", by = "elbow"} or {slide = "x", by = 0.4}'
        raise UsageError(f"a joint of {where} does not move", expected=f"as in {example}")
    unit, make = STEPS[kind]
    axis, by = step[kind], step["by"]
    axis = tuple(axis) if isinstance(axis, list) else axis
    if not isinstance(by, str) or by[:1] in "+-.0123456789":
        return make(axis, Setting(0.0, unit, "shift", name="by").read(by))
    if by not in coordinates:
        start, speed = (
            Setting(0.0, unit + per, key, name=key).read(step.get(key, 0.0))
            for key, per in (("start", ""), ("speed", "/s"))
        )
        coordinates[by] = Coordinate(by, start, speed, unit)
    return make(axis, coordinates[by])


def _read(declared: Mapping[str, Setting], key: str, given: Mapping[str, Any], where: str) -> Any:
    one = declared[key]
    try:
        return Setting(one.default, one.unit, one.meaning, one.lower, name=key).read(
            given.get(key, one.default)
        )
    except UsageError as error:
        raise UsageError(
            f"{where}: {error.what}", got=error.got, expected=error.expected, hint=error.hint
        ) from error


def _known(given: Mapping[str, Any], known: set[str], where: str) -> None:
    for key in given:
        if key not in known:
            raise UsageError(
                f"{where} has no entry '{key}'",
                expected=", ".join(sorted(known)),
                hint=suggest(key, known),
            )
