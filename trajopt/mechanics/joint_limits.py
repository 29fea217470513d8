"""Tables of joint limits: TOML, the ``joint_limits.yaml`` of MoveIt, or dictionaries.

acceleration = "15 rad/s^2"          # of all joints with motors

[elbow]                              # of one joint
effort = 120                         # N m
rotor = 0.1                          # kg m^2
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trajopt.errors import FileError, UsageError, suggest
from trajopt.parameters import Setting

# Of a turning joint; a sliding one has m, kg and N instead of rad, kg m^2 and N m.
ENTRIES = {
    "lower": Setting(0.0, "rad", "least position"),
    "upper": Setting(0.0, "rad", "greatest position"),
    "speed": Setting(0.0, "rad/s", "greatest speed", 0),
    "effort": Setting(0.0, "N m", "greatest torque or force", 0),
    "acceleration": Setting(0.0, "rad/s^2", "greatest acceleration", 0),
    "rotor": Setting(0.0, "kg m^2", "inertia of the rotor at the joint", 0),
    "damping": Setting(0.0, "N m s", "viscous friction", 0),
    "friction": Setting(0.0, "N m", "dry friction", 0),
    "stiffness": Setting(0.0, "N m", "stiffness of a spring, for each rad", 0),
    "rest": Setting(0.0, "rad", "position of the spring at rest"),
}
SLIDING = {
    "rad": "m",
    "rad/s": "m/s",
    "rad/s^2": "m/s^2",
    "N m": "N",
    "N m s": "N s/m",
    "kg m^2": "kg",
}
# The entries of a joint_limits.yaml, each in force where its flag has_..._limits is true.
MOVEIT = {
    "min_position": ("lower", "has_position_limits"),
    "max_position": ("upper", "has_position_limits"),
    "max_velocity": ("speed", "has_velocity_limits"),
    "max_acceleration": ("acceleration", "has_acceleration_limits"),
    "max_effort": ("effort", "has_effort_limits"),
}

Table = dict[str | None, dict[str, float]]


def read_limits(
    table: str | Path | Mapping[str, Any],
    units: Mapping[str, str],
    everywhere: Mapping[str, Any],
) -> Table:
    """Return limits by joint, and under None those of all joints with motors.

    ``units`` has "rad" or "m" for each joint. Numbers may have units.

    >>> read_limits({"acceleration": 15, "elbow": {"lower": "-1.5 rad"}}, {"elbow": "rad"}, {})
    {None: {'acceleration': 15.0}, 'elbow': {'lower': -1.5}}
    """
    given = table if isinstance(table, Mapping) else _from_file(Path(table))
    common = {k: v for k, v in given.items() if not isinstance(v, Mapping)} | dict(everywhere)
    found: Table = {None: _entries(common, "rad", "all joints")} if common else {}
    for joint, entries in given.items():
        if isinstance(entries, Mapping):
            found[joint] = _entries(entries, units.get(joint, "rad"), f"joint '{joint}'")
    return found


def _entries(entries: Mapping[str, Any], unit: str, owner: str) -> dict[str, float]:
    found = {}
    for key, value in entries.items():
        if key not in ENTRIES:
            raise UsageError(
                f"limits of {owner} have no entry '{key}'",
                expected=", ".join(ENTRIES),
                hint=suggest(key, ENTRIES),
            )
        one = ENTRIES[key]
        wanted = one.unit if unit == "rad" else SLIDING[one.unit]
        setting = Setting(one.default, wanted, one.meaning, one.lower, name=f"{key} of {owner}")
        found[key] = float(setting.read(value))
    return found


def _from_file(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(
            f"cannot read the limits '{path}'",
            got=str(error),
            expected="a TOML file, or a joint_limits.yaml",
        ) from error
    if path.suffix in (".yaml", ".yml"):
        return _from_moveit(read_yaml(text, str(path)), path)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FileError(
            f"'{path}' is not a table of limits",
            got=str(error),
            expected="TOML with [joint] tables",
        ) from error


def _from_moveit(content: Mapping[str, Any], path: Path) -> dict[str, Any]:
    joints = content.get("joint_limits")
    if not isinstance(joints, Mapping):
        raise FileError(
            f"'{path}' is not a table of limits",
            got=", ".join(content) or "nothing",
            expected="joint_limits: with a block for each joint",
        )
    found: dict[str, Any] = {}
    for joint, entries in joints.items():
        entries = entries if isinstance(entries, Mapping) else {}
        found[joint] = {
            name: entries[key]
            for key, (name, flag) in MOVEIT.items()
            if key in entries and entries.get(flag, True) is not False
        }
    return found


def read_yaml(text: str, name: str) -> dict[str, Any]:
    """Read nested blocks of ``key: value`` lines, the part of YAML that such tables use.

    >>> read_yaml("joint_limits:\\n  elbow:\\n    max_velocity: 2.5  # rad/s\\n", "limits")
    {'joint_limits': {'elbow': {'max_velocity': 2.5}}}
    """
    whole: dict[str, Any] = {}
    blocks: list[tuple[int, dict[str, Any]]] = [(-1, whole)]
    for number, line in enumerate(text.splitlines(), 1):
        content = line.split("#")[0].rstrip()
        if not content.strip() or content.strip() == "---":
            continue
        indent = len(content) - len(content.lstrip())
        key, colon, value = content.strip().partition(":")
        if not colon or key.startswith(("-", "{", "[")):
            raise FileError(
                f"'{name}' is not a table of limits",
                got=f"line {number}: {line.strip()}",
                expected="key: value",
            )
        while indent <= blocks[-1][0]:
            blocks.pop()
        key = key.strip().strip("'\"")
        if value.strip():
            blocks[-1][1][key] = _scalar(value.strip())
        else:
            block: dict[str, Any] = {}
            blocks[-1][1][key] = block
            blocks.append((indent, block))
    return whole


def _scalar(text: str) -> Any:
    words = {"true": True, "yes": True, "false": False, "no": False}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return float(text)
    except ValueError:
        return text.strip("'\"")
