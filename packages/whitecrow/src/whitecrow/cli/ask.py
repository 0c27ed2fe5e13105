"""A command for every question, made from its declaration; about one record, or a file of them."""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from whitecrow.card import Card
from whitecrow.cli.common import Asking, answer, asking, opened
from whitecrow.cli.files import check_ending, write_tables
from whitecrow.cli.screen_output import help_all_option, whole, write_folded, write_rows
from whitecrow.declaration import Flag, Input, assembled, inputs, summary
from whitecrow.errors import InvalidInput
from whitecrow.question import Question, Release
from whitecrow.questions import BUILT_IN, question_type

_SECTIONS = {
    "question": "What is asked",
    "model": "What an anomaly is",
    "price": "Promise and price",
    "details": "Details",
    "": "Data and account",
    "output": "Output",
}
"""The parts of a help page, in order; options without a part are the account's."""

_OUTPUT = frozenset(
    {"out", "picture", "price_only", "dummy", "help", "help_all", "_click_default_help"}
)
"""Options that decide what comes back."""

_ALWAYS = ("data", "card", "budget", "records")
"""Options of data and account that help always shows."""

_DATA = "A data file, or a query. Written URL::SELECT ...; with --server the dataset's name."

_WIDE = 60
"""Choices that take more columns are listed after the help of their option."""

_PLACEHOLDERS = {"number": "NUMBER", "names": "A,B,...", "record": "JSON", "object": "JSON"}


Many = Callable[..., None]
"""How a file of records is asked about; see :func:`whitecrow.cli.ask.answer_all`."""


def question_command(
    kind: str, name: str = "", *, many: Many | None = None, without: Sequence[str] = ()
) -> click.Command:
    """Return ``whitecrow KIND``, with an option for each parameter of the question.

    ``name`` is that of a command of several that ask one kind, ``without`` options it has not.
    """
    question = question_type(kind).question

    def ask(
        given: Asking,
        picture: str | None = None,
        out: str | None = None,
        records: str | None = None,
        **options: Any,
    ) -> None:
        how = {name: options.pop(name) for name in FILE_OPTIONS if name in options}
        if records is not None:
            if given.dummy:
                raise InvalidInput("--dummy answers one question at a time: leave out --records.")
            about = _about(question, options)
            (many or answer_all)(given, about, records=records, out=out, **how)
            return
        if any(how.values()) or (how and out is not None):
            raise InvalidInput("--key, --only, --leave-out and --out are for --records FILE.")
        asked, public = read(question, options)
        answer(given, asked, public=public, picture=picture, out=out)

    about_a_record = "record" in [one.name for one in inputs(question)]
    made = asking()(functools.wraps(ask)(ask))
    if about_a_record:
        made = records_options(made)
    if question.draw is not Question.draw:
        made = click.option(
            "--picture", type=click.Path(dir_okay=False), help="Draw the answer into this file."
        )(made)
    if about_a_record or question.keep is not Question.keep:
        made = click.option(
            "--out",
            type=click.Path(dir_okay=False, writable=True),
            callback=_writable,
            help="Write what was released into this file.",
        )(made)
    account = click.command()(made)
    example = question.example
    if "records" in without:
        example = example.partition(" --records")[0]
    params = [
        *[_option(one, question.shortcuts.instead) for one in _inputs(question)],
        *[_former(one, former) for one in _inputs(question) for former in _formerly(one)],
        *account.params,
        help_all_option(),
    ]
    return QuestionCommand(
        name or kind,
        callback=account.callback,
        params=[one for one in params if one.name not in without],
        help="\n\n".join(dict.fromkeys((question.asks, summary(question)))),
        epilog=f"Example: whitecrow {f'{kind} {name}'.strip()} {example}",
    )


def read(question: type[Question], options: Mapping[str, Any]) -> tuple[Question, dict[str, Any]]:
    """Build the question and the public guesses that the options describe."""
    given = {}
    for one in _inputs(question):
        typed = options.get(one.name)
        for name in _formerly(one):
            typed = options.get(f"former_{name}") if typed is None else typed
        if typed is not None:
            given[one.name] = _value(one, typed, question.__name__)
    parameters = assembled(question, given)
    shortcuts = question.shortcuts.from_json(assembled(question.shortcuts, given))
    public = assembled(question.guesses, given)
    return question.from_json(shortcuts.expand(parameters)), public


def _about(
    question: type[Question], options: Mapping[str, Any]
) -> Callable[[Mapping[str, Any]], tuple[Question, dict[str, Any]]]:
    """Make the question about one record after the other, all else being as typed."""
    if options.get("record") is not None:
        raise InvalidInput("Give --record or --records, not both.")
    return lambda record: read(question, {**options, "record": record})


def _writable(_: click.Context, option: click.Parameter, path: str | None) -> str | None:
    """Refuse a folder that is not there before anything is spent."""
    if path is not None and not Path(path).absolute().parent.is_dir():
        raise InvalidInput(f"{option.opts[0]} names a folder that is not there: {path!r}.")
    return path


class QuestionCommand(click.Command):
    """A command whose help has its options in parts, and details and the account folded away."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        parts: dict[str, list[tuple[str, str]]] = {}
        folded = []
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if isinstance(parameter, click.Argument):
                record = "DATA", _DATA
            if record is None:
                continue
            default = "output" if parameter.name in _OUTPUT else ""
            section = getattr(parameter, "section", default)
            rare = section == "details" or (section == "" and parameter.name not in _ALWAYS)
            if rare and not whole(ctx):
                folded.append(parameter.opts[0])
            else:
                parts.setdefault(section, []).append(record)
        for section, title in _SECTIONS.items():
            if section in parts:
                write_rows(ctx, formatter, title, parts[section])
        write_folded(formatter, folded)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        asks, _, more = (self.help or "").partition("\n\n")
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(asks)
            if more and whole(ctx):
                formatter.write_paragraph()
                formatter.write_text(more)


class _Option(click.Option):
    """An option that knows its part of the help."""

    section = ""


def _inputs(question: type[Question]) -> list[Input]:
    """What the command asks for; of two inputs with one name the question's own counts."""
    by_name: dict[str, Input] = {}
    for declared in (question, question.shortcuts, question.guesses):
        for one in inputs(declared):
            by_name.setdefault(one.name, one)
    return list(by_name.values())


def _option(one: Input, instead: Mapping[str, str]) -> click.Option:
    parameter = one.parameter
    named = [parameter.flag, one.name]
    settings: dict[str, Any] = {"help": _help(one, instead.get(one.name)), "default": None}
    if isinstance(parameter, Flag):
        named[0] = f"{parameter.flag}/{parameter.off}"
    elif choices := [each for each in getattr(parameter, "choices", ()) if each]:
        settings["type"] = click.Choice(choices)
        if len("|".join(choices)) > _WIDE:
            settings["metavar"] = "NAME"
            settings["help"] = f"{settings['help']}  [{', '.join(choices)}]"
    else:
        settings["metavar"] = _PLACEHOLDERS.get(parameter.control, "TEXT")
    option = _Option(named, **settings)
    option.section = parameter.group
    return option


def _formerly(one: Input) -> list[str]:
    """Earlier names of an option: the parameter's, and its own where the terminal has another."""
    named = one.parameter.flag != "--" + one.name.replace("_", "-")
    return [
        *([one.parameter.former] if one.parameter.former else []),
        *([one.name] if named and one.name in ("metric", "notion") else []),
    ]


def _former(one: Input, name: str) -> click.Option:
    """An earlier name of an option, which still works for one release."""
    return click.Option(
        ["--" + name.replace("_", "-"), f"former_{name}"],
        hidden=True,
        callback=functools.partial(_renamed, one.parameter.flag),
    )


def _renamed(now: str, ctx: click.Context, option: click.Parameter, value: Any) -> Any:
    if value is not None:
        click.echo(f"note: {option.opts[0]} is called {now} now", err=True)
    return value


def _help(one: Input, instead: str | None) -> str:
    parameter = one.parameter
    if parameter.required:
        needed = "required" if instead is None else f"required, or {instead}"
        return f"{parameter.help}  [{needed}]" if one.required else parameter.help
    default = parameter.dump_default()
    if default in (None, "", "0", 0, False):
        return parameter.help
    shown = parameter.flag[2:] if default is True else parameter.to_text(default)
    return f"{parameter.help}  [default: {shown}]"


def _value(one: Input, typed: Any, owner: str) -> object:
    if not isinstance(typed, str):
        return typed
    if typed.startswith("@") and one.parameter.control in ("record", "object"):
        try:
            typed = Path(typed[1:]).read_text(encoding="utf-8")
        except OSError:
            raise InvalidInput(
                f"{one.parameter.flag} names the file {typed[1:]!r}, which cannot be read."
            ) from None
    return one.parameter.from_text(typed, owner)


# A file of records

FILE_OPTIONS = ("key", "only", "leave_out")
"""How the file is read; they mean nothing without one."""

_SHOWN = 10

Make = Callable[[Any], tuple[Question, dict[str, Any]]]
"""Gives the question about a record, and the public guesses for its expected error."""


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


def _names(only: str | None) -> list[str] | None:
    return None if only is None else [name.strip() for name in only.split(",")]


def _rows(
    records: str, card: Card, key: str | None, columns: list[str] | None, leave_out: bool
) -> tuple[list[tuple[Any, dict[str, Any]]], list[Any]]:
    """The key and the record of each row that can be asked about, and the keys of the others."""
    from whitecrow.data.asked import read_asked

    asked = read_asked(records, card, key=key, columns=columns, leave_out=leave_out)
    pairs = zip(asked.keys, asked.records, strict=True)
    rows = [(name, record) for name, record in pairs if record is not None]
    if not rows:
        raise InvalidInput("No row of the file can be asked about. Nothing was asked.")
    return rows, asked.left_out


def answer_all(
    given: Asking,
    make: Make,
    *,
    records: str,
    key: str | None,
    only: str | None,
    leave_out: bool,
    out: str | None,
) -> None:
    """Price the questions about all records together, ask them, and show or write a table."""
    if out is not None:
        check_ending(out)
    curator = opened(given)
    rows, left_out = _rows(records, curator.card, key, _names(only), leave_out)
    made = [make(record) for _, record in rows]
    questions = [question for question, _ in made]
    described = curator.describe(questions[0], **made[0][1])
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
    headlines = [
        question.says(release.answer).headline
        for question, release in zip(questions, releases, strict=True)
    ]
    last = releases[-1]
    result = {
        "plan": plan.to_json(),
        "answers": answers,
        "left_out": left_out,
        "statement": last.statement,
        "error": last.error,
        "warning": last.warning,
        "ledger": dict(last.ledger),
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
    commonest = Counter(headlines).most_common(4)
    counted = ", ".join(f"{times} x {headline!r}" for headline, times in commonest)
    counted += ", ..." if len(set(headlines)) > len(commonest) else ""
    lines = [f"answers    {len(releases)}: {counted}"]
    if out is None:
        width = max(len(str(answer["key"])) for answer in answers[:_SHOWN])
        lines += [
            f"           {answer['key']!s:<{width}}  {headline}"
            for answer, headline in zip(answers[:_SHOWN], headlines[:_SHOWN], strict=True)
        ]
        if len(answers) > _SHOWN:
            lines.append(f"           ... {len(answers) - _SHOWN} more (use --out or --json)")
    else:
        lines.append(f"written    {out}")
    if left_out:
        lines.append(f"left out   {len(left_out)} rows that cannot be read")
    charged, last = sum(release.charged for release in releases), releases[-1]
    left = last.ledger.get("remaining", {})
    return [
        *lines,
        *([f"error      of each: {last.error}"] if last.error else []),
        f"promise    of each: {last.statement}",
        f"charged    {charged}; {len(releases) - charged} were answered before",
        f"remaining  {', '.join(f'{notion} {amount}' for notion, amount in left.items())}",
    ]


def write_answers(key: str, answers: list[dict[str, Any]], target: Path) -> None:
    """Write the table; an answer that is neither a truth value nor a number is JSON text."""
    import pyarrow

    values = [answer["answer"] for answer in answers]
    if not all(isinstance(value, bool | int | float) for value in values):
        values = [json.dumps(value, ensure_ascii=False) for value in values]
    columns = {key: [answer["key"] for answer in answers], "answer": values}
    if "charged" in answers[0]:
        columns["charged"] = [answer["charged"] for answer in answers]
    write_tables(iter([pyarrow.table(columns)]), target)


# whitecrow screening: pay once, ask about any number of records, end it

_OF_RECORDS = ("record", "records", "batch", "out", *FILE_OPTIONS)


def screening_group() -> click.Group:
    """Return ``whitecrow screening`` with its commands ``open``, ``ask`` and ``close``."""
    group = click.Group("screening", help=BUILT_IN["screening"][1] + ".")
    begin = question_command("screening", "open", without=_OF_RECORDS)
    group.add_command(begin)
    group.add_command(question_command("screening", "ask", many=screen_all, without=("batch",)))
    close = click.command()(asking()(_end))
    own = {parameter.name for parameter in close.params}
    group.add_command(
        QuestionCommand(
            "close",
            callback=close.callback,
            params=[*(each for each in begin.params if each.name not in own), *close.params],
            help=_end.__doc__,
            epilog="Example: whitecrow screening close trips.csv --beta 300 --radius 4 "
            "--epsilon 1 --delta 1e-6",
        )
    )
    return group


def screen_all(
    given: Asking,
    make: Make,
    *,
    records: str,
    key: str | None,
    only: str | None,
    leave_out: bool,
    out: str | None,
) -> None:
    """Ask about every record of a file, and show or write who would be an anomaly."""
    from whitecrow.screening.opened import OpenScreening

    if out is not None:
        check_ending(out)
    curator = opened(given)
    series: Any
    series, public = make(None)
    names = _names(only)
    if series.columns is None and names is not None:
        series = series.replace(columns=names)
    described = curator.describe(series, **public)
    given.output.warn(described.warning)
    if given.price_only:
        given.output.show(described.to_json(), described.words)
        return
    columns = list(series.names(curator.card)) if names is None else names
    rows, left_out = _rows(records, curator.card, key, columns, leave_out)
    opening = curator.ask(series)
    with given.output.progress() as progress:
        screening = OpenScreening(curator, series, opening)
        flags = screening.ask_all([record for _, record in rows], progress=progress).tolist()
    answers = [{"key": name, "answer": flag} for (name, _), flag in zip(rows, flags, strict=True)]
    if out is not None:
        write_answers(key or "row", answers, Path(out))
    result = {
        "answers": answers,
        "left_out": left_out,
        "charged": opening.charged,
        "statement": opening.statement,
        "error": opening.error,
        "ledger": dict(opening.ledger),
        "out": out,
    }
    flagged = [str(name) for (name, _), flag in zip(rows, flags, strict=True) if flag]
    lines = [f"anomalies  {len(flagged):,} of {len(rows):,} records"]
    if out is not None:
        lines.append(f"written    {out}")
    elif flagged:
        more = ", ..." if len(flagged) > _SHOWN else ""
        lines.append(f"           {', '.join(flagged[:_SHOWN])}{more}")
    if left_out:
        lines.append(f"left out   {len(left_out)} rows that cannot be read")
    when = "now, for any number of records" if opening.charged else "nothing: paid before"
    lines += [f"promise    of all answers: {opening.statement}", f"charged    {when}"]
    given.output.show(result, "\n".join(lines))


def _end(given: Asking, **options: Any) -> None:
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
