"""Several custodians, one detector, and nobody sees another's counts.

``proof.md`` has the theorems and docs/sites.md the threat model. Every site runs the same public
program on its own records. Where that program adds noise to counts, the sites add a share of it
each, hide what they send behind masks that cancel, and go on with the sum.
"""

from __future__ import annotations

import hashlib
import json
import math
import threading
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from secrets import token_bytes
from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.curator import Curator
from whitecrow.curator.series import take_part
from whitecrow.detector import Detector
from whitecrow.errors import InvalidInput, MissingExtra, Unreachable, invalid
from whitecrow.histogram.noise_budget import Noise, NoiseBudget
from whitecrow.learning import Learn
from whitecrow.learning.mechanism import learn
from whitecrow.noise import Source, bulk
from whitecrow.noise.bulk import laplace_shares

__all__ = [
    "Circle",
    "Key",
    "Meeting",
    "Member",
    "SharedNoise",
    "SharedNoiseBudget",
    "learn_together",
    "mask",
]

Counts = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Exchange = Callable[[int, Words], Words]
"""Sends this site's masked numbers of a round; returns the sum of all sites', modulo 2^64."""

_BYTES = 32  # of a public key, and of a secret at the least
_FRESH_WORDS = 2  # so many words has the number that a site draws for an attempt: 128 bits


@dataclass(frozen=True)
class Circle:
    """What the sites agree upon before the first count; public.

    Parameters
    ----------
    label : str
        Of this attempt. A label is used once: the ledger burns it before anything is sent.
    sites : tuple of str
        All sites that take part.
    honest : int, optional
        How many sites' noise must suffice for the promise: the others may drop their share or tell
        it to somebody. All but one unless given, so that a site that knows its own share learns no
        more than anybody else.
    overlap : int
        At how many sites one person may have records.

    Examples
    --------
    >>> Circle("ward study, first try", ("north", "south", "west")).honest
    2
    """

    label: str
    sites: tuple[str, ...]
    honest: int = 0
    overlap: int = 1

    def __post_init__(self) -> None:
        count = len(self.sites)
        if count < 2 or len(set(self.sites)) != count:
            raise invalid("Circle", "sites", "two or more different names", self.sites)
        if not self.label:
            raise invalid("Circle", "label", "a text that was never used before", self.label)
        if not self.honest:
            object.__setattr__(self, "honest", count - 1)
        for name in ("honest", "overlap"):
            if not 1 <= getattr(self, name) <= count:
                raise invalid("Circle", name, f"from 1 to {count}", getattr(self, name))

    @property
    def agreement(self) -> list[object]:
        return [self.label, list(self.sites), self.honest, self.overlap]


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
        return bytes(self._private.public_key().public_bytes_raw())

    def secret_with(self, public: bytes) -> bytes:
        """Return the secret that this site shares with the owner of a public key."""
        if len(public) != _BYTES:
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
    """
    total = np.zeros(size, dtype=np.uint64)
    for other, secret in secrets.items():
        stream = hashlib.shake_256(secret + label).digest(8 * size)
        words = np.frombuffer(stream, dtype="<u8")
        total = total + words if name < other else total - words
    return total


@dataclass
class Member:
    """One site's side of the circle.

    Parameters
    ----------
    circle : Circle
        What was agreed upon.
    name : str
        This site.
    secrets : mapping
        The 32 bytes shared with each other site: ``key.secret_with(their_public)``, or agreed upon
        elsewhere.
    exchange : callable
        The way to the coordinator.
    subject : str, default=""
        What is computed: the question and the card, which must be the same at all sites.

    Notes
    -----
    A member serves one attempt. Before its first numbers every site sends a number that it has just
    drawn; the masks are made from all of them (``proof.md`` 1), so that no two attempts have a mask
    in common, whatever became of labels, ledgers and the coordinator.
    """

    circle: Circle
    name: str
    secrets: Mapping[str, bytes] = field(repr=False)
    exchange: Exchange = field(repr=False)
    subject: str = ""
    rounds: int = field(default=0, init=False)
    numbers: list[int] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        others = set(self.circle.sites) - {self.name}
        if self.name not in self.circle.sites or set(self.secrets) != others:
            raise InvalidInput(
                "A member needs one secret for each of the other sites, and no more."
            )
        if min(map(len, self.secrets.values())) < _BYTES:
            raise InvalidInput("The secret of two sites has 32 bytes or more.")

    def sum(self, numbers: Counts) -> Counts:
        """Send numbers behind masks; return the sum of all sites' numbers."""
        if not self.numbers:
            self.numbers = self._drawn()
        self.rounds += 1
        # What the masks of a round are made from; no two rounds have the same.
        label = [self.circle.agreement, self.subject, self.numbers, self.rounds]
        hidden = numbers.astype(np.uint64) + mask(
            self.secrets, self.name, json.dumps(label).encode(), len(numbers)
        )
        return self.exchange(self.rounds, hidden).astype(np.int64)

    def _drawn(self) -> list[int]:
        """Draw this attempt's number; return those of all sites, each in its own places."""
        # The sum of all sites' words holds each number as it was sent: the others add 0 there.
        sites = len(self.circle.sites)
        first = _FRESH_WORDS * self.circle.sites.index(self.name)
        mine = slice(first, first + _FRESH_WORDS)
        words = np.zeros(_FRESH_WORDS * sites, dtype=np.uint64)
        words[mine] = np.frombuffer(token_bytes(8 * _FRESH_WORDS), dtype=np.uint64)
        everybody = self.exchange(0, words.copy())
        if len(everybody) != len(words) or (everybody[mine] != words[mine]).any():
            # Masks without this site's own number might have been used before.
            raise Unreachable("The coordinator did not return what this site drew.")
        return [int(word) for word in everybody]


@dataclass(frozen=True)
class SharedNoise(Noise):
    """Noise of which this site draws its share; what comes back is the noisy sum of all sites.

    Notes
    -----
    ``proof.md`` 2 and 3. Laplace: any ``honest`` shares add up to the discrete Laplace law.
    Gaussian: counts and noise are refined by ``honest``, so that an event's shift falls evenly on
    that many discrete Gaussians; the sum is rounded back to whole numbers.
    """

    member: Member = field(kw_only=True)

    @property
    def deviation(self) -> float:
        """The standard deviation of the sum of all shares."""
        circle = self.member.circle
        return super().deviation * math.sqrt(len(circle.sites) / circle.honest)

    def added(self, counts: Counts, source: Source | None) -> Counts:
        """Return the noisy sum of all sites' counts."""
        parts = self.member.circle.honest
        if self.law == "laplace":
            return self.member.sum(counts + laplace_shares(self.size, parts, len(counts), source))
        noise = bulk.discrete_gaussian(self.size * parts, len(counts), source)
        total = self.member.sum(parts * counts + noise)
        return np.asarray((2 * total + parts) // (2 * parts))


@dataclass(frozen=True)
class SharedNoiseBudget(NoiseBudget):
    """What a question pays with when the sites draw its noise together."""

    member: Member = field(kw_only=True)

    @classmethod
    def at(cls, budget: NoiseBudget, member: Member) -> SharedNoiseBudget:
        """Return the noise budget of a circle: a person at several sites contributes at each."""
        contribution = budget.contribution * member.circle.overlap
        return cls(budget.law, budget.total, budget.relation, contribution, member=member)

    @property
    def selects(self) -> bool:
        """No: nobody sees the exact counts of all sites."""
        return False

    def histograms(self, share: Fraction, tables: int) -> SharedNoise:
        """Return the noise of histograms, to be drawn in shares."""
        noise = super().histograms(share, tables)
        return SharedNoise(noise.law, noise.size, member=self.member)


class Meeting:
    """Adds up the masked numbers of every round; a round without one of the sites is void.

    Parameters
    ----------
    circle : Circle
        Who takes part.
    patience : float
        Seconds that a round waits for the last site.
    """

    def __init__(self, circle: Circle, *, patience: float = 60.0) -> None:
        self.circle, self._patience = circle, patience
        self.received: dict[int, dict[str, Words]] = {}
        self._changed = threading.Condition()
        self._void = False

    def member(self, name: str, secrets: Mapping[str, bytes]) -> Member:
        """Return a site's side of the meeting."""
        return Member(self.circle, name, secrets, self._line(name))

    def leave(self) -> None:
        """Say that a site has dropped out: no round can be completed any more."""
        with self._changed:
            self._void = True
            self._changed.notify_all()

    def _line(self, name: str) -> Exchange:
        def exchange(number: int, hidden: Words) -> Words:
            with self._changed:
                sent = self.received.setdefault(number, {})
                sent[name] = hidden
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._void or self._full(sent), self._patience)
                if not self._full(sent):
                    self._void = True
                    self._changed.notify_all()
                    raise Unreachable(
                        "A site has dropped out, so this attempt is void and nothing was learned "
                        "from it. Begin again without that site, under a new label; what was sent "
                        "counts as spent."
                    )
            return np.asarray(np.sum(np.stack(list(sent.values())), axis=0, dtype=np.uint64))

        return exchange

    def _full(self, sent: Mapping[str, Words]) -> bool:
        sizes = {len(numbers) for numbers in sent.values()}
        return len(sent) == len(self.circle.sites) and len(sizes) == 1


def learn_together(curator: Curator, question: Learn, member: Member) -> Detector:
    """Take part in learning a detector; every site calls this with the same question and card.

    The price is charged to this site's account before its first number is sent, and stays charged
    if another site drops out: what was sent was sent.

    Parameters
    ----------
    curator : Curator
        Of this site's records.
    question : Learn
        The same at all sites, under add/remove. Thresholds are read off one more noisy histogram,
        of all sites' scores, since nobody may see the exact one to choose by.
    member : Member
        This site's side of the circle.

    Returns
    -------
    Detector
        The same at all sites.
    """
    if question.relation != "add_remove":
        hint = "How many records all sites have together is not public."
        raise invalid("learn_together", "relation", "'add_remove'", question.relation, hint)
    shared = SharedNoiseBudget.at(question.noise_budget(curator.card), member)
    question.check(replace(curator.card, contribution=shared.contribution))
    if question.rates and not shared.affords(question.shares[1], 1):
        raise invalid("learn_together", "threshold_share", "larger", question.threshold_share)
    about = [json.loads(question.canonical), curator.card.fingerprint()]
    bound = replace(member, subject=json.dumps(about))
    shared = replace(shared, member=bound)
    answer = take_part(
        curator,
        question,
        label=_digest(["label", member.circle.label]),
        agreement=_digest([member.circle.agreement, about]),
        release=lambda facts: learn(question, facts, budget=shared).to_json(),
    )
    detector, circle = Detector.from_json(answer), member.circle
    note = (
        f"Learned by {len(circle.sites)} sites together ({', '.join(circle.sites)}); the noise of "
        f"any {circle.honest} of them keeps the promise, for persons with records at up to "
        f"{circle.overlap} of them."
    )
    return replace(detector, notes=(*detector.notes, note))


def _digest(content: list[object]) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def __getattr__(name: str) -> Any:
    if name == "SharedMoney":
        text = "SharedMoney is now SharedNoiseBudget; the old name goes with 0.4."
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        return SharedNoiseBudget
    raise AttributeError(f"whitecrow.sites has no {name!r}")
