"""A progress bar for terminals and notebooks."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any


@contextlib.contextmanager
def progress_bar(*, stderr: bool = False) -> Iterator[Callable[[int, int, str], None]]:
    """Show a bar while the block runs; what it gives is a question's ``progress``.

    ``with progress_bar() as progress: curator.ask(question, progress=progress)``. In a notebook
    the bar stands under the cell, on a terminal below the line.

    Parameters
    ----------
    stderr : bool, default False
        Whether the bar goes to standard error, where it does not mix with results.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=stderr), transient=True) as bar:
        tasks: dict[str, Any] = {}

        def update(done: int, total: int, what: str) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total)
            bar.update(tasks[what], completed=done, total=total)

        yield update
