"""A condition names all that the matching contexts depend on, so that two never count as one."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

import whitecrow as wc
from whitecrow.anomaly.detectors import FewWithin, FittedDetector, Grubbs, LocalOutlierFactor
from whitecrow.data import Card, Column, Dataset
from whitecrow.explain import Explain
from whitecrow.explain.mechanism import gather, searched
from whitecrow.explain.unaccounted import law_of
from whitecrow.privacy import compose

KINDS = list(product((0, 1), (0.0, 1.0, 4.0)))
"""Records: a group and a value."""

MOST = 4


def card_of(**value: object) -> Card:
    return Card(
        "tiny",
        (
            Column("group", "category", categories=("a", "b")),
            Column("value", **{"lower": 0, "upper": 9, "resolution": 1.0, **value}),
            Column("other", lower=0, upper=9, resolution=1.0),
        ),
    )


@dataclass(frozen=True, eq=False)
class Release:
    """One release: a question about a member of group a, under a card."""

    question: Explain
    card: Card

    @cache  # noqa: B019  a handful of releases, each on a few hundred databases
    def facts(self, database: tuple[tuple[int, float], ...]):
        groups, values = zip(*database, strict=True) if database else ((), ())
        data = {
            "group": np.array(groups, np.int64),
            "value": np.array(values, np.float64),
            "other": 9 - np.array(values, np.float64),
        }
        return gather(self.question, Dataset(self.card, data))

    @cache  # noqa: B019  as above
    def matching(self, database):
        return tuple(np.flatnonzero(self.facts(database).exact_graph.matching()))

    @cache  # noqa: B019  as above
    def law(self, database):
        return law_of(partial(searched, self.question, self.facts(database)))

    def loss(self, x, y) -> float:
        """The largest log-ratio of an answer's probabilities, from x to y."""
        here, there = self.law(x), self.law(y)
        return max(
            math.log(chance / there[answer]) if there.get(answer) else math.inf
            for answer, chance in here.items()
            if chance
        )


def release(card: Card, detector: object, value: float = 6.0, metric: str = "value") -> Release:
    record = {"group": "a", "value": value, "other": value}
    question = Explain(
        record, metric=metric, attributes=["group"], detector=detector, epsilon=1,
        notion="conditional", search="direct",
    )  # fmt: skip
    return Release(question, card)


def releases() -> list[Release]:
    card = card_of()
    return [
        release(card_of(resolution=4.0), wc.DistanceAnomaly(1, 2.0)),
        release(card, LocalOutlierFactor(2)),
        release(card, LocalOutlierFactor(3)),
        release(card, LocalOutlierFactor(2, "2")),
        release(card, Grubbs("1/20", "high")),
        release(card, Grubbs("1/3", "high")),
        release(card, FewWithin(1, 2)),
        release(card, FewWithin(2, 2)),
        release(card, wc.DistanceAnomaly(1, 2.0)),
        release(card, wc.DistanceAnomaly(1, 2.0), value=5.0),
        release(card, wc.DistanceAnomaly(1, 2.0), metric="other"),
        release(card_of(outside="clip", upper=6), wc.DistanceAnomaly(1, 2.0)),
    ]


def edges():
    for size in range(MOST + 1):
        for database in combinations_with_replacement(KINDS, size):
            for record in KINDS:
                yield database, tuple(sorted((*database, record)))


def check(every: list[Release]) -> int:
    """Compose every two releases; no pair that the total covers loses more than it says."""
    texts = [one.question.price(one.card).condition for one in every]
    # Who reads a total knows a condition by its text alone.
    meant = dict(zip(texts[::-1], every[::-1], strict=True))
    pairs = [pair for x, y in edges() for pair in ((x, y), (y, x))]
    keeps = {
        text: [one.matching(x) == one.matching(y) for x, y in pairs] for text, one in meant.items()
    }
    losses = [[one.loss(x, y) for x, y in pairs] for one in every]
    uncovered = 0
    for i, first in enumerate(every):
        for j, second in enumerate(every[:i]):
            total = compose([one.question.price(one.card) for one in (first, second)])
            for place in range(len(pairs)):
                if all(keeps[text][place] for text in total.conditions):
                    lost = losses[i][place] + losses[j][place]
                    assert lost <= float(total.epsilon) + 1e-9, (first, second, pairs[place])
                else:
                    uncovered += math.isinf(losses[i][place] + losses[j][place])
    return uncovered


def test_composed_conditions_cover_no_pair_at_a_greater_loss():
    assert check(releases()) > 0, "the universe has pairs that break a condition"


@pytest.mark.parametrize(
    "forgets",
    [
        lambda self, card: f"{self.to_json()['detector']['kind']} in {self.metric}",
        lambda self, card: f"{self.to_json()['detector']} of {self.record} in {self.metric}",
    ],
    ids=["the parameters", "the card"],
)
def test_the_check_rejects_a_condition_that_forgets(forgets, monkeypatch):
    monkeypatch.setattr(Explain, "condition", forgets)
    with pytest.raises(AssertionError):
        check(releases())


def test_fitted_detectors_with_other_parameters_have_conditions_of_their_own():
    card = card_of()
    fitted = [release(card, FittedDetector("local_outlier_factor", n_neighbors=k)) for k in (2, 3)]
    x = ((0, 0.0), (0, 0.0), (0, 1.0), (0, 4.0))
    prices = [one.question.price(one.card) for one in fitted]
    assert len(compose(prices).conditions) == 2
    found = [
        (one.matching(x) == one.matching(y), one.loss(x, y))
        for y in (tuple(sorted((*x, record))) for record in KINDS)
        for one in fitted
    ]
    kept = [loss for same, loss in found if same]
    assert max(kept) <= 1 + 1e-9


def test_every_part_of_a_question_that_decides_is_part_of_its_condition():
    every = releases()
    texts = [one.question.price(one.card).condition for one in every]
    assert len(set(texts)) == len(every)
    for text, one in zip(texts, every, strict=True):
        assert one.card.fingerprint() in text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": "x", "b": "y, c z"}, {"a": "x, b y", "b": "z"}),
        ({"a": 1, "b": "y"}, {"a": "1", "b": "y"}),
    ],
)
def test_values_that_read_alike_are_told_apart(one, other):
    values = tuple(str(v) for r in (one, other) for v in r.values())
    categories = tuple(dict.fromkeys(values))
    columns = [Column(name, "category", categories=categories) for name in "ab"]
    card = Card("alike", (*columns, Column("v", "integer", lower=0, upper=9)))
    found = {
        Explain(
            {**record, "v": 1}, metric="v", detector="lof", epsilon=1, notion="conditional"
        ).condition(card)
        for record in (one, other)
    }
    assert len(found) == 2


def test_a_card_that_reads_otherwise_makes_another_condition():
    question = releases()[1].question
    card = card_of()
    columns = (*card.columns, Column("who", "text"))
    card = replace(card, columns=columns)
    other = replace(card, unit="user", user_column="who", contribution=2)
    assert question.condition(card) != question.condition(other)
