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

CHANGES = (ROOT / "CHANGELOG.md").read_text()
RENAMED_MODULES = re.findall(r"^\| `([\w/]+\.py)` \| `([\w/]+\.py)` \|$", CHANGES, re.MULTILINE)
RENAMED_CLASSES = re.findall(r"^\| in `([\w/]+\.py)` \| `(\w+)` \| `(\w+)` \|$", CHANGES, re.MULTILINE)


def classes(path):
    return [
        node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
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


def test_the_changelog_names_what_exists_now():
    assert len(RENAMED_MODULES) > 60
    assert len(RENAMED_CLASSES) > 25
    assert [new for _, new in RENAMED_MODULES if not (ROOT / new).exists()] == []
    assert [(home, new) for home, _, new in RENAMED_CLASSES if new not in classes(ROOT / home)] == []


def test_no_text_uses_an_old_name():
    modules = [old for old, _ in RENAMED_MODULES if not (ROOT / old).exists()]
    spellings = [re.escape(old) for old in modules]
    spellings += [re.escape(old[:-3].replace("/", ".")) for old in modules if not (ROOT / old[:-3]).is_dir()]
    present = {name for path in MODULES for name in classes(path)}
    spellings += [f"`{old}`" for old in {old for _, old, _ in RENAMED_CLASSES} - present]
    word = re.compile("|".join(rf"(?<![\w.]){spelling}(?!\w)" for spelling in spellings))
    hints = tuple(spelling.replace("\\", "") for spelling in spellings)  # a plain search is faster than the expression
    folders = (PACKAGE, ROOT / "problems", ROOT / "tests", ROOT / "notebooks")
    paths = [path for folder in folders for path in folder.rglob("*") if path.suffix in {".py", ".md"}]
    texts = {str(path.relative_to(ROOT)): path.read_text() for path in [*paths, ROOT / "README.md"]}
    found = {path: word.findall(text) for path, text in texts.items() if any(hint in text for hint in hints)}
    assert {path: names for path, names in found.items() if names} == {}
