"""Plans and advice, computed in a process that delays no reply; it holds no records.

They come from public facts and the accounts. They take long and are free, so they must not compute
among the threads that reply, which take turns by one lock. The process gives way to all others. Of
several workers' processes one computes at a time: on a core that such a process has, an answer
would wait until its few milliseconds are over, ten times on its way, and so one core at least is
left to answers.
"""

from __future__ import annotations

import fcntl
import os
import resource
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from whitecrow.card import Card
from whitecrow.curator.curator import Curator
from whitecrow.curator.execution import Answer, Elsewhere
from whitecrow.curator.opening import Identity, Opened
from whitecrow.errors import InvalidInput, NotReady, WhitecrowError, from_json, to_json
from whitecrow.histogram.table import TableProfile
from whitecrow.ledger import Ledger
from whitecrow.limits import Limits
from whitecrow.place.balls import Balls
from whitecrow.question import Question
from whitecrow_server._children import Helper, Wire, end_with_service
from whitecrow_server._messages import added, register_added
from whitecrow_server._settings import Settings
from whitecrow_server._untrusted_input import MALFORMED, batch_in, priced_question

_LONGEST_SECONDS = 120.0
_MOST_BYTES = 2 << 30
_NICENESS = 5
"""Enough to come after answers, too little to wait for ever where a machine is busy."""


class Aside:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._process = Helper("whitecrow_server._aside", self._setup)
        self.close = self._process.close

    def _setup(self) -> dict[str, Any]:
        limits = self._settings.limits  # a file that all workers know
        lock_file = None if limits is None else f"{limits}.aside"
        ledger = self._settings.database
        return {"ledger": ledger, "added": added(), "bytes": _MOST_BYTES, "lock": lock_file}

    def done(self, work: str, curator: Curator, analyst: str, **given: Any) -> dict[str, Any]:
        """Have a ``plan`` of a batch made, or ``advice`` on a model."""
        settings = self._settings
        asked = {
            **curator.public_facts(),
            "work": work,
            "given": given,
            "analyst": analyst,
            "lent": [settings.longest_seconds, settings.most_bytes],
            "records_at_most": settings.records_at_most,
        }
        reply: dict[str, Any] = {}
        with suppress(EOFError, OSError):
            reply = self._process.asked(asked, _LONGEST_SECONDS)
        if not reply:
            raise NotReady("This took too much time or memory; ask for less at once.", after=60)
        error = from_json(reply["failed"]) if "failed" in reply else None
        if error is not None:
            raise error
        done: dict[str, Any] = reply["done"]
        return done


# In the process


def main(wire: int, life: int) -> None:
    end_with_service(life)
    os.nice(_NICENESS)
    end = Wire(socket.socket(fileno=wire))
    setup = end.receive()
    register_added(setup["added"])
    bytes_ = int(setup["bytes"])
    resource.setrlimit(resource.RLIMIT_DATA, (bytes_, bytes_))
    geometry = Balls(few=1)
    geometry.load()
    with Ledger(setup["ledger"], geometry=geometry) as ledger:
        ledger.database.label = "of this service"
        while True:
            asked = end.receive()
            with _alone(setup["lock"]):
                reply = _reply(ledger, asked)
            end.send(reply)


@contextmanager
def _alone(file: str | None) -> Iterator[None]:
    """Wait until no other worker's process computes; None: there is no other."""
    if file is None:
        yield
        return
    with Path(file).open("wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # let go of with the file
        yield


def _reply(ledger: Ledger, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Do what is asked; whatever goes wrong was public, so it may be told."""
    try:
        return {"done": _WORK[asked["work"]](_curator(ledger, asked), **asked["given"])}
    except WhitecrowError as error:
        return {"failed": to_json(error)}
    except Exception:  # noqa: BLE001 - no record is within reach: it was the question's fault
        return {"failed": to_json(InvalidInput(MALFORMED))}


def _curator(ledger: Ledger, asked: Mapping[str, Any]) -> Curator:
    identity = Identity(asked["revision"], asked["since"], steady=asked["steady"])
    records = Elsewhere(Card.from_json(asked["card"]))
    return Curator(
        Opened(records, ledger, asked["name"], identity=identity),
        analyst=asked["analyst"],
        execution=_Nobody(),
        lent=Limits(*asked["lent"]),
        records_at_most=asked["records_at_most"],
    )


class _Nobody:
    """Computes no answer: no records are here."""

    def answer(self, question: Question, **how: Any) -> Answer | None:
        return None


def _plan(curator: Curator, batch: str) -> dict[str, Any]:
    questions = batch_in(batch.encode("latin-1"))
    return curator.plan([priced_question(curator, entry) for entry in questions]).to_json()


def _advice(
    curator: Curator, share: str, profile: Mapping[str, Any] | None, how: Mapping[str, Any]
) -> dict[str, Any]:
    bought = None if profile is None else TableProfile.from_json(profile)
    return curator.advise(share, profile=bought, **how).to_json()


_WORK: dict[str, Callable[..., dict[str, Any]]] = {"plan": _plan, "advice": _advice}


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
