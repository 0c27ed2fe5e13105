"""A page that stands alone, and its parts."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import Any


def escaped(text: object) -> str:
    return html.escape(str(text))


def paragraphs(text: str) -> str:
    parts = [part.strip() for part in text.split("\n\n")]
    return "".join(f"<p>{escaped(part)}</p>" for part in parts if part)


def quoted(text: str) -> str:
    return f"<blockquote>{escaped(text)}</blockquote>"


def badge(notion: str) -> str:
    """The name of a notion, in the console's colour for it."""
    return f'<span class="badge {escaped(notion)}">{escaped(notion)}</span>'


def table(head: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """A table that scrolls on a narrow screen; the first cell of each row names the row.

    Examples
    --------
    >>> print(table(["a", "b"], [["x", "<y>"]]).replace("><", ">\\n<").count("&lt;y&gt;"))
    1
    """
    title = f"<caption>{escaped(caption)}</caption>" if caption else ""
    top = "".join(f'<th scope="col">{escaped(cell)}</th>' for cell in head)
    body = "".join(
        f'<tr><th scope="row">{escaped(first)}</th>'
        + "".join(f"<td>{escaped(cell)}</td>" for cell in rest)
        + "</tr>"
        for first, *rest in rows
    )
    label = escaped(caption or head[0])
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{label}"><table>{title}'
        f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def fold(summary: str, body: str) -> str:
    """A part that opens when it is wanted; it is open on paper."""
    return f'<details class="fold"><summary>{escaped(summary)}</summary>{body}</details>'


def gauge(words: str, left: str, share_left: float) -> str:
    """A bar of what is left of a budget, with the number that says the same."""
    rest = 100 * min(1.0, max(0.0, share_left))
    tone = "low" if rest < 10 else "mid" if rest < 40 else ""
    return (
        f'<div class="gauge"><div class="gauge-head"><span>{escaped(words)}</span>'
        f'<span class="gauge-left">{escaped(left)}</span></div>'
        '<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="track" width="100" height="8"/>'
        f'<rect class="fill {tone}" width="{rest:.1f}" height="8"/></svg></div>'
    )


def slider(name: str, values: Sequence[str], start: int) -> str:
    """A slider over the frames of a figure."""
    return (
        f'<label class="slide"><span>{escaped(name)} = <output>{escaped(values[start])}</output>'
        f'</span><input type="range" min="0" max="{len(values) - 1}" value="{start}" '
        f'data-values="{escaped(json.dumps(list(values)))}" '
        f'aria-label="{escaped(name)}" aria-valuetext="{escaped(values[start])}"></label>'
    )


def figure(caption: str, body: str, *, control: str = "", by_count: Any = None) -> str:
    """A picture with its caption.

    Frames of class ``off`` are shown when the slider (``control``) comes to them. For pictures
    whose dots carry ``data-n``, ``by_count`` has for each frame the levels and the words by n.
    """
    data = "" if by_count is None else f' data-by-count="{escaped(json.dumps(by_count))}"'
    return (
        f'<figure class="picture"{data}>{control}{body}'
        f"<figcaption>{escaped(caption)}</figcaption></figure>"
    )


def page(title: str, lead: str, body: str, *, kind: str = "report") -> str:
    """One HTML page with style, script and pictures inside; ``kind`` stands beside the brand."""
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
    return _text("report.js")


def page_rules() -> str:
    """The sheet that reports and the console share: colours, text, tables, panels."""
    return _text("page.css")


def crow() -> str:
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
    light, dark = re.findall(r":root\s*{(.*?)}", page_rules(), re.DOTALL)
    return light, dark


def _style() -> str:
    """The shared sheet, the report's own, and the light colours once more for paper."""
    paper = f"@media print {{ :root {{ {_colours()[0]} color-scheme: light; }} }}"
    return "\n".join((page_rules(), _text("report.css"), paper))
