"""The gallery: all plots by one command, a failure does not stop it, and a second run resumes."""

import re

import pytest
from PIL import Image
from typer.testing import CliRunner

import trajopt.catalogue
import trajopt.commands.gallery
import trajopt.show.animate
from problems.classical import block_move
from trajopt import load, solve
from trajopt.__main__ import app
from trajopt.catalogue import Entry
from trajopt.files.storage import save
from trajopt.show.gallery_page import Card, contact_sheets, write_index

FEW = {
    "cart-pole": Entry(
        "problems.classical.cart_pole:build", "mechanisms", "swing up a pole on a cart"
    ),
    "broken": Entry("problems.classical.cart_pole:no_such_builder", "mechanisms", "one that fails"),
    "free-body": Entry(
        "problems.multibody.exercises:free_body",
        "multibody",
        "a body thrown under gravity",
        "system",
    ),
}


@pytest.fixture
def few(monkeypatch):
    for module in (trajopt.catalogue, trajopt.commands.gallery):
        monkeypatch.setattr(module, "named_problems", lambda: FEW)


def made(*arguments):
    return CliRunner().invoke(app, ["gallery", *map(str, arguments)])


@pytest.mark.slow
def test_one_command_plots_everything_and_a_failure_is_recorded(few, tmp_path):
    folder = tmp_path / "new" / "gallery"
    result = made(folder)
    assert result.exit_code == 1, result.output
    names = {path.name for path in folder.iterdir()}
    expected = {
        "cart-pole.nc",
        "cart-pole.png",
        "cart-pole.stills.png",
        "free-body.png",
        "free-body.stills.png",
    }
    assert names == expected | {"index.html", "contact-sheet-1.png"}
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert set(re.findall(r'src="([^"]+)"', page)) == {
        name for name in expected if name.endswith(".png")
    }
    assert "failed: broken" in page
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert made(folder, "cart-pole", "free-body", "-q").exit_code == 0
    kept = {
        name for name, changed in before.items() if (folder / name).stat().st_mtime_ns == changed
    }
    assert kept == expected


@pytest.mark.slow
def test_an_outdated_solution_is_solved_again(few, tmp_path):
    save(solve(block_move.build()), tmp_path / "cart-pole.nc")
    (tmp_path / "cart-pole.png").write_bytes(b"old")
    assert made(tmp_path, "cart-pole", "-q").exit_code == 0
    assert load(tmp_path / "cart-pole.nc").problem == "cart-pole"
    assert (tmp_path / "cart-pole.png").stat().st_size > 10_000


def test_missing_plots_are_drawn_again(few, tmp_path, monkeypatch):
    films = []
    monkeypatch.setattr(
        trajopt.show.animate, "animate", lambda source, drawing, path: films.append(path)
    )
    assert made(tmp_path, "free-body", "-q").exit_code == 0
    (tmp_path / "free-body.png").unlink()
    strip = (tmp_path / "free-body.stills.png").stat().st_mtime_ns
    assert made(tmp_path, "free-body", "--films", "-q").exit_code == 0
    assert (tmp_path / "free-body.png").exists()
    assert films == [tmp_path / "free-body.gif"]
    assert (tmp_path / "free-body.stills.png").stat().st_mtime_ns == strip


@pytest.mark.parametrize(
    ("arguments", "said"), [(("free-bdy",), "free-body"), (("--family", "multibdy"), "multibody")]
)
def test_unknown_names_are_rejected_before_solving(few, tmp_path, arguments, said):
    result = made(tmp_path / "gallery", *arguments)
    assert result.exit_code == 2
    assert said in result.output
    assert not (tmp_path / "gallery").exists()


def test_a_file_in_place_of_the_folder_is_rejected(few, tmp_path):
    (tmp_path / "gallery").write_text("mine")
    assert made(tmp_path / "gallery").exit_code == 2
    assert (tmp_path / "gallery").read_text() == "mine"


def test_many_cards_take_several_sheets_and_old_ones_are_removed(tmp_path):
    picture = tmp_path / "a.png"
    Image.new("RGB", (900, 300), "#0072B2").save(picture)
    (tmp_path / "contact-sheet-9.png").write_bytes(b"old")
    cards = [Card(f"name-{k}", "family", "summary", (picture,)) for k in range(25)]
    sheets = contact_sheets([*cards, Card("<b>", "family", "", (), "failed", good=False)], tmp_path)
    assert [sheet.name for sheet in sheets] == ["contact-sheet-1.png", "contact-sheet-2.png"]
    assert not (tmp_path / "contact-sheet-9.png").exists()
    with Image.open(sheets[0]) as sheet:
        assert sheet.getpixel((100, 18 + 44 + 60)) == (
            0,
            114,
            178,
        )  # the first thumbnail, its aspect kept
        assert sheet.getpixel((100, 18 + 44 + 200)) == (255, 255, 255)
    page = write_index([Card("<b>", "family", "", (), "failed", good=False)], tmp_path).read_text(
        encoding="utf-8"
    )
    assert "<b><b>" not in page
