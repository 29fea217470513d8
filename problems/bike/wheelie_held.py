"""A wheelie entered, held and stopped: the five-link bike robot ends standing still on its rear
wheel.

As ``problems.bike.wheelie``, with a third phase in which the front wheel stays near its height
while the machine rolls out. It ends in the balance of 30 deg rise and 20 deg backward lean with
rates of zero, where a constant waist torque holds it.
"""

from __future__ import annotations

from math import radians

from problems.bike.models import FIVE_LINK, FiveLink
from problems.bike.pictures import five_link_drawing as drawing  # noqa: F401  # what an animation shows
from problems.bike.wheelie import ENTRY, EntryLimits, effort_of, front_down, front_up, with_rider
from trajopt import Problem, Reference, free
from trajopt.parameters import settable, setting

REFERENCE = Reference(
    origin="own",
    objective=0.28879826,
    tolerance=1e-6,
    source="direct collocation",
    structure="lift-off at 0.21067 s, hold from 0.54140 to 1.54140 s",
)
# The guess: when the front is near its rise (s), and the way of the wheel (m). Another local
# optimum costs 0.288933.
RAISED, WAY = 0.6, (0.08, 0.43, 0.68)


@settable
def wheelie_hold(
    entry: EntryLimits = ENTRY,
    data: FiveLink = FIVE_LINK,
    duration: float = setting(1.0, "s", "how long the front stays near its rise", 0.2, 3),
    band: float = setting(5.0, "deg", "how far from its rise the front may be meanwhile", 0.5, 20),
    time_weight: float = setting(0.05, "1/s", "weight of the duration beside the effort", 0, 10),
) -> Problem:
    """Least effort, and a little time: into the wheelie, then ``duration`` s within ``band`` deg of
    its rise, to a standstill.
    """
    rise, lean = radians(entry.rise), radians(entry.lean)
    low, high = rise - radians(band), rise + radians(band)
    ocp = Problem("wheelie-hold")
    data = with_rider(ocp, data)
    down = front_down(ocp, entry, data)
    raising = {
        "beta": {"end": free(low, high)},
        "x": {"guess": lambda s: WAY[0] + (WAY[1] - WAY[0]) * s},
    }
    up = front_up(ocp, entry, raising, until=free(0.2, 5.0, guess=RAISED), data=data)
    given = {name: {"end": 0.0} for name in ("x_rate", "beta_rate", "torso_rate")}
    given |= {"x": {"guess": lambda s: WAY[1] + (WAY[2] - WAY[1]) * s}}
    given |= {
        "beta": {"lower": low, "upper": high, "end": rise, "guess": rise},
        "torso": {"end": lean, "guess": lean},
    }
    hold = front_up(
        ocp, entry, given, "hold", until=free(0.2, 5.0, guess=RAISED + duration), data=data
    )
    ocp.connect(down[0], up[0])
    ocp.connect(up[0], hold[0])
    ocp.require(
        hold[0].final(hold[2]) - hold[0].initial(hold[2]),
        equals=duration,
        name="duration of the hold",
    )
    ocp.minimize(effort_of(entry, [down, up, hold]) + time_weight * hold[0].final(hold[2]))
    return ocp
