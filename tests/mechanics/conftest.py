"""Trees of links for tests."""

from dataclasses import replace

import numpy as np
import pytest

from trajopt.mechanics import Coordinate, Level, Link, Slide, Tree, Turn, rod


def _random_tree(links, planar, seed=1):
    rng = np.random.default_rng(seed)
    made = []
    for k in range(links):
        axis = "z" if planar else tuple(rng.standard_normal(3))
        parent = "ground" if k == 0 else f"link{rng.integers(max(0, k - 3), k)}"
        joint = (Slide("x", 0.3), Turn(axis, Coordinate(f"q{k}", unit="rad")))
        made.append(
            Link(f"link{k}", parent, joint, 1.0 + 0.1 * k, (0.15, 0.02, 0.01), (0.01, 0.02, 0.025))
        )
    return Tree("random", tuple(made), gravity=(0.0, -9.8, 1.0))


def _exoskeleton():
    """Foot on a slope, leg and body in heading and elevation, three variable lengths."""
    q = {
        n: Coordinate(n)
        for n in ("x0", "y0", "phi0", "phi1", "phi2", "psi1", "psi2", "q8", "q9", "q10")
    }
    up = (0.0, -1.0, 0.0)  # a turn about -y raises the x axis
    foot = rod(
        "foot", "ground", (Slide("x", q["x0"]), Slide("y", q["y0"]), Turn("z", q["phi0"])), 5.0, 0.5
    )
    leg = rod(
        "leg",
        "foot",
        (Level(), Turn("z", q["phi1"]), Turn(up, q["psi1"]), Slide("x", q["q8"])),
        5.0,
        1.0,
    )
    hip = (
        Slide("x", 1.0),
        Slide("x", q["q10"]),
        Level(),
        Turn("z", q["phi2"]),
        Turn(up, q["psi2"]),
        Slide("x", q["q9"]),
    )
    slope = np.radians(15)
    gravity = (9.8 * np.sin(slope), 0.0, -9.8 * np.cos(slope))
    tree = Tree(
        "exoskeleton",
        (replace(foot, centre=(0, 0, 0)), leg, rod("body", "leg", hip, 10.0, 1.0)),
        gravity,
    )
    return tree, q


@pytest.fixture(scope="session")
def random_tree():
    return _random_tree


@pytest.fixture(scope="session")
def exoskeleton():
    return _exoskeleton()
