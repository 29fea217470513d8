"""Mechanical systems: from energies, bodies or chains of links to equations of motion."""

from trajopt.mechanics.constraints import Dependence, Holonomic, Nonholonomic
from trajopt.mechanics.formulations import Augmented, Chaplygin, Eliminated, Formulation, Motion, Penalty, Voronets
from trajopt.mechanics.lagrange import Coordinate, Inertia, Mechanism, Quantity

__all__ = [
    "Augmented",
    "Chaplygin",
    "Coordinate",
    "Dependence",
    "Eliminated",
    "Formulation",
    "Holonomic",
    "Inertia",
    "Mechanism",
    "Motion",
    "Nonholonomic",
    "Penalty",
    "Quantity",
    "Voronets",
]
