"""The exhaustive checks of ``monitor``, which ``whitecrow verify`` runs."""

from __future__ import annotations

from whitecrow_audit.verify import checks


def test_the_bound_is_nearly_reached_so_no_budget_is_wasted():
    named = {check.name: check for check in checks(["monitor"])}
    report = named["loss of all steps, gaussian, records"].run()
    assert report.worst_loss > 0.95 * report.bound
