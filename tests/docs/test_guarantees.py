"""The page that says which question gives which guarantee agrees with the prices."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest

import whitecrow as wc
from whitecrow import demo
from whitecrow.questions import BUILT_IN, question_type

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "promise.md").read_text(encoding="utf-8")
MODEL = {"beta": 5, "radius": 4}
RECORD = {"age": 74, "bmi": 44.0}
BILL = {"ward": "maternity", "insurance": "public", "cost": 14_000}
LEAST = {
    "identify": {"record": RECORD, "model": MODEL},
    "screen": {"record": RECORD, "model": MODEL},
    "screening": {"model": MODEL, "delta": "1e-6"},
    "count": {"columns": ["age", "bmi"], "model": MODEL},
    "subspaces": {"size": 2, "model": MODEL, "columns": ["age", "bmi", "systolic"]},
    "tune": {"columns": ["age", "bmi"], "beta": 5, "share": "1/100", "radii": [1, 2, 4]},
    "explain": {"record": BILL, "metric": "cost", "detector": {"kind": "distance", **MODEL}},
    "publish": {"column": "cost", "time": "day", "start": "2024-01-01", "horizon": 8},
    "lookahead": {"columns": ["ward", "insurance"], "model": {"beta": 20, "radius": 0}, "k": 2},
    "learn": {},
    "monitor": {"time": "day", "start": "2024-01-01", "horizon": 12},
    "profile": {},
}
"""What each question must be told, beside its price."""


def rows() -> dict[str, str]:
    """What the page says of each kind."""
    table = PAGE.partition("|question|")[2].partition("\n\n")[0]
    found = {}
    for line in table.splitlines()[2:]:
        cells = line.strip("|").split("|")
        for kind in re.findall(r"`(\w+)`", cells[0]):
            found[kind] = cells[1]
    return found


def test_every_question_has_a_row() -> None:
    assert sorted(rows()) == sorted(BUILT_IN)


@pytest.mark.parametrize("kind", BUILT_IN)
def test_the_default_guarantee_is_the_one_on_the_page(kind: str) -> None:
    card = wc.Card.load(demo.CARD)
    question = question_type(kind).question.from_json({**LEAST[kind], "epsilon": "1/2"})
    price = question.price(card)
    said = rows()[kind]
    assert price.notion in said
    assert getattr(price, "delta", 0) == Fraction(LEAST[kind].get("delta", "0"))
