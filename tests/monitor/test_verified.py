"""The exhaustive checks of ``monitor``: all pass, every twin is caught."""

from __future__ import annotations

import pytest

from whitecrow.verify import checks


@pytest.mark.parametrize("check", checks(["monitor"]), ids=lambda check: check.name)
def test_every_edge_is_within_its_bound_and_every_twin_is_caught(check):
    report = check.run()
    assert check.passed(report), report
    assert report.edges > 0


def test_the_bound_is_nearly_reached_so_no_budget_is_wasted():
    named = {check.name: check for check in checks(["monitor"])}
    report = named["loss of all steps, gaussian, records"].run()
    assert report.worst_loss > 0.95 * report.bound
