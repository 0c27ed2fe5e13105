"""Writing reproductions down: a page for each paper, and one report of all of them.

Pages are HTML with every picture inside, so that one file is the whole report and nothing is
loaded from elsewhere; beside it the same as Markdown.
"""

from __future__ import annotations

import base64
import html
import importlib.metadata
import json
import math
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from whitecrow import __version__
from whitecrow_research.papers.report import (
    Context,
    Finding,
    Paper,
    Row,
    Section,
    Table,
    counted,
    findings,
)

Results = Sequence[tuple[Paper, Sequence[Section]]]
Thing = str | Table | Path


@dataclass(frozen=True)
class _Part:
    """A heading (or none) and what stands under it: paragraphs, tables, pictures."""

    heading: str
    things: Sequence[Thing]
    level: int = 2


_VERDICTS = Table(
    ("verdict", "meaning"),
    (
        ("reproduced", "the printed figure lies in our interval, or ours in the printed one"),
        ("differs", "another figure, with the reason; often an erratum"),
        ("not comparable", "run times, and settings that are copied"),
        ("needs data", "the data are public, and not in the folder that --data names"),
        ("data not public", "nobody but the authors has them"),
        ("beyond the paper", "ours alone; not counted in the summary"),
    ),
)


def write(paper: Paper, sections: Sequence[Section], context: Context) -> Path:
    """Write the page of one paper as HTML and Markdown and return the path of the HTML."""
    first = _Part("", [paper.citation, settings(context)])
    return _save(context.out / paper.name, paper.title, [first, *_told(paper, sections, 2)])


def write_all(results: Results, context: Context) -> Path:
    """Write one report of all papers, with the summary first, and return the path of the HTML.

    Beside it: the same as Markdown, ``summary.md`` with the summary alone, and ``verdicts.json``.
    """
    line, tables = _summary(results)
    first = _Part("", [line, settings(context)])
    parts = [first, _Part("Every table and figure", [*tables, _VERDICTS])]
    for paper, sections in results:
        parts.append(_Part(paper.title, [paper.citation]))
        parts += _told(paper, sections, 3)
    parts.append(_Part("Settings, seeds, hardware", [settings(context), *_made_with(results)]))
    alone = _markdown("The five papers, redone: summary", [first, _Part("", tables)])
    (context.out / "summary.md").write_text(alone, encoding="utf-8")
    (context.out / "verdicts.json").write_text(json.dumps(verdicts(results), indent=1), "utf-8")
    return _save(context.out / "report", "The five papers, redone", parts)


def summary(results: Results) -> dict[str, dict[str, object]]:
    """Return what became of each table and figure, for programs."""
    return {
        paper.name: {
            finding.exhibit.name: {
                "verdict": finding.verdict,
                "same": finding.same,
                "compared": finding.compared,
                "why": finding.why,
            }
            for finding in findings(paper, sections)
        }
        for paper, sections in results
    }


def verdicts(results: Results) -> list[dict[str, object]]:
    """Return a row for each table and figure: what ``verdicts.json`` holds."""
    return [
        {
            "exhibit": f"{paper.name} {finding.exhibit.name}",
            "verdict": finding.verdict,
            "figures": [
                {"what": row.what, "paper": row.paper, "ours": row.ours, "verdict": row.verdict}
                for row in finding.rows
            ],
            "interval": [row.interval for row in finding.rows],
            "reason": finding.why,
        }
        for paper, sections in results
        for finding in findings(paper, sections)
    ]


def settings(context: Context) -> str:
    """Say with what the report was made."""
    size = "quick" if context.quick else "full"
    data = "real data sets present" if context.data else "no real data sets"
    return (
        f"whitecrow {__version__}, Python {platform.python_version()}, {os.cpu_count()} cores "
        f"({platform.machine()}), seed {context.seed}, {size} run, {data}."
    )


def _summary(results: Results) -> tuple[str, list[Table]]:
    """One line, and a table for each paper with a row for each of its tables and figures."""
    judged = [(paper, findings(paper, sections)) for paper, sections in results]
    single = [(finding.same, finding.compared) for _, each in judged for finding in each]
    same, compared = (sum(numbers) for numbers in zip(*single, strict=True))
    line = (
        f"{counted([f for _, each in judged for f in each])} A table counts as reproduced only "
        f"if all of it is; of {compared} single figures {same} are."
    )
    return line, [_findings_table(paper, each) for paper, each in judged]


def _findings_table(paper: Paper, results: Sequence[Finding]) -> Table:
    return Table(
        ("", "shows", "verdict", "figures as printed", "why, and what stands in"),
        [
            (_unbroken(f.exhibit.name), f.exhibit.shows, f.verdict, _share(f), f.why)
            for f in results
        ],
        f"{paper.title} ({paper.name})",
    )


def _unbroken(name: str) -> str:
    return name.replace(" ", "\u00a0")


def _share(finding: Finding) -> str:
    return _unbroken(f"{finding.same} of {finding.compared}")


def _told(paper: Paper, sections: Sequence[Section], level: int) -> Iterator[_Part]:
    """The sections, and the errata last."""
    for section in sections:
        rows = [_row_table(section.rows)] if section.rows else []
        texts = [text for text in section.text.split("\n\n") if text]
        things: list[Thing] = [*texts, *rows, *section.tables, *section.figures]
        yield _Part(section.title, things, level)
    if paper.errata:
        lines = [(erratum.number, erratum.paper, erratum.holds) for erratum in paper.errata]
        headers = ("", "the paper", "what holds, and what is done here")
        yield _Part("Errata", [Table(headers, lines)], level)


def _made_with(results: Results) -> list[Thing]:
    """Versions, hardware, and how long each section took."""
    names = ("numpy", "scipy", "numba", "pyarrow", "matplotlib", "scikit-learn")
    versions = {name: _version(name) for name in names}
    facts = {
        "processor": _processor(),
        "memory": f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GiB",
        **{name: version for name, version in versions.items() if version},
    }
    times = [
        (paper.name, key, f"{section.seconds:.1f}")
        for paper, sections in results
        for key, section in zip(paper.sections, sections, strict=True)
    ]
    total = sum(section.seconds for _, sections in results for section in sections)
    return [
        "Simulations start from the seed; what `whitecrow` itself draws for a release, it draws "
        "from the operating system, except where a section says that it is simulated.",
        Table(("made with", ""), list(facts.items())),
        Table(
            ("paper", "section", "seconds"), times, f"Time: {total:.0f} s in all, several at once."
        ),
    ]


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _processor() -> str:
    """The processor's name as Linux tells it, or what Python knows."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _save(stem: Path, title: str, parts: Sequence[_Part]) -> Path:
    stem.with_suffix(".md").write_text(_markdown(title, parts), encoding="utf-8")
    page = stem.with_suffix(".html")
    page.write_text(_html(title, parts), encoding="utf-8")
    return page


_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; font-size: .9rem; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; }
th, td { border: 1px solid #8885; padding: .25rem .6rem; text-align: left; vertical-align: top; }
th { background: #8882; } td.verdict { white-space: nowrap; font-weight: 600; }
img { max-width: 100%; background: white; } h2 { margin-top: 3rem; }
.reproduced { color: #1a7f37; } .differs { color: #b35900; } .missing { color: #6a5acd; }
li.l3 { margin-left: 1.2rem; }
"""

_CLASSES: Mapping[str, str] = {
    "reproduced": "reproduced",
    "differs": "differs",
    "not comparable": "beyond",
    "needs data": "missing",
    "data not public": "missing",
    "beyond the paper": "beyond",
}


def _html(title: str, parts: Sequence[_Part]) -> str:
    links, body = [], []
    for index, part in enumerate(parts):
        heading = html.escape(part.heading)
        if heading:
            links.append(f"<li class=l{part.level}><a href='#part-{index}'>{heading}</a></li>")
            body.append(f"<h{part.level} id=part-{index}>{heading}</h{part.level}>")
        body += [_html_thing(thing, heading) for thing in part.things]
        if index == 0:
            body.append("")  # where the contents go
    at = body.index("")
    body[at] = f"<details><summary>Contents</summary><ul>{''.join(links)}</ul></details>"
    return "\n".join(
        [
            "<!doctype html><html lang=en><meta charset=utf-8>",
            "<meta name=viewport content='width=device-width'>",
            f"<title>{html.escape(title)}</title><style>{_STYLE}</style>",
            f"<h1>{html.escape(title)}</h1>",
            *body,
            "",
        ]
    )


def _html_thing(thing: Thing, heading: str) -> str:
    if isinstance(thing, Table):
        return _html_table(thing)
    if isinstance(thing, Path):
        inside = base64.b64encode(thing.read_bytes()).decode()
        return f"<p><img alt='{heading}' src='data:image/png;base64,{inside}'></p>"
    return f"<p>{html.escape(thing)}</p>"


def _html_table(table: Table) -> str:
    head = "".join(f"<th>{html.escape(str(cell))}</th>" for cell in table.headers)
    lines = [f"<tr>{''.join(_html_cell(cell) for cell in row)}</tr>" for row in table.rows]
    caption = f"<caption>{html.escape(table.caption)}</caption>" if table.caption else ""
    return f"<table>{caption}<tr>{head}</tr>{''.join(lines)}</table>"


def _html_cell(cell: object) -> str:
    text = _cell(cell)
    css_class = f" class='verdict {_CLASSES[text]}'" if text in _CLASSES else ""
    return f"<td{css_class}>{html.escape(text)}</td>"


def _markdown(title: str, parts: Sequence[_Part]) -> str:
    lines = [f"# {title}\n"]
    for part in parts:
        if part.heading:
            lines.append(f"{'#' * part.level} {part.heading}\n")
        for thing in part.things:
            if isinstance(thing, Table):
                lines.append(_markdown_table(thing))
            elif isinstance(thing, Path):
                lines.append(f"![{part.heading}]({thing.name})\n")
            else:
                lines.append(f"{thing}\n")
    return "\n".join(lines)


def _markdown_table(table: Table) -> str:
    lines = [
        f"| {' | '.join(map(str, table.headers))} |",
        f"|{'---|' * len(table.headers)}",
        *(f"| {' | '.join(_markdown_cell(cell) for cell in row)} |" for row in table.rows),
    ]
    caption = f"**{table.caption}**\n\n" if table.caption else ""
    return caption + "\n".join(lines) + "\n"


def _markdown_cell(cell: object) -> str:
    return _cell(cell).replace("|", "/").replace("<", "&lt;").replace("*", "\\*")


def _row_table(rows: Sequence[Row]) -> Table:
    return Table(
        ("what", "paper", "ours", "verdict", "why"),
        [(row.what, row.paper, row.ours, row.verdict, row.why) for row in rows],
    )


def _cell(value: object) -> str:
    if not isinstance(value, float):
        return str(value)
    return "undefined" if math.isnan(value) else f"{value:.4g}"
