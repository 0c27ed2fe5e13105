"""The exhaustive checks themselves: all pass, every twin is caught."""

from __future__ import annotations

import pytest

from whitecrow.verify import checks

ALL = checks(["identify", "screen", "lookahead", "compiler"])


@pytest.mark.parametrize("check", ALL, ids=lambda check: f"{check.mechanism}: {check.name}")
def test_every_edge_is_within_its_bound_and_every_twin_is_caught(check):
    report = check.run()
    assert check.passed(report), report
    assert report.edges > 0


def test_each_mechanism_has_a_broken_twin():
    assert {c.mechanism for c in ALL if c.must_fail} == {c.mechanism for c in ALL}
