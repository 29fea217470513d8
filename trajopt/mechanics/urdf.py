"""Read robots from URDF files.

Each link of the file is a link of the tree, also where a fixed joint carries it: a frame by its
name. Limits, damping and dry friction of a joint are in ``Robot.limits``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from trajopt.errors import FileError, ModelError, suggest, warn
from trajopt.mechanics.chains import GROUND, Link, Tree
from trajopt.mechanics.joints import FreeJoint, Mimic, Placement, Slide, Step, Turn
from trajopt.mechanics.lagrange import Coordinate
from trajopt.mechanics.robot import INF, JointLimits, Robot, Visual
from trajopt.mechanics.robot_files import from_roll_pitch_yaw, read_xml, with_right_angles

KINDS = ("revolute", "continuous", "prismatic", "fixed", "floating")


@dataclass(eq=False)
class _UrdfReading:
    """What is known of a file while its tree is walked from the root outwards."""

    path: Path
    fixed: Mapping[str, float]
    links: dict[str, Element]
    joints: dict[str, Element]
    coordinates: dict[str, Coordinate] = field(default_factory=dict)
    limits: dict[str, JointLimits] = field(default_factory=dict)
    made: list[Link] = field(default_factory=list)
    visuals: list[Visual] = field(default_factory=list)

    def error(self, what: str, **details: Any) -> FileError:
        return FileError(f"'{self.path}': {what}", **details)


def read_urdf(path: Path, fixed: Mapping[str, float], floating: bool) -> Robot:
    """Read a URDF file; see ``trajopt.mechanics.read_robot``."""
    root = read_xml(path)
    for element in root.iter():
        for key in ("link", "name"):
            if element.tag in ("link", "parent", "child") and element.get(key) == GROUND:
                element.set(key, f"{GROUND} (link)")  # "ground" is the ground of a tree
    # <joint> elements without a parent belong to transmissions and controllers.
    joints = [joint for joint in root.findall("joint") if joint.find("parent") is not None]
    links = root.findall("link")
    reading = _UrdfReading(path, fixed, {_name(e): e for e in links}, {_name(e): e for e in joints})
    _check_names(reading, links, joints)
    for name in fixed:
        if name not in reading.joints:
            raise ModelError(
                f"'{path}' has no joint '{name}'",
                expected=", ".join(reading.joints),
                hint=suggest(name, reading.joints),
            )
    base = _root_link(reading)
    _read_coordinates(reading)
    name = root.get("name") or path.stem
    joint: tuple[Step, ...] = ()
    if floating:
        base_joint = FreeJoint("base")
        joint = (base_joint,)
        for coordinate in base_joint.coordinates:
            reading.limits[coordinate.name] = JointLimits(effort=0.0)
    _visit(reading, base, GROUND, joint)
    tree = Tree(name, tuple(reading.made), gravity=(0.0, 0.0, -9.81))
    moved = {c.name for c in tree.coordinates}
    limits = {joint: limit for joint, limit in reading.limits.items() if joint in moved}
    return Robot(name, tree, limits, tuple(reading.visuals))


def _name(element: Element) -> str:
    return element.get("name", "")


def _check_names(reading: _UrdfReading, links: list[Element], joints: list[Element]) -> None:
    if not links:
        raise reading.error("no links", expected="<link name=...> in <robot>")
    for kind, elements in (("link", links), ("joint", joints)):
        names = [_name(e) for e in elements]
        for name in names:
            if not name or names.count(name) > 1:
                raise reading.error(
                    f"a {kind} without a name of its own",
                    got=repr(name),
                    expected=f"different names of all {kind}s",
                )
    for joint in joints:
        for end in ("parent", "child"):
            element = joint.find(end)
            link = element.get("link", "") if element is not None else ""
            if link not in reading.links:
                raise reading.error(
                    f"the {end} of joint '{_name(joint)}' does not exist",
                    got=link or "nothing",
                    expected=", ".join(reading.links),
                    hint=suggest(link, reading.links),
                )
        if joint.get("type") not in KINDS:
            raise reading.error(
                f"joint '{_name(joint)}' has a type that is not read",
                got=joint.get("type"),
                expected=", ".join(KINDS),
            )


def _root_link(reading: _UrdfReading) -> str:
    children = [_end(joint, "child") for joint in reading.joints.values()]
    for link in children:
        if children.count(link) > 1:
            raise reading.error(
                f"link '{link}' is the child of several joints",
                hint="a URDF is a tree; close loops by constraints on its motion",
            )
    roots = [name for name in reading.links if name not in children]
    if len(roots) != 1:
        raise reading.error(
            "not one tree",
            got=f"{len(roots)} links without a parent: {', '.join(roots) or 'a loop'}",
            expected="one, the base",
            hint="close loops by constraints on the motion, or join the parts by a fixed joint",
        )
    return roots[0]


def _end(joint: Element, end: str) -> str:
    element = joint.find(end)
    return element.get("link", "") if element is not None else ""


def _read_coordinates(reading: _UrdfReading) -> None:
    """Make the coordinates of all joints that move by themselves, and their limits."""
    for name, joint in reading.joints.items():
        kind = joint.get("type")
        if (
            kind in ("fixed", "floating")
            or name in reading.fixed
            or joint.find("mimic") is not None
        ):
            continue
        unit = "m" if kind == "prismatic" else "rad"
        reading.coordinates[name] = Coordinate(name, unit=unit)
        limit, dynamics = joint.find("limit"), joint.find("dynamics")
        ends = {"lower": -INF, "upper": INF}
        # The format says that a limit left out is zero; files that leave out both mean none.
        given = limit is not None and {"lower", "upper"} & set(limit.attrib)
        if kind != "continuous" and given:
            ends = {key: _number(reading, limit, key, 0.0) for key in ends}
        reading.limits[name] = JointLimits(
            **ends,
            speed=_number(reading, limit, "velocity", INF),
            effort=_number(reading, limit, "effort", INF),
            damping=_number(reading, dynamics, "damping", 0.0),
            friction=_number(reading, dynamics, "friction", 0.0),
        )


def _number(reading: _UrdfReading, element: Element | None, key: str, default: float) -> float:
    text = element.get(key) if element is not None else None
    return default if text is None else _numbers(reading, text, 1, key)[0]


def _numbers(reading: _UrdfReading, text: str, count: int, what: str) -> tuple[float, ...]:
    try:
        values = tuple(float(part) for part in text.split())
    except ValueError:
        values = ()
    if len(values) != count or not np.all(np.isfinite(values)):
        number = "a number" if count == 1 else f"{count} numbers"
        raise reading.error(
            f"'{what}' is not {number}", got=text, expected=f"{number}, with a point and blanks"
        )
    return values


def _vector(reading: _UrdfReading, element: Element | None, key: str, default: str) -> np.ndarray:
    text = element.get(key, default) if element is not None else default
    return np.array(_numbers(reading, text, 3, key))


def _placement(reading: _UrdfReading, element: Element | None) -> tuple[np.ndarray, np.ndarray]:
    """Return shift (3,) and rotation (3, 3) of an <origin>."""
    origin = element.find("origin") if element is not None else None
    rotation = from_roll_pitch_yaw(list(_vector(reading, origin, "rpy", "0 0 0")))
    shift = _vector(reading, origin, "xyz", "0 0 0")
    return shift, with_right_angles(rotation)


def _visit(reading: _UrdfReading, name: str, parent: str, joint: tuple[Step, ...]) -> None:
    """Add a link, and after it those that it carries."""
    waiting = [(name, parent, joint)]
    while waiting:
        name, parent, joint = waiting.pop()
        reading.made.append(_link(reading, name, parent, joint))
        _add_visuals(reading, name)
        carried = [j for j in reading.joints.values() if _end(j, "parent") == name]
        waiting += [(_end(j, "child"), name, _steps(reading, j)) for j in reversed(carried)]


def _link(reading: _UrdfReading, name: str, parent: str, joint: tuple[Step, ...]) -> Link:
    inertial = reading.links[name].find("inertial")
    mass = inertial.find("mass") if inertial is not None else None
    if inertial is None or mass is None:
        return Link(name, parent, joint)
    centre, R = _placement(reading, inertial)
    tensor = inertial.find("inertia")
    xx, xy, xz, yy, yz, zz = (
        _number(reading, tensor, f"i{axes}", 0.0) for axes in ("xx", "xy", "xz", "yy", "yz", "zz")
    )
    own = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
    least = float(np.linalg.eigvalsh(own)[0])
    if least < -1e-12:
        warn(
            f"'{reading.path}': no body has the inertia of link '{name}', which is taken as it is",
            got=f"a principal moment of {least:.3g} kg m^2",
            hint="correct the file",
        )
    x, y, z = (float(c) for c in centre)
    own_mass = _number(reading, mass, "value", 0.0)
    return Link(name, parent, joint, own_mass, (x, y, z), own, check_inertia=False)


def _steps(reading: _UrdfReading, joint: Element) -> tuple[Step, ...]:
    name, kind = _name(joint), joint.get("type")
    shift, rotation = _placement(reading, joint)
    placed = Placement(shift, rotation)
    if kind == "fixed":
        return (placed,)
    if kind == "floating":
        free = FreeJoint(name)
        for coordinate in free.coordinates:
            reading.limits[coordinate.name] = JointLimits(effort=0.0)
        return (placed, free)
    axis = _vector(reading, joint.find("axis"), "xyz", "1 0 0")
    if not np.any(axis):
        raise reading.error(f"joint '{name}' has no axis", got="0 0 0", expected="a vector")
    step = Slide if kind == "prismatic" else Turn
    x, y, z = (float(c) for c in axis)
    return (placed, step((x, y, z), _moved_by(reading, name)))


def _moved_by(reading: _UrdfReading, name: str) -> Any:
    """Return what moves a joint: a coordinate, a number, or the coordinate that it mimics."""
    ratio, offset, followed = 1.0, 0.0, [name]
    while name not in reading.coordinates and name not in reading.fixed:
        mimic = reading.joints[name].find("mimic")
        other = mimic.get("joint", "") if mimic is not None else ""
        if mimic is None or other not in reading.joints or other in followed:
            raise reading.error(
                f"joint '{followed[0]}' mimics no joint that moves",
                got=other or name,
                hint=suggest(other, reading.joints),
            )
        offset += ratio * _number(reading, mimic, "offset", 0.0)
        ratio *= _number(reading, mimic, "multiplier", 1.0)
        name = other
        followed.append(name)
    if name in reading.fixed:
        return ratio * float(reading.fixed[name]) + offset
    coordinate = reading.coordinates[name]
    return coordinate if len(followed) == 1 else Mimic(coordinate, ratio, offset)


def _add_visuals(reading: _UrdfReading, link: str) -> None:
    for visual in reading.links[link].findall("visual"):
        geometry = visual.find("geometry")
        for shape in geometry if geometry is not None else ():
            size: tuple[float, ...]
            if shape.tag == "box":
                size = tuple(_vector(reading, shape, "size", "0 0 0"))
            elif shape.tag == "cylinder":
                size = (
                    _number(reading, shape, "radius", 0.0),
                    _number(reading, shape, "length", 0.0),
                )
            elif shape.tag == "sphere":
                size = (_number(reading, shape, "radius", 0.0),)
            elif shape.tag == "mesh":
                size = tuple(_vector(reading, shape, "scale", "1 1 1"))
            else:
                continue
            kind = shape.get("filename", "") if shape.tag == "mesh" else shape.tag
            shift, rotation = _placement(reading, visual)
            reading.visuals.append(Visual(link, kind, size, shift, rotation))
