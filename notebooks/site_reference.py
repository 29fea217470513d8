"""Pages of the reference, from the docstrings of all public names."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

# Page -> title, and modules or names in them
GROUPS: dict[str, tuple[str, tuple[str, ...]]] = {
    "statement": (
        "State a problem",
        ("Problem", "Phase", "free", "table", "Reference", "named_problems", "builder"),
    ),
    "solve": (
        "Solve",
        (
            "solve",
            "Collocation",
            "Mesh",
            "Radau",
            "Gauss",
            "Lobatto",
            "HermiteSimpson",
            "Trapezoidal",
            "Compiled",
            "Ipopt",
            "Shooting",
            "Both",
        ),
    ),
    "results": ("Results", ("Solution", "PhaseSolution", "Curve", "Status", "load")),
    "certificate": ("Certify", ("certify", "Certificate", "trajopt.certificate.Check")),
    "again": ("Solve again", ("prepare", "Prepared")),
    "sweeps": ("Sweeps", ("sweep", "Family")),
}
PACKAGES = {
    "mechanics": ("Mechanics", "trajopt.mechanics"),
    "integrate": ("Simulation", "trajopt.integrate"),
    "drawing": ("Drawings", "trajopt.show.drawing"),
    "plots": ("Plots", "trajopt.show.plots"),
    "errors": ("Errors", "trajopt.errors"),
}


def write_reference(stage: Path) -> None:
    """Write a page for each group; every public name of ``trajopt`` is on one."""
    import trajopt

    place = stage / "reference"
    place.mkdir(exist_ok=True)
    listed = {name for _, names in GROUPS.values() for name in names}
    groups = dict(GROUPS)
    others = tuple(name for name in trajopt.__all__ if name not in listed)
    if others:
        groups["more"] = ("Further names", others)
    for page, (title, names) in groups.items():
        whole = [name if "." in name else f"trajopt.{name}" for name in names]
        whole = [name for name in whole if "." in name.removeprefix("trajopt.") or _public(name)]
        _write(place / f"{page}.md", title, whole)
    for page, (title, module) in PACKAGES.items():
        _write(place / f"{page}.md", title, [f"{module}.{name}" for name in public_names(module)])
    pages = "\n".join([*groups, *PACKAGES])
    head = "# Reference\n\nGenerated from the docstrings of all public names."
    text = f"{head}\n\n```{{toctree}}\n:maxdepth: 2\n\n{pages}\n```\n"
    (place / "index.md").write_text(text, encoding="utf-8")


def public_names(module: str) -> list[str]:
    """Return the public classes and functions of a module."""
    found = importlib.import_module(module)
    names = getattr(found, "__all__", None)
    if names is None:
        names = [
            name
            for name, value in vars(found).items()
            if not name.startswith("_") and getattr(value, "__module__", "") == module
        ]
    return [n for n in names if inspect.isclass(getattr(found, n)) or callable(getattr(found, n))]


def _public(name: str) -> bool:
    import trajopt

    return name.removeprefix("trajopt.") in trajopt.__all__


def _write(path: Path, title: str, names: list[str]) -> None:
    entries = []
    for name in names:
        module, _, own = name.rpartition(".")
        value = getattr(importlib.import_module(module), own)
        kind = "autoclass" if inspect.isclass(value) else "autofunction"
        entries.append(f"## {own}\n\n```{{eval-rst}}\n.. {kind}:: {name}\n```\n")
    path.write_text("\n".join([f"# {title}\n", *entries]), encoding="utf-8")
