"""Files that commands read and write, and the ledger that a command speaks of."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whitecrow.cli.screen_output import Output
from whitecrow.errors import InvalidInput

if TYPE_CHECKING:
    from whitecrow.ledger import Ledger


def read_text(file: str, what: str) -> str:
    """Return the text of a file that a command names."""
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise InvalidInput(f"The {what} {file!r} cannot be read.") from None


def check_absent(out: str) -> None:
    if Path(out).exists():
        raise InvalidInput(f"{out!r} exists already; name another file or remove it first.")


def write_new(out: str, text: str) -> None:
    """Write a file that must not exist yet."""
    check_absent(out)
    Path(out).write_text(text, encoding="utf-8")


_ENDINGS = (".parquet", ".pq", ".csv")


def check_ending(target: str | Path) -> None:
    """Refuse a file whose ending names no format that is written."""
    if Path(target).suffix.lower() not in _ENDINGS:
        raise InvalidInput(f"--out must end in .parquet or .csv; got {Path(target).name!r}.")


def write_tables(tables: Iterator[Any], target: Path) -> None:
    """Write tables as they come; an unfinished file does not stay."""
    from pyarrow import csv, parquet

    check_ending(target)
    made = csv.CSVWriter if target.suffix.lower() == ".csv" else parquet.ParquetWriter
    partial = target.with_name(f".{target.name}.part")
    writer = None
    try:
        for table in tables:
            if writer is None:
                writer = made(str(partial), table.schema)
            writer.write_table(table)
        if writer is not None:
            writer.close()
            partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def opened_ledger(source: str) -> Iterator[Ledger]:
    """Open the ledger that belongs to a source, if there is one: looking never makes one."""
    from whitecrow.curator.opening import beside
    from whitecrow.ledger import Ledger
    from whitecrow.place.balls import BALLS

    url: str | Path = source
    if "://" not in source:
        path = Path(source)
        is_ledger = path.suffix in (".db", ".sqlite", ".sqlite3")
        url = path if is_ledger else beside(path) or path
        if not Path(url).exists():
            raise InvalidInput(f"There is no ledger {str(url)!r}; asking a question makes one.")
    with Ledger(url, geometry=BALLS) as ledger:
        yield ledger


def chosen(ledger: Ledger, dataset: str | None) -> str:
    """The name of the account a command speaks of; the only one if none is named."""
    accounts = ledger.datasets()
    if dataset is None and len(accounts) == 1:
        return accounts[0]
    if dataset not in accounts:
        listed = ", ".join(accounts) or "none"
        raise InvalidInput(f"Name the account with --dataset; the ledger holds: {listed}.")
    return dataset


FILE = click.Path(dir_okay=False)
DATASET = click.option("--dataset", help="Which account, if the ledger holds several.")


def of_ledger(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command SOURCE; it receives its output and the ledger before its own options."""

    @click.argument("source", metavar="SOURCE")
    @click.pass_obj
    @functools.wraps(command)
    def wrapped(output: Output, /, source: str, **options: Any) -> None:
        with opened_ledger(source) as ledger:
            command(output, ledger, **options)

    return wrapped


def of_account(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command SOURCE and --dataset; it receives the account's name after the ledger."""

    @of_ledger
    @DATASET
    @functools.wraps(command)
    def wrapped(output: Output, ledger: Ledger, /, dataset: str | None, **options: Any) -> None:
        command(output, ledger, chosen(ledger, dataset), **options)

    return wrapped
