"""How the terminal speaks: text for people, one JSON object for programs, errors for both."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import click

from whitecrow.errors import WhitecrowError, exit_status, to_json

__all__ = ["Output", "report_error"]

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Output:
    """Where results go.

    Parameters
    ----------
    as_json : bool
        Whether standard output carries one JSON object and nothing else.
    """

    as_json: bool

    def show(self, result: Mapping[str, Any], words: str) -> None:
        """Print the JSON object, or the words for people."""
        click.echo(json.dumps(result, ensure_ascii=False) if self.as_json else words)

    def say(self, words: str) -> None:
        """Print a line on the way to the result (on standard error, never with --json)."""
        if not self.as_json:
            click.echo(words, err=True)

    def warn(self, words: str) -> None:
        """Print a warning on standard error, with --json too; nothing if there is none."""
        if words:
            click.secho(words, err=True, fg="red", bold=True)

    @contextlib.contextmanager
    def progress(self) -> Iterator[Progress | None]:
        """A progress bar on standard error, if a person is watching."""
        if self.as_json or not sys.stderr.isatty():
            yield None
            return
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
            tasks: dict[str, Any] = {}

            def update(done: int, total: int, what: str) -> None:
                if what not in tasks:
                    tasks[what] = bar.add_task(what, total=total)
                bar.update(tasks[what], completed=done, total=total)

            yield update


def report_error(error: WhitecrowError, *, as_json: bool) -> int:
    """Print an error in the form the caller reads and return the exit status."""
    said = to_json(error)
    if as_json:
        click.echo(json.dumps(said, ensure_ascii=False))
    else:
        click.echo(f"{next(iter(said))}: {error}", err=True)
    return exit_status(error)
