"""Trees of links from files."""

import numpy as np
import pytest

from trajopt.errors import FileError, TrajoptError
from trajopt.mechanics import Coordinate, Link, Slide, Tree, Turn, rod
from trajopt.mechanics.link_files import load_links

TEXT = """
gravity = [0, -9.81, 0]
[[link]]
name = "upper"
parent = "ground"
joint = [{turn = "z", by = "shoulder", start = "0.3 rad"}]
mass = 2.0
length = "0.4 m"
[[link]]
name = "fore"
parent = "upper"
joint = [{slide = "x", by = 0.4}, {turn = "z", by = "elbow", speed = 1}]
mass = "1.5 kg"
centre = [0.2, 0, 0]
inertia = [0, 0.02, 0.02]
"""


def test_a_file_gives_the_same_tree_as_python(tmp_path):
    (tmp_path / "arm.toml").write_text(TEXT)
    read = load_links(tmp_path / "arm.toml")
    a, b = Coordinate("shoulder", 0.3, unit="rad"), Coordinate("elbow", 0.0, 1.0, unit="rad")
    links = (
        rod("upper", "ground", (Turn("z", a),), 2.0, 0.4),
        Link("fore", "upper", (Slide("x", 0.4), Turn("z", b)), 1.5, (0.2, 0, 0), (0, 0.02, 0.02)),
    )
    written = Tree("arm", links, gravity=(0, -9.81, 0))
    q, v = [0.4, -0.7], [1.0, 2.0]
    np.testing.assert_allclose(
        read.mechanism().acceleration(q, v), written.mechanism().acceleration(q, v), rtol=1e-13
    )
    assert [(c.name, c.start, c.speed) for c in read.coordinates] == [
        ("shoulder", 0.3, 0.0),
        ("elbow", 0.0, 1.0),
    ]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("mass = 2.0", "mas = 2.0", "did you mean 'mass'"),
        ('"0.4 m"', '"40 cm"', "40 cm is 0.4 m"),
        ("mass = 2.0", "mass = -2.0", "out of range"),
        ('parent = "upper"', 'parent = "uper"', "did you mean 'upper'"),
        ('turn = "z", by = "elbow"', 'turn = "z"', "does not move"),
        ('length = "0.4 m"', "length = 0.4\ncentre = [0, 0, 0]", "besides a centre"),
    ],
)
def test_errors_in_a_file_are_reported(tmp_path, old, new, words):
    (tmp_path / "arm.toml").write_text(TEXT.replace(old, new))
    with pytest.raises(TrajoptError, match="(?s)" + words):
        load_links(tmp_path / "arm.toml")


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(FileError, match=r"none\.toml"):
        load_links(tmp_path / "none.toml")
