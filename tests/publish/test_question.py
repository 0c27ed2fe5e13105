"""The question: what may be asked, what it costs, what comes back through the curator."""

from __future__ import annotations

import datetime
import json
import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import whitecrow as wc
from whitecrow.data import Card, Column, read
from whitecrow.errors import InvalidInput
from whitecrow.noise.seeded import SeededSource
from whitecrow.privacy import DifferentialPrivacy, ZeroConcentrated
from whitecrow.publish import PrivateClip, Publish, Publisher, gather, release
from whitecrow.question import Question, digest

FIRST = datetime.date(2019, 3, 1)


def asked(column="km", **given):
    base = {"time": "date", "start": "2019-03-01", "horizon": 31, "rho": "1/2"}
    return Publish(column, **(base | given))


def trips(days=31, a_day=40, seed=1):
    rng = np.random.default_rng(seed)
    dates = np.repeat([FIRST + datetime.timedelta(days=i) for i in range(days)], a_day)
    return pa.table({"km": rng.exponential(5.45, len(dates)), "date": dates})


@pytest.fixture
def trip_card():
    return Card("trips", (Column("km", lower=0, upper=60, outside="clip"), Column("date", "date")))


def test_it_is_a_question_and_its_json_comes_back():
    clip = PrivateClip(smallest="1/2", largest=1000, lower="-1", method="sparse_vector")
    for question in (
        asked(),
        asked(clip=(0, 100.5), resolution="1/4", view="each_period", rho=None, epsilon="0.1"),
        asked(clip=clip, horizon=None, through=40),
        asked(None, statistic="count", period="month"),
        Publish("km", time="t", start="-0.5", period="1/4", horizon=4, epsilon=1, leaves="u"),
    ):
        assert isinstance(question, Question)
        text = json.dumps(question.to_json())
        again = Publish.from_json(json.loads(text))
        assert again == question
        assert digest(again) == digest(question)


def test_two_spellings_are_one_question():
    one = asked(start=FIRST, rho=0.5, clip=(0, 0.1))
    two = asked(start="2019-03-01", rho=Fraction(1, 2), clip=("0", "1/10"))
    assert digest(one) == digest(two)


def test_the_price_is_the_whole_series(trip_card):
    assert asked().price(trip_card) == ZeroConcentrated("1/2")
    assert asked(rho=None, epsilon=1).price(trip_card) == DifferentialPrivacy(1)
    clip = PrivateClip(smallest=1, largest=100)
    assert asked(clip=clip).price(trip_card) == ZeroConcentrated("1/2")


@pytest.mark.parametrize("noise", [{"rho": "1/2"}, {"rho": None, "epsilon": 2}])
@pytest.mark.parametrize("method", ["quantile", "sparse_vector"])
def test_the_clip_and_the_sums_share_the_price(trip_card, noise, method):
    clip = PrivateClip(smallest=1, largest=100, share="1/5", method=method)
    question = asked(clip=clip, **noise)
    plan = question.plan(trip_card)
    if question.noise == "laplace":
        assert plan.clip_epsilon + plan.budget == question.budget
    else:
        cost = plan.clip_epsilon**2 / (8 if method == "quantile" else 2)
        assert question.budget * Fraction(9999, 10000) < cost + plan.budget <= question.budget


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"statistic": "median"}, "statistic"),
        ({"view": "weekly"}, "view"),
        ({"mechanism": "magic"}, "mechanism"),
        ({"view": "each_period", "mechanism": "tree"}, "mechanism"),
        ({"horizon": 0}, "horizon"),
        ({"horizon": 2.5}, "horizon"),
        ({"horizon": True}, "horizon"),
        ({"horizon": 10**12}, "horizon"),
        ({"through": 32}, "through"),
        ({"through": -1}, "through"),
        ({"start": "first of March"}, "start"),
        ({"start": "2019-03-02", "period": "month"}, "start"),
        ({"period": 0}, "period"),
        ({"period": "fortnight"}, "period"),
        ({"period": 7}, "start"),
        ({"rho": None}, "epsilon"),
        ({"epsilon": 1}, "rho"),
        ({"rho": 0}, "rho"),
        ({"rho": -1}, "rho"),
        ({"rho": math.nan}, "rho"),
        ({"clip": (1, 0)}, "clip"),
        ({"clip": 5}, "clip"),
        ({"clip": "05"}, "clip"),
        ({"clip": (0, math.inf)}, "clip"),
        ({"clip": (0, True)}, "clip"),
        ({"resolution": 0}, "resolution"),
        ({"column": None}, "column"),
        ({"statistic": "count"}, "column"),
        ({"time": ""}, "time"),
        ({"leaves": ""}, "leaves"),
    ],
)
def test_bad_parameters_are_refused_by_name(given, what):
    with pytest.raises(InvalidInput, match=what):
        asked(**given)


@pytest.mark.parametrize(
    "given",
    [
        {"smallest": 0, "largest": 5},
        {"smallest": 5, "largest": 5},
        {"smallest": 1, "largest": 5, "lower": 2},
        {"smallest": 1, "largest": "1e100"},
        {"smallest": 1, "largest": 5, "method": "guess"},
        {"smallest": 1, "largest": 5, "quantile": 1},
        {"smallest": 1, "largest": 5, "share": 1},
        {"smallest": 1, "largest": 5, "periods": 0},
        {"smallest": 1, "largest": 5, "above": -1},
        {"smallest": "a", "largest": 5},
    ],
)
def test_bad_private_clips_are_refused(given):
    with pytest.raises(InvalidInput):
        PrivateClip(**given)


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"column": "nothing"}, "nothing"),
        ({"time": "nothing"}, "nothing"),
        ({"time": "km"}, "need a date"),
        ({"period": 1, "start": 0}, "need a number"),
        ({"column": "free"}, "PrivateClip"),
        ({"column": "date"}, "needs numbers"),
        ({"resolution": "1/100000000000"}, "resolution"),
        ({"resolution": 10**6, "statistic": "sum"}, "resolution"),
    ],
)
def test_a_card_that_cannot_serve_is_refused(card, given, what):
    with pytest.raises(InvalidInput, match=what):
        asked(**given).check(card)


def test_from_json_refuses_what_it_does_not_know():
    with pytest.raises(InvalidInput, match="no parameter 'colour'"):
        Publish.from_json({**asked().to_json(), "colour": "red"})


def test_the_description_is_made_of_public_facts(card):
    said = asked().describe(card, per_period=55)
    assert "in a few buffers" in said.words
    assert said.figures["mean_deviation"][0] > said.figures["mean_deviation"][-1]
    count = asked(None, statistic="count").describe(card)
    assert count.figures["deviation"][-1] == pytest.approx(1.81, abs=0.02)
    private = asked("free", clip=PrivateClip(smallest=1, largest=100)).describe(card)
    assert "privately" in private.words
    json.dumps(said.to_json())


def test_every_period_is_released_whether_or_not_it_has_records(trip_card):
    dataset = read(trips(days=3), trip_card)
    answer = release(asked(), gather(asked(), dataset), SeededSource(1))
    assert [p["period"] for p in answer["series"]][-1] == "2019-03-31"
    assert len(answer["series"]) == 31
    assert answer["clip"] == [0.0, 60.0]
    json.dumps(answer)


@pytest.mark.parametrize("statistic", ["mean", "sum", "count"])
@pytest.mark.parametrize("view", ["to_date", "each_period"])
def test_with_a_great_budget_the_release_is_the_truth(trip_card, statistic, view):
    column = None if statistic == "count" else "km"
    question = asked(column, statistic=statistic, view=view, rho=10**14)
    table = trips()
    answer = release(question, gather(question, read(table, trip_card)))
    km, dates = table["km"].to_numpy(), table["date"].to_numpy()
    for t, point in enumerate(answer["series"]):
        day = np.datetime64(FIRST, "D") + t
        chosen = km[dates <= day] if view == "to_date" else km[dates == day]
        truth = {"mean": np.mean, "sum": np.sum, "count": len}[statistic](chosen)
        assert point["value"] == pytest.approx(truth, rel=2e-3)


def test_the_errors_that_are_stated_are_the_errors_that_are_made(trip_card):
    """200 releases of 12 periods; each standardised error is within 5 standard errors of 1."""
    question = asked(horizon=12)
    dataset = read(trips(days=12, a_day=300), trip_card)
    facts = gather(question, dataset)
    km = dataset.values("km")
    truth = [km[: 300 * (t + 1)].mean() for t in range(12)]
    source, ratios = SeededSource(2), []
    for _ in range(200):
        series = release(question, facts, source)["series"]
        ratios.append([(p["value"] - t) / p["error"] for p, t in zip(series, truth, strict=True)])
    spread = np.sqrt(np.mean(np.square(ratios), axis=0))
    assert np.abs(spread - 1).max() < 5 / math.sqrt(2 * 200)


def test_leaves_are_read_from_their_column(trip_card):
    table = pa.table(
        {
            "km": [10.0, 30.0, 50.0],
            "date": [FIRST, FIRST, FIRST],
            "left": [
                FIRST + datetime.timedelta(days=400),
                FIRST + datetime.timedelta(days=1),
                FIRST - datetime.timedelta(days=5),
            ],
        }
    )
    columns = (*trip_card.columns, Column("left", "date"))
    question = asked(horizon=3, leaves="left", rho=10**14)
    series = release(question, gather(question, read(table, Card("c", columns))))["series"]
    assert [round(p["count"]) for p in series] == [2, 1, 1]
    assert [round(p["value"]) for p in series] == [20, 10, 10]


def test_a_private_clip_longer_than_the_series_still_releases(trip_card):
    clip = PrivateClip(smallest=1, largest=100, periods=500)
    question = asked(clip=clip, horizon=5, rho=1000)
    answer = release(question, gather(question, read(trips(days=5), trip_card)), SeededSource(3))
    assert len(answer["series"]) == 5
    assert answer["clip"][1] in (16.0, 32.0, 64.0)


def test_through_the_curator_the_series_is_charged_once_and_repeated_free(trip_card):
    curator = wc.Curator.open(trips(), card=trip_card, budget="1")
    question = asked(rho=None, epsilon="1/2")
    first = curator.ask(question)
    again = curator.ask(question)
    assert first.charged
    assert not again.charged
    assert again.answer == first.answer
    assert first.guarantee == DifferentialPrivacy("1/2")


def test_a_publication_kept_in_the_ledger_survives_a_restart(tmp_path, trip_card):
    ledger = f"sqlite:///{tmp_path / 'ledger.db'}"
    question = asked(
        horizon=4, rho=None, epsilon="1/2", clip=PrivateClip(smallest=1, largest=64, periods=2)
    )
    shown = []
    for t in range(4):
        day = FIRST + datetime.timedelta(days=t)
        with wc.Curator.open(
            trips(), card=trip_card, budget="1", ledger=ledger, name="trips"
        ) as curator:
            shown += curator.publisher(question).update(day, [4.0, math.inf, math.nan])
        with wc.Curator.open(trips(), card=trip_card, ledger=ledger, name="trips") as curator:
            again = curator.publisher(question).update(day, [4.0])
            assert list(again) == (shown[-len(again) :] if again else [])
            left = curator.remaining()
    assert [point.period for point in shown] == [f"2019-03-0{i}" for i in range(1, 5)]
    assert "0.5" in str(left)


def test_weeks_months_and_numbers_are_periods(card):
    weekly = Publisher(asked(period="week"), card)
    assert weekly.update("2019-03-09", [1.0])[-1].period == "2019-03-08"
    monthly = Publisher(asked(period="month"), card)
    assert monthly.update("2019-05", [1.0])[-1].period == "2019-05"
    quarter = Publish("km", time="t", start="-1/2", period="1/4", horizon=9, rho=1)
    assert [p.period for p in Publisher(quarter, card).update("0.3", [1.0])] == [
        "-0.5",
        "-0.25",
        "0",
        "0.25",
    ]
    with pytest.raises(InvalidInput, match="period"):
        Publisher(quarter, card).update("soon")
    with pytest.raises(InvalidInput, match="period"):
        weekly.update("soon")


def test_calendars_agree_with_themselves():
    from whitecrow.publish.periods import Calendar

    days = np.arange(17_900, 19_000)
    for period in ("day", "week", "month"):
        calendar = Calendar.of("2019-03-01", period)
        for number, index in zip(days, calendar.index(days), strict=True):
            date = datetime.date(1970, 1, 1) + datetime.timedelta(days=int(number))
            assert calendar.position(date) == index
            assert calendar.position(calendar.label(int(index))) == index
    assert calendar.label(11) == "2020-02"


def test_the_picture_is_drawn(tmp_path, trip_card):
    question, picture = asked(), tmp_path / "series.png"
    answer = release(question, gather(question, read(trips(), trip_card)), SeededSource(1))
    question.draw(answer, str(picture))
    assert picture.stat().st_size > 5_000


def test_clips_whose_distance_is_no_number_are_refused():
    card = Card("c", (Column("v", lower=-1.7e308, upper=1.7e308), Column("t", lower=0, upper=9)))
    for clip in (None, (0, 1.7e308), (-1.7e308, 1)):
        question = Publish("v", time="t", start=0, period=1, horizon=4, epsilon=1, clip=clip)
        with pytest.raises(InvalidInput, match="1e300"):
            question.price(card)


@pytest.mark.parametrize("changed", [{"start": "9999-12-30", "horizon": 5}, {"leaves": "nowhere"}])
def test_what_every_records_would_fail_is_refused_when_priced(trip_card, changed):
    """Behind the boundary it would be a failure, and close the dataset to everybody."""
    with pytest.raises(InvalidInput):
        asked(**{"horizon": 3, "rho": 1, **changed}).price(trip_card)
