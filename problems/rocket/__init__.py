"""The rocket: transfers with limited power and with bounded thrust, Lawden's first integrals; see
``README.md``.
"""

from problems.on_demand import on_demand
from trajopt.catalogue import Entry

CATALOGUE = {
    "lawden-transfer": Entry(
        "problems.rocket.lawden_transfer:build",
        "rocket",
        "limited power from circle to circle, Lawden's first integrals",
    ),
    "min-time-transfer": Entry(
        "problems.rocket.min_time_transfer:build", "rocket", "the fastest way from circle to circle"
    ),
    "min-fuel-transfer": Entry(
        "problems.rocket.min_fuel_transfer:build",
        "rocket",
        "circle to circle in five burns and four coasts",
    ),
    "many-revolutions": Entry(
        "problems.rocket.many_revolutions:build",
        "rocket",
        "a low-thrust spiral of more than twenty turns",
    ),
    "earth-mars": Entry(
        "problems.rocket.earth_mars:build",
        "rocket",
        "limited power to Mars, in astronomical units and days",
    ),
    "lawden-spiral": Entry(
        "problems.rocket.lawden_spiral:build",
        "rocket",
        "an arc of Lawden's spiral, singular all along",
    ),
    "lawden-spiral-flow": Entry(
        "problems.rocket.lawden_spiral:lawden_spiral",
        "rocket",
        "intermediate thrust on Lawden's spiral, the whole flow",
        "system",
    ),
    "impulsive-transfer": Entry(
        "problems.rocket.impulsive_transfer:build",
        "rocket",
        "two impulses from low to high orbit, km and s",
    ),
    "ascent": Entry(
        "problems.rocket.ascent:build",
        "rocket",
        "from the Moon's ground into orbit along the primer vector, km and s",
    ),
    "lawden-cauchy": Entry(
        "problems.rocket.lawden_cauchy:lawden_cauchy",
        "rocket",
        "a rocket's costate flow with disturbed first integrals",
        "system",
    ),
}

__getattr__, __dir__ = on_demand(__name__)
