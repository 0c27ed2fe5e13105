"""What the custodian allows, and what opening an account does not change."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from toy_question import Toy

import whitecrow as wc

MODEL = wc.DistanceAnomaly(beta=10, radius=2.0)


def identify(**parameters: Any) -> wc.Identify:
    given = {"model": MODEL, "k": 2, "epsilon": "1/10"}
    return wc.Identify({"x": 1.0}, **{**given, **parameters})


REFUSALS: list[tuple[dict[str, Any], Any, str]] = [
    ({"notions": ["differential"]}, identify(), "no sensitive release.*no longer cover the total"),
    ({"notions": ["sensitive"]}, Toy(1), "no differential release"),
    ({}, Toy(1, notion="conditional"), "no conditional release.*no guarantee without a condition"),
    ({"notions": ["differential"]}, Toy(1, notion="concentrated"), "no concentrated release"),
    ({"questions": ["count"]}, Toy(1), "allows no toy question; it allows count"),
    ({"max_epsilon": "1/20"}, identify(), "at most epsilon 1/20: requested 1/10, over by 0.05"),
    (
        {"max_epsilon": "1/5"},
        Toy(1, notion="concentrated", epsilon="1/10"),
        "at most rho 1/50: requested 1/10, over by 0.08",
    ),
    (
        {"max_epsilon": "1/10"},
        Toy(1, "1/100", "concentrated"),
        "at most rho 1/200: requested 1/100, over by 0.005",
    ),
    ({"max_tau": 8}, identify(), "tau up to 8: got 9"),
    ({"min_radius": 2.5}, identify(), "radius from 2.5: got 2"),
    ({"min_tau": 10}, identify(), "tau from 10: got 9"),
    ({"max_radius": 1.5}, identify(), "radius up to 1.5: got 2"),
    ({"analysts": {"ana": ["toy"]}}, Toy(1), "'owner' may not ask toy .* allowed: none"),
    (
        {"analysts": {"ana": ["toy"], "*": ["count"]}},
        Toy(1),
        "'owner' may not ask toy .* allowed: count",
    ),
]


@pytest.mark.parametrize(("policy", "question", "words"), REFUSALS)
def test_what_a_policy_forbids_is_refused_with_the_reason(
    opened: Any, policy: dict[str, Any], question: Any, words: str
) -> None:
    curator = opened(policy=policy)
    with pytest.raises(wc.PolicyViolation, match=words):
        curator.ask(question)
    assert len(curator.ledger.entries("toys")) == 1


def test_what_it_allows_is_answered(opened: Any) -> None:
    everything = {
        "notions": ["differential", "concentrated", "sensitive", "conditional"],
        "questions": ["toy", "identify"],
        "analysts": {"owner": ["toy", "identify"]},
        "max_epsilon": "1/10",
        "max_tau": 9,
        "min_radius": 2,
        "min_tau": 9,
        "max_radius": 2,
    }
    curator = opened(policy=everything, budget="1, 1e-6")
    for question in (
        Toy(1),
        identify(),
        Toy(2, "1/100000", "concentrated"),
        Toy(3, notion="conditional"),
        identify(k=10),  # covers everyone: limits on tau do not apply
    ):
        assert curator.ask(question).charged
    totals = curator.totals()
    assert (totals.differential, totals.sensitive) == (None, None)
    assert "no longer covers the total" in totals.statements()[0]
    assert curator.remaining().unbounded == ("differential", "sensitive")


def test_a_policy_is_read_from_toml_and_named_when_wrong(tmp_path: Path, opened: Any) -> None:
    good = tmp_path / "policy.toml"
    good.write_text('notions = ["differential"]\nmax_epsilon = 0.5\n[analysts]\nana = ["toy"]\n')
    curator = opened(policy=good, analyst="ana")
    assert curator.policy.max_epsilon == Fraction(1, 2)
    assert curator.ask(Toy(1)).charged
    for written, words in (
        ("notions = 3", "'notions'"),
        ('notions = ["differentail"]', "among differential"),
        ("max_tua = 3", "no 'max_tua'"),
        ("max_tau = 1.5", "whole number"),
        ('min_radius = "far"', "a number"),
        ("analysts = 3", "table of names"),
        ('unit = "person"', "add_remove"),
        ("max_epsilon = -1", "above 0"),
        ("notions = [", "not valid TOML"),
    ):
        good.write_text(written)
        with pytest.raises(wc.InvalidInput, match=words):
            wc.Policy.of(good)
    with pytest.raises(wc.InvalidInput, match="cannot be read"):
        wc.Policy.of(tmp_path / "none.toml")


def test_a_policy_survives_its_json() -> None:
    policy = wc.Policy(
        notions=("sensitive", "differential"),
        questions=("count",),
        analysts={"ana": ("count",)},
        max_epsilon="1/3",
        max_tau=5,
        min_radius=0.5,
        unit="replace_one",
    )
    assert wc.Policy.from_json(policy.to_json()) == policy


def test_opening_never_changes_a_promise(tmp_path: Path, opened: Any) -> None:
    where = tmp_path / "l.whitecrow.db"
    opened(ledger=where, budget="1/2", policy={"max_epsilon": "1/4"}).close()
    with opened(ledger=where) as curator:  # what stands, stands
        assert curator.remaining()["differential"] == Fraction(1, 2)
        assert curator.policy.max_epsilon == Fraction(1, 4)
    opened(ledger=where, budget=0.5, policy={"max_epsilon": 0.25}).close()  # the same, said again
    for change in ({"budget": "1"}, {"policy": {"max_epsilon": "1"}}):
        with pytest.raises(wc.PolicyViolation, match="already promises another"):
            opened(ledger=where, **change)
    with opened(ledger=where) as curator:
        curator.amend(budget="2", policy={"max_epsilon": "1"}, reason="the board voted")
        assert curator.ask(Toy(1, "1")).charged
        assert curator.remaining()["differential"] == 1
        with pytest.raises(wc.PolicyViolation, match="unit"):
            curator.amend(policy={"unit": "replace_one"}, reason="never")


def test_an_amended_policy_binds_curators_that_are_open(tmp_path: Path, opened: Any) -> None:
    with opened(ledger=tmp_path / "l.db") as one, opened(ledger=tmp_path / "l.db") as other:
        one.ask(Toy(1))
        other.amend(policy={"notions": ["sensitive"]}, reason="no more")
        with pytest.raises(wc.PolicyViolation, match="no differential"):
            one.ask(Toy(2))
        with pytest.raises(wc.PolicyViolation, match="no differential"):
            one.ask(Toy(1))  # also for what was answered before


def test_the_account_belongs_to_the_data_and_not_to_the_card(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"x": [1.0, 2.0]}), tmp_path / "people.parquet")
    bare = wc.Curator.open(tmp_path / "people.parquet", budget="1/10")
    bare.ask(identify())
    card = wc.Card("another name", (wc.Column("x", lower=0, upper=9),))
    with pytest.raises(wc.BudgetExhausted):
        wc.Curator.open(tmp_path / "people.parquet", card=card).ask(identify(epsilon="1/100"))


def test_strangers_questions_and_names_are_refused(opened: Any) -> None:
    class Stranger(Toy):
        """Would price itself at nothing."""

    curator = opened()
    for question in (Stranger(1), object(), "identify"):
        with pytest.raises(wc.InvalidInput, match="not a question this curator knows"):
            curator.ask(question)
    with pytest.raises(wc.InvalidInput, match="analyst"):
        opened(analyst="")


def test_units_follow_the_policy(opened: Any) -> None:
    with pytest.raises(wc.PolicyViolation, match="adding or removing"):
        opened().ask(Toy(1, "1/10", "replace_one"))
    curator = opened(policy={"unit": "replace_one"})
    curator.ask(Toy(1, "1/10", "replace_one"))
    curator.ask(Toy(2, "1/10"))
    assert curator.remaining()["differential"] == Fraction(7, 10)
