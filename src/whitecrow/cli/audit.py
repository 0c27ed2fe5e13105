"""``whitecrow audit``: what every mechanism loses, measured."""

from __future__ import annotations

import time
from pathlib import Path

import click

from whitecrow.cli.screen_output import Output


@click.command("audit", epilog="Example: whitecrow audit identify --quick")
@click.argument("mechanisms", nargs=-1)
@click.option("--quick", is_flag=True, help="Fewer draws: end within 40 seconds.")
@click.option(
    "--out", type=click.Path(dir_okay=False), help="Write the table as a Markdown page, too."
)
@click.pass_context
def command(ctx: click.Context, mechanisms: tuple[str, ...], quick: bool, out: str | None) -> None:
    """Infer from draws how much mechanisms lose, at least.

    Each row: the loss that is claimed, a lower bound of the real one (all rows together hold with
    confidence 99.9 %), what the exact law says, and how probably a leak of a tenth more would have
    been seen. Broken twins must be caught. Exit 1 if a claim is violated or a twin is not caught.

    There is no seed: answers are drawn with the operating system's randomness, as in use, so two
    runs differ a little.
    """
    from whitecrow.audit import cases, run
    from whitecrow.audit.report import as_json, as_markdown, as_text

    output: Output = ctx.obj
    start = time.perf_counter()
    with output.progress() as progress:
        audit = run(cases(mechanisms), quick=quick, progress=progress)
    if out is not None:
        page = as_markdown(audit, time.perf_counter() - start)
        Path(out).write_text(page, encoding="utf-8")
    output.show(as_json(audit), as_text(audit))
    ctx.exit(0 if audit.ok else 1)
