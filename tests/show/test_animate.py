"""Animations: geometry is exact in every frame, animations play in real time, and no display is
needed.
"""

import dataclasses
import shutil
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from casadi import SX, Function, cos, sin, sumsqr, symvar, vertcat
from PIL import Image

from problems.classical import cart_pole, goddard
from problems.lecture import closed_four_link, pendulum
from problems.multibody import double_pendulum, rolling_body, slider_crank
from trajopt import solve
from trajopt.catalogue import builder, named_problems
from trajopt.errors import FileError, ModelError, UsageError
from trajopt.integrate.integrator_names import stabilization
from trajopt.integrate.simulation import simulate
from trajopt.show.animate import _canvas, animate, stills
from trajopt.show.drawing import Disc, Drawing, Ground, Mark, Rod, Trail, drawing_beside
from trajopt.show.scene import Role, playback_speed_text, projected, scene, window_of
from trajopt.system import System, Variable

needs_ffmpeg = pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is not installed")


@pytest.fixture(scope="module")
def swing():
    return simulate(pendulum(), until=2.0)


def of_role(seen, role):
    return [stroke for stroke in seen.strokes if stroke.role is role]


def moving(drawing):
    x = SX.sym("x")
    return System("mover", SX.sym("t"), x, (Variable("x", 1.0),), -x, until=1.0, drawing=drawing)


def frames_of(path):
    """Pixels (height, width, 3) and milliseconds of each frame."""
    pictures, delays = [], []
    with Image.open(path) as film:
        for k in range(film.n_frames):
            film.seek(k)
            delays.append(film.info["duration"])
            pictures.append(np.asarray(film.convert("RGB"), dtype=int))
    return pictures, delays


def test_a_rod_has_constant_length_and_the_end_point_of_the_state(swing):
    seen = scene(swing, swing.system.drawing)
    rod = of_role(seen, Role.LINE)[0].points
    theta = swing.at(seen.t, "theta")
    np.testing.assert_allclose(
        rod[:, 1], np.stack([2 * np.sin(theta), -2 * np.cos(theta)], axis=1), atol=1e-14
    )
    np.testing.assert_allclose(np.linalg.norm(rod[:, 1] - rod[:, 0], axis=1), 2.0, atol=1e-14)


@pytest.mark.parametrize("formulation", ["augmented", "eliminated", "voronets", "penalty"])
def test_a_drawing_by_names_works_for_every_formulation(formulation):
    motion = simulate(double_pendulum(formulation=formulation), until=0.5)
    first, second = (
        stroke.points for stroke in of_role(scene(motion, motion.system.drawing, 11), Role.LINE)
    )
    tolerance = 1e-3 if formulation == "penalty" else 1e-7  # of joints that are not exactly closed
    np.testing.assert_allclose(first[:, 1], second[:, 0], atol=tolerance)
    np.testing.assert_allclose(first[:, 0], 0.0, atol=tolerance)


def test_a_stabilized_motion_keeps_its_drawing():
    motion = simulate(closed_four_link(), until=0.5, stabilization=stabilization("baumgarte", None))
    left, right = (
        stroke.points for stroke in of_role(scene(motion, motion.system.drawing, 6), Role.LINE)
    )
    np.testing.assert_allclose(left[:, -1], right[:, -1], atol=1e-6)


def test_a_wheel_is_a_circle_with_a_rotating_spoke():
    motion = simulate(rolling_body(), until=0.5)
    seen = scene(motion, motion.system.drawing, 5)
    wheel = of_role(seen, Role.WHEEL)[0].points
    rim = wheel[:, :-1] - wheel[:, -1:]
    np.testing.assert_allclose(np.linalg.norm(rim, axis=2), 0.1, atol=1e-15)
    theta = motion.at(seen.t, "theta")
    np.testing.assert_allclose(
        rim[:, 0] / 0.1, np.stack([np.cos(theta), np.sin(theta)], axis=1), atol=1e-14
    )


@pytest.mark.parametrize("normal", [(0, 0, 1), (0, 1, 0), (1, 2, 3)])
def test_a_wheel_in_space_is_normal_to_its_axle(normal):
    system = moving(Drawing((Disc((SX.sym("x"), 0, 1), 0.5, SX.sym("t"), normal),)))
    wheel = scene(simulate(system), system.drawing, 4).strokes[0].points
    rim = wheel[:, :-1] - wheel[:, -1:]
    np.testing.assert_allclose(rim @ np.array(normal, dtype=float), 0.0, atol=1e-14)
    np.testing.assert_allclose(np.linalg.norm(rim, axis=2), 0.5, atol=1e-14)


def test_places_by_functions_and_by_expressions_agree():
    x = SX.sym("x")
    places = (
        (lambda now: (now["x"], now["t"] ** 2)),
        (x, SX.sym("t") ** 2),
        vertcat(x, SX.sym("t") ** 2),
    )
    system = moving(Drawing(tuple(Mark(place) for place in places)))
    first, *others = (
        stroke.points for stroke in scene(simulate(system), system.drawing, 7).strokes
    )
    for other in others:
        np.testing.assert_allclose(other, first, atol=1e-15)


def test_trails_are_finer_than_frames_and_pass_through_them(swing):
    seen = scene(swing, swing.system.drawing, 21)
    trail, bob = of_role(seen, Role.TRAIL)[0].points, of_role(seen, Role.MARK)[-1].points
    assert len(trail) > 1000
    np.testing.assert_allclose(trail[:: seen.finer], bob, atol=1e-14)


def test_solutions_with_phases_are_drawn_phase_by_phase(handmade):
    answer = handmade()
    drawing = Drawing(
        (Trail((SX.sym("r_0"), SX.sym("r_1"))), Mark(lambda now: (now["r"][0], now["mass"])))
    )
    seen = scene(answer, drawing, 51)
    assert np.all(np.diff(seen.t) > 0)
    assert (seen.t[0], seen.t[-1]) == (0.0, 2.5)
    phases = [answer.phases["stance" if t < 1.25 else "flight/free"] for t in seen.t]
    expected = [[phase["r"](t)[0], 70.0] for phase, t in zip(phases, seen.t, strict=True)]
    np.testing.assert_allclose(seen.strokes[1].points[:, 0], expected, atol=1e-14)


@pytest.mark.parametrize("frames", [7, 12, 26])
def test_frames_are_equidistant_over_all_phases(handmade, frames):
    """Also where a phase ends between two of them."""
    seen = scene(handmade(phases=3), Drawing((Mark((SX.sym("r_0"), SX.sym("r_1"))),)), frames)
    np.testing.assert_allclose(seen.t, np.linspace(0.0, 2.5, frames), atol=1e-15)
    np.testing.assert_allclose(
        seen.strokes[0].points[:, 0, 0], np.cos(seen.t), atol=2e-3
    )  # as exact as the answer's curves


def test_shapes_are_not_drawn_in_phases_without_their_variables(handmade):
    answer = handmade()
    flight = answer.phases["flight/free"]
    phases = {
        **answer.phases,
        "flight/free": dataclasses.replace(flight, states={"r": flight.states["r"]}),
    }
    seen = scene(
        dataclasses.replace(answer, phases=phases),
        Drawing((Mark((SX.sym("z last"), 0)), Mark((0, 0)))),
        11,
    )
    missing = np.isnan(seen.strokes[0].points[:, 0, 0])
    np.testing.assert_array_equal(missing, seen.t >= 1.25)
    assert np.all(np.isfinite(window_of(seen)))


def test_an_unknown_name_is_an_error(swing):
    with pytest.raises(ModelError, match="a drawing uses 'thetta'") as failure:
        scene(swing, Drawing((Mark((SX.sym("thetta"), 0)),)))
    assert "theta" in str(failure.value.hint)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Drawing(()),
        lambda: Drawing((Mark((0, 0)),), follow=(0, 0)),
        lambda: Rod(((0, 0),)),
        lambda: Disc((0, 0), 0.0),
    ],
)
def test_invalid_drawings_are_rejected(make):
    with pytest.raises(ModelError):
        make()


def test_links_of_a_tree_are_connected():
    """Every rod of the branched arm has its length, and begins where the one before it ends."""
    system = builder("branched-arm", "system")()
    first, second, third = (
        stroke.points for stroke in of_role(scene(simulate(system), system.drawing, 9), Role.LINE)
    )
    for link in (first, second, third):
        np.testing.assert_allclose(np.linalg.norm(link[:, 1] - link[:, 0], axis=1), 0.4, atol=1e-14)
    np.testing.assert_allclose(second[:, 0], first[:, 1], atol=1e-14)
    np.testing.assert_allclose(third[:, 0], first[:, 1], atol=1e-14)


def test_two_and_three_dimensions_cannot_be_mixed(swing):
    with pytest.raises(ModelError, match="must have 2 coordinates"):
        scene(swing, Drawing((Mark((0, 0)), Mark((0, 0, 0)))))


def test_projection_preserves_lengths_normal_to_the_view():
    """Seen along an axis the other two are undistorted, and seen from anywhere
    nothing gets longer.
    """
    box = np.random.default_rng(1).normal(size=(50, 3))
    np.testing.assert_allclose(projected(box, (-90.0, 0.0)), box[:, [0, 2]], atol=1e-15)
    np.testing.assert_allclose(projected(box, (-90.0, 90.0)), box[:, [0, 1]], atol=1e-15)
    assert np.all(
        np.linalg.norm(projected(box, (33.0, 21.0)), axis=1) <= np.linalg.norm(box, axis=1)
    )


def test_everything_that_moves_is_inside_the_window(swing):
    motion = simulate(slider_crank(), until=1.0)
    seen = scene(motion, motion.system.drawing)
    left, right, low, high = window_of(seen)
    for stroke in seen.strokes:
        if stroke.role is not Role.GROUND:
            assert left < stroke.points[..., 0].min()
            assert stroke.points[..., 0].max() < right
            assert low < stroke.points[..., 1].min()
            assert stroke.points[..., 1].max() < high


def test_a_gif_plays_in_real_time_and_moves(swing, tmp_path):
    done = []
    animate(swing, swing.system.drawing, tmp_path / "swing.gif", progress=done.append)
    pictures, delays = frames_of(tmp_path / "swing.gif")
    assert len(pictures) == 51
    assert sum(delays[:-1]) == 2000
    assert all(np.abs(a - b).max() > 50 for a, b in pairwise(pictures))
    assert done[-1] == 1.0
    assert np.all(np.diff(done) > 0)


def test_the_bob_is_drawn_at_its_position(swing, tmp_path):
    """The centre of the bob's pixels, through the window's scale, is the bob: axes are equal and
    nothing is shifted.
    """
    animate(
        swing,
        Drawing((Mark((2 * sin(SX.sym("theta")), -2 * cos(SX.sym("theta"))), 14),)),
        tmp_path / "bob.gif",
        frames=6,
    )
    centres = []
    for pixels in frames_of(tmp_path / "bob.gif")[0]:
        rows, columns = np.nonzero((pixels[..., 0] > 190) & (pixels[..., 2] < 60))
        centres.append((columns.mean(), -rows.mean()))
    theta = swing.at(np.linspace(0.0, 2.0, 6), "theta")
    places = np.stack([2 * np.sin(theta), -2 * np.cos(theta)], axis=1)
    seen, true = np.diff(np.array(centres), axis=0), np.diff(places, axis=0)
    scale = np.sum(seen * true) / np.sum(true * true)
    np.testing.assert_allclose(seen, scale * true, atol=1.0)  # pixels


def test_the_palette_has_colours_of_temporary_shapes(swing, tmp_path):
    """A green mark that is there only in the first half is green in the gif, and gone
    at its end.
    """
    green = Mark(lambda now: (0.0, 0.0) if now["t"] < 1.0 else (np.nan, np.nan), 20, 2)
    animate(
        swing,
        Drawing((green, Mark((1.0, 0.5)), Mark((-1.0, -0.5)))),
        tmp_path / "mark.gif",
        frames=5,
    )
    pictures = frames_of(tmp_path / "mark.gif")[0]
    found = [
        int(np.sum(np.abs(picture - np.array([0, 158, 115])).max(axis=2) < 12))
        for picture in pictures
    ]
    assert min(found[:2]) > 200
    assert max(found[2:]) == 0


@needs_ffmpeg
def test_an_mp4_lasts_as_long_as_the_motion(swing, tmp_path):
    animate(swing, swing.system.drawing, tmp_path / "swing.mp4")
    asked = [
        "ffprobe",
        "-v",
        "error",
        "-show_entries",
        "format=duration",
        "-of",
        "csv=p=0",
        str(tmp_path / "swing.mp4"),
    ]
    assert float(
        subprocess.run(asked, capture_output=True, check=True, text=True).stdout
    ) == pytest.approx(2.0, abs=0.05)


def test_without_ffmpeg_an_mp4_is_rejected_before_solving(swing, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(FileError, match="cannot write") as failure:
        animate(swing, swing.system.drawing, tmp_path / "swing.mp4")
    assert "ffmpeg" in str(failure.value.got)


def test_a_failed_animation_leaves_the_old_file(swing, tmp_path):
    target = tmp_path / "swing.gif"
    target.write_bytes(b"old")

    def fail(fraction):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        animate(swing, swing.system.drawing, target, progress=fail)
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_stills_are_equidistant_with_a_common_window(swing, tmp_path):
    figure = stills(swing, swing.system.drawing, tmp_path / "swing.png", count=5)
    times = [float(axes.get_title(loc="left").split()[2]) for axes in figure.axes]
    np.testing.assert_allclose(times, np.linspace(0, 2, 5), atol=0.005)
    assert len({(*axes.get_xlim(), *axes.get_ylim()) for axes in figure.axes}) == 1
    with Image.open(tmp_path / "swing.png") as picture:
        assert picture.size[0] > 500
    with pytest.raises(UsageError):
        stills(swing, swing.system.drawing, count=1)


def test_a_long_motion_is_sped_up_and_shows_the_factor():
    x = SX.sym("x")
    system = System(
        "slow",
        SX.sym("t"),
        x,
        (Variable("x", 1.0),),
        -x / 1e3,
        until=4e3,
        drawing=Drawing((Mark((x, 0)),)),
    )
    seen = scene(simulate(system), system.drawing)
    assert seen.seconds == 8.0
    assert seen.speed == pytest.approx(500.0)
    assert playback_speed_text(seen) == "sped up 500 times"
    _, picture = _canvas(seen)
    picture.show(0)
    assert picture.axes.get_title(loc="left").endswith("sped up 500 times")


def test_a_caption_of_several_lines_is_below_the_scene(swing):
    caption = "dot and trail: mass centre; arrows: forces of the ground; " * 3
    figure, picture = _canvas(
        scene(swing, Drawing(swing.system.drawing.shapes, caption=caption), 3)
    )
    (text,) = figure.texts
    assert text.get_text().replace("\n", " ") == caption.strip()
    extent, width = text.get_window_extent(), figure.canvas.get_width_height()[0]
    ticks = picture.axes.get_tightbbox().y0
    assert 0 <= extent.y0 < extent.y1 <= ticks
    assert extent.x1 <= width


def test_a_short_motion_is_slowed_and_shows_the_factor():
    motion = simulate(pendulum(), until=0.8)
    seen = scene(motion, motion.system.drawing)
    assert seen.seconds == 4.0
    assert playback_speed_text(seen) == "slowed 5 times"
    assert "slowed" not in stills(motion, motion.system.drawing, count=2).axes[0].get_title(
        loc="left"
    )  # these do not play


def test_pictures_need_no_pyplot():
    script = (
        "import sys, trajopt.show.animate, matplotlib.animation; print('matplotlib.pyplot' "
        "in sys.modules)"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "False"
    )


def test_drawings_need_no_plotting_library():
    modules = (
        "multibody.exercises",
        "classical.cart_pole",
        "bike.wheelie",
        "exoskeleton.snowboarder",
        "rocket.earth_mars",
    )
    script = (
        f"import sys, {', '.join(f'problems.{module}' for module in modules)}; "
        "print('matplotlib' in sys.modules)"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "False"
    )


def test_the_drawing_of_a_problem_uses_its_settings():
    """A longer pole is drawn longer; settings that do not affect the geometry are ignored."""
    assert drawing_beside(goddard.build) is None
    found = drawing_beside(cart_pole.build, {"l": 2.0, "limit": 30.0, "track": 7.0})
    assert found.shapes[0] == Ground(((-7.0, 0.0), (7.0, 0.0)))
    pole = vertcat(*found.shapes[3].points[1]) - vertcat(*found.shapes[3].points[0])
    assert value_somewhere(sumsqr(pole)) == pytest.approx(4.0)


def value_somewhere(expression):
    symbols = symvar(expression)
    return float(
        Function("f", [vertcat(*symbols)], [expression])(np.linspace(0.3, 0.9, len(symbols)))
    )


DRAWN = (
    "pendulum",
    "pendulum-cartesian",
    "two-link-arm",
    "closed-four-link",
    "lorenz",
    "mass-spring-damper",
    "sleigh",
    "cart-slalom",
    "turntable-ball",
    "inverse-problem",
    "branched-arm",
    "rider-loop",
    "snowboarder",
    "double-pendulum",
    "triple-pendulum",
    "disc-pendulum",
    "inverted-pendulum",
    "mounted-pendulum",
    "welded-pendulum",
    "offset-body",
    "free-body",
    "sprung-body",
    "sprung-pair",
    "two-link-robot",
    "ground-slider",
    "body-slider",
    "slider-crank",
    "bouncing-body",
    "rolling-body",
    "vehicle-flat",
    "vehicle-slope",
)


@pytest.mark.parametrize("name", DRAWN)
def test_named_systems_can_be_drawn(name):
    assert named_problems()[name].kind == "system"
    system = builder(name, "system")()
    seen = scene(simulate(system, until=0.05), system.drawing, 3)
    assert all(np.all(np.isfinite(stroke.points)) for stroke in seen.strokes)


@pytest.mark.parametrize(
    ("name", "mark", "start", "end"),
    [
        ("cart-pole", -1, (0.0, -0.5), (1.0, 0.5)),
        ("brachistochrone", -1, (0.0, 10.0), (10.0, 5.0)),
        ("moon-lander", -1, (0.0, 10.45), (0.0, 0.45)),
        (
            "robot-arm",
            -1,
            4.5 * np.sqrt(0.5) * np.array([1.0, 0.0, 1.0]),
            4.5 * np.sqrt(0.5) * np.array([-0.5, np.sqrt(0.75), 1.0]),
        ),
    ],
)
def test_solutions_are_drawn_from_their_start_to_their_end(name, mark, start, end):
    """The first and last frame satisfy the boundary conditions."""
    build = builder(name, "problem")
    points = scene(solve(build()).check(), drawing_beside(build), 5).strokes[mark].points
    np.testing.assert_allclose(points[0, 0], start, atol=1e-6)
    np.testing.assert_allclose(points[-1, 0], end, atol=1e-6)


def test_a_launch_in_four_phases_stays_above_the_ground():
    build = builder("launch-vehicle", "problem")
    place = scene(solve(build()).check(), drawing_beside(build), 40).strokes[-1].points[:, 0]
    height = np.linalg.norm(place, axis=1) - 6378145.0
    assert height[0] == pytest.approx(0.0, abs=1.0)
    assert np.all(height[1:] > 1e3)
