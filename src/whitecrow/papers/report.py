"""The form of a reproduction: sections of rows (paper, ours, verdict, why), tables and pictures."""

from __future__ import annotations

import html
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from whitecrow import __version__
from whitecrow.errors import InvalidInput

__all__ = ["Context", "Paper", "Row", "Section", "Table", "Verdict", "run", "write"]

Verdict = Literal["reproduced", "differs", "data not to be had", "beyond the paper"]
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Context:
    """What a section may use.

    Parameters
    ----------
    data : Path or None
        The folder of real data sets, if there is one.
    out : Path
        Where pictures go.
    quick : bool
        Smaller repetitions, for the ordinary test run.
    seed : int
        Where simulations start.
    """

    data: Path | None
    out: Path
    quick: bool = False
    seed: int = 1

    def dataset(self, name: str) -> Path | None:
        """Return the path of a data file, or None where it is not to be had."""
        if self.data is None or not (self.data / name).exists():
            return None
        return self.data / name


@dataclass(frozen=True)
class Row:
    """One figure of the paper beside ours.

    Parameters
    ----------
    what : str
        Which figure.
    paper, ours : str
        Both values, as text; a dash where there is none.
    verdict : Verdict
        How they compare.
    why : str
        The reason where they differ, or what stands in for data that are not to be had.
    """

    what: str
    paper: str
    ours: str
    verdict: Verdict
    why: str = ""


@dataclass(frozen=True)
class Table:
    """A plain table."""

    headers: Sequence[str]
    rows: Sequence[Sequence[object]]
    caption: str = ""


@dataclass(frozen=True)
class Section:
    """One table or figure of the paper, reproduced."""

    title: str
    text: str = ""
    rows: Sequence[Row] = ()
    tables: Sequence[Table] = ()
    figures: Sequence[Path] = field(default=())


@dataclass(frozen=True)
class Paper:
    """A paper and how to redo it.

    Parameters
    ----------
    name : str
        As typed: ``whitecrow papers run NAME``.
    title, citation : str
        As printed.
    sections : mapping
        Key (as in ``--table KEY``) to the function that computes the section.
    """

    name: str
    title: str
    citation: str
    sections: Mapping[str, Callable[[Context], Section]]


def run(
    paper: Paper,
    context: Context,
    only: Sequence[str] = (),
    progress: Progress | None = None,
) -> list[Section]:
    """Compute the sections of a paper, all or those named."""
    for key in only:
        if key not in paper.sections:
            known = ", ".join(paper.sections)
            raise InvalidInput(f"{paper.name} has no table {key!r}; it has {known}.")
    context.out.mkdir(parents=True, exist_ok=True)
    wanted = [key for key in paper.sections if not only or key in only]
    found = []
    for done, key in enumerate(wanted):
        if progress is not None:
            progress(done, len(wanted), f"{paper.name}: {key}")
        found.append(paper.sections[key](context))
    return found


def write(paper: Paper, sections: Sequence[Section], context: Context) -> Path:
    """Write the report as HTML and Markdown and return the path of the HTML."""
    page = context.out / f"{paper.name}.html"
    page.write_text(_html(paper, sections, context), encoding="utf-8")
    markdown = context.out / f"{paper.name}.md"
    markdown.write_text(_markdown(paper, sections, context), encoding="utf-8")
    return page


_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; font-size: .9rem; }
th, td { border: 1px solid #8885; padding: .25rem .6rem; text-align: left; vertical-align: top; }
img { max-width: 100%; background: white; }
.reproduced { color: #1a7f37; } .differs { color: #b35900; }
"""


def settings(context: Context) -> str:
    """Say with what the report was made."""
    size = "quick" if context.quick else "full"
    data = "real data sets present" if context.data else "no real data sets"
    return (
        f"whitecrow {__version__}, Python {platform.python_version()}, {os.cpu_count()} cores "
        f"({platform.machine()}), seed {context.seed}, {size} run, {data}."
    )


def _html(paper: Paper, sections: Sequence[Section], context: Context) -> str:
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>",
        "<meta name=viewport content='width=device-width'>",
        f"<title>{html.escape(paper.title)}</title><style>{_STYLE}</style>",
        f"<h1>{html.escape(paper.title)}</h1><p>{html.escape(paper.citation)}</p>",
        f"<p><small>{html.escape(settings(context))}</small></p>",
    ]
    for section in sections:
        parts.append(f"<h2>{html.escape(section.title)}</h2>")
        parts.extend(f"<p>{html.escape(text)}</p>" for text in section.text.split("\n\n") if text)
        if section.rows:
            parts.append(_html_table(_row_table(section.rows)))
        parts.extend(_html_table(table) for table in section.tables)
        parts.extend(
            f"<p><img src='{html.escape(figure.name)}' alt='{html.escape(section.title)}'></p>"
            for figure in section.figures
        )
    return "\n".join(parts) + "\n"


def _html_table(table: Table) -> str:
    head = "".join(f"<th>{html.escape(str(cell))}</th>" for cell in table.headers)
    lines = [f"<tr>{''.join(_html_cell(cell) for cell in row)}</tr>" for row in table.rows]
    caption = f"<caption>{html.escape(table.caption)}</caption>" if table.caption else ""
    return f"<table>{caption}<tr>{head}</tr>{''.join(lines)}</table>"


def _html_cell(cell: object) -> str:
    text = _cell(cell)
    mark = f" class={text}" if text in ("reproduced", "differs") else ""
    return f"<td{mark}>{html.escape(text)}</td>"


def _markdown(paper: Paper, sections: Sequence[Section], context: Context) -> str:
    parts = [f"# {paper.title}\n", f"{paper.citation}\n", f"{settings(context)}\n"]
    for section in sections:
        parts.append(f"## {section.title}\n")
        if section.text:
            parts.append(f"{section.text}\n")
        if section.rows:
            parts.append(_markdown_table(_row_table(section.rows)))
        parts.extend(_markdown_table(table) for table in section.tables)
        parts.extend(f"![{section.title}]({figure.name})\n" for figure in section.figures)
    return "\n".join(parts)


def _markdown_table(table: Table) -> str:
    lines = [
        f"| {' | '.join(map(str, table.headers))} |",
        f"|{'---|' * len(table.headers)}",
        *(f"| {' | '.join(_cell(cell).replace('|', '/') for cell in row)} |" for row in table.rows),
    ]
    caption = f"{table.caption}\n\n" if table.caption else ""
    return caption + "\n".join(lines) + "\n"


def _row_table(rows: Sequence[Row]) -> Table:
    return Table(
        ("what", "paper", "ours", "verdict", "why"),
        [(row.what, row.paper, row.ours, row.verdict, row.why) for row in rows],
    )


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
