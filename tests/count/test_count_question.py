"""Count: what may be asked, what it costs, what is said before, what comes back."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.count import Count, gather, release
from whitecrow.counting.mechanism import OutlierFacts
from whitecrow.curator import Curator
from whitecrow.data import Card, Column, Dataset, read
from whitecrow.errors import InvalidInput
from whitecrow.neighbours import open_engine
from whitecrow.noise import laws
from whitecrow.noise.seeded import seeded
from whitecrow.question import digest

MODEL = DistanceAnomaly(beta=3, radius=1.0)
CARD = Card(
    "clinic",
    (
        Column("age", "integer", 0, 120),
        Column("weight", "integer", 0, 300),
        Column("bmi", lower=10, upper=80),
        Column("ward", "category", categories=("a", "b")),
        Column("note", "text"),
    ),
)


def dataset(n: int = 400, card: Card = CARD, seed: int = 1) -> Dataset:
    generator = np.random.default_rng(seed)
    table = pa.table(
        {
            "age": generator.integers(0, 40, n),
            "weight": generator.integers(0, 40, n),
            "bmi": generator.normal(30, 5, n).clip(10, 80),
            "ward": ["a"] * n,
            "note": ["x"] * n,
        }
    )
    return read(table, card)


# What may be asked


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        (["age", "height"], "height"),
        (["age", "age"], "twice"),
        (["age", "ward"], "ward"),
        (["note"], "text"),
        ([], "columns"),
        ("age", "columns"),
        ([3], "columns"),
    ],
)
def test_a_wrong_subspace_is_refused_before_anything_is_spent(columns, says):
    curator = Curator.open(dataset_frame(), card=CARD)
    before = curator.remaining()
    with pytest.raises(InvalidInput, match=says):
        curator.ask(Count(columns, model=MODEL, epsilon="1/10"))
    assert curator.remaining() == before


def dataset_frame() -> pa.Table:
    rows = dataset(50)
    return pa.table(
        {name: rows.values(name) for name in ("age", "weight", "bmi")}
        | {"ward": ["a"] * 50, "note": ["x"] * 50}
    )


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": "nan"}, "epsilon"),
        ({"delta": "1.5"}, "delta"),
        ({"delta": -1}, "delta"),
        ({"relation": "swap"}, "relation"),
        ({"mechanism": "magic"}, "mechanism"),
        ({"mechanism": "paper_gaussian"}, "delta"),
        ({"expected_cluster_size": -1}, "expected_cluster_size"),
        ({"expected_cluster_size": 1.5}, "expected_cluster_size"),
        ({"model": "no"}, "model"),
        ({"model": DistanceAnomaly(3, 1.0, "hamming")}, "hamming"),
        ({"model": DistanceAnomaly(3, 1.0, "haversine")}, "haversine"),
        ({"model": DistanceAnomaly(3, 1e-200)}, "radius"),
    ],
)
def test_wrong_parameters_are_refused_at_once(wrong, says):
    with pytest.raises(InvalidInput, match=says):
        Count(["age"], **{"model": MODEL, "epsilon": 1, **wrong})


def test_one_question_has_one_spelling():
    one = Count(["bmi", "age"], model=MODEL, epsilon="0.5")
    other = Count(("age", "bmi"), model=MODEL, epsilon=Fraction(1, 2))
    assert digest(one) == digest(other)
    again = Count.from_json(json.loads(json.dumps(one.to_json())))
    assert again == one
    assert digest(again) == digest(one)


def test_without_columns_all_numbers_are_meant():
    assert Count(model=MODEL, epsilon=1).subspace(CARD) == ("age", "bmi", "weight")
    only = Card("words", (Column("note", "text"),))
    with pytest.raises(InvalidInput, match="no column of numbers"):
        Count(model=MODEL, epsilon=1).check(only)


# What it costs, and what is said


def test_the_price_is_the_budget_and_delta_only_where_it_is_spent():
    pure = Count(["age"], model=MODEL, epsilon=1, delta="1e-6").price(CARD)
    assert (pure.epsilon, pure.delta) == (1, 0)
    given = Count(["age"], model=MODEL, epsilon=1, delta="1e-6", mechanism="analytic_gaussian")
    assert given.price(CARD).delta == Fraction(1, 10**6)
    replaced = Count(["age"], model=MODEL, epsilon=1, relation="replace_one").price(CARD)
    assert replaced.unit == "replace_one"


def test_whole_numbers_have_the_smaller_bound_in_the_plane():
    exact = Count(["age", "weight"], model=MODEL, epsilon=1).calibration(CARD)
    rounded = Count(["age", "bmi"], model=MODEL, epsilon=1).calibration(CARD)
    assert (exact.cap, rounded.cap) == (15, 18)


def test_the_description_names_the_mechanism_and_the_errors_from_public_facts():
    found = Count(["age", "bmi", "weight"], model=MODEL, epsilon=1).describe(CARD)
    assert found.figures["mechanism"] == "smooth"
    assert found.figures["median_error"] < found.figures["error_95"]
    assert found.figures["error_95"] < found.figures["worst_error_95"]
    assert "median" in found.words
    assert "95 %" in found.words
    crowded = Count(["age", "bmi", "weight"], model=MODEL, epsilon=1).describe(
        CARD, expected_cluster_size=30
    )
    assert crowded.figures["median_error"] > found.figures["median_error"]
    json.dumps(found.to_json())


def test_several_records_of_one_person_share_epsilon():
    users = Card(
        "visits",
        (Column("age", "integer", 0, 120), Column("who", "integer", 0, 9)),
        unit="user",
        user_column="who",
        contribution=5,
    )
    single = Count(["age"], model=MODEL, epsilon=1, mechanism="global").calibration(CARD)
    shared = Count(["age"], model=MODEL, epsilon=1, mechanism="global").calibration(users)
    assert shared.multiplier == 5 * single.multiplier
    gaussian = Count(["age"], model=MODEL, epsilon=1, delta="1e-3", mechanism="analytic_gaussian")
    with pytest.raises(InvalidInput, match="delta"):
        gaussian.check(users)


# What comes back


def facts_of(question: Count, data: Dataset) -> OutlierFacts:
    return gather(question, data, open_engine(data))


@pytest.mark.parametrize("columns", [["age"], ["age", "weight"], ["age", "bmi", "weight"]])
@pytest.mark.parametrize("normalised", [False, True])
def test_the_facts_are_the_definition(columns, normalised):
    data = dataset()
    question = Count(columns, model=MODEL, epsilon=1, mechanism="smooth", normalised=normalised)
    values = data.matrix(sorted(columns))
    squares = ((values[:, None] - values[None]) ** 2).sum(axis=2)
    if normalised:
        squares = squares / len(columns)
    others = (squares <= 1.0 + 1e-9).sum(axis=1) - 1
    assert facts_of(question, data).exact_outliers == int((others < 3).sum())


def test_facts_are_withheld():
    facts = facts_of(Count(["age"], model=MODEL, epsilon=1), dataset())
    assert repr(facts) == str(facts) == f"{facts}" == "<facts withheld>"
    with pytest.raises(TypeError):
        json.dumps(facts)


def test_answers_are_never_negative_unless_raw():
    data = dataset(30)
    given = {"model": DistanceAnomaly(1, 500.0), "epsilon": "1/50"}
    cut, raw = Count(["age"], **given), Count(["age"], raw=True, **given)
    facts = facts_of(cut, data)
    answers = [release(cut, facts, seeded(seed)) for seed in range(40)]
    plain = [release(raw, facts, seeded(seed)) for seed in range(40)]
    assert all(type(answer) is int for answer in answers + plain)
    assert min(plain) < 0
    assert answers == [max(0, value) for value in plain]


@pytest.mark.parametrize("mechanism", ["smooth", "global", "analytic_gaussian", "paper_gaussian"])
def test_draws_follow_the_law(mechanism):
    """20,000 draws against the closed law in 12 bins; chi-square at 1e-6 (false alarm)."""
    question = Count(
        ["age", "weight"],
        model=MODEL,
        epsilon=1,
        delta="1/100" if "gaussian" in mechanism else 0,
        mechanism=mechanism,
        raw=True,
    )
    facts = facts_of(question, dataset(200))
    noise = question.calibration(CARD)
    amplitude = float(noise.multiplier * facts.exact_sensitivity)
    source = seeded(11)
    drawn = Counter(release(question, facts, source) - facts.exact_outliers for _ in range(20_000))
    pmf = {
        "smooth": lambda k: laws.core_tail_pmf(k, amplitude, noise.tail),
        "global": lambda k: laws.discrete_laplace_pmf(k, amplitude),
    }.get(mechanism, lambda k: laws.discrete_gaussian_pmf(k, amplitude**2))
    edges = [round(amplitude * z) for z in (-3, -2, -1.4, -1, -0.6, -0.25, 0.25, 0.6, 1, 1.4, 2)]
    bins: list[tuple[int, float]] = []
    for low, high in itertools.pairwise(edges):
        seen = sum(number for value, number in drawn.items() if low <= value < high)
        bins.append((seen, sum(pmf(k) for k in range(low, high))))
    rest = 20_000 - sum(seen for seen, _ in bins)
    bins.append((rest, 1 - sum(chance for _, chance in bins)))
    square = sum((seen - 20_000 * p) ** 2 / (20_000 * p) for seen, p in bins)
    assert square < 50  # chi-square with 10 degrees of freedom exceeds 50 with less than 1e-6


# Defined answers at the edges


def test_fewer_records_than_beta_are_all_outliers():
    data = dataset(2)
    question = Count(["age"], model=DistanceAnomaly(5, 100.0), epsilon=1)
    assert facts_of(question, data).exact_outliers == 2


def test_no_records_no_outliers():
    data = dataset(0)
    for columns in (["age"], ["age", "weight"], ["age", "bmi", "weight"]):
        facts = facts_of(Count(columns, model=MODEL, epsilon=1, mechanism="smooth"), data)
        assert facts.exact_outliers == 0
        assert facts.exact_sensitivity >= 1


def test_constant_columns_make_no_outliers():
    card = Card("flat", (Column("a"), Column("b")))
    data = read(pa.table({"a": [1.0] * 50, "b": [2.0] * 50}), card)
    facts = facts_of(Count(["a", "b"], model=MODEL, epsilon=1, mechanism="smooth"), data)
    assert facts.exact_outliers == 0


def test_radius_zero_counts_rare_values():
    card = Card("codes", (Column("a", "integer", 0, 9),))
    data = read(pa.table({"a": [1, 1, 1, 1, 2, 2, 3]}), card)
    question = Count(["a"], model=DistanceAnomaly(2, 0), epsilon=1, mechanism="smooth")
    assert question.calibration(card).cap == 2
    assert facts_of(question, data).exact_outliers == 3


def test_the_curator_answers_and_charges_once():
    curator = Curator.open(dataset_frame(), card=CARD, budget="1")
    question = Count(["age", "weight"], model=MODEL, epsilon="1/4")
    first, second = curator.ask(question), curator.ask(question)
    assert isinstance(first.answer, int)
    assert first.answer == second.answer >= 0
    assert (first.charged, second.charged) == (True, False)
    assert math.isclose(float(first.guarantee.epsilon), 0.25)
