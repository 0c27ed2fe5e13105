"""Every exhaustive check of ``whitecrow verify explain`` says what it must."""

from __future__ import annotations

import pytest

from whitecrow.verify.explain import CHECKS


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_the_check_passes(check):
    report = check.run()
    assert check.passed(report), f"{report.worst_loss} against {report.bound}: {report.worst_edge}"
    assert report.edges > 0


def test_the_accounting_is_tight_where_the_theory_says_so():
    """One sample: the loss of the graph searches reaches epsilon, monotone and both ways."""
    reached = {check.name: check.run() for check in CHECKS if check.name.startswith("bfs")}
    assert reached["bfs: one record more, every matching set"].worst_loss > 0.999
    assert reached["bfs: utilities that move both ways"].worst_loss > 0.999


def test_the_three_twins_of_the_paper_are_among_the_checks():
    twins = " ".join(check.name for check in CHECKS if check.must_fail)
    for flaw in ("equation (2)", "a start found by population", "cumulative flips"):
        assert flaw in twins
