"""A gallery: plots of many solutions and simulations as contact sheets and as an HTML index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from urllib.parse import quote

from matplotlib.font_manager import findfont
from PIL import Image, ImageDraw, ImageFont

from trajopt.files.atomic import replacing, write_text
from trajopt.show.figure_style import COLOURS, FAINT, INK

CELL, GAP, TEXT = (420, 300), 18, 44  # pixels: of a thumbnail, between them, of the lines above
COLUMNS, ROWS = 4, 6  # pictures of a sheet
STYLE = """body { margin: 1.5rem; color: #333; font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .3rem; }
h2 { font-size: 1.1rem; margin: 2rem 0 .6rem; border-bottom: 1px solid #e6e6e6; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(26rem, 1fr)); gap: 1.2rem; }
.card { border: 1px solid #e6e6e6; border-radius: 6px; padding: .8rem; }
.card b { font-size: 1.05rem; }
.card p { margin: .1rem 0 .5rem; color: #777; font-size: .88rem; } .bad { color: #b84a00; }
.card a { display: inline-block; }
.card img { max-width: 100%; max-height: 17rem; margin: 0 .5rem .4rem 0; }"""


@dataclass(frozen=True)
class Card:
    """One entry of a gallery: its plots and a one-line result."""

    name: str
    family: str
    summary: str
    pictures: tuple[Path, ...] = ()
    remark: str = ""
    good: bool = True


def write_index(cards: Sequence[Card], folder: Path) -> Path:
    """Write an HTML index of all cards by family into the folder of the plots."""
    parts = []
    for family in dict.fromkeys(card.family for card in cards):
        own = "\n".join(_html(card) for card in cards if card.family == family)
        parts.append(f'<h2>{escape(family)}</h2>\n<div class="cards">\n{own}\n</div>')
    bad = [card.name for card in cards if not card.good]
    verdict = f'<p class="bad">failed: {escape(", ".join(bad))}</p>' if bad else ""
    head = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta '
        f'charset="utf-8"><title>gallery</title><style>{STYLE}</style></head>'
    )
    body = "\n".join((f"<h1>{len(cards)} problems and systems</h1>{verdict}", *parts))
    page = f"{head}\n<body>{body}\n</body></html>\n"
    target = folder / "index.html"
    write_text(target, page)
    return target


def _html(card: Card) -> str:
    images = "".join(
        f'<a href="{quote(path.name)}"><img loading="lazy" alt="{escape(path.stem)}" '
        f'src="{quote(path.name)}"></a>'
        for path in card.pictures
    )
    colour = "" if card.good else ' class="bad"'
    remark = f"<p{colour}>{escape(card.remark)}</p>" if card.remark else ""
    text = f"<b>{escape(card.name)}</b><p>{escape(card.summary)}</p>"
    return f'<div class="card">{text}{remark}{images}</div>'


def contact_sheets(cards: Sequence[Card], folder: Path) -> list[Path]:
    """Write contact sheets with thumbnails of all plots; older sheets are removed."""
    shown: list[tuple[Card, Path | None]] = []
    for card in cards:
        still = [path for path in card.pictures if path.suffix == ".png"]
        shown += [(card, path) for path in still] or [(card, None)]
    for old in folder.glob("contact-sheet-*.png"):
        old.unlink()
    written = []
    for number, first in enumerate(range(0, len(shown), COLUMNS * ROWS), start=1):
        target = folder / f"contact-sheet-{number}.png"
        with replacing(target) as part:
            _sheet(shown[first : first + COLUMNS * ROWS]).save(part, format="PNG")
        written.append(target)
    return written


def _sheet(shown: Sequence[tuple[Card, Path | None]]) -> Image.Image:
    rows = -(-len(shown) // COLUMNS)
    step = (CELL[0] + GAP, CELL[1] + TEXT + GAP)
    sheet = Image.new("RGB", (COLUMNS * step[0] + GAP, rows * step[1] + GAP), "white")
    pen = ImageDraw.Draw(sheet)
    font = findfont("DejaVu Sans")
    bold, small = ImageFont.truetype(font, 17), ImageFont.truetype(font, 12)
    for number, (card, path) in enumerate(shown):
        x, y = GAP + number % COLUMNS * step[0], GAP + number // COLUMNS * step[1]
        pen.text((x, y), _fitting(path.stem if path is not None else card.name, bold), INK, bold)
        pen.text(
            (x, y + 22),
            _fitting(card.remark or card.summary, small),
            FAINT if card.good else COLOURS[1],
            small,
        )
        if path is None:
            pen.rectangle((x, y + TEXT, x + CELL[0], y + TEXT + CELL[1]), outline="#dddddd")
            continue
        with Image.open(path) as picture:
            thumb = picture.convert("RGB")
        thumb.thumbnail(CELL, Image.Resampling.LANCZOS)
        sheet.paste(thumb, (x, y + TEXT))
    return sheet


def _fitting(text: str, font: ImageFont.FreeTypeFont) -> str:
    """Truncate a text to the width of a cell."""
    while font.getlength(text) > CELL[0] and len(text) > 4:
        text = text[:-4].rstrip() + "..."
    return text
