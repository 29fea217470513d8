"""Units of variables: which exist, and whether both sides of x' = f and the terms of a sum agree.

A unit is a product of powers such as ``kg m/s^2``. Numbers in an expression may carry units that
nobody wrote down, so a product with a number has no known unit; a finding is always a difference
between two units that the user stated.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import casadi

from trajopt.errors import suggest, warn
from trajopt.statement.unit_text import factors, written

if TYPE_CHECKING:
    from trajopt.statement.problem import Phase, Problem

# Powers of m, kg, s, A, K, mol, cd, money and pixel; factor to the unit of the SI (The
# International System of Units, 9th edition, tables 2, 4 and 8; the astronomical unit and the year
# as the IAU defines them).
BASE = ("m", "kg", "s", "A", "K", "mol", "cd", "EUR", "px")
DEFINED: dict[str, tuple[float, str]] = {
    "g": (1e-3, "kg"),
    "t": (1e3, "kg"),
    "Hz": (1, "1/s"),
    "N": (1, "kg m/s^2"),
    "Pa": (1, "kg/m/s^2"),
    "bar": (1e5, "kg/m/s^2"),
    "atm": (101325, "kg/m/s^2"),
    "J": (1, "kg m^2/s^2"),
    "W": (1, "kg m^2/s^3"),
    "Wh": (3600, "kg m^2/s^2"),
    "eV": (1.602176634e-19, "kg m^2/s^2"),
    "cal": (4.184, "kg m^2/s^2"),
    "C": (1, "A s"),
    "V": (1, "kg m^2/s^3/A"),
    "ohm": (1, "kg m^2/s^3/A^2"),
    "F": (1, "A^2 s^4/kg/m^2"),
    "H": (1, "kg m^2/s^2/A^2"),
    "Wb": (1, "kg m^2/s^2/A"),
    "T": (1, "kg/s^2/A"),
    "S": (1, "A^2 s^3/kg/m^2"),
    "L": (1e-3, "m^3"),
    "l": (1e-3, "m^3"),
    "ha": (1e4, "m^2"),
    "M": (1e3, "mol/m^3"),
    "lm": (1, "cd"),
    "lx": (1, "cd/m^2"),
    "Bq": (1, "1/s"),
    "Gy": (1, "m^2/s^2"),
    "Sv": (1, "m^2/s^2"),
    "kat": (1, "mol/s"),
    "min": (60, "s"),
    "h": (3600, "s"),
    "hr": (3600, "s"),
    "hour": (3600, "s"),
    "day": (86400, "s"),
    "d": (86400, "s"),
    "week": (604800, "s"),
    "year": (31557600, "s"),
    "yr": (31557600, "s"),
    "AU": (149597870700, "m"),
    "ly": (9460730472580800, "m"),
    "pc": (3.0856775814913673e16, "m"),
    "ft": (0.3048, "m"),
    "in": (0.0254, "m"),
    "mi": (1609.344, "m"),
    "nmi": (1852, "m"),
    "kn": (1852 / 3600, "m/s"),
    "lb": (0.45359237, "kg"),
    "slug": (14.59390, "kg"),
    "lbf": (4.4482216152605, "kg m/s^2"),
    "psi": (6894.757293168, "kg/m/s^2"),
    "hp": (745.6998715822702, "kg m^2/s^3"),
    "rad": (1, ""),
    "sr": (1, ""),
    "deg": (math.pi / 180, ""),
    "arcmin": (math.pi / 10800, ""),
    "arcsec": (math.pi / 648000, ""),
    "rev": (2 * math.pi, ""),
    "rpm": (2 * math.pi / 60, "1/s"),
    "%": (0.01, ""),
    "ppm": (1e-6, ""),
    "degC": (1, "K"),
    "USD": (1, "EUR"),
}
PREFIXES = {
    "n": 1e-9,
    "u": 1e-6,
    "µ": 1e-6,
    "m": 1e-3,
    "c": 1e-2,
    "d": 0.1,
    "k": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
}
WORDS = {
    "metre": "m",
    "meter": "m",
    "second": "s",
    "sec": "s",
    "kilogram": "kg",
    "gram": "g",
    "radian": "rad",
    "degree": "deg",
    "newton": "N",
    "joule": "J",
    "watt": "W",
    "volt": "V",
    "kelvin": "K",
    "hour": "h",
    "minute": "min",
    "°": "deg",
    "°C": "degC",
    "Ω": "ohm",
    "dollar": "USD",
    "euro": "EUR",
    "kph": "km/h",
    "mph": "mi/h",
    "Nm": "N m",
    "pixel": "px",
}
HINT = (
    "convert one of them; a factor of 1 with a unit needs a name: ocp.parameter('mass', 1, "
    "unit='kg')"
)
CLOSE = 1e-9  # relative difference of factors that are equal
LARGEST = 30  # operations of an expression that is checked: written by hand, not by a program
# operations of a problem that are checked, so that it takes a small part of the shortest solve
ALL = 120


@dataclass(frozen=True)
class Unit:
    """Powers of the base units, and the factor to their product."""

    powers: tuple[float, ...] = (0.0,) * len(BASE)
    factor: float = 1.0
    words: Mapping[str, float] = field(default_factory=dict)  # as the user writes it

    def times(self, other: Unit, power: float = 1.0) -> Unit:
        powers = tuple(a + power * b for a, b in zip(self.powers, other.powers, strict=True))
        words = {
            word: self.words.get(word, 0.0) + power * other.words.get(word, 0.0)
            for word in (*self.words, *other.words)
        }
        return Unit(powers, self.factor * other.factor**power, words)

    def agrees(self, other: Unit) -> bool:
        return self.powers == other.powers and math.isclose(
            self.factor, other.factor, rel_tol=CLOSE
        )


ONE = Unit()


@lru_cache(maxsize=512)
def unit_of(text: str) -> Unit | None:
    """Return a unit, or None if it does not exist.

    >>> unit_of("N m").agrees(unit_of("kg m^2/s^2")), unit_of("km/h").factor, unit_of("metre/secnd")
    (True, 0.2777777777777778, None)
    """
    found = ONE
    for word, power in factors(text):
        one = ONE if word == "1" else _word(word)
        if one is None:
            return None
        found = found.times(replace(one, words={word: 1.0}), power)
    return found


def _word(word: str) -> Unit | None:
    if word in BASE:
        return Unit(tuple(float(word == base) for base in BASE))
    if word in DEFINED:
        factor, text = DEFINED[word]
        inner = unit_of(text)
        assert inner is not None
        return Unit(inner.powers, inner.factor * factor)
    plain = word.removesuffix("s") if word.removesuffix("s") in WORDS else word
    if plain in WORDS:
        return unit_of(WORDS[plain])
    if word[:1] in PREFIXES and word[1:] and (inner := _word(word[1:])) is not None:
        return Unit(inner.powers, inner.factor * PREFIXES[word[0]])
    return None


def check_units(problem: Problem) -> None:
    """Warn of units that do not exist, and of equations whose two sides have different units."""
    declared: list[Any] = [q for phase in problem.phases.values() for q in phase.declared.values()]
    constants: list[Any] = [*problem.variables.values(), *problem.parameters.values()]
    units = [(q.name, q.unit) for q in (*declared, *constants)]
    units += [("time", phase.t.unit) for phase in problem.phases.values() if phase.t is not None]
    units += [(q.name, q.unit) for phase in problem.phases.values() for q in phase.outputs]
    units += [(q.name, q.unit) for phase in problem.phases.values() for q in phase.paths]
    for name, unit in dict.fromkeys(units):
        if unit and unit_of(unit) is None:
            hint = (
                suggest(unit, [*BASE, *DEFINED, *WORDS])
                or "write products and powers as in 'N m', 'm/s^2', '1/s'"
            )
            warn(
                f"the unit of '{name}' is unknown",
                got=unit,
                expected="units of the SI or derived from them",
                hint=hint,
            )
    if problem.symbols is casadi.SX and any(unit for _, unit in units[: len(declared)]):
        shared = [(q.symbol, q.unit) for q in constants]
        left = ALL
        for phase in problem.phases.values():
            left = _check_phase(phase, shared, left)


def _check_phase(phase: Phase, shared: Iterable[tuple[Any, str]], left: int) -> int:
    """Check the equations of a phase; return how many of ``left`` operations are left for other
    phases.
    """
    symbols = [*((q.symbol, q.unit) for q in phase.declared.values()), *shared]
    if phase.t is None or left <= 0:
        return left
    known = _Known(_elements([*symbols, (phase.t, phase.t.unit or "s")]), left)
    time = unit_of(phase.t.unit or "s") or ONE
    for state in phase.of_kind("state"):
        own = unit_of(state.unit) if state.unit else None
        for rate in state.rate.elements():
            what = f"the derivative of state '{state.name}'"
            found = known.of(rate, what)
            if own is not None and found is not None and not found.agrees(own.times(time, -1.0)):
                warn(
                    f"{what} in phase '{phase.name}' has another unit than '{state.name}' by time",
                    got=f"{rate}, in {described(found)}",
                    expected=f"{state.unit} by {phase.t.unit or 's'}",
                    hint=HINT,
                )
    rows = [
        (row, f"path constraint '{path.name}'")
        for path in phase.paths
        for row in path.expression.elements()
    ]
    rows += [(row, f"an integral over phase '{phase.name}'") for _, row in phase.integrals]
    for row, what in rows:
        known.of(row, what)
    return known.left


def objective_unit(problem: Problem) -> str:
    """Return the unit of the objective as text; empty where it does not follow from the statement.

    >>> from trajopt import Problem
    >>> ocp = Problem("push")
    >>> ph = ocp.phase()
    >>> t, u = ph.time(start=0, end=1), ph.control("u", unit="N")
    >>> ocp.minimize(ph.integral(u**2))
    >>> objective_unit(ocp)
    'N^2 s'
    """
    if problem.symbols is not casadi.SX or problem.objective is None:
        return ""
    shared = [(q.symbol, q.unit) for q in problem.variables.values()]
    shared += [(q.symbol, q.unit) for q in problem.parameters.values()]
    values = _elements(shared)
    for phase in problem.phases.values():
        if phase.t is None:
            continue
        of = list(phase.declared.values())
        time = phase.t.unit
        at_ends = [(q.at_start, q.unit) for q in of] + [(q.at_end, q.unit) for q in of]
        values |= _elements([*at_ends, (phase.t_start, time), (phase.t_end, time)])
        inside = _elements([*shared, *((q.symbol, q.unit) for q in of), (phase.t, time)])
        for symbol, integrand in phase.integrals:
            rate = _Known(inside, LARGEST, quiet=True).of(integrand, "")
            span = unit_of(time) if time else None
            known = None if rate is None or span is None else rate.times(span)
            values[symbol.element_hash()] = known
    found = _Known(values, LARGEST, quiet=True).of(problem.objective, "")
    return "" if found is None else written(found.words)


def _elements(symbols: Iterable[tuple[Any, str]]) -> dict[int, Unit | None]:
    """Return the unit of each scalar symbol; without a stated unit it is unknown."""
    return {
        e.element_hash(): unit_of(text) if text else None
        for symbol, text in symbols
        for e in symbol.elements()
    }


def described(unit: Unit) -> str:
    """Return a unit as text in base units.

    >>> described(unit_of("km/h"))
    '0.277778 m/s'
    """
    above = [
        base if power == 1 else f"{base}^{power:g}"
        for base, power in zip(BASE, unit.powers, strict=True)
        if power > 0
    ]
    below = [
        base if power == -1 else f"{base}^{-power:g}"
        for base, power in zip(BASE, unit.powers, strict=True)
        if power < 0
    ]
    text = " ".join(above) or "1"
    text = "/".join([text, *below])
    return text if math.isclose(unit.factor, 1.0, rel_tol=CLOSE) else f"{unit.factor:.6g} {text}"


_SAME = {getattr(casadi, f"OP_{name}") for name in ("NEG", "FABS")}
_SUMS = {getattr(casadi, f"OP_{name}") for name in ("ADD", "SUB", "FMIN", "FMAX")}
_PURE = {
    getattr(casadi, f"OP_{name}")
    for name in ("SIN", "COS", "TAN", "EXP", "LOG", "SINH", "COSH", "TANH")
}


class _TooLong(Exception):
    """An expression has more operations than are checked."""


@dataclass
class _Known:
    """The units of expressions, where they follow from those of the symbols."""

    symbols: Mapping[int, Unit | None]
    left: int  # operations
    own: int = 0  # of this expression
    quiet: bool = False  # no warnings

    def of(self, e: Any, what: str) -> Unit | None:
        """Return the unit of a row; None if it is unknown, or the row is too long."""
        self.own = min(LARGEST, self.left)
        try:
            return self.unit(e, what)
        except _TooLong:
            return None
        finally:
            self.left -= min(LARGEST, self.left) - max(self.own, 0)

    def unit(self, e: Any, what: str) -> Unit | None:
        """Return the unit of a scalar expression; warn where it adds or compares different ones."""
        self.own -= 1
        if self.own < 0:
            raise _TooLong
        if e.is_symbolic():
            return self.symbols.get(e.element_hash())
        if e.is_constant():
            return None
        parts = [self.unit(e.dep(i), what) for i in range(e.n_dep())]
        op = e.op()
        if op in _SAME:
            return parts[0]
        if op in _SUMS:
            return self._sum(e, parts, what)
        if op in _PURE:
            if parts[0] is not None and not parts[0].agrees(ONE) and not self.quiet:
                warn(
                    f"{what}: the argument of a function has a unit",
                    got=f"{e}, whose argument is in {described(parts[0])}",
                    expected="radians, or a ratio without a unit",
                )
            return None if parts[0] is None else ONE
        if op == casadi.OP_SQ:
            return None if parts[0] is None else ONE.times(parts[0], 2.0)
        if op == casadi.OP_SQRT:
            return None if parts[0] is None else ONE.times(parts[0], 0.5)
        if op in (casadi.OP_MUL, casadi.OP_DIV) and parts[0] is not None and parts[1] is not None:
            return parts[0].times(parts[1], 1.0 if op == casadi.OP_MUL else -1.0)
        if (
            op in (casadi.OP_POW, casadi.OP_CONSTPOW)
            and parts[0] is not None
            and e.dep(1).is_constant()
        ):
            return ONE.times(parts[0], float(e.dep(1)))
        return None

    def _sum(self, e: Any, parts: list[Unit | None], what: str) -> Unit | None:
        stated = [(part, e.dep(i)) for i, part in enumerate(parts) if part is not None]
        if len(stated) == 2 and not stated[0][0].agrees(stated[1][0]):
            (a, left), (b, right) = stated
            if not self.quiet:
                warn(
                    f"{what} adds or compares different units",
                    got=f"{left} in {described(a)} and {right} in {described(b)}",
                    expected="terms of the same unit",
                    hint=HINT,
                )
            return None
        return stated[0][0] if stated else None
