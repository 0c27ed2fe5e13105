"""Plans, advice, previews, publications: what can be known or arranged before spending."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from toy_question import Toy

import whitecrow as wc
from whitecrow.curator import read_question
from whitecrow.curator.advice import REFERENCES
from whitecrow.curator.dummy import simulated

CARD = wc.Card(
    "people",
    (
        wc.Column("x", lower=0, upper=100),
        wc.Column("n", "integer", lower=0, upper=9),
        wc.Column("ward", "category", categories=("a", "b")),
        wc.Column("day", "date", lower="2024-01-01", upper="2024-01-31"),  # type: ignore[arg-type]
        wc.Column("name", "text"),
    ),
)
MODEL = wc.DistanceAnomaly(beta=18, radius=0.148)
ROWS = pa.table(
    {
        "x": [1.0, 2.0, 50.0],
        "n": [1, 2, 3],
        "ward": ["a", "b", "a"],
        "day": ["2024-01-02"] * 3,
        "name": ["ann", "bob", "cyd"],
    }
)


@pytest.fixture
def curator() -> wc.Curator:
    return wc.Curator.open(ROWS, card=CARD)


def identify(x: float, epsilon: str = "1/10") -> wc.Identify:
    return wc.Identify({"x": x}, model=MODEL, epsilon=epsilon)


def test_a_plan_prices_a_batch_as_asking_it_does(curator: wc.Curator) -> None:
    batch = [identify(float(x)) for x in range(20)] + [identify(3.0), identify(3.1)]
    plan = curator.plan(batch)
    assert (plan.questions, plan.charged, plan.fits) == (22, 21, True)
    assert plan.price["sensitive"] == Fraction(1, 5)
    assert plan.apart == Fraction(21, 10)
    assert (
        "Total ε 0.20 (2.10 if they were added up). They fit, and 8 more like the last would."
        in str(plan)
    )
    assert curator.remaining()["sensitive"] == 1
    for question in batch:
        curator.ask(question)
    assert curator.remaining()["sensitive"] == Fraction(4, 5)
    again = curator.plan(batch)
    assert (again.charged, again.price["sensitive"]) == (0, 0)


def test_a_plan_says_why_a_batch_does_not_fit(curator: wc.Curator) -> None:
    plan = curator.plan([identify(1.0, "2/3"), Toy(1, "2/3")])
    assert not plan.fits
    assert "short by 1/3" in str(plan)
    assert plan.to_json()["price"]["sensitive"] == "4/3"
    with pytest.raises(wc.InvalidInput):
        curator.plan([Toy(-1)])


def test_a_plan_says_which_questions_the_policy_refuses_to_whoever_asks() -> None:
    policy = {"analysts": {"ana": ["identify"], "*": ["toy"]}, "max_epsilon": "1/2"}
    curator = wc.Curator.open(ROWS, card=CARD, policy=policy)
    batch = [identify(1.0), Toy(1, "1/10"), identify(2.0, "2/3")]
    plan = curator.plan(batch, analyst="ana")
    assert (plan.questions, plan.charged, plan.fits, plan.fitting) == (3, 1, False, 1)
    assert list(plan.refused) == [2, 3]
    assert "may not ask toy questions" in plan.refused[2] == plan.reason
    assert "at most epsilon 1/2" in plan.refused[3]
    assert plan.price["sensitive"] == Fraction(1, 10)
    assert type(plan).from_json(plan.to_json()) == plan
    assert list(curator.plan(batch).refused) == [1, 3]  # somebody else may ask other kinds
    with pytest.raises(wc.PolicyViolation, match="question 2"):
        plan.check()


@pytest.mark.parametrize("given", range(2**3))
def test_the_first_question_of_a_plan_that_would_be_refused_is_so_when_asked(given: int) -> None:
    """Policy and budget mixed in every order: what fits by the plan is what asking admits."""
    policy, budget = {"questions": ["identify"]}, "1/4"
    curator = wc.Curator.open(ROWS, card=CARD, policy=policy, budget=budget)
    batch = [identify(50.0 + n / 100, "1/8") if given >> n & 1 else Toy(n) for n in range(3)]
    plan = curator.plan([*batch, identify(50.5, "1/5")])
    assert not plan.fits  # the last one is too much after three, and so is any that is no identify
    for question in batch[: plan.fitting]:
        curator.ask(question)
    with pytest.raises((wc.PolicyViolation, wc.BudgetExhausted)) as refusal:
        curator.ask([*batch, identify(50.5, "1/5")][plan.fitting])
    assert str(refusal.value) == plan.reason


def test_advice_finds_the_smallest_price_for_an_error(curator: wc.Curator) -> None:
    question = identify(1.0)
    now = curator.price_for(question)
    assert (now.figure, now.question) == ("error_if_alone", question)
    assert now.error == pytest.approx(0.0867785, rel=1e-5)  # the paper's Table 2, beta 18
    found = curator.price_for(question, error=0.05)
    assert found.error <= 0.05
    epsilon = Fraction(found.question.to_json()["epsilon"])
    cheaper = wc.Identify({"x": 1.0}, model=MODEL, epsilon=epsilon - Fraction(1, 100) * epsilon)
    assert curator.price_for(cheaper).error > 0.05
    guess = curator.price_for(question, error=0.05, typical_neighbours=10)
    assert guess.figure == "expected_error"
    assert Fraction(guess.question.to_json()["epsilon"]) > epsilon
    assert str(found).startswith("At ε = ")
    assert found.to_json()["references"]
    assert curator.remaining()["sensitive"] == 1


def test_advice_says_when_there_is_none(curator: wc.Curator) -> None:
    with pytest.raises(wc.InvalidInput, match="No epsilon up to 1000"):
        curator.price_for(Toy(1), error=1e-9)
    with pytest.raises(wc.InvalidInput, match="priced by epsilon"):
        curator.price_for(
            wc.Publish("x", time="day", start="2024-01-01", horizon=31, rho="1/2"), error=1
        )
    for bad in (0, -1, True, "small"):
        with pytest.raises(wc.InvalidInput, match="above 0"):
            curator.price_for(identify(1.0), error=bad)  # type: ignore[arg-type]


def test_reference_points_have_sources() -> None:
    assert len(REFERENCES) >= 4
    assert all(one.source and one.who for one in REFERENCES)


def test_a_dummy_answers_about_made_up_records(curator: wc.Curator) -> None:
    question = wc.Screen({"x": 50.0}, model=wc.DistanceAnomaly(beta=3, radius=10.0), epsilon=5)
    answers = [curator.dummy(question, size=500, run=run).answer for run in range(20)]
    assert answers.count(False) >= 18
    assert answers[3] == curator.dummy(question, size=500, run=3).answer
    with pytest.warns(DeprecationWarning, match="use dummy"):
        assert curator.preview(question, size=500, runs=20) == tuple(answers)
    coin = wc.Screen({"x": 50.0}, model=wc.DistanceAnomaly(beta=3, radius=1.0), epsilon="1/100")
    assert {curator.dummy(coin, run=run).answer for run in range(20)} == {True, False}
    assert curator.remaining()["differential"] == 1
    made = simulated(CARD, 200)
    assert made.size == 200
    assert 0 <= made.values("x").min() <= made.values("x").max() <= 100
    assert set(made.values("ward")) == {0, 1}
    with pytest.raises(wc.InvalidInput, match="no bounds for 'x'"):
        simulated(wc.Curator.open(ROWS).card, 10)


def test_a_publication_is_paid_once_and_goes_on_after_a_restart(tmp_path: Path) -> None:
    where = tmp_path / "l.whitecrow.db"
    question = wc.Publish("x", time="day", start="2024-01-01", horizon=31, epsilon="1/2")

    def opened() -> wc.Curator:
        return wc.Curator.open(ROWS, card=CARD, ledger=where, name="stays")

    with opened() as curator:
        first = curator.publisher(question).update("2024-01-01", [1.0, 2.0])
        assert curator.remaining()["differential"] == Fraction(1, 2)
    with opened() as curator:
        again = curator.publisher(question)
        assert again.update("2024-01-01", [1.0, 2.0]) == first
        assert again.update("2024-01-02", [5.0])
        assert again.closed == 2
        assert curator.remaining()["differential"] == Fraction(1, 2)
        # A finished series of the same question draws its own noise, and pays for it.
        assert curator.ask(question).charged
        assert curator.remaining()["differential"] == 0
        assert curator.publisher(question).closed == 2


def test_questions_are_read_from_json(curator: wc.Curator) -> None:
    question = identify(1.0)
    for written in (
        {"kind": "identify", **question.to_json()},
        {"kind": "identify", "question": question.to_json()},
    ):
        assert read_question(written) == question
    cases: list[tuple[Any, str]] = [
        ({"kind": "gossip"}, "no question 'gossip'"),
        ({"record": {}}, 'a "kind"'),
        ([], 'a "kind"'),
        ({"kind": "identify"}, "needs 'record'"),
    ]
    for bad, words in cases:
        with pytest.raises(wc.InvalidInput, match=words):
            read_question(bad)


def test_thin_methods_ask(curator: wc.Curator) -> None:
    assert curator.identify({"x": 1}, model=MODEL, epsilon="1/10").charged
    assert not curator.identify({"x": 1.0}, model=MODEL, epsilon=0.1, analyst="bo").charged
    assert curator.screen({"x": 1}, model=MODEL, epsilon="1/10").charged
    assert isinstance(curator.count(["x"], model=MODEL, epsilon="1/10").answer, int)
