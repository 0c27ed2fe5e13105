"""The catalogue: which datasets there are, where their records lie, who may know of them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, Select, insert, select, update

from whitecrow.data import Card, SqlQuery, is_lake
from whitecrow.errors import InvalidInput, NotKnown, Taken, invalid
from whitecrow.ledger.schema import datasets as accounts
from whitecrow_server._people import good_name, is_name
from whitecrow_server._settings import Settings
from whitecrow_server._store import Store, VersionedCache
from whitecrow_server._tables import access, people, sources

EVERY_ANALYST = "*"
"""In an access list: all analysts, those of the future too."""


@dataclass(frozen=True)
class Listing:
    name: str  # its name, also that of its account
    source: Mapping[str, str]  # ``{"file": NAME}`` or ``{"database": NAME, "query": SELECT}``
    card: Card | None  # the public facts
    engine: str  # who counts neighbours
    revision: int = 1  # grows with every change of card or source
    # Sets of columns over which an index is built when the dataset is loaded.
    indexes: tuple[tuple[str, ...], ...] = ()


class Catalogue:
    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self.log = settings.beside_ledger
        self._seen: VersionedCache[tuple[str, str], Listing | None] = VersionedCache(store.version)

    def add(self, connection: Connection, listing: Listing, readers: Iterable[str]) -> None:
        """List a dataset, in a transaction that also opens its account."""
        name = good_name(listing.name, "a dataset")
        if connection.execute(select(sources.c.name).where(sources.c.name == name)).first():
            raise Taken(f"There is a dataset called {name!r} already.")
        connection.execute(
            insert(sources).values(
                name=name,
                source=json.dumps(listing.source),
                card=_card_text(listing.card),
                engine=listing.engine,
                indexes=json.dumps(listing.indexes),
                revision=listing.revision,
                created=time.time(),
            )
        )
        self.admit(connection, name, readers)

    def remove_unaccounted(self) -> list[str]:
        """Take back listings that have no account, and return their names.

        An earlier version wrote the listing first and the account afterwards: one that died between
        left a name that could neither be asked about nor registered again.
        """
        with self._store.transaction() as connection:
            # One statement, which sees one moment: listing and account appear together.
            query = select(sources.c.name).where(sources.c.name.not_in(select(accounts.c.name)))
            left = list(connection.execute(query).scalars())
            connection.execute(access.delete().where(access.c.dataset.in_(left)))
            connection.execute(sources.delete().where(sources.c.name.in_(left)))
        return left

    def remove(self, connection: Connection, name: str) -> None:
        """Take a dataset off the list, in an open transaction that tells its account."""
        connection.execute(access.delete().where(access.c.dataset == name))
        connection.execute(sources.delete().where(sources.c.name == name))

    def change(self, connection: Connection, name: str, *, card: Card) -> None:
        """Use another card, in an open transaction; workers read the records again."""
        _revise(connection, name, card=_card_text(card))

    def reload(self, name: str) -> None:
        """Let the workers read the records of a dataset again."""
        with self._store.transaction() as connection:
            _revise(connection, name)

    def admit(self, connection: Connection, name: str, readers: Iterable[str]) -> None:
        """Say which analysts may know of a dataset, in an open transaction; others may not."""
        query = select(people.c.name).where(people.c.role == "analyst")
        analysts = {EVERY_ANALYST, *connection.execute(query).scalars()}
        connection.execute(access.delete().where(access.c.dataset == name))
        for reader in sorted(set(readers)):
            if reader not in analysts:
                raise InvalidInput(f"There is no analyst called {reader!r}.")
            connection.execute(insert(access).values(dataset=name, person=reader))

    def all(self, *, analyst: str = "") -> list[Listing]:
        """All datasets by name; with an analyst, those that they may know of."""
        query = _visible_to(analyst).order_by("name")
        return [_listing(row) for row in self._store.rows(query)]

    def get(self, name: str, *, analyst: str = "") -> Listing:
        """One dataset; with an analyst, only if they may know of it."""
        if not is_name(name):
            raise unknown(name)
        listing = self._seen.get((name, analyst), lambda: self._read(name, analyst))
        if listing is None:
            raise unknown(name)
        return listing

    def _read(self, name: str, analyst: str) -> Listing | None:
        row = self._store.row(_visible_to(analyst).where(sources.c.name == name))
        return None if row is None else _listing(row)

    def records(self, source: Mapping[str, Any]) -> Path | SqlQuery:
        """Where records lie, if they may be registered at all."""
        if set(source) == {"file"}:
            return self._file(source["file"])
        if set(source) != {"database", "query"}:
            raise InvalidInput(
                'A source is {"file": NAME} or {"database": NAME, "query": "SELECT ..."}.'
            )
        address = self._settings.databases.get(source["database"])
        if address is None or not isinstance(source["query"], str):
            raise InvalidInput(
                f"The service is set up with no database called {source['database']!r}."
            )
        return SqlQuery(address, source["query"])

    def _file(self, name: object) -> Path:
        """A file inside the data folder, whatever links and dots its name has."""
        folder = self._settings.folder
        if folder is None:
            raise InvalidInput("The service is set up with no folder of data files.")
        if not isinstance(name, str) or not name or "\0" in name:
            raise invalid("a source", "file", "the name of a file in the data folder", name)
        path = (folder / name).resolve()
        # A folder of a table names its files itself, and its reader leaves it for none of them.
        if not (path.is_relative_to(folder) and (path.is_file() or is_lake(path))):
            raise InvalidInput(f"There is no file {name!r} in the service's data folder.")
        return path


def check_source(records: Path | SqlQuery, card: Card | None) -> None:
    """Refuse what could write, and what would need types read from records."""
    if isinstance(records, SqlQuery):
        records.check()
    elif card is None and records.suffix.lower() == ".csv":
        raise InvalidInput(
            "A CSV file says nothing of the types of its columns: register it with a card "
            "(whitecrow card new drafts one)."
        )


def unknown(name: str) -> NotKnown:
    """The one error for datasets that do not exist or may not be known."""
    return NotKnown(f"There is no dataset {name!r}.")


def _revise(connection: Connection, name: str, **values: Any) -> None:
    changed = update(sources).where(sources.c.name == name)
    connection.execute(changed.values(revision=sources.c.revision + 1, **values))


def _visible_to(analyst: str) -> Select[Any]:
    """The datasets that an analyst may know of; with an empty name all there are."""
    if not analyst:
        return select(sources)
    listed = access.c.person.in_((analyst, EVERY_ANALYST))
    return select(sources).where(sources.c.name.in_(select(access.c.dataset).where(listed)))


def _card_text(card: Card | None) -> str | None:
    return None if card is None else json.dumps(card.to_json())


def _listing(row: Row[Any]) -> Listing:
    return Listing(
        row.name,
        json.loads(row.source),
        None if row.card is None else Card.from_json(json.loads(row.card)),
        row.engine,
        row.revision,
        tuple(map(tuple, json.loads(row.indexes))),
    )
