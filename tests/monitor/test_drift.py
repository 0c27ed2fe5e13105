"""The alarm: quiet series keep its bound, a change is seen and named.

Seeds are fixed. A test on quiet series fails by chance with probability below 10^-6.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from whitecrow.histogram.noise_budget import Noise
from whitecrow.ledger.timeline import timeline
from whitecrow.ledger.verification import verify
from whitecrow.monitor.drift import Watch, Watched, groups
from whitecrow.monitor.streams import strategy
from whitecrow_research.monitoring import drifting, quiet, watch_of


def alarmed(watch, releases):
    return [{move.column for move in step if move.alarm} for step in watch.scan(releases)]


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_quiet_series_alarm_no_more_often_than_the_rate(law):
    watch = watch_of(law, columns=4, epsilon=1.0, rate=0.2)
    runs = 60
    found = sum(any(alarmed(watch, quiet(watch, 1500, seed))) for seed in range(runs))
    assert found <= binom.isf(1e-6, runs, 0.2)


def test_an_alarm_that_forgets_the_noise_is_found_out():
    watch = watch_of("gaussian", columns=4, epsilon=1.0, rate=0.2)
    deaf = replace(watch, noise=Noise("gaussian", Fraction(1)))
    found = sum(any(alarmed(deaf, quiet(watch, 1500, seed))) for seed in range(40))
    assert found > binom.isf(1e-6, 40, 0.2)


def test_an_alarm_that_forgets_the_chance_in_the_records_is_found_out(monkeypatch):
    watch = watch_of("gaussian", columns=4, epsilon=1e6, rate=0.2)
    assert not any(any(alarmed(watch, quiet(watch, 1500, seed))) for seed in range(10))
    monkeypatch.setattr(Watch, "_most", lambda *given: 0.0)
    found = sum(any(alarmed(watch, quiet(watch, 1500, seed))) for seed in range(40))
    assert found > binom.isf(1e-6, 40, 0.2)


def test_a_planted_change_is_seen_within_two_periods_and_only_its_column_is_named():
    watch = watch_of("gaussian", columns=4, epsilon=1.0, rate=0.05)
    for seed in range(20):
        found = alarmed(watch, drifting(watch, 3000, seed, column=2, since=6, by=0.25))
        assert not any(found[:6])
        assert found[7] == {"c2"}


def test_the_curator_names_the_column_that_moved(opened, made_up, series):
    curator = opened(made_up(3000, moved=4))
    quiet_by_then = curator.monitor(**series, through=4).answer
    assert quiet_by_then.alarms == {}
    found = curator.monitor(**series, through=5)
    assert "x" in found.answer.moved
    assert "kind" not in found.answer.moved
    assert found.said.headline.startswith("Moved by 4: x")
    (moved,) = [one for one in found.answer.series[-1]["columns"] if one["column"] == "x"]
    assert moved["since"] == "4"


@pytest.mark.parametrize("scale", [0.7, 1.0, 8.0])
def test_the_moment_bounds_of_the_proof_hold_for_both_noises(scale):
    places = np.arange(-400, 401)
    for law, mass in (
        ("laplace", np.exp(-np.abs(places) / scale)),
        ("gaussian", np.exp(-(places**2) / (2 * scale**2))),
    ):
        mass = mass / mass.sum()
        for part in (0.05, 0.3, 0.7):
            rate = part / (math.sqrt(2) * scale)
            found = math.log(float((mass * np.exp(rate * places)).sum()))
            factor = 2 * math.log(2) if law == "laplace" else 0.5
            assert found <= factor * rate**2 * scale**2 * (1 + 1e-9)


def test_cells_of_the_alarm_hold_about_equally_many_records_at_first(opened, made_up, series):
    curator = opened(made_up(3000))
    model = curator.monitor(**series, through=1).answer.detector.model
    x, _, kind = groups(model)
    held = np.bincount(x, weights=model.shares[0])
    assert len(held) == 8
    assert np.all(np.abs(held - 1 / 8) < 0.03)
    assert sorted(kind) == [0, 1, 2]


def test_sets_of_cells_follow_the_order_of_the_values():
    assert Watched("x", 3, True).sets.tolist() == [[1, 0, 0], [1, 1, 0]]
    assert Watched("k", 3, False).sets.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert Watched("k", 2, False).sets.tolist() == [[1, 0]]
    assert len(Watched("k", 8, False).sets) == 7  # the last cell holds all rare values together


def test_a_period_without_records_raises_no_alarm():
    watch = Watch(strategy("gaussian", 4), Noise("gaussian", Fraction(1)), (Watched("x", 8, True),),
                  0.05)  # fmt: skip
    nothing = [np.full(8, -5), np.zeros(8), np.zeros(8), np.zeros(8)]
    assert not any(alarmed(watch, nothing))


def test_an_alarm_stands_on_the_timeline_once(opened, made_up, series):
    curator = opened(made_up(3000, moved=4))
    for step in (1, 6, 6):
        curator.monitor(**series, through=step)
    told = [one for one in timeline(curator.ledger, "visits").events if one.kind == "alarm"]
    assert len(told) == 1
    assert "moved: x" in told[0].says
    assert verify(curator.ledger, "visits").ok
