"""A command for every question, made from its declaration; about one record, or a file of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import click

from whitecrow.card import Card
from whitecrow.cli.common import Asking, answer, asking, opened
from whitecrow.cli.files import FILE, check_ending, read_text, write_tables
from whitecrow.cli.screen_output import FoldedCommand, whole
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
}  # the parts of a help page, in order; options without a part are the account's

_OUTPUT = {"out", "picture", "price_only", "dummy", "help", "help_all", "_click_default_help"}
"""Options that decide what comes back."""

_ALWAYS = ("data", "card", "budget", "records")
"""Options of data and account that help always shows."""

_DATA = "A data file, or a query. Written URL::SELECT ...; with --server the dataset's name."

_WIDE = 60  # choices that take more columns are listed after the help of their option

_PLACEHOLDERS = {"number": "NUMBER", "names": "A,B,...", "record": "JSON", "object": "JSON"}


def _writable(_: click.Context, option: click.Parameter, path: str | None) -> str | None:
    """Refuse a folder that is not there before anything is spent."""
    if path is not None and not Path(path).absolute().parent.is_dir():
        raise InvalidInput(f"{option.opts[0]} names a folder that is not there: {path!r}.")
    return path


_OUT = click.Option(
    ["--out"],
    type=click.Path(dir_okay=False, writable=True),
    callback=_writable,
    help="Write what was released into this file.",
)
_PICTURE = click.Option(["--picture"], type=FILE, help="Draw the answer into this file.")
_RECORDS = click.Option(
    ["--records"],
    type=click.Path(exists=True, dir_okay=False),
    help="Ask about every record of this file (.csv, .parquet, .jsonl). All are priced together "
    "first; interrupted, the same command goes on and nothing is paid twice.",
)
_OF_FILE = {
    "key": click.Option(
        ["--key"], help="The file's column that names a row (default: its number)."
    ),
    "only": click.Option(
        ["--only"], help="Ask about these columns of the file: A,B,... (default: all)."
    ),
    "leave_out": click.Option(
        ["--leave-out"], is_flag=True, help="Leave out rows that cannot be read."
    ),
}  # how the file is read; they mean nothing without one


def question_command(kind: str, name: str = "", without: Sequence[str] = ()) -> click.Command:
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
        how = {name: options.pop(name) for name in _OF_FILE if name in options}
        if records is not None:
            if given.dummy:
                raise InvalidInput("--dummy answers one question at a time: leave out --records.")
            if options.get("record") is not None:
                raise InvalidInput("Give --record or --records, not both.")
            if out is not None:
                check_ending(out)
            ask_many = screen_all if kind == "screening" else answer_all
            file = _RecordsFile(records, out, **how)
            ask_many(given, lambda record: read(question, {**options, "record": record}), file)
            return
        if any(how.values()) or (how and out is not None):
            raise InvalidInput("--key, --only, --leave-out and --out are for --records FILE.")
        asked, public = read(question, options)
        answer(given, asked, public=public, picture=picture, out=out)

    about_a_record = "record" in [declared.name for declared in inputs(question)]
    account = click.command()(asking()(ask))
    example = question.example
    if "records" in without:
        example = example.partition(" --records")[0]
    params = [
        *[_option(entry, question.shortcuts.instead) for entry in _inputs(question)],
        *[_former(entry, former) for entry in _inputs(question) for former in _formerly(entry)],
        *([_OUT] if about_a_record or question.keep is not Question.keep else []),
        *([_PICTURE] if question.draw is not Question.draw else []),
        *([_RECORDS, *_OF_FILE.values()] if about_a_record else []),
        *account.params,
    ]
    return QuestionCommand(
        name or kind,
        shown=_ALWAYS,
        callback=account.callback,
        params=[param for param in params if param.name not in without],
        help="\n\n".join(dict.fromkeys((question.asks, summary(question)))),
        epilog=f"Example: whitecrow {f'{kind} {name}'.strip()} {example}",
    )


def read(question: type[Question], options: Mapping[str, Any]) -> tuple[Question, dict[str, Any]]:
    """Build the question and the public guesses that the options describe."""
    given = {}
    for entry in _inputs(question):
        typed = options.get(entry.name)
        for name in _formerly(entry):
            typed = options.get(f"former_{name}") if typed is None else typed
        if typed is not None:
            given[entry.name] = _value(entry, typed, question.__name__)
    parameters = assembled(question, given)
    shortcuts = question.shortcuts.from_json(assembled(question.shortcuts, given))
    public = assembled(question.guesses, given)
    return question.from_json(shortcuts.expand(parameters)), public


class QuestionCommand(FoldedCommand):
    """A command whose help has its options in parts, and details and the account folded away."""

    titles = tuple(_SECTIONS.values())
    arguments: ClassVar = {"data": ("DATA", _DATA)}

    def section_of(self, parameter: click.Parameter) -> tuple[str, bool]:
        section = getattr(parameter, "section", "output" if parameter.name in _OUTPUT else "")
        always = parameter.name in self.shown if section == "" else section != "details"
        return _SECTIONS.get(section, "Details"), always

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        lead, _, more = (self.help or "").partition("\n\n")
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(lead)
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
        for entry in inputs(declared):
            by_name.setdefault(entry.name, entry)
    return list(by_name.values())


def _option(entry: Input, instead: Mapping[str, str]) -> click.Option:
    parameter = entry.parameter
    named = [parameter.flag, entry.name]
    settings: dict[str, Any] = {"help": _help(entry, instead.get(entry.name)), "default": None}
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


def _formerly(entry: Input) -> list[str]:
    """Earlier names of an option: the parameter's, and its own where the terminal has another."""
    named = entry.parameter.flag != "--" + entry.name.replace("_", "-")
    return [
        *([entry.parameter.former] if entry.parameter.former else []),
        *([entry.name] if named and entry.name in ("metric", "notion") else []),
    ]


def _former(entry: Input, name: str) -> click.Option:
    """An earlier name of an option, which still works for one release."""
    flag = "--" + name.replace("_", "-")

    def renamed(_: click.Context, __: click.Parameter, value: Any) -> Any:
        if value is not None:
            click.echo(f"note: {flag} is called {entry.parameter.flag} now", err=True)
        return value

    return click.Option([flag, f"former_{name}"], hidden=True, callback=renamed)


def _help(entry: Input, instead: str | None) -> str:
    parameter = entry.parameter
    if parameter.required:
        needed = "required" if instead is None else f"required, or {instead}"
        return f"{parameter.help}  [{needed}]" if entry.required else parameter.help
    default = parameter.dump_default()
    if default in (None, "", "0", 0, False):
        return parameter.help
    shown = parameter.flag[2:] if default is True else parameter.to_text(default)
    return f"{parameter.help}  [default: {shown}]"


def _value(entry: Input, typed: Any, owner: str) -> object:
    if not isinstance(typed, str):
        return typed
    if typed.startswith("@") and entry.parameter.control in ("record", "object"):
        typed = read_text(typed[1:], f"file of {entry.parameter.flag},")
    return entry.parameter.from_text(typed, owner)


# A file of records

_SHOWN = 10

Make = Callable[[Any], tuple[Question, dict[str, Any]]]
"""Gives the question about a record, and the public guesses for its expected error."""


@dataclass(frozen=True)
class _RecordsFile:
    """A file of records to ask about, how it is read, and where the answers go."""

    path: str
    out: str | None
    key: str | None
    only: str | None
    leave_out: bool

    @property
    def columns(self) -> list[str] | None:
        return None if self.only is None else [name.strip() for name in self.only.split(",")]

    def rows(
        self, card: Card, columns: list[str] | None
    ) -> tuple[list[tuple[Any, dict[str, Any]]], list[Any]]:
        """The key and the record of each row that can be asked about; the keys of the others."""
        from whitecrow.data.asked import read_asked

        asked = read_asked(self.path, card, key=self.key, columns=columns, leave_out=self.leave_out)
        pairs = zip(asked.keys, asked.records, strict=True)
        rows = [(name, record) for name, record in pairs if record is not None]
        if not rows:
            raise InvalidInput("No row of the file can be asked about. Nothing was asked.")
        return rows, asked.left_out

    def show(
        self,
        given: Asking,
        answers: list[dict[str, Any]],
        left_out: list[Any],
        release: Release,
        words: tuple[str, list[str], list[str]],
        more: Mapping[str, Any],
    ) -> None:
        """Write or list the answers, and tell of them all what the last ``release`` tells.

        For people are the ``words``: a summary, the first answers, the promise and the price; for
        programs what there is ``more``.
        """
        summary, listed, price = words
        if self.out is not None:
            self._write(answers, Path(self.out))
            listed = [f"written    {self.out}"]
        if left_out:
            listed = [*listed, f"left out   {len(left_out)} rows that cannot be read"]
        result = {
            **more,
            "answers": answers,
            "left_out": left_out,
            "statement": release.statement,
            "error": release.error,
            "ledger": dict(release.ledger),
            "out": self.out,
        }
        given.output.show(result, "\n".join([summary, *listed, *price]))

    def _write(self, answers: list[dict[str, Any]], target: Path) -> None:
        """Write the table; an answer that is neither a truth value nor a number is JSON text."""
        import pyarrow

        if not all(isinstance(answer["answer"], bool | int | float) for answer in answers):
            answers = [
                {**answer, "answer": json.dumps(answer["answer"], ensure_ascii=False)}
                for answer in answers
            ]
        table = pyarrow.Table.from_pylist(answers)
        names = [self.key or "row", *table.column_names[1:]]
        write_tables(iter([table.rename_columns(names)]), target)


def answer_all(given: Asking, make: Make, file: _RecordsFile) -> None:
    """Price the questions about all records together, ask them, and show or write a table."""
    curator = opened(given)
    rows, left_out = file.rows(curator.card, file.columns)
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
    headlines = [
        question.says(release.answer).headline
        for question, release in zip(questions, releases, strict=True)
    ]
    commonest = Counter(headlines).most_common(4)
    counted = ", ".join(f"{times} x {headline!r}" for headline, times in commonest)
    counted += ", ..." if len(set(headlines)) > len(commonest) else ""
    keys = [str(name) for name, _ in rows[:_SHOWN]]
    width = max(map(len, keys))
    listed = [
        f"           {name:<{width}}  {headline}"
        for name, headline in zip(keys, headlines, strict=False)
    ]
    if len(answers) > _SHOWN:
        listed.append(f"           ... {len(answers) - _SHOWN} more (use --out or --json)")
    charged, last = sum(release.charged for release in releases), releases[-1]
    left = last.ledger.get("remaining", {})
    price = [
        *([f"error      of each: {last.error}"] if last.error else []),
        f"promise    of each: {last.statement}",
        f"charged    {charged}; {len(releases) - charged} were answered before",
        f"remaining  {', '.join(f'{notion} {amount}' for notion, amount in left.items())}",
    ]
    words = f"answers    {len(releases)}: {counted}", listed, price
    more = {"plan": plan.to_json(), "warning": last.warning}
    file.show(given, answers, left_out, last, words, more)


# whitecrow screening: pay once, ask about any number of records, end it

_OF_RECORDS = ("record", "records", "batch", "out", *_OF_FILE)


def screening_group() -> click.Group:
    """Return ``whitecrow screening`` with its commands ``open``, ``ask`` and ``close``."""
    group = click.Group("screening", help=BUILT_IN["screening"][1] + ".")
    begin = question_command("screening", "open", without=_OF_RECORDS)
    group.add_command(begin)
    group.add_command(question_command("screening", "ask", without=("batch",)))
    close = click.command()(asking()(_end))
    own = {"help_all", *(parameter.name for parameter in close.params)}
    group.add_command(
        QuestionCommand(
            "close",
            shown=_ALWAYS,
            callback=close.callback,
            params=[*(each for each in begin.params if each.name not in own), *close.params],
            help=_end.__doc__,
            epilog="Example: whitecrow screening close trips.csv --beta 300 --radius 4 "
            "--epsilon 1 --delta 1e-6",
        )
    )
    return group


def screen_all(given: Asking, make: Make, file: _RecordsFile) -> None:
    """Ask about every record of a file, and show or write who would be an anomaly."""
    from whitecrow.screening.opened import OpenScreening

    curator = opened(given)
    series: Any
    series, public = make(None)
    if series.columns is None and file.columns is not None:
        series = series.replace(columns=file.columns)
    described = curator.describe(series, **public)
    given.output.warn(described.warning)
    if given.price_only:
        given.output.show(described.to_json(), described.words)
        return
    rows, left_out = file.rows(curator.card, file.columns or list(series.names(curator.card)))
    opening = curator.ask(series)
    with given.output.progress() as progress:
        screening = OpenScreening(curator, series, opening)
        flags = screening.ask_all([record for _, record in rows], progress=progress).tolist()
    answers = [{"key": name, "answer": flag} for (name, _), flag in zip(rows, flags, strict=True)]
    flagged = [str(answer["key"]) for answer in answers if answer["answer"]]
    more = ", ..." if len(flagged) > _SHOWN else ""
    listed = [f"           {', '.join(flagged[:_SHOWN])}{more}"] if flagged else []
    when = "now, for any number of records" if opening.charged else "nothing: paid before"
    price = [f"promise    of all answers: {opening.statement}", f"charged    {when}"]
    words = f"anomalies  {len(flagged):,} of {len(rows):,} records", listed, price
    file.show(given, answers, left_out, opening, words, {"charged": opening.charged})


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
