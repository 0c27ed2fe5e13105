"""Whether a question is answered does not depend on the records."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from extremes import Family, Search

import whitecrow as wc

STUDY_PARTS = 40
STUDY_QUESTIONS = 20_000


def test_a_lone_record_in_41_columns_is_counted_like_an_empty_table() -> None:
    """The cap is 3^41 there, more than 64 bits hold; only a lone record led to the kernel."""
    names = [f"c{number}" for number in range(41)]
    question = wc.Count(
        names,
        model=wc.DistanceAnomaly(beta=1, radius=1.0),
        epsilon="1/2",
        mechanism="smooth",
    )
    for rows in (0, 1, 2):
        table = pa.table({name: pa.array([0.0] * rows, pa.float64()) for name in names})
        card = wc.Card("wide", tuple(wc.Column(name) for name in names))
        curator = wc.Curator.open(table, card=card, name="wide")
        assert isinstance(curator.ask(question).answer, int)


def test_no_extreme_question_fails_for_some_records() -> None:
    search = Search()
    draw = random.Random(2024)
    while search.questions < 200:
        search.run(Family(draw), 27)
    assert not search.findings, search.findings[0]
    assert search.answers == 7 * search.questions


def test_no_extreme_question_fails_where_the_database_counts(tmp_path: Path) -> None:
    search = Search()
    draw = random.Random(7)
    while search.questions < 20:
        search.run(Family(draw, folder=tmp_path), 18)
    assert not search.findings, search.findings[0]


def test_thousands_of_columns_fail_for_no_records() -> None:
    search = Search()
    search.run(Family(random.Random(5), wide=3000), 18)
    assert search.questions
    assert not search.findings, search.findings[0]


@pytest.mark.study
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(STUDY_PARTS))
def test_twenty_thousand_extreme_questions_fail_for_no_records(
    part: int, record_property: Callable[[str, object], None]
) -> None:
    """``pytest tests/curator/test_extremes.py --study``: each part asks its share."""
    search = Search()
    draw = random.Random(1_000 + part)
    while search.questions < STUDY_QUESTIONS // STUDY_PARTS:
        search.run(Family(draw), 54)
    record_property("questions", search.questions)
    assert not search.findings, search.findings[0]
    assert search.answers == 7 * search.questions
