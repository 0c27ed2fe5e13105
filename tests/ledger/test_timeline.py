"""The history of a dataset: what is told, to whom, and that its sums are the account's."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import whitecrow as wc
from whitecrow.ledger import verification
from whitecrow.ledger.alarms import alarms, sound
from whitecrow.ledger.timeline import MOST_POINTS, _thinned, timeline
from whitecrow.rendering import history

CARD = wc.Card("ages", (wc.Column("age", lower=0, upper=120),))
TABLE = pa.table({"age": [30.0, 31.0, 32.0, 90.0]})
MORE = pa.concat_tables([TABLE, TABLE])
MODEL = wc.DistanceAnomaly(beta=2, radius=5.0)


@pytest.fixture
def curator(tmp_path: Path) -> Any:
    """Two revisions, two analysts, a changed promise and a detector."""
    how: dict[str, Any] = {"card": CARD, "name": "ages", "ledger": tmp_path / "a.db"}
    with wc.Curator.open(TABLE, budget="5", growth="insert-only", **how) as first:
        first.ask(screen(30.0), analyst="ana")
        first.ask(screen(90.0), analyst="bob")
        first.ask(screen(31.0), analyst="bob")
        first.amend(budget="8", reason="Mr Smith's record was seen")
    with wc.Curator.open(MORE, advance="Mrs Jones was added", **how) as second:
        second.ask(wc.Learn(epsilon="1"), analyst="ana")
        yield second


def screen(age: float) -> wc.Screen:
    return wc.Screen({"age": age}, model=MODEL, epsilon="1/2")


def test_what_was_spent_over_time_ends_with_the_account(curator: Any) -> None:
    found = timeline(curator.ledger, "ages")
    amounts = [point.amounts["differential"] for point in found.spent]
    assert amounts == [Fraction(1, 2), Fraction(1, 2), Fraction(1), Fraction(2)]
    assert [point.amounts["differential"] for point in found.budget] == [5, 8]
    for analyst, last in (("ana", Fraction(3, 2)), ("bob", Fraction(1, 2))):
        own = timeline(curator.ledger, "ages", analyst=analyst).spent
        share = curator.ledger.snapshot("ages").shares[analyst].spent
        assert own[-1].amounts["differential"] == last == share.spent("differential", Fraction(0))


def test_a_spend_that_was_given_back_is_off_the_curve(curator: Any) -> None:
    from whitecrow.ledger import ChargeRequest

    price = wc.DifferentialPrivacy("1/4")
    held, _ = curator.ledger.reserve("ages", ChargeRequest("ana", "d", {"kind": "x"}, price))
    held.release()
    curator.ledger.void("ages", held.seq, reason="the power failed")
    for analyst in (None, "ana"):
        found = timeline(curator.ledger, "ages", analyst=analyst).spent
        last, before = (point.amounts["differential"] for point in (found[-1], found[-2]))
        assert before is not None
        assert last == before - Fraction(1, 4)


def test_the_custodian_is_told_everything_in_its_order(curator: Any) -> None:
    found = timeline(curator.ledger, "ages")
    assert [event.kind for event in found.events] == [
        "opened",
        "revision",
        "promise",
        "revision",
        "publication",
    ]
    said = found.events[3]
    assert said.reason == "Mrs Jones was added"
    assert "only added since revision 1" in said.says


def test_an_analyst_is_told_no_words_of_the_custodian_and_nothing_of_others(curator: Any) -> None:
    seen = str(timeline(curator.ledger, "ages", analyst="bob").to_json())
    assert "revision 2" in seen
    assert not any(word in seen for word in ("Smith", "Jones", "ana", "learn"))
    assert "learn was asked" in str(timeline(curator.ledger, "ages", analyst="ana").to_json())


def test_an_analysts_timeline_does_not_change_with_what_others_ask(curator: Any) -> None:
    before = timeline(curator.ledger, "ages", analyst="bob")
    curator.ask(screen(60.0), analyst="ana")
    curator.ask(wc.Profile(epsilon="1"), analyst="ana")
    assert timeline(curator.ledger, "ages", analyst="bob") == before


def test_an_alarm_is_recorded_once_and_belongs_to_a_charged_series(curator: Any) -> None:
    store = curator.ledger
    series = next(one.digest for one in store.entries("ages", kind="reserve") if one.digest)
    said = {"series": series, "period": "2024-03", "says": "age has moved"}
    assert sound(store, "ages", **said)
    assert not sound(store, "ages", **said)
    assert [entry.content["period"] for entry in alarms(store, "ages")] == ["2024-03"]
    assert verification.verify(store, "ages").ok
    with pytest.raises(wc.PolicyViolation, match="charged"):
        sound(store, "ages", series="no such", period="1", says="")
    owner = alarms(store, "ages")[0].analyst
    for analyst, told in ((None, True), (owner, True), ("somebody else", False)):
        kinds = [event.kind for event in timeline(store, "ages", analyst=analyst).events]
        assert ("alarm" in kinds) == told


def test_an_alarm_of_nothing_is_found_by_verification(curator: Any) -> None:
    body = {"series": "no such", "period": "1", "says": "x"}
    curator.ledger.write("ages", lambda account: account.append("alarm", body=body))
    assert "not charged" in verification.verify(curator.ledger, "ages").reason


def test_a_long_account_is_drawn_from_its_newest_checkpoint(
    curator: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    verification.checkpoint(curator.ledger, "ages", least=1)
    curator.ask(screen(60.0), analyst="ana")
    whole = timeline(curator.ledger, "ages")
    monkeypatch.setattr("whitecrow.ledger.timeline._MOST_WALKED", 3)
    part = timeline(curator.ledger, "ages")
    assert whole.whole
    assert not part.whole
    assert part.spent == whole.spent[-1:]


def test_points_are_thinned_and_the_last_is_kept() -> None:
    assert _thinned([]) == ()
    points: list[Any] = list(range(1001))
    thin = _thinned(points)
    assert len(thin) <= MOST_POINTS
    assert thin[-1] == 1000


def test_the_picture_shows_spends_revisions_and_alarms_and_escapes_their_words(
    curator: Any,
) -> None:
    store = curator.ledger
    series = next(one.digest for one in store.entries("ages", kind="reserve") if one.digest)
    sound(store, "ages", series=series, period="<b>", says="<script>")
    drawn = history(timeline(store, "ages").to_json()).svg()
    assert drawn.count('class="rule ink"') == 2
    assert drawn.count('class="rule bad"') == 1
    assert "<script>" not in drawn
    empty: dict[str, Any] = {"events": [], "spent": [], "budget": []}
    assert "svg" in history(empty).svg()
