"""What a witness is told: where accounts stand, under a signature (Ed25519)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from whitecrow.errors import InvalidInput, LedgerCorrupt, LedgerUnusable, MissingExtra
from whitecrow.ledger.values import canonical

__all__ = ["Mark", "SigningKey", "Statement", "newest"]


@dataclass(frozen=True, order=True)
class Mark:
    """Where one account stood.

    Parameters
    ----------
    era : int
        How often the custodian has accepted that entries were lost; it counts before ``seq``.
    seq : int
        The newest entry.
    head : str
        Its hash.
    """

    era: int
    seq: int
    head: str


@dataclass(frozen=True)
class Statement:
    """Where some accounts of one ledger stood, signed by whoever writes that ledger.

    Parameters
    ----------
    ledger : str
        Which ledger: its random name.
    at : str
        When, in UTC.
    accounts : mapping
        Marks by the name of the dataset.
    signature : str
        Hexadecimal; empty while it is not signed.
    """

    ledger: str
    at: str
    accounts: Mapping[str, Mark]
    signature: str = ""

    @property
    def _signed(self) -> bytes:
        marks = {name: [m.era, m.seq, m.head] for name, m in self.accounts.items()}
        said = {"ledger": self.ledger, "at": self.at, "accounts": marks}
        return b"whitecrow witness 1\n" + canonical(said).encode("ascii")

    def to_text(self) -> str:
        """Write it on one line."""
        marks = {name: [m.era, m.seq, m.head] for name, m in self.accounts.items()}
        return canonical({**vars(self), "accounts": marks})

    @classmethod
    def from_text(cls, written: str) -> Self:
        """Read what :meth:`to_text` wrote."""
        try:
            said: dict[str, Any] = json.loads(written)
            marks = {
                str(name): Mark(int(era), int(seq), str(head))
                for name, (era, seq, head) in said["accounts"].items()
            }
            return cls(str(said["ledger"]), str(said["at"]), marks, str(said["signature"]))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise LedgerCorrupt("The witness holds something that is not a statement.") from None

    def is_signed_by(self, public: str) -> bool:
        """Whether the signature is that of a public key, given as hexadecimal."""
        signatures = _ed25519()
        from cryptography.exceptions import InvalidSignature

        try:
            key = signatures.Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))
            key.verify(bytes.fromhex(self.signature), self._signed)
        except (InvalidSignature, ValueError):
            return False
        return True


class SigningKey:
    """The private key with which a ledger signs; it never shows itself.

    Parameters
    ----------
    path : Path
        A file with 64 hexadecimal digits, readable by its owner alone.
    """

    def __init__(self, path: Path) -> None:
        try:
            secret = bytes.fromhex(path.read_text(encoding="ascii").strip())
            self._key = _ed25519().Ed25519PrivateKey.from_private_bytes(secret)
        except OSError:
            raise LedgerUnusable(
                f"The key of the ledger's witness cannot be read: {str(path)!r}. Nothing is "
                "answered without it; WHITECROW_WITNESS_KEY_FILE says where it is."
            ) from None
        except ValueError:
            raise InvalidInput(f"{str(path)!r} holds no key of 64 hexadecimal digits.") from None

    @classmethod
    def made(cls, path: Path) -> Self:
        """Make a new key in a new file."""
        secret = _ed25519().Ed25519PrivateKey.generate().private_bytes_raw().hex()
        file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(file, "w", encoding="ascii") as out:
            out.write(f"{secret}\n")
        return cls(path)

    def __repr__(self) -> str:
        return f"<SigningKey {self.public[:8]}>"

    @property
    def public(self) -> str:
        """The public key, hexadecimal."""
        return str(self._key.public_key().public_bytes_raw().hex())

    def signed(self, ledger: str, accounts: Mapping[str, Mark]) -> Statement:
        """State where accounts stand."""
        at = datetime.now(UTC).isoformat(timespec="microseconds")
        bare = Statement(ledger, at, dict(accounts))
        return Statement(ledger, at, bare.accounts, self._key.sign(bare._signed).hex())


def newest(statements: Iterable[Statement]) -> dict[str, Mark]:
    """The furthest mark of every account."""
    found: dict[str, Mark] = {}
    for one in statements:
        for name, mark in one.accounts.items():
            found[name] = max(mark, found.get(name, mark))
    return found


def _ed25519() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise MissingExtra(
            "A witness needs the package cryptography: pip install 'whitecrow[witness]'."
        ) from None
    return ed25519
