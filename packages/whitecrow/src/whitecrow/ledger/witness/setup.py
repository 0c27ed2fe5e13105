"""Which witness a ledger has; kept in the ledger, so that a copy of it knows its witness."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select

from whitecrow.errors import InvalidInput
from whitecrow.ledger.database import Database
from whitecrow.ledger.engine import parsed
from whitecrow.ledger.schema import witness
from whitecrow.ledger.witness.instance import InstancePlace
from whitecrow.ledger.witness.places import DatabasePlace, FilePlace, Place
from whitecrow.ledger.witness.statement import Evidence, SigningKey

KEY_FILE = "WHITECROW_WITNESS_KEY_FILE"
"""The environment variable that says where the key is on this machine."""

_SETUP = select(witness).order_by(witness.c.ledger)


@dataclass(frozen=True)
class Setup:
    """Which witness a ledger has; kept in the ledger, so that a copy of it knows its witness."""

    ledger: str  # the ledger's own random name
    address: str  # where the witness is kept: a file, a database URL, or an instance of the service
    key: str  # the file with the key that signs; the environment may name another
    public: str  # the public key
    # 0: the witness is written before an answer leaves. Else in this interval: what was answered
    # since may be forgotten by a restore.
    seconds: int = 0

    def signing_key(self) -> SigningKey:
        """Read the key, which must be the one that the ledger knows."""
        found = SigningKey(Path(os.environ.get(KEY_FILE) or self.key))
        if found.public != self.public:
            raise InvalidInput("The key that was given is not the one that this ledger signs with.")
        return found

    def place(self) -> Place:
        return place_of(self.address, self.ledger, self.public)

    def read(self) -> Evidence:
        with closing(self.place()) as place:
            return place.read()


def setup_of(database: Database) -> Setup | None:
    row = database.read(lambda session: session.one(_SETUP))
    return None if row is None else Setup(**row._asdict())


_INSTANCE = ("https://", "http://")


def place_of(address: str, ledger: str, public: str) -> Place:
    """Open the place of a witness: a file, a database URL, or another instance of the service."""
    if address.startswith(_INSTANCE):
        return InstancePlace(address, ledger, public)
    if "://" in address:
        return DatabasePlace(address, ledger, public)
    return FilePlace(Path(address), ledger, public)


def shown(address: str) -> str:
    """How to call a place in messages; without a password."""
    if "://" not in address or address.startswith(_INSTANCE):
        return address
    return parsed(address).render_as_string(hide_password=True)
