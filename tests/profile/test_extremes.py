"""No records make a profile fail: extreme values, nothing, one value, 2,000 columns."""

from __future__ import annotations

import datetime
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow
import pytest

import whitecrow as wc
from whitecrow.curator.advice import advised_model
from whitecrow.histogram.table import Numbers, TableProfile

EXTREMES = {
    "nothing": [],
    "one record": [1.0],
    "one value": [7.25] * 300,
    "all missing": [None] * 300,
    "subnormal": [5e-324, -5e-324, 2.2e-308] * 100,
    "largest": [1.7976931348623157e308, -1.7976931348623157e308] * 150,
    "infinite": [float("inf"), float("-inf"), float("nan")] * 100,
    "whole and beyond": [2.0**53 - 1, 2.0**53, 2.0**53 + 2, -(2.0**63)] * 75,
    "all sizes": [10.0**power for power in range(-308, 309, 2)],
    "zeros": [0.0, -0.0] * 150,
}


@pytest.mark.parametrize("kind", ["number", "integer"])
@pytest.mark.parametrize("delta", ["0", "1e-6"])
@pytest.mark.parametrize("name", EXTREMES)
def test_no_numbers_make_it_fail(name: str, kind: str, delta: str) -> None:
    data = pyarrow.table({"x": pyarrow.array(EXTREMES[name], pyarrow.float64())})
    curator = wc.Curator.open(
        data, card=wc.Card("t", (wc.Column("x", kind),)), ledger="sqlite://", budget="20, 1e-3"
    )
    for epsilon in ("1/5", "1", "8"):
        found = curator.profile(epsilon=epsilon, delta=delta).answer
        assert found.rows()
        assert np.isfinite(found.quantile("x", 0.5))
        assert found.card().column("x").type == kind
        assert "<table" in found._repr_html_()


def test_one_value_is_found_and_gets_bounds_about_it() -> None:
    data = pyarrow.table({"x": [7.25] * 3000})
    found = wc.Curator.open(data, ledger="sqlite://").profile(epsilon=1).answer
    assert found.quantile("x", 0.5) == 7.25
    lower, upper = found.bounds("x")
    assert lower <= 7.25 <= upper
    assert lower < upper


@pytest.mark.parametrize(
    "texts", [[], [None] * 50, ["x"] * 5000, [f"id {n}" for n in range(3000)], ["", "\n'\\"] * 999]
)
def test_no_texts_make_it_fail(texts: list[str | None]) -> None:
    data = pyarrow.table({"t": pyarrow.array(texts, pyarrow.string())})
    curator = wc.Curator.open(data, ledger="sqlite://", budget="1, 1e-6")
    found = curator.profile(epsilon=1, delta="1e-6").answer
    common = {text for text in set(texts) if texts.count(text) > 500 and text is not None}
    assert set(found.categories("t")) == common
    drafted = found.card().column("t")
    assert drafted.type == ("category" if common else "text")


@pytest.mark.parametrize(
    "days",
    [
        [datetime.date.min, datetime.date.max] * 200,
        [datetime.date(1970, 1, 1)] * 400,
        [None] * 10,
        ["0000-00-00", "2020-02-30", "infinity", "2020-02-29"] * 100,
    ],
)
def test_no_dates_make_it_fail(days: list[object]) -> None:
    data = pyarrow.table({"d": pyarrow.array(days)})
    card = wc.Card("t", (wc.Column("d", "date"),))
    found = wc.Curator.open(data, card=card, ledger="sqlite://").profile(epsilon=1).answer
    assert found.shown("d", found.quantile("d", 0.5))
    found.card()


def test_two_thousand_columns_are_described_and_more_are_refused_before_anything_is_spent() -> None:
    data = pyarrow.table({f"c{n}": np.arange(50.0) for n in range(2000)})
    curator = wc.Curator.open(data, ledger="sqlite://")
    assert len(curator.profile(epsilon=1).answer.columns) == 2000
    wide = pyarrow.table({f"c{n}": [1.0] for n in range(2100)})
    curator = wc.Curator.open(wide, ledger="sqlite://")
    with pytest.raises(wc.InvalidInput, match="2,048"):
        curator.profile(epsilon=1)
    assert curator.remaining().to_json()["differential"] == "1"


def test_a_column_of_junk_counts_as_missing() -> None:
    data = pyarrow.table({"x": ["12", "n/a", "", "10^400", "1e400", None, "x"] * 500})
    card = wc.Card("t", (wc.Column("x"),))
    found = wc.Curator.open(data, card=card, ledger="sqlite://").profile(epsilon=1).answer
    assert 0.6 < found.missing("x") < 0.8  # 12 is a number, and 1e400 is infinitely large
    assert found.quantile("x", 0.25) == 12


def test_a_price_too_small_to_draw_noise_for_is_refused() -> None:
    curator = wc.Curator.open(pyarrow.table({"x": [1.0]}), ledger="sqlite://")
    with pytest.raises(wc.InvalidInput, match="larger price"):
        curator.price(wc.Profile(epsilon="1e-18"))


def _profile(counts: tuple[int, ...], edges: tuple[float, ...], kind: str, delta: int) -> Any:
    return TableProfile(
        (Numbers("x", kind, edges, counts, 0, 1.0),),
        sum(counts),
        wc.Card("t", (wc.Column("x", kind),)),
        wc.DifferentialPrivacy(1, Fraction(delta, 10**6)),
        "",
        {},
    )


@pytest.mark.parametrize("kind", ["number", "integer"])
@pytest.mark.parametrize("delta", [0, 1])
def test_bounds_go_no_farther_than_where_the_last_populated_cell_begins_or_ends(
    kind: str, delta: int
) -> None:
    edges = (-8.0, 0.0, 16.0, 2.0**500)
    last = {"number": 16.0, "integer": 15.0}[kind]
    assert _profile((0, 50, 50, 0, 0), edges, kind, delta).bounds("x") == (-8.0, last)
    # Cells without an end: it is known only where they begin.
    assert _profile((0, 50, 50, 0, 50), edges, kind, delta).bounds("x") == (-8.0, 2.0**500)
    assert _profile((50, 50, 50, 0, 0), edges, kind, delta).bounds("x") == (-8.0, last)
    lower, upper = _profile((0, 0, 0, 0, 50), edges, kind, delta).bounds("x")
    assert 0.0 < lower < upper < 2.0**501
    assert _profile((50,), (), kind, delta).bounds("x") is None


def test_noise_is_seldom_taken_for_records() -> None:
    """Forty columns of nothing at all: 4 deviations were exceeded by some cell nearly always."""
    wide = 0
    for number in range(8):
        data = pyarrow.table({f"c{n}": pyarrow.array([], pyarrow.float64()) for n in range(40)})
        curator = wc.Curator.open(data, ledger="sqlite://", name=f"nothing {number}")
        found = curator.profile(epsilon=1).answer
        wide += any(found.bounds(name) is not None for name in found.names)
    assert wide <= 6  # one in eight is expected: seven or more come once in 10^5


@pytest.mark.parametrize(
    "bounds", [(-1.7976931348623157e308, 1.7976931348623157e308), (0, 1e308), (0.0, 5e-324)]
)
@pytest.mark.parametrize("kind", ["number", "integer"])
def test_advice_on_extreme_bounds_is_given_or_refused(
    kind: str, bounds: tuple[float, float]
) -> None:
    if kind == "integer":
        bounds = (bounds[0], max(1.0, bounds[1]))
    card = wc.Card(
        "t", (wc.Column("x", kind, *bounds, scale=1.0), wc.Column("y", lower=0, upper=1))
    )
    for metric in ("standardised", "euclidean"):
        try:
            assert advised_model(card, "1/100", metric=metric, records=1000).model.radius > 0
        except wc.InvalidInput as refused:
            assert "radius" in str(refused)  # noqa: PT017 - refused in words, or answered
