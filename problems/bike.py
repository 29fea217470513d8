"""The bike-trial robot under one roof: models, analyses, PD simulations, optimal motions; see ``bike.md``."""

from problems.bike_analyses import (
    Balance,
    Region,
    balanced_wheelie,
    holding_torques,
    lowest_posture,
    mass_centre_cloud,
    mass_centre_curve,
    pointing_region,
)
from problems.bike_daniel import daniel_jump
from problems.bike_daniel_pd import daniel_pd
from problems.bike_jump import Jump
from problems.bike_models import FIVE_LINK, SEVEN_LINK, FiveLink, Machine, SevenLink, five_link, seven_link
from problems.bike_pd import front_up_pd, wheelie_pd
from problems.bike_platform import platform_highest, platform_jump, platform_runup, platform_strength, platform_support
from problems.bike_trees import five_link_tree, seven_link_tree
from problems.bike_wheelie import wheelie_entry
from problems.bike_wheelie_hold import wheelie_hold
from problems.bike_wheelie_time import wheelie_entry_time

__all__ = [
    "FIVE_LINK",
    "SEVEN_LINK",
    "Balance",
    "FiveLink",
    "Jump",
    "Machine",
    "Region",
    "SevenLink",
    "balanced_wheelie",
    "daniel_jump",
    "daniel_pd",
    "five_link",
    "five_link_tree",
    "front_up_pd",
    "holding_torques",
    "lowest_posture",
    "mass_centre_cloud",
    "mass_centre_curve",
    "platform_highest",
    "platform_jump",
    "platform_runup",
    "platform_strength",
    "platform_support",
    "pointing_region",
    "seven_link",
    "seven_link_tree",
    "wheelie_entry",
    "wheelie_entry_time",
    "wheelie_hold",
    "wheelie_pd",
]
