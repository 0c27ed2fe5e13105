"""The attack of the open-world paper, and the strongest adversary, against a monitor.

Thresholds are five standard errors of the simulation (a false alarm in about 10^6 runs).
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from whitecrow.attack import power_under_dp
from whitecrow_research.monitor_attack import CARD, asked, bound, by_ratio, by_segments


def test_the_attack_on_series_tells_outliers_of_exact_means_and_not_of_a_monitor():
    """Segments of four days, of which some hold a trip of more than 71 km."""
    exact, ours = by_segments(24, monitored=10)
    assert exact.auc - 5 * exact.error > 0.5
    assert ours.auc < power_under_dp(1.0).auc


@pytest.mark.parametrize("delta", ["1e-6", "0"])
def test_the_strongest_adversary_stays_within_what_the_price_allows(delta):
    """It knows every record but one, and reads every number of every step."""
    question = asked(horizon=6, delta=delta, epsilon=2)
    found = by_ratio(question, 16 if delta == "0" else 32)
    assert found.auc < bound(question).auc + 5 * found.error
    if delta == "0":  # pure privacy bounds every single ratio
        assert np.abs(found.scores).max() <= 2 + 1e-9
        return
    # The loss has a mean of at most rho under either hypothesis.
    rho = float(question.noise_budget(CARD).total)
    mean = float(np.where(found.truth, found.scores, -found.scores).mean())
    assert mean <= rho + 5 * math.sqrt(2 * rho / len(found.scores))
