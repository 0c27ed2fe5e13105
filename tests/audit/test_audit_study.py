"""The full study; its report is ``docs/audit-report.md``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from whitecrow_audit.audit import audit

REPORT = Path(__file__).resolve().parents[2] / "docs" / "audit-report.md"


@pytest.mark.study
@pytest.mark.timeout(3600)
def test_the_full_study_finds_no_leak_and_tests_everything_hard_enough():
    found = audit(quick=False)
    assert found.ok
    assert {row.verdict for row in found.findings} == {"not violated", "violated"}


def test_the_committed_report_has_every_row_or_says_that_the_full_study_waits_for_it(every):
    written = REPORT.read_text(encoding="utf-8")
    assert re.search(
        r"Made by `whitecrow audit --out FILE` on \d{4}-\d\d-\d\d: whitecrow ", written
    )
    for case in every:
        row = f"{case.mechanism}: {case.name}"
        assert (f"- {row}: {case.pair}" in written) != (f"\n- waits: {row}\n" in written), row
    for word in ("not its law", "NOT CAUGHT", "asked otherwise", "not tested hard enough"):
        assert word not in written
