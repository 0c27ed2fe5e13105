"""What an account costs does not grow with its entries."""

from __future__ import annotations

import contextlib
import math
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whitecrow as wc
from whitecrow.ledger import Budget, ChargeRequest, Ledger, Reservation, spatial
from whitecrow.ledger import statements as sql
from whitecrow.ledger.database import Session
from whitecrow.ledger.spatial import QUICK
from whitecrow.ledger.store import weigh
from whitecrow.ledger.verification import verify
from whitecrow.place.balls import BALLS

SMALL = wc.DifferentialPrivacy("1/1000")


def located(name: str, x: float, y: float = 0.0) -> ChargeRequest:
    ball = {"columns": ["x", "y"], "metric": "euclidean", "center": [x, y], "radius": 1.0}
    return ChargeRequest("ana", name, {}, SMALL, ball)


def reserved(ledger: Ledger, order: ChargeRequest) -> Reservation:
    held, _ = ledger.reserve("d", order)
    assert isinstance(held, Reservation)
    held.release()
    return held


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path / "l.db", geometry=BALLS) as made:
        made.open("d", budget=Budget.of("10"))
        yield made


def test_a_plan_a_void_and_a_page_do_not_read_the_account(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted in rows that come back: as many from 40 questions as from 400."""
    read: list[int] = []
    plain = Session.rows

    def counted(session: Session, statement: Any, **given: Any) -> list[Any]:
        found = plain(session, statement, **given)
        read.append(len(found))
        return found

    monkeypatch.setattr(Session, "rows", counted)
    costs = []
    for start, stop in ((0, 40), (40, 400)):
        for number in range(start, stop):
            ledger.settle("d", reserved(ledger, located(str(number), 5.0 * number)), 1)
        held = reserved(ledger, located(f"void {stop}", -5.0))
        read.clear()
        ledger.quote("d", [located(f"new {stop}", 7.0)])
        ledger.void("d", held.seq, reason="never answered")
        ledger.entries("d", limit=20, newest_first=True)
        ledger.unsettled("d")
        with Ledger(ledger.database.path or "", geometry=BALLS) as fresh:
            reserved(fresh, located(f"fresh {stop}", -9.0 * stop))
            fresh.void("d", fresh.snapshot("d").seq, reason="never answered")
        costs.append(sum(read))
    assert costs[0] == costs[1] < 100
    monkeypatch.undo()
    assert verify(ledger, "d", geometry=BALLS).ok


def test_what_an_ask_looks_for_is_found_by_an_index(ledger: Ledger) -> None:
    asked = {"dataset": 1, "asked": "a", "former": "b", "analyst": "c", "name": "d"}
    with contextlib.closing(sqlite3.connect(ledger.database.path or "")) as connection:
        for statement in (sql.READ, sql.SHARE, sql.BY_QUESTION):
            plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", asked)]
            assert not any("SCAN" in step for step in plan if "SCALAR" not in step), plan
    found = "SEARCH entry USING INDEX entries_by_question (dataset=? AND digest=?)"
    assert plan.count(found) == 2, plan  # the question's name, and what it was called before


def test_a_crowd_is_weighed_before_the_write_transaction(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    writing: list[bool] = []
    weighed: list[tuple[bool, int]] = []
    plain_write, plain_depth = ledger.database.write, type(BALLS).depth

    def write(act: Any) -> Any:
        def noted(session: Session) -> Any:
            writing.append(True)
            try:
                return act(session)
            finally:
                writing.pop()

        return plain_write(noted)

    def depth(self: Any, ball: Any, epsilon: Any, met: Any, enough: Any, *more: Any) -> Any:
        weighed.append((bool(writing), len(met)))
        return plain_depth(self, ball, epsilon, met, enough, *more)

    monkeypatch.setattr(ledger.database, "write", write)
    monkeypatch.setattr(type(BALLS), "depth", depth)
    for number in range(3 * QUICK):
        reserved(ledger, located(str(number), number / 1000, number / 997))
    assert max(met for inside, met in weighed if inside) <= QUICK
    assert max(met for inside, met in weighed if not inside) == 3 * QUICK - 1
    assert ledger.snapshot("d").spent.located.differential == 3 * QUICK * SMALL.epsilon
    assert verify(ledger, "d", geometry=BALLS).ok


@pytest.mark.parametrize("meanwhile", ["nothing", "a void", "a ball", "a ball elsewhere"])
def test_what_was_weighed_before_the_transaction_is_charged_as_things_stand_in_it(
    ledger: Ledger, meanwhile: str
) -> None:
    for number in range(QUICK + 5):
        reserved(ledger, located(str(number), number / 1000))
    before = ledger.snapshot("d").spent.located.differential
    order = located("one more", 0.5)
    weighed = ledger.read("d", lambda account: weigh(account, order, BALLS))
    if meanwhile == "a void":
        ledger.void("d", ledger.snapshot("d").seq, reason="never answered")
    elif meanwhile != "nothing":
        place = 0.7 if meanwhile == "a ball" else 70.0
        reserved(ledger, located("another", place))
    _, held, snapshot = ledger._reserve("d", order, None, weighed)
    assert isinstance(held, Reservation)
    held.release()
    more = {"a void": 0, "a ball": 2}.get(meanwhile, 1)
    assert snapshot.spent.located.differential == before + more * SMALL.epsilon
    assert verify(ledger, "d", geometry=BALLS, full=True).ok


def ball_of(name: str, analyst: str, center: tuple[float, ...], radius: float) -> ChargeRequest:
    axes = [f"c{axis}" for axis in range(len(center))]
    ball = {"columns": axes, "metric": "euclidean", "center": [*center], "radius": radius}
    return ChargeRequest(analyst, name, {}, SMALL, ball)


@pytest.mark.parametrize("columns", [1, 2, 3])
@settings(max_examples=15, deadline=None)
@given(
    acts=st.lists(
        st.tuples(
            st.tuples(*3 * [st.integers(-8, 8)]),  # where, in quarters
            st.sampled_from([0.25, 1.0, 1.125, 4.0]),  # how large
            st.sampled_from(["ana", "bo"]),
            st.integers(0, 6),  # how many others come between the weighing and the writing
            st.booleans(),  # whether something is given back after it
        ),
        min_size=20,
        max_size=50,
    )
)
def test_places_weighed_some_acts_ago_never_cost_too_little(columns: int, acts: Any) -> None:
    """Others ask nearby and take questions back between the weighing and the writing."""
    standing: dict[int, tuple[tuple[float, ...], float]] = {}
    early: list[tuple[int, ChargeRequest, tuple[tuple[float, ...], float], Any]] = []

    def ask(order: ChargeRequest, place: tuple[tuple[float, ...], float], known: Any) -> None:
        _, held, snapshot = ledger._reserve("d", order, None, known)
        assert isinstance(held, Reservation)
        held.release()
        standing[held.seq] = place
        centers = np.array([center for center, _ in standing.values()])
        radii = np.array([radius for _, radius in standing.values()])
        # Of the points that matter the centers are some.
        gaps = np.linalg.norm(centers[:, None] - centers, axis=2)
        deepest = int((gaps <= radii).sum(axis=1).max())
        assert snapshot.spent.located.differential >= deepest * SMALL.epsilon

    with Ledger("sqlite://", geometry=BALLS) as ledger:
        ledger.open("d", budget=Budget.of("10"))
        for number, (where, radius, analyst, later, voids) in enumerate(acts):
            center = tuple(coordinate / 4 for coordinate in where[:columns])
            order = ball_of(str(number), analyst, center, radius)
            known = ledger.read("d", lambda account, order=order: weigh(account, order, BALLS))
            early.append((number + later, order, (center, radius), known))
            for due in [one for one in early if one[0] <= number]:
                early.remove(due)
                ask(*due[1:])
            if voids and standing:
                seq = [*standing][len(standing) // 2]
                del standing[seq]
                before = ledger.snapshot("d").spent.located.differential
                ledger.void("d", seq, reason="never answered")
                assert ledger.snapshot("d").spent.located.differential <= before
        for due in early:
            ask(*due[1:])
        assert verify(ledger, "d", geometry=BALLS, full=True).ok


@pytest.mark.parametrize("crowd", [127, 128])
@pytest.mark.parametrize("elsewhere", [0, 4])
def test_a_crowd_that_grows_after_it_was_weighed_is_charged_what_verification_finds(
    ledger: Ledger, crowd: int, elsewhere: int
) -> None:
    """Up to 128 touching balls are weighed exactly, more in squares."""
    turns = np.arange(crowd) * 2 * np.pi / crowd
    for number, turn in enumerate(turns.tolist()):
        place = (19.0 * math.cos(turn), 19.0 * math.sin(turn))
        reserved(ledger, ball_of(f"around {number}", "ana", place, 0.3))
    order = ball_of("in the middle", "ana", (0.0, 0.0), 20.0)
    known = ledger.read("d", lambda account: weigh(account, order, BALLS))
    for number in range(elsewhere):
        reserved(ledger, ball_of(f"elsewhere {number}", "bo", (90.0, 0.0), 1.0))
    for number in range(2):
        reserved(ledger, ball_of(f"newer {number}", "bo", (5.0 * number, 0.0), 0.3))
    _, held, _ = ledger._reserve("d", order, None, known)
    held.release()  # type: ignore[union-attr]
    assert verify(ledger, "d", geometry=BALLS, full=True).ok


@settings(max_examples=25, deadline=None)
@given(
    places=st.lists(
        st.tuples(st.integers(-12, 12), st.sampled_from([1.0, 1.0, 1.125, 1.9, 4.0])),
        min_size=16,
        max_size=32,
    ),
    asked=st.integers(4, 14),
)
def test_a_quote_is_what_asking_costs_where_too_many_balls_are_near(
    places: list[tuple[int, float]], asked: int
) -> None:
    """Whatever their sizes, and whichever of them were asked before."""
    orders = [
        ball_of(str(number), "ana", (where / 2,), radius)
        for number, (where, radius) in enumerate(places)
    ]
    with patch.object(spatial, "MOST_TOUCHED", 7), Ledger("sqlite://", geometry=BALLS) as ledger:
        ledger.open("d", budget=Budget.of("10"))
        for order in orders[:asked]:
            reserved(ledger, order)
        quoted = ledger.quote("d", orders[asked:]).after.located
        for order in orders[asked:]:
            reserved(ledger, order)
        assert ledger.snapshot("d").spent.located == quoted


@pytest.mark.parametrize("center", [1.75e308, -1.79e308, 1.7e308, 1e300])
def test_one_place_is_charged_each_time_however_far_away_it_is(
    ledger: Ledger, center: float
) -> None:
    for number in range(3):
        reserved(ledger, ball_of(str(number), "ana", (center,), 1.0))
    assert ledger.snapshot("d").spent.located.differential == 3 * SMALL.epsilon


def test_what_was_weighed_beside_another_copy_of_the_ledger_is_weighed_again(
    tmp_path: Path,
) -> None:
    order = located("one more", 0.5)
    known = []
    for name in ("lost", "restored"):
        with Ledger(tmp_path / name, geometry=BALLS) as ledger:
            ledger.open("d", budget=Budget.of("10"))
            for number in range(9):
                far = 0.0 if name == "restored" else 50.0
                reserved(ledger, located(f"{name} {number}", number / 1000 + far))
            known.append(ledger.read("d", lambda account: weigh(account, order, BALLS)))
            _, held, snapshot = ledger._reserve("d", order, None, known[0])
            held.release()  # type: ignore[union-attr]
    assert [one.depths[0] for one in known] == [SMALL.epsilon, 10 * SMALL.epsilon]
    assert snapshot.spent.located.differential == 10 * SMALL.epsilon


def test_one_more_ball_never_costs_more_than_itself(ledger: Ledger) -> None:
    """In three columns, a large ball over many small ones that do not meet."""
    ball = {"columns": ["x", "y", "z"], "metric": "euclidean", "radius": 1.0}
    for number in range(30):
        place = {**ball, "center": [3.0 * number, 0.0, 0.0]}
        reserved(ledger, ChargeRequest("ana", str(number), {}, SMALL, place))
    before = ledger.snapshot("d").spent.located.differential
    wide = {**ball, "center": [0.0, 0.0, 0.0], "radius": 500.0}
    reserved(ledger, ChargeRequest("ana", "wide", {}, SMALL, wide))
    after = ledger.snapshot("d").spent.located.differential
    assert (before, after) == (SMALL.epsilon, 2 * SMALL.epsilon)
