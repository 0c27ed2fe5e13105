"""Pieces of a page. What is called ``body`` is HTML already; all other text is escaped here."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from typing import Any


def escaped(text: object) -> str:
    """Text as HTML."""
    return html.escape(str(text))


def paragraphs(text: str) -> str:
    """Paragraphs separated by blank lines."""
    parts = [part.strip() for part in text.split("\n\n")]
    return "".join(f"<p>{escaped(part)}</p>" for part in parts if part)


def quoted(text: str) -> str:
    """A promise, in its own words."""
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

    Parameters
    ----------
    caption : str
        What is seen, and what to take from it.
    body : str
        Pictures and frames; those of class ``off`` are shown when the slider comes to them.
    control : str, optional
        A :func:`slider`.
    by_count : JSON value, optional
        For pictures whose dots carry ``data-n``: for each frame the levels and the words by n.
    """
    data = "" if by_count is None else f' data-by-count="{escaped(json.dumps(by_count))}"'
    return (
        f'<figure class="picture"{data}>{control}{body}'
        f"<figcaption>{escaped(caption)}</figcaption></figure>"
    )
