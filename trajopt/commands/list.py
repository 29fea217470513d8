"""``list``: the named problems and systems by family."""

from __future__ import annotations

from collections.abc import Mapping

from trajopt.catalogue import Entry, named_problems
from trajopt.commands.exit_codes import SOLVED
from trajopt.commands.outputs import Outputs
from trajopt.commands.terminal import console, say_written
from trajopt.errors import UsageError, suggest


def run_list(family: str | None, outputs: Outputs | None = None) -> int:
    """Print the named problems and systems by family; as JSON a list of names, kinds, families and
    summaries.
    """
    outputs = outputs or Outputs()
    outputs.check()
    entries = named_problems()
    check_family(family, entries)
    outputs.write_json(
        [
            {"name": name, "kind": e.kind, "family": e.family, "summary": e.summary}
            for name, e in entries.items()
            if family in (None, e.family)
        ]
    )
    if outputs.json is not None:
        say_written(outputs.named.values(), False)
        return SOLVED
    screen = console(lines=True)
    for kind, verb in (("problem", "solve"), ("system", "simulate")):
        chosen = {
            name: e for name, e in entries.items() if e.kind == kind and family in (None, e.family)
        }
        if chosen:
            screen.print(f"{kind}s: trajopt {verb} NAME", style="bold")
            _print_families(chosen)
    return SOLVED


def check_family(family: str | None, entries: Mapping[str, Entry]) -> None:
    """Raise if no entry belongs to this family."""
    families = list(dict.fromkeys(entry.family for entry in entries.values()))
    if family is not None and family not in families:
        raise UsageError(
            f"unknown family '{family}'",
            expected=", ".join(families),
            hint=suggest(family, families),
        )


def _print_families(entries: Mapping[str, Entry]) -> None:
    screen = console(lines=True)
    width = max(len(name) for name in entries)
    for family in dict.fromkeys(entry.family for entry in entries.values()):
        screen.print(f"  {family}", style="cyan")
        for name, entry in entries.items():
            if entry.family == family:
                screen.print(f"    {name:<{width}}  {entry.summary}")
    screen.print()
