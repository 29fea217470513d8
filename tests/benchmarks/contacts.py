"""Contacts over all settings: every simulation with contacts, each setting at both ends of its
range and at five points between.

    python tests/benchmarks/contacts.py [NAME ...] [--settings name,name]

Ranges are those that ``trajopt show NAME`` prints. In every run no force pulls, no point is below
the ground, and nothing slips that friction would hold. A run may end early, or not start, where it
says so. The tests run a fixed sample.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from trajopt import builder
from trajopt.errors import TrajoptError
from trajopt.integrate import Dop853, simulate
from trajopt.integrate.simulation import Simulation
from trajopt.parameters import Setting, settings_of

PULLS, BELOW = 1e-4, 1e-6  # N and m, of round-off
BETWEEN = 5


@dataclass(frozen=True)
class Ground:
    """What a simulation says of its contacts: normal forces, (traction, normal force, friction),
    heights above the ground.
    """

    normal: tuple[str, ...]
    heights: tuple[str, ...] = ()
    traction: tuple[str, str] | None = None


BIKE = Ground(
    ("rear_force", "front_force"),
    ("rear_gap", "front_gap", "lowest_point"),
    ("traction", "rear_force"),
)
SYSTEMS = {
    "wheelie-pd": BIKE,
    "front-up-pd": BIKE,
    "daniel-pd": BIKE,
    "snowboarder": Ground(("normal_force",)),
    "bouncing-body": Ground((), ("gap",)),
}
# other choices let bodies penetrate, or the ground pull
RIGID_ONLY = {
    "law": ("newton", "poisson"),
    "snow": ("unilateral",),
}


def points(setting: Setting) -> list[float]:
    """Both ends of a range, and five points between."""
    return [float(v) for v in np.linspace(setting.lower, setting.upper, BETWEEN + 2)]


def cases(name: str, chosen: set[str] | None = None) -> Iterator[dict[str, Any]]:
    """The settings of a system, one changed at a time; duration is not one of them, nor are
    vectors, which have no range.
    """
    for key, setting in settings_of(builder(name)).items():
        if key == "until" or (chosen is not None and key not in chosen):
            continue
        if setting.choices:
            yield from ({key: value} for value in RIGID_ONLY.get(key, setting.choices))
        elif isinstance(setting.default, bool):
            yield {key: not setting.default}
        elif setting.lower is not None and setting.upper is not None:
            yield from ({key: value} for value in points(setting))


def faults(name: str, run: Simulation, friction: float) -> list[str]:
    """What a run's contacts do that they cannot."""
    ground, found = SYSTEMS[name], []
    found += [
        f"{force} pulls with {-run[force].min():.3g} N"
        for force in ground.normal
        if run[force].min() < -PULLS
    ]
    found += [
        f"{height} is {run[height].min():.3g} m"
        for height in ground.heights
        if run[height].min() < -BELOW
    ]
    if ground.traction is not None:
        along, normal = (run[key] for key in ground.traction)
        beyond = np.max(np.abs(along) - friction * normal)
        if beyond > PULLS:
            found.append(f"{ground.traction[0]} is {beyond:.3g} N beyond friction")
        held = run["rear_contact"] == 1
        if held.any() and np.abs(run["slip"][held]).max() > 1e-5:
            found.append(
                f"the wheel slips by {np.abs(run['slip'][held]).max():.3g} m/s where it holds"
            )
    return found


def checked(
    name: str, settings: dict[str, Any], until: float | None = None
) -> tuple[str, list[str]]:
    """How a run ended, and its faults."""
    build = builder(name)
    friction = settings.get("friction", getattr(settings_of(build).get("friction"), "default", 0.0))
    try:
        run = simulate(build(**settings), Dop853(1e-9), until=until).refined()
    except TrajoptError as error:
        return f"said: {error.what}", []
    end = run.events[-1].name if run.events and run.t[-1] < run.system.until - 1e-9 else "whole"
    return f"{run.t[-1]:.3f} s, {end}", faults(name, run, friction)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(SYSTEMS))
    parser.add_argument("--settings", help="only these, by name")
    given = parser.parse_args()
    chosen = set(given.settings.split(",")) if given.settings else None
    runs = bad = 0
    for name in given.names or SYSTEMS:
        for settings in ({}, *cases(name, chosen)):
            begun = time.process_time()
            end, found = checked(name, settings)
            what = (
                ", ".join(
                    f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}"
                    for key, value in settings.items()
                )
                or "defaults"
            )
            print(
                f"{name:12} {what:32} {end:48} {time.process_time() - begun:5.1f} s  "
                f"{'; '.join(found)}",
                flush=True,
            )
            runs, bad = runs + 1, bad + bool(found)
    print(f"{runs} runs, {bad} with a fault")


if __name__ == "__main__":
    main()
