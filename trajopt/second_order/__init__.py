"""The second variation about an answer: whether an extremal is a minimum; the ground of sensitivities and feedback."""

from trajopt.second_order.accessory import Accessory, PhaseData
from trajopt.second_order.definiteness import Definiteness, definiteness, dependent_conditions
from trajopt.second_order.kelley import kelley_matrices

__all__ = ["Accessory", "Definiteness", "PhaseData", "definiteness", "dependent_conditions", "kelley_matrices"]
