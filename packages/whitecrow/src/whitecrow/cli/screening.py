"""``whitecrow screening``: pay once, ask about any number of records, end it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from whitecrow.cli.ask import QuestionCommand, question_command, read
from whitecrow.cli.common import Asking, asking, opened
from whitecrow.cli.records import FILE_OPTIONS, write_answers
from whitecrow.cli.tables import check_ending
from whitecrow.errors import InvalidInput
from whitecrow.question import Question
from whitecrow.questions import BUILT_IN

_OF_RECORDS = ("record", "records", "batch", "out", *FILE_OPTIONS)
_SHOWN = 10

command = click.Group("screening", help=BUILT_IN["screening"][1] + ".")


def ask_all(
    given: Asking,
    make: Callable[[Any], tuple[Question, dict[str, Any]]],
    *,
    records: str,
    key: str | None,
    only: str | None,
    leave_out: bool,
    out: str | None,
) -> None:
    """Ask about every record of a file, and show or write who would be an anomaly."""
    from whitecrow.data.asked import read_asked
    from whitecrow.screening.opened import OpenScreening

    if out is not None:
        check_ending(out)
    curator = opened(given)
    series: Any
    series, public = make(None)
    names = series.names(curator.card) if only is None else [one.strip() for one in only.split(",")]
    if series.columns is None and only is not None:
        series = series.replace(columns=names)
    described = curator.describe(series, **public)
    given.output.warn(described.warning)
    if given.price_only:
        given.output.show(described.to_json(), described.words)
        return
    asked = read_asked(records, curator.card, key=key, columns=names, leave_out=leave_out)
    rows = [pair for pair in zip(asked.keys, asked.records, strict=True) if pair[1] is not None]
    if not rows:
        raise InvalidInput("No row of the file can be asked about. Nothing was asked.")
    opening = curator.ask(series)
    with given.output.progress() as progress:
        screening = OpenScreening(curator, series, opening)
        flags = screening.ask_all([record for _, record in rows], progress=progress).tolist()
    answers = [{"key": name, "answer": flag} for (name, _), flag in zip(rows, flags, strict=True)]
    if out is not None:
        write_answers(key or "row", answers, Path(out))
    result = {
        "answers": answers,
        "left_out": asked.left_out,
        "charged": opening.charged,
        "statement": opening.statement,
        "error": opening.error,
        "ledger": dict(opening.ledger),
        "out": out,
    }
    given.output.show(result, "\n".join(_words(result, opening.charged)))


def _words(result: Mapping[str, Any], charged: bool) -> list[str]:
    flagged = [str(one["key"]) for one in result["answers"] if one["answer"]]
    listed = ", ".join(flagged[:_SHOWN]) + (", ..." if len(flagged) > _SHOWN else "")
    lines = [f"anomalies  {len(flagged):,} of {len(result['answers']):,} records"]
    if result["out"] is not None:
        lines.append(f"written    {result['out']}")
    elif flagged:
        lines.append(f"           {listed}")
    if result["left_out"]:
        lines.append(f"left out   {len(result['left_out'])} rows that cannot be read")
    return [
        *lines,
        f"promise    of all answers: {result['statement']}",
        f"charged    {'now, for any number of records' if charged else 'nothing: paid before'}",
    ]


def end(given: Asking, **options: Any) -> None:
    """End a series for good: answers that were given stay, and nobody gets another one."""
    from whitecrow.curator import Curator
    from whitecrow.curator.transcripts import end_series
    from whitecrow.screening import Screening

    question, _ = read(Screening, options)
    curator = opened(given)
    if not isinstance(curator, Curator):
        raise InvalidInput("Close a screening where its ledger is: by its custodian.")
    assert isinstance(question, Screening)
    end_series(curator, question)
    given.output.show({"closed": True}, "closed     for good: nothing more is answered")


command.add_command(question_command("screening", "open", without=_OF_RECORDS))
command.add_command(question_command("screening", "ask", many=ask_all, without=("batch",)))
_close = click.command()(asking(end))
command.add_command(
    QuestionCommand(
        "close",
        callback=_close.callback,
        params=[
            *[
                one
                for one in question_command("screening", without=_OF_RECORDS).params
                if one.name not in {each.name for each in _close.params}
            ],
            *_close.params,
        ],
        help=end.__doc__,
        epilog="Example: whitecrow screening close trips.csv --beta 300 --radius 4 --epsilon 1 "
        "--delta 1e-6",
    )
)
