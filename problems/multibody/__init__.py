"""Planar multibody systems and inverse dynamics of a branched arm; see ``README.md``."""

from problems.on_demand import on_demand
from trajopt.catalogue import Entry

CATALOGUE = {
    "branched-arm": Entry(
        "problems.multibody.branched_arm:build",
        "inverse dynamics",
        "the torques of a turning branched arm",
        "system",
    ),
    "free-body": Entry(
        "problems.multibody.exercises:free_body",
        "multibody",
        "a body thrown under gravity",
        "system",
    ),
    "sprung-body": Entry(
        "problems.multibody.exercises:sprung_body",
        "multibody",
        "a body on springs and dampers",
        "system",
    ),
    "sprung-pair": Entry(
        "problems.multibody.exercises:sprung_pair",
        "multibody",
        "two bodies joined by springs and dampers",
        "system",
    ),
    "offset-body": Entry(
        "problems.multibody.exercises:offset_body",
        "multibody",
        "a reference point off the mass centre",
        "system",
    ),
    "double-pendulum": Entry(
        "problems.multibody.exercises:double_pendulum", "multibody", "two hinged bars", "system"
    ),
    "triple-pendulum": Entry(
        "problems.multibody.exercises:triple_pendulum", "multibody", "three hinged bars", "system"
    ),
    "disc-pendulum": Entry(
        "problems.multibody.exercises:disc_pendulum",
        "multibody",
        "a bar on the rim of a turning disc",
        "system",
    ),
    "inverted-pendulum": Entry(
        "problems.multibody.exercises:inverted_pendulum",
        "multibody",
        "a bar on a shaken pivot",
        "system",
    ),
    "mounted-pendulum": Entry(
        "problems.multibody.exercises:mounted_pendulum",
        "multibody",
        "a pendulum on a fixed body",
        "system",
    ),
    "welded-pendulum": Entry(
        "problems.multibody.exercises:welded_pendulum",
        "multibody",
        "two bars fixed together",
        "system",
    ),
    "two-link-robot": Entry(
        "problems.multibody.exercises:two_link_robot",
        "multibody",
        "two links with motors",
        "system",
    ),
    "ground-slider": Entry(
        "problems.multibody.exercises:ground_slider",
        "multibody",
        "a block on an inclined rail",
        "system",
    ),
    "body-slider": Entry(
        "problems.multibody.exercises:body_slider",
        "multibody",
        "a collar on a swinging bar",
        "system",
    ),
    "slider-crank": Entry(
        "problems.multibody.exercises:slider_crank", "multibody", "crank, rod and piston", "system"
    ),
    "hung-cuboid": Entry(
        "problems.multibody.machines:hung_cuboid",
        "multibody",
        "a cuboid hung at a vertex",
        "system",
    ),
    "pinned-pair": Entry(
        "problems.multibody.machines:pinned_pair",
        "multibody",
        "two pinned bars with a spring and a damper",
        "system",
    ),
    "gear-pair": Entry(
        "problems.multibody.machines:gear_pair", "multibody", "two gears that mesh", "system"
    ),
    "rack-pinion": Entry(
        "problems.multibody.machines:rack_pinion",
        "multibody",
        "a pinion that moves a rack",
        "system",
    ),
    "flexible-arm": Entry(
        "problems.multibody.machines:flexible_arm",
        "multibody",
        "an elastic beam on a turning hub",
        "system",
    ),
    "bouncing-body": Entry(
        "problems.multibody.rolling:bouncing_body",
        "multibody",
        "a disc that bounces, slides and rolls",
        "system",
    ),
    "rolling-body": Entry(
        "problems.multibody.rolling:rolling_body",
        "multibody",
        "a disc that slides, then rolls",
        "system",
    ),
    "vehicle-flat": Entry(
        "problems.multibody.rolling:vehicle_flat", "multibody", "a car on flat ground", "system"
    ),
    "vehicle-slope": Entry(
        "problems.multibody.rolling:vehicle_slope", "multibody", "a car on a slope", "system"
    ),
}

PUBLIC = {
    "exercises": (
        "free_body",
        "sprung_body",
        "sprung_pair",
        "offset_body",
        "double_pendulum",
        "triple_pendulum",
        "disc_pendulum",
        "inverted_pendulum",
        "mounted_pendulum",
        "welded_pendulum",
        "two_link_robot",
        "ground_slider",
        "body_slider",
        "slider_crank",
    ),
    "machines": ("hung_cuboid", "pinned_pair", "gear_pair", "rack_pinion", "flexible_arm"),
    "rolling": (
        "bouncing_body",
        "rolling_body",
        "vehicle_flat",
        "vehicle_slope",
    ),
}

__getattr__, __dir__ = on_demand(__name__, PUBLIC)
