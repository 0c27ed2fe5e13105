"""Many questions at once: priced together, all or nothing, and never paid twice."""

from fractions import Fraction

import pyarrow as pa
import pytest

import whitecrow as wc
from whitecrow.ledger import spatial
from whitecrow.privacy import exact

MODEL = wc.DistanceAnomaly(beta=3, radius=1.0)
ROWS = pa.table({"x": [float(i) for i in range(50)]})


def opened(**options):
    return wc.Curator.open(ROWS, ledger="sqlite://", name="toys", **options)


def screens(places, epsilon="1/10"):
    return [wc.Screen({"x": place}, model=MODEL, epsilon=epsilon) for place in places]


def crowd(epsilon):
    """As many as 292 questions about one place, and seven elsewhere."""
    return screens([i * 1e-4 for i in range(292)] + [100.0 + 3 * i for i in range(7)], epsilon)


@pytest.mark.parametrize("budget", ["1", "0.1", "2", "0.3"])
@pytest.mark.parametrize("write", [float, str])
def test_a_batch_is_not_refused_for_the_rounding_of_a_quotient(budget, write):
    """As decimals, 292 times 0.1 / 292 is 21/12500000000000000000 more than 0.1."""
    each = Fraction(budget) / 292
    asked = crowd(float(budget) / 292 if write is float else str(each))
    plan = opened(budget=budget).plan(asked)
    assert plan.fits, plan.reason
    assert plan.price["differential"] == Fraction(budget)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (0.1, Fraction(1, 10)),
        (1 / 3, Fraction(1, 3)),
        (0.1 / 292, Fraction(1, 2920)),
        (0.123456789, Fraction("0.123456789")),
        (1e-12, Fraction(1, 10**12)),
        (1e22, Fraction(10**22)),
        (0.3, Fraction(3, 10)),
    ],
)
def test_a_float_means_what_one_would_write_for_it(given, meant):
    assert exact(given, owner="Test") == meant


def test_a_batch_costs_what_its_plan_said_and_answers_every_question():
    curator = opened(budget="1")
    asked = screens([5.0, 5.5, 20.0, 40.0, 5.0])
    plan = curator.plan(asked)
    told = []
    releases = curator.ask_all(asked, progress=lambda *how: told.append(how))
    assert [release.charged for release in releases] == [True, True, True, True, False]
    assert 1 - curator.remaining()["differential"] == plan.price["differential"] == Fraction(1, 5)
    assert told[-1] == (5, 5, "asking")
    assert plan.fitting == plan.questions == 5


def test_a_batch_that_does_not_fit_spends_nothing_and_says_how_many_fit():
    curator = opened(budget="1/2")
    with pytest.raises(wc.BudgetExhausted, match="of its 8 questions the first 5 fit"):
        curator.ask_all(screens([5.0 + i / 100 for i in range(8)]))
    assert curator.remaining()["differential"] == Fraction(1, 2)
    assert len(curator.ask_all(screens([5.0 + i / 100 for i in range(5)]))) == 5


def test_the_analysts_own_cap_is_part_of_the_plan():
    curator = opened(budget="1")
    curator.allow("owner", "3/10", reason="a first look")
    plan = curator.plan(screens([5.0, 5.1, 5.2, 5.3]))
    assert not plan.fits
    assert plan.fitting == 3
    assert "Analyst 'owner'" in plan.reason
    apart = curator.plan(screens([5.0, 15.0, 25.0, 35.0]))
    assert apart.fits
    assert apart.price["differential"] == Fraction(1, 10)


def test_a_batch_with_a_question_that_may_not_be_asked_is_refused_whole():
    curator = opened(budget="9", policy={"questions": ["screen"]})
    asked = [*screens([5.0]), wc.Identify({"x": 5.0}, model=MODEL, epsilon="1/10")]
    with pytest.raises(wc.PolicyViolation):
        curator.ask_all(asked)
    assert curator.remaining()["differential"] == 9


@pytest.mark.parametrize("most", [4, 1024])
def test_a_plan_and_its_charge_agree_in_a_crowd(most, monkeypatch):
    """Where more balls lie near than are looked at, a ball is charged in full: in both."""
    monkeypatch.setattr(spatial, "MOST_TOUCHED", most)
    curator = opened(budget="9")
    asked = screens([5.0 + 0.7 * i for i in range(12)])
    plan = curator.plan(asked)
    curator.ask_all(asked)
    assert 9 - curator.remaining()["differential"] == plan.price["differential"]
