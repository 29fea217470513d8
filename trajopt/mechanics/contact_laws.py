"""Contact laws: the normal force of a compliant contact, and friction.

A law maps the depth of penetration and its rate to the normal force; its elastic part has a
potential energy, so that the power balance holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import casadi
import scipy.optimize

from trajopt.errors import ModelError, suggest

# A compliant contact would need infinite damping for zero restitution.
LEAST_RESTITUTION = 1e-9


class NormalLaw(Protocol):
    """The force that resists penetration; depth > 0 inside, rate = d(depth)/dt."""

    def force(self, depth: Any, rate: Any) -> Any:
        """Return the normal force, N."""
        ...

    def stored(self, depth: Any) -> Any:
        """Return the elastic energy, J; its derivative with respect to the depth is the elastic
        force.
        """
        ...

    def hold(self, depth: Any, rate: Any) -> Any:
        """Return a function that is negative if the law truncates its force during contact; None if
        it never does.
        """
        ...


@dataclass(frozen=True)
class Hooke:
    """k d."""

    stiffness: float

    def __post_init__(self) -> None:
        check_constant("stiffness", self.stiffness)

    def force(self, depth: Any, rate: Any) -> Any:
        return self.stiffness * casadi.fmax(depth, 0)

    def stored(self, depth: Any) -> Any:
        return 0.5 * self.stiffness * casadi.fmax(depth, 0) ** 2

    def hold(self, depth: Any, rate: Any) -> Any:
        return None


@dataclass(frozen=True)
class KelvinVoigt:
    """k d + c d'.

    The Kelvin-Voigt force is tensile at the end of a contact; ``adhesive=False`` truncates it at
    zero.
    """

    stiffness: float
    damping: float
    adhesive: bool = False

    def __post_init__(self) -> None:
        check_constant("stiffness", self.stiffness)
        check_constant("damping", self.damping, zero=True)

    def force(self, depth: Any, rate: Any) -> Any:
        total = self.stiffness * depth + self.damping * rate
        return casadi.if_else(depth > 0, total if self.adhesive else casadi.fmax(total, 0), 0)

    def stored(self, depth: Any) -> Any:
        return 0.5 * self.stiffness * casadi.fmax(depth, 0) ** 2

    def hold(self, depth: Any, rate: Any) -> Any:
        return None if self.adhesive else self.stiffness * depth + self.damping * rate

    @staticmethod
    def from_restitution(
        stiffness: float, mass: float, restitution: float, adhesive: bool = False
    ) -> KelvinVoigt:
        """Return the law with the damping for a coefficient of restitution of a mass without other
        forces.

        >>> KelvinVoigt.from_restitution(1e4, 2.0, 0.5, adhesive=True).damping
        60.93952644739415
        """
        e = max(check_restitution(restitution), LEAST_RESTITUTION)
        if e == 1.0:
            return KelvinVoigt(stiffness, 0.0, adhesive)
        if adhesive:  # half a damped period
            ratio = -math.log(e) / math.hypot(math.pi, math.log(e))
        else:
            floor = _kelvin_voigt_restitution(1.0 - 1e-12)
            if e <= floor:
                raise ModelError(
                    "no damping below critical gives this restitution",
                    got=e,
                    expected=f"more than {floor:.4f}",
                )
            ratio = scipy.optimize.brentq(
                lambda z: _kelvin_voigt_restitution(z) - e, 0.0, 1.0 - 1e-12, xtol=1e-15
            )
        return KelvinVoigt(stiffness, 2.0 * ratio * math.sqrt(stiffness * mass), adhesive)


def _kelvin_voigt_restitution(ratio: float) -> float:
    """Return the restitution if the contact ends at zero force: exp(-z w t), t the first time at
    which k d + c d' = 0.
    """
    root = math.sqrt(1.0 - ratio**2)
    angle = math.pi - math.atan2(2.0 * ratio * root, 1.0 - 2.0 * ratio**2)
    return math.exp(-ratio / root * angle)


@dataclass(frozen=True)
class Hertz:
    """k d^n, n = 3/2 for smooth curved surfaces."""

    stiffness: float
    exponent: float = 1.5

    def __post_init__(self) -> None:
        check_constant("stiffness", self.stiffness)
        check_constant("exponent", self.exponent)

    def force(self, depth: Any, rate: Any) -> Any:
        return self.stiffness * _power(depth, self.exponent)

    def stored(self, depth: Any) -> Any:
        return self.stiffness / (self.exponent + 1) * _power(depth, self.exponent + 1)

    def hold(self, depth: Any, rate: Any) -> Any:
        return None


# s = a v0 of k d^n (1 + a d') as a function of the coefficient of restitution e, after several
# authors; exact for none of them (``HuntCrossley.from_restitution`` is). Collected in Flores and
# Lankarani, Contact Force Models for Multibody Dynamics, ch. 3.
DAMPING_FACTORS: Mapping[str, Callable[[float], float]] = {
    "hunt-crossley": lambda e: 3 * (1 - e) / 2,
    "herbert-mcwhannell": lambda e: 6 * (1 - e) / ((2 * e - 1) ** 2 + 3),
    "lee-wang": lambda e: 3 * (1 - e) / 4,
    "lankarani-nikravesh": lambda e: 3 * (1 - e**2) / 4,
    "gonthier": lambda e: (1 - e**2) / e,
    "zhiying-qishao": lambda e: 3 * (1 - e**2) * math.exp(2 * (1 - e)) / 4,
    "flores": lambda e: 8 * (1 - e) / (5 * e),
}


@dataclass(frozen=True)
class HuntCrossley:
    """k d^n (1 + a d'): damping that grows with the depth, so that the force starts and ends at
    zero.
    """

    stiffness: float
    damping: float  # a, s/m
    exponent: float = 1.5

    def __post_init__(self) -> None:
        check_constant("stiffness", self.stiffness)
        check_constant("damping", self.damping, zero=True)
        check_constant("exponent", self.exponent)

    def force(self, depth: Any, rate: Any) -> Any:
        return (
            self.stiffness * _power(depth, self.exponent) * casadi.fmax(1 + self.damping * rate, 0)
        )

    def stored(self, depth: Any) -> Any:
        return self.stiffness / (self.exponent + 1) * _power(depth, self.exponent + 1)

    def hold(self, depth: Any, rate: Any) -> Any:
        return 1 + self.damping * rate

    @staticmethod
    def from_restitution(
        stiffness: float, speed: float, restitution: float, exponent: float = 1.5
    ) -> HuntCrossley:
        """Return the law with the damping for a coefficient of restitution at an impact speed, for
        any mass and exponent.

        Integrating m v dv = -k d^n (1 + a v) dd over both halves gives s - ln(1 + s) = -e s - ln(1
        - e s), s = a v0. (Hunt and Crossley's own a = 3 (1 - e) / (2 v0) is its limit for e near
        1.)
        """
        e = max(check_restitution(restitution), LEAST_RESTITUTION)
        check_constant("speed", speed)
        if e == 1.0:
            return HuntCrossley(stiffness, 0.0, exponent)

        def balance(s: float) -> float:
            return s - math.log1p(s) + e * s + math.log1p(-e * s)

        # balance starts at zero, rises, and falls to minus infinity at s = 1/e.
        low = 0.5 * (1.0 - e) / e
        s = scipy.optimize.brentq(
            balance, min(low, 0.5 / e), (1.0 - 1e-15) / e, xtol=1e-15, maxiter=500
        )
        return HuntCrossley(stiffness, s / speed, exponent)

    @staticmethod
    def after(
        author: str, stiffness: float, speed: float, restitution: float, exponent: float = 1.5
    ) -> HuntCrossley:
        """Return the law with the damping of an author's formula (``DAMPING_FACTORS``) for a
        restitution at an impact speed.

        >>> HuntCrossley.after("flores", 1e4, 2.0, 0.5).damping
        0.8
        """
        if author not in DAMPING_FACTORS:
            raise ModelError(
                f"unknown damping formula '{author}'",
                expected=", ".join(DAMPING_FACTORS),
                hint=suggest(author, DAMPING_FACTORS),
            )
        check_constant("speed", speed)
        e = max(check_restitution(restitution), LEAST_RESTITUTION)
        return HuntCrossley(stiffness, DAMPING_FACTORS[author](e) / speed, exponent)

    def restitution(self, speed: float) -> float:
        """Return the coefficient of restitution at an impact speed."""
        s = self.damping * speed
        if s == 0.0:
            return 1.0
        loss = s - math.log1p(s)  # of both halves: s - ln(1 + s) = -e s - ln(1 - e s)
        return float(
            scipy.optimize.brentq(
                lambda e: -e * s - math.log1p(-e * s) - loss, 0.0, (1 - 1e-15) / s, xtol=1e-15
            )
        )


class Smoothing(Protocol):
    """A smooth sign function."""

    def sign(self, speed: Any) -> Any: ...


@dataclass(frozen=True)
class Arctangent:
    """(2/pi) atan(v / scale)."""

    scale: float = 1e-2

    def sign(self, speed: Any) -> Any:
        return 2 / math.pi * casadi.atan(speed / self.scale)


@dataclass(frozen=True)
class Sigmoid:
    """2 / (1 + exp(-v / scale)) - 1."""

    scale: float = 1e-2

    def sign(self, speed: Any) -> Any:
        return casadi.tanh(speed / (2 * self.scale))  # equal to the formula, without overflow


@dataclass(frozen=True)
class Coulomb:
    """Sliding friction, smoothed around zero speed."""

    coefficient: float
    smoothing: Smoothing = Arctangent()

    def __post_init__(self) -> None:
        check_constant("friction coefficient", self.coefficient, zero=True)

    def force(self, normal: Any, speed: Any) -> Any:
        return -self.coefficient * normal * self.smoothing.sign(speed)


def _power(depth: Any, exponent: float) -> Any:
    """Return depth^exponent inside, zero outside; the base is bounded away from zero, where d^n has
    no derivative.
    """
    inside = depth > 0
    return casadi.if_else(inside, casadi.if_else(inside, depth, 1.0) ** exponent, 0)


def check_constant(what: str, value: float, zero: bool = False) -> None:
    """Raise unless a constant of a law is positive, or zero if allowed."""
    if not (value > 0 or (zero and value == 0)):
        raise ModelError(
            f"a contact needs a {what} that is not negative{'' if zero else ' or zero'}", got=value
        )


def check_restitution(value: float) -> float:
    """Return the coefficient; raise ``ModelError`` unless it is between 0 and 1."""
    if not 0 <= value <= 1:
        raise ModelError("a coefficient of restitution must be between 0 and 1", got=value)
    return value
