"""One of two sites, and a coordinator who keeps every round: what it has seen of this site.

The other site counts nothing, and the coordinator answers with numbers that were made up once, so
that both of two neighbouring databases go one public way. A round that was sent counts as seen even
if it was never completed: the missing numbers may arrive later.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from whitecrow import Curator
from whitecrow.errors import WhitecrowError
from whitecrow.histogram.noise_budget import Noise
from whitecrow.sites import Circle, Member, SharedNoise, learn_together

from .world import Together

SITES = ("north", "south")
Round = tuple[Noise, Any]


class Died(BaseException):
    """This site's process ended while it waited."""


def attempt(curator: Curator, step: Together) -> list[Round]:
    """Take part in an attempt; return the rounds whose numbers left this site."""
    if step.given_back:
        _give_back(curator)
    circle = Circle(step.label, SITES)

    def exchange(number: int, hidden: Any) -> Any:
        if number == 0:
            return hidden
        if number >= step.ends_after:
            raise Died
        lots = np.random.default_rng(number)
        return lots.integers(-3, 12, len(hidden)).astype(np.uint64)

    with _listening() as rounds:
        try:
            member = Member(circle, "north", {"south": bytes(32)}, exchange)
            learn_together(curator, step.question, member)
        except Died:
            pass
    return rounds


def _give_back(curator: Curator) -> None:
    """Void every spend that the ledger lets go."""
    for entry in curator.ledger.entries(curator.name, kind="reserve"):
        try:
            curator.ledger.void(curator.name, entry.seq, reason="nobody has seen anything")
        except WhitecrowError:
            continue


@contextmanager
def _listening() -> Iterator[list[Round]]:
    """Write down what is counted in every round, and with which noise it leaves."""
    plain, rounds = SharedNoise.added, []

    def added(self: SharedNoise, counts: Any, source: Any) -> Any:
        assert self.member.circle.honest == 1  # this site's share is all of the noise
        rounds.append((Noise(self.law, self.size), np.array(counts)))
        return plain(self, counts, source)

    SharedNoise.added = added  # type: ignore[method-assign]
    try:
        yield rounds
    finally:
        SharedNoise.added = plain  # type: ignore[method-assign]
