"""The question: bad input is refused before anything is spent."""

from __future__ import annotations

import math

import pytest

import whitecrow as wc


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"through": 7}, "at most the horizon, 6"),
        ({"window": 7}, "at most the horizon, 6"),
        ({"horizon": 65}, "64"),
        ({"horizon": 0}, "horizon"),
        ({"period": "month"}, "a date such as"),
        ({"period": 0}, "period"),
        ({"false_alarm": 0}, "false_alarm"),
        ({"false_alarm": 1}, "false_alarm"),
        ({"drift_share": 1}, "drift_share"),
        ({"epsilon": 0}, "epsilon"),
        ({"columns": []}, "columns"),
    ],
)
def test_what_makes_no_sense_is_refused(series, given, words):
    with pytest.raises(wc.InvalidInput, match=words):
        wc.Monitor(**{**series, **given})


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"time": "nowhere"}, "nowhere"),
        ({"time": "kind"}, "need a number"),
        ({"columns": ["nowhere"]}, "nowhere"),
        ({"epsilon": "1e-20"}, "large enough to help"),
        ({"epsilon": "1e-16", "delta": 0}, "larger price"),
    ],
)
def test_what_the_card_cannot_serve_is_refused_unpaid(opened, made_up, series, given, words):
    curator = opened(made_up(10))
    before = curator.remaining()["differential"]
    with pytest.raises(wc.InvalidInput, match=words):
        curator.monitor(**{**series, **given})
    assert curator.remaining()["differential"] == before


def test_the_time_is_no_column_of_the_detector_unless_it_is_named(card, series):
    assert wc.Monitor(**series).names(card) == ("x", "y", "kind")
    assert wc.Monitor(["x", "month"], **series).names(card) == ("x", "month")


def test_steps_and_windows_are_paid_as_one_series(series):
    whole = wc.Monitor(**series)
    assert wc.Monitor(**series, through=2, window=1).paid_as() == whole
    assert wc.Monitor(**{**series, "epsilon": 1}).paid_as() != whole


def test_the_description_says_what_the_alarm_can_see(card, series):
    question = wc.Monitor(**series)
    few, many = (question.describe(card, per_period=n) for n in (50, 100_000))
    assert "no change is sure to be seen" in few.words
    assert "detectable" not in few.figures
    assert 0 < many.figures["detectable"] < 0.02
    assert "each record" in many.words
    assert all(math.isfinite(ratio) and ratio > 1 for ratio in many.figures["noise_ratio"])


def test_records_outside_all_periods_count_nowhere(opened, made_up, series):
    early = {**series, "start": 100}
    curator = opened(made_up(2000))
    found = curator.monitor(**early, through=2).answer
    assert found.detector.records < 500
    assert all(abs(one["records"]) < 500 for one in found.series)


def test_data_without_a_record_have_an_answer_too(opened, made_up, series):
    curator = opened(made_up(0))
    assert curator.monitor(**series).answer.alarms == {}
