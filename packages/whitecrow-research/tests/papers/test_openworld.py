"""The open-world paper, redone: what must come out whatever the seed."""

from __future__ import annotations

from pathlib import Path

import pytest

from whitecrow_research import papers
from whitecrow_research.papers.openworld.experiments import draw_samples, judge

PAPER = papers.load("openworld")


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    return papers.Context(None, tmp_path_factory.mktemp("openworld"), quick=True, seed=2)


@pytest.fixture(scope="module")
def with_data(shared_data, tmp_path_factory):
    return papers.Context(shared_data, tmp_path_factory.mktemp("taxi"), quick=True, seed=2)


def test_the_report_is_written_without_any_data(context):
    sections = papers.run(PAPER, context)
    page = papers.write(PAPER, sections, context)
    text = page.read_text(encoding="utf-8")
    for words in ("base rate", "AUC", "Table 2", "Table 3", "Table 4", "unbounded"):
        assert words in text
    for section in sections:
        assert all(Path(figure).stat().st_size > 3_000 for figure in section.figures)
    drawn = [figure for section in sections for figure in section.figures]
    assert len(drawn) >= 5


def test_every_printed_figure_of_the_tables_has_its_row(context):
    for key in ("table2", "table3", "table4"):
        rows = PAPER.sections[key](context).rows
        assert len(rows) == 12
        assert all("base rate" in row.ours and "AUC" in row.ours for row in rows)


def test_the_base_rate_explains_the_windows_of_table_3(context):
    samples = draw_samples(context, "1000")
    rates = [judge(samples, epsilon=1.0, width=w)["GWE"].mean.base_rate for w in (5, 10, 15, 20)]
    assert rates == sorted(rates)
    assert rates[0] < 0.5
    assert rates[-1] > 0.8


@pytest.mark.parametrize(
    ("source", "reading", "low", "high"),
    [("porto", "day", 0.62, 1.0), ("1000", "day", 0.68, 0.85), ("1000", "all", 0.42, 0.58)],
)
def test_a_gaussian_for_each_day_gives_1000_a_day_away(context, source, reading, low, high):
    found = judge(draw_samples(context, source, reading), epsilon=1.0, width=10)["GWE"]
    # 20 years of 35 segments, five draws of noise each: a standard error below 0.03.
    assert low < found.mean.auc < high
    assert found.spans["precision"][0] < found.mean.precision < found.spans["precision"][1]


def test_each_printed_pair_is_held_against_both_readings(context):
    section = PAPER.sections["table2"](context)
    rows = {row.what: row for row in section.rows}
    assert rows["GWE, epsilon 0.5"].verdict == "reproduced"
    assert rows["FWE, epsilon 0.5"].verdict == "differs"
    assert rows["FWE, epsilon 0.5"].why == "the printed pair fits the second reading"
    assert all("Second reading" in row.ours for row in section.rows)


def test_a_value_beyond_the_clip_is_not_learned_from_our_publisher(context):
    (table,) = PAPER.sections["value"](context).tables
    found = {(line[0], line[1]): line[3] for line in table.rows}
    for record in ("a trip on one day", "a record that stays"):
        assert found[record, "naive"] > 0.8
        assert abs(found[record, "ours"]) < 0.6  # 40 series: three and a half deviations


def test_the_taxi_sample_is_used_where_it_is_to_be_had(with_data):
    section = PAPER.sections["table4"](with_data)
    assert len(section.tables) == 2
    assert "New York" in section.tables[0].caption
    rows = PAPER.sections["figure2"](with_data).rows
    assert "31 days" in rows[1].ours


def test_the_naive_loss_of_the_argument_passes_every_bound(context):
    section = PAPER.sections["argument"](context)
    losses = [abs(row[1]) for row in section.tables[0].rows]
    assert max(losses) > 100
