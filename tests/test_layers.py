"""Imports point one way, direct and indirect methods do not import each other, and heavy libraries
load on use.
"""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import trajopt

PACKAGE = Path(trajopt.__file__).parent

# From the bottom to the top; a module may import its own layer and those below.
LAYERS = (
    {"errors", "arguments", "deadline", "displays", "compiled"},
    {"system", "catalogue", "nlp"},
    {"statement", "integrate"},
    {"trajectory", "guess", "files", "parameters"},
    {"second_order", "mechanics"},
    {"robots"},
    {"direct", "indirect", "certificate"},
    {"solving", "prepared"},
    {"sweeping", "show"},
    {"commands"},
    {"__main__"},
)
APART = (
    {"direct", "indirect"},
    {"certificate", "direct"},
    {"certificate", "indirect"},
    {"certificate", "nlp"},
    {"mechanics", "integrate"},
    {"statement", "integrate"},
    {"mechanics", "statement"},
)
HEAVY = {
    "casadi",
    "numpy",
    "scipy",
    "matplotlib",
    "xarray",
    "h5netcdf",
    "h5py",
    "plotly",
    "dask",
    "rich",
}


def part(module):
    """The first name below ``trajopt``: the unit that has a layer."""
    return module.split(".")[1] if module.startswith("trajopt.") else None


def imports(path):
    """(module, whether only for types) of every import of trajopt in a file,
    inside functions too.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for_types = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If)
        and isinstance(block.test, ast.Name)
        and block.test.id == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = (
                [f"trajopt.{a.name}" for a in node.names]
                if node.module == "trajopt"
                else [node.module]
            )
        elif isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        else:
            continue
        for name in names:
            yield name, id(node) in for_types


def files():
    return sorted(
        path
        for path in PACKAGE.rglob("*.py")
        if path.name != "__init__.py" or path.parent != PACKAGE
    )


def unit(path):
    relative = path.relative_to(PACKAGE)
    return relative.parts[0].removesuffix(".py")


def level(name):
    return next((i for i, layer in enumerate(LAYERS) if name in layer), None)


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path):
    here = level(unit(path))
    assert here is not None, f"{path} belongs to no layer"
    for name, for_types in imports(path):
        below = part(name)
        if (
            below is None or level(below) is None
        ):  # a public name of the package, or another library
            continue
        assert level(below) <= here or for_types, f"{path} imports {name}, which is above it"


@pytest.mark.parametrize("pair", APART, ids=lambda pair: " and ".join(sorted(pair)))
def test_these_never_import_each_other(pair):
    for path in files():
        if unit(path) in pair:
            others = {part(name) for name, _ in imports(path)} & (pair - {unit(path)})
            assert not others, f"{path} imports {others}"


def test_every_import_of_the_package_exists():
    for path in files():
        for name, _ in imports(path):
            if (
                name.startswith("trajopt.")
                and part(name) not in trajopt.__all__
                and part(name) != "__version__"
            ):
                target = PACKAGE.joinpath(*name.split(".")[1:])
                assert target.with_suffix(".py").exists() or target.is_dir(), (
                    f"{path} imports {name}"
                )


def test_problems_use_trajopt_but_trajopt_does_not_import_problems():
    for path in files():
        assert not any(name.split(".")[0] == "problems" for name, _ in imports(path)), path


def test_help_loads_nothing_heavy():
    script = (
        "import sys; from trajopt.__main__ import app; import trajopt.commands.exit_codes; "
        "print(' '.join(sorted({m.split('.')[0] for m in sys.modules})))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not HEAVY & set(loaded)


def test_public_names_load_lazily():
    script = "import sys, trajopt; print('casadi' in sys.modules, 'numpy' in sys.modules)"
    assert subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.split() == [
        "False",
        "False",
    ]


def test_a_direct_solve_does_not_load_shooting():
    """Nor the certificate, the pictures, or those parts of scipy that take as long to load as a
    small problem to solve.
    """
    script = """
import sys
from trajopt import Problem, solve
ocp = Problem("rest to rest")
ph = ocp.phase()
ph.time(start=0, end=1)
x, v, u = ph.state("x", start=0, end=1), ph.state("v", start=0, end=0), ph.control("u")
ph.dynamics({x: v, v: u})
ocp.minimize(ph.integral(u**2))
assert solve(ocp).success
print(*sys.modules)
"""
    loaded = set(
        subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True
        ).stdout.split()
    )
    apart = {
        f"trajopt.{part}" for part in ("indirect", "certificate", "show", "integrate", "commands")
    }
    assert not loaded & (
        apart
        | {
            "scipy.integrate",
            "scipy.linalg",
            "scipy.optimize",
            "scipy.sparse",
            "matplotlib",
            "xarray",
        }
    )


@pytest.mark.parametrize("folder", ["direct", "indirect", "nlp"])
def test_functions_of_the_methods_fit_on_a_screen(folder):
    """Their complexity is checked by ruff (C901).

    The formatter puts each argument of a long call on a line of its own, hence 70 lines.
    """
    for path in sorted((PACKAGE / folder).glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                assert node.end_lineno - node.lineno < 70, f"{folder}/{path.name}: {node.name}"
