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
    rates = [judge(samples, epsilon=1.0, width=w)["GWE"].base_rate for w in (5, 10, 15, 20)]
    assert rates == sorted(rates)
    assert rates[0] < 0.5
    assert rates[-1] > 0.8


def test_the_attack_works_at_55_a_day_and_not_at_1000(context):
    small = judge(draw_samples(context, "porto"), epsilon=1.0, width=10)["GWE"]
    large = judge(draw_samples(context, "1000"), epsilon=1.0, width=10)["GWE"]
    # 20 and 15 years of 35 segments: a standard error below 0.03.
    assert small.auc > 0.65
    assert abs(large.auc - 0.5) < 0.15


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
