"""The exhaustive checks of ``learn``, which ``whitecrow verify`` runs."""

from __future__ import annotations

from whitecrow_audit.verify import checks


def test_the_bound_is_nearly_reached_so_no_budget_is_wasted():
    (check,) = [c for c in checks(["learn"]) if c.name.endswith("laplace, add_remove")]
    report = check.run()
    assert report.worst_loss > 0.95 * report.bound
