"""How the terminal speaks: text for people, JSON for programs, errors for both; and its help."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import click

from whitecrow.errors import WhitecrowError, exit_status, to_json

WIDEST = 100
"""No line that a person reads is longer, whatever the terminal."""


@dataclass(frozen=True)
class Output:
    """Where results go."""

    as_json: bool  # whether standard output carries one JSON object and nothing else

    def show(self, result: Mapping[str, Any], words: str, *, raw: bool = False) -> None:
        """Print the JSON object, or the words for people; ``raw`` words are for a file."""
        if self.as_json:
            click.echo(json.dumps(result, ensure_ascii=False))
        else:
            click.echo(words if raw else wrapped(words))

    def say(self, words: str) -> None:
        """Print a line on the way to the result (on standard error, never with --json)."""
        if not self.as_json:
            click.echo(wrapped(words), err=True)

    def table(self, title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Print a table, in colour where a person is watching; the second column is the answer."""
        from rich.box import SIMPLE_HEAD
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        shown = Table(*head, title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
        shown.title_style, shown.header_style = "bold", "dim"
        for column, style in zip(shown.columns, ("", "bold green", "yellow"), strict=False):
            column.style, column.overflow = style, "fold"
        shown.columns[0].no_wrap = shown.columns[-1].no_wrap = True
        shown.columns[-1].style = "cyan"
        for row in rows:
            shown.add_row(*map(Text, row))  # text, never markup: a card's names come from outside
        Console(width=width(), highlight=False).print(shown)

    def warn(self, words: str) -> None:
        """Print a warning on standard error, with --json too; nothing if there is none."""
        if words:
            click.secho(wrapped(words), err=True, fg="red", bold=True)

    @contextlib.contextmanager
    def progress(self) -> Iterator[Callable[[int, int, str], None] | None]:
        """A progress bar on standard error, if a person is watching."""
        if self.as_json or not watched():
            yield None
            return
        from whitecrow.rendering import progress_bar

        with progress_bar(stderr=True) as update:
            yield update


def width() -> int:
    """How many columns a line may have: the terminal's, but no more than is read with ease."""
    return min(WIDEST, shutil.get_terminal_size((WIDEST, 24)).columns)


def wrapped(text: str) -> str:
    """Wrap each line; what follows a label is aligned under itself."""
    lines = []
    for line in text.splitlines():
        if len(re.findall(r"\S {2,}", line)) > 2:  # a row of a table keeps its columns
            lines.append(line)
            continue
        label = re.match(r"\s*(?:\S+ {2,})?", line)
        wrapper = textwrap.TextWrapper(
            width(),
            subsequent_indent=" " * (len(label[0]) if label else 0),
            break_long_words=False,
            break_on_hyphens=False,
            replace_whitespace=False,
        )
        lines.append(wrapper.fill(line))
    return "\n".join(lines)


def watched() -> bool:
    """Whether a person looks at standard error."""
    return sys.stderr.isatty()


def report_error(error: WhitecrowError, *, as_json: bool) -> int:
    """Print an error in the form the caller reads and return the exit status."""
    report = to_json(error)
    if as_json:
        click.echo(json.dumps(report, ensure_ascii=False))
    else:
        kind = next(iter(report))
        what, fix = _parted(str(error))
        click.secho(f"{kind}: ", nl=False, err=True, fg="red", bold=True)
        click.echo(wrapped(f"{kind}: {what}").removeprefix(f"{kind}: "), err=True)
        if fix:
            click.echo(wrapped(fix), err=True)
    return exit_status(error)


def _parted(message: str) -> tuple[str, str]:
    """What is wrong, and its last sentence, which says what to do."""
    what, stop, fix = message.rpartition(". ")
    if not stop or not fix[:1].isupper() or what.count("'") % 2 or what.count('"') % 2:
        return message, ""
    return f"{what}.", fix


_ALL = "whitecrow.help_all"


def _show_all(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


def help_all_option() -> click.Option:
    """Return the option that shows the whole help."""
    return click.Option(
        ["--help-all"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_show_all,
        hidden=True,  # it is named where something is folded away
    )


def whole(ctx: click.Context) -> bool:
    """Whether the whole help was asked for."""
    return bool(ctx.meta.get(_ALL))


def short(text: str, width: int = 1000) -> str:
    """The first sentence of a help text, on one line, and whether the option is required."""
    words, *brackets = text.split("  [")
    needed = next((f"  [{bracket}" for bracket in brackets if "required" in bracket), "")
    first = re.split(r"(?<=[.;:?]) (?=[A-Z])", words, maxsplit=1)[0]
    return textwrap.shorten(first, width - len(needed), placeholder=" ...") + needed


def write_rows(
    ctx: click.Context,
    formatter: click.HelpFormatter,
    title: str,
    rows: Sequence[tuple[str, str]],
    widest: int = 30,
) -> None:
    """Write a section of the help: whole, or a line for each row."""
    with formatter.section(title):
        if whole(ctx):
            formatter.write_dl(rows, col_max=widest)
        else:
            room = formatter.width - max(len(name) for name, _ in rows) - 4
            formatter.write_dl([(name, short(text, room)) for name, text in rows])


class FoldedCommand(click.Command):
    """A command whose help always shows the options ``shown``, and others with --help-all."""

    titles: Collection[str] = ("Options",)
    arguments: ClassVar[Mapping[str, tuple[str, str]]] = {}

    def __init__(self, *args: Any, shown: Collection[str], **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.shown = {*shown, "help", "_click_default_help", "help_all"}
        self.params.append(help_all_option())

    def section_of(self, parameter: click.Parameter) -> tuple[str, bool]:
        """Return the title that an option stands under, and whether help always shows it."""
        return "Options", parameter.name in self.shown

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        parts: dict[str, list[tuple[str, str]]] = {title: [] for title in self.titles}
        folded = []
        for parameter in self.get_params(ctx):
            title, always = self.section_of(parameter)
            record = self.arguments.get(parameter.name or "") or parameter.get_help_record(ctx)
            if record is not None and (always or whole(ctx)):
                parts[title].append(record)
            elif record is not None:
                folded.append(parameter.opts[0])
        for title, rows in parts.items():
            if rows:
                write_rows(ctx, formatter, title, rows)
        if folded:
            formatter.write_paragraph()
            formatter.write_text(f"More, with --help-all: {', '.join(folded)}")
