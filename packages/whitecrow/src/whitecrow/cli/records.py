"""Asking about many records: ``--records FILE`` of the questions about a record."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from whitecrow.cli.common import Asking, opened
from whitecrow.cli.tables import check_ending, write_tables
from whitecrow.errors import InvalidInput
from whitecrow.question import Question, Release

FILE_OPTIONS = ("key", "only", "leave_out")
"""How the file is read; they mean nothing without one."""

_SHOWN = 10


def records_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command --records, and what says how the file is read and where answers go."""
    for option in (
        click.option("--leave-out", is_flag=True, help="Leave out rows that cannot be read."),
        click.option("--only", help="Ask about these columns of the file: A,B,... (default: all)."),
        click.option("--key", help="The file's column that names a row (default: its number)."),
        click.option(
            "--records",
            type=click.Path(exists=True, dir_okay=False),
            help="Ask about every record of this file (.csv, .parquet, .jsonl). All are priced "
            "together first; interrupted, the same command goes on and nothing is paid twice.",
        ),
    ):
        command = option(command)
    return command


def answer_all(
    given: Asking,
    make: Callable[[Mapping[str, Any]], tuple[Question, dict[str, Any]]],
    *,
    records: str,
    key: str | None,
    only: str | None,
    leave_out: bool,
    out: str | None,
) -> None:
    """Price the questions about all records together, ask them, and show or write a table.

    ``make`` gives the question about a record, and the public guesses for its expected error.
    """
    from whitecrow.data.asked import read_asked

    if out is not None:
        check_ending(out)
    curator = opened(given)
    names = None if only is None else [name.strip() for name in only.split(",")]
    asked = read_asked(records, curator.card, key=key, columns=names, leave_out=leave_out)
    rows = [
        (name, make(record))
        for name, record in zip(asked.keys, asked.records, strict=True)
        if record is not None
    ]
    if not rows:
        raise InvalidInput("No row of the file can be asked about. Nothing was asked.")
    questions = [question for _, (question, _) in rows]
    described = curator.describe(questions[0], **rows[0][1][1])
    given.output.warn(described.warning)
    plan = curator.plan(questions)
    if given.price_only:
        given.output.show(
            {"plan": plan.to_json(), "first": described.to_json()},
            f"{plan}\nOf the first: {described.words}",
        )
        return
    plan.check()
    given.output.say(str(plan))
    with given.output.progress() as progress:
        releases = curator.ask_all(questions, progress=progress)
    answers = [
        {"key": name, "answer": release.answer, "charged": release.charged}
        for (name, _), release in zip(rows, releases, strict=True)
    ]
    if out is not None:
        write_answers(key or "row", answers, Path(out))
    left_out = asked.left_out
    headlines = [
        question.says(release.answer).headline
        for question, release in zip(questions, releases, strict=True)
    ]
    result = {
        "plan": plan.to_json(),
        "answers": answers,
        "left_out": left_out,
        "statement": releases[-1].statement,
        "error": releases[-1].error,
        "warning": releases[-1].warning,
        "ledger": dict(releases[-1].ledger),
        "out": out,
    }
    given.output.show(result, "\n".join(_words(answers, headlines, releases, left_out, out)))


def _words(
    answers: list[dict[str, Any]],
    headlines: list[str],
    releases: list[Release],
    left_out: list[Any],
    out: str | None,
) -> list[str]:
    """The summary for people: how often each answer came, then the first rows."""
    charged = sum(release.charged for release in releases)
    lines = [f"answers    {len(releases)}: {_counted(headlines)}"]
    if out is None:
        width = max(len(str(one["key"])) for one in answers[:_SHOWN])
        lines += [
            f"           {one['key']!s:<{width}}  {headline}"
            for one, headline in zip(answers[:_SHOWN], headlines[:_SHOWN], strict=True)
        ]
        if len(answers) > _SHOWN:
            lines.append(f"           ... {len(answers) - _SHOWN} more (use --out or --json)")
    else:
        lines.append(f"written    {out}")
    if left_out:
        lines.append(f"left out   {len(left_out)} rows that cannot be read")
    remaining = releases[-1].ledger.get("remaining", {})
    return [
        *lines,
        *([f"error      of each: {releases[-1].error}"] if releases[-1].error else []),
        f"promise    of each: {releases[-1].statement}",
        f"charged    {charged}; {len(releases) - charged} were answered before",
        f"remaining  {', '.join(f'{notion} {left}' for notion, left in remaining.items())}",
    ]


def _counted(headlines: list[str]) -> str:
    found = Counter(headlines).most_common(4)
    words = ", ".join(f"{times} x {headline!r}" for headline, times in found)
    return words + (", ..." if len(set(headlines)) > len(found) else "")


def write_answers(key: str, answers: list[dict[str, Any]], target: Path) -> None:
    """Write the table; an answer that is neither a truth value nor a number is JSON text."""
    import pyarrow

    plain = all(isinstance(one["answer"], bool | int | float) for one in answers)
    table = pyarrow.table(
        {
            key: [one["key"] for one in answers],
            "answer": [
                one["answer"] if plain else json.dumps(one["answer"], ensure_ascii=False)
                for one in answers
            ],
            **({"charged": [one["charged"] for one in answers]} if "charged" in answers[0] else {}),
        }
    )
    write_tables(iter([table]), target)
