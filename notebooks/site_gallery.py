"""Pages of the gallery: each named problem with statement, command, pictures and certificate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

LIMIT = 60.0  # seconds of a solve or a certificate


def write_gallery(
    stage: Path, solutions: Path, names: list[str] | None, films: tuple[str, ...]
) -> None:
    """Write a page for each entry, and the index by family."""
    from trajopt import named_problems

    known = named_problems()
    unknown = [name for name in names or [] if name not in known]
    if unknown:
        raise SystemExit(f"unknown entries of the gallery: {', '.join(unknown)}")
    chosen = list(known) if names is None else names
    place = stage / "gallery"
    place.mkdir(exist_ok=True)
    solutions.mkdir(exist_ok=True)
    families: dict[str, list[str]] = {}
    for name in chosen:
        entry = known[name]
        print(f"gallery: {name}", flush=True)
        body = _problem(name, place, solutions) if entry.kind == "problem" else _system(name, place)
        text = f"# {name}\n\n{entry.summary[:1].upper()}{entry.summary[1:]}.\n\n{body}"
        (place / f"{name}.md").write_text(text, encoding="utf-8")
        families.setdefault(entry.family, []).append(name)
    _write_index(place, families, known)
    _write_films(stage, solutions, [name for name in films if name in chosen])


def _problem(name: str, place: Path, solutions: Path) -> str:
    from trajopt import builder, certify

    build = builder(name)
    problem = build()
    solution = _solved(name, problem, solutions)
    pictures = [_picture(place, name, "trajectories", lambda path: solution.plot(path=path))]
    try:
        pictures.append(_picture(place, name, "stills", lambda path: solution.plot("stills", path)))
    except Exception as error:  # most problems have no drawing
        print(f"  no stills: {str(error).splitlines()[0]}")
    parts = [_command(f"trajopt solve {name} --certify"), _statement(problem)]
    parts.append(f"## Solution\n\n{_html(solution)}")
    parts += [picture for picture in pictures if picture]
    if solution.phases:
        certificate = certify(solution, time_limit=LIMIT)
        parts.append(f"## Certificate\n\n{_html(certificate)}")
    parts.append(_known(build))
    return "\n\n".join(part for part in parts if part) + "\n"


def _solved(name: str, problem: Any, solutions: Path) -> Any:
    """Return the stored solution of this version of the problem, or solve it."""
    from dataclasses import replace

    from trajopt import load, solve
    from trajopt.errors import TrajoptError

    path = solutions / f"{name}.nc"
    if path.exists():
        try:
            return replace(load(path), form=problem.finish())
        except TrajoptError:
            path.unlink()
    solution = replace(solve(problem, time_limit=LIMIT, progress=False), source=name)
    solution.save(path)
    return solution


def _system(name: str, place: Path) -> str:
    from trajopt import builder
    from trajopt.integrate import simulate
    from trajopt.show.simulation_plots import plot_simulation

    motion = simulate(builder(name)())
    picture = _picture(place, name, "trajectories", lambda path: plot_simulation(motion, path))
    return (
        "\n\n".join(
            [_command(f"trajopt simulate {name}"), f"## Motion\n\n{_html(motion)}", picture]
        )
        + "\n"
    )


def _picture(place: Path, name: str, kind: str, draw: Any) -> str:
    path = place / f"{name}-{kind}.png"
    draw(path)
    return f"![{kind} of {name}]({path.name})"


def _command(line: str) -> str:
    return f"```sh\n{line}\n```"


def _statement(problem: Any) -> str:
    latex = problem._repr_latex_()
    body = f"```text\n{problem}\n```"
    if latex is not None:
        formulas = latex.removeprefix("$$").removesuffix("$$")
        body = f"```{{math}}\n{formulas}\n```"
    return f"## Statement\n\n{body}"


def _html(value: Any) -> str:
    return f'```{{raw}} html\n<div class="display">{value._repr_html_()}</div>\n```'


def _known(build: Any) -> str:
    import inspect

    reference = getattr(inspect.getmodule(build), "REFERENCE", None)
    if reference is None or not getattr(reference, "source", ""):
        return ""
    value = f"{reference.objective:.12g}" if reference.objective is not None else ""
    return f"## Known optimum\n\n{value}. {reference.source}"


def _write_index(place: Path, families: dict[str, list[str]], known: Any) -> None:
    parts = ["# Gallery\n\nThe named problems and systems, each solved by this version."]
    for family, names in families.items():
        parts.append(f"## {family}\n\n::::{{grid}} 1 2 3 3\n:gutter: 2\n")
        for name in names:
            kinds = ("stills", "trajectories")
            paths = [f"{name}-{kind}.png" for kind in kinds]
            picture = next((path for path in paths if (place / path).exists()), None)
            image = f":img-top: {picture}\n" if picture else ""
            card = f":::{{grid-item-card}} {name}\n:link: {name}\n:link-type: doc\n{image}"
            parts.append(f"{card}\n{known[name].summary}\n:::\n")
        parts.append("::::\n")
    listed = "\n".join(name for names in families.values() for name in names)
    parts.append(f"```{{toctree}}\n:hidden:\n\n{listed}\n```\n")
    (place / "index.md").write_text("\n".join(parts), encoding="utf-8")


def _write_films(stage: Path, solutions: Path, names: list[str]) -> None:
    """Write the moving pictures of the first page; without any it has none."""
    from trajopt import load

    parts = []
    for name in names:
        film = solutions / f"{name}.gif"
        if not film.exists():
            load(solutions / f"{name}.nc").animate(film)
        (stage / "films").mkdir(exist_ok=True)
        (stage / "films" / film.name).write_bytes(film.read_bytes())
        card = f":::{{grid-item-card}}\n:img-top: films/{film.name}\n:link: gallery/{name}\n"
        parts.append(f"{card}:link-type: doc\n\n{name}\n:::\n")
    text = "::::{grid} 1 2 3 3\n:gutter: 2\n\n" + "\n".join(parts) + "::::\n" if parts else ""
    (stage / "films.inc").write_text(text, encoding="utf-8")
