"""A user's type checker sees the public names with their types."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import trajopt

ROOT = Path(trajopt.__file__).parents[1]

SCRIPT = """
from trajopt import Problem, solve

ocp = Problem("rest to rest")
ph = ocp.phase()
ph.time(start=0, end=1)
x = ph.state("x", strat=0)  # mistake
v = ph.state("v", start=0, end=[0, None], unit="m/s")
u = ph.control("u", lower="-1", upper=1)  # mistake
ph.dynamics({x: v, v: u})
ocp.minimize(ph.integral(u**2))
solution = solve(ocp).check()
print(solution.objektive)  # mistake
print(solution.objective, solution["x"](0.5), solution.phases["main"].tf)
"""


# A user's settings: nothing is strict, but the bodies of all functions are checked.
OF_A_USER = "[mypy]\ncheck_untyped_defs = true\nignore_missing_imports = true\n"

# What a type checker says of each expression.
SURFACE = {
    "ph.state('x')": "trajopt.statement.symbols.NamedSX",
    "ph.control('u', 2)[0]": "casadi.casadi.SX",
    "ph.state('y') * ph.control('w') <= 1": "casadi.casadi.SX",
    "ph.integral(t**2)": "casadi.casadi.SX",
    "ph.final(t)": "casadi.casadi.SX",
    "ocp.parameter('m', 1.0)": "trajopt.statement.symbols.NamedSX",
    "solve(ocp)": "trajopt.trajectory.solution.Solution",
    "solve(ocp).check()['x']": "trajopt.trajectory.curve.Curve",
    "solve(ocp).costate('x')": "trajopt.trajectory.curve.Curve",
    "solve(ocp).sensitivity('m')": "trajopt.prepared.sensitivity.Sensitivity",
    "solve(ocp).feedback()": "trajopt.prepared.feedback.Feedback",
    "certify(solve(ocp))": "trajopt.certificate.table.Certificate",
    "certify(solve(ocp)).claim": "str",
    "prepare(ocp).solve()": "trajopt.trajectory.solution.Solution",
    "sweep(Problem, {'mass': [1, 2]})": "trajopt.sweeping.family.Family",
    "fit(ocp, {})['rate'].value": "float",
}


def checked(files):
    """What mypy says of files in a user's folder."""
    folder = files[0].parent
    (folder / "mypy.ini").write_text(OF_A_USER)
    environment = dict(os.environ)
    if (ROOT / "pyproject.toml").exists():  # a checkout; mypy finds what is installed by itself
        environment["MYPYPATH"] = str(ROOT)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *(file.name for file in files)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def test_mypy_finds_the_mistakes_of_a_script(tmp_path):
    """In the lines with a mistake, and in no other."""
    (tmp_path / "script.py").write_text(SCRIPT)
    said = checked([tmp_path / "script.py"])
    found = {int(line) for line in re.findall(r"script\.py:(\d+): error", said)}
    assert found == {i for i, line in enumerate(SCRIPT.splitlines(), 1) if "# mistake" in line}, (
        said
    )


def test_the_public_surface_has_types(tmp_path):
    """None of the expressions that a user meets first is ``Any``."""
    names = "Problem, certify, fit, prepare, solve, sweep"
    head = [
        f"from trajopt import {names}",
        "ocp = Problem('p')",
        "ph = ocp.phase()",
        "t = ph.time()",
    ]
    lines = [*head, *(f"reveal_type({expression})" for expression in SURFACE)]
    (tmp_path / "script.py").write_text("\n".join(lines))
    said = checked([tmp_path / "script.py"])
    found = re.findall(r'Revealed type is "(.*)"', said)
    assert dict(zip(SURFACE, found, strict=True)) == SURFACE, said


@pytest.mark.slow
def test_mypy_accepts_the_programs_of_the_guides(tmp_path):
    files = []
    for guide in sorted((Path(__file__).parents[1] / "notebooks" / "site" / "guides").glob("*.md")):
        blocks = re.findall(r"^```python\n(.*?)^```", guide.read_text("utf-8"), re.S | re.M)
        files.append(tmp_path / f"guide_{guide.stem}.py")
        files[-1].write_text("\n".join(blocks), "utf-8")
    assert len(files) >= 10
    said = checked(files)
    assert "Success" in said, said


def test_the_names_for_type_checkers_are_the_public_names():
    text = (ROOT / "trajopt" / "__init__.py").read_text()
    declared = {
        name: home
        for home, name in re.findall(r"^    from (\S+) import (\w+) as \2$", text, re.MULTILINE)
    }
    assert declared == trajopt._HOME
