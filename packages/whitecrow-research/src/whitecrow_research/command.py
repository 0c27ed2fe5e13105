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


@command.command("run", epilog="Example: whitecrow papers run all --data DIR --out report")
@click.argument("name")
@click.option("--table", "tables", multiple=True, help="Only this table or figure (repeatable).")
@click.option("--data", type=click.Path(file_okay=False, exists=True), help="The real data sets.")
@click.option("--out", type=click.Path(file_okay=False), default="papers-report", show_default=True)
@click.option("--quick", is_flag=True, help="Fewer repetitions.")
@click.option("--seed", default=1, show_default=True, help="Where simulations start.")
@click.pass_obj
def run(
    output: Output,
    name: str,
    tables: tuple[str, ...],
    data: str | None,
    out: str,
    quick: bool,
    seed: int,
) -> None:
    """Redo a paper (or all): its figures beside ours, with the reason where they differ.

    With "all": one report, in which every table and figure of the five papers has a row. It takes
    about two minutes on two cores with the real data sets, half a minute without.
    """
    from whitecrow.errors import InvalidInput
    from whitecrow_research import papers

    context = papers.Context(Path(data) if data else None, Path(out), quick, seed)
    if name == "all" and tables:
        raise InvalidInput("--table names a table of one paper; leave it out with 'all'.")
    chosen = [papers.load(one) for one in (papers.NAMES if name == "all" else [name])]
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
    from whitecrow_research.papers import findings

    counted = Counter(f.verdict for paper, sections in results for f in findings(paper, sections))
    found = ", ".join(f"{count} {verdict}" for verdict, count in counted.most_common())
    return f"{sum(counted.values())} tables and figures: {found}"
