"""Consistent initial values, and inconsistent or redundant constraints."""

import numpy as np
import pytest
from casadi import SX, cos, sin

from trajopt.errors import ModelError
from trajopt.mechanics import Coordinate, Holonomic, Mechanism, Nonholonomic


def plane(*constraints_of, start=(1.0, 0.5), speed=(0.3, 0.4)):
    x, y = Coordinate("x", start[0], speed[0]), Coordinate("y", start[1], speed[1])
    return Mechanism(
        "plane", (x, y), (x.v**2 + y.v**2) / 2, constraints=tuple(c(x, y) for c in constraints_of)
    )


def circle(x, y):
    return Holonomic("circle", x.q**2 + y.q**2 - 1)


def test_consistent_start_is_on_the_manifold_and_nearby():
    model = plane(circle, start=(1.0, 0.1)).consistent()
    q, v = model.start
    assert q @ q == pytest.approx(1.0, abs=1e-15)
    assert q @ v == pytest.approx(0.0, abs=1e-16)
    assert np.linalg.norm(q - [1.0, 0.1]) < 0.02


def test_held_coordinates_stay():
    model = plane(circle).consistent(hold=("y",))
    q, v = model.start
    assert (q[1], v[1]) == (0.5, 0.4)
    assert q[0] == pytest.approx(np.sqrt(0.75), abs=1e-14)
    assert v[0] == pytest.approx(-0.5 * 0.4 / np.sqrt(0.75), abs=1e-14)


def test_moving_constraint_gives_the_velocity_of_its_time():
    x, t = Coordinate("x"), SX.sym("t")
    model = Mechanism(
        "m", (x,), x.v**2, constraints=(Holonomic("cam", x.q - sin(2 * t)),), time=t
    ).consistent()
    assert model.start[1] == pytest.approx([2.0])


def test_unreachable_constraint_is_named():
    with pytest.raises(ModelError, match="'line'") as caught:
        plane(circle, lambda x, y: Holonomic("line", x.q - 3)).consistent()
    assert "cannot be satisfied together" in caught.value.what
    with pytest.raises(ModelError, match=r"no velocity satisfies .*'push'"):
        plane(
            lambda x, y: Nonholonomic("rest", x.v + y.v),
            lambda x, y: Nonholonomic("push", x.v + y.v - 1),
        ).consistent()


def test_redundant_constraints_are_named_with_those_they_depend_on():
    model = plane(
        circle, lambda x, y: Holonomic("again", 3 * (x.q**2 + y.q**2) - 3), start=(0.6, 0.8)
    )
    (found,) = model.dependent_constraints()
    assert (found.name, found.on) == ("again", ("circle",))
    with pytest.raises(ModelError, match="redundant") as caught:
        model.system()
    assert "omit 'again'" in caught.value.hint


def test_singular_initial_position_is_distinguished_from_redundancy():
    """Two circles that touch: at the touching point their gradients are parallel, and no motion
    near it is singular.
    """
    x, y, z = (Coordinate(n, s) for n, s in (("x", 1.0), ("y", 0.0), ("z", 0.0)))
    one = Holonomic("sphere", x.q**2 + y.q**2 + z.q**2 - 1)
    two = Holonomic("bowl", x.q + y.q**2 + z.q * y.q - 1)
    model = Mechanism("m", (x, y, z), (x.v**2 + y.v**2 + z.v**2) / 2, constraints=(one, two))
    with pytest.raises(ModelError, match="singular at the start") as caught:
        model.system()
    assert "'bowl' follows from 'sphere'" in caught.value.got


def test_vanishing_gradient_is_named():
    model = plane(lambda x, y: Holonomic("double", (x.q - 1) ** 2))
    assert str(model.dependent_constraints()[0]) == "the gradient of 'double' vanishes"


def test_blade_and_its_own_track_coincide():
    """A blade that must follow y = A sin x with its heading along the track: the rows are the same
    on the manifold.
    """
    x, y, phi = (
        Coordinate("x", 0.0, 1.0),
        Coordinate("y", 0.0, 10.0),
        Coordinate("phi", np.arctan(10.0)),
    )
    blade = Nonholonomic("blade", y.v * cos(phi.q) - x.v * sin(phi.q))
    track = Holonomic("track", y.q - 10 * sin(x.q))
    model = Mechanism(
        "ski", (x, y, phi), (x.v**2 + y.v**2 + phi.v**2) / 2, constraints=(track, blade)
    )
    with pytest.raises(ModelError, match="'blade' follows from 'track'"):
        model.system()
