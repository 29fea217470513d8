"""Names mean one thing, and pages list the modules that exist."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "trajopt"
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py")
PAGES = sorted(page for page in PACKAGE.rglob("README.md"))
LISTED = re.compile(r"(?:^|[\s`,])([a-z0-9_]+\.py|[a-z0-9_]+/)(?=$|[\s`,:;)])", re.MULTILINE)


def classes(path):
    return [
        node.name
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]


def test_every_class_has_a_name_of_its_own():
    homes = defaultdict(list)
    for path in MODULES:
        for name in classes(path):
            homes[name].append(str(path.relative_to(ROOT)))
    assert {name: where for name, where in homes.items() if len(where) > 1} == {}


def test_every_module_has_a_name_of_its_own():
    homes = defaultdict(list)
    for path in MODULES:
        homes[path.stem].append(str(path.relative_to(ROOT)))
    assert {name: where for name, where in homes.items() if len(where) > 1} == {}


def test_modules_of_commands_have_the_names_of_commands():
    declared = set(re.findall(r"\brun_(\w+)", (PACKAGE / "__main__.py").read_text()))
    shared = {"building", "exit_codes", "outputs", "saved_problem", "signals", "terminal"}
    modules = {path.stem for path in (PACKAGE / "commands").glob("*.py")} - {"__init__"} - shared
    assert modules <= declared


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.parent.relative_to(PACKAGE)))
def test_a_page_lists_the_modules_of_its_folder(page):
    folder, text = page.parent, page.read_text()
    listed = set(LISTED.findall(text))
    assert {name for name in listed if "/" not in name and not list(PACKAGE.rglob(name))} == set()
    present = {path.name for path in folder.glob("*.py")} - {"__init__.py"}
    if folder == PACKAGE:
        present |= {f"{path.name}/" for path in folder.iterdir() if (path / "__init__.py").exists()}
    assert present - listed == set()
