"""Sphinx configuration of the documentation site; ``notebooks/build_site.py`` runs it."""

import re
from datetime import date
from importlib import metadata

project = "trajopt"
author = "The trajopt maintainers"
copyright = f"{date.today().year}, {author}"
try:
    release = metadata.version("trajopt-mechanics")
except metadata.PackageNotFoundError:  # a checkout that is not installed
    release = "0.2.0"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx-mathjax-offline",
]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}
exclude_patterns = ["*.inc"]
nb_execution_mode = "off"
myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 3
suppress_warnings = [
    "myst.header",  # pages of the repository may begin below the first level
    "mystnb.unknown_mime_type",
    "ref.python",  # symbols of formulas, such as t, that are also names
]

autodoc_default_options = {"members": True, "undoc-members": True, "member-order": "bysource"}
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_class_signature = "mixed"
autodoc_preserve_defaults = True
napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_ivar = True

html_theme = "pydata_sphinx_theme"
html_title = "trajopt"
html_context = {"default_mode": "light"}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "tango",
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def escape_bars(app, what, name, obj, options, lines):
    """A bar in a docstring is that of an absolute value, not of a substitution."""
    for number, line in enumerate(lines):
        parts = re.split(r"(``.*?``)", line)
        parts[::2] = [part.replace("|", r"\|") for part in parts[::2]]
        lines[number] = "".join(parts)


def setup(app):
    app.connect("autodoc-process-docstring", escape_bars, priority=100)
