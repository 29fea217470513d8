"""Settings of a builder with units: declaration, check, and parameter files.

A ``settable`` builder declares each argument by its default value, or takes a frozen dataclass of
declared fields:

>>> @dataclass(frozen=True)
... class Wheel:
...     radius: float = setting_field(0.3, "m", "radius of the tyre", 0.1, 0.6)
...     mass: float = setting_field(2.0, "kg", "mass", 0.1, 20)
>>> @settable
... def build(wheel: Wheel = Wheel(), slope=setting(5.0, "deg", "slope of the ground", -30, 30)):
...     return wheel.radius, wheel.mass, slope
>>> build(radius=0.35, slope="10 deg")
(0.35, 2.0, 10.0)
>>> build(radius="35 cm")
Traceback (most recent call last):
trajopt.errors.UsageError: 'radius' has the unit m
  got:      '35 cm'
  expected: a number, or a string such as "0.3 m"
  hint:     35 cm is 0.35 m
"""

from __future__ import annotations

import functools
import inspect
import math
import numbers
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from trajopt.errors import FileError, UsageError, suggest
from trajopt.files.atomic import check_writable, write_text

ONE = "1"  # the unit of a ratio
WORDS = {"true": True, "false": False, "none": None}  # as --set and a parameter file write them
# unit -> (declared unit, factor): for hints only. A value in another unit is an error.
CONVERSIONS = {
    "mm": ("m", 1e-3),
    "cm": ("m", 1e-2),
    "km": ("m", 1e3),
    "g": ("kg", 1e-3),
    "t": ("kg", 1e3),
    "ms": ("s", 1e-3),
    "min": ("s", 60.0),
    "h": ("s", 3600.0),
    "kN": ("N", 1e3),
    "deg": ("rad", math.pi / 180),
    "rad": ("deg", 180 / math.pi),
    "deg/s": ("rad/s", math.pi / 180),
    "rad/s": ("deg/s", 180 / math.pi),
    "km/h": ("m/s", 1 / 3.6),
    "km/s": ("m/s", 1e3),
    "%": ("1", 0.01),
}


@dataclass(frozen=True)
class Setting:
    """An argument of a builder: default, unit, meaning and range.

    A ratio has the unit "1". An integer, a word or a choice has no unit.
    """

    default: Any
    unit: str = ""
    meaning: str = ""
    lower: float | None = None
    upper: float | None = None
    choices: tuple[str, ...] = ()
    optional: bool = False  # True if None (the word "none") is allowed
    name: str = ""

    @property
    def declared(self) -> bool:
        """True if the builder declares its meaning."""
        return bool(self.meaning)

    @property
    def range(self) -> str:
        """The allowed values as text."""
        if self.choices:
            return ", ".join(self.choices)
        low, high = (None if end is None else f"{end:g}" for end in (self.lower, self.upper))
        ends = (
            f"{low} to {high}"
            if low and high
            else f">= {low}"
            if low
            else f"<= {high}"
            if high
            else ""
        )
        return f"{ends} or none" if self.optional and ends else "or none" if self.optional else ends

    def read(self, value: Any) -> Any:
        """Check a value and convert it to a number in ``unit``; a symbol is returned unchanged."""
        word = value.strip().lower() if isinstance(value, str) else None
        if value is None or word == "none":
            if self.optional or self.default is None or not self.declared:
                return None
            raise UsageError(
                f"'{self.name}' needs a value", got="none", expected=self.range or None
            )
        if isinstance(self.default, bool):
            return self._flag(value, word)
        if isinstance(self.default, str) or self.choices:
            return self._word(value)
        if isinstance(self.default, (tuple, list)):
            return self._several(value)
        if self.default is None and not self.unit:
            return value if word is None else WORDS.get(word, value)
        return self._number(value)

    def _flag(self, value: Any, word: str | None) -> bool:
        value = WORDS.get(word, value) if word is not None else value
        if not isinstance(value, bool):
            raise UsageError(f"'{self.name}' must be true or false", got=repr(value))
        return value

    def _word(self, value: Any) -> Any:
        if self.choices and value not in self.choices:
            raise UsageError(
                f"invalid choice for '{self.name}'",
                got=repr(value),
                expected=self.range,
                hint=suggest(str(value), self.choices),
            )
        return value

    def _several(self, value: Any) -> Any:
        number = len(self.default)
        size = len(value) if isinstance(value, (tuple, list)) else None
        if size is None or (self.declared and number and size != number):
            example = ",".join(f"{item}" for item in self.default)
            raise UsageError(
                f"'{self.name}' must have {number or 'several'} values",
                got=repr(value),
                expected=f"as in {self.name}={example}",
            )
        return tuple(self._number(item) for item in value) if self.declared else tuple(value)

    def _number(self, value: Any) -> Any:
        if isinstance(value, str):
            value = self._from_text(value)
        if isinstance(value, bool) or (
            not isinstance(value, numbers.Real) and isinstance(value, (tuple, list, dict))
        ):
            raise UsageError(
                f"'{self.name}' must be a number", got=repr(value), expected=self._example()
            )
        if not isinstance(value, numbers.Real):
            return value  # a symbol, or an array
        return self._within(value)

    def _within(self, value: Any) -> Any:
        """Return the number; raise if it is not finite, not an integer where one is required, or
        out of range.
        """
        if not math.isfinite(value):
            raise UsageError(
                f"'{self.name}' must be a finite number", got=value, expected=self._example()
            )
        whole = self.declared and isinstance(self.default, int) and not self.unit
        if whole and value != int(value):
            raise UsageError(f"'{self.name}' must be an integer", got=value)
        outside = (self.lower is not None and value < self.lower) or (
            self.upper is not None and value > self.upper
        )
        if outside:
            unit = "" if self.unit in ("", ONE) else f" {self.unit}"
            raise UsageError(
                f"'{self.name}' is out of range",
                got=f"{value:g}{unit}",
                expected=f"{self.range}{unit}",
            )
        return int(value) if whole else value

    def _from_text(self, text: str) -> float:
        """Parse a number with the declared unit."""
        found = re.fullmatch(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(\S.*?)?\s*", text)
        if not found:
            raise UsageError(
                f"'{self.name}' must be a number", got=repr(text), expected=self._example()
            )
        number, unit = float(found[1]), _plain_unit(found[2] or ONE)
        if unit != _plain_unit(self.unit or ONE):
            target, factor = CONVERSIONS.get(unit, ("", 1.0))
            same = (
                f"{found[1]} {unit} is {number * factor:g} {target}"
                if target and target == self.unit
                else None
            )
            what = f"has the unit {self.unit}" if self.unit not in ("", ONE) else "has no unit"
            raise UsageError(
                f"'{self.name}' {what}", got=repr(text), expected=self._example(), hint=same
            )
        return number

    def _example(self) -> str:
        if not isinstance(self.default, numbers.Real) or self.unit in ("", ONE):
            return "a number" + (
                f", as in {self.name}={shown(self.default)}" if self.default is not None else ""
            )
        return f'a number, or a string such as "{shown(self.default)} {self.unit}"'


def _plain_unit(text: str) -> str:
    return " ".join(
        text.replace("·", " ").replace("*", " ").replace("²", "^2").replace("³", "^3").split()
    )


def shown(value: Any) -> str:
    """Format a value as for --set.

    >>> shown(0.25), shown((1.0, 2.5)), shown(None)
    ('0.25', '1,2.5', 'none')
    """
    if isinstance(value, (tuple, list)):
        return ",".join(shown(item) for item in value)
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def setting(
    default: Any,
    unit: str = "",
    meaning: str = "",
    lower: float | None = None,
    upper: float | None = None,
    *,
    choices: Iterable[str] = (),
    optional: bool = False,
) -> Any:
    """Declare an argument of a ``settable`` builder; use the result as its default value."""
    return Setting(default, unit, meaning, lower, upper, tuple(choices), optional)


def setting_field(*declaration: Any, **options: Any) -> Any:
    """Declare a field of a dataclass argument of a ``settable`` builder; same arguments as
    ``setting``.
    """
    declared = setting(*declaration, **options)
    return field(default=declared.default, metadata={"setting": declared})


def settable(build: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a builder: check its settings. Fields of a dataclass argument become settings of the
    builder.

    ``settings_of(build)`` lists them.
    """
    inner = inspect.signature(build).parameters
    own: dict[str, Setting] = {}
    groups: dict[str, dict[str, Setting]] = {}
    for name, parameter in inner.items():
        default = parameter.default
        if is_dataclass(default) and not isinstance(default, (type, Setting)):
            groups[name] = _declared_fields(default)
        else:
            declared = default if isinstance(default, Setting) else Setting(default)
            own[name] = replace(declared, name=name)
    every = [*own, *(key for group in groups.values() for key in group)]
    twice = {key for key in every if every.count(key) > 1}
    if twice:
        raise TypeError(f"{build.__qualname__} has duplicate settings: {', '.join(sorted(twice))}")
    known = own | {key: one for group in groups.values() for key, one in group.items()}

    @functools.wraps(build)
    def built(*positional: Any, **named: Any) -> Any:
        given = {**dict(zip(inner, positional, strict=False)), **named}
        for key in given:
            if key not in known and key not in groups:
                raise UsageError(
                    f"unknown setting '{key}'",
                    expected=", ".join(known) or "none",
                    hint=suggest(key, known),
                )
        values = {
            key: one.read(given[key]) if key in given else one.default for key, one in own.items()
        }
        for name, group in groups.items():
            base = given.get(name, inner[name].default)
            values[name] = _with_fields(
                base, {key: group[key].read(given[key]) for key in group if key in given}
            )
        return build(**values)

    keyword = inspect.Parameter.KEYWORD_ONLY
    ordered = [inner[key].replace(default=one.default) for key, one in own.items()]
    by_name = [
        inspect.Parameter(key, keyword, default=one.default)
        for group in groups.values()
        for key, one in group.items()
    ]
    positional = [p if not by_name else p.replace(kind=keyword) for p in ordered]
    built.__signature__ = inspect.Signature([*positional, *by_name])  # type: ignore[attr-defined]
    built.settings = known  # type: ignore[attr-defined]
    return built


def _declared_fields(data: Any, prefix: str = "", what: str = "") -> dict[str, Setting]:
    """Return the settings of a dataclass by name; nested ones are prefixed by the name of their
    field.
    """
    found: dict[str, Setting] = {}
    for one in fields(data):
        value, key = getattr(data, one.name), prefix + one.name
        declared = one.metadata.get("setting")
        if is_dataclass(value):
            found |= _declared_fields(value, f"{key}_", f"{what}{one.name.replace('_', ' ')}: ")
        elif declared is not None:
            found[key] = replace(declared, name=key, default=value, meaning=what + declared.meaning)
    return found


def _with_fields(data: Any, changes: Mapping[str, Any], prefix: str = "") -> Any:
    """Return the dataclass with changed settings."""
    new: dict[str, Any] = {}
    for one in fields(data):
        value, key = getattr(data, one.name), prefix + one.name
        if is_dataclass(value):
            changed = _with_fields(value, changes, f"{key}_")
            new |= {one.name: changed} if changed is not value else {}
        elif key in changes and "setting" in one.metadata:
            new[one.name] = changes[key]
    return replace(data, **new) if new else data


def settings_of(build: Callable[..., Any]) -> dict[str, Setting]:
    """Return the settings of a builder by name; if it is not ``settable``, its arguments and
    defaults.

    >>> def build(height=10.0): ...
    >>> settings_of(build)["height"].default
    10.0
    """
    declared = getattr(build, "settings", None)
    if declared is not None:
        return dict(declared)
    arguments = inspect.signature(build).parameters.values()
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {p.name: Setting(p.default, name=p.name) for p in arguments if p.kind in kinds}


def load_parameters(path: str | Path) -> dict[str, Any]:
    """Read a parameter file (TOML): ``builder(name)(**load_parameters("rider.toml"))``.

    A value is a number in the unit that ``trajopt show NAME`` prints, or a string such as "0.3 m".
    """
    try:
        with Path(path).open("rb") as file:
            content = tomllib.load(file)
    except OSError as error:
        raise FileError(
            f"cannot read '{path}'",
            got=error.strerror,
            expected="a parameter file (TOML)",
            hint="trajopt show NAME --write-parameters FILE.toml writes one",
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FileError(
            f"'{path}' is not a parameter file",
            got=str(error),
            expected="TOML, as in wheel_radius = 0.3",
        ) from error
    for key, value in content.items():
        if isinstance(value, dict):
            raise FileError(
                f"'{path}' has a table '{key}'",
                expected="one value per line, as in wheel_radius = 0.3",
            )
    return {
        key: tuple(value) if isinstance(value, list) else value for key, value in content.items()
    }


def write_parameters(path: str | Path, settings: Iterable[Setting], title: str = "") -> None:
    """Write a parameter file with units and meanings. An existing file is not overwritten."""
    if Path(path).exists() and not Path(path).is_dir():
        raise FileError(f"'{path}' already exists", hint="choose another name; nothing was written")
    check_writable(path, (".toml",))
    lines = [f"# {title}"] if title else []
    for one in settings:
        facts = [part for part in (one.unit if one.unit != ONE else "", one.range) if part]
        remark = ": ".join(part for part in (", ".join(facts), one.meaning) if part)
        lines.append(f"{one.name} = {_toml(one.default)}" + (f"  # {remark}" if remark else ""))
    write_text(path, "\n".join(lines) + "\n")


def _toml(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    if isinstance(value, (str, bool)) or value is None:
        return (
            f'"{value}"'
            if isinstance(value, str)
            else "true"
            if value
            else '"none"'
            if value is None
            else "false"
        )
    return repr(
        int(value) if isinstance(value, numbers.Integral) else float(value)
    )  # also of NumPy's numbers
