"""What an account costs when it is large: plan, ask, void, history, verification.

A ledger of a million entries (``--quick``: a hundred thousand) is written in bulk, a valid chain of
real entries: half of the questions are about places, half are not, four analysts asked them. Then
single operations are timed, each through the ledger's own door.

`entries` is how many there are; `plan_p99_ms`, `ask_p99_ms`, `void_p99_ms` and `history_p99_ms` are
what all but one in a hundred take; `verify_full_s` checks the whole chain, and
`verify_since_checkpoint_ms` what came after the last checkpoint.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import whitecrow as wc
from benchmarks.common import emit, parser, print_table
from whitecrow.ledger import Account, Budget, ChargeRequest, Ledger, Reservation
from whitecrow.ledger.account import Entry, Located, canonical
from whitecrow.ledger.spatial import Ball, SpatialIndex
from whitecrow.ledger.verification import checkpoint, verify
from whitecrow.place.balls import BALLS

ANALYSTS = ("ana", "bo", "cy", "di")
SMALL, PLACED = Fraction(1, 10**6), Fraction(1, 100)
PRICE, PLACE_PRICE = wc.DifferentialPrivacy(SMALL), wc.DifferentialPrivacy(PLACED)
AT = "2026-01-01T00:00:00.000000+00:00"
NAME = "big"


def ball(x: float, y: float) -> dict[str, Any]:
    """A disc of radius 1."""
    return {
        "columns": ["x", "y"],
        "metric": "euclidean",
        "ranges": [],
        "center": [x, y],
        "radius": 1.0,
        "card": "benchmark",
    }


def questions(count: int) -> Iterator[ChargeRequest]:
    """Different questions; every second one about a place of its own."""
    for i in range(count):
        who, question = ANALYSTS[i // 2 % 4], {"kind": "benchmark", "question": {"number": i}}
        if i % 2:
            side = 1 + int(count**0.5)
            place = ball(3.0 * (i // side), 3.0 * (i % side))
            yield ChargeRequest(who, f"{i:064x}", question, PLACE_PRICE, place)
        else:
            yield ChargeRequest(who, f"{i:064x}", question, PRICE)


def build(ledger: Ledger, count: int) -> None:
    """Write ``count`` answered questions, two entries each, in one transaction."""
    ledger.open(NAME, budget=Budget.of("1000"))
    for analyst in ANALYSTS:
        ledger.allow(NAME, analyst, Budget.of("500"), reason="a share")
    standing = ledger.snapshot(NAME)
    seq, head = standing.seq, standing.head
    rows: list[tuple[Any, ...]] = []
    balls: list[tuple[Any, ...]] = []
    spent = {"": [Fraction(0), Fraction(0)], **{a: [Fraction(0), Fraction(0)] for a in ANALYSTS}}
    index = SpatialIndex(None, 1, BALLS)  # type: ignore[arg-type]  # only places are asked for
    sheet = bands = ""

    def append(kind: str, order: ChargeRequest, closes: int | None, body: dict[str, Any]) -> None:
        nonlocal seq, head
        seq += 1
        entry = Entry.sealed(
            dataset=NAME,
            seq=seq,
            kind=kind,
            at=AT,
            analyst=order.analyst,
            digest=order.digest,
            closes=closes,
            body=canonical(body),
            previous=head,
        )
        head = entry.hash
        rows.append(
            (
                1,
                seq,
                kind,
                AT,
                order.analyst,
                order.digest,
                closes,
                entry.body,
                entry.previous,
                head,
            )
        )

    raw: Any = ledger.database.engine.raw_connection()
    cursor = raw.cursor()
    cursor.execute("BEGIN IMMEDIATE")

    def flush() -> None:
        cursor.executemany("INSERT INTO entries VALUES (?,?,?,?,?,?,?,?,?,?)", rows)
        cursor.executemany("INSERT INTO balls VALUES (?,?,?,?,?,?,?,?,?,?,?)", balls)
        rows.clear()
        balls.clear()

    for order in questions(count):
        body = {
            "question": order.question,
            "price": order.price.to_json(),
            "location": order.location,
        }
        if order.location is None:
            for whose in ("", order.analyst):
                spent[whose][0] += SMALL
        else:
            added = {}
            for name, whose in (("dataset", ""), ("analyst", order.analyst)):
                more = PLACED - spent[whose][1]  # discs apart from each other share one price
                added[name] = Located(more, more).to_json()
                spent[whose][1] += more
            body["extra"] = added
            charged = Ball.of(order.location, order.price, order.analyst, seq + 1)
            sheet, band, u, v = index.place(charged)
            bands, depths = str(band), " ".join([str(PLACED)] * 4)
            location = canonical(order.location)
            balls.append(
                (1, seq + 1, sheet, band, u, v, order.analyst, 1, str(PLACED), location, depths)
            )
        append("reserve", order, None, body)
        append("settle", order, seq, {"answer": True})
        if len(rows) >= 20_000:
            flush()
    flush()
    for whose, (plain, placed) in spent.items():
        account = canonical(Account(epsilon=plain, located=Located(placed, placed)).to_json())
        if whose:
            cursor.execute("UPDATE accounts SET spent = ? WHERE analyst = ?", (account, whose))
        else:
            cursor.execute("UPDATE datasets SET spent = ?, seq = ?, head = ?", (account, seq, head))
        values = (1, sheet, whose, bands, str(placed), str(placed))
        cursor.execute("INSERT INTO sheets VALUES (?, ?, ?, ?, ?, ?)", values)
    raw.commit()
    raw.close()


def asked(ledger: Ledger, order: ChargeRequest) -> None:
    """One ask without its computation: reserve and settle, two durable commits."""
    reservation, _ = ledger.reserve(NAME, order)
    if isinstance(reservation, Reservation):
        ledger.settle(NAME, reservation, True)
        reservation.release()


def given_back(ledger: Ledger, order: ChargeRequest) -> Callable[[], None]:
    """A void of a spend that is made beforehand."""
    held, _ = ledger.reserve(NAME, order)
    assert isinstance(held, Reservation)
    held.release()
    return lambda: ledger.void(NAME, held.seq, reason="a benchmark")


def new(kind: str, number: int, place: dict[str, Any] | None) -> ChargeRequest:
    """A question that nobody has asked."""
    return ChargeRequest("ana", f"{kind} {number}", {}, PLACE_PRICE if place else PRICE, place)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    options = parser(__doc__ or "").parse_args(argv)
    entries = 100_000 if options.quick else 1_000_000
    repeats = 100 if options.quick else 300
    draw = np.random.default_rng(1)
    rows: list[list[object]] = []

    def measured(name: str, make: Callable[[int], Callable[[], object]], times: int) -> float:
        spans, work = [], []
        for number in range(times):
            act = make(number)
            start, busy = time.perf_counter(), time.process_time()
            act()
            spans.append(time.perf_counter() - start)
            work.append(time.process_time() - busy)
        middle, high = np.percentile(spans, [50, 99]) * 1000
        used = np.percentile(work, 99) * 1000
        rows.append([name, times, float(middle), float(high), float(used)])
        return float(high)

    def somewhere() -> dict[str, Any]:
        side = 3.0 * (entries / 2) ** 0.5
        return ball(*(float(x) for x in draw.uniform(0, side, 2)))

    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        path = Path(folder) / "big.db"
        start = time.perf_counter()
        with Ledger(path, geometry=BALLS) as ledger:
            build(ledger, entries // 2)
        print(f"{entries} entries built in {time.perf_counter() - start:.0f} s")
        with Ledger(path, geometry=BALLS) as ledger:
            crowd = [ball(*(float(x) for x in draw.uniform(-50.5, -49.5, 2))) for _ in range(500)]
            stored = list(questions(2))

            def plan(name: str, place: Callable[[], dict[str, Any] | None]) -> float:
                return measured(
                    name, lambda i: lambda: ledger.quote(NAME, [new("plan", i, place())]), repeats
                )

            def ask(name: str, place: Callable[[], dict[str, Any] | None]) -> float:
                return measured(
                    name, lambda i: lambda: asked(ledger, new(name, i, place())), repeats
                )

            plans = [plan("plan", lambda: None), plan("plan, a place", somewhere)]
            latencies = [
                measured("ask, stored", lambda i: lambda: asked(ledger, stored[i % 2]), repeats),
                ask("ask", lambda: None),
                ask("ask, a place", somewhere),
            ]
            places = iter(crowd)
            measured(
                "ask, a place among up to 500 that overlap",
                lambda i: lambda: asked(ledger, new("crowd", i, next(places))),
                len(crowd),
            )
            voids = [
                measured("void", lambda i: given_back(ledger, new("void", i, None)), repeats // 10),
                measured(
                    "void, a place",
                    lambda i: given_back(ledger, new("void at", i, somewhere())),
                    repeats // 10,
                ),
                measured(
                    "void, a place in the crowd",
                    lambda i: given_back(ledger, new("void in", i, crowd[i])),
                    repeats // 10,
                ),
            ]
            account = measured(
                "history, the newest 100",
                lambda i: lambda: ledger.entries(NAME, limit=100, newest_first=True),
                repeats,
            )
            measured(
                "an analyst's newest 100 questions",
                lambda i: lambda: ledger.history(NAME, "cy", limit=100),
                repeats,
            )
            measured("spends without an answer", lambda i: lambda: ledger.unsettled(NAME), repeats)
            whole = measured(
                "verify, full",
                lambda i: lambda: _right(verify(ledger, NAME, geometry=BALLS, full=True)),
                1,
            )
            _right(checkpoint(ledger, NAME))
            for number in range(100):
                asked(ledger, new("since", number, somewhere()))
            since = measured(
                "verify, since a checkpoint", lambda i: lambda: _right(verify(ledger, NAME)), 5
            )
    print_table([f"{entries} entries", "times", "median ms", "99 % ms", "99 % ms of CPU"], rows)
    emit("entries", entries)
    emit("plan_p99_ms", max(plans))
    emit("ask_p99_ms", max(latencies))
    emit("void_p99_ms", max(voids))
    emit("history_p99_ms", account)
    emit("verify_full_s", whole / 1000)
    emit("verify_since_checkpoint_ms", since)


def _right(finding: Any) -> None:
    assert finding.ok, finding


if __name__ == "__main__":
    main()
