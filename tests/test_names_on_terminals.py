"""Control characters in names from files and models are escaped on terminals."""

import dataclasses

import pytest
from typer.testing import CliRunner

from trajopt.__main__ import app
from trajopt.files.storage import save
from trajopt.statement.labels import printable

EVIL = "x\x1b[2J\x1b[1;1H\x9b31m\rsolved\n  forged   row\u202e\x07\ud800"


def test_printable_text_is_unchanged():
    assert printable("costate λ [kg m/s²], 'a b'") == "costate λ [kg m/s²], 'a b'"
    assert printable("a\nb", lines=True) == "a\nb"
    assert printable(EVIL).isprintable()


@pytest.mark.parametrize(
    "line", ["compare a.nc a.nc", "certify a.nc", "report a.nc -o a.html", "plot a.nc -o a.png"]
)
def test_control_characters_of_a_file_are_escaped(tmp_path, monkeypatch, handmade, line):
    monkeypatch.chdir(tmp_path)
    plain = handmade(phases=1)
    phase = plain.phases["stance"]
    states = {EVIL: phase.states["z last"], "r": phase.states["r"]}
    odd = dataclasses.replace(
        phase, name=EVIL, states=states, costates={EVIL: phase.costates["z last"]}, time_unit=EVIL
    )
    save(
        dataclasses.replace(
            plain, problem=EVIL, method=EVIL, phases={EVIL: odd}, arcs=(), explanation=(EVIL,)
        ),
        "a.nc",
    )
    if line.startswith(("report", "plot")):
        from trajopt.show import plots, report_page

        for module in (
            plots,
            report_page,
        ):  # both: the second would keep the replaced function, if it were loaded later
            monkeypatch.setattr(
                module, "plot_solution", lambda *_: (_ for _ in ()).throw(ValueError(EVIL))
            )
    result = CliRunner().invoke(app, line.split())
    said = result.output
    assert said
    assert all(c.isprintable() or c == "\n" for c in said)
    assert not any(row.startswith("  forged") for row in said.splitlines())
