"""Five problems that every package is given, free of any package: rates take the functions of
whatever module they get. The sixth is in ``biped.py``, for some of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import biped
import numpy as np

INF = math.inf


@dataclass(frozen=True)
class Statement:
    """min end_cost(x, t) + int running_cost(x, u) with x' = rates(x, u, functions) over [0, final
    time].
    """

    title: str
    rates: Callable[[Any, Any, Any], list[Any]]
    start: tuple[float, ...]
    end: tuple[float | None, ...]  # None: open
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    control: tuple[float, float]  # bounds
    final_time: float | tuple[float, float, float]  # or lower, upper, guess
    guess: Callable[[float], list[float]]  # states by normalised time
    control_guess: Callable[[float], float]
    reference: float
    running_cost: Callable[[Any, Any], Any] | None = None
    end_cost: Callable[[Any, Any], Any] | None = None
    end_condition: Callable[[Any], Any] | None = None  # zero at the end

    @property
    def size(self) -> int:
        return len(self.start)

    @property
    def free_time(self) -> bool:
        return isinstance(self.final_time, tuple)

    @property
    def time_limits(self) -> tuple[float, float]:
        return (
            self.final_time[:2]
            if isinstance(self.final_time, tuple)
            else (self.final_time, self.final_time)
        )

    @property
    def time_guess(self) -> float:
        return self.final_time[2] if isinstance(self.final_time, tuple) else self.final_time


def _fall(x: Any, u: Any, m: Any) -> list[Any]:
    return [x[2] * m.sin(u), -x[2] * m.cos(u), 9.81 * m.cos(u)]


def _cycloid(width: float, drop: float, g: float) -> float:
    """The time of the fastest fall, from the angle at which a cycloid meets the end point."""
    low, high = 1e-6, 2 * math.pi - 1e-6
    for _ in range(200):
        angle = (low + high) / 2
        low, high = (
            (angle, high)
            if (angle - math.sin(angle)) * drop < (1 - math.cos(angle)) * width
            else (low, angle)
        )
    return angle * math.sqrt(drop / (1 - math.cos(angle)) / g)


def _rocket(x: Any, u: Any, m: Any) -> list[Any]:
    height, speed, mass = x[0], x[1], x[2]
    drag = 310 * speed * speed * m.exp(-500 * (height - 1))
    return [speed, (u - drag) / mass - 1 / (height * height), -2 * u]


def _cart_pole(x: Any, u: Any, m: Any) -> list[Any]:
    cart, pole, length, g = 1.0, 0.3, 0.5, 9.81
    s, c, w = m.sin(x[1]), m.cos(x[1]), x[3]
    inertia = cart + pole * (1 - c * c)
    swing = length * pole * s * w * w
    return [
        x[2],
        x[3],
        (swing + u + pole * g * c * s) / inertia,
        -(swing * c + u * c + (cart + pole) * g * s) / (length * inertia),
    ]


def _layers() -> float:
    """The cost of the two boundary layers, each an integral of the costate over the state."""
    place, weights = np.polynomial.legendre.leggauss(200)

    def layer(end: float, sign: int) -> float:
        s = end * (place + 1) / 2
        return float(end / 2 * weights @ (sign * s**3 + np.sqrt(s**6 + s * s)))

    return layer(1.0, -1) + layer(1.5, 1)


def _ascent(x: Any, u: Any, m: Any) -> list[Any]:
    r, vr, vt, mass = x[0], x[1], x[2], x[3]
    thrust = 0.1405 / mass
    return [
        vr,
        vt * vt / r - 1 / (r * r) + thrust * m.sin(u),
        -vr * vt / r + thrust * m.cos(u),
        -0.0749 + 0 * r,
    ]


STATEMENTS: dict[str, Any] = {
    "P1": Statement(
        title="brachistochrone",
        rates=_fall,
        start=(0, 10, 0),
        end=(10, 5, None),
        lower=(-INF,) * 3,
        upper=(INF,) * 3,
        control=(0.01, 3.13),
        final_time=(0.1, 10, 2),
        guess=lambda s: [10 * s, 10 - 5 * s, 9.9 * s],
        control_guess=lambda s: 0.1 + 1.5 * s,
        end_cost=lambda x, t: t,
        reference=_cycloid(10, 5, 9.81),
    ),
    "P2": Statement(
        title="Goddard's rocket",
        rates=_rocket,
        start=(1, 0, 1),
        end=(None, None, 0.6),
        lower=(1, 0, 0.6),
        upper=(2, 2, 1),
        control=(0, 3.5),
        final_time=(0.01, 1, 0.2),
        guess=lambda s: [1 + 0.01 * s, 0.4 * s * (1 - s), 1 - 0.4 * s],
        control_guess=lambda s: 1.75,
        end_cost=lambda x, t: -x[0],
        reference=-1.01283691832,
    ),
    "P3": Statement(
        title="cart-pole",
        rates=_cart_pole,
        start=(0, 0, 0, 0),
        end=(1, math.pi, 0, 0),
        lower=(-2, -INF, -INF, -INF),
        upper=(2, INF, INF, INF),
        control=(-20, 20),
        final_time=2.0,
        guess=lambda s: [s, math.pi * s, 0.5, math.pi / 2],
        control_guess=lambda s: 0.0,
        running_cost=lambda x, u: u * u,
        reference=58.8076674582,
    ),
    "P4": Statement(
        title="hypersensitive",
        rates=lambda x, u, m: [-x[0] * x[0] * x[0] + u],
        start=(1,),
        end=(1.5,),
        lower=(-INF,),
        upper=(INF,),
        control=(-INF, INF),
        final_time=10000.0,
        guess=lambda s: [1 + 0.5 * s],
        control_guess=lambda s: 0.0,
        running_cost=lambda x, u: 0.5 * (x[0] * x[0] + u * u),
        reference=_layers(),
    ),
    "P5": Statement(
        title="orbit raising",
        rates=_ascent,
        start=(1, 0, 1, 1),
        end=(None, 0, None, None),
        lower=(0.5, -2, 0.1, 0.5),
        upper=(3, 2, 2, 1.1),
        control=(-7, 7),
        final_time=3.32,
        guess=lambda s: [1 + 0.5 * s, 0.4 * s * (1 - s), 1 - 0.19 * s, 1 - 0.2487 * s],
        control_guess=lambda s: 0.4 + 5.5 * s,
        end_cost=lambda x, t: -x[0],
        end_condition=lambda x: x[2] * x[2] * x[0] - 1,
        reference=-1.52527770065,
    ),
    "P6": biped,  # its title, its reference, and functions of its own
}
