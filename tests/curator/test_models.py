"""A model for a wanted share of outliers, without knowing the radius: public facts and a price."""

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

import whitecrow as wc
from whitecrow import demo
from whitecrow.cli import whitecrow
from whitecrow.data import Card, Column

CARD = Card(
    "toy", (Column("x", lower=0, upper=100, scale=10), Column("y", lower=0, upper=1, scale=1))
)


def opened(rows, **options):
    return wc.Curator.open(rows, card=CARD, ledger="sqlite://", name="toy", budget="99", **options)


def test_advice_is_the_same_whatever_the_records_are():
    one = opened(pa.table({"x": [1.0, 2.0], "y": [0.5, 0.5]}))
    two = opened(pa.table({"x": np.linspace(0, 99, 500), "y": np.zeros(500)}))
    found = [curator.advise("0.05", columns=["x", "y"], records=1000) for curator in (one, two)]
    assert found[0] == found[1]
    assert one.remaining() == two.remaining()
    assert one.remaining()["differential"] == 99


@pytest.mark.parametrize("metric", ["euclidean", "standardised", "gower", "standardised_chebyshev"])
def test_the_advised_model_makes_about_that_share_of_uniform_records_outliers(metric):
    if metric == "gower":
        with pytest.raises(wc.InvalidInput, match="not counted privately"):
            opened(pa.table({"x": [1.0], "y": [0.5]})).advise(
                "0.05", columns=["x", "y"], metric=metric, records=2000
            )
        return
    draw = np.random.default_rng(5)
    rows = pa.table({"x": draw.uniform(0, 100, 2000), "y": draw.uniform(size=2000)})
    curator = opened(rows)
    advice = curator.advise("0.05", columns=["x", "y"], metric=metric, records=2000)
    counted = curator.count(
        ["x", "y"], model=advice.model, epsilon=90, raw=True, mechanism="global"
    ).answer
    assert 0.02 < counted / 2000 < 0.08
    assert 0.03 < advice.share < 0.07


def test_advice_from_a_bought_profile_comes_near_the_wanted_share():
    curator = wc.Curator.open(demo.DATA, card=demo.CARD, budget="200", ledger="sqlite://")
    profile = curator.profile(epsilon="5").answer
    how = {"columns": ["age", "bmi"], "metric": "euclidean", "beta": 10}
    model = curator.advise("0.02", **how, profile=profile).model
    asked = {"model": model, "epsilon": 60, "raw": True, "mechanism": "global"}
    share = curator.count(["age", "bmi"], **asked).answer / 1500
    assert abs(share - 0.02) < 0.015


def test_the_question_that_comes_with_the_advice_buys_a_radius_around_it():
    advice = opened(pa.table({"x": [1.0], "y": [0.5]})).advise(
        "0.05", columns=["x", "y"], records=1000, epsilon="1/2"
    )
    assert advice.description.price.epsilon == advice.question.epsilon
    assert advice.question.radii[0] < advice.model.radius < advice.question.radii[-1]
    assert "95 %" in str(advice)
    assert advice.question.anomaly(2.0) == wc.DistanceAnomaly(20, 2.0, "standardised")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"contamination": "0.6", "records": 9}, "below 1/2"),
        ({"contamination": "0"}, "above 0"),
        ({"contamination": "0.1"}, "about how many records"),
    ],
)
def test_what_cannot_be_advised_is_refused(given, says):
    curator = opened(pa.table({"x": [1.0], "y": [0.5]}))
    with pytest.raises(wc.InvalidInput, match=says):
        curator.advise(given.pop("contamination"), columns=["x"], **given)


def test_the_terminal_takes_contamination_for_the_share(tmp_path):
    line = ["tune", str(demo.DATA), "--card", str(demo.CARD), "--columns", "age", "--beta", "5"]
    line += ["--from", "1", "--to", "8", "--epsilon", "1", "--price-only"]
    ledger = ["--ledger", f"sqlite:///{tmp_path / 'a.db'}"]
    said = [
        CliRunner().invoke(whitecrow, [*line, *ledger, name, "0.02"]).output
        for name in ("--contamination", "--share")
    ]
    assert said[0] == said[1]
    both = CliRunner().invoke(whitecrow, [*line, "--share", "0.1", "--contamination", "0.1"])
    assert both.exit_code == 2


def test_names_that_go_still_find_a_model_and_a_price():
    curator = opened(pa.table({"x": [1.0], "y": [0.5]}))
    with pytest.warns(DeprecationWarning, match="use advise") as told:
        advice = curator.advise_model("0.05", columns=["x"], records=1000)
    assert told[0].filename == __file__
    assert advice.model == curator.advise("0.05", columns=["x"], records=1000).model
    question = wc.Screen({"x": 0.5}, model=advice.model, epsilon="1")
    with pytest.warns(DeprecationWarning, match="use price_for"):
        price = curator.advise(question)
    assert price.error == curator.price_for(question).error
