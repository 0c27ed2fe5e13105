"""A page that stands alone."""

from __future__ import annotations

import re
from importlib.resources import files

from whitecrow.rendering.parts import escaped


def page(title: str, lead: str, body: str, *, kind: str = "report") -> str:
    """One HTML page with its style, script and pictures inside.

    Parameters
    ----------
    title, lead : str
        What it is, and the sentence under it.
    body : str
        The panels, as HTML.
    kind : str
        A word beside the brand.
    """
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escaped(title)} · whitecrow</title><style>{_style()}</style></head><body>"
        '<a class="skip" href="#main">Skip to the content</a>'
        f'<header class="top"><span class="brand">{crow()} '
        f'whitecrow</span><span class="role">{escaped(kind)}</span></header>'
        f'<main id="main" class="report" tabindex="-1"><h1>{escaped(title)}</h1>'
        f'<p class="lead">{escaped(lead)}</p>{body}</main>'
        '<footer class="foot">Made by whitecrow. Nothing on this page is loaded from elsewhere.'
        "</footer>"
        f"<script>{script()}</script></body></html>\n"
    )


def panel(title: str, body: str, *, name: str) -> str:
    """A part of a page, under a heading; ``name`` is its anchor."""
    return (
        f'<section class="panel" id="{escaped(name)}" aria-labelledby="{escaped(name)}-h">'
        f'<h2 id="{escaped(name)}-h">{escaped(title)}</h2>{body}</section>'
    )


def _text(name: str) -> str:
    return files("whitecrow.rendering").joinpath(name).read_text(encoding="utf-8").strip()


def script() -> str:
    """What makes sliders and tips work."""
    return _text("report.js")


def page_rules() -> str:
    """The sheet that reports and the console share: colours, text, tables, panels."""
    return _text("page.css")


def crow() -> str:
    """The bird, as SVG."""
    return _text("crow.svg")


def theme(scope: str) -> str:
    """The colours, light and dark, and the rules of pictures, for what is inside ``scope``."""
    light, dark = _colours()
    return (
        f"{scope} {{ {light} }} @media (prefers-color-scheme: dark) {{ {scope} {{ {dark} }} }}"
        f"{picture_rules()}"
    )


def picture_rules() -> str:
    """The rules of pictures alone; the console serves them as a sheet of its own."""
    drawn = re.search(r"/\* pictures \*/(.*?)/\* end \*/", _text("report.css"), re.DOTALL)
    assert drawn is not None
    return drawn[1]


def _colours() -> tuple[str, str]:
    """The colours: light, dark."""
    light, dark = re.findall(r":root\s*{(.*?)}", page_rules(), re.DOTALL)
    return light, dark


def _style() -> str:
    """The shared sheet, the report's own, and the light colours once more for paper."""
    paper = f"@media print {{ :root {{ {_colours()[0]} color-scheme: light; }} }}"
    return "\n".join((page_rules(), _text("report.css"), paper))
