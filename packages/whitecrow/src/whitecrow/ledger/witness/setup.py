"""Which witness a ledger has; kept in the ledger, so that a copy of it knows its witness."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select

from whitecrow.errors import InvalidInput
from whitecrow.ledger.database import Database
from whitecrow.ledger.schema import witness
from whitecrow.ledger.witness.opening import place_of
from whitecrow.ledger.witness.places import Place
from whitecrow.ledger.witness.statement import Evidence, SigningKey

KEY_FILE = "WHITECROW_WITNESS_KEY_FILE"
"""The environment variable that says where the key is on this machine."""

_SETUP = select(witness).order_by(witness.c.ledger)


@dataclass(frozen=True)
class Setup:
    """Which witness a ledger has; kept in the ledger, so that a copy of it knows its witness.

    Parameters
    ----------
    ledger : str
        The ledger's own random name.
    address : str
        Where the witness is kept: a file, a database URL, or an instance of the service.
    key : str
        The file with the key that signs; the environment may name another.
    public : str
        The public key.
    seconds : int
        0: the witness is written before an answer leaves. Else in this interval: what was
        answered since may be forgotten by a restore.
    """

    ledger: str
    address: str
    key: str
    public: str
    seconds: int = 0

    def signing_key(self) -> SigningKey:
        """Read the key, which must be the one that the ledger knows."""
        found = SigningKey(Path(os.environ.get(KEY_FILE) or self.key))
        if found.public != self.public:
            raise InvalidInput("The key that was given is not the one that this ledger signs with.")
        return found

    def place(self) -> Place:
        """Open the place."""
        return place_of(self.address, self.ledger, self.public)

    def read(self) -> Evidence:
        """What the witness says."""
        with closing(self.place()) as place:
            return place.read()


def setup_of(database: Database) -> Setup | None:
    """Which witness a ledger has."""
    row = database.read(lambda session: session.one(_SETUP))
    return None if row is None else Setup(**row._asdict())
