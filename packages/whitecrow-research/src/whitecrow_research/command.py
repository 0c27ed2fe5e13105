"""``whitecrow papers``: reproduce the tables and figures of the papers."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whitecrow.cli.screen_output import Output

if TYPE_CHECKING:
    from whitecrow_research.papers import Paper, Section


@click.group("papers")
def command() -> None:
    """Reproduce the tables and figures of the papers."""


@command.command("list", epilog="Example: whitecrow papers list")
@click.pass_obj
def list_(output: Output) -> None:
    """Name the papers and the tables each can redo."""
    from whitecrow_research.papers import NAMES, load

    papers = [load(name) for name in NAMES]
    lines = [f"{p.name}: {p.title}\n    {', '.join(p.sections)}" for p in papers]
    result = {p.name: {"title": p.title, "tables": list(p.sections)} for p in papers}
    output.show(result, "\n".join(lines))


@command.command("data", epilog="Example: whitecrow papers data --data DATASETS")
@click.option("--data", type=click.Path(file_okay=False, exists=True), help="Which are there?")
@click.option(
    "--convert",
    type=click.Path(file_okay=False, exists=True),
    help="A folder with originals, as published; makes the files of them.",
)
@click.option("--out", type=click.Path(file_okay=False), help="Where converted files go.")
@click.pass_obj
def data_(output: Output, data: str | None, convert: str | None, out: str | None) -> None:
    """List the public data sets: columns, size, checksum, where each is from; convert originals.

    Checksums are of the values, since files with equal values differ by who wrote them.
    """
    from whitecrow.errors import InvalidInput
    from whitecrow_research.papers import data as sets

    if (convert is None) != (out is None):
        raise InvalidInput("--convert needs --out, the folder for the converted files.")
    if convert is not None and out is not None:
        made = sets.convert(Path(convert), Path(out))
        output.show(dict(made), "\n".join(f"{name}: {what}" for name, what in made.items()))
        return
    lines, result = [], {}
    for file in sets.FILES:
        here = sets.state(file, Path(data)) if data else None
        result[file.name] = {
            "columns": file.columns,
            "rows": file.rows,
            "bytes": file.size,
            "checksum": file.checksum,
            "origin": file.origin,
            "serves": file.serves,
            "made_from": file.originals,
            **({"here": here} if here else {}),
        }
        lines += [
            f"{file.name}{f' ({here})' if here else ''}",
            f"    {file.rows:,} rows, {file.size:,} bytes: {file.columns}",
            f"    sha-256 of the values {file.checksum}",
            f"    {file.origin}",
            f"    for {file.serves}; made from {file.originals}",
        ]
    output.show(result, "\n".join(lines))


@command.command("run", epilog="Example: whitecrow papers run all --data DIR --out report")
@click.argument("name")
@click.option("--table", "tables", multiple=True, help="Only this table or figure (repeatable).")
@click.option("--data", type=click.Path(file_okay=False, exists=True), help="The real data sets.")
@click.option("--out", type=click.Path(file_okay=False), default="papers-report", show_default=True)
@click.option("--quick", is_flag=True, help="Fewer repetitions.")
@click.option("--resume", is_flag=True, help="Go on with an interrupted run of these settings.")
@click.option("--seed", default=1, show_default=True, help="Where simulations start.")
@click.pass_obj
def run(
    output: Output,
    name: str,
    tables: tuple[str, ...],
    data: str | None,
    out: str,
    quick: bool,
    resume: bool,
    seed: int,
) -> None:
    """Redo a paper (or all): its figures beside ours, with the reason where they differ.

    With "all": one report, in which every table and figure of the five papers has a row. With the
    real data sets it takes some ten processor minutes, on all cores; interrupted, --resume goes on.
    """
    from whitecrow.errors import InvalidInput
    from whitecrow_research import papers

    context = papers.Context(Path(data) if data else None, Path(out), quick, seed, resume)
    if name == "all" and tables:
        raise InvalidInput("--table names a table of one paper; leave it out with 'all'.")
    chosen = [papers.load(paper) for paper in (papers.NAMES if name == "all" else [name])]
    told = _Teller(output, sum(len(tables or paper.sections) for paper in chosen))
    results = (
        [(paper, papers.run(paper, context, tables, told)) for paper in chosen]
        if tables
        else papers.run_all(chosen, context, told)
    )
    pages = {paper.name: papers.write(paper, sections, context) for paper, sections in results}
    shown: dict[str, object] = {
        paper.name: {"report": str(pages[paper.name]), "verdicts": dict(_verdicts(sections))}
        for paper, sections in results
    }
    lines = [_line(paper, sections, pages[paper.name]) for paper, sections in results]
    if name == "all":
        report = papers.write_all(results, context)
        shown |= {"report": str(report), "summary": papers.summary(results)}
        shown["count"] = _whole(results)
        lines += [_whole(results), f"report: {report}"]
    output.show(shown, "\n".join(lines))


class _Teller:
    """Says which section is being computed, how many there are and how long it has taken."""

    def __init__(self, output: Output, total: int) -> None:
        self._output, self._total = output, total
        self._done, self._start = 0, time.monotonic()

    def __call__(self, done: int, total: int, what: str) -> None:
        self._done += 1
        minutes, seconds = divmod(int(time.monotonic() - self._start), 60)
        self._output.say(f"[{self._done:>2}/{self._total}, {minutes}:{seconds:02}] {what}")


def _verdicts(sections: list[Section]) -> Counter[str]:
    return Counter(row.verdict for section in sections for row in section.rows)


def _line(paper: Paper, sections: list[Section], page: Path) -> str:
    counted = ", ".join(f"{count} {verdict}" for verdict, count in _verdicts(sections).items())
    return f"{paper.name}: {counted}\n  {page}"


def _whole(results: list[tuple[Paper, list[Section]]]) -> str:
    """The summary's first line."""
    from whitecrow_research.papers import counted, findings

    return counted(
        [finding for paper, sections in results for finding in findings(paper, sections)]
    )
