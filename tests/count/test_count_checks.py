"""The exhaustive checks of count, which ``whitecrow verify`` runs."""

from __future__ import annotations

from whitecrow_audit.verify import checks


def test_the_mutants_named_in_the_errata_are_there():
    names = " ".join(check.name for check in checks(["count"]) if check.must_fail)
    for mutant in (
        "Algorithm 1",
        "2r",
        "line 6",
        "cap N",
        "cap - 1",
        "stopped",
        "double precision",
    ):
        assert mutant in names
