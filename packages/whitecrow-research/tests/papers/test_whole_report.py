"""One report of the five papers: nothing they print is left out, and the page needs no network."""

from __future__ import annotations

import contextlib
import html.parser
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from whitecrow.cli import whitecrow
from whitecrow_research import papers
from whitecrow_research.papers.ccs.distance import distance
from whitecrow_research.papers.report import (
    Exhibit,
    Paper,
    Row,
    Section,
    Table,
    agrees,
    findings,
    share_interval,
)

PRINTED = {  # what the papers number, read off the papers
    "asif": {*(f"Table {n}" for n in range(1, 4)), *(f"Figure {n}" for n in range(1, 6))},
    "ccs": {"Figure 4"},
    "okada": {"Table 1", "Table 2", *(f"Figure {n}" for n in range(1, 8))},
    "pcor": {*(f"Table {n}" for n in range(1, 14)), *(f"Figure {n}" for n in range(1, 6))},
    "openworld": {*(f"Table {n}" for n in range(1, 5)), *(f"Figure {n}" for n in range(1, 4))},
}


@pytest.mark.parametrize("name", papers.NAMES)
def test_every_table_and_figure_of_a_paper_is_listed_once_and_has_a_section(name):
    paper = papers.load(name)
    names = [exhibit.name for exhibit in paper.exhibits]
    assert len(names) == len(set(names))
    assert set(names) == PRINTED[name]
    assert {exhibit.section for exhibit in paper.exhibits} <= set(paper.sections)


def test_the_errata_of_the_papers_are_all_there():
    numbers = {one.number for name in papers.NAMES for one in papers.load(name).errata}
    assert numbers == {f"E{number}" for number in range(1, 38)}


@pytest.fixture(scope="module")
def report(tmp_path_factory, request):
    """Everything, quickly, as the terminal does it; with the real data where they are."""
    out = tmp_path_factory.mktemp("report")
    words = ["--json", "papers", "run", "all", "--quick", "--out", str(out)]
    with contextlib.suppress(pytest.skip.Exception):
        words += ["--data", str(request.getfixturevalue("shared_data"))]
    done = CliRunner().invoke(whitecrow, words)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout), out


def test_every_table_and_figure_has_a_verdict_and_a_reason(report):
    result, _ = report
    verdicts = {"reproduced", "differs", "not comparable", "needs data", "data not public"}
    for name, wanted in PRINTED.items():
        found = result["summary"][name]
        assert set(found) == wanted
        for one in found.values():
            assert one["verdict"] in verdicts
            assert one["compared"] >= 1
            assert one["why"] or one["verdict"] == "reproduced"


def test_the_count_is_said_at_the_end(report):
    result, out = report
    verdicts = [
        one["verdict"] for paper in papers.NAMES for one in result["summary"][paper].values()
    ]
    assert len(verdicts) == 43
    said = re.search(r"(\d+) are reproduced and (\d+) differ for a reason that a test supports: "
                     r"(\d+) of 43", result["count"])  # fmt: skip
    assert int(said[1]) == verdicts.count("reproduced")
    assert int(said[2]) <= verdicts.count("differs")
    assert int(said[1]) + int(said[2]) == int(said[3])
    assert result["count"] in (out / "summary.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", papers.NAMES)
def test_reasons_are_supported_by_tests_that_exist(name):
    root = Path(__file__).parents[4]
    for exhibit in papers.load(name).exhibits:
        assert bool(exhibit.why) or not exhibit.tests
        for test in exhibit.tests:
            file, _, function = test.partition("::")
            assert f"\ndef {function}(" in (root / file).read_text(encoding="utf-8"), test


def test_an_interrupted_run_goes_on(tmp_path):
    computed = []

    def section(key):
        def compute(context):
            computed.append(key)
            row = Row(key, "1", "1", "reproduced", interval=(0.5, 1.5))
            return Section(key, rows=[row], tables=[Table(("a",), [[1, 2.5]])])

        return compute

    paper = Paper("test", "", "", {key: section(key) for key in ("one", "two")}, [])
    context = papers.Context(None, tmp_path)
    papers.run(paper, context, ["one"])
    found = papers.run(paper, replace(context, resume=True))
    assert computed == ["one", "two"]
    again = papers.run(paper, replace(context, resume=True))
    assert [(one.title, one.rows, one.seconds) for one in found] == [
        (one.title, one.rows, one.seconds) for one in again
    ]
    assert found[0].rows[0].interval == (0.5, 1.5)
    (tmp_path / ".test-two.json").write_text("[[", encoding="utf-8")  # it was being written
    papers.run(paper, replace(context, resume=True))
    papers.run(paper, replace(context, resume=True, seed=2))  # other settings
    papers.run(paper, context)
    assert computed[2:] == ["two", "one", "two", "one", "two"]


def test_the_verdicts_are_written_for_programs(report):
    result, out = report
    rows = json.loads((out / "verdicts.json").read_text(encoding="utf-8"))
    assert len(rows) == 43
    for row in rows:
        assert set(row) == {"exhibit", "verdict", "figures", "interval", "reason"}
        paper, _, name = row["exhibit"].partition(" ")
        assert row["verdict"] == result["summary"][paper][name]["verdict"]
        assert len(row["interval"]) == len(row["figures"]) >= 1
        assert row["reason"] or row["verdict"] == "reproduced"
    (sets,) = [row for row in rows if row["exhibit"] == "asif Figure 4"]
    assert len(sets["figures"]) == 5  # a set that is not here is said to be missing


@pytest.mark.parametrize(
    ("printed", "ours", "interval", "theirs", "expected"),
    [
        ("0.90", 0.8951, None, None, True),  # rounded
        ("0.0867", 0.08678, None, None, True),  # cut off
        ("0.90", 0.8949, None, None, False),
        ("0.90", 0.8, (0.7, 0.9), None, True),
        ("0.90", 0.8, (0.7, 0.89), (0.81, 0.95), False),
        ("0.90", 0.82, (0.7, 0.89), (0.81, 0.95), True),
        ("1.1127e-21", 1.11271e-21, None, None, True),
        ("1.1127e-21", 1.2e-21, None, None, False),
    ],
)
def test_reproduced_means_in_an_interval(printed, ours, interval, theirs, expected):
    assert agrees(printed, ours, interval, theirs) == expected


def test_the_interval_of_a_share_is_wilsons():
    assert share_interval(0.5, 100) == pytest.approx((0.4038, 0.5962), abs=1e-4)
    assert share_interval(1.0, 10)[0] == pytest.approx(0.7225, abs=1e-3)


class _Page(html.parser.HTMLParser):
    """Collects what a browser would load, and the words of the page."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag, attrs):
        for key, value in attrs:
            if key == "src" or (key == "href" and tag == "link"):
                self.loaded.append(value or "")

    def handle_data(self, data):
        self.words.append(data)


def test_the_report_is_one_page_that_loads_nothing(report):
    result, out = report
    page = _Page()
    page.feed((out / "report.html").read_text(encoding="utf-8"))
    assert result["report"] == str(out / "report.html")
    assert len(page.loaded) >= 12
    assert all(address.startswith("data:image/png;base64,") for address in page.loaded)
    words = " ".join(page.words)
    for wanted in ("Errata", "E27", "seed 1", "processor", "seconds", "data not public"):
        assert wanted in words
    assert "nan" not in re.findall(r"\bnan\b", words)


def test_the_markdown_shows_pictures_that_exist(report):
    _, out = report
    written = (out / "report.md").read_text(encoding="utf-8")
    pictures = re.findall(r"!\[[^]]*\]\(([^)]+)\)", written)
    assert len(pictures) >= 12
    assert all((out / picture).exists() for picture in pictures)
    summary = (out / "summary.md").read_text(encoding="utf-8")
    assert sum(line.startswith(("| Table", "| Figure")) for line in summary.splitlines()) == 43


def test_a_table_is_reproduced_only_if_all_of_its_figures_are():
    def rows(*verdicts):
        return [Row(f"figure {i}", "1", "1", v, "because") for i, v in enumerate(verdicts)]

    exhibit = Exhibit("Table 1", "a test", "one", stand_in="other data")
    paper = Paper("test", "Test", "", {"one": lambda context: Section("")}, [exhibit])
    for verdicts, expected in (
        (("reproduced", "beyond the paper"), "reproduced"),
        (("reproduced", "differs"), "differs"),
        (("reproduced", "not comparable"), "reproduced"),
        (("not comparable",), "not comparable"),
        (("reproduced", "needs data"), "needs data"),
        (("differs", "data not public"), "differs"),
        ((), "needs data"),
    ):
        (found,) = findings(paper, [Section("", rows=rows(*verdicts))])
        assert found.verdict == expected


def test_the_distances_of_the_conference_papers_example():
    starts = ((3, 0, 0, 0, 1), (3, 2, 1, 0, 1), (3, 0, 1, 0, 1))
    assert [len(distance(start)) - 1 for start in starts] == [6, 3, 3]


def test_all_and_a_single_table_do_not_go_together():
    done = CliRunner().invoke(whitecrow, ["papers", "run", "all", "--table", "table1"])
    assert done.exit_code != 0


def test_side_by_side_the_sections_are_those_of_one_after_the_other(tmp_path):
    context = papers.Context(None, tmp_path, quick=True, seed=7)
    chosen = [papers.load("ccs"), papers.load("okada")]
    together = papers.run_all(chosen, context)
    assert [paper.name for paper, _ in together] == ["ccs", "okada"]
    for paper, sections in together:
        alone = papers.run(paper, context)
        assert [_timeless(one) for one in sections] == [_timeless(one) for one in alone]


def _timeless(section: Section) -> Section:
    return replace(section, seconds=0.0)


@pytest.mark.parametrize("name", papers.NAMES)
def test_what_runs_apart_is_a_section_of_the_paper(name):
    paper = papers.load(name)
    assert set(paper.apart) <= set(paper.sections)
