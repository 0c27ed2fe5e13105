"""Questions as OpenDP measurements: its accounting counts them as whitecrow's does."""

from __future__ import annotations

from fractions import Fraction

import pyarrow as pa
import pytest

import whitecrow as wc
from whitecrow.errors import NoConversion
from whitecrow.opendp import domain, make_question

dp = pytest.importorskip("opendp.prelude")
dp.enable_features("contrib", "honest-but-curious")

CARD = wc.Card("toy", (wc.Column("age", lower=0, upper=120), wc.Column("bmi", lower=10, upper=70)))
ROWS = pa.table({"age": [30.0, 31.0, 32.0, 33.0, 90.0], "bmi": [20.0, 21.0, 22.0, 23.0, 60.0]})
MODEL = wc.DistanceAnomaly(beta=2, radius=5.0)


def screen(epsilon: str = "1/2") -> wc.Screen:
    return wc.Screen({"age": 95.0, "bmi": 65.0}, model=MODEL, epsilon=epsilon)


def test_a_question_is_a_measurement_with_its_own_price() -> None:
    found = make_question(screen(), CARD)
    assert found(ROWS) in (True, False)
    assert (found.map(0), found.map(1), found.map(3)) == (0.0, 0.5, 1.5)


def test_a_price_is_never_rounded_down() -> None:
    found = make_question(screen("1/3"), CARD)
    assert Fraction(found.map(1)) >= Fraction(1, 3)


def test_questions_and_opendps_own_queries_share_an_odometer() -> None:
    space = domain(CARD), dp.symmetric_distance()
    own = dp.m.make_user_measurement(
        *space, dp.max_divergence(), lambda table: 7, lambda d_in: 0.25 * d_in
    )
    odometer = dp.c.make_fully_adaptive_composition(*space, dp.max_divergence())(ROWS)
    odometer(make_question(screen("1/2"), CARD))
    assert odometer(own) == 7
    odometer(make_question(wc.Count(model=MODEL, epsilon="1/4"), CARD))
    assert odometer.privacy_loss(1) == 1.0


def test_a_filter_of_opendp_stops_what_is_over_its_budget() -> None:
    space = domain(CARD), dp.symmetric_distance(), dp.max_divergence()
    odometer = dp.c.make_fully_adaptive_composition(*space)
    guarded = dp.c.make_privacy_filter(odometer, d_in=1, d_out=1.0)(ROWS)
    guarded(make_question(screen("3/4"), CARD))
    with pytest.raises(dp.OpenDPException, match=r"(?i)budget|filter|exceed"):
        guarded(make_question(screen("1/2"), CARD))


def test_a_delta_is_counted_in_the_approximate_measure() -> None:
    question = wc.Learn(epsilon="1/2", delta="1e-6")
    price = question.price(CARD)
    epsilon, delta = make_question(question, CARD).map(1)
    assert Fraction(epsilon) >= price.epsilon
    assert Fraction(delta) >= price.delta > 0


def test_promises_to_some_records_only_have_no_measure() -> None:
    identify = wc.Identify({"age": 90.0, "bmi": 60.0}, model=MODEL, epsilon="1/2", k=1)
    with pytest.raises(NoConversion, match="speak of everybody"):
        make_question(identify, CARD)


def test_what_fails_near_records_says_nothing_of_them() -> None:
    with pytest.raises(Exception, match=r"(?i)fail") as raised:
        make_question(screen(), CARD)(pa.table({"age": ["secret-17"]}))
    assert "secret-17" not in str(raised.value)
