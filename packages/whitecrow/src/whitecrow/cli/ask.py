"""A command for every question, made from the question's declaration."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from whitecrow.cli.common import Asking, answer, asking
from whitecrow.cli.folded import help_all_option, whole, write_folded, write_short
from whitecrow.cli.records import FILE_OPTIONS, answer_all, records_options
from whitecrow.declaration import Flag, Input, assembled, inputs, summary
from whitecrow.errors import InvalidInput
from whitecrow.question import Question
from whitecrow.questions import question_type

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
"""How a file of records is asked about; see :func:`whitecrow.cli.records.answer_all`."""


def question_command(
    kind: str, name: str = "", *, many: Many = answer_all, without: Sequence[str] = ()
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
            many(given, _about(question, options), records=records, out=out, **how)
            return
        if any(how.values()) or (how and out is not None):
            raise InvalidInput("--key, --only, --leave-out and --out are for --records FILE.")
        asked, public = read(question, options)
        answer(given, asked, public=public, picture=picture, out=out)

    about_a_record = "record" in [one.name for one in inputs(question)]
    made = asking(functools.wraps(ask)(ask))
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
    written = assembled(question, given)
    shortcuts = question.shortcuts.from_json(assembled(question.shortcuts, given))
    public = assembled(question.guesses, given)
    return question.from_json(shortcuts.expand(written)), public


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
            place = "output" if parameter.name in _OUTPUT else ""
            section = getattr(parameter, "section", place)
            if whole(ctx):
                parts.setdefault(section, []).append(record)
            elif section == "details" or (section == "" and parameter.name not in _ALWAYS):
                folded.append(parameter.opts[0])
            else:
                parts.setdefault(section, []).append(record)
        for section, title in _SECTIONS.items():
            if section in parts:
                with formatter.section(title):
                    if whole(ctx):
                        formatter.write_dl(parts[section])
                    else:
                        write_short(formatter, parts[section])
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
    found: dict[str, Input] = {}
    for declared in (question, question.shortcuts, question.guesses):
        for one in inputs(declared):
            found.setdefault(one.name, one)
    return list(found.values())


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
    found = _Option(named, **settings)
    found.section = parameter.group
    return found


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
    said = parameter.flag[2:] if default is True else parameter.to_text(default)
    return f"{parameter.help}  [default: {said}]"


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
