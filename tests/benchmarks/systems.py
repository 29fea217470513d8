"""Every system of the source documents by a command, its figure beside the document's.

    python -m tests.benchmarks.systems                     print the tables
    python -m tests.benchmarks.systems --write         and put them into the pages under problems/
    python -m tests.benchmarks.systems lecture rocket      of these families only
    python -m tests.benchmarks.systems documents           every item of the documents, by its place

A figure that differs from the document's by more than the last digit printed there is marked.
"""

from __future__ import annotations

import argparse
import json
import re
from functools import cache
from pathlib import Path

from typer.testing import CliRunner

from tests.benchmarks.document_rows import DOCUMENTS
from tests.benchmarks.system_rows import ROWS, Row
from trajopt.__main__ import app

PAGES = Path(__file__).resolve().parents[2] / "problems"
BEGIN, END = "<!-- figures: written by tests/benchmarks/systems.py -->", "<!-- end of figures -->"


def measured(row: Row) -> tuple[float, ...]:
    """The figures of a row, by its command, or by a function of the library."""
    if not by_command(row):
        return row.figures()
    return row.figures(run(row.command))


def by_command(row: Row) -> bool:
    return row.command.split()[0] in ("simulate", "solve")


@cache
def run(command: str) -> dict:
    """What a command prints."""
    result = CliRunner().invoke(app, [*command.split(), "--json", "-", "-q"])
    if result.exit_code != 0:
        raise SystemExit(f"trajopt {command}: exit code {result.exit_code}\n{result.output}")
    return json.loads(result.stdout)


def agrees(value: float, printed: str) -> bool:
    """Whether a value is the printed one to its last digit but one."""
    mantissa = printed.lower().split("e")[0]
    digits = len(mantissa.partition(".")[2])
    exponent = int(printed.lower().split("e")[1]) if "e" in printed.lower() else 0
    return abs(value - float(printed)) <= 2 * 10.0 ** (exponent - digits) + 1e-300


def shown(value: float, printed: str | None, digits: int) -> str:
    if printed is None:
        return f"{value:.{digits}g}"
    mantissa = printed.lower().split("e")[0]
    return f"{value:.{max(len(mantissa.replace('-', '').replace('.', '').lstrip('0')), 3)}g}"


def line(row: Row) -> str:
    values = measured(row)
    printed = row.source or (None,) * len(values)
    here = ", ".join(shown(v, p, row.digits) for v, p in zip(values, printed, strict=True))
    differs = [p for v, p in zip(values, row.source, strict=False) if not agrees(v, p)]
    remark = row.remark + ("; " if row.remark and differs and "about" not in row.remark else "")
    remark += "differs" if differs and "about" not in row.remark else ""
    command = f"trajopt {row.command}" if by_command(row) else row.command
    return f"| {row.what} | `{command}` | {here} | {', '.join(row.source)} | {remark} |"


def write(family: str, table: str) -> None:
    """Put a table between the marks of a page, or at its end."""
    page = PAGES / family / "README.md"
    text = page.read_text(encoding="utf-8")
    block = f"{BEGIN}\n{table}\n{END}"
    if BEGIN in text:
        text = re.sub(re.escape(BEGIN) + ".*?" + re.escape(END), lambda _: block, text, flags=re.S)
    else:
        text = text.rstrip("\n") + f"\n\n## Figures beside the source's\n\n{block}\n"
    page.write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description="The systems of the source documents, their figures beside the documents'."
    )
    names = ", ".join([*ROWS, "documents"])
    parser.add_argument("families", nargs="*", metavar="FAMILY", help=names)
    parser.add_argument("--write", action="store_true", help="put the tables into the pages")
    options = parser.parse_args()
    groups = {**ROWS, **DOCUMENTS}
    chosen = [
        name
        for given in options.families or groups
        for name in (DOCUMENTS if given == "documents" else [given])
    ]
    for family in chosen:
        rows = groups[family]
        table = "\n".join(
            [
                "| what | command | here | source | |",
                "|---|---|---|---|---|",
                *(line(row) for row in rows),
            ]
        )
        print(f"{family}\n{table}\n", flush=True)
        if options.write and family in ROWS:
            write(family, table)


if __name__ == "__main__":
    main()
