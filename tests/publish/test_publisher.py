"""Streams: order, restarts, crashes, joins, leaves, and what a day may hold."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whitecrow.errors import InvalidInput, Unavailable
from whitecrow.noise.seeded import SeededSource
from whitecrow.publish import Day, MemoryStore, PrivateClip, Publish, Publisher, advance, fresh
from whitecrow.publish.mechanism import from_store, to_store


def question(**given):
    base = {"time": "t", "start": 0, "period": 1, "horizon": 20, "rho": "1/2"}
    return Publish(**({"column": "km"} | base | given))


class JsonStore(MemoryStore):
    """A store that really writes text, as a database does."""

    def save(self, key, version, state):
        return super().save(key, version, json.dumps(state))

    def load(self, key):
        kept = super().load(key)
        return None if kept is None else (kept[0], json.loads(kept[1]))


@pytest.mark.parametrize("mechanism", ["buffered", "tree", "independent"])
@pytest.mark.parametrize("budget", [{"rho": "1/2"}, {"rho": None, "epsilon": 1}])
@pytest.mark.parametrize("statistic", ["mean", "sum", "count"])
def test_a_restart_between_any_two_updates_changes_nothing(card, mechanism, budget, statistic):
    column = None if statistic == "count" else "km"
    asked = question(mechanism=mechanism, statistic=statistic, column=column, **budget)
    rng = np.random.default_rng(1)
    days = [rng.exponential(5, 4) for _ in range(20)]
    straight = Publisher(asked, card, source=SeededSource(7))
    whole = [straight.update(t, day)[0] for t, day in enumerate(days)]

    store, source = JsonStore(), SeededSource(7)
    broken = []
    for t, day in enumerate(days):
        # A new process for every update: all it knows is in the store.
        broken += Publisher(asked, card, store=store, source=source).update(t, day)
    assert broken == whole


def test_a_crash_after_writing_shows_the_written_release_again(card):
    store = JsonStore()
    publisher = Publisher(question(), card, store=store)
    shown = publisher.update(0, [1.0, 2.0])
    again = Publisher(question(), card, store=store).update(0, [1.0, 2.0])
    assert again == shown
    assert Publisher(question(), card, store=store).closed == 1


def test_a_crash_before_writing_shows_nothing(card):
    class Dying(MemoryStore):
        def save(self, key, version, state):
            if version == 1:
                raise OSError("the disk is gone")
            return super().save(key, version, state)

    store = Dying()
    publisher = Publisher(question(), card, store=store)
    with pytest.raises(OSError, match="disk"):
        publisher.update(0, [1.0])
    assert publisher.closed == 0
    assert store.load(publisher._key)[0] == 0


def test_two_writers_never_show_two_releases_of_one_period(card):
    store = MemoryStore()
    one, two = (Publisher(question(), card, store=store) for _ in range(2))
    first = one.update(0, [1.0])
    assert two.update(0, [1.0]) == first
    assert two.update(1, [1.0])[0].period == "1"
    assert one.update(1, [99.0]) == two.update(1, [99.0])


def test_a_store_that_always_refuses_is_reported(card):
    class Contested(MemoryStore):
        def save(self, key, version, state):
            return version == 0 and super().save(key, version, state)

    publisher = Publisher(question(), card, store=Contested())
    with pytest.raises(Unavailable):
        publisher.update(0, [1.0])


def test_another_publication_under_the_same_key_is_refused(card):
    store = MemoryStore()
    Publisher(question(), card, store=store, key="k")
    with pytest.raises(InvalidInput, match="another publication"):
        Publisher(question(horizon=21), card, store=store, key="k")


def test_a_damaged_state_is_reported_without_quoting_it(card):
    store = MemoryStore()
    store.save("k", 0, {"done": 12345})
    with pytest.raises(InvalidInput) as caught:
        Publisher(question(), card, store=store, key="k")
    assert "12345" not in str(caught.value)


def test_the_state_is_withheld_from_view(card):
    state = fresh(question().plan(card))
    assert repr(state) == str(state.exact_position) == "<facts withheld>"
    assert to_store(from_store(to_store(state))) == to_store(state)


def test_advance_leaves_its_argument_alone(card):
    state = fresh(question().plan(card))
    before = json.dumps(to_store(state))
    advance(state, Day(np.array([5.0])), SeededSource(1))
    assert json.dumps(to_store(state)) == before


def test_a_stream_does_not_go_back_in_time(card):
    publisher = Publisher(question(), card)
    publisher.update(0, [1.0])
    publisher.update(1, [1.0])
    with pytest.raises(InvalidInput, match="does not go back"):
        publisher.update(0, [1.0])
    with pytest.raises(InvalidInput, match="begin at"):
        publisher.update(-1, [1.0])


def test_periods_passed_over_are_closed_as_empty_with_noise_of_their_own(card):
    publisher = Publisher(question(statistic="count", column=None), card)
    shown = publisher.update(3, [1.0])
    assert [point.period for point in shown] == ["0", "1", "2", "3"]
    assert len({point.value for point in shown}) == 4


def test_the_horizon_is_kept(card):
    publisher = Publisher(question(horizon=2), card)
    publisher.update(1, [1.0])
    with pytest.raises(InvalidInput, match="2 periods"):
        publisher.update(2, [1.0])
    state = fresh(question(horizon=1).plan(card))
    state = advance(state, Day())
    with pytest.raises(InvalidInput, match="are closed"):
        advance(state, Day())


def test_empty_days_are_released_too(card):
    publisher = Publisher(question(), card)
    (point,) = publisher.update(0)
    assert point.count is not None
    (point,) = publisher.update(1, [])
    assert point.period == "1"


def test_missing_values_count_for_nothing_and_outside_values_are_moved(card):
    def shown(values):
        return Publisher(question(), card, source=SeededSource(3)).update(0, values)

    assert shown([5.0, math.nan, None]) == shown([5.0])
    assert shown([5.0, 1e300, math.inf]) == shown([5.0, 100.0, 100.0])
    assert shown([-7.0, -math.inf]) == shown([0.0, 0.0])


@pytest.mark.parametrize("wrong", [["a"], [[1.0], [2.0]], 5.0, object()])
def test_what_is_no_list_of_numbers_is_refused(card, wrong):
    with pytest.raises(InvalidInput, match="values"):
        Publisher(question(), card).update(0, wrong)


@pytest.mark.parametrize("horizon", [None, 400])
def test_an_unknown_horizon_goes_on_through_epochs(card, horizon):
    asked = question(statistic="count", column=None, horizon=horizon, rho=10**9)
    publisher = Publisher(asked, card)
    for t in range(300):
        (point,) = publisher.update(t, [0.0, 0.0])
        assert point.value == pytest.approx(2 * (t + 1), abs=0.1)


def test_users_are_held_to_the_cards_bound(user_card):
    asked = Publish(statistic="count", time="date", start="2024-01-01", horizon=5, rho=10**9)
    publisher = Publisher(asked, user_card)
    (point,) = publisher.update("2024-01-01", [1, 1, 1], users=["a", "a", "a"])
    assert point.value == pytest.approx(2, abs=0.1)
    (point,) = publisher.update("2024-01-02", [1, 1], users=["a", "b"])
    assert point.value == pytest.approx(3, abs=0.1)
    with pytest.raises(InvalidInput, match="'users'"):
        publisher.update("2024-01-03", [1, 1])
    with pytest.raises(InvalidInput, match="as long as"):
        publisher.update("2024-01-03", [1, 1], users=["a"])


def test_leaves_take_records_out_again(user_card, card):
    asked = Publish("km", time="date", leaves="left", start="2024-01-01", horizon=5, rho=10**12)
    publisher = Publisher(asked, user_card)
    publisher.update("2024-01-01", [10, 50], users=["a", "b"])
    (point,) = publisher.update("2024-01-02", leaves=[50], leavers=["b"])
    assert point.value == pytest.approx(10, abs=0.1)
    assert point.count == pytest.approx(1, abs=0.01)
    with pytest.raises(InvalidInput, match="leave only"):
        Publisher(question(), card).update(0, [1.0], leaves=[1.0])


def test_leaves_cost_noise():
    from whitecrow.data import Card, Column

    columns = (Column("t", lower=0, upper=9), Column("left", lower=0, upper=9))
    plans = [
        Publish(
            statistic="count", time="t", start=0, period=1, horizon=8, rho=1, leaves=leaves
        ).plan(Card("c", columns))
        for leaves in (None, "left")
    ]
    assert plans[1].stage(0).scale == 2 * plans[0].stage(0).scale


def test_a_private_clip_waits_chooses_and_is_then_fixed(card):
    clip = PrivateClip(smallest=1, largest=1000, periods=3)
    asked = question(clip=clip, rho=1000)
    store = JsonStore()
    rng = np.random.default_rng(2)
    days = [rng.uniform(0, 14, 300) for _ in range(5)]
    assert Publisher(asked, card, store=store).update(0, days[0]) == ()
    waiting = Publisher(asked, card, store=store)
    assert waiting.clip is None
    assert waiting.update(1, days[1]) == ()
    shown = Publisher(asked, card, store=store).update(2, days[2])
    assert [point.period for point in shown] == ["0", "1", "2"]
    after = Publisher(asked, card, store=store)
    assert after.clip == (0.0, 16.0)
    assert after.update(3, days[3])[0].value == pytest.approx(7, abs=1)


@given(
    values=st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=20),
    statistic=st.sampled_from(["mean", "sum"]),
)
@settings(deadline=None, max_examples=50)
def test_no_day_moves_the_sums_by_more_than_its_records_allow(values, statistic):
    from whitecrow.data import Card, Column

    card = Card("c", (Column("km", lower=-3, upper=5), Column("t", lower=0, upper=9)))
    plan = Publish(
        "km", statistic=statistic, time="t", start=0, period=1, horizon=4, epsilon=1
    ).plan(card)
    present = np.array([value for value in values if not math.isnan(value)])
    increments = plan.encode(present)
    assert sum(map(abs, increments)) <= plan.bound * len(present)
    for value in present:
        assert sum(map(abs, plan.encode(np.array([value])))) <= plan.bound
