"""Trees of links: recursions against differentiation, absolute angles, variable lengths, loops,
long chains.
"""

import time

import casadi
import numpy as np
import pytest

from trajopt.errors import ModelError
from trajopt.mechanics import (
    Coordinate,
    Holonomic,
    Level,
    Link,
    Nonholonomic,
    Slide,
    Tree,
    Turn,
    check_model,
    newton_euler,
    rod,
)


@pytest.mark.parametrize("planar", [True, False])
def test_recursions_agree_with_lagrange(random_tree, planar):
    assert check_model(random_tree(8, planar).mechanism(), samples=5).check().ok


def test_moving_base_prismatic_and_shared_coordinates_agree_with_lagrange():
    t = casadi.SX.sym("t")
    a, b, c = Coordinate("a", 0.3), Coordinate("b", 0.2), Coordinate("c", 0.1)
    tree = Tree(
        "mixed",
        (
            Link(
                "base",
                "ground",
                (Slide("x", 0.1 * casadi.sin(3 * t)), Turn("z", a)),
                2.0,
                (0.1, 0, 0),
                (0.1, 0.2, 0.3),
            ),
            Link(
                "arm",
                "base",
                (Slide((0, 1, 1), b), Turn("x", a), Turn("y", 0.4)),
                1.0,
                (0.0, 0.2, 0),
                (0.1, 0.1, 0.2),
            ),
            Link(
                "hand",
                "arm",
                (Level(), Slide("z", b), Turn((1, 1, 0), c)),
                1.0,
                (0.2, 0.2, 0.1),
                (0.05, 0.1, 0.1),
            ),
        ),
        time=t,
    )
    assert check_model(tree.mechanism(), samples=5).check().ok


def test_exoskeleton_mass_centres_and_energies_are_those_of_its_description(exoskeleton):
    tree, q = exoskeleton
    model = tree.mechanism()
    rng = np.random.default_rng(0)
    values = dict(zip((c.name for c in tree.coordinates), rng.standard_normal(10), strict=True))
    position = casadi.Function(
        "r", [model.q], [tree.point("leg", (0.5, 0, 0)), tree.point("body", (0.5, 0, 0))]
    )
    r1, r2 = (np.array(r).ravel() for r in position(list(values.values())))
    e = [
        np.array(
            [
                np.cos(values[f"psi{i}"]) * np.cos(values[f"phi{i}"]),
                np.cos(values[f"psi{i}"]) * np.sin(values[f"phi{i}"]),
                np.sin(values[f"psi{i}"]),
            ]
        )
        for i in (1, 2)
    ]
    r0 = np.array([values["x0"], values["y0"], 0.0])
    assert r1 == pytest.approx(r0 + (values["q8"] + 0.5) * e[0], abs=1e-14)
    assert r2 == pytest.approx(
        r0 + (values["q8"] + values["q10"] + 1.0) * e[0] + (values["q9"] + 0.5) * e[1], abs=1e-14
    )
    # A rod has m l^2 / 12 about every transverse axis, so its spin energy is that of the rate of
    # its direction.
    direction = [tree.frame(n).R[:, 0] for n in ("leg", "body")]
    centres = (tree.point("foot"), tree.point("leg", (0.5, 0, 0)), tree.point("body", (0.5, 0, 0)))
    masses = (5.0, 5.0, 10.0)
    by_hand = 0.5 * 5.0 * 0.25 / 12 * q["phi0"].v ** 2
    for m, r in zip(masses, centres, strict=True):
        by_hand += 0.5 * m * casadi.sumsqr(casadi.jtimes(r, model.q, model.v))
    for m, d in zip(masses[1:], direction, strict=True):
        by_hand += 0.5 * m / 12 * casadi.sumsqr(casadi.jtimes(d, model.q, model.v))
    state = list(values.values()), rng.standard_normal(10)
    assert float(model.evaluate(model.kinetic, *state)) == pytest.approx(
        float(model.evaluate(by_hand, *state)), rel=1e-14
    )
    assert check_model(model, samples=5).check().ok


def test_absolute_angles_need_no_moment_from_the_parent():
    """Turning the parent does not turn a levelled child: its weight loads the parent's joint by its
    force only.
    """
    a, b = Coordinate("a", 0.0), Coordinate("b", 0.0)
    tree = Tree(
        "levelled",
        (
            rod("first", "ground", (Turn("z", a),), 1.0, 1.0),
            rod("second", "first", (Slide("x", 1.0), Level(), Turn("z", b)), 1.0, 1.0),
        ),
        gravity=(0.0, -10.0, 0.0),
    )
    assert np.array(newton_euler(tree)([0, 0], [0, 0], [0, 0], 0)).ravel() == pytest.approx(
        [5.0 + 10.0, 5.0]
    )


def test_force_at_a_point_does_its_work(random_tree):
    tree = random_tree(4, planar=False)
    model = tree.mechanism()
    force = [1.0, -2.0, 0.5]
    Q = tree.force_at("link3", force, (0.1, 0.2, 0.3))
    power = sum(Q[c.name] * c.v for c in tree.coordinates) - casadi.dot(
        tree.frame("link3").velocity((0.1, 0.2, 0.3)), casadi.DM(force)
    )
    rng = np.random.default_rng(2)
    assert float(model.evaluate(power, *rng.standard_normal((2, 4)))) == pytest.approx(
        0.0, abs=1e-14
    )


def four_bar(ground_length):
    a, b, c = Coordinate("a", 1.2), Coordinate("b", -1.0), Coordinate("c", 1.0)
    tree = Tree(
        "four-bar",
        (
            rod("crank", "ground", (Turn("z", a),), 1.0, 1.0),
            rod("coupler", "crank", (Slide("x", 1.0), Turn("z", b)), 1.0, 1.0),
            rod("rocker", "ground", (Slide("x", ground_length), Turn("z", c)), 1.0, 1.0),
        ),
        gravity=(0.0, -9.8, 0.0),
    )
    return tree.mechanism(
        constraints=tree.closure("loop", "coupler", "rocker", ((1, 0, 0), (1, 0, 0)), axes="xy")
    )


def test_loop_closes_and_its_motion_conserves_energy_and_closure(motion):
    model = four_bar(1.5).consistent()
    assert check_model(model).check().ok
    found = motion(model.system(), 1.0)
    assert max(found.drift.values()) < 1e-9


def test_loop_that_cannot_close_is_named():
    with pytest.raises(ModelError, match=r"cannot be satisfied together: 'loop\.x'"):
        four_bar(4.0).consistent()


def test_fifty_links_are_built_in_seconds(random_tree):
    for planar in (True, False):
        began = time.process_time()
        tree = random_tree(50, planar)
        model = tree.mechanism()
        a = np.array(model.acceleration(np.full(50, 0.1), np.full(50, 0.2))).ravel()
        tau = np.array(newton_euler(tree)(np.full(50, 0.1), np.full(50, 0.2), a, 0.0)).ravel()
        assert time.process_time() - began < 5.0
        assert (
            np.abs(tau).max() < 1e-10 * np.abs(a).max()
        )  # forward and inverse dynamics undo each other


def test_forward_dynamics_grow_no_faster_than_the_cube():
    """Operations, not seconds: they are what an evaluation costs, and they do not depend on the
    machine.
    """

    def operations(n):
        links = []
        for k in range(n):
            parent = "ground" if k == 0 else f"link{k - 1}"
            links.append(
                rod(f"link{k}", parent, (Slide("x", 1.0), Turn("z", Coordinate(f"q{k}"))), 1.0, 1.0)
            )
        model = Tree("chain", tuple(links)).mechanism()
        return model.functions.solved.n_instructions()

    counts = [operations(n) for n in (20, 40, 80)]
    assert np.log2(counts[1] / counts[0]) < 3.0
    assert np.log2(counts[2] / counts[1]) < 3.0


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Link("a", "ground", (), mass=-1.0), "'a' has a negative mass"),
        (
            lambda: Link("a", "ground", (), mass=1.0, inertia=(1.0, -1.0, 1.0)),
            "negative moment of inertia",
        ),
        (lambda: Tree("t", (Link("a", "b", ()),)), "joined to 'b', which does not exist"),
        (
            lambda: Tree("t", (Link("a", "b", ()), Link("b", "ground", ()))),
            "does not exist before it",
        ),
        (lambda: Tree("t", (Link("a", "ground", ()), Link("a", "ground", ()))), "duplicate link"),
        (lambda: Tree("t", (Link("a", "ground", (Turn("w", 1.0),)),)).nodes, "invalid axis"),
        (lambda: Tree("t", (Link("a", "ground", ()),)).mechanism(), "no coordinates"),
        (lambda: Tree("t", (Link("a", "ground", ()),)).point("link7"), "has no link 'link7'"),
    ],
)
def test_invalid_trees_are_rejected_in_the_users_names(build, words):
    with pytest.raises(ModelError, match=words):
        build()


@pytest.mark.parametrize(
    ("tied", "norms"), [(False, (0.0265, 0.0099, 0.0019)), (True, (0.0275, 0.0105, 0.0043))]
)
def test_drift_of_the_exoskeleton_slalom_has_its_known_values(exoskeleton, tied, norms):
    """Explicit Euler of 1 ms to 0.5 s: norm of lengths, leaning circle, heading and blade, by gain
    of the reactions.
    """
    tree, q = exoskeleton
    slalom, lean = 10.0, 0.1
    constraints = [
        Holonomic("lengths", q["q8"].q ** 2 + q["q9"].q ** 2 + q["q10"].q ** 2 - 1),
        Holonomic(
            "lean", (q["psi1"].q - np.pi / 3) ** 2 + (q["psi2"].q - 2 * np.pi / 3) ** 2 - lean**2
        ),
        Holonomic("heading", casadi.tan(q["phi0"].q) - slalom * casadi.cos(q["x0"].q)),
        Nonholonomic("blade", q["y0"].v - casadi.tan(q["phi0"].q) * q["x0"].v),
    ]
    watched = [c.name for c in constraints]
    if tied:
        constraints += [
            Holonomic(f"{n} with the foot", q[n].q - q["phi0"].q) for n in ("phi1", "phi2")
        ]
    start = dict.fromkeys(("phi0", "phi1", "phi2"), np.arctan(slalom)) | dict.fromkeys(
        ("q8", "q9", "q10"), 1 / np.sqrt(3)
    )
    system = (
        tree.mechanism(constraints=constraints)
        .starting_at(
            start | {"psi1": np.pi / 3, "psi2": 2 * np.pi / 3 - lean, "x0": 0.0, "y0": 0.0}
        )
        .system()
    )
    y = system.function(
        casadi.vertcat(*[i.expression for i in system.invariants if i.name in watched])
    )
    for gain, norm in zip((0.0, 10.0, 50.0), norms, strict=True):
        motion = system.through_reactions(
            lambda h, dh, order, a=gain: -2 * a * dh - a**2 * h if order == 2 else -a * h
        )
        f, x = motion.function(motion.rate), motion.start
        for _ in range(500):
            x = x + 1e-3 * np.array(f(0.0, x, [])).ravel()
        assert np.linalg.norm(np.array(y(0.0, x, []))) == pytest.approx(norm, abs=5.1e-5)
