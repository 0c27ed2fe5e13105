"""Models beside the distance model: what they weigh, on engines and on plain records."""

from __future__ import annotations

import json
import sys
from fractions import Fraction

import numpy as np
import pytest

import whitecrow as wc
from whitecrow import hazmat
from whitecrow.anomaly import model as registry
from whitecrow.anomaly.law import error_cap
from whitecrow.anomaly.model import record_type
from whitecrow.data import Dataset
from whitecrow.errors import InvalidInput, Unavailable
from whitecrow.neighbours import open_engine
from whitecrow.place.mechanism import gather
from whitecrow.place.question import FLOOR
from whitecrow.question import digest

WARDS = ("A", "B", "C")
CARD = wc.Card(
    "clinic",
    (
        wc.Column("age", lower=0, upper=120, scale=2.0),
        wc.Column("bmi", lower=10, upper=60, scale=1.0),
        wc.Column("ward", "category", categories=WARDS),
    ),
)
RECORD = {"age": 40.0, "bmi": 24.0, "ward": "B"}
MODELS = [
    (wc.KernelAnomaly(most=9, radii=[2, 5], heights=[3, 1]), ("age", "bmi")),
    (wc.KernelAnomaly(most=8, radii=[1, 2, 4], heights=[1, 2, 3], metric="manhattan"), ("age",)),
    (wc.KthNeighbourAnomaly(nth=3, radius=2.0), ("age", "bmi")),
    (wc.ContextualAnomaly(beta=3, radius=3, group=["ward"]), ("age", "ward")),
    (wc.ContextualAnomaly(beta=3, radius=1, group=["ward"], metric="mixed"), ("age", "ward")),
    (wc.SimilarityAnomaly(beta=4, radius=2, weights={"age": 0.5, "ward": 1.5}), ("age", "ward")),
]


def table(seed: int, size: int = 60) -> dict[str, list]:
    source = np.random.default_rng(seed)
    return {
        "age": source.integers(36, 45, size).astype(float).tolist(),
        "bmi": source.integers(22, 27, size).astype(float).tolist(),
        "ward": source.choice(WARDS, size).tolist(),
    }


def dataset(columns: dict[str, list]) -> Dataset:
    coded = [WARDS.index(ward) for ward in columns["ward"]]
    return Dataset(CARD, {**columns, "ward": np.array(coded)})


def _capped(judgement):
    truth, bound = judgement
    return truth, min(bound, error_cap(Fraction(1), FLOOR))


@pytest.mark.parametrize(("model", "columns"), MODELS, ids=str)
def test_engines_count_what_the_model_says_of_plain_records(model, columns):
    row = record_type(columns)
    if "mixed" in str(model):  # plain records have no card, and no scales
        model = wc.ContextualAnomaly(beta=3, radius=2, group=["ward"])
        engine_model = wc.ContextualAnomaly(beta=3, radius=1, group=["ward"], metric="mixed")
    else:
        engine_model = model
    for seed in range(4):
        data = table(seed, 5 + 15 * seed)
        records = [row(*values) for values in zip(*(data[name] for name in columns), strict=True)]
        held = dataset(data)
        for i in [*records[:5], row(*(RECORD[name] for name in columns))]:
            about = i._asdict()
            question = wc.Identify(about, model=engine_model, k=1, epsilon=1)
            facts = gather(question, held, open_engine(held))
            assert (facts.exact_truth, facts.exact_bound) == _capped(
                model.judged(records, i, question.level)
            )
            screen = wc.Screen(about, model=engine_model, epsilon=1)
            facts = gather(screen, held, open_engine(held))
            assert (facts.exact_truth, facts.exact_bound) == _capped(model.foreseen(records, i))


@pytest.mark.parametrize(("model", "columns"), MODELS, ids=str)
def test_a_model_is_written_with_its_kind_and_read_again(model, columns):
    about = {name: RECORD[name] for name in columns}
    question = wc.Identify(about, model=model, k=1, epsilon="1/2")
    written = json.loads(json.dumps(question.to_json()))
    assert written["model"]["kind"] == model.kind
    again = wc.Identify.from_json(written)
    assert again == question
    assert digest(again, CARD) == digest(question, CARD)
    assert question.price(CARD).notion == "sensitive"
    assert question.describe(CARD).figures["error_if_alone"] < 0.5


def test_a_distance_model_is_written_as_it_always_was():
    question = wc.Identify({"age": 1}, model=wc.DistanceAnomaly(3, 1), k=1, epsilon=1)
    assert question.canonical == (
        '{"kind":"identify","question":{"epsilon":"1","error_floor":"1/1000000000000","k":1,'
        '"model":{"beta":3,"metric":"euclidean","radius":1.0},"notion":"sensitive","order":null,'
        '"record":{"age":1}}}'
    )


def test_the_kth_neighbour_shares_zone_and_answers_with_the_distance_model():
    for k in (1, 2, 5):
        one, two = (
            wc.Identify({"age": 40.0}, model=model, k=k, epsilon=1).price(CARD)
            for model in (wc.KthNeighbourAnomaly(4, 2.0), wc.DistanceAnomaly(4, 2.0))
        )
        assert one == two


@pytest.mark.parametrize(
    "make",
    [
        lambda: wc.KernelAnomaly(most=2, radii=[1, 2], heights=[3, 1]),
        lambda: wc.KernelAnomaly(most=9, radii=[1], heights=[3, 1]),
        lambda: wc.KernelAnomaly(most=9, radii=[1, 2], heights=[2.5, 1]),
        lambda: wc.KthNeighbourAnomaly(0, 1),
        lambda: wc.ContextualAnomaly(3, 1, group=["age"]).balls(tuple(RECORD), CARD),
        lambda: wc.ContextualAnomaly(3, 1, group=["ward"]).balls(("age",), CARD),
        lambda: wc.SimilarityAnomaly(3, 1, weights={"age": 1}).balls(tuple(RECORD), CARD),
        lambda: wc.Identify(RECORD, model="no-such", epsilon=1),
        lambda: wc.Identify(RECORD, model={"kind": ["os"]}, epsilon=1),
        lambda: wc.Identify(RECORD, model=7, epsilon=1),
    ],
)
def test_what_is_no_model_of_the_data_is_refused(make):
    with pytest.raises(InvalidInput):
        make()


def opened(data: dict[str, list], **more) -> wc.Curator:
    import pyarrow

    curator = wc.Curator.open(
        pyarrow.table(data), card=CARD, budget="1000", ledger="sqlite://", **more
    )
    curator.amend(reason="a test", policy={"notions": ["differential", "sensitive"]})
    return curator


def test_models_with_balls_are_accounted_for_by_place():
    kernel = wc.KernelAnomaly(most=9, radii=[2, 5], heights=[3, 1])
    with opened(table(1)) as curator:
        far = [wc.Screen({"age": age}, model=kernel, epsilon=1) for age in (10.0, 60.0)]
        near = [wc.Screen({"age": age}, model=kernel, epsilon=1) for age in (10.0, 19.0)]
        assert curator.plan(far).price["differential"] == 1
        assert curator.plan(near).price["differential"] == 2


# A model of somebody else's


class FewAgree(wc.AnomalyModel):
    """A record is an anomaly if fewer than three agree with it in two columns."""

    kind = "few-agree"
    means = "fewer than three records agree with it in two of three columns"

    def label(self, records, i):
        return sum(sum(a == b for a, b in zip(r, i, strict=True)) >= 2 for r in records) < 3


class Counted(FewAgree, wc.CountingModel):
    """The same, with the bound of a count."""

    kind, threshold = "counted-agree", 2

    def weight(self, i, other):
        return int(sum(a == b for a, b in zip(i, other, strict=True)) >= 2)


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setattr(registry, "_registered", {})
    return [wc.register_model(model) for model in (FewAgree, Counted)]


def test_a_model_of_five_lines_answers_with_and_without_an_account(registered):
    data = table(3)
    rows = record_type(tuple(RECORD))
    records = [rows(*values) for values in zip(*data.values(), strict=True)]
    strange = {"age": 99.0, "bmi": 55.0, "ward": "A"}
    data = {name: [*values, strange[name]] for name, values in data.items()}
    own = rows(**strange)
    for model in registered:
        assert hazmat.identify([*records, own], own, model=model(), k=1, epsilon=100)
        assert not hazmat.identify(records, own, model=model(), k=1, epsilon=100)
        with opened(data) as curator:
            release = curator.identify(strange, model=model(), k=1, epsilon=100)
            assert release.answer is True
            assert curator.screen(strange, model=model.kind, epsilon=100).answer is True
            for one in records[:3]:
                asked = curator.identify(one._asdict(), model=model(), k=1, epsilon=100)
                assert asked.answer is model().judged(records, one, 1)[0]
            assert curator.ledger.entries(curator.name)
            spent = {"differential", "sensitive"} if model is Counted else {"differential"}
            assert release.guarantee.notion in spent
    assert hazmat.identify([*records, own], own, model=FewAgree().label, k=1, epsilon=100)


def test_a_count_of_ones_own_says_whom_it_covers(registered):
    question = wc.Identify(RECORD, model=Counted(), k=1, epsilon=1)
    assert "at least 2, weighed by the model counted-agree" in question.price(CARD).statement()
    assert "fewer than three" in FewAgree().means
    assert question.location(CARD) is None


def test_what_a_model_raises_is_no_failure(registered):
    class Fragile(wc.AnomalyModel):
        """Fails where a record has no neighbour."""

        kind, means = "fragile", "it has a neighbour"

        def label(self, records, i):
            return bool(1 / (len(records) - 61))

        def bound(self, records, i, k):
            return "two" if len(records) == 60 else 1 / 0

    wc.register_model(Fragile)
    for size in (60, 61, 62):
        with opened(table(1, size)) as curator:
            about = {name: table(1, size)[name][0] for name in RECORD}
            assert type(curator.identify(about, model=Fragile(), epsilon=1).answer) is bool


def test_a_model_must_be_registered_and_replaces_none_of_our_own(registered):
    class Alien(wc.AnomalyModel):
        """Not registered."""

        kind = "alien"

    with pytest.raises(InvalidInput, match="not registered"):
        wc.Identify(RECORD, model=Alien(), epsilon=1)
    for taken in (wc.DistanceAnomaly, type("Mine", (Alien,), {"kind": "kernel"}), object, 3):
        with pytest.raises(InvalidInput):
            wc.register_model(taken)


def test_an_installed_model_is_chosen_by_its_name_and_nothing_else_is_imported(
    tmp_path, monkeypatch
):
    (tmp_path / "models_of_a_test.py").write_text(
        "import whitecrow as wc\n"
        "class Pair(wc.CountingModel):\n"
        "    'At most two at one place.'\n"
        "    kind, threshold = 'pair', 2\n"
        "    def weight(self, i, other):\n"
        "        return int(i == other)\n"
        "NOT_ONE = 3\n"
    )
    written = tmp_path / "models_of_a_test-1.0.dist-info"
    written.mkdir()
    (written / "METADATA").write_text("Metadata-Version: 2.1\nName: models-of-a-test\nVersion: 1\n")
    (written / "entry_points.txt").write_text(
        "[whitecrow.models]\npair = models_of_a_test:Pair\nwrong = models_of_a_test:NOT_ONE\n"
        "kernel = models_of_a_test:Pair\nother = models_of_a_test:Pair\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    registry._installed.cache_clear()
    registry._plugged_in.cache_clear()
    try:
        with pytest.raises(InvalidInput):
            wc.Identify(RECORD, model={"kind": "models_of_a_test:Pair"}, epsilon=1)
        assert "models_of_a_test" not in sys.modules
        with opened(table(1)) as curator:
            asked = curator.identify(
                RECORD, model={"kind": "pair"}, notion="differential", epsilon=9
            )
            assert asked.answer in (True, False)
        assert type(wc.Identify(RECORD, model={"kind": "pair"}, epsilon=1).model).__name__ == "Pair"
        listed = wc.Identify.json_schema()["properties"]["model"]["anyOf"]
        assert "pair" in [one["properties"].get("kind", {}).get("const") for one in listed]
        for broken in ("wrong", "other"):
            with pytest.raises(Unavailable):
                wc.Identify(RECORD, model=broken, epsilon=1)
        assert wc.KernelAnomaly is registry.model_type("kernel")
    finally:
        sys.modules.pop("models_of_a_test", None)
        registry._installed.cache_clear()
        registry._plugged_in.cache_clear()
