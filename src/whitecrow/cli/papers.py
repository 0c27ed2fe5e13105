"""``whitecrow papers``: reproduce the tables and figures of the papers."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from whitecrow.cli.screen_output import Output


@click.group("papers")
def command() -> None:
    """Reproduce the tables and figures of the papers."""


@command.command("list", epilog="Example: whitecrow papers list")
@click.pass_obj
def list_(output: Output) -> None:
    """Name the papers and the tables each can redo."""
    from whitecrow.papers import NAMES, load

    papers = [load(name) for name in NAMES]
    lines = [f"{p.name}: {p.title}\n    {', '.join(p.sections)}" for p in papers]
    result = {p.name: {"title": p.title, "tables": list(p.sections)} for p in papers}
    output.show(result, "\n".join(lines))


@command.command(
    "run", epilog="Example: whitecrow papers run asif --table table2 --data DIR --out report"
)
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
    """Redo a paper (or all): its figures beside ours, with the reason where they differ."""
    from whitecrow import papers

    context = papers.Context(Path(data) if data else None, Path(out), quick, seed)
    result: dict[str, object] = {}
    lines = []
    for wanted in papers.NAMES if name == "all" else [name]:
        paper = papers.load(wanted)
        with output.progress() as progress:
            sections = papers.run(paper, context, tables, progress)
        page = papers.write(paper, sections, context)
        verdicts: Counter[str] = Counter(
            row.verdict for section in sections for row in section.rows
        )
        result[wanted] = {"report": str(page), "verdicts": dict(verdicts)}
        counted = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
        lines.append(f"{wanted}: {counted}\n  {page}")
    output.show(result, "\n".join(lines))
