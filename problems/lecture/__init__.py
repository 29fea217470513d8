"""The systems of a lecture on ordinary differential equations; see ``README.md``."""

from problems.on_demand import on_demand
from trajopt.catalogue import Entry

CATALOGUE = {
    "decay": Entry(
        "problems.lecture.systems:decay", "lecture", "x' = -2 x, the first example", "system"
    ),
    "mass-spring-damper": Entry(
        "problems.lecture.systems:mass_spring_damper",
        "lecture",
        "a mass on a spring with a damper",
        "system",
    ),
    "lcr-circuit": Entry(
        "problems.lecture.systems:lcr_circuit",
        "lecture",
        "inductor, capacitor and resistor in series",
        "system",
    ),
    "pendulum": Entry(
        "problems.lecture.systems:pendulum",
        "lecture",
        "a point mass on a rod, in its angle",
        "system",
    ),
    "pendulum-cartesian": Entry(
        "problems.lecture.systems:pendulum_cartesian",
        "lecture",
        "the same, its rod a constraint",
        "system",
    ),
    "two-link-arm": Entry(
        "problems.lecture.systems:two_link_arm",
        "lecture",
        "two uniform rods in a vertical plane",
        "system",
    ),
    "closed-four-link": Entry(
        "problems.lecture.systems:closed_four_link",
        "lecture",
        "two arms joined at their tips",
        "system",
    ),
    "lorenz": Entry(
        "problems.lecture.systems:lorenz", "lecture", "Lorenz' three equations", "system"
    ),
}

PUBLIC = {
    "systems": (
        "decay",
        "mass_spring_damper",
        "lcr_circuit",
        "pendulum",
        "pendulum_cartesian",
        "two_link_arm",
        "closed_four_link",
        "lorenz",
    ),
}

__getattr__, __dir__ = on_demand(__name__, PUBLIC)
