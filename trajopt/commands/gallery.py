"""``gallery``: plots of every named problem and system. A failure does not stop the rest."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trajopt.catalogue import Entry, builder, named_problems
from trajopt.commands.building import Built, build_system, reference_of
from trajopt.commands.exit_codes import NOT_SOLVED, SOLVED, describe
from trajopt.commands.list import check_family
from trajopt.commands.outputs import USUAL
from trajopt.commands.plot import Subject, draw_answers, draw_run
from trajopt.commands.saved_problem import check_belongs
from trajopt.commands.terminal import console, progress_lines
from trajopt.errors import TrajoptError, UsageError, suggest
from trajopt.files.atomic import make_folder

if TYPE_CHECKING:
    from trajopt.integrate.simulation import Simulation
    from trajopt.show.gallery_page import Card
    from trajopt.trajectory.solution import Solution


@dataclass(frozen=True)
class GalleryOptions:
    """The contents of a gallery."""

    names: Sequence[str] = ()
    family: str | None = None
    again: bool = False  # also redo existing results
    films: bool = False
    quiet: bool = False


def run_gallery(folder: Path, options: GalleryOptions) -> int:
    """Solve or simulate everything, plot it, and write contact sheets and an index.

    Results of an earlier run are reused.
    """
    from trajopt.show.gallery_page import contact_sheets, write_index

    entries = _entries(options)
    make_folder(folder)
    cards: list[Card] = []
    interrupted = False
    with progress_lines("drawing a gallery", options.quiet) as show:
        for number, (name, entry) in enumerate(entries.items(), start=1):
            began = time.perf_counter()
            try:
                card = _card(name, entry, folder, options)
            except KeyboardInterrupt:
                interrupted = True
                break
            cards.append(card)
            word = card.remark or f"{len(card.pictures)} pictures"
            show(f"{number} of {len(entries)}: {name}: {word}, {time.perf_counter() - began:.1f} s")
    sheets = contact_sheets(cards, folder)
    index = write_index(cards, folder)
    screen = console(error=True, quiet=options.quiet)
    for card in cards:
        if not card.good:
            screen.print(f"  {card.name}: {card.remark}", style="red")
    screen.print(f"wrote {index} and {len(sheets)} contact sheet{'s' if len(sheets) != 1 else ''}")
    if interrupted:
        screen.print("  interrupted; the same command resumes", style="yellow")
    return SOLVED if all(card.good for card in cards) and not interrupted else NOT_SOLVED


def _entries(options: GalleryOptions) -> dict[str, Entry]:
    everything = named_problems()
    for name in options.names:
        if name not in everything:
            raise UsageError(
                f"unknown problem or system '{name}'",
                hint=suggest(name, everything) or "'trajopt list' shows the names",
            )
    check_family(options.family, everything)
    chosen = {name: e for name, e in everything.items() if options.family in (None, e.family)}
    return {name: e for name, e in chosen.items() if not options.names or name in options.names}


def _card(name: str, entry: Entry, folder: Path, options: GalleryOptions) -> Card:
    """Plot one name. A failure is recorded on its card."""
    from trajopt.show.gallery_page import Card

    draw = _problem if entry.kind == "problem" else _system
    remark, good = "", True
    try:
        remark, good = draw(name, folder, options)
    except TrajoptError as error:
        remark, good = error.what, False
    except (
        Exception
    ) as error:  # a model or a solver may raise anything; continue with the next name
        remark, good = describe(error), False
    found = [path for path in _expected(name, folder) if path.exists()]
    return Card(name, entry.family, entry.summary, tuple(found), remark, good)


def _expected(name: str, folder: Path) -> list[Path]:
    """List the possible plots of a name, the default one first."""
    own = sorted(path for path in folder.glob(f"{name}.*.png"))
    return [folder / f"{name}.png", *own, folder / f"{name}.gif"]


def _problem(name: str, folder: Path, options: GalleryOptions) -> tuple[str, bool]:
    from trajopt.show.drawing import drawing_beside

    build = builder(name, "problem")
    solution = _answer(name, build, folder, options)
    subject = Subject(name)
    drawing, reference = drawing_beside(build), reference_of(build)
    kinds = [USUAL, *(["stills"] if drawing is not None else []), *subject.own()]
    for kind in kinds:
        path = _path(folder, name, kind)
        if options.again or not path.exists():
            draw_answers({"": solution}, kind, path, subject, reference)
    if options.films and drawing is not None:
        _film(solution, drawing, folder / f"{name}.gif", options)
    return (
        f"objective {solution.objective:.8g}" if solution.success else solution.status.value,
        solution.success,
    )


def _answer(
    name: str, build: Callable[..., Any], folder: Path, options: GalleryOptions
) -> Solution:
    """Load the solution of an earlier run if it still belongs to the problem; otherwise solve and
    save it.
    """
    from dataclasses import replace

    from trajopt.files.storage import load
    from trajopt.solving.methods import solve

    saved = folder / f"{name}.nc"
    problem = build()
    if saved.exists() and not options.again:
        try:
            earlier = load(saved)
            check_belongs(Built(problem), earlier, name)
            return replace(earlier, form=problem.finish().of_solution(earlier.parameters))
        except TrajoptError:  # of an older statement of the problem, or damaged
            _remove_plots(name, folder)
    solution = solve(problem)
    if solution.success:
        solution.save(saved)
    return solution


def _remove_plots(name: str, folder: Path) -> None:
    """Remove the plots of an outdated solution."""
    for path in _expected(name, folder):
        path.unlink(missing_ok=True)


def _system(name: str, folder: Path, options: GalleryOptions) -> tuple[str, bool]:
    """Simulate and plot a system, unless all its plots exist.

    Simulations are not saved: running one again is fast.
    """
    from trajopt.integrate.simulation import simulate

    system, subject = build_system(name, {}), Subject(name, {}, "system")
    kinds = [USUAL, *(["stills"] if system.drawing is not None else []), *subject.own()]
    films = [folder / f"{name}.gif"] if options.films and system.drawing is not None else []
    if not options.again and all(
        path.exists() for path in [*(_path(folder, name, kind) for kind in kinds), *films]
    ):
        return "", True
    run: Simulation = simulate(system)
    for kind in kinds:
        path = _path(folder, name, kind)
        if options.again or not path.exists():
            draw_run(run, kind, path, subject, lambda: {"": run})
    if films:
        _film(run, system.drawing, films[0], options)
    return f"t = {run.t[-1]:.6g} s after {len(run.t) - 1} steps", True


def _path(folder: Path, name: str, kind: str) -> Path:
    return folder / (f"{name}.png" if kind == USUAL else f"{name}.{kind}.png")


def _film(source: Solution | Simulation, drawing: Any, path: Path, options: GalleryOptions) -> None:
    from trajopt.show.animate import animate

    if options.again or not path.exists():
        animate(source, drawing, path)
