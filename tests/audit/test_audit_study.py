"""The full study; ``whitecrow audit --out FILE`` writes its report."""

from __future__ import annotations

import pytest

from whitecrow_audit.audit import audit


@pytest.mark.study
@pytest.mark.timeout(3600)
def test_the_full_study_finds_no_leak_and_tests_everything_hard_enough():
    found = audit(quick=False)
    assert found.ok
    assert {row.verdict for row in found.findings} == {"not violated", "violated"}
