"""PCOR redone: sections have the paper's rows, and the claims that do not depend on the data."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from whitecrow.anomaly.detectors import Grubbs, LocalOutlierFactor
from whitecrow.data import Dataset
from whitecrow_research.papers import Context, load, run, write
from whitecrow_research.papers.pcor.data import homicide, outliers, salary
from whitecrow_research.papers.pcor.runs import Outcome, SimulatedDraws, references, repeated


@pytest.fixture(scope="module")
def context(shared_data, tmp_path_factory):
    return Context(shared_data, tmp_path_factory.mktemp("pcor"), quick=True)


def test_without_data_every_section_says_so(tmp_path):
    paper = load("pcor")
    sections = run(paper, Context(None, tmp_path, quick=True))
    example, *rest = sections  # the example of Table 1 needs no data
    assert [row.verdict for row in example.rows].count("reproduced") == 2
    assert len(rest) == 9
    assert {row.verdict for section in rest for row in section.rows} == {"needs data"}
    assert write(paper, sections, Context(None, tmp_path, quick=True)).exists()


def test_the_reduced_data_have_the_papers_shape(context):
    small = salary(context, small=True)
    assert small.data.size == 11_000
    sizes = [len(small.data.card.column(name).categories) for name in small.attributes]
    assert sum(sizes) == 14
    deaths = homicide(context, small=True)
    assert deaths.data.size == 28_000
    sizes = [len(deaths.data.card.column(name).categories) for name in deaths.attributes]
    assert sum(sizes) == 12
    whole = salary(context)
    sizes = [len(whole.data.card.column(name).categories) for name in whole.attributes]
    assert sizes == [9, 8, 8]


def test_tables_6_7_and_12_come_out_on_the_reduced_data(context):
    sections = run(load("pcor"), context, ["tables6-7", "table12"])
    rows = {row.what: row for section in sections for row in section.rows}
    assert float(rows["grubbs: utility, corrected price"].ours.split()[0]) > 0.8
    assert rows["grubbs, 1 fewer"].paper == "99.8 %"
    assert rows["loss where the sets differ"].verdict == "differs"


def _utility(study, detector, records):
    """Utility of the breadth-first search at the paper's price, and its interval."""
    utility = references(study, outliers(study, detector, records, seed=1), detector)
    eta = Fraction(1, 5) / (2 * 51)
    return repeated(utility, "bfs", eta=eta, samples=50, runs=3, seed=1, shipped=False)


def test_the_parameters_of_lof_move_the_utility_by_more_than_its_interval(context):
    study = salary(context, small=True)
    found = [_utility(study, LocalOutlierFactor(k, t), 12) for k, t in ((5, 2), (5, "3/2"))]
    (_, high), (least, _) = sorted(one.interval for one in found)
    assert high < least


def test_other_years_have_other_utilities(context):
    study = salary(context, small=True)
    years = study.data.values("Year")
    found = []
    for chosen in (years < 2, years >= 3):  # the first and the last two of five years
        columns = {name: study.data.values(name)[chosen] for name in (*study.attributes, "Salary")}
        part = replace(study, data=Dataset(study.data.card, columns))
        found.append(_utility(part, Grubbs(), 12))
    gap = abs(found[0].mean - found[1].mean)
    printed = (0.89 - 0.84) / 2
    assert gap > printed  # more than half the width of the paper's interval


def test_the_interval_counts_records_not_runs():
    alike = Outcome(((0.5,) * 50, (0.9,) * 50), ())
    low, high = alike.interval
    assert high - low > 1  # two records say little, however often they are tried
    assert alike.mean == pytest.approx(0.7)


def test_the_direct_search_beats_every_sampler_at_the_same_price(context):
    study = salary(context, small=True)
    found = references(study, outliers(study, Grubbs(), 3, seed=2), Grubbs())
    shares = {
        kind: repeated(
            found,
            kind,
            eta=Fraction(1, 5) / (21 if kind in ("dfs", "bfs") else 1),
            samples=20,
            runs=5,
            seed=1,
            shipped=True,
        ).mean
        for kind in ("direct", "uniform", "walk", "dfs", "bfs")
    }
    assert shares["direct"] == max(shares.values())
    assert shares["direct"] > 0.9


def test_simulated_draws_follow_the_exponential_mechanism():
    draws = SimulatedDraws(3)
    counted = np.bincount([draws.choose([0, 2], Fraction(1, 2)) for _ in range(4000)])
    expected = 1 / (1 + np.exp(-1))
    # Five deviations: about one in two million, and the seed is fixed.
    assert abs(counted[1] / 4000 - expected) < 5 * np.sqrt(expected * (1 - expected) / 4000)
