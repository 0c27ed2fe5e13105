"""A study: whoever does their worst, honest people notice little of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.server_fairness import LOADS, measure


@pytest.mark.timing
@pytest.mark.study
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("load", [*LOADS, "refusals"])
def test_honest_replies_take_at_most_three_times_as_long_as_in_quiet(
    tmp_path: Path, load: str
) -> None:
    """The p99 of 32 analysts, in turns with quiet; a machine that others use makes it useless."""
    fairness = measure(tmp_path, (load,), seconds=15, rounds=3)[load]
    assert len(fairness.attacked) > 100
    assert sum(fairness.hostile) > 100
    assert fairness.ratio <= 3, fairness.p99
