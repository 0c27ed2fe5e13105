"""Composition and conversion against brute force on a small universe."""

import pytest

from whitecrow_audit.verify.privacy import check_composition, check_order


@pytest.mark.parametrize("seed", range(4))
def test_no_edge_exceeds_what_a_composition_reports(seed):
    """Four seeds of 2,000 cases: with the order's, 12,000 graph and mechanism pairs in all."""
    report = check_composition(2000, seed=100 + seed)
    assert report.ok, report.worst_edge


@pytest.mark.parametrize("seed", range(2))
def test_whatever_is_said_to_follow_does_follow(seed):
    report = check_order(2000, seed=200 + seed)
    assert report.ok, report.worst_edge
