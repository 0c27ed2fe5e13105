"""``whitecrow audit``: what every mechanism loses, measured."""

from __future__ import annotations

import os
from pathlib import Path

import click

from whitecrow.cli.screen_output import Output


def _processor_seconds() -> tuple[float, ...]:
    """Of this process and of those it waited for, since it began."""
    return os.times()[:4]


@click.command("audit", epilog="Example: whitecrow audit identify --quick")
@click.argument("mechanisms", nargs=-1)
@click.option("--quick", is_flag=True, help="Fewer draws: two minutes of one core.")
@click.option(
    "--out", type=click.Path(dir_okay=False), help="Write the table as a Markdown page, too."
)
@click.option("--jobs", type=click.IntRange(1), default=1, help="Processes that share the rows.")
@click.pass_context
def command(
    ctx: click.Context, mechanisms: tuple[str, ...], quick: bool, out: str | None, jobs: int
) -> None:
    """Infer from draws how much mechanisms lose, at least.

    Each row: the loss that is claimed, a lower bound of the real one (those of all mechanisms
    hold together with confidence 99.9 %), what the exact law says, and how probably a leak of a
    tenth more would have been seen. Mutants must be caught. Then a curator with frozen answers
    is asked over neighbouring data, and everything visible must be the same (replay). Exit 1 if a
    claim is violated, a mutant is not caught, or neighbours look different.

    There is no seed: answers are drawn with the operating system's randomness, as in use, so two
    runs differ a little.
    """
    from whitecrow_audit.audit import audit
    from whitecrow_audit.audit.report import as_json, as_markdown, as_text

    output: Output = ctx.obj
    with output.progress() as progress:
        audited = audit(mechanisms, quick=quick, progress=progress, jobs=jobs)
    if out is not None:
        page = as_markdown(audited, sum(_processor_seconds()))
        Path(out).write_text(page, encoding="utf-8")
    output.show(as_json(audited), as_text(audited))
    ctx.exit(0 if audited.ok else 1)
