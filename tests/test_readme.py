"""The README and the pages: examples run with the stated results; commands, files
and links exist.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from trajopt.__main__ import app

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = sorted([ROOT / "README.md", *ROOT.glob("trajopt/*/*.md"), *ROOT.glob("problems/*/*.md")])


def test_the_example_runs_and_is_correct():
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", example], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    seconds, theta, costate = map(
        float, re.findall(r"-?\d+\.\d+", done.stdout.replace("theta(0.3)", ""))
    )
    # The cycloid through (2, 2): x = R (a - sin a), y = R (1 - cos a), and a grows uniformly, a' =
    # sqrt(g / R), theta = a / 2.
    R, a = cycloid(2.0, 2.0)
    assert seconds == pytest.approx(a * (R / 9.81) ** 0.5, abs=1e-6)
    assert theta == pytest.approx(0.3 * (9.81 / R) ** 0.5 / 2, abs=1e-3)
    assert costate == pytest.approx(-1 / (2 * (9.81 * R) ** 0.5), abs=1e-4)


def cycloid(x, y):
    """Radius and last angle by bisection of (a - sin a) / (1 - cos a) = x / y."""
    from math import cos, pi, sin

    low, high = 1e-6, 2 * pi - 1e-6
    for _ in range(100):
        a = (low + high) / 2
        low, high = (a, high) if (a - sin(a)) / (1 - cos(a)) < x / y else (low, a)
    return y / (1 - cos(a)), a


def test_every_command_line_is_valid():
    listings = "".join(README.split("```")[1::2])
    commands = re.findall(r"^trajopt (\w+)((?: \S+)*)", listings, re.MULTILINE)
    assert len(commands) >= 5
    for command, _ in commands:
        assert CliRunner().invoke(app, [command, "--help"]).exit_code == 0
    names = [command.name or command.callback.__name__ for command in app.registered_commands]
    helps = " ".join(CliRunner().invoke(app, [name, "--help"]).output for name in names)
    for option in set(re.findall(r" (--[a-z][a-z-]+)", listings)):
        assert option in helps, option


def test_every_problem_exists():
    from trajopt.catalogue import named_problems

    for name in re.findall(r"trajopt (?:solve|show|simulate|sweep) ([a-z][a-z-]+)", README):
        assert name in named_problems()


def test_its_pictures_exist():
    for path in re.findall(r"!\[.*?\]\((.*?)\)", README):
        assert (ROOT / path).is_file(), path


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_links_have_targets(page):
    for target in re.findall(
        r"\]\(([^)#\s]+\.(?:md|ipynb|png|py))\)", page.read_text(encoding="utf-8")
    ):
        assert (page.parent / target).is_file(), target


@pytest.mark.parametrize(
    "page",
    [p for p in PAGES if p.parent != ROOT],
    ids=[str(p.relative_to(ROOT)) for p in PAGES[1:]],
)
def test_examples_of_the_pages_run(page, capsys):
    for example in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(example, str(page), "exec"), {"__name__": "example"})


def test_every_page_is_reachable():
    """From the README, over any number of links."""
    reached, pending = set(), [ROOT / "README.md"]
    while pending:
        page = pending.pop()
        reached.add(page.resolve())
        targets = re.findall(r"\]\(([^)#\s]+\.md)\)", page.read_text(encoding="utf-8"))
        pending += [
            (page.parent / t) for t in targets if (page.parent / t).resolve() not in reached
        ]
    assert {page.resolve() for page in PAGES} <= reached


def test_the_first_steps_work(tmp_path, monkeypatch):
    """Solve, change a setting, draw, write a problem, read a certificate: as the README has it."""
    monkeypatch.chdir(tmp_path)

    def run(line):
        done = CliRunner().invoke(app, line.split())
        assert done.exit_code == 0, (line, done.output, done.exception)
        return done.output

    steps = re.search(r"## First steps\n\n```\n(.*?)```", README, re.DOTALL).group(1)
    for line in steps.splitlines():
        run(re.split(r"  +", line)[0].removeprefix("trajopt "))
    assert (tmp_path / "slide.png").is_file()
    assert (tmp_path / "slide.html").is_file()
    run("new mine.py")
    run("solve ./mine.py:build --save mine.nc --plot mine.png")
    for line in (
        "certify mine.nc --problem ./mine.py:build",
        "certify ./mine.py:build --set distance=4",
    ):
        said = run(line)
        assert re.search(r"^\S.*: certified (extremal|minimum)", said, re.MULTILINE), said
        assert "FAILS" not in said


def test_every_help_has_a_valid_example():
    from trajopt.catalogue import named_problems

    names = [command.name or command.callback.__name__ for command in app.registered_commands]
    for name in names:
        text = " ".join(
            CliRunner().invoke(app, [name, "--help"], terminal_width=200).output.split()
        )
        example = re.search(r"Example: (trajopt .*)$", text)
        assert example, name
        command, *words = example.group(1).split(" && ")[0].removeprefix("trajopt ").split()
        assert command == name
        options = CliRunner().invoke(app, [name, "--help"]).output
        assert all(word in options for word in words if word.startswith("--"))
        if command in ("show", "solve", "simulate", "certify"):
            assert words[0] in named_problems()


def test_the_page_of_classical_problems_has_their_references():
    """The printed optima are those that the problems are tested against."""
    from importlib import import_module

    from trajopt.catalogue import named_problems

    page = (ROOT / "problems/classical/README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \|.*?\|.*?\| ([\d.]+) \|", page, re.MULTILINE)
    assert len(rows) == 17
    for name, optimum in rows:
        assert import_module(
            named_problems()[name].target.split(":")[0]
        ).REFERENCE.objective == float(optimum), name
