"""``whitecrow price``: what would a question cost, and how accurate would it be?"""

from __future__ import annotations

import click

from whitecrow.cli.ask import question_command
from whitecrow.questions import kinds


@click.command(
    "price",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog="Example: whitecrow price identify patients.parquet --card patients.toml "
    '--record \'{"age": 61, "bmi": 24.1}\' --beta 18 --radius 0.148 --k 2 --epsilon 0.1 '
    "--typical-neighbours 3",
)
@click.argument("question", type=click.Choice(kinds()))
@click.argument("line", nargs=-1, type=click.UNPROCESSED, metavar="DATA [OPTIONS]...")
@click.pass_context
def command(ctx: click.Context, question: str, line: tuple[str, ...]) -> None:
    """Say what a QUESTION would cost and how accurate it would be; ask nothing.

    The rest of the line is that question's own: whatever `whitecrow QUESTION` takes. Only public
    facts are used: the card, the parameters and your guesses.
    """
    asked = question_command(question)
    arguments = [*line, *([] if "--price-only" in line else ["--price-only"])]
    with asked.make_context(f"whitecrow {question}", arguments, parent=ctx) as inner:
        asked.invoke(inner)
