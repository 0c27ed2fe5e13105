"""How the documentation is built. It needs no network, while building or while being read."""

from __future__ import annotations

import re

from sphinx.application import Sphinx

from whitecrow import __version__

project = "whitecrow"
author = "The whitecrow developers"
project_copyright = author
version = release = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
]
exclude_patterns = ["_build", "jupyter_execute"]
nitpicky = False

# Formulas are written in Unicode, so that no page asks a server for a script that draws them.
myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "off"
suppress_warnings = ["myst.header"]

autodoc_typehints = "none"  # the docstrings name the types, in words
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
autoclass_content = "class"
napoleon_google_docstring = False
napoleon_use_rtype = False

html_theme = "furo"
html_title = f"whitecrow {version}"
html_static_path = ["_static"]
html_css_files = ["whitecrow.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"footer_icons": []}


def setup(app: Sphinx) -> None:
    """Leave out the blank line that ends an example for doctest's sake."""

    def tidy(app: Sphinx, name: str, source: list[str]) -> None:
        source[0] = re.sub(r"\n\n```\n", "\n```\n", source[0])

    app.connect("source-read", tidy)
