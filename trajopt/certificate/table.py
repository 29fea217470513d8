"""Check and Certificate: each figure with its tolerance and its verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Check:
    """A row: a figure and its tolerance; where a check does not apply, both are NaN and ``remark`` says why."""

    name: str
    value: float
    tolerance: float
    ok: bool
    remark: str = ""

    @property
    def applies(self) -> bool:
        return not np.isnan(self.tolerance)


def judged(name: str, value: float, tolerance: float, remark: str = "") -> Check:
    """A row that holds where the figure is within the tolerance; a figure that is not a number never is."""
    return Check(name, float(value), float(tolerance), bool(value <= tolerance), remark)


def skipped(name: str, reason: str) -> Check:
    """A row that does not apply."""
    return Check(name, float("nan"), float("nan"), True, reason)


@dataclass(frozen=True)
class Certificate:
    """Every check of an answer; ``ok`` where none fails. ``certificate["stationarity"]`` is a row by its name.

    >>> print(Certificate("hop", (judged("bounds between nodes", 2e-9, 1e-6), skipped("published objective", "none is known"))))
    hop: certified
      check                    figure  tolerance  verdict
      bounds between nodes    2.0e-09      1e-06  ok
      published objective           -          -  skipped: none is known
    """

    problem: str
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        return all(check.ok for check in self.checks)

    @property
    def failures(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if not check.ok)

    def __getitem__(self, name: str) -> Check:
        for check in self.checks:
            if check.name == name:
                return check
        raise KeyError(name)

    def __str__(self) -> str:
        width = max((len(check.name) for check in self.checks), default=5)
        lines = [f"{self.problem}: {'certified' if self.ok else 'not certified'}"]
        lines.append(f"  {'check'.ljust(width)}  {'figure':>9}  {'tolerance':>9}  verdict")
        for check in self.checks:
            lines.append(f"  {check.name.ljust(width)}  {'  '.join(cell.rjust(9) for cell in figures(check))}  {verdict(check)}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """What ``trajopt certify --json -`` prints."""
        rows = [
            {"name": c.name, "value": _number(c.value), "tolerance": _number(c.tolerance), "ok": c.ok, "remark": c.remark}
            for c in self.checks
        ]
        return {"problem": self.problem, "ok": self.ok, "checks": rows}


def figures(check: Check) -> tuple[str, str]:
    """Figure and tolerance as text."""
    return (f"{check.value:.1e}", f"{check.tolerance:.0e}") if check.applies else ("-", "-")


def verdict(check: Check) -> str:
    """ok, FAILS or skipped, with the remark."""
    word = ("ok" if check.ok else "FAILS") if check.applies else "skipped"
    return f"{word}: {check.remark}" if check.remark else word


def _number(value: float) -> float | None:
    return value if np.isfinite(value) else None
