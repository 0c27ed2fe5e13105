"""How the documentation is built. It needs no network, while building or while being read."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from sphinx.application import Sphinx

from whitecrow import __version__

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

project = "whitecrow"
author = "The whitecrow developers"
project_copyright = author
version = release = __version__

extensions = ["declared", "mathml", "myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build", "_extensions", "jupyter_execute"]
nitpicky = True
nitpick_ignore_regex = [
    # Named in docstrings, not listed in the reference.
    ("py:.*", r"whitecrow\..*|Guarantee|PrivateClip|naive_loss|RecordsElsewhere"),
    ("py:class", r".* .*"),  # words before a colon, read as a type
]

myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
html_math_renderer = "mathml"
suppress_warnings = ["myst.header", "myst-nb.lexer"]  # the latter where nothing is executed

# The tutorials run at every build, each in a folder of its own that is thrown away.
nb_execution_mode = os.environ.get("WHITECROW_DOCS_EXECUTE", "force")
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 600  # a first run compiles its kernels, on a machine that may be busy
nb_merge_streams = True
os.environ["MATPLOTLIBRC"] = str(HERE / "tutorials" / "matplotlibrc")
os.environ.setdefault("WHITECROW_DATA", str(HERE.parents[1] / "shared" / "data"))

autodoc_typehints = "none"  # the docstrings name the types, in words
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
autoclass_content = "class"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_param = False  # types are words, not links

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
