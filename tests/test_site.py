"""The documentation site: programs of the guides run, and the built site works in a browser."""

import html
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NOTEBOOKS = ROOT / "notebooks"
GUIDES = sorted((NOTEBOOKS / "site" / "guides").glob("*.md"))
GALLERY = ("brachistochrone", "cart-pole", "double-pendulum")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next((found for found in map(shutil.which, BROWSERS) if found), None)


@pytest.mark.parametrize("guide", GUIDES, ids=[guide.stem for guide in GUIDES])
def test_the_programs_of_a_guide_run(guide, capsys):
    """In one namespace for each page, from top to bottom."""
    blocks = re.findall(r"^```python\n(.*?)^```", guide.read_text("utf-8"), re.S | re.M)
    assert blocks
    space = {"__name__": "example"}
    for block in blocks:
        exec(compile(block, str(guide), "exec"), space)


def test_every_guide_is_listed_and_links_have_targets():
    contents = (NOTEBOOKS / "site" / "guides.md").read_text("utf-8")
    for guide in GUIDES:
        assert f"guides/{guide.stem}\n" in contents
        for target in re.findall(r"\]\(([^)\s]+\.md)\)", guide.read_text("utf-8")):
            assert (guide.parent / target).is_file(), target


def builder():
    """The script that builds the site, as a module."""
    spec = importlib.util.spec_from_file_location("build_site", NOTEBOOKS / "build_site.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_links_are_rewritten_outside_of_code(tmp_path):
    text = (
        "[a](../indirect/README.md) [b](adjoint.py) ![c](missing.png)\n\n```python\nx[0](1)\n```\n"
    )
    source = ROOT / "trajopt" / "direct" / "README.md"
    found = builder().relinked(text, source, tmp_path / "theory" / "direct.md", tmp_path)
    assert "[a](indirect.md)" in found
    assert "b (`trajopt/direct/adjoint.py`)" in found
    assert "x[0](1)" in found


def test_every_page_of_the_repository_is_on_the_site():
    pages = {str(page.relative_to(ROOT)) for page in ROOT.glob("*/*/*.md")}
    pages |= {"trajopt/README.md", "CHANGELOG.md"}
    kept = {page for page in pages if not page.startswith(("notebooks/site", "tests/"))}
    assert kept <= set(builder().PAGES)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site with a part of the gallery; Sphinx treats warnings as errors."""
    pytest.importorskip("sphinx")
    folder = tmp_path_factory.mktemp("site")
    script = str(NOTEBOOKS / "build_site.py")
    command = [sys.executable, script, str(folder), "--gallery", *GALLERY]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return folder


# What a reader sees, written into the title of the page.
PROBE = """<script>
setTimeout(() => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const images = all("article img");
  window.top.document.title = JSON.stringify({
    heading: document.querySelector("article h1")?.textContent,
    links: all("nav a, a.sd-stretched-link").map((a) => a.getAttribute("href")),
    images: images.length,
    loaded: images.every((image) => image.complete && image.naturalWidth > 0),
    found: all("#search-results li").map((li) => li.textContent),
    formulas: all("mjx-container").length,
    plots: all(".display svg").length,
    outputs: all(".cell_output").length,
    wide: document.documentElement.scrollWidth - window.innerWidth,
  });
}, 2500);
</script>"""


def seen(site, page, tmp_path, query="", width=1280):
    """Open a page of the site from disk; nothing may be fetched from elsewhere."""
    if BROWSER is None:
        pytest.skip("no chromium is installed")
    probed = site / page.replace(".html", ".probe.html")
    probed.write_text((site / page).read_text("utf-8").replace("</body>", PROBE + "</body>"))
    opened = probed
    if width < 500:  # the narrowest window: a phone is a frame in it
        opened = probed.with_suffix(".phone.html")
        opened.write_text(f'<iframe src="{probed.name}" width="{width}" height="800"></iframe>')
    done = subprocess.run(
        [
            BROWSER,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--allow-file-access-from-files",
            f"--user-data-dir={tmp_path / 'profile'}",
            f"--window-size={max(width, 500)},900",
            "--enable-logging=stderr",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            "--virtual-time-budget=15000",
            "--dump-dom",
            opened.as_uri() + query,
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    for path in {probed, opened}:
        path.unlink()
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert [line for line in console if "[PST]" not in line] == []  # the theme says its mode
    title = re.search(r"<title>(\{.*?\})</title>", done.stdout, re.S)
    assert title, done.stdout[:500]
    return json.loads(html.unescape(title[1]))


@pytest.mark.slow
def test_navigation_leads_to_pages(site, tmp_path):
    first = seen(site, "index.html", tmp_path)
    assert first["heading"].startswith("trajopt")
    assert first["images"] == 1  # a moving picture
    assert first["loaded"]
    inside = {link.split("#")[0] for link in first["links"] if "://" not in link}
    for page in inside - {""}:
        assert (site / page).is_file(), page
    assert {"tutorials.html", "guides.html", "gallery/index.html"} <= inside


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "page"),
    [("receding", "Solve again"), ("Lawden", "rocket"), ("cart-pole", "cart-pole")],
)
def test_search_finds_pages(site, tmp_path, query, page):
    found = seen(site, "search.html", tmp_path, f"?q={query}")["found"]
    assert any(page in text for text in found), found


@pytest.mark.slow
def test_a_gallery_page_has_formulas_plots_and_pictures(site, tmp_path):
    page = seen(site, "gallery/cart-pole.html", tmp_path)
    assert page["formulas"] >= 1
    assert page["plots"] == 5
    assert page["images"] == 2
    assert page["loaded"]


@pytest.mark.slow
def test_a_notebook_page_has_figures(site, tmp_path):
    page = seen(site, "tutorials/01-getting-started.html", tmp_path)
    assert page["outputs"] >= 5
    assert page["images"] >= 2
    assert page["loaded"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", ["index.html", "gallery/cart-pole.html", "guides/phases.html", "reference/results.html"]
)
def test_pages_fit_on_a_phone(site, tmp_path, page):
    assert seen(site, page, tmp_path, width=390)["wide"] <= 0


@pytest.mark.slow
def test_every_public_name_is_in_the_reference(site):
    import trajopt

    text = "".join(page.read_text("utf-8") for page in (site / "reference").glob("*.html"))
    for name in trajopt.__all__:
        assert f'id="trajopt.{name}"' in text, name
