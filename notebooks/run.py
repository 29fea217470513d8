"""Run the notebooks: read each script, execute it in a kernel, and keep its outputs in the .ipynb
beside it.

    python notebooks/run.py                 all of them
    python notebooks/run.py 03 09           those whose names begin so

The scripts (jupytext's percent format) are the sources. Cells are numbered and times are left out
of the .ipynb, so that a notebook that is run again differs only where its outputs do.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

import jupytext
import nbformat
from jupyter_client import AsyncKernelManager
from nbclient import NotebookClient
from nbformat import NotebookNode

HERE = Path(__file__).parent


def scripts(beginnings: tuple[str, ...] = ()) -> list[Path]:
    """The scripts of all notebooks, or of those whose names begin so, in order."""
    found = sorted(HERE.glob("[0-9][0-9]-*.py"))
    return [path for path in found if not beginnings or path.name.startswith(beginnings)]


def read(script: Path) -> NotebookNode:
    """A script as a notebook without outputs."""
    notebook = jupytext.read(script)
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number:02d}"
    return notebook


def execute(notebook: NotebookNode) -> NotebookNode:
    """The notebook with its outputs; the first error of a cell is raised."""
    # One thread: BLAS gains nothing on problems of this size and would fight other runs for the
    # cores.
    environment = os.environ | {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")}
    environment["TRAJOPT_PROGRESS"] = "0"  # whether it shows depends on the load of the machine
    with tempfile.TemporaryDirectory() as folder:
        # Sockets in files where there are such: the kernel warns of TCP. Each kernel has files of
        # its own.
        files = (
            {"transport": "ipc", "ip": str(Path(folder) / "kernel")} if os.name == "posix" else {}
        )
        manager = AsyncKernelManager(kernel_name="python3", **files)
        here = {"metadata": {"path": str(HERE)}}
        client = NotebookClient(
            notebook,
            km=manager,
            timeout=600,
            startup_timeout=300,
            resources=here,
            coalesce_streams=True,
        )
        done = client.execute(env=environment, cleanup_kc=True)
    for cell in done.cells:
        cell.metadata.pop("execution", None)
    done.metadata.pop("language_info", None)
    return done


def main(beginnings: tuple[str, ...]) -> None:
    for script in scripts(beginnings):
        begun = time.perf_counter()
        nbformat.write(execute(read(script)), script.with_suffix(".ipynb"))
        print(f"{script.stem:40s} {time.perf_counter() - begun:6.1f} s", flush=True)


if __name__ == "__main__":
    main(tuple(sys.argv[1:]))
