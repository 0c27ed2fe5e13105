"""``whitecrow demo``: every question once, as a table, in seconds."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whitecrow.cli.screen_output import Output

if TYPE_CHECKING:
    from whitecrow.demo import Story


@click.command("demo", epilog="Example: whitecrow demo --out my-demo")
@click.option(
    "--out",
    type=click.Path(file_okay=False),
    default="whitecrow-demo",
    show_default=True,
    help="The folder of the report.",
)
@click.option("--verbose", "-v", is_flag=True, help="Tell the story behind each answer.")
@click.pass_obj
def command(output: Output, out: str, verbose: bool) -> None:
    """Ask every question once on bundled, made-up data and write a report with pictures."""
    start = time.perf_counter()
    with output.progress() as progress:
        from whitecrow import demo

        names = iter(range(len(demo.CHAPTERS)))

        def begin(name: str) -> None:
            if progress is not None:
                progress(next(names), len(demo.CHAPTERS), f"Asking the clinic: {name}")

        story = demo.run(Path(out), begin)
    seconds = round(time.perf_counter() - start, 1)
    result = {
        "report": str(story.page),
        "seconds": seconds,
        "left": str(story.left),
        "asked": [
            {"kind": one.kind, "answer": one.answer, "epsilon": str(one.epsilon)}
            for one in story.asked
        ],
    }
    if output.as_json:
        output.show(result, "")
        return
    if verbose:
        for chapter in story.chapters:
            output.paragraphs(chapter.title, chapter.words)
    _show(output, story, seconds)


def _show(output: Output, story: Story, seconds: float) -> None:
    from whitecrow.privacy import rounded_down, rounded_up

    output.table(
        "1,500 made-up patients of a clinic, asked under provable privacy",
        ["Question", "Answer", "Expected error", "ε"],
        [[one.question, one.answer, one.error, rounded_up(one.epsilon)] for one in story.asked],
    )
    left, budget = rounded_down(story.left), rounded_down(story.budget)
    output.line(f"Budget     {left} of {budget} left. Asking again is free: answers are kept.")
    output.line(f"Report     {story.page} ({seconds:g} s)")
    output.line("Your data  whitecrow card new patients.csv --out patients.toml")
