"""Where results go: files checked before the work starts, standard output kept clean for JSON."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trajopt.errors import UsageError
from trajopt.files import check_writable, write_text

USUAL = "trajectories"  # of the kinds of pictures
PICTURES = (".png", ".pdf", ".svg", ".jpg")
ENDINGS = {"--plot": PICTURES, "--animate": (".gif", ".mp4")}
STANDARD_OUTPUT = "-"


@dataclass(frozen=True)
class Outputs:
    """The files a person asked for."""

    save: Path | None = None
    plot: Path | None = None
    csv: Path | None = None
    json: str | None = None
    animate: Path | None = None
    kind: str = USUAL  # of the picture

    def check(self) -> None:
        """Raise before hours of work are lost for a wrong file name."""
        if self.kind != USUAL and self.plot is None:
            raise UsageError("--plot-kind needs a file to draw", hint=f"--plot {self.kind}.png")
        taken: dict[Path, str] = {}
        for option, path in self.named.items():
            check_writable(path, ENDINGS.get(option, ()))
            if path.resolve() in taken:
                raise UsageError(f"{taken[path.resolve()]} and {option} name the same file", got=str(path))
            taken[path.resolve()] = option
        if self.animate is not None:
            from trajopt.show.animate import check_film

            check_film(self.animate)

    @property
    def named(self) -> dict[str, Path]:
        """The files by their options."""
        json = None if self.json is None or self.json_on_standard_output else Path(self.json)
        files = {"--save": self.save, "--plot": self.plot, "--csv": self.csv, "--animate": self.animate, "--json": json}
        return {option: path for option, path in files.items() if path is not None}

    @property
    def json_on_standard_output(self) -> bool:
        return self.json == STANDARD_OUTPUT

    def write_json(self, content: Any) -> None:
        """The JSON that was asked for, if any."""
        text = json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
        if self.json_on_standard_output:
            sys.stdout.write(text)
        elif self.json is not None:
            write_text(self.json, text)

    @contextlib.contextmanager
    def clean_standard_output(self) -> Iterator[None]:
        """While JSON is to be all there is on standard output, send what solvers and models print to standard error."""
        if not self.json_on_standard_output:
            yield
            return
        sys.stdout.flush()
        kept = os.dup(1)
        os.dup2(2, 1)  # solvers print from C, past Python's own standard output
        try:
            with contextlib.redirect_stdout(sys.stderr):
                yield
        finally:
            os.dup2(kept, 1)
            os.close(kept)
