"""What a witness is told: where accounts stand, under a signature (Ed25519).

Statements of a ledger form a chain: each names the fingerprint of the one it extends, and a place
takes only what extends the newest that it holds. Of two copies of one ledger the second to tell
something is refused, whatever it tells, and finds what it does not know of.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from whitecrow.errors import InvalidInput, LedgerCorrupt, LedgerUnusable, MissingExtra
from whitecrow.terms import canonical


@dataclass(frozen=True, order=True)
class Mark:
    """Where one account stood."""

    # How often the custodian has accepted that entries were lost; it counts before ``seq``.
    era: int
    seq: int  # the newest entry
    head: str  # its hash


@dataclass(frozen=True)
class Statement:
    """Where some accounts of one ledger stood, signed by whoever writes that ledger."""

    ledger: str  # which ledger: its random name
    at: str  # when, in UTC
    accounts: Mapping[str, Mark]  # marks by the name of the dataset
    signature: str = ""  # hexadecimal; empty while it is not signed
    # The fingerprint of what the place held before; empty for the first statement.
    extends: str = ""
    # Its place in the chain, from 1; 0 for statements of older versions, which had none.
    number: int = 0
    # Whether the witness was dismissed with it: no copy that still names this witness goes on.
    last: bool = False

    def _content(self) -> dict[str, Any]:
        """All but the signature, as JSON; of an older version's statement what that version had."""
        content: dict[str, Any] = {
            "ledger": self.ledger,
            "at": self.at,
            "accounts": {name: [m.era, m.seq, m.head] for name, m in self.accounts.items()},
        }
        if self.number:
            content |= {"extends": self.extends, "number": self.number, "last": self.last}
        return content

    @property
    def _signed(self) -> bytes:
        version = 2 if self.number else 1
        return f"whitecrow witness {version}\n{canonical(self._content())}".encode("ascii")

    def to_text(self) -> str:
        return canonical({**self._content(), "signature": self.signature})

    @property
    def fingerprint(self) -> str:
        """By which the next statement names this one."""
        return hashlib.sha256(self.to_text().encode("ascii")).hexdigest()

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read what :meth:`to_text` wrote."""
        try:
            content: dict[str, Any] = json.loads(text)
            marks = {
                str(name): Mark(int(era), int(seq), str(head))
                for name, (era, seq, head) in content["accounts"].items()
            }
            return cls(
                *(str(content["ledger"]), str(content["at"]), marks, str(content["signature"])),
                extends=str(content.get("extends", "")),
                number=int(content.get("number", 0)),
                last=bool(content.get("last", False)),
            )
        except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError):
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


@dataclass(frozen=True)
class Evidence:
    """What a place holds of a ledger."""

    marks: Mapping[str, Mark]  # the furthest mark of every account
    # number, fingerprint: Of the newest statement. Without a fingerprint the place knows nothing of
    # the ledger.
    number: int = 0
    fingerprint: str = ""
    last: bool = False  # whether the witness was dismissed

    @classmethod
    def of(cls, statements: Iterable[Statement]) -> Self:
        """Put together what statements say."""
        marks: dict[str, Mark] = {}
        newest: Statement | None = None
        for statement in statements:
            for name, mark in statement.accounts.items():
                marks[name] = max(mark, marks.get(name, mark))
            if newest is None or statement.number > newest.number:
                newest = statement
        return cls({}) if newest is None else cls.up_to(newest, marks)

    @classmethod
    def up_to(cls, newest: Statement, marks: Mapping[str, Mark]) -> Self:
        """What is held once a statement was the newest one."""
        if newest.number:
            return cls(marks, newest.number, newest.fingerprint, newest.last)
        # Statements of an older version have no order; what they say together is what is extended.
        together = canonical({name: [m.era, m.seq, m.head] for name, m in marks.items()})
        return cls(marks, 0, hashlib.sha256(together.encode("ascii")).hexdigest())

    def takes(self, statement: Statement) -> bool:
        """Whether a statement extends exactly this."""
        return (statement.extends, statement.number) == (self.fingerprint, self.number + 1)


class SigningKey:
    """The private key with which a ledger signs; it never shows itself.

    Its file has 64 hexadecimal digits, readable by its owner alone.
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

    def signed(
        self, ledger: str, accounts: Mapping[str, Mark], after: Evidence, *, last: bool = False
    ) -> Statement:
        """State where accounts stand, as what follows all that the place holds."""
        at = datetime.now(UTC).isoformat(timespec="microseconds")
        chain = after.fingerprint, after.number + 1, last
        bare = Statement(ledger, at, dict(accounts), "", *chain)
        return replace(bare, signature=self._key.sign(bare._signed).hex())


def _ed25519() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise MissingExtra(
            "A witness needs the package cryptography: pip install 'whitecrow[witness]'."
        ) from None
    return ed25519
