"""Numbers of the indirect method stand on one page, each with its meaning."""

import ast
from pathlib import Path

from trajopt.indirect import settings

PAGE = Path(settings.__file__)


def test_modules_have_no_numbers_of_their_own():
    for path in sorted(PAGE.parent.glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            value = getattr(node, "value", None)
            if isinstance(node, ast.Assign) and isinstance(value, ast.Constant):
                assert not isinstance(value.value, (int, float)), f"{path.name}:{node.lineno}"


def test_every_number_says_what_it_means():
    for kind in ast.parse(PAGE.read_text(encoding="utf-8")).body:
        if isinstance(kind, ast.ClassDef):
            for field, text in zip(kind.body[1::2], kind.body[2::2], strict=True):
                assert isinstance(field, ast.AnnAssign)
                assert isinstance(text.value.value, str)
