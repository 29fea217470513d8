"""Entry into a wheelie in the least time; machine, limits and phases are those of
``problems.bike.wheelie``.
"""

from __future__ import annotations

from problems.bike.models import FIVE_LINK, FiveLink
from problems.bike.pictures import five_link_drawing as drawing  # noqa: F401  # what an animation shows
from problems.bike.wheelie import ENTRY, EntryLimits, effort_of, state_entry
from trajopt import Problem
from trajopt.parameters import settable, setting


@settable
def wheelie_entry_time(
    entry: EntryLimits = ENTRY,
    data: FiveLink = FIVE_LINK,
    effort_weight: float = setting(0.0, "s", "weight of the effort beside the duration", 0, 10),
) -> Problem:
    """Minimum time: the torques run from limit to limit, and along the friction cone.

    A little effort keeps them steep.
    """
    ocp, phases = state_entry("wheelie-entry-time", entry, data)
    up, _, t = phases[-1]
    # Without effort the Hamiltonian is affine in the torques, which only a statement without that
    # integral shows.
    effort = effort_of(entry, phases) if effort_weight else 0
    ocp.minimize(up.final(t) + effort_weight * effort)
    return ocp
