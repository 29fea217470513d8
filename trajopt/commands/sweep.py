"""``sweep`` and ``sweep-status``: solve a named problem for many values of its settings."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trajopt.commands.building import build_problem, check_settings, finite_setting, read_value
from trajopt.commands.exit_codes import NOT_SOLVED, SOLVED
from trajopt.commands.outputs import Outputs
from trajopt.commands.solve import SolveOptions
from trajopt.commands.terminal import console, number, progress_lines, say_written, text_table
from trajopt.errors import SweepError, UsageError, suggest

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from trajopt.sweeping.family import Family
    from trajopt.sweeping.journal import Row

MANY = 200  # rows of a table on a terminal
FAILURES = 20  # failed rows printed one by one
LARGEST = 100_000  # rows of a sweep without --large


@dataclass(frozen=True)
class SweepOptions:
    """The options of ``sweep``."""

    folder: Path | None = None
    again: bool = False
    chained: bool = True
    workers: int = 1
    cluster: str | None = None
    columns: Sequence[str] = ("objective",)  # of the plot
    retry_failed: bool = False
    row_time_limit: float | None = None
    memory_limit: float | None = None  # MiB
    dry_run: bool = False
    large: bool = False

    def check_rows(self, over: Mapping[str, Sequence[Any]]) -> None:
        """Raise if there are more rows than anybody means without saying so."""
        rows = math.prod(len(values) for values in over.values())
        if rows > LARGEST and not self.large:
            counts = " x ".join(f"{name} {len(values)}" for name, values in over.items())
            raise UsageError(
                f"the sweep has {rows} rows",
                got=counts,
                expected=f"at most {LARGEST}",
                hint="--large, if they are all meant",
            )

    def check(self) -> None:
        """Raise if a limit or the number of workers is invalid."""
        if self.workers < 1:
            raise UsageError("--workers", got=self.workers, expected="1 or more")
        for option, value in (
            ("--row-time-limit", self.row_time_limit),
            ("--memory-limit", self.memory_limit),
        ):
            if value is not None and not 0 < value < float("inf"):
                raise UsageError(option, got=value, expected="a finite number above zero")


def parse_over(options: Sequence[str]) -> dict[str, Sequence[Any]]:
    """Parse ``--over``: from:to:count, or values separated by commas (by semicolons if the values
    contain commas).

    >>> parse_over(["height=5:25:3", "limit=3,4", "target=2,2;4,1"])
    {'height': Uniform(first=5.0, last=25.0, values=3), 'limit': (3, 4), 'target': ((2, 2), (4, 1))}
    """
    values: dict[str, Sequence[Any]] = {}
    for option in options:
        name, equals, text = option.partition("=")
        if not equals or not name.strip() or not text.strip():
            raise UsageError(
                f"--over {option}", expected="--over name=from:to:count or --over name=a,b,c"
            )
        if name.strip() in values:
            raise UsageError(
                f"--over {name.strip()} is given twice",
                got=f"--over {option}",
                expected=f"all values in one option, as in --over {name.strip()}=1,2,3",
            )
        found: Sequence[Any] = _range(option, text) if ":" in text else _listed(text)
        if isinstance(found, Uniform) and len(found):
            values[name.strip()] = found
            continue
        if not found or len({isinstance(value, str) for value in found}) > 1:
            raise UsageError(
                f"--over {option}",
                got=", ".join(map(repr, found)) or "no values",
                expected="numbers or words",
            )
        values[name.strip()] = finite_setting(found, f"--over {option}")
    return values


def _range(option: str, text: str) -> Sequence[float]:
    try:
        first, last, count = text.split(":")
        finite_setting((float(first), float(last)), f"--over {option}")
        return Uniform(float(first), float(last), max(int(count), 0))
    except ValueError as error:
        raise UsageError(f"--over {option}", expected="from:to:count, as in 5:25:9") from error


@dataclass(frozen=True)
class Uniform(Sequence[float]):
    """Evenly spaced values, made when they are asked for: a mistyped count costs no memory."""

    first: float
    last: float
    values: int

    def __len__(self) -> int:
        return self.values

    def __getitem__(self, index: Any) -> Any:
        import numpy as np

        values = np.linspace(self.first, self.last, self.values)[index]
        return values.tolist() if isinstance(index, int) else tuple(values.tolist())


def _listed(text: str) -> tuple[Any, ...]:
    parts = [part for part in text.split(";" if ";" in text else ",") if part.strip()]
    return tuple(read_value(part.strip()) for part in parts)


def run_sweep(
    name: str,
    over: Mapping[str, Sequence[Any]],
    settings: Mapping[str, Any],
    options: SolveOptions,
    how: SweepOptions,
    outputs: Outputs,
) -> int:
    """Solve all rows, print the table, write the files."""
    outputs.check()
    if not over:
        raise UsageError(
            "a sweep needs --over", hint=f"trajopt sweep {name} --over name=from:to:count"
        )
    how.check()
    how.check_rows(over)
    grid = {key: tuple(values[:]) for key, values in over.items()}
    check_settings(
        name, {**settings, **{key: values[0] for key, values in grid.items()}}
    )  # its messages name the options
    if outputs.plot is not None or how.columns != SweepOptions.columns:
        _check_columns(
            name,
            {**settings, **{key: values[0] for key, values in grid.items()}},
            grid,
            how.columns,
        )
    if how.dry_run:
        return _dry_run(name, grid, settings, options, how)
    trouble = None
    with outputs.clean_standard_output():
        try:
            family = _solved(name, grid, settings, options, how)
        except SweepError as error:
            if error.family is None:
                raise
            family, trouble = error.family, error  # type: ignore[assignment]
        if not options.quiet:
            print_family(family, error=outputs.json_on_standard_output)
    _write(name, family, how, outputs)
    written = [*outputs.named.values()] + ([] if how.folder is None else [how.folder])
    say_written(
        written,
        options.quiet,
        [] if family.complete else ["not complete; with --save the same command resumes"],
    )
    if trouble is not None:
        raise trouble
    return SOLVED if family.success else NOT_SOLVED


def _check_columns(
    name: str, settings: Mapping[str, Any], over: Mapping[str, Any], columns: Sequence[str]
) -> None:
    """Raise before the work if the table will have no such column."""
    from trajopt.sweeping.family import column_names

    known = [*over, *column_names(build_problem(name, settings).problem)]
    for column in columns:
        if column not in known:
            raise UsageError(
                f"--column {column}: the table has no such column",
                expected=", ".join(known),
                hint=suggest(column, known),
            )


def _solved(
    name: str,
    over: Mapping[str, tuple[Any, ...]],
    settings: Mapping[str, Any],
    options: SolveOptions,
    how: SweepOptions,
) -> Family:
    from trajopt.sweeping.coordinator import sweep

    with _executor(how) as executor, progress_lines(f"sweeping {name}", options.quiet) as show:
        return sweep(
            name,
            over,
            settings,
            method=options.method,
            tolerance=options.tolerance,
            guess=options.earlier(),
            chained=how.chained,
            folder=how.folder,
            again=how.again,
            retry_failed=how.retry_failed,
            progress=show,
            executor=executor,
            workers=None if executor is not None else how.workers,
            row_time_limit=how.row_time_limit,
            memory_limit=None if how.memory_limit is None else how.memory_limit * 2**20,
        )


def _write(name: str, family: Family, how: SweepOptions, outputs: Outputs) -> None:
    from trajopt.files.storage import plain_json

    if outputs.csv is not None:
        family.to_csv(outputs.csv)
    if outputs.json is not None:
        members = [
            {"settings": dict(m.settings), "success": m.success, "message": m.message}
            | {name: value for name, value in m.row.items() if name not in m.settings}
            for m in family.members
        ]
        content = {
            "problem": name,
            "over": dict(family.over),
            "complete": family.complete,
            "success": family.success,
        }
        outputs.write_json(plain_json({**content, "members": members}))
    if outputs.plot is not None and family.members:
        from trajopt.show.family_plots import plot_family

        plot_family(family, outputs.plot, how.columns)


@contextmanager
def _executor(how: SweepOptions) -> Iterator[Executor | None]:
    """Connect to the cluster of ``--cluster``, if given; otherwise the sweep starts its own
    processes.
    """
    if how.cluster is None:
        yield None
        return
    from trajopt.sweeping.cluster import connected

    with connected(how.cluster) as executor:
        yield executor


def _dry_run(
    name: str,
    over: Mapping[str, tuple[Any, ...]],
    settings: Mapping[str, Any],
    options: SolveOptions,
    how: SweepOptions,
) -> int:
    """Print how many rows a sweep would solve."""
    from trajopt.sweeping.journal import NAME, read_progress
    from trajopt.sweeping.plan import make_plan, survey_of

    plan = make_plan(
        name, over, settings, options.method, options.tolerance, options.earlier(), how.chained
    )
    total, screen = len(plan.points), console()
    if how.folder is None or how.again or not how.folder.is_dir():
        screen.print(f"{total} rows to solve")
        return SOLVED
    rows = read_progress(how.folder).rows if (how.folder / NAME).is_file() else {}
    survey = survey_of(plan, how.folder, rows, how.retry_failed)
    failed = sum(not row.success for row in survey.there.values())
    screen.print(
        f"{total - len(survey.there)} rows to solve of {total}: {len(survey.there) - failed} are "
        f"solved, {failed} failed"
    )
    if survey.stale:
        screen.print(
            f"  {survey.stale} rows in '{how.folder}' belong to another statement of the problem"
        )
    if failed:
        screen.print("  --retry-failed solves failed rows again")
    return SOLVED


def run_sweep_status(folder: Path, outputs: Outputs) -> int:
    """Print the progress of a sweep; return 0 if all rows are solved."""
    from trajopt.files.storage import plain_json
    from trajopt.sweeping.journal import read_progress

    progress = read_progress(folder)
    rows = [
        row for row in progress.rows.values() if row.statement == progress.facts.get("statement")
    ]
    others, total = len(progress.rows) - len(rows), int(progress.facts.get("total", len(rows)))
    counts = Counter(row.status for row in rows)
    done = counts.get("solved", 0) >= total
    content = {
        "rows": total,
        "finished": len(rows),
        "by_status": dict(counts),
        "of_other_statements": others,
    }
    if not outputs.json_on_standard_output:
        _print_status(folder, content, rows, progress.worker)
    failures = {
        row.file: {"status": row.status, "message": row.message} for row in rows if not row.success
    }
    outputs.write_json(plain_json({**content, "running": progress.worker, "failures": failures}))
    return SOLVED if done else NOT_SOLVED


def _print_status(
    folder: Path, content: Mapping[str, Any], rows: Sequence[Row], worker: Mapping[str, Any] | None
) -> None:
    screen = console()
    by_status = ", ".join(
        f"{count} {status}" for status, count in sorted(content["by_status"].items())
    )
    screen.print(
        f"{folder}: {content['finished']} of {content['rows']} rows"
        + (f": {by_status}" if by_status else ""),
        style="bold",
    )
    if worker is not None:
        who = (
            f"process {worker.get('process', '?')} on {worker.get('host', '?')} since "
            f"{worker.get('since', '?')}"
        )
        screen.print(f"  running: {who}" + _left(content["rows"] - len(rows), rows))
    elif content["finished"] < content["rows"]:
        screen.print("  not running; the same 'trajopt sweep' command resumes", style="yellow")
    if content["of_other_statements"]:
        screen.print(
            f"  {content['of_other_statements']} more rows belong to other statements of the "
            "problem"
        )
    failed = [row for row in rows if not row.success]
    for row in failed[:FAILURES]:
        screen.print(
            f"  {row.file}: {row.status}: {(row.message.splitlines() or [''])[0]}", style="yellow"
        )
    if len(failed) > FAILURES:
        screen.print(f"  and {len(failed) - FAILURES} more; --json FILE has all", style="yellow")


def _left(missing: int, rows: Sequence[Row]) -> str:
    """Estimate the remaining time from the rows of the last minute."""
    recent = [row for row in rows if time.time() - row.ended < 60.0]
    span = time.time() - min((row.began for row in recent), default=time.time())
    if not recent or span <= 0 or missing <= 0:
        return ""
    return f", about {missing * span / len(recent):.0f} s left"


def print_family(family: Family, error: bool = False) -> None:
    """Print the table and the messages of failed rows."""
    screen = console(error=error)
    names = list(family.over)
    figures = ("objective", "error", "iterations", "seconds")
    content = text_table(*names, "status", *figures, right=(*names, *figures))
    for member in family.members[:MANY]:
        row = member.row
        cells = [_cell(row[name]) for name in names] + [member.status]
        if "objective" not in row:
            content.add(*cells, "", "", "", "")
        else:
            content.add(
                *cells,
                number(row["objective"], 9),
                f"{row['error']:.1e}",
                str(row["iterations"]),
                f"{row['seconds']:.2f}",
            )
    content.print(screen)
    if len(family.members) > MANY:
        screen.print(f"  and {len(family.members) - MANY} more rows; --csv FILE has all")
    failed = [member for member in family.members if not member.success]
    for member in failed[:FAILURES]:
        where = ", ".join(f"{name} = {_cell(member.settings[name])}" for name in names)
        for number_of_line, line in enumerate(member.message.splitlines() or [""]):
            screen.print(f"    {line}" if number_of_line else f"  {where}: {line}", style="yellow")
    if len(failed) > FAILURES:
        screen.print(f"  and {len(failed) - FAILURES} more failed rows", style="yellow")


def _cell(value: Any) -> str:
    return number(value) if isinstance(value, float) else str(value)
