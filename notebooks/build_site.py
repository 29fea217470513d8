"""Build the documentation site: static HTML that opens from disk, with search.

    pip install '.[docs]' && python notebooks/build_site.py FOLDER
    python notebooks/build_site.py FOLDER --gallery brachistochrone cart-pole     these entries only
    python notebooks/build_site.py FOLDER --gallery                               no gallery

Pages stay beside the code that they explain; this script collects them, rewrites their links,
solves the problems of the gallery and runs Sphinx with warnings as errors. Solutions are kept in
FOLDER/.solutions, so that a second build is short.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
SITE = HERE / "site"

# Page of the repository -> page of the site
PAGES = {
    "trajopt/README.md": "theory/package.md",
    "trajopt/direct/README.md": "theory/direct.md",
    "trajopt/direct/troubleshooting.md": "guides/troubleshooting.md",
    "trajopt/indirect/README.md": "theory/indirect.md",
    "trajopt/certificate/README.md": "theory/certificate.md",
    "trajopt/integrate/README.md": "theory/integrate.md",
    "trajopt/mechanics/README.md": "theory/mechanics.md",
    "trajopt/robots/README.md": "theory/robots.md",
    "trajopt/compiled/README.md": "theory/compiled.md",
    "trajopt/prepared/README.md": "theory/prepared.md",
    "trajopt/show/README.md": "theory/show.md",
    "trajopt/sweeping/README.md": "theory/sweeping.md",
    "problems/bike/README.md": "theory/bike.md",
    "problems/classical/README.md": "theory/classical.md",
    "problems/exoskeleton/README.md": "theory/exoskeleton.md",
    "problems/lecture/README.md": "theory/lecture.md",
    "problems/multibody/README.md": "theory/multibody.md",
    "problems/robots/README.md": "theory/robot-problems.md",
    "problems/rocket/README.md": "theory/rocket.md",
    "problems/stabilization/README.md": "theory/stabilization.md",
    "tests/benchmarks/suite/README.md": "benchmarks/suite.md",
    "tests/benchmarks/processors.md": "benchmarks/processors.md",
    "CHANGELOG.md": "changelog.md",
}
PICTURES = (".png", ".gif", ".svg")
FILMS = ("cart-pole", "wheelie-entry", "biped-step")  # on the first page


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    sys.path[:0] = [str(ROOT), str(HERE)]
    from site_gallery import write_gallery
    from site_reference import write_reference

    with tempfile.TemporaryDirectory() as place:
        stage = Path(place) / "source"
        shutil.copytree(SITE, stage)
        collect_pages(stage)
        collect_notebooks(stage)
        write_benchmarks(stage)
        write_contributing(stage)
        write_reference(stage)
        write_gallery(stage, folder / ".solutions", options.gallery, FILMS)
        return run_sphinx(stage, folder)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--gallery", nargs="*", metavar="NAME", help="entries of the gallery; all by default"
    )
    return parser.parse_args(arguments)


def collect_pages(stage: Path) -> None:
    """Copy the pages of the repository and of the site with their pictures."""
    own = {str(page.relative_to(ROOT)): str(page.relative_to(SITE)) for page in SITE.rglob("*.md")}
    for source, target in (PAGES | own).items():
        text = (ROOT / source).read_text(encoding="utf-8")
        place = stage / target
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(relinked(text, ROOT / source, place, stage), encoding="utf-8")


def collect_notebooks(stage: Path) -> None:
    """Copy the notebooks with their stored outputs."""
    (stage / "tutorials").mkdir(exist_ok=True)
    for source in sorted(HERE.glob("[0-9][0-9]-*.ipynb")):
        notebook = json.loads(source.read_text(encoding="utf-8"))
        place = stage / "tutorials" / source.name
        for cell in notebook["cells"]:
            if cell["cell_type"] == "markdown":
                cell["source"] = relinked("".join(cell["source"]), source, place, stage)
        place.write_text(json.dumps(notebook), encoding="utf-8")


def relinked(text: str, source: Path, place: Path, stage: Path) -> str:
    """Rewrite relative links: to pages of the site, to copied pictures; code is only named."""

    def rewritten(found: re.Match[str]) -> str:
        mark, label, target = found.groups()
        path, _, anchor = target.partition("#")
        if "://" in path or not path:
            return found.group(0)
        aimed = (source.parent / path).resolve()
        inside = str(aimed.relative_to(ROOT)) if aimed.is_relative_to(ROOT) else ""
        page = _page_of(inside)
        if page:
            relative = os.path.relpath(stage / page, place.parent)
            return f"{mark}[{label}]({relative}{'#' + anchor if anchor else ''})"
        if aimed.suffix in PICTURES and aimed.is_file():
            copied = place.parent / "pictures" / inside.replace("/", "-")
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(aimed, copied)
            return f"{mark}[{label}](pictures/{copied.name})"
        return f"`{inside}`" if label == inside or label in inside else f"{label} (`{inside}`)"

    parts = re.split(r"(^```.*?^```$)", text, flags=re.DOTALL | re.MULTILINE)
    parts[::2] = [re.sub(r"(!?)\[([^\]\n]*)\]\(([^)\s]+)\)", rewritten, p) for p in parts[::2]]
    return "".join(parts)


def _page_of(inside: str) -> str | None:
    if inside in PAGES:
        return PAGES[inside]
    if re.fullmatch(r"notebooks/\d\d-.*\.ipynb", inside):
        return inside.replace("notebooks/", "tutorials/")
    if inside.startswith("notebooks/site/"):
        return inside.removeprefix("notebooks/site/")
    return "index.md" if inside == "README.md" else None


def section(title: str, of: str = "README.md") -> str:
    """Return a section of a page of the repository, without its heading."""
    text = (ROOT / of).read_text(encoding="utf-8")
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    if found is None:
        raise SystemExit(f"{of} has no section '{title}'")
    return found.group(1).strip()


def write_benchmarks(stage: Path) -> None:
    place = stage / "benchmarks" / "index.md"
    place.parent.mkdir(exist_ok=True)
    body = relinked(section("How it compares"), ROOT / "README.md", place, stage)
    contents = "```{toctree}\n:maxdepth: 1\n\nsuite\nprocessors\n```"
    place.write_text(f"# Benchmarks\n\n{body}\n\n{contents}\n", encoding="utf-8")


def write_contributing(stage: Path) -> None:
    place = stage / "contributing.md"
    body = relinked(section("Contributing"), ROOT / "README.md", place, stage)
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    text = f"# Contributing\n\n{body}\n\n# Citation\n\n```yaml\n{citation}```\n"
    place.write_text(text, encoding="utf-8")


def run_sphinx(stage: Path, folder: Path) -> int:
    """Build the HTML; warnings are errors."""
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [*command, "-d", str(stage.parent / "doctrees"), str(stage), str(folder)],
        env=os.environ | {"PYTHONPATH": path, "MPLBACKEND": "Agg"},
        check=False,
    )
    if done.returncode == 0:
        print(f"wrote {folder / 'index.html'}")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
