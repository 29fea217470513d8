"""Check and Certificate: each value with its tolerance and its verdict, and the
claims that follow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.displays import display

if TYPE_CHECKING:
    from trajopt.trajectory.solution import Optimum


CLAIMS = ("none", "feasible", "extremal", "minimum")

# What each claim needs: all families of it, and those of the claims before.
FAMILIES = {
    "feasible": ("motion", "limits", "ends", "cost"),
    "extremal": ("costates", "optimality", "time"),
    "minimum": ("second order",),
}
AGREEMENT = "agreement"
SCOPE = "scope"
OF_COSTATES = "validation of costates"
DUAL_BOUND = "gap to the dual bound"
NORMALITY = "normality"
COST_MULTIPLIER = "cost multiplier"
ABNORMAL = "abnormal: the conditions hold with cost multiplier zero"


@dataclass(frozen=True)
class Check:
    """A row: a value and its tolerance. A row that could not be decided has NaN in both, and
    ``remark`` says why.

    A tolerance of infinity marks a value that is given for information.
    """

    name: str
    value: float
    tolerance: float
    ok: bool
    remark: str = ""
    family: str = ""

    @property
    def applies(self) -> bool:
        return not np.isnan(self.tolerance)


def judged(name: str, value: float, tolerance: float, remark: str = "", family: str = "") -> Check:
    """A row that holds where the value is within the tolerance; a value that is not a number never
    is.
    """
    return Check(name, float(value), float(tolerance), bool(value <= tolerance), remark, family)


def skipped(name: str, reason: str, family: str = "") -> Check:
    """A row that was not decided."""
    return Check(name, float("nan"), float("nan"), True, reason, family)


def failed(name: str, reason: str, family: str = "") -> Check:
    """A row that cannot hold, whatever its value."""
    return Check(name, float("inf"), 0.0, False, reason, family)


@dataclass(frozen=True)
class Certificate:
    """Every check of an answer, and the highest claim that they prove.

    ``claim`` is "none", "feasible", "extremal" or "minimum"; ``ok`` is True where the claim is at
    least ``asked`` and no other row (agreement with a second method, with a reference) fails.
    ``certificate["costate equation"]`` is a row by its name.

    >>> rows = (judged("bounds between nodes", 2e-9, 1e-6), skipped("published objective",
    ...     "none is known"))
    >>> print(Certificate("hop", rows))
    hop: not certified (no claim proved: motion, limits, ends, cost not checked)
      check                     value  tolerance  verdict
      bounds between nodes    2.0e-09      1e-06  ok
      published objective           -          -  skipped: none is known
    """

    problem: str
    checks: tuple[Check, ...]
    asked: str = "extremal"
    settings: Mapping[str, str] = field(default_factory=dict)
    optima: tuple[Optimum, ...] = ()  # distinct ones found from several starts, best first
    bound: float | None = None  # of a convex problem: no admissible motion has a better objective

    def __repr__(self) -> str:
        return f"<Certificate of {str(self).splitlines()[0]}>"

    def _repr_html_(self) -> str:
        return str(display("certificate_html", self))

    def missing(self, claim: str) -> tuple[str, ...]:
        """Why a claim itself is not proved: the families with a failed or undecided row, or with
        none.
        """
        return tuple(family for family in FAMILIES[claim] if not self._proved(family))

    def _proved(self, family: str) -> bool:
        rows = [check for check in self.checks if check.family == family]
        if (
            family in FAMILIES["minimum"] and self.scope == "global"
        ):  # no second-order condition is needed
            return all(check.ok for check in rows)
        return bool(rows) and all(check.ok and check.applies for check in rows)

    @property
    def scope(self) -> str:
        """``global`` where a feasible motion costs, within the tolerance, no more than a dual
        bound; else ``local``.
        """
        rows = [check for check in self.checks if check.name == DUAL_BOUND]
        near = bool(rows) and all(check.ok and np.isfinite(check.tolerance) for check in rows)
        return "global" if near and not self.missing("feasible") else "local"

    @property
    def claim(self) -> str:
        proved = "none"
        for claim in CLAIMS[1:]:
            if self.missing(claim):
                break
            proved = claim
        return proved

    @property
    def ok(self) -> bool:
        others = [check for check in self.checks if check.family not in CLAIM_OF]
        if self.asked == "feasible":  # of which costates are no part
            others = [check for check in others if check.family != OF_COSTATES]
        return CLAIMS.index(self.claim) >= CLAIMS.index(self.asked) and all(
            check.ok for check in others
        )

    @property
    def failures(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if not check.ok)

    def __getitem__(self, name: str) -> Check:
        for check in self.checks:
            if check.name == name:
                return check
        raise KeyError(name)

    @property
    def verdict(self) -> str:
        """``certified minimum (local)`` and the like; what the next claim lacks."""
        claim = self.claim
        word = (
            f"certified {claim}"
            if self.ok and claim in ("extremal", "minimum")
            else "not certified"
        )
        word = f"certified {claim}" if self.ok and claim == "feasible" else word
        if self.ok:
            starts = sum(len(one.starts) for one in self.optima)
            note = (
                f"{self.scope}, the best of {len(self.optima)} optima from {starts} starts"
                if self.optima
                else self.scope
            )
        elif CLAIMS.index(claim) >= CLAIMS.index(self.asked):
            names = ", ".join(check.name for check in self.failures if check.family not in CLAIM_OF)
            note = f"{claim}, but: {names}"
        else:
            note = "no claim proved" if claim == "none" else f"{claim} only"
        following = [c for c in CLAIMS[1:] if CLAIMS.index(c) > CLAIMS.index(claim)]
        return f"{word} ({note}{self._why(following[0]) if following else ''})"

    def _why(self, claim: str) -> str:
        """What keeps a claim from being proved."""
        parts = []
        for family in self.missing(claim):
            rows = [check for check in self.checks if check.family == family]
            wrong = [check.name for check in rows if not check.ok]
            undecided = [f"{check.name}: {check.remark}" for check in rows if not check.applies]
            parts.append((wrong or undecided or [family])[0])
        unseen = [
            family
            for family in self.missing(claim)
            if not any(check.family == family for check in self.checks)
        ]
        lead = ": " if claim == "feasible" else f"; not {claim}: "
        return lead + ", ".join(parts) + (" not checked" if len(unseen) == len(parts) else "")

    def __str__(self) -> str:
        width = max((len(check.name) for check in self.checks), default=5)
        lines = [f"{self.problem}: {self.verdict}"]
        lines += [f"  {name}: {value}" for name, value in self.settings.items()]
        lines.append(f"  {'check'.ljust(width)}  {'value':>9}  {'tolerance':>9}  verdict")
        for check in self.checks:
            lines.append(
                f"  {check.name.ljust(width)}  "
                f"{'  '.join(cell.rjust(9) for cell in figures(check))}  {verdict(check)}"
            )
        from trajopt.certificate.row_registry import advice  # which computes rows

        lines += [f"  {name}: {text}" for name, text in advice(self.checks)]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """What ``trajopt certify --json -`` prints."""
        from trajopt.certificate.row_registry import BY_KEY, advice

        rows = [
            {
                "name": c.name,
                "value": _number(c.value),
                "tolerance": _number(c.tolerance),
                "ok": c.ok,
                "remark": c.remark,
                "family": c.family,
                "claim": CLAIM_OF.get(c.family),
                "theorem": BY_KEY[c.name].theorem if c.name in BY_KEY else "",
                "skipped": not c.applies,
            }
            for c in self.checks
        ]
        gaps = [_number(c.value) for c in self.checks if c.name == DUAL_BOUND]
        return {
            "problem": self.problem,
            "ok": self.ok,
            "claim": self.claim,
            "scope": self.scope,
            "asked": self.asked,
            "settings": dict(self.settings),
            "checks": rows,
            "advice": dict(advice(self.checks)),
            "bound": self.bound,
            "gap": gaps[0] if gaps else None,
            "optima": [
                {"objective": o.objective, "status": o.status.name, "starts": list(o.starts)}
                for o in self.optima
            ],
        }


CLAIM_OF = {family: claim for claim, families in FAMILIES.items() for family in families}


def figures(check: Check) -> tuple[str, str]:
    """Value and tolerance as text."""
    if not check.applies:
        return "-", "-"
    return f"{check.value:.1e}", "-" if np.isinf(check.tolerance) else f"{check.tolerance:.0e}"


def verdict(check: Check) -> str:
    """ok, FAILS, skipped or for information, with the remark."""
    word = (
        "skipped"
        if not check.applies
        else "FAILS"
        if not check.ok
        else "info"
        if np.isinf(check.tolerance)
        else "ok"
    )
    return f"{word}: {check.remark}" if check.remark else word


def _number(value: float) -> float | None:
    return value if np.isfinite(value) else None
