"""Tuned numbers of the direct method are fields of its settings, and few."""

import ast
import dataclasses
from pathlib import Path

from trajopt.direct import collocation
from trajopt.direct.collocation import Collocation

FOLDER = Path(collocation.__file__).parent
PLAIN = {0.0, 1.0, 2.0, 0.5}
MOST = 31


def numbers():
    """The numeric fields of all settings, by name."""
    found = []
    settings = [
        Collocation,
        *[
            type(f.default)
            for f in dataclasses.fields(Collocation)
            if dataclasses.is_dataclass(f.default)
        ],
    ]
    for kind in settings:
        found += [
            f"{kind.__name__}.{f.name}"
            for f in dataclasses.fields(kind)
            if isinstance(f.default, (int, float)) and not isinstance(f.default, bool)
        ]
    return found


def test_float_literals_stand_in_the_settings_only():
    for path in sorted(FOLDER.glob("*.py")):
        if path.name == "collocation.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, float):
                assert node.value in PLAIN, f"{path.name}:{node.lineno}: {node.value}"


def test_there_are_few_of_them_and_their_names_differ():
    names = [name.split(".")[1] for name in numbers()]
    assert len(names) == len(set(names))
    assert len(names) <= MOST


def test_module_constants_are_derived_and_have_one_value():
    """Upper-case names with numbers: round-off, from the precision of the machine."""
    values = {}
    for path in sorted(FOLDER.glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if (
                isinstance(node, ast.Assign)
                and isinstance(node.targets[0], ast.Name)
                and node.targets[0].id.isupper()
            ):
                if any(
                    isinstance(part, ast.Attribute) and part.attr == "finfo"
                    for part in ast.walk(node.value)
                ):
                    values.setdefault(node.targets[0].id, set()).add(ast.unparse(node.value))
                else:
                    assert not isinstance(getattr(node.value, "value", None), float), (
                        f"{path.name}: {node.targets[0].id}"
                    )
    assert all(len(each) == 1 for each in values.values())


def test_every_setting_says_what_it_means():
    tree = ast.parse((FOLDER / "collocation.py").read_text(encoding="utf-8"))
    for kind in tree.body:
        if isinstance(kind, ast.ClassDef) and kind.name != "Collocation":
            for field, text in zip(kind.body[1::2], kind.body[2::2], strict=True):
                assert isinstance(field, ast.AnnAssign)
                assert isinstance(text, ast.Expr)
