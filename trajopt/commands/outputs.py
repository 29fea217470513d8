"""Output files, checked before a solve starts, and standard output reserved for JSON."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trajopt.errors import UsageError, warn
from trajopt.files.atomic import check_writable, write_text

USUAL = "trajectories"  # default kind of plot
PICTURES = (".png", ".pdf", ".svg", ".jpg")
ENDINGS = {"--plot": PICTURES, "--animate": (".gif", ".mp4")}
USUAL_ENDINGS = {
    "--save": (".nc", ".cdf", ".h5"),
    "--csv": (".csv", ".txt", ""),
    "--json": (".json", ""),
}
TEXT = ("--csv", "--json")  # may go to a terminal or a pipe
STANDARD_OUTPUT = "-"


@dataclass(frozen=True)
class Outputs:
    """The output files of a command."""

    save: Path | None = None
    plot: Path | None = None
    csv: Path | None = None
    json: str | None = None
    animate: Path | None = None
    kind: str = USUAL  # of the plot

    def check(self) -> None:
        """Raise if a file cannot be written. Called before solving, so that no result is lost."""
        if self.kind != USUAL and self.plot is None:
            raise UsageError("--plot-kind needs an output file", hint=f"--plot {self.kind}.png")
        taken: dict[Path, str] = {}
        for option, path in self.named.items():
            check_writable(path, ENDINGS.get(option, ()), text=option in TEXT)
            if path.resolve() in taken:
                raise UsageError(
                    f"{taken[path.resolve()]} and {option} name the same file", got=str(path)
                )
            taken[path.resolve()] = option
        for option, path in self.named.items():
            if path.suffix.lower() not in USUAL_ENDINGS.get(option, (path.suffix.lower(),)):
                expected = USUAL_ENDINGS[option][0]
                if path.is_file():
                    raise UsageError(
                        f"{option} would replace a file of another kind",
                        got=str(path),
                        expected=f"a name with {expected}, or of a new file",
                    )
                warn(
                    f"{option} writes another kind of file than its name says",
                    got=str(path),
                    expected=f"a name with {expected}",
                )
        if self.animate is not None:
            from trajopt.show.animate import check_film

            check_film(self.animate)

    @property
    def named(self) -> dict[str, Path]:
        """Output files by option."""
        json = None if self.json is None or self.json_on_standard_output else Path(self.json)
        files = {
            "--save": self.save,
            "--plot": self.plot,
            "--csv": self.csv,
            "--animate": self.animate,
            "--json": json,
        }
        return {option: path for option, path in files.items() if path is not None}

    @property
    def json_on_standard_output(self) -> bool:
        return self.json == STANDARD_OUTPUT

    def write_json(self, content: Any) -> None:
        """Write JSON to the file or to standard output, if ``--json`` was given."""
        text = json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
        if self.json_on_standard_output:
            sys.stdout.write(text)
        elif self.json is not None:
            write_text(self.json, text)

    @contextlib.contextmanager
    def clean_standard_output(self) -> Iterator[None]:
        """Redirect the output of solvers and models to standard error while standard output is
        reserved for JSON.
        """
        if not self.json_on_standard_output:
            yield
            return
        sys.stdout.flush()
        saved = os.dup(1)
        os.dup2(2, 1)  # solvers print from C, bypassing sys.stdout
        try:
            with contextlib.redirect_stdout(sys.stderr):
                yield
        finally:
            os.dup2(saved, 1)
            os.close(saved)
