"""The exhaustive checks of publish, which ``whitecrow verify`` runs."""

from __future__ import annotations

from whitecrow_audit.verify import checks


def test_every_mechanism_noise_and_mutant_is_among_the_checks():
    listed = checks(["publish"])
    names = " | ".join(check.name for check in listed)
    for words in ("tree", "buffered", "independent", "laplace", "gaussian", "leaves", "user"):
        assert words in names
    assert sum(check.must_fail for check in listed) >= 8
