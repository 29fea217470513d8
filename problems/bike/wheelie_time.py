"""Entry into a wheelie in the least time; machine, limits and phases are those of ``problems.bike.wheelie``."""

from __future__ import annotations

from problems.bike.pictures import five_link_drawing as drawing  # noqa: F401  # what an animation shows
from problems.bike.wheelie import Entry, effort_of, state_entry
from trajopt import Problem


def wheelie_entry_time(
    wheel_torque: float = 80.0, waist_torque: float = 150.0, friction: float = 0.8, effort_weight: float = 0.0
) -> Problem:
    """Minimum time: the torques run from limit to limit, and along the friction cone. A little effort keeps them steep."""
    entry = Entry(wheel_torque, waist_torque, friction)
    ocp, phases = state_entry("wheelie-entry-time", entry)
    up, _, t = phases[-1]
    # Without effort the Hamiltonian is affine in the torques, which only a statement without that integral shows.
    effort = effort_of(entry, phases) if effort_weight else 0
    ocp.minimize(up.final(t) + effort_weight * effort)
    return ocp
