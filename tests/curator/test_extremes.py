"""Whether a question is answered does not depend on the records: every kind, at every edge."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from extremes import Family, Search, in_child

import whitecrow as wc

STUDY_PARTS = 100


def test_a_lone_record_in_41_columns_is_counted_like_an_empty_table() -> None:
    """The cap is 3^41 there, more than 64 bits hold; only a lone record led to the kernel."""
    names = [f"c{number}" for number in range(41)]
    question = wc.Count(
        names, model=wc.DistanceAnomaly(beta=1, radius=1.0), epsilon="1/2", mechanism="smooth"
    )
    for rows in (0, 1, 2):
        table = pa.table({name: pa.array([0.0] * rows, pa.float64()) for name in names})
        card = wc.Card("wide", tuple(wc.Column(name) for name in names))
        curator = wc.Curator.open(table, card=card, name="wide")
        assert isinstance(curator.ask(question).answer, int)


def test_no_extreme_question_fails_for_some_records() -> None:
    found = in_child(2024, 250)
    assert not found.findings, found.findings[0]
    assert found.answers == 7 * found.questions >= 250


def test_no_extreme_question_fails_where_the_database_counts(tmp_path: Path) -> None:
    search = Search()
    draw = random.Random(7)
    while search.questions < 20:
        search.run(Family(draw, folder=tmp_path), 10)
    assert not search.findings, search.findings[0]


@pytest.mark.study
def test_thousands_of_columns_fail_for_no_records() -> None:
    search = Search()
    search.run(Family(random.Random(5), wide=3000), 14)
    assert search.questions
    assert not search.findings, search.findings[0]


def test_a_card_with_equal_bounds_is_refused() -> None:
    for bound in (0.0, -0.0, 5e-324, 1e308):
        with pytest.raises(wc.InvalidInput, match="reversed or equal"):
            wc.Column("x", lower=bound, upper=bound)


@pytest.mark.study
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(STUDY_PARTS))
def test_fifty_thousand_extreme_asks_fail_for_no_records(
    part: int, record_property: Callable[[str, object], None]
) -> None:
    """``pytest tests/curator/test_extremes.py --study``: each part asks its share in a child.

    An ask is one question over one database. Four parts have cards of 2,000 columns.
    """
    wide = part % 25 == 24
    asks = 70 if wide else 530
    found = in_child(1_000 + part, asks, wide=2000 * wide)
    for name in ("questions", "refused", "answers"):
        record_property(name, getattr(found, name))
    assert not found.findings, found.findings[0]
    assert found.answers == 7 * found.questions
