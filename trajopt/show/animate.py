"""Animations (gif, mp4) and sequences of snapshots, without a display and without global state."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from PIL import Image

from trajopt.errors import FileError, UsageError
from trajopt.files.atomic import check_writable, replacing
from trajopt.show.drawing import Drawing
from trajopt.show.figure_style import COLOURS, FAINT, INK, STEPS, NotebookFigure, write_figure
from trajopt.show.frames import Array
from trajopt.show.scene import (
    Role,
    Scene,
    Stroke,
    Window,
    arrow_line,
    playback_speed_text,
    projected,
    scene,
    window_of,
)

if TYPE_CHECKING:
    from trajopt.integrate.simulation import Simulation
    from trajopt.trajectory.solution import Solution

Progress = Callable[[float], None]
FILMS = (".gif", ".mp4")
SIZE = 5.0  # inches, the longer side of an animation
DPI = 100
LINE, LETTER = 0.14, 0.052  # inches, a line of a caption and the mean width of its letters


def animate(
    source: Simulation | Solution,
    drawing: Drawing,
    path: str | Path,
    frames: int | None = None,
    progress: Progress | None = None,
) -> None:
    """Write an animation: a gif, or an mp4 if ffmpeg is installed.

    It plays in real time if that takes between 1.5 and 30 seconds. Shorter motions are slowed down
    to 4 seconds, longer ones take 8; the factor is shown in the picture.

    Parameters
    ----------
    frames : by default 25 per second, at most 300.
    progress : called with the completed fraction.
    """
    check_film(path)
    seen = scene(source, drawing, frames)
    write = _gif if Path(path).suffix.lower() == ".gif" else _mp4
    with replacing(path) as part:
        write(seen, part, progress or (lambda fraction: None))


def stills(
    source: Simulation | Solution, drawing: Drawing, path: str | Path | None = None, count: int = 8
) -> Figure:
    """Return a figure with snapshots at equal time steps; ``path`` also writes it.

    Examples
    --------
    >>> from problems.lecture import pendulum
    >>> from trajopt.integrate.simulation import simulate
    >>> system = pendulum()
    >>> [axes.get_title(loc="left") for axes in stills(simulate(system, until=2.0), system.drawing,
    ...     count=3).axes]
    ['t = 0.00 s', 't = 1.00 s', 't = 2.00 s']
    """
    if count < 2:
        raise UsageError("at least two snapshots are needed", got=count)
    seen = scene(source, drawing, max(count, 201))
    chosen = np.linspace(0, len(seen.t) - 1, count).round().astype(int)
    window = window_of(seen)
    columns = min(count, 4)
    rows = -(-count // columns)
    height = 2.6 * (window[3] - window[2]) / (window[1] - window[0])
    figure = NotebookFigure(
        figsize=(2.6 * columns, (height + 0.35) * rows + 0.4), layout="constrained", dpi=140
    )
    FigureCanvasAgg(figure)
    for number, frame in enumerate(chosen):
        picture = _Picture(figure.add_subplot(rows, columns, number + 1), seen, window, still=True)
        picture.axes.tick_params(labelsize=6.5)
        picture.show(int(frame))
    text = f"{seen.title}   {seen.caption}" if seen.caption else seen.title
    figure.suptitle(
        text.replace("$", r"\$"), x=0.01, ha="left", fontsize=11 if len(text) < 90 else 9, color=INK
    )
    write_figure(figure, path)
    return figure


def check_film(path: str | Path) -> None:
    """Raise ``FileError`` if an animation cannot be written to this path.

    >>> check_film("swing.avi")
    Traceback (most recent call last):
    trajopt.errors.FileError: cannot write 'swing.avi'
      got:      ending '.avi'
      expected: .gif or .mp4
    """
    check_writable(path, FILMS)
    if Path(path).suffix.lower() == ".mp4" and shutil.which("ffmpeg") is None:
        raise FileError(
            f"cannot write '{path}'",
            got="ffmpeg, which encodes mp4, is not installed",
            hint=f"--animate {Path(path).with_suffix('.gif')}",
        )


class _Picture:
    """The artists of one scene on one pair of axes, updated for each frame."""

    def __init__(self, axes: Any, seen: Scene, window: Window, still: bool = False) -> None:
        self.axes, self.seen, self.window = axes, seen, window
        self.pace = "" if still else playback_speed_text(seen)
        axes.set_aspect("equal", adjustable="box")
        axes.set_xlim(*window[:2])
        axes.set_ylim(*window[2:])
        for side in axes.spines.values():
            side.set_color("#dddddd")
        axes.tick_params(labelsize=7.5, length=0, labelcolor=FAINT)
        axes.grid(True, color="#eeeeee", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.xaxis.set_major_locator(MaxNLocator(5, steps=STEPS))
        axes.yaxis.set_major_locator(MaxNLocator(5, steps=STEPS))
        if seen.unit:
            axes.text(
                0.99,
                0.985,
                f"[{seen.unit}]",
                transform=axes.transAxes,
                ha="right",
                va="top",
                fontsize=7,
                color=FAINT,
            )
        if seen.dimension == 3:
            axes.tick_params(labelbottom=False, labelleft=False)
            axes.grid(False)
        self.artists = [
            (stroke, projected(stroke.points, seen.view), _artists(axes, stroke))
            for stroke in seen.strokes
        ]
        self.stamp = axes.set_title("", loc="left", fontsize=8.5, color=INK, fontfamily="monospace")

    def show(self, frame: int) -> None:
        for stroke, points, artists in self.artists:
            shown = points[0] if stroke.role is Role.GROUND else points[frame]
            if stroke.role is Role.ARROW:
                shown = arrow_line(shown, self.window)
            if stroke.role is Role.TRAIL:
                shown = points[: frame * self.seen.finer + 1, 0]
            for artist in artists:
                artist.set_data(shown[:, 0], shown[:, 1])
        self.stamp.set_text(
            "   ".join(part for part in (_stamp(self.seen, frame), self.pace) if part)
        )
        if self.seen.middle is not None:
            x, y = projected(self.seen.middle[frame], self.seen.view)
            left, right, low, high = self.window
            self.axes.set_xlim(x + left, x + right)
            self.axes.set_ylim(y + low, y + high)


def _artists(axes: Any, stroke: Stroke) -> list[Any]:
    colour = COLOURS[stroke.colour % len(COLOURS)]
    round_ends = {"solid_capstyle": "round", "solid_joinstyle": "round"}
    width = stroke.width
    style: dict[str, Any]
    if stroke.role is Role.GROUND:
        style = {"color": FAINT, "linewidth": width, "zorder": 1.5}
    elif stroke.role is Role.TRAIL:
        style = {"color": colour, "linewidth": width, "alpha": 0.8, "zorder": 2}
    elif stroke.role is Role.MARK:
        rim = {"markeredgecolor": "white", "markeredgewidth": 0.8}
        style = {"color": colour, "linestyle": "", "zorder": 4}
        style |= {"marker": "o", "markersize": width, **rim}
    else:
        style = {"color": colour, "linewidth": width, "zorder": 3, **round_ends}
    return list(axes.plot([], [], **style))


def _stamp(seen: Scene, frame: int) -> str:
    span = float(seen.t[-1] - seen.t[0])
    digits = max(0, 2 - int(np.floor(np.log10(span))))
    return f"t = {seen.t[frame]:.{digits}f} {seen.time_unit}".rstrip()


def _canvas(seen: Scene) -> tuple[Figure, _Picture]:
    """A figure for the frames; the caption is below the axes, where it covers nothing
    of the scene.
    """
    window = window_of(seen)
    width, height = window[1] - window[0], window[3] - window[2]
    scale = SIZE / max(width, height)
    lines = textwrap.wrap(seen.caption, max(20, round(scale * width / LETTER)))
    below = 0.25 + LINE * len(lines)  # inches
    pixels = [
        2 * round(DPI * (scale * side + extra) / 2)
        for side, extra in ((width, 0.55), (height, 0.35 + below))
    ]  # even, for mp4
    figure = Figure(figsize=(pixels[0] / DPI, pixels[1] / DPI), dpi=DPI)
    FigureCanvasAgg(figure)
    left, low, top, right = (
        0.45 * DPI / pixels[0],
        below * DPI / pixels[1],
        0.35 * DPI / pixels[1],
        0.1 * DPI / pixels[0],
    )
    picture = _Picture(figure.add_axes((left, low, 1 - left - right, 1 - low - top)), seen, window)
    figure.text(
        left,
        0.04 * DPI / pixels[1],
        "\n".join(lines),
        fontsize=7,
        color=FAINT,
        ha="left",
        va="bottom",
    )
    return figure, picture


def _rendered(seen: Scene, frames: Iterable[int]) -> Iterator[Array]:
    """Yield the pixels of each frame: (height, width, 3) bytes."""
    figure, picture = _canvas(seen)
    canvas: Any = figure.canvas
    for frame in frames:
        picture.show(frame)
        canvas.draw()
        yield np.asarray(canvas.buffer_rgba())[..., :3].copy()


def _gif(seen: Scene, path: Path, progress: Progress) -> None:
    delay = 10 * max(
        2, round(100 * seen.seconds / (len(seen.t) - 1))
    )  # ms; browsers do not play faster
    pictures: list[Image.Image] = []
    palette = _palette(seen)  # the same for all frames, to avoid flicker and large files
    for pixels in _rendered(seen, range(len(seen.t))):
        pictures.append(Image.fromarray(pixels).quantize(palette=palette, dither=Image.Dither.NONE))
        progress(len(pictures) / len(seen.t))
    delays = [delay] * (len(pictures) - 1) + [max(delay, 800)]  # hold the last frame
    pictures[0].save(
        path,
        format="GIF",
        save_all=True,
        append_images=pictures[1:],
        duration=delays,
        loop=0,
        optimize=False,
    )


def _palette(seen: Scene) -> Image.Image:
    """Return one palette for all frames, from a sample of frames, since shapes may appear in some
    phases only.
    """
    few = np.linspace(0, len(seen.t) - 1, 7).round().astype(int)
    found = Image.fromarray(np.concatenate(list(_rendered(seen, few)))).quantize(128)
    colours = np.array(found.getpalette(), dtype=int).reshape(-1, 3)
    colours[colours.min(axis=1) >= 248] = 255  # keep the background white
    palette = Image.new("P", (1, 1))
    palette.putpalette(colours.ravel().tolist())
    return palette


def _mp4(seen: Scene, path: Path, progress: Progress) -> None:
    from matplotlib.animation import FFMpegWriter

    figure, picture = _canvas(seen)
    rate = (len(seen.t) - 1) / seen.seconds
    options = ["-f", "mp4", "-pix_fmt", "yuv420p"]
    writer = FFMpegWriter(fps=rate, codec="h264", extra_args=options)  # type: ignore[arg-type]
    with writer.saving(figure, str(path), DPI):
        for frame in range(len(seen.t)):
            picture.show(frame)
            writer.grab_frame()
            progress((frame + 1) / len(seen.t))
