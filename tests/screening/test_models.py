"""Screening by models other than the distance model: who counts, who pays, who is refused."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import whitecrow as wc
from whitecrow.anomaly import model as registry
from whitecrow.anomaly.model import record_type
from whitecrow.data import Dataset
from whitecrow.neighbours import open_engine, relation_on
from whitecrow.screening.mechanism import ActiveCounts, gather

WARDS = ("A", "B", "C")
CARD = wc.Card(
    "clinic",
    (
        wc.Column("age", lower=0, upper=120, scale=1.0),
        wc.Column("bmi", lower=0, upper=90, scale=1.0),
        wc.Column("ward", "category", categories=WARDS),
    ),
)
MODELS = [
    (wc.DistanceAnomaly(4, 2.0), ("age", "bmi")),
    (wc.KthNeighbourAnomaly(4, 2.0, "chebyshev"), ("age", "bmi")),
    (wc.KernelAnomaly(9, radii=[1, 3], heights=[3, 1]), ("age", "bmi")),
    (wc.KernelAnomaly(9, radii=[1, 2, 4], heights=[4, 2, 1], metric="manhattan"), ("age",)),
    (wc.ContextualAnomaly(3, 2, group=["ward"]), ("age", "ward")),
    (wc.ContextualAnomaly(3, 0, group=["ward"]), ("age", "ward")),
    (wc.SimilarityAnomaly(4, 1.5, weights={"age": 0.5, "ward": 1.0}), ("age", "ward")),
]
PRICE = {"epsilon": 8, "delta": "1e-6"}


def rows(draw, size):
    return {
        "age": draw.integers(30, 42, size).astype(float),
        "bmi": draw.integers(20, 30, size).astype(float),
        "ward": draw.integers(0, 3, size),
    }


@pytest.mark.parametrize(("model", "columns"), MODELS, ids=str)
def test_the_active_records_weigh_and_pay_as_the_model_says_of_plain_records(model, columns):
    draw, record = np.random.default_rng(5), record_type(columns)

    def plain(held):
        named = {**held, "ward": [WARDS[code] for code in held["ward"]]}
        return [record(*values) for values in zip(*(named[name] for name in columns), strict=True)]

    held, asked = rows(draw, 90), rows(draw, 40)
    dataset = Dataset(CARD, held)
    question = wc.Screening(model=model, columns=columns, limit=2, **PRICE)
    law = question.law(CARD)
    active = gather(question, dataset, open_engine(dataset)).exact_active
    names = question.names(CARD)
    places = np.column_stack([asked[name] for name in names]).astype(float)
    counters, flags = active.fresh(law.limit), np.zeros(90, dtype=int)
    people = plain(held)
    for place, i in zip(places[:15], plain(asked)[:15], strict=True):  # flags that were given
        counters.replay(active.form.placed(place[None]))
        flags += np.array([model.weight(i, one) > 0 for one in people]) & (flags < law.limit)
    wanted = [
        sum(model.weight(i, one) for one, flag in zip(people, flags, strict=True) if flag < 2)
        for i in plain(asked)
    ]
    assert (flags >= law.limit).any()
    found = ActiveCounts(active, counters, places, law).counts()
    assert found.tolist() == [min(law.most, one) for one in wanted]


@pytest.mark.parametrize(("model", "columns"), MODELS, ids=str)
def test_each_model_is_asked_through_a_curator(model, columns):
    draw = np.random.default_rng(6)
    held = rows(draw, 4000)
    held["ward"] = [WARDS[code] for code in held["ward"]]
    model = model.replace(
        **{
            "most"
            if "most" in model.parameters
            else "nth"
            if "nth" in model.parameters
            else "beta": 60
        }
    )
    curator = wc.Curator.open(pa.table(held), card=CARD, budget="8, 1e-6")
    screening = curator.screening(model=model, columns=columns, **PRICE)
    near = {"age": 36.0, "bmi": 25.0, "ward": "B"}
    far = {"age": 110.0, "bmi": 80.0, "ward": "B"}
    assert [screening.ask(one).answer for one in (far, near)] == [True, False]
    written = json.loads(json.dumps(screening.question.to_json()))
    assert wc.Screening.from_json(written) == screening.question


def test_columns_are_those_that_the_model_can_compare():
    def names(model):
        return wc.Screening(model=model, **PRICE).names(CARD)

    assert names(MODELS[0][0]) == names(MODELS[2][0]) == ("age", "bmi")
    assert names(MODELS[4][0]) == ("age", "bmi", "ward")
    assert names(MODELS[6][0]) == ("age", "ward")


def test_weights_are_spoken_of_as_such():
    kernel = wc.KernelAnomaly(900, radii=[1, 3], heights=[3, 1])
    said = wc.Screening(model=kernel, **PRICE).describe(CARD, typical_neighbours=900)
    assert "weight or more near it" in said.words
    assert said.figures["clear_above"] > 900 - 3 + 1
    law = wc.Screening(model=kernel, **PRICE).law(CARD)
    assert law.chance(897) > 0.5 > law.chance(898)  # weighs at most 900 with its own 3, or more


class Agreeing(wc.CountingModel):
    """At most sixty, itself included, agree with it in all columns but one."""

    kind, threshold = "agreeing", 60

    def balls(self, columns, card):
        return ((1, relation_on(card, columns, "hamming", 1)),)


class Reading(wc.CountingModel):
    """The same, without saying who is near."""

    kind, threshold = "reading", 60

    def weight(self, i, other):
        return int(sum(a != b for a, b in zip(i, other, strict=True)) <= 1)


class TooLight(Agreeing):
    """Says that a record weighs less than it does."""

    kind = "too-light"

    def balls(self, columns, card):
        return ((2, relation_on(card, columns, "hamming", 1)),)


class Apart(Agreeing):
    """Has balls of which none is the widest."""

    kind, own = "apart", 2

    def balls(self, columns, card):
        near = (relation_on(card, columns, name, 1) for name in ("hamming", "gower"))
        return tuple((1, relation) for relation in near)


class Label(wc.AnomalyModel):
    """Says no more than whether a record is an anomaly."""

    kind, means = "label", "it is alone"

    def label(self, records, i):
        return len(records) == 1


@pytest.fixture
def own_models(monkeypatch):
    monkeypatch.setattr(registry, "_registered", {})
    return [wc.register_model(one) for one in (Agreeing, Reading, TooLight, Apart, Label)]


def test_a_model_of_ones_own_with_balls_is_screened(own_models):
    held = rows(np.random.default_rng(7), 3000)
    held["ward"] = [WARDS[code] for code in held["ward"]]
    curator = wc.Curator.open(pa.table(held), card=CARD, budget="8, 1e-6")
    screening = curator.screening(model="agreeing", **PRICE)
    asked = [{"age": 36.0, "bmi": 25.0, "ward": "B"}, {"age": 1.0, "bmi": 2.0, "ward": "A"}]
    assert screening.ask_all(asked).tolist() == [False, True]


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("reading", "'balls' must be at least one"),
        ("too-light", "what its balls weigh together, 2"),
        ("apart", "differ in their radius alone"),
        ("label", "may depend on all records"),
    ],
)
def test_a_model_that_the_proof_does_not_cover_is_refused_before_paying(own_models, kind, says):
    curator = wc.Curator.open(pa.table({"age": [1.0, 2.0]}), card=None, budget="8, 1e-6")
    with pytest.raises(wc.InvalidInput, match=says):
        curator.screening(model=kind, **PRICE) if kind != "apart" else wc.Screening(
            model=kind, **PRICE
        ).check(CARD)
    assert curator.remaining()["differential"] == 8


def test_records_on_disk_are_refused_before_paying(tmp_path):
    path = tmp_path / "ages.parquet"
    pq.write_table(pa.table({"age": [30.0] * 50}), path)
    with wc.Curator.open(path, engine="disk", budget="8, 1e-6", ledger="sqlite://") as curator:
        with pytest.raises(wc.InvalidInput, match="stay in memory"):
            curator.screening(model=wc.DistanceAnomaly(60, 1.0), **PRICE)
        assert curator.remaining()["differential"] == 8


# Histograms and counts take what says the same as a distance model.


@pytest.mark.parametrize(
    "model",
    [
        wc.KthNeighbourAnomaly(20, 0),
        wc.ContextualAnomaly(20, 0, group=["ward"], metric="manhattan"),
        wc.SimilarityAnomaly(20, 0, weights={"ward": 3}),
    ],
    ids=str,
)
def test_lookahead_takes_models_for_which_copies_count(model):
    asked = wc.Lookahead(["ward"], model=model, k=5, epsilon=1)
    assert asked.model.radius == 0
    assert (asked.model.beta, asked.threshold) == (20, 15)
    again = wc.Lookahead.from_json(
        {**asked.to_json(), "model": {"kind": model.kind, **model.to_json()}}
    )
    assert again == asked


@pytest.mark.parametrize(
    "model", [wc.KernelAnomaly(9, radii=[1], heights=[3]), wc.KthNeighbourAnomaly(3, 1.0)], ids=str
)
def test_lookahead_refuses_models_with_neighbours(model):
    with pytest.raises(wc.InvalidInput, match="ask Identify or Screen"):
        wc.Lookahead(["ward"], model=model, k=1, epsilon=1)


def test_counts_take_the_kth_neighbour_and_refuse_what_has_no_known_sensitivity():
    same = wc.DistanceAnomaly(3, 1.1, "manhattan")
    other = wc.KthNeighbourAnomaly(3, 1.1, "manhattan")
    for kind, more in ((wc.Count, {}), (wc.Subspaces, {"size": 1})):
        asked = kind(model=other, epsilon=1, **more)
        assert asked == kind(model=same, epsilon=1, **more)
        with pytest.raises(wc.InvalidInput, match="are not counted privately: how many records"):
            kind(model=wc.KernelAnomaly(9, radii=[1], heights=[3]), epsilon=1, **more)
