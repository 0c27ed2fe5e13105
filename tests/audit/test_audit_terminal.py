"""``whitecrow audit``: table, JSON, page, exit status."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from whitecrow.cli import whitecrow
from whitecrow_audit.audit import screen


def run(*words: str):
    return CliRunner().invoke(whitecrow, words)


def test_the_table_says_claim_bound_power_and_verdict():
    done = run("audit", "screen", "--quick")
    assert done.exit_code == 0, done.output
    head, first, *_ = done.output.splitlines()
    assert head.split()[:3] == ["mechanism", "claimed", "measured"]
    assert first.startswith("screen: as asked")
    assert first.endswith("not violated")
    assert "Mutants caught: 2 of 2" in done.output
    assert "99.9%" in done.output


def test_json_is_one_object():
    done = run("--json", "audit", "screen", "--quick")
    found = json.loads(done.output)
    assert done.exit_code == 0
    assert found["ok"] is True
    assert found["confidence"] == 0.999
    row = found["rows"][0]
    assert row["claimed"] == 2.0
    assert 0 < row["measured"] <= 2.0
    assert row["asked"] > 0
    assert 0.8 < row["power"] < 1
    assert [row["verdict"] for row in found["rows"]] == ["not violated", "violated", "violated"]
    assert [row["mutant"] for row in found["rows"]] == [False, True, True]


def test_a_page_is_written(tmp_path: Path):
    page = tmp_path / "report.md"
    done = run("audit", "screen", "replay", "--quick", "--out", str(page))
    assert done.exit_code == 0
    written = page.read_text(encoding="utf-8")
    for words in ("whitecrow 0", "## Mutants", "## The pairs", "neighbours look the same"):
        assert words in written


def test_two_processes_audit_the_same_rows():
    done = run("--json", "audit", "screen", "--quick", "--jobs", "2")
    found = json.loads(done.output)
    assert done.exit_code == 0
    assert [row["verdict"] for row in found["rows"]] == ["not violated", "violated", "violated"]
    assert [row["name"] for row in found["rows"]] == [case.name for case in screen.cases()]


def test_an_uncaught_mutant_ends_with_status_1(monkeypatch: pytest.MonkeyPatch):
    tame = [replace(case, name="mutant: tame") for case in screen.cases() if not case.mutant]
    monkeypatch.setattr(screen, "cases", lambda: tame)
    done = run("audit", "screen", "--quick")
    assert done.exit_code == 1
    assert "NOT CAUGHT" in done.output


def test_a_violation_ends_with_status_1(monkeypatch: pytest.MonkeyPatch):
    broken = [replace(case, name="as asked") for case in screen.cases() if case.mutant][-1:]
    monkeypatch.setattr(screen, "cases", lambda: broken)
    done = run("--json", "audit", "screen", "--quick")
    assert done.exit_code == 1
    assert json.loads(done.output)["rows"][0]["verdict"] == "violated"


def test_an_unknown_mechanism_is_wrong_usage():
    done = run("audit", "nonsense")
    assert done.exit_code == 2
    assert "replay" in done.output


def test_the_help_says_that_there_is_no_seed():
    done = run("audit", "--help")
    assert "There is no seed" in done.output
    assert "Example: whitecrow audit identify --quick" in done.output
