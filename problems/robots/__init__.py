"""A small robot arm from its file; see ``README.md``."""

from pathlib import Path

from problems.on_demand import on_demand
from trajopt.catalogue import Entry

ARM = Path(__file__).parent / "arm.urdf"

CATALOGUE = {
    "arm-effort": Entry(
        "problems.robots.arm_effort:build",
        "robots",
        "carry a load around a sphere with the least effort",
    ),
    "arm-time": Entry("problems.robots.arm_time:build", "robots", "carry a load in the least time"),
}

__getattr__, __dir__ = on_demand(__name__)
