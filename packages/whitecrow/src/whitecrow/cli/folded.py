"""Help on one screen: options that few need are named at its end, and --help-all shows them."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

import click

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
    """The first sentence of a help text, on one line, and whether the option is required.

    Examples
    --------
    >>> short("The price, exact: 0.1 or 1/10. Smaller protects more.  [required]")
    'The price, exact: 0.1 or 1/10.  [required]'
    """
    words, *brackets = text.split("  [")
    needed = next((f"  [{one}" for one in brackets if "required" in one), "")
    first = re.split(r"(?<=[.;:?]) (?=[A-Z])", words, maxsplit=1)[0]
    return textwrap.shorten(first, width - len(needed), placeholder=" ...") + needed


def write_short(formatter: click.HelpFormatter, rows: Sequence[tuple[str, str]]) -> None:
    first = max(len(name) for name, _ in rows) + 4
    formatter.write_dl([(name, short(text, formatter.width - first)) for name, text in rows])


class FoldedCommand(click.Command):
    """A command whose help always shows the options ``shown``, and others with --help-all."""

    def __init__(self, *args: Any, shown: Collection[str], **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.shown = shown
        self.params.append(help_all_option())

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows, folded = [], []
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            always = parameter.name in (*self.shown, "help", "_click_default_help", "help_all")
            if whole(ctx) or always:
                rows.append(record)
            else:
                folded.append(parameter.opts[0])
        with formatter.section("Options"):
            (formatter.write_dl if whole(ctx) else partial(write_short, formatter))(rows)
        write_folded(formatter, folded)


def write_folded(formatter: click.HelpFormatter, names: Sequence[str]) -> None:
    """Name the options that are folded away."""
    if names:
        formatter.write_paragraph()
        formatter.write_text(f"More, with --help-all: {', '.join(names)}")
