"""Random walks over everything that can happen to an account."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from machine import Accounts, Broken

QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck), "database": None}


def test_no_walk_of_six_hundred_steps_breaks_the_account() -> None:
    walks = settings(max_examples=15, stateful_step_count=40, derandomize=True, **QUIET)
    run_state_machine_as_test(Accounts, settings=walks)


@pytest.mark.study
@pytest.mark.timeout(1800)
def test_no_walk_of_ten_thousand_steps_breaks_the_account() -> None:
    walks = settings(max_examples=200, stateful_step_count=50, derandomize=True, **QUIET)
    run_state_machine_as_test(Accounts, settings=walks)


def test_a_check_outside_the_transaction_is_found() -> None:
    walks = settings(
        max_examples=200,
        stateful_step_count=20,
        derandomize=True,
        phases=[Phase.generate],
        report_multiple_bugs=False,
        **QUIET,
    )
    with pytest.raises(AssertionError, match=r"overspent|spends what was not there"):
        run_state_machine_as_test(Broken, settings=walks)
