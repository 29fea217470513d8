"""``sweep``: a named problem for many values of its settings, on several cores or on a cluster."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trajopt.commands.boundary import NOT_SOLVED, SOLVED
from trajopt.commands.building import build_problem, finite_setting, parse_settings
from trajopt.commands.display import console, number, progress_lines, say_written, table
from trajopt.commands.outputs import Outputs
from trajopt.commands.solving import Wish
from trajopt.errors import UsageError

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from trajopt.family import Family


@dataclass(frozen=True)
class SweepWish:
    """How a family is solved, and where its answers are kept."""

    folder: Path | None = None
    again: bool = False
    chained: bool = True
    workers: int = 1
    cluster: str | None = None
    columns: Sequence[str] = ("objective",)  # of the picture


def parse_over(options: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    """The values of ``--over``: from:to:count, values with commas, or with semicolons where they have commas themselves.

    >>> parse_over(["height=5:25:3", "limit=3,4", "target=2,2;4,1"])
    {'height': (5.0, 15.0, 25.0), 'limit': (3, 4), 'target': ((2, 2), (4, 1))}
    """
    values: dict[str, tuple[Any, ...]] = {}
    for option in options:
        name, equals, text = option.partition("=")
        if not equals or not name.strip() or not text.strip():
            raise UsageError(f"--over {option}", expected="--over name=from:to:count or --over name=a,b,c")
        found = _range(option, text) if ":" in text else _listed(text)
        if not found or len({isinstance(value, str) for value in found}) > 1:
            raise UsageError(f"--over {option}", got=", ".join(map(repr, found)) or "no values", expected="numbers or words")
        values[name.strip()] = finite_setting(found, f"--over {option}")
    return values


def _range(option: str, text: str) -> tuple[float, ...]:
    import numpy as np

    try:
        first, last, count = text.split(":")
        finite_setting((float(first), float(last)), f"--over {option}")
        return tuple(np.linspace(float(first), float(last), int(count)).tolist())
    except ValueError as error:
        raise UsageError(f"--over {option}", expected="from:to:count, as in 5:25:9") from error


def _listed(text: str) -> tuple[Any, ...]:
    parts = [part for part in text.split(";" if ";" in text else ",") if part.strip()]
    return tuple(parse_settings([f"value={part}"])["value"] for part in parts)


def run_sweep(
    name: str, over: Mapping[str, tuple[Any, ...]], settings: Mapping[str, Any], wish: Wish, how: SweepWish, outputs: Outputs
) -> int:
    """Solve for all, show, write."""
    from trajopt.storage import plain_json
    from trajopt.sweeping import sweep

    outputs.check()
    if not over:
        raise UsageError("a sweep needs something to sweep over", hint=f"trajopt sweep {name} --over name=from:to:count")
    if how.workers < 1:
        raise UsageError("--workers", got=how.workers, expected="1 or more")
    build_problem(name, {**settings, **{key: values[0] for key, values in over.items()}})  # its messages know the options
    with (
        outputs.clean_standard_output(),
        _workers(how) as executor,
        progress_lines(f"sweeping {name}", wish.quiet) as show,
    ):
        family = sweep(
            name, over, settings, method=wish.method, tolerance=wish.tolerance, guess=wish.earlier(), chained=how.chained,
            folder=how.folder, again=how.again, executor=executor, progress=show,
        )  # fmt: skip
    if not wish.quiet:
        print_family(family, error=outputs.json_on_standard_output)
    if outputs.csv is not None:
        family.to_csv(outputs.csv)
    members = [
        {"settings": dict(m.settings), "success": m.success, "message": m.message}
        | {name: value for name, value in m.row.items() if name not in m.settings}
        for m in family.members
    ]
    outputs.write_json(
        plain_json(
            {"problem": name, "over": dict(over), "complete": family.complete, "success": family.success, "members": members}
        )
    )
    if outputs.plot is not None and family.members:
        from trajopt.show.families import plot_family

        plot_family(family, outputs.plot, how.columns)
    written = [*outputs.named.values()] + ([] if how.folder is None else [how.folder])
    say_written(written, wish.quiet, [] if family.complete else ["interrupted; with --save the same command goes on from here"])
    return SOLVED if family.success else NOT_SOLVED


def print_family(family: Family, error: bool = False) -> None:
    """The table on a terminal, and what became of those without an answer."""
    screen = console(error=error)
    names = list(family.over)
    figures = ("objective", "error", "iterations", "seconds")
    content = table(*names, "status", *figures, right=(*names, *figures))
    for member in family.members:
        row = member.row
        cells = [_cell(row[name]) for name in names] + [str(row["status"])]
        if member.solution is None:
            content.add(*cells, "", "", "", "")
        else:
            content.add(
                *cells, number(row["objective"], 9), f"{row['error']:.1e}", str(row["iterations"]), f"{row['seconds']:.2f}"
            )
    content.print(screen)
    for member in family.members:
        if not member.success:
            where = ", ".join(f"{name} = {_cell(member.settings[name])}" for name in names)
            screen.print(f"  {where}: " + member.message.replace("\n", "\n    "), style="yellow")


def _cell(value: Any) -> str:
    return number(value) if isinstance(value, float) else str(value)


def _deaf() -> None:
    """In a worker: Ctrl-C is for the one who gives out the work."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _workers(how: SweepWish) -> Iterator[Executor | None]:
    """Who solves: this process, several, or a cluster."""
    if how.cluster is not None:
        try:
            from dask.distributed import Client
        except ImportError as error:
            raise UsageError("--cluster needs Dask, which is not installed", hint="pip install distributed") from error
        try:
            client = Client(how.cluster, timeout=10)
        except (OSError, ValueError, TimeoutError) as error:
            raise UsageError("no cluster answers", got=how.cluster, expected="the address of a Dask scheduler") from error
        with client:
            yield client.get_executor()
    elif how.workers > 1:
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor

        os.environ.setdefault("OMP_NUM_THREADS", "1")  # the workers share the cores by themselves
        pool = ProcessPoolExecutor(how.workers, multiprocessing.get_context("spawn"), _deaf)
        try:
            yield pool
        finally:  # after Ctrl-C, nobody waits for what is still being solved
            pool.shutdown(wait=False, cancel_futures=True)
            for child in multiprocessing.active_children():
                child.terminate()
    else:
        yield None
