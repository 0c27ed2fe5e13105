"""The first minute: the demo's table, its report, and how much work the first run is."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner

from whitecrow import demo
from whitecrow.cli import whitecrow

SHARED = Fraction(1, 4)
"""The new patient and the member asked about are far apart: one price covers both places."""

PROGRAM = Path(sys.executable).with_name("whitecrow")


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    return demo.run(tmp_path_factory.mktemp("demo"), lambda name: None)


def test_each_question_is_one_line_with_answer_error_and_price(story):
    assert [one.kind for one in story.asked] == [
        "screen", "count", "subspaces", "explain", "publish", "identify", "identify",
    ]  # fmt: skip
    for one in story.asked:
        assert one.question
        assert one.answer
        assert re.search(r"\d", one.error)
    assert story.left == story.budget - sum(one.epsilon for one in story.asked) + SHARED


def test_the_promise_to_everyone_is_kept_until_the_last_question(story):
    promised = [one.statement.startswith("Everyone is protected") for one in story.asked]
    assert promised == [True] * (len(promised) - 1) + [False]


def test_the_report_is_one_file_with_the_summary_first(story):
    page = story.page.read_text(encoding="utf-8")
    assert not re.search(r"(?:src|href)\s*=\s*(?:[\"'](?!#)|[^\"'#\s])", page)
    headings = re.findall(r"<h2[^>]*>([^<]+)", page)
    assert headings[0] == "Summary"
    assert headings[-1] == "Now your data"
    for one in story.asked:
        assert one.answer.replace("&", "&amp;").replace("'", "&#x27;") in page
    assert page.count("<figcaption>") == 5
    assert page.count('type="range"') == 2
    assert "How to read this" in page
    assert len(page) < 600_000
    others = {path.name for path in story.page.parent.iterdir()} - {"report.html"}
    assert all(name.startswith("clinic.whitecrow.db") for name in others), "no pictures beside it"


def test_the_terminal_shows_a_table_the_budget_the_report_and_what_comes_next(tmp_path):
    found = CliRunner().invoke(whitecrow, ["demo", "--out", str(tmp_path)])
    assert found.exit_code == 0, found.output
    assert "Expected error" in found.output
    assert re.search(r"Budget +[\d.]+ of 8 left", found.output)
    assert str(tmp_path / "report.html") in found.output.replace("\n", "")
    assert "Your data  whitecrow card new" in found.output
    assert max(map(len, found.output.splitlines())) <= 100
    assert len(found.output.split()) < 200, "a table, not a wall of words"


def test_verbose_tells_the_story_and_json_stays_one_object(tmp_path):
    told = CliRunner().invoke(whitecrow, ["demo", "--out", str(tmp_path), "--verbose"])
    assert "A new patient arrives" in told.output
    assert max(map(len, told.output.splitlines())) <= 100
    found = CliRunner().invoke(whitecrow, ["--json", "demo", "--out", str(tmp_path)])
    read = json.loads(found.stdout)
    spent = sum(Fraction(one["epsilon"]) for one in read["asked"])
    assert Fraction(read["left"]) == 8 - spent + SHARED


def seconds(tmp_path, cache):
    """Processor time of one run, not wall time: other tests run beside this one."""
    where = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([PROGRAM, "demo", "--out", tmp_path], env=where, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.timeout(300)
def test_the_first_run_compiles_within_20_seconds_and_later_ones_take_5(tmp_path):
    first, later = (seconds(tmp_path / "out", tmp_path / "cache") for _ in range(2))
    assert first < 20
    assert later < 5
