"""The ring of keys that sign cookies: the newest signs, older ones still count for a while.

A key that may have leaked is replaced without signing anybody out; it stops counting when the
longest session that it could have signed is over. Tokens need no key: they are random, and kept as
hashes.
"""

from __future__ import annotations

import hashlib
import itertools
import secrets as randomness
import time
from typing import Any

from itsdangerous import BadSignature, URLSafeTimedSerializer
from sqlalchemy import Connection, insert, select

from whitecrow_server._store import Store, VersionedCache
from whitecrow_server._tables import secrets
from whitecrow_server._trail import Act, record

_NAME = "cookies"


class KeyRing:
    """Signs and reads short texts with the keys of all workers."""

    def __init__(self, store: Store, *, seconds: int) -> None:
        self._store, self._seconds = store, seconds
        self._signers: VersionedCache[str, URLSafeTimedSerializer] = VersionedCache(store.version)

    def signed(self, text: str) -> str:
        return str(self._signer().dumps(text))

    def read(self, signed: str) -> str | None:
        """The text that was signed, or None."""
        try:
            found = self._signer().loads(signed, max_age=self._seconds)
        except (BadSignature, UnicodeError):
            return None
        return found if isinstance(found, str) else None

    def rotate(self, *, by: str) -> None:
        """Sign with a new key from now on; keys whose time is over are forgotten."""
        with self._store.transaction() as connection:
            ring = list(connection.execute(_RING))
            # A key signed until the next one was made: it counts for one session's time longer.
            for old, newer in itertools.pairwise(ring):
                if newer.created < time.time() - self._seconds:
                    connection.execute(secrets.delete().where(secrets.c.name == old.name))
            _add(connection)
            record(connection, Act(by, "rotate-keys", ""))

    def _signer(self) -> URLSafeTimedSerializer:
        return self._signers.get(_NAME, self._made)

    def _made(self) -> URLSafeTimedSerializer:
        keys = [row.value for row in self._store.rows(_RING)]
        if not keys:  # made by the first that needs it
            # Not counted: nothing that anybody remembers depends on it.
            with self._store.transaction(counted=False) as connection:
                if connection.execute(_RING).first() is None:
                    _add(connection)
                keys = [row.value for row in connection.execute(_RING)]
        return URLSafeTimedSerializer(
            keys, salt="whitecrow.session", signer_kwargs={"digest_method": _sha256}
        )


def _add(connection: Connection) -> None:
    there = connection.execute(_RING).all()
    newest = 0 if not there else int(there[-1].name.partition("-")[2] or 0)
    name = _NAME if not there else f"{_NAME}-{newest + 1}"
    values = {"name": name, "value": randomness.token_hex(32), "created": time.time()}
    connection.execute(insert(secrets).values(values))


_RING = select(secrets).where(secrets.c.name.startswith(_NAME)).order_by(secrets.c.created)


def _sha256(data: bytes = b"") -> Any:
    return hashlib.sha256(data)
