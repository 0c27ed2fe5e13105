"""The exhaustive checks of ``screening``, which ``whitecrow verify`` runs."""

from __future__ import annotations

from whitecrow_audit.verify import checks


def test_a_mutant_that_leaves_records_out_one_flag_later_is_found():
    named = {check.name: check for check in checks(["screening"])}
    assert sum(name.startswith("mutant") for name in named) >= 7
    mutant = named["mutant: left out one flag later"]
    assert mutant.must_fail
    assert mutant.passed(mutant.run())


def test_the_bound_is_nearly_reached_so_no_budget_is_wasted():
    named = {check.name: check for check in checks(["screening"])}
    report = named["every strategy: two flags"].run()
    assert report.worst_loss > 0.75 * report.bound
