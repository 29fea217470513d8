"""The exoskeleton: a slalom, a lift, an assisted movement, a step; see ``README.md``."""

from problems.on_demand import on_demand
from trajopt.catalogue import Entry

CATALOGUE = {
    "slalom-effort": Entry(
        "problems.exoskeleton.slalom_effort:build",
        "exoskeleton",
        "six gates in a given time with the least effort",
    ),
    "slalom-time": Entry(
        "problems.exoskeleton.slalom_time:build", "exoskeleton", "six gates in the least time"
    ),
    "slalom-lean": Entry(
        "problems.exoskeleton.slalom_lean:build",
        "exoskeleton",
        "four gates by a rider who leans into the turns",
    ),
    "exoskeleton-lift": Entry(
        "problems.exoskeleton.lift:build", "exoskeleton", "lift the body against the slope"
    ),
    "exoskeleton-assist": Entry(
        "problems.exoskeleton.assist:build", "exoskeleton", "follow a wearer's squat"
    ),
    "two-legged": Entry(
        "problems.exoskeleton.two_legged:build",
        "exoskeleton",
        "a step of a periodic gait of seven links",
    ),
    "two-legged-double": Entry(
        "problems.exoskeleton.two_legged_double:build",
        "exoskeleton",
        "a step of a gait with double support",
    ),
    "snowboarder": Entry(
        "problems.exoskeleton.snowboarder:snowboarder",
        "exoskeleton",
        "a three-link slalom by programme constraints",
        "system",
    ),
}

__getattr__, __dir__ = on_demand(__name__)
