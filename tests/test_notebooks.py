"""The notebooks: each .ipynb has the cells of its script, its outputs are stored, and it runs."""

import importlib.util
from pathlib import Path

import nbformat
import pytest

FOLDER = Path(__file__).parent.parent / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("[0-9][0-9]-*.ipynb"))


def load_runner():
    spec = importlib.util.spec_from_file_location("run_notebooks", FOLDER / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


LONG = dict.fromkeys(("02", "04", "05", "06", "07", "09", "10", "11"), pytest.mark.slow)

runner = load_runner()
named = pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])


def cells(notebook):
    return [(cell.cell_type, cell.source) for cell in notebook.cells]


def test_every_script_has_its_notebook():
    assert [path.with_suffix(".ipynb") for path in runner.scripts()] == NOTEBOOKS
    assert len(NOTEBOOKS) >= 10


@named
def test_a_notebook_has_the_cells_of_its_script(path):
    assert cells(nbformat.read(path, as_version=4)) == cells(runner.read(path.with_suffix(".py")))


@named
def test_outputs_are_stored(path):
    """Every code cell was run, in order, without error; there are pictures, and figures
    at the end.
    """
    code = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell.outputs]
    assert not [
        output
        for output in outputs
        if output.output_type == "error" or output.get("name") == "stderr"
    ]
    assert sum("image/png" in output.get("data", {}) for output in outputs) >= 2
    assert code[-1].outputs, "the last cell says in figures what was achieved"
    assert path.stat().st_size < 2_000_000


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=path.stem, marks=LONG.get(path.stem[:2], ())) for path in NOTEBOOKS],
)
def test_a_notebook_runs(path):
    """In a kernel of its own; its claims are assertions in its cells."""
    done = runner.execute(runner.read(path.with_suffix(".py")))
    assert not [
        o
        for cell in done.cells
        if cell.cell_type == "code"
        for o in cell.outputs
        if o.get("name") == "stderr"
    ]
