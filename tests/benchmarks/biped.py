"""P6, free of any package: the step of a five-link biped (Kelly 2017), as
``problems/classical/biped_step.py`` states it.

Sizes: angles q (5,), rates v (5,), torques u (4,). Functions take and give lists of the package's
scalars; m has its sin and cos.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import add
from typing import Any

import numpy as np

title, reference = "five-link biped", 390.79053817080
TIME, LENGTH, GRAVITY = 0.7, 0.5, 9.81
TORQUE, RATE, ANGLE = 100.0, 10.0, float(np.pi / 2)  # limits
START = np.array([-0.3, 0.7, 0.0, -0.5, -0.6])
MASS, INERTIA = np.array([3.2, 6.8, 20.0, 6.8, 3.2]), np.array([0.93, 1.08, 2.22, 1.08, 0.93])
ARMS = np.array(
    [  # mass centre k is the sum of ARMS[k, j] (-sin q_j, cos q_j)
        [0.272, 0, 0, 0, 0],
        [0.4, 0.237, 0, 0, 0],
        [0.4, 0.4, 0.2, 0, 0],
        [0.4, 0.4, 0, -0.163, 0],
        [0.4, 0.4, 0, -0.4, -0.128],
    ]
)
FOOT = np.array([0.4, 0.4, 0, -0.4, -0.4])
ABOUT_STANCE = ARMS.T @ np.diag(MASS) @ ARMS + np.diag(INERTIA)
ABOUT_FOOT = (ARMS - FOOT).T @ np.diag(MASS) @ ARMS + np.diag(INERTIA)


def guess(s: float) -> tuple[np.ndarray, np.ndarray]:
    """q and v at the normalised time s."""
    turn = START[::-1] - START
    return START + turn * s, turn / TIME


def total(terms: Iterable[Any]) -> Any:
    return reduce(add, terms)  # without the zero of sum(): some packages do not add it


def momenta(matrix: np.ndarray, q: Any, v: Any, m: Any) -> list[Any]:
    return [
        total(float(matrix[i, j]) * m.cos(q[i] - q[j]) * v[j] for j in range(5)) for i in range(5)
    ]


def equations(q: Any, v: Any, u: Any, m: Any) -> tuple[list[list[Any]], list[Any]]:
    """M (5 x 5) and r (5,) of the equations of motion M a = r; each package solves them in its own
    way.
    """
    M = [[float(ABOUT_STANCE[i, j]) * m.cos(q[i] - q[j]) for j in range(5)] for i in range(5)]
    weights = GRAVITY * ARMS.T @ MASS
    right = []
    for i in range(5):
        turning = total(
            float(ABOUT_STANCE[i, j]) * m.sin(q[i] - q[j]) * v[j] * v[j] for j in range(5) if j != i
        )
        torque = u[0] * -1.0 if i == 0 else u[3] if i == 4 else u[i - 1] - u[i]
        right.append(torque - turning + float(weights[i]) * m.sin(q[i]))
    return M, right


def equalities(q0: Any, v0: Any, q1: Any, v1: Any, m: Any) -> list[Any]:
    """Zero at the ends of the step: legs exchanged, impact, step length, ground."""
    after, before = momenta(ABOUT_STANCE, q0, v0, m), momenta(ABOUT_FOOT, q1, v1, m)
    rows = [q0[i] - q1[4 - i] for i in range(5)] + [after[i] - before[4 - i] for i in range(5)]
    rows.append(total(float(-FOOT[i]) * m.sin(q1[i]) for i in range(5) if FOOT[i]) - LENGTH)
    rows.append(total(float(FOOT[i]) * m.cos(q1[i]) for i in range(5) if FOOT[i]))
    return rows


def inequalities(q0: Any, v0: Any, q1: Any, v1: Any, m: Any) -> list[Any]:
    """Not positive: the foot leaves the ground upwards and meets it downwards."""
    falling = [
        total(float(FOOT[i]) * m.sin(q[i]) * v[i] for i in range(5) if FOOT[i])
        for q, v in ((q0, v0), (q1, v1))
    ]
    return [falling[0], falling[1] * -1.0]


def knees(q: Any) -> list[Any]:
    """Not positive: knees do not bend backwards."""
    return [q[0] - q[1], q[4] - q[3]]
