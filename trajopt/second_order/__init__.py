"""The second variation about an answer: whether an extremal is a minimum; the ground of
sensitivities and feedback.
"""

from trajopt.second_order.accessory import Accessory
from trajopt.second_order.definiteness import dependent_conditions
from trajopt.second_order.kelley import kelley_matrices
from trajopt.second_order.linearized import Linearized, PhaseData
from trajopt.second_order.second_variation import QuadraticForm, SecondVariation, Signature

__all__ = [
    "Accessory",
    "Linearized",
    "PhaseData",
    "QuadraticForm",
    "SecondVariation",
    "Signature",
    "dependent_conditions",
    "kelley_matrices",
]
