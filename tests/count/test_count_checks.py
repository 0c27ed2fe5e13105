"""The exhaustive checks of count: all pass, every twin is caught."""

from __future__ import annotations

import pytest

from whitecrow.verify import checks

ALL = checks(["count"])


@pytest.mark.parametrize("check", ALL, ids=lambda check: check.name)
def test_every_edge_is_within_its_bound_and_every_twin_is_caught(check):
    report = check.run()
    assert check.passed(report), report
    assert report.edges > 0


def test_the_twins_named_in_the_errata_are_there():
    names = " ".join(check.name for check in ALL if check.must_fail)
    for twin in ("Algorithm 1", "2r", "line 6", "cap N", "cap - 1", "stopped", "double precision"):
        assert twin in names
