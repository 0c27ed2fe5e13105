"""The ledger that a command speaks of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from whitecrow.errors import InvalidInput

if TYPE_CHECKING:
    from whitecrow.ledger import Ledger


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
    known = ledger.datasets()
    if dataset is None and len(known) == 1:
        return known[0]
    if dataset not in known:
        listed = ", ".join(known) or "none"
        raise InvalidInput(f"Name the account with --dataset; the ledger holds: {listed}.")
    return dataset
