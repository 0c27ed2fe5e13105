"""Charges to a small account, for the tests of this folder."""

from __future__ import annotations

from fractions import Fraction

import whitecrow as wc
from whitecrow.ledger import ChargeRequest, Ledger, Reservation
from whitecrow.privacy import Guarantee

QUARTER = wc.DifferentialPrivacy("1/4")


def order(
    digest: str, price: Guarantee = QUARTER, *, analyst: str = "ana", place: float | None = None
) -> ChargeRequest:
    ball = None
    if place is not None:
        ball = {"columns": ["x"], "metric": "euclidean", "center": [place], "radius": 1.0}
    return ChargeRequest(analyst, digest, {"number": digest}, price, ball)


def charge(ledger: Ledger, one: ChargeRequest) -> Reservation:
    found, _ = ledger.reserve("clinic", one)
    assert isinstance(found, Reservation)
    assert found.fresh
    found.release()
    return found


def spent(ledger: Ledger, line: str = "conditional") -> Fraction:
    standing = ledger.snapshot("clinic")
    found = standing.spent.spent(line, standing.budget.delta)
    assert found is not None
    return found
