"""The question: validation at the border, prices, words, and bad input."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.anomaly.detectors import FewWithin, Grubbs, LocalOutlierFactor
from whitecrow.data import Card, Column
from whitecrow.errors import InvalidInput
from whitecrow.explain import CustomUtility, Explain, Isolation, register_utility
from whitecrow.explain.question import outlier_probability
from whitecrow.question import digest

MODEL = DistanceAnomaly(beta=10, radius=5000)


def ask(record, **changes):
    basic = {"metric": "Salary", "detector": "lof", "epsilon": "0.2", "notion": "conditional"}
    return Explain(record, **basic | changes)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"detector": "grubbs", "search": "bfs", "samples": 7},
        {"detector": MODEL, "notion": "differential"},
        {"detector": MODEL, "notion": "differential", "utility": Isolation(77)},
        {"detector": FewWithin(3, 9), "utility": "isolation"},
        {"utility": "overlap", "start": {"Employer": ["B", "A"], "Year": "2004"}},
        {"attributes": ("Year", "Employer")},
    ],
)
def test_json_is_round_and_canonical(record, changes):
    question = ask(record, **changes)
    again = Explain.from_json(question.to_json())
    assert again == question
    assert hash(again) == hash(question)
    assert digest(again) == digest(question)


def test_spelling_does_not_change_the_question(record):
    one = ask(record, attributes=("Year", "Employer"), start={"Year": ["2005", "2004"]})
    other = ask(
        {**record, "Name": "dropped"},
        attributes=["Employer", "Year"],
        start={"Year": ("2004", "2005", "2004")},
        epsilon=Fraction(1, 5),
        detector=LocalOutlierFactor(),
    )
    assert digest(one) == digest(other)


def test_numpy_values_are_plain_values(record):
    question = ask({**record, "Salary": np.float64(240_000), "Age": np.int64(50)})
    assert question == ask(record)
    assert question.to_json()["record"]["Salary"] == 240_000


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": "a lot"}, "epsilon"),
        ({"search": "astar"}, "search"),
        ({"samples": 0}, "samples"),
        ({"samples": True}, "samples"),
        ({"samples": 10**9}, "samples"),
        ({"notion": "absolute"}, "notion"),
        ({"detector": "magic"}, "detector"),
        ({"detector": 7}, "detector"),
        ({"detector": DistanceAnomaly(3, 1.0, "gower")}, "detector"),
        ({"notion": "differential"}, "distance model"),
        ({"detector": MODEL, "notion": "differential", "utility": "population"}, "isolation"),
        ({"utility": "isolation"}, "distance model"),
        ({"utility": "beauty"}, "utility"),
        ({"utility": 7}, "utility"),
        ({"detector": MODEL, "utility": Isolation(3)}, "crowd"),
        ({"attributes": "Year"}, "attributes"),
        ({"attributes": ("Salary",)}, "attributes"),
        ({"attributes": ("Town",)}, "no value for 'Town'"),
        ({"metric": 3}, "metric"),
        ({"metric": "Height"}, "no value for 'Height'"),
        ({"start": ["A"]}, "start"),
    ],
)
def test_wrong_parameters_are_refused_when_the_question_is_made(record, changes, says):
    with pytest.raises(InvalidInput, match=says):
        ask(record, **changes)


def test_no_utility_can_leave_the_64_bits_it_is_computed_in(record):
    """A product that wraps around jumps by far more than the sensitivity that is paid for."""
    for crowd in (2**55, 2**63, 10**30):
        with pytest.raises(InvalidInput, match="crowd"):
            Isolation(crowd)
    with pytest.raises(InvalidInput, match="crowd"):
        ask(record, detector=DistanceAnomaly(2**30, 5000), notion="differential")
    assert 2**30 * (2**32 + 2**30) < 2**63  # the widest margin over four thousand million records
    wraps = np.array([2**63 - 1, -(2**63)])
    wrapping = CustomUtility("wrapping", lambda sizes, values: wraps[sizes % 2], limit=2)
    with pytest.raises(InvalidInput, match="2\\^62"):
        wrapping.check({"Year": 2})


@pytest.mark.parametrize("value", [None, float("nan"), [1], {"a": 1}])
def test_a_record_of_strange_values_is_refused(record, value):
    with pytest.raises(InvalidInput):
        ask({**record, "Salary": value})


@pytest.mark.parametrize("given", [{}, None, "x"])
def test_a_record_must_be_a_mapping(given):
    with pytest.raises(InvalidInput, match="record"):
        ask(given)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"Employer": "Z"}, "no value 'Z'"),
        ({"Age": 12}, "no value 12"),
        ({"Salary": -5}, "bounds"),
        ({"Salary": "much"}, "number"),
    ],
)
def test_what_the_card_does_not_allow_is_refused_before_anything_is_spent(
    card, record, changes, says
):
    with pytest.raises(InvalidInput, match=says):
        ask({**record, **changes}).check(card)


def test_a_metric_of_words_is_refused(card, record):
    with pytest.raises(InvalidInput, match="number or an integer"):
        ask(record, metric="Employer", attributes=("Year",)).check(card)


def test_a_clipped_metric_is_clipped_in_the_question_too(record):
    card = Card(
        "town",
        (
            Column("Year", "category", categories=("2003", "2004")),
            Column("Salary", lower=0, upper=1000, resolution=1.0, outside="clip"),
        ),
    )
    question = ask(record, attributes=("Year",))
    assert question.on_grid(card)[1] == 1000


def wide_card(values: int) -> Card:
    return Card(
        "wide",
        (
            Column("c", "category", categories=tuple(str(i) for i in range(values))),
            Column("Salary", "integer", lower=0, upper=100),
        ),
    )


def test_more_free_bits_than_direct_can_take_says_what_to_use():
    question = ask({"c": "0", "Salary": 5}, search="direct")
    with pytest.raises(InvalidInput, match="search='bfs'"):
        question.check(wide_card(30))
    auto = ask({"c": "0", "Salary": 5})
    assert auto.describe(wide_card(30)).figures["search"] == "bfs"
    assert auto.describe(wide_card(27)).figures["search"] == "direct"


def test_the_price_is_the_epsilon_and_the_condition_names_the_question(card, record):
    price = ask(record).price(card)
    assert price.notion == "conditional"
    assert price.epsilon == Fraction(1, 5)
    assert "Salary 240000" in price.condition
    assert ask(record, detector="grubbs").price(card).condition != price.condition
    assert ask(record, detector=MODEL, notion="differential").price(card).notion == "differential"


def test_the_weight_of_a_draw_follows_the_accounting(card, record):
    direct = ask(record)
    assert direct.eta(card, "direct") == Fraction(1, 5)
    assert direct.eta(card, "bfs") == Fraction(1, 5 * 51)
    isolated = ask(record, detector=MODEL, notion="differential")
    assert isolated.eta(card, "direct") == Fraction(1, 5 * 100)
    two_sided = CustomUtility("near 50", lambda n, values: -abs(n - 50), limit=100)
    assert ask(record, utility=two_sided).eta(card, "direct") == Fraction(1, 10)
    many = Card("users", (*card.columns, Column("who", "text")), "user", "who", 3)
    assert direct.eta(many, "direct") == Fraction(1, 15)


def test_describe_says_what_is_promised_and_what_is_not(card, record):
    said = str(ask(record).describe(card))
    assert "not protected" in said
    assert "or that none was found" in said
    question = ask(record, detector=MODEL, notion="differential", epsilon=2)
    found = question.describe(card, margin=8)
    assert found.figures["margin_for_95"] <= 10
    assert 0 < found.figures["probability"] <= found.figures["probability_at_most_margin"]
    hopeless = ask(record, detector=DistanceAnomaly(2, 5000), notion="differential")
    assert "out of reach" in str(hopeless.describe(card))
    sampled = ask(record, detector=MODEL, notion="differential", search="bfs")
    assert "no bound" in str(sampled.describe(card))
    with pytest.raises(InvalidInput, match="margin"):
        question.describe(card, margin=11)


def test_the_probability_bound_grows_with_the_margin_and_never_overflows():
    chances = [outlier_probability(margin, 0.5, 22) for margin in range(0, 200, 5)]
    assert chances == sorted(chances)
    assert outlier_probability(0, 1.0, 4096) >= 0
    assert outlier_probability(5, 1.0, 0) == 1


BANDS = {"limit": 20, "edges": (3.0, 8.0)}


@pytest.mark.parametrize(
    ("score", "given", "said"),
    [
        (lambda n, values: 2 * n[0] - n[2], {"monotone": True}, "changes by 2 when band 1"),
        (lambda n, values: np.abs(n[1] - 5), {"monotone": True}, "when band 2"),
        (lambda n, values: n[0] * n[1], {}, "when band 1"),
        (
            lambda n, values: n[0] if values["Employer"] == 1 else -n[0],
            {"monotone": True},
            "band 1 raise",
        ),
        (lambda n, values: n[0][:5], {}, "one whole number for each size"),
    ],
)
def test_a_utility_of_bands_is_checked_along_each_band_and_in_every_shape(score, given, said):
    with pytest.raises(InvalidInput, match=said):
        CustomUtility("bands", score, **BANDS, **given).check({"Employer": 2, "Year": 2})


def test_bands_may_move_the_score_in_opposite_ways_at_the_price_of_one(record):
    lifted = CustomUtility("lifted", lambda n, values: n[0] - n[2], monotone=True, **BANDS)
    lifted.check({"Employer": 2, "Year": 2})
    assert (lifted.spread, lifted.cells) == (1, 21**3)
    both = CustomUtility("both", lambda n, values: np.abs(n[0] - 5), **BANDS)
    both.check({"Employer": 2})
    assert both.spread == 2
    question = ask(record, utility=register_utility(lifted))
    assert Explain.from_json(question.to_json()).utility is lifted
    with pytest.raises(InvalidInput, match="small enough"):
        CustomUtility("wide", lambda n, values: n[0], limit=1000, edges=(1, 2)).check({"a": 1})
    for edges in ((2, 1), (1, 1), (float("nan"),), ("a",)):
        with pytest.raises(InvalidInput, match="ascending"):
            CustomUtility("cut", lambda n, values: n[0], limit=5, edges=edges)


def test_a_utility_of_ones_own_is_checked_on_its_whole_domain(card, record):
    jumpy = CustomUtility("jumpy", lambda n, values: np.where(n > 70, n + 5, n), limit=100)
    with pytest.raises(InvalidInput, match="from a population of 70 to 71"):
        ask(record, utility=jumpy).check(card)
    falling = CustomUtility("falling", lambda n, values: -n, monotone=True, limit=100)
    with pytest.raises(InvalidInput, match="monotone"):
        ask(record, utility=falling).check(card)
    floating = CustomUtility("floating", lambda n, values: n / 2, limit=100)
    with pytest.raises(InvalidInput, match="whole number"):
        ask(record, utility=floating).check(card)
    only_at_home = CustomUtility(
        "only at home", lambda n, values: n * (3 if values["Employer"] == 4 else 1), limit=100
    )
    with pytest.raises(InvalidInput, match="'Employer': 4"):
        ask(record, utility=only_at_home).check(card)
    endless = CustomUtility("endless", lambda n, values: n, limit=10**8)
    with pytest.raises(InvalidInput, match="small enough"):
        ask(record, utility=endless).check(card)


@pytest.mark.parametrize("wrong", [{"name": ""}, {"score": 3}, {"sensitivity": 0}, {"limit": 0}])
def test_a_utility_of_ones_own_needs_sound_declarations(wrong):
    with pytest.raises(InvalidInput):
        CustomUtility(**{"name": "mine", "score": lambda n, values: n} | wrong)


def test_only_a_registered_utility_is_read_from_json(record):
    mine = CustomUtility("registered", lambda n, values: n, monotone=True, limit=50)
    question = ask(record, utility=mine)
    with pytest.raises(InvalidInput, match="not registered"):
        Explain.from_json(question.to_json())
    register_utility(mine)
    assert Explain.from_json(question.to_json()) == question


def test_defaults_of_names_are_those_of_the_classes(record):
    assert ask(record).detector == LocalOutlierFactor()
    assert ask(record, detector="grubbs").detector == Grubbs()


def test_an_explanation_promises_to_everyone_unless_a_condition_is_named(card, record):
    few = DistanceAnomaly(beta=3, radius=1000.0)
    given = {"metric": "Salary", "epsilon": "0.2"}
    assert Explain(record, detector=few, **given).price(card).notion == "differential"
    written = {"record": record, "detector": {"kind": "distance", **few.to_json()}, **given}
    assert Explain.from_json(written).price(card).notion == "differential"
    for detector in ("lof", "grubbs", "histogram"):
        with pytest.raises(InvalidInput, match="use notion='conditional'"):
            Explain(record, detector=detector, **given)
        with pytest.raises(InvalidInput, match="use notion='conditional'"):
            Explain.from_json({**written, "detector": detector})
