"""Units as text: products of powers of words, such as ``kg m/s^2``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

FACTOR = re.compile(r"([*/·() ]|\*\*)|([^\s*/·()^\d.+-]+|1)(?:\^?\(?([+-]?\d+(?:\.\d+)?)\)?)?")


def factors(text: str) -> Iterator[tuple[str, float]]:
    """Return the words of a unit with their powers; a slash is for the word behind it.

    >>> list(factors("N m/s^2"))
    [('N', 1.0), ('m', 1.0), ('s', -2.0)]
    """
    sign = 1.0
    for mark, word, power in FACTOR.findall(text):
        if mark:
            sign = -1.0 if mark == "/" else sign if mark in "( )" else 1.0
            continue
        yield word, sign * float(power or 1)
        sign = 1.0


def written(powers: Mapping[str, float]) -> str:
    """Return words with powers as text.

    >>> written({"N": 2.0, "s": 1.0, "m": -1.0}), written({"s": -1.0}), written({"m": 0.0})
    ('N^2 s/m', '1/s', '')
    """
    shown = {word: power for word, power in powers.items() if power and word != "1"}
    above = [_power(word, power) for word, power in shown.items() if power > 0]
    below = [f"/{_power(word, -power)}" for word, power in shown.items() if power < 0]
    return (" ".join(above) or "1") + "".join(below) if shown else ""


def product(unit: str, other: str, power: int = 1) -> str:
    """Return a unit times a power of another.

    >>> product("m/s", "s"), product("m/s", "s", -1), product("cost", "m/s", -1), product("", "s")
    ('m', 'm/s^2', 'cost s/m', 's')
    """
    powers: dict[str, float] = {}
    for word, count in factors(unit):
        powers[word] = powers.get(word, 0.0) + count
    for word, count in factors(other):
        powers[word] = powers.get(word, 0.0) + power * count
    return written(powers)


def _power(word: str, power: float) -> str:
    return word if power == 1 else f"{word}^{power:g}"
