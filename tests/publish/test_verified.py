"""``whitecrow verify publish``: every claim holds, every broken twin is found out."""

from __future__ import annotations

import pytest

from whitecrow.verify import checks

CHECKS = checks(["publish"])


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_the_check_sees_what_it_should(check):
    assert check.passed(check.run())


def test_every_mechanism_noise_and_twin_is_among_the_checks():
    names = " | ".join(check.name for check in CHECKS)
    for words in ("tree", "square_root", "independent", "laplace", "gaussian", "leaves", "user"):
        assert words in names
    assert sum(check.must_fail for check in CHECKS) >= 8
