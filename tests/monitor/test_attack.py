"""The attack of the open-world paper, and the strongest adversary, against a monitor.

Thresholds are five standard errors of the simulation (a false alarm in about 10^6 runs).
"""

from __future__ import annotations

import math

import numpy as np
import pyarrow
import pytest

import whitecrow as wc
from whitecrow.attack import auc, power_under_dp, power_under_zcdp, score
from whitecrow.attack.judge import outlying_segments
from whitecrow.attack.monitored import monitor_log_ratio
from whitecrow.attack.streams import porto_like
from whitecrow.data import read
from whitecrow.learn.marginals import learn_marginals
from whitecrow.learn.recipe import marginal_share
from whitecrow.monitor import gather, resume
from whitecrow.monitor.assembly import nothing_by_column
from whitecrow.monitor.streams import Streams
from whitecrow.noise._seeded import SeededSource

CARD = wc.Card(
    "trips",
    (wc.Column("km", lower=0, upper=150, outside="clip"), wc.Column("day", "integer", 0, 99)),
)
STEPS, WIDTH = 24, 4


def trips(rng, outliers):
    stream = porto_like(rng, size=55, days=STEPS, outliers=outliers)
    days = np.repeat(np.arange(STEPS), [len(day) for day in stream.days])
    return stream, pyarrow.table({"km": np.concatenate(stream.days), "day": days})


def asked(**given):
    known = {"time": "day", "start": 0, "period": 1, "horizon": STEPS, "epsilon": 1}
    return wc.Monitor(["km"], **{**known, **given})


def shown_means(question, kept):
    """Return the mean of each day's records, as an analyst reads it off a window of one day."""
    streams, found = Streams.from_json(kept), []
    grid = streams.layout.grids[0]
    share = (1 - question.drift_share) * marginal_share("gaussian", question.money(CARD).total)
    middles = (grid.borders()[:-1] + grid.borders()[1:]) / 2.0
    for step in range(STEPS):
        reader = question.reader(CARD, streams.steps[: step + 1], (step, step + 1))
        day = learn_marginals(
            question.grids(CARD), nothing_by_column, reader, share, None, fixed=(grid,)
        )
        found.append(float(day.shares[0] @ middles))
    return np.array(found)


def auc_error(ones, zeros):
    return math.sqrt((ones + zeros + 1) / (12 * ones * zeros))


def test_the_attack_on_series_tells_outliers_of_exact_means_and_not_of_a_monitor():
    """Segments of four days, of which some hold a trip of more than 71 km."""
    rng = np.random.default_rng(1)
    question = asked(delta="1e-6")
    exact, ours, truth = [], [], []
    for run in range(24):
        stream, table = trips(rng, outliers=2)
        kept = resume(question, gather(question, read(table, CARD)), {}, SeededSource(run))
        exact.append(score([day.mean() for day in stream.days], width=WIDTH))
        ours.append(score(shown_means(question, kept), width=WIDTH))
        truth.append(outlying_segments(stream.outlying, WIDTH))
    marks = np.concatenate(truth)
    error = auc_error(int(marks.sum()), int((~marks).sum()))
    assert auc(np.concatenate(exact), marks) - 5 * error > 0.5
    assert auc(np.concatenate(ours), marks) < power_under_dp(1.0).auc


@pytest.mark.parametrize("delta", ["1e-6", "0"])
def test_the_strongest_adversary_stays_within_what_the_price_allows(delta):
    """It knows every record but one, and reads every number of every step."""
    rng = np.random.default_rng(2)
    question = asked(horizon=6, delta=delta, epsilon=2)
    _, table = trips(rng, outliers=0)
    joined = pyarrow.concat_tables([table, pyarrow.table({"km": [120.0], "day": [1]})])
    ratios = {}
    for name, data in (("without", table), ("joined", joined)):
        facts = gather(question, read(data, CARD))
        ratios[name] = [
            monitor_log_ratio(
                question,
                CARD,
                resume(question, facts, {}, SeededSource((name, run))),
                table,
                joined,
            )
            for run in range(40)
        ]
    scores = np.array([*ratios["joined"], *ratios["without"]])
    found = auc(scores, np.arange(len(scores)) < 40)
    money = question.money(CARD)
    bound = (power_under_zcdp if delta != "0" else power_under_dp)(float(money.total)).auc
    assert found < bound + 5 * auc_error(40, 40)
    if delta == "0":  # pure privacy bounds every single ratio
        assert np.abs(scores).max() <= 2 + 1e-9
    else:  # the loss has mean rho under either hypothesis
        mean = np.mean([*ratios["joined"], *(-np.array(ratios["without"]))])
        rho = float(money.total)
        assert mean <= rho + 5 * math.sqrt(2 * rho / 80)
