"""The exhaustive checks of explain, which ``whitecrow verify`` runs."""

from __future__ import annotations

from whitecrow_audit.verify.explain import CHECKS


def test_the_accounting_is_tight_where_the_theory_says_so():
    """One sample: the loss of the graph searches reaches epsilon, monotone and both ways."""
    assert CHECKS["bfs: one record more, every matching set"]().worst_loss > 0.999
    assert CHECKS["bfs: utilities that move both ways"]().worst_loss > 0.999


def test_the_three_mutants_of_the_paper_are_among_the_checks():
    mutants = " ".join(name for name in CHECKS if name.startswith("mutant: "))
    for flaw in ("equation (2)", "a start found by population", "cumulative flips"):
        assert flaw in mutants
