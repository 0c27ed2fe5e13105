"""The service, audited: answers drawn through HTTP, on this machine's loopback.

Every draw is a request that a client could send: socket, sign-in, schema, policy, ledger, private
execution and back. A repeated question would be answered from the store, so each draw asks another
question with the same law (another ``error_floor``, which no count of this pair comes near). The
tester looks at the answer and at whether anything else in the reply differs from the first reply.
"""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Callable, Hashable, Iterator
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.data import Card, Column
from whitecrow.screen import Screen
from whitecrow_audit.audit.case import Case, Draw, Laws, claim_of

if TYPE_CHECKING:
    from fastapi import FastAPI

    from whitecrow_server.loopback import Running

CARD = Card("places", (Column("x", "integer", 0, 9),))
DATABASES = {"one": (0, 0, 0), "two": (0, 0, 0, 1)}
BETA = 4
EPSILON = Fraction(3)
_QUESTIONS = itertools.count(1_000_000)


def _question(epsilon: Fraction, floor: int = 1_000_000) -> Screen:
    model = DistanceAnomaly(BETA, 1)
    return Screen({"x": 0}, model=model, epsilon=epsilon, error_floor=Fraction(1, floor))


def _laws(tells: bool, factor: Fraction) -> Laws:
    laws = []
    for name, values in DATABASES.items():
        wrong = _question(EPSILON * factor).wrong(len(values))
        yes = 1 - wrong if len(values) < BETA else wrong
        same = not tells or name == "one"
        laws.append({(True, same): yes, (False, same): 1 - yes})
    return laws[0], laws[1]


def _draws(adds: Callable[[FastAPI], None] | None) -> tuple[Draw, Draw]:
    """Start a service; it ends when nobody can draw from it any more."""
    from whitecrow_server.loopback import Running

    running = Running(CARD, DATABASES, adds)
    first, second = (partial(_ask, running, name) for name in DATABASES)
    return first, second


def _ask(running: Running, name: str) -> Hashable:
    return running.ask(name, _question(EPSILON, next(_QUESTIONS)))


def _tells(app: FastAPI) -> None:
    """A mutant: a header, added for operators, that says how many records there are."""

    @app.middleware("http")
    async def counted(request: Any, call_next: Callable[[Any], Any]) -> Any:
        reply = await call_next(request)
        name = request.url.path.split("/")[3]
        reply.headers["x-records"] = str(len(DATABASES[name]))
        return reply


def cases() -> Iterator[Case]:
    """Yield the rows of the audit; none where the service is not installed."""
    if importlib.util.find_spec("fastapi") is None:
        return
    claim = claim_of(_question(EPSILON).price(CARD))
    where = f"x = {DATABASES['one']} ~ {DATABASES['two']}, asked at 0"
    for name, adds in (("a screen", None), ("mutant: a header that tells", _tells)):
        yield Case(
            "service",
            name,
            claim,
            where,
            partial(_laws, adds is not None),
            partial(_draws, adds),
            most=300,
            full=12_000,
            note="Every draw is a request to a service on this machine.",
        )
