"""What a notebook shows: of an object a small card with heading, rows and note; a progress bar."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from whitecrow.rendering.page import escaped

_BOX = (
    "display:inline-block;max-width:46rem;border:1px solid #8886;border-radius:10px;"
    "padding:.7rem 1rem;margin:.2rem 0;font:14px/1.5 system-ui,sans-serif"
)
_HEAD = "font-size:1.15rem;font-weight:700;margin-bottom:.25rem"
_CELL = "text-align:left;padding:.15rem 1rem .15rem 0;border:0;background:none;vertical-align:top"
_NOTE = "border-left:3px solid #8886;padding-left:.7rem;margin:.5rem 0 0;opacity:.85"


def notebook(
    headline: str,
    rows: Sequence[Sequence[object]] = (),
    *,
    note: str = "",
    head: Sequence[str] = (),
    body: str = "",
) -> str:
    """A card. Its colours are the notebook's own, light or dark.

    The first cell of a row names it; ``note`` is the promise in its own words, ``body`` HTML under
    the table.
    """
    listed = notebook_table(rows, head) if rows else ""
    noted = f'<div style="{_NOTE}">{escaped(note)}</div>' if note else ""
    return (
        f'<div class="whitecrow" style="{_BOX}"><div style="{_HEAD}">{escaped(headline)}</div>'
        f"{listed}{body}{noted}</div>"
    )


def notebook_table(rows: Sequence[Sequence[object]], head: Sequence[str] = ()) -> str:
    """A table as a notebook shows it; the first cell of a row names the row."""
    top = "".join(f'<th style="{_CELL};font-weight:600">{escaped(cell)}</th>' for cell in head)
    lines = "".join(
        f'<tr style="background:none"><th style="{_CELL};font-weight:500;opacity:.75">'
        f"{escaped(first)}</th>"
        + "".join(f'<td style="{_CELL}">{escaped(cell)}</td>' for cell in rest)
        + "</tr>"
        for first, *rest in rows
    )
    titles = f"<tr>{top}</tr>" if top else ""
    return f'<table style="border:0;border-collapse:collapse">{titles}{lines}</table>'


@contextlib.contextmanager
def progress_bar(*, stderr: bool = False) -> Iterator[Callable[[int, int, str], None]]:
    """Show a bar while the block runs; what it gives is a question's ``progress``.

    ``with progress_bar() as progress: curator.ask(question, progress=progress)``. In a notebook
    the bar stands under the cell, on a terminal below the line; or on standard error, where it does
    not mix with results.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=stderr), transient=True) as bar:
        tasks: dict[str, Any] = {}

        def update(done: int, total: int, what: str) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total)
            bar.update(tasks[what], completed=done, total=total)

        yield update
