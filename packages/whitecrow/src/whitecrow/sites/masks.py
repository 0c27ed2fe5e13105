"""Masks that two sites agree on and that cancel in the sum of all."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.errors import MissingExtra, invalid

Words = npt.NDArray[np.uint64]

_LENGTH = 32


class Key:
    """A site's key pair (X25519): the public half is handed to the other sites.

    Examples
    --------
    >>> north, south = Key(), Key()
    >>> north.secret_with(south.public) == south.secret_with(north.public)
    True
    """

    def __init__(self) -> None:
        self._private = _curve().X25519PrivateKey.generate()

    @property
    def public(self) -> bytes:
        """What the other sites need; it must reach them unchanged."""
        found: bytes = self._private.public_key().public_bytes_raw()
        return found

    def secret_with(self, public: bytes) -> bytes:
        """Return the secret that this site shares with the owner of a public key."""
        if len(public) != _LENGTH:
            raise invalid("Key", "public", "the 32 bytes of an X25519 key", f"{len(public)} bytes")
        other = _curve().X25519PublicKey.from_public_bytes(public)
        # The agreed point is no uniform string; a hash of it is as good as one.
        return hashlib.sha256(b"whitecrow sites" + self._private.exchange(other)).digest()


def _curve() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import x25519
    except ImportError:
        raise MissingExtra(
            "Keys of sites need the package cryptography: pip install 'whitecrow[witness]'. "
            "Secrets that were agreed upon elsewhere need no package."
        ) from None
    return x25519


def mask(secrets: Mapping[str, bytes], name: str, label: bytes, size: int) -> Words:
    """Return what one site adds to its numbers in one round, modulo 2^64.

    ``secrets`` are those shared with each other site. No two rounds have the same label, or their
    masks would be the same.

    Examples
    --------
    >>> secret = bytes(32)
    >>> one, two = mask({"b": secret}, "a", b"1", 2), mask({"a": secret}, "b", b"1", 2)
    >>> (one + two).tolist()
    [0, 0]
    """
    found = np.zeros(size, dtype=np.uint64)
    for other, secret in secrets.items():
        stream = hashlib.shake_256(secret + label).digest(8 * size)
        words = np.frombuffer(stream, dtype="<u8")
        found = found + words if name < other else found - words
    return found
