"""``whitecrow demo``: the whole story in under a minute."""

from __future__ import annotations

import time
from pathlib import Path

import click

from whitecrow.cli.screen_output import Output


@click.command("demo", epilog="Example: whitecrow demo --out my-demo")
@click.option(
    "--out", type=click.Path(file_okay=False), default="whitecrow-demo", show_default=True
)
@click.pass_obj
def command(output: Output, out: str) -> None:
    """Ask every question once on bundled, made-up data and write a report with pictures."""
    from whitecrow import demo

    start = time.perf_counter()
    output.say("Compiling kernels on the first run takes some seconds more.")
    page = demo.run(Path(out), output.say)
    seconds = time.perf_counter() - start
    output.show(
        {"report": str(page), "seconds": round(seconds, 1)},
        f"Done in {seconds:.0f} s. The report: {page}",
    )
