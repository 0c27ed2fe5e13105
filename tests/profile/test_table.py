"""What a profile is once it is released, and which records it counts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow
import pytest

import whitecrow as wc
from whitecrow.data import read
from whitecrow.histogram.table import TableProfile
from whitecrow.profile import gather
from whitecrow.profile.facts import ByEdges
from whitecrow_audit.verify.tape import Silent


def profiled(data: pyarrow.Table, card: wc.Card, **how: object) -> TableProfile:
    curator = wc.Curator.open(data, card=card, ledger="sqlite://", budget="9, 1e-3")
    found: TableProfile = curator.profile(**how).answer
    return found


def test_it_is_the_same_after_a_way_through_json() -> None:
    data = pyarrow.table({"x": np.arange(500.0), "t": ["a"] * 500})
    card = wc.Card("t", (wc.Column("x"), wc.Column("t", "text")))
    found = profiled(data, card, epsilon=1, delta="1e-6")
    assert TableProfile.from_json(found.to_json()) == found
    with pytest.raises(wc.InvalidInput, match="not a profile"):
        TableProfile.from_json({"form": "other"})


def test_unknown_columns_ranks_and_kinds_are_refused_with_what_there_is() -> None:
    data = pyarrow.table({"x": np.arange(500.0), "t": ["a"] * 500})
    card = wc.Card("t", (wc.Column("x"), wc.Column("t", "text")))
    found = profiled(data, card, epsilon=1, delta="1e-6")
    for wrong in (
        lambda: found.quantile("y", 0.5),
        lambda: found.quantile("x", 1.5),
        lambda: found.quantile("t", 0.5),
        lambda: found.categories("x"),
    ):
        with pytest.raises(wc.InvalidInput):
            wrong()


def test_texts_of_the_data_are_escaped_in_pictures_and_reports(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>"
    data = pyarrow.table({"t": [evil] * 5000})
    found = profiled(data, wc.Card("t", (wc.Column("t", "text"),)), epsilon=1, delta="1e-6")
    assert evil in found.categories("t")
    report = found.plot(tmp_path / "report.html").read_text()
    assert evil not in report
    assert "&lt;script&gt;" in report


def test_of_a_person_no_more_records_are_counted_than_the_card_allows() -> None:
    card = wc.Card("v", (wc.Column("who", "text"), wc.Column("x")), "user", "who", 2)
    data = pyarrow.table(
        {
            "who": ["ann"] * 5 + ["bob", "bob", None],
            "x": [None, 3.0, 1.0, None, 2.0, None, None, 9.0],
        }
    )
    question = wc.Profile(["x"], epsilon=1)
    cells = ByEdges(("x",), (np.array([2.5]),))
    counts = gather(question, read(data, card)).noisy_counts(cells, Silent())
    # Ann's two smallest; both of Bob's, which are missing; nobody's record is nobody's.
    assert counts.tolist() == [2, 2, 0]


def test_records_that_are_left_out_are_counted_too(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("x,c\n1,a\n,b\n3,z\nnone,\n")
    columns = (wc.Column("x"), wc.Column("c", "category", categories=("a", "b")))
    card = wc.Card("t", columns)
    question = wc.Profile(epsilon=1, delta="1e-6")
    facts = gather(question, read(file, card))
    cells = ByEdges(("x",), (np.array([2.0]),))
    assert facts.noisy_counts(cells, Silent()).tolist() == [2, 1, 1]
    both = facts.noisy_texts("c", ("a", "b"), Silent())
    assert (both.missing, both.values, both.counts, both.others) == (1, ("a", "b"), (1, 1), 1)
    named = facts.noisy_texts("c", ("a",), Silent(), least=1)
    assert (named.values, named.counts, named.others) == (("a", "b", "z"), (1, 1, 1), None)


def test_a_drafted_card_fills_what_is_missing_and_scales_what_varies() -> None:
    draw = np.random.default_rng(2)
    pay = [None if draw.random() < 0.2 else float(v) for v in draw.normal(50, 10, 8000)]
    ward = [None if draw.random() < 0.2 else "north" for _ in range(8000)]
    data = pyarrow.table({"pay": pay, "ward": ward})
    card = wc.Card("t", (wc.Column("pay"), wc.Column("ward", "text")))
    drafted = profiled(data, card, epsilon=2, delta="1e-6").card()
    found = drafted.column("pay")
    assert found.missing == "fill"
    assert abs(float(found.fill) - 50) < 2
    assert abs(found.scale - 10) < 2
    assert drafted.column("ward").categories == ("north", "(missing)")
    assert "priced question" in drafted.sources["profile"]


def test_plots_are_axes_with_dates_as_dates_and_without_empty_panels() -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    draws = np.random.default_rng(2)
    rows = 3000
    table = pyarrow.table(
        {
            "day": pyarrow.array(draws.integers(19_000, 19_700, rows), pyarrow.int32()).cast(
                pyarrow.date32()
            ),
            "age": draws.normal(50, 9, rows),
            "name": [f"person {number}" for number in range(rows)],
        }
    )
    with wc.Curator.open(table, budget="2, 1e-6") as curator:
        profile = curator.profile(epsilon=2, delta="1e-6").answer
        assert curator.name in curator.report()
    axes = profile.plot()
    assert [axis.get_title() or axis.get_title("left") for axis in axes] == ["day", "age"]
    axes[0].figure.draw_without_rendering()
    labels = [label.get_text() for label in axes[0].get_xticklabels()]
    assert any(label.startswith("202") for label in labels)
    given = Figure().subplots()
    assert profile.plot(column="age", ax=given) is given
    with pytest.raises(wc.InvalidInput, match="nothing but noise"):
        profile.plot(column="name")
