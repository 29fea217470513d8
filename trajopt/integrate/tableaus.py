"""Butcher tableaus: numbers only.

``a`` is strictly lower triangular, so that each scheme is explicit. ``errors`` holds the weights of
error estimates: none for a scheme of fixed step, one row for an embedded pair, two (of fifth and
third order) for Hairer's 8(5,3).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy.integrate import DOP853 as scipy_dop853
from scipy.integrate import RK45 as scipy_rk45

Row = tuple[float, ...]


@dataclass(frozen=True)
class Tableau:
    """An explicit Runge-Kutta scheme: x1 = x0 + h sum b_i k_i, k_i = f(t + c_i h, x0 + h sum a_ij
    k_j).
    """

    name: str
    a: tuple[Row, ...]
    b: Row
    c: Row
    order: int
    errors: tuple[Row, ...] = ()
    error_exponent: float = 0.0  # the step is multiplied by (tolerance / error) to this power

    @property
    def stages(self) -> int:
        return len(self.b)


EULER = Tableau("euler", a=((),), b=(1.0,), c=(0.0,), order=1)


def second_order(k2: float, name: str = "") -> Tableau:
    """Return the scheme of order 2 with the weights 1 - k2 and k2; its second stage is at 1/(2 k2).

    k2 = 1/2 is Heun's scheme, 3/4 Ralston's, 1 the midpoint rule.
    """
    at = 1 / (2 * k2)
    return Tableau(name or f"rk2:{k2:g}", a=((), (at,)), b=(1 - k2, k2), c=(0.0, at), order=2)


HEUN = second_order(1 / 2, "heun")
RALSTON = second_order(3 / 4, "ralston")
MIDPOINT = second_order(1.0, "midpoint")

RK4 = Tableau(
    "rk4",
    a=((), (1 / 2,), (0.0, 1 / 2), (0.0, 0.0, 1.0)),
    b=(1 / 6, 1 / 3, 1 / 3, 1 / 6),
    c=(0.0, 1 / 2, 1 / 2, 1.0),
    order=4,
)

# Gill (1951): coefficients that need three registers per variable.
GILL = Tableau(
    "gill",
    a=((), (1 / 2,), ((sqrt(2) - 1) / 2, 1 - sqrt(2) / 2), (0.0, -sqrt(2) / 2, 1 + sqrt(2) / 2)),
    b=(1 / 6, (2 - sqrt(2)) / 6, (2 + sqrt(2)) / 6, 1 / 6),
    c=(0.0, 1 / 2, 1 / 2, 1.0),
    order=4,
)

_FEHLBERG_FIFTH = (16 / 135, 0.0, 6656 / 12825, 28561 / 56430, -9 / 50, 2 / 55)
_FEHLBERG_FOURTH = (25 / 216, 0.0, 1408 / 2565, 2197 / 4104, -1 / 5, 0.0)

# Fehlberg (1969), with local extrapolation. The denominator of the fourth stage is 2197 = 13^3.
FEHLBERG = Tableau(
    "fehlberg",
    a=(
        (),
        (1 / 4,),
        (3 / 32, 9 / 32),
        (1932 / 2197, -7200 / 2197, 7296 / 2197),
        (439 / 216, -8.0, 3680 / 513, -845 / 4104),
        (-8 / 27, 2.0, -3544 / 2565, 1859 / 4104, -11 / 40),
    ),
    b=_FEHLBERG_FIFTH,
    c=(0.0, 1 / 4, 3 / 8, 12 / 13, 1.0, 1 / 2),
    order=5,
    errors=(
        tuple(
            fifth - fourth for fifth, fourth in zip(_FEHLBERG_FIFTH, _FEHLBERG_FOURTH, strict=True)
        ),
    ),
    error_exponent=1 / 5,
)


def _row(values: np.ndarray) -> Row:
    return tuple(float(v) for v in values)


# Dormand and Prince (1980), the pair of ode45: the coefficients of SciPy's class. The seventh
# stage, at the new point, enters the error estimate only.
DOPRI5 = Tableau(
    "dopri5",
    a=(*(_row(scipy_rk45.A[i, :i]) for i in range(6)), _row(scipy_rk45.B)),
    b=(*_row(scipy_rk45.B), 0.0),
    c=(*_row(scipy_rk45.C), 1.0),
    order=5,
    errors=(_row(scipy_rk45.E),),
    error_exponent=1 / 5,
)

# Hairer, Norsett, Wanner (1993), II.5: the coefficients of SciPy's class.
DOP853 = Tableau(
    "dop853",
    a=tuple(_row(scipy_dop853.A[i, :i]) for i in range(len(scipy_dop853.B))),
    b=_row(scipy_dop853.B),
    c=_row(scipy_dop853.C),
    order=8,
    errors=(_row(scipy_dop853.E5[:-1]), _row(scipy_dop853.E3[:-1])),
    error_exponent=1 / 8,
)
