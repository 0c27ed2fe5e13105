"""Budgets under races and crashes."""

from __future__ import annotations

from pathlib import Path

import pytest
from bank import Bank, run, run_with_kills


def test_a_rush_of_processes_spends_exactly_the_budget(store: str) -> None:
    run(Bank(store, charges=50, share=20), processes=8, asks=160)


def test_killed_processes_lose_nothing_and_release_nothing_twice(
    store: str, tmp_path: Path
) -> None:
    bank = Bank(store, charges=60, share=60, log=tmp_path / "told")
    bank.log.touch()
    assert run_with_kills(bank, kills=6) >= 6


@pytest.mark.study
@pytest.mark.timeout(1800)
def test_sixteen_processes_and_twenty_thousand_asks(store: str) -> None:
    run(Bank(store, charges=5000, share=1500), processes=16, asks=20_000, shared=0.1)


@pytest.mark.study
@pytest.mark.timeout(1800)
def test_two_hundred_kills(store: str, tmp_path: Path) -> None:
    bank = Bank(store, charges=400, share=400, log=tmp_path / "told")
    bank.log.touch()
    assert run_with_kills(bank, kills=200) >= 200
