"""Questions that are paid once and answered record by record: the transcript that the ledger keeps.

All that is kept was released: which places were asked about (by their digests), which of them were
called anomalies, and where those are. It is written before any of it is shown, with a
compare-and-swap on its version: of two writers one wins, and the other draws again beside what the
winner wrote. An answer that was drawn and not written is shown to nobody.

A transcript is kept in blocks, so that one more answer does not write all others again. A block is
begun when the one before is full, so there is one order of all answers, whoever writes them.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from whitecrow.curator.execution import behind
from whitecrow.curator.series import series_order
from whitecrow.custodian import failure
from whitecrow.errors import AccountConflict, InvalidInput, LedgerBusy, NotAllowed
from whitecrow.ledger import AccountSnapshot, ChargeRequest
from whitecrow.ledger.states import States
from whitecrow.question import Progress
from whitecrow.screening.law import Law
from whitecrow.screening.mechanism import encoded_points, shaped
from whitecrow.screening.question import MOST_REPLAYED, Screening

if TYPE_CHECKING:
    from whitecrow.curator.curator import Curator, Inquiry

Places = npt.NDArray[np.float64]

_TRIES = 8
_BLOCK = 512  # A block with so many answers is full
_DIGEST = 16


def next_answers(
    curator: Curator, inquiry: Inquiry, order: ChargeRequest, progress: Progress | None
) -> tuple[Any, AccountSnapshot, bool]:
    """Charge the series unless it is paid, and answer what was not asked before.

    The last value returned says whether this paid for the series.
    """
    question: Screening = inquiry.question  # type: ignore[assignment]
    if not curator._identity.in_memory:
        raise InvalidInput(
            "Screening needs records that stay in memory: open the data with the engine local or "
            "gpu. Nothing was asked or spent."
        )
    outcome, snapshot, charged = curator._paid_once(
        order, lambda _: {"open": question.law(curator.card).to_json()}
    )
    if not outcome.answered:
        raise failure()
    law = Law.from_json(outcome.answer["open"])
    transcript = _transcript(curator, order.digest)
    places = question.places(curator.card)
    answers = transcript.answers(places, partial(_drawn, curator, question, order, law, progress))
    return shaped(question, law, answers), snapshot, charged


def end_series(curator: Curator, question: Screening) -> None:
    """End a series for good: what was answered stays, and nothing more is."""
    _transcript(curator, paid_series(curator, question).digest).end()


def paid_series(
    curator: Curator, question: Screening, *, analyst: str | None = None
) -> ChargeRequest:
    """Return what was charged for a series, or refuse one that is not open."""
    request = series_order(curator, curator.inquire(question, analyst=analyst))
    if curator._ledger.stored(curator.name, request, rule=curator._rule(request))[0] is None:
        raise InvalidInput("No such screening is open. Nothing was asked or spent.")
    return request


def _drawn(
    curator: Curator,
    question: Screening,
    order: ChargeRequest,
    law: Law,
    progress: Progress | None,
    transcript: Transcript,
    places: Places,
) -> list[int] | None:
    """Draw the answers about places; None if the transcript at hand is not the latest.

    The process that holds the records knows flags from before, or none if it has just begun: it
    says how many, and is told the others.
    """
    paid, limits = question.paid_as(), partial(curator.limits, question)
    since = transcript.flags
    while True:
        until = min(transcript.flags, since + MOST_REPLAYED)
        later = until < transcript.flags
        state = {
            "series": order.digest,
            "law": law.to_json(),
            "asked": encoded_points(places[:0] if later else places),
            "since": since,
            "flags": transcript.encoded_flags(since, until),
        }
        compute = partial(
            curator._execution.answer, paid, limits=limits, progress=progress, state=state
        )
        released = behind(question.kind, curator._log, compute)
        if released is None:
            States(curator.ledger, curator.name).fail(told_at=order.told_at)
            raise failure()
        stored = released.value.get("known")
        if stored is None and not later:
            anomalies: list[int] = released.value["anomalies"]
            return anomalies
        if stored is not None and stored > transcript.flags:
            return None
        since = until if stored is None else stored


class Transcript:
    """All answers of one series, as the ledger keeps them; public."""

    def __init__(self, states: States, name: str) -> None:
        self._states, self._name = states, name
        self._lock = threading.RLock()
        self._block, self._version = 0, -1
        self._here: dict[str, Any] = _empty()
        self._answers: dict[bytes, bool] = {}
        self._places: list[str] = []
        self._ended = False

    @property
    def flags(self) -> int:
        return len(self._places)

    def encoded_flags(self, since: int, until: int) -> str:
        """Return where some of these answers are, as places are written."""
        return "".join(self._places[since:until])

    def answers(self, places: Places, draw: Any) -> list[bool]:
        """Return the answers about places: those that were given, and new ones for the others.

        ``draw(transcript, places)`` draws new ones; they are written down before they are returned.
        """
        digests = [
            hashlib.blake2b(point.tobytes(), digest_size=_DIGEST).digest() for point in places
        ]
        with self._lock:
            for tries in range(_TRIES):
                if tries or self._version < 0 or self._answers.keys() >= set(digests):
                    self._load()  # what is shown again is read again: the account may be closed
                first = {digest: at for at, digest in reversed(list(enumerate(digests)))}
                new = sorted(at for digest, at in first.items() if digest not in self._answers)
                if not new:
                    return [self._answers[digest] for digest in digests]
                if self._ended:
                    raise NotAllowed("This screening was closed for good; open another one.")
                anomalies = draw(self, places[new])
                if anomalies is not None:
                    self._append([digests[at] for at in new], anomalies, places[new])
        raise LedgerBusy("Another process keeps asking this series; try again.")

    def end(self) -> None:
        with self._lock:
            for _ in range(_TRIES):
                self._load()
                if self._ended or self._save({**self._here, "ended": True}):
                    self._ended = True
                    return
        raise LedgerBusy("Another process keeps asking this series; try again.")

    def _append(self, digests: Sequence[bytes], anomalies: Sequence[int], places: Places) -> None:
        here, before = self._here, len(self._here["digests"]) // (2 * _DIGEST)
        flags = [encoded_points(places[at]) for at in anomalies]
        state = {
            "digests": here["digests"] + b"".join(digests).hex(),
            "anomalies": here["anomalies"] + [before + at for at in anomalies],
            "places": here["places"] + flags,
            "ended": False,
        }
        if self._save(state):
            self._take(digests, anomalies, flags)

    def _take(
        self, digests: Sequence[bytes], anomalies: Sequence[int], places: Sequence[str]
    ) -> None:
        flagged = set(anomalies)
        self._answers.update((digest, at in flagged) for at, digest in enumerate(digests))
        self._places += places

    def _save(self, state: dict[str, Any]) -> bool:
        saved = self._states.save(self._key, self._version + 1, state)
        if saved:
            self._version, self._here = self._version + 1, state
            self._next_block()
        return saved

    def _next_block(self) -> None:
        if len(self._here["digests"]) >= 2 * _DIGEST * _BLOCK:
            self._block, self._version, self._here = self._block + 1, -1, _empty()

    @property
    def _key(self) -> str:
        return f"{self._name} {self._block}"

    def _load(self) -> None:
        """Take in what was written since; blocks that are full do not change any more."""
        while (stored := self._states.load(self._key)) is not None or self._version >= 0:
            version, state = stored or (-1, _empty())
            if version < self._version or not state["digests"].startswith(self._here["digests"]):
                raise AccountConflict(
                    "The ledger went back to an older copy, which lacks answers that this "
                    "screening has shown. The custodian restores a newer one."
                )
            old = len(self._here["digests"]) // (2 * _DIGEST)
            octets = bytes.fromhex(state["digests"])[_DIGEST * old :]
            digests = [octets[at : at + _DIGEST] for at in range(0, len(octets), _DIGEST)]
            anomalies = [at - old for at in state["anomalies"] if at >= old]
            self._take(digests, anomalies, state["places"][len(self._here["places"]) :])
            self._ended = bool(state["ended"])
            block, self._version, self._here = self._block, version, dict(state)
            self._next_block()
            if block == self._block:
                return


def _empty() -> dict[str, Any]:
    return {"digests": "", "anomalies": [], "places": [], "ended": False}


_TRANSCRIPTS: WeakKeyDictionary[Curator, dict[str, Transcript]] = WeakKeyDictionary()
_MAKING = threading.Lock()


def _transcript(curator: Curator, name: str) -> Transcript:
    with _MAKING:
        transcripts = _TRANSCRIPTS.setdefault(curator, {})
        return transcripts.setdefault(name, Transcript(States(curator.ledger, curator.name), name))
