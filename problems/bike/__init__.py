"""The bike-trial robot: models, analyses, simulations by PD control, optimal motions; see
``README.md``.
"""

from problems.on_demand import on_demand
from trajopt.catalogue import Entry

CATALOGUE = {
    "platform-edge": Entry(
        "problems.bike.edge:platform_edge",
        "bike robot",
        "onto a platform ahead, the rear wheel over its edge",
    ),
    "torso-loop": Entry(
        "problems.bike.torso_loop:build",
        "bike robot",
        "torso and arms, a loop of three links",
        "system",
    ),
    "rider-loop": Entry(
        "problems.bike.rider_loop:build",
        "bike robot",
        "five links between pedal and handlebar",
        "system",
    ),
    "wheelie-pd": Entry(
        "problems.bike.pd:wheelie_pd",
        "bike robot",
        "a wheelie by PD control, after a pull",
        "system",
    ),
    "daniel-track": Entry(
        "problems.bike.track:daniel_track",
        "bike robot",
        "a hop that follows a table of angles",
        "system",
    ),
    "wheelie-arms": Entry(
        "problems.bike.arms:wheelie_arms",
        "bike robot",
        "a wheelie held by pushing and pulling the handlebar",
        "system",
    ),
    "front-up-pd": Entry(
        "problems.bike.pd:front_up_pd", "bike robot", "a pull that lifts the front wheel", "system"
    ),
    "daniel-pd": Entry(
        "problems.bike.hop_pd:daniel_pd",
        "bike robot",
        "a hop on the rear wheel by PD control",
        "system",
    ),
    "mass-centre-five": Entry(
        "problems.bike.mass_centre:mass_centre_five",
        "bike robot",
        "where the five-link mass centre can be",
        "system",
    ),
    "mass-centre-seven": Entry(
        "problems.bike.mass_centre:mass_centre_seven",
        "bike robot",
        "where the seven-link mass centre can be",
        "system",
    ),
    "wheelie-entry": Entry(
        "problems.bike.wheelie:wheelie_entry",
        "bike robot",
        "into a wheelie with the least effort, two phases",
    ),
    "wheelie-entry-time": Entry(
        "problems.bike.wheelie_time:wheelie_entry_time",
        "bike robot",
        "into a wheelie in the least time",
    ),
    "wheelie-hold": Entry(
        "problems.bike.wheelie_held:wheelie_hold",
        "bike robot",
        "into a wheelie, held, to a standstill",
    ),
    "daniel-jump": Entry(
        "problems.bike.daniel:daniel_jump",
        "bike robot",
        "the highest hop on the rear wheel, with a tuck",
    ),
    "daniel-hop": Entry(
        "problems.bike.hop:daniel_hop",
        "bike robot",
        "a vertical hop that lands and stands still, least effort",
    ),
    "platform-jump": Entry(
        "problems.bike.platform:platform_jump",
        "bike robot",
        "a hop onto a platform with the least effort",
    ),
    "platform-highest": Entry(
        "problems.bike.platform:platform_highest",
        "bike robot",
        "the highest platform that a hop reaches",
    ),
    "platform-strength": Entry(
        "problems.bike.platform:platform_strength",
        "bike robot",
        "the least torque limits for a platform of 1 m",
    ),
    "platform-runup": Entry(
        "problems.bike.platform:platform_runup",
        "bike robot",
        "the least torque limits for 1 m with a run-up",
    ),
    "platform-support": Entry(
        "problems.bike.platform:platform_support",
        "bike robot",
        "the least torque limits for 1 m, front wheel first",
    ),
}

PUBLIC = {
    "analyses": (
        "Balance",
        "Region",
        "balanced_wheelie",
        "holding_torques",
        "lowest_posture",
        "mass_centre_cloud",
        "mass_centre_curve",
        "pointing_region",
    ),
    "daniel": ("daniel_jump",),
    "hop": ("daniel_hop",),
    "hop_pd": ("daniel_pd",),
    "jump": ("Jump",),
    "mass_centre": ("mass_centre_five", "mass_centre_seven"),
    "models": (
        "FIVE_LINK",
        "SEVEN_LINK",
        "FiveLink",
        "Machine",
        "SevenLink",
        "five_link",
        "seven_link",
    ),
    "pd": (
        "front_up_pd",
        "wheelie_pd",
    ),
    "platform": (
        "platform_highest",
        "platform_jump",
        "platform_runup",
        "platform_strength",
        "platform_support",
    ),
    "trees": (
        "five_link_tree",
        "seven_link_tree",
    ),
    "wheelie": ("wheelie_entry",),
    "wheelie_held": ("wheelie_hold",),
    "wheelie_time": ("wheelie_entry_time",),
}

__getattr__, __dir__ = on_demand(__name__, PUBLIC)
