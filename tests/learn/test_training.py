"""From counts to scores, with noise that is drawn from a seed."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

import whitecrow as wc
from whitecrow.detector import scoring
from whitecrow.detector.model import Grid, Model
from whitecrow.histogram.facts import Bought, CellFacts, counted_rows
from whitecrow.histogram.noise_budget import NoiseBudget, concentrated
from whitecrow.learning.facts import ByTable
from whitecrow.learning.question import draw_tables, families
from whitecrow.learning.training import learn_marginals, train
from whitecrow.noise.seeded import SeededSource

PURE = NoiseBudget("laplace", Fraction(2), "add_remove", 1)
GAUSSIAN = NoiseBudget("gaussian", concentrated(Fraction(1), Fraction(1, 10**6)), "add_remove", 1)


def records(size: int, columns: int, seed: int = 0) -> npt.NDArray[np.float64]:
    return np.random.default_rng(seed).normal(size=(size, columns))


def trained(
    rows: npt.NDArray[np.float64],
    budget: NoiseBudget = GAUSSIAN,
    bound: float = 8.0,
    **options: object,
) -> Model:
    grids = tuple(Grid(f"x{j}", True, False, -bound, bound) for j in range(rows.shape[1]))
    return train(
        grids,
        Bought(CellFacts(partial(counted_rows, rows)), budget, SeededSource(7)),
        Fraction(1),
        **options,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("bound", [8.0, 80_000.0])
@pytest.mark.parametrize("budget", [PURE, GAUSSIAN])
def test_far_records_score_above_common_ones_however_wide_the_bounds(
    budget: NoiseBudget, bound: float
) -> None:
    rows = records(6000, 5)
    model = trained(rows, budget, bound)
    far = records(300, 5, seed=1)
    far[:, 2] += 6.0
    columns = scoring.encoders(model)
    common = scoring.raw_scores(model, columns, records(300, 5, seed=2))
    strange = scoring.raw_scores(model, columns, far)
    assert np.mean(strange[:, None] > common[None, :]) > 0.97


@pytest.mark.parametrize(("budget", "size"), [(PURE, 5000), (GAUSSIAN, 600)])
def test_hundreds_of_columns_that_noise_hides_tell_together_what_is_far(
    budget: NoiseBudget, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The noise of one column's counts is most of the records."""
    middle = np.random.default_rng(4).uniform(-2.0, 2.0, size=300)
    rows, usual = records(size, 300) + middle, records(200, 300, seed=1) + middle
    far = 1.15 * records(200, 300, seed=2) + middle

    def lead(model: Model) -> float:
        columns = scoring.encoders(model)
        strange, common = (scoring.raw_scores(model, columns, part) for part in (far, usual))
        return float(np.mean(strange[:, None] > common[None, :]))

    model = trained(rows, budget, bound=6.0)
    assert model.marginal_noise > 0.3 * model.records
    means = [share @ grid.middles() for grid, share in zip(model.grids, model.shares, strict=True)]
    assert np.abs(np.array(means) - middle).mean() < 0.95 * np.abs(middle).mean()
    assert lead(model) > 0.88
    assert lead(replace(model, tail=0.0)) < 0.85
    monkeypatch.setattr("whitecrow.learning.question.MANY", 301)
    assert lead(trained(rows, budget, bound=6.0)) < 0.85


@pytest.mark.parametrize("price", [{"epsilon": "1"}, {"epsilon": "1/10", "delta": "1e-6"}])
def test_a_detector_of_columns_that_noise_hides_is_read_again_as_it_was(
    price: dict[str, str],
) -> None:
    """However much the noise; a category's distribution is never taken to be normal."""
    values = np.random.default_rng(0).uniform(size=(400, 300))
    rows = {f"x{j}": values[:, j] for j in range(300)} | {"kind": ["a", "b", "c", "a"] * 100}
    columns = [wc.Column(f"x{j}", lower=0, upper=1) for j in range(300)]
    columns.append(wc.Column("kind", "category", categories=("a", "b", "c", "d")))
    curator = wc.Curator.open(
        pa.table(rows), card=wc.Card("wide", tuple(columns)), budget="3, 1e-5", ledger="sqlite://"
    )
    detector = curator.ask(wc.Learn(**price)).answer
    model = detector.models[0]
    assert model.fits
    assert np.abs(model.tails[300]).max() < 4.0
    some = {name: list(column[:20]) for name, column in rows.items()}
    again = wc.Detector.from_bytes(detector.to_bytes())
    assert np.array_equal(again.scores(some), detector.scores(some))


def test_a_far_cluster_is_stranger_than_nearer_records_that_are_rarer() -> None:
    """Counts alone would say the contrary: two hundred records lie together."""
    rows = records(20_000, 3)
    rows[:200, 0] = 30.0
    model = trained(rows, bound=40.0)
    odd = records(300, 3, seed=1)
    odd[:, 0] = np.linspace(4.0, 4.7, 300)
    odd[:, 1] = 3.0

    def lead(scored: Model) -> float:
        columns = scoring.encoders(scored)
        far, near = (scoring.raw_scores(scored, columns, part) for part in (rows[:200], odd))
        return float(np.mean(far[:, None] > near[None, :]))

    assert lead(model) > 0.9
    assert lead(replace(model, far=0.0)) < 0.5
    assert lead(replace(model, near=3.0)) < 0.5


def test_cells_that_noise_may_have_made_hardly_say_what_is_usual() -> None:
    """In each table one cell holds nearly all records, and all others what noise makes of none."""
    model = trained(records(2000, 3))
    noisy = np.full(len(model.counts), round(1.5 * model.noise), dtype=np.int32)
    noisy[model.tables.base[:-1]] = round(60.0 * model.noise)
    rare = np.delete(np.arange(len(noisy)), model.tables.base[:-1])
    made = replace(model, counts=noisy)
    strange, before = made.surprises[rare], replace(made, clear=0.0).surprises[rare]
    assert model.clear == 16.0
    assert (strange > before).all()
    assert np.median(strange / before) > 1.5
    quiet = replace(model, noise=0.0)
    assert (quiet.surprises == replace(quiet, clear=0.0).surprises).all()


def test_records_that_break_what_columns_share_are_stranger_where_noise_lets_it_be_seen() -> None:
    """Columns are nearly equal; the odd records have one that is turned around."""
    rows, odd = records(20_000, 8), records(300, 8, seed=1)
    for part in (rows, odd):
        part[:, 1:] = part[:, :1] + 0.3 * part[:, 1:]
    odd[:, 1] *= -1.0
    model = trained(rows)
    assert model.dependence > 0.5
    assert 0.6 < model.together <= 0.75

    def lead(scored: Model) -> float:
        columns = scoring.encoders(scored)
        strange, usual = (scoring.raw_scores(scored, columns, part) for part in (odd, rows[:2000]))
        return float(np.mean(strange[:, None] > usual[None, :]))

    assert lead(model) > lead(replace(model, together=0.0)) + 0.01
    # Columns that know nothing of each other, and few records: hardly anything is taken off.
    assert trained(records(20_000, 8)).together < 0.05
    assert trained(rows[:300]).together < 0.05


@pytest.mark.parametrize("bound", [1e-310, 1e-300, 1e-160, 1e200, 8e307])
def test_bounds_whose_squares_overflow_or_vanish_give_scores_all_the_same(bound: float) -> None:
    rows = np.clip(records(3000, 3), -3.0, 3.0) * (bound / 3.0)
    with np.errstate(divide="raise", invalid="raise"):
        model = trained(rows, bound=bound)
    assert all(((encoder.look[:2] >= 0).all()) for encoder in scoring.encoders(model))
    assert len(np.unique(scoring.raw_scores(model, scoring.encoders(model), rows))) > 10


def test_compiled_and_plain_loops_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = records(3000, 7)
    model = trained(rows)
    probes = np.concatenate([rows, 50 * records(500, 7, seed=3), np.full((2, 7), np.inf)])
    columns = scoring.encoders(model)
    counts = counted_rows(probes, ByTable(columns, model.tables))
    scores = scoring.raw_scores(model, columns, probes)
    monkeypatch.setattr(scoring, "COMPILED", False)
    assert (counted_rows(probes, ByTable(columns, model.tables)) == counts).all()
    assert (scoring.raw_scores(model, columns, probes) == scores).all()


def test_every_record_is_in_one_cell_of_every_table() -> None:
    rows = records(500, 4)
    model = trained(rows)
    columns = scoring.encoders(model)
    counts = counted_rows(rows, ByTable(columns, model.tables))
    totals = np.add.reduceat(counts, model.tables.base[:-1])
    assert (totals == 500).all()


def test_the_layout_is_a_function_of_the_seed() -> None:
    wanted = families("gaussian", 5000.0, Fraction(1, 40))
    one, same, other = (draw_tables(9, wanted, seed) for seed in (1, 1, 2))
    assert (one.axis == same.axis).all()
    assert (one.offset == same.offset).all()
    assert not np.array_equal(one.offset, other.offset)


def test_the_distribution_of_a_column_comes_back_within_its_noise() -> None:
    rows = records(20_000, 6)
    grids = tuple(Grid(f"x{j}", True, False, -8.0, 8.0) for j in range(6))
    found = learn_marginals(
        grids,
        Bought(CellFacts(partial(counted_rows, rows)), GAUSSIAN, SeededSource(5)),
        Fraction(1, 5),
    )
    assert abs(found.records - 20_000) < 6 * found.noise
    for place, (grid, share) in enumerate(zip(found.grids, found.shares, strict=True)):
        truth = (rows[:, place][:, None] < grid.edges[None, ::25]).mean(axis=0)
        away = np.abs(np.cumsum(share)[:-1:25] - truth).max()
        assert away < 8 * found.noise / 20_000
        assert share.min() >= 0
        assert abs(share.sum() - 1) < 1e-9


def test_replacing_costs_twice_and_persons_cost_their_records() -> None:
    one = GAUSSIAN.histograms(Fraction(1, 2), 10).size
    both = (
        NoiseBudget("gaussian", GAUSSIAN.total, "replace_one", 3)
        .histograms(Fraction(1, 2), 10)
        .size
    )
    assert abs(float(both / one) - 18) < 0.01
    one = PURE.histograms(Fraction(1, 2), 10).size
    both = NoiseBudget("laplace", PURE.total, "replace_one", 3).histograms(Fraction(1, 2), 10).size
    assert both == 6 * one


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("1/10", "1e-6"), ("10", "1e-9")])
def test_the_converted_rho_keeps_its_delta_for_gaussian_noise(epsilon: str, delta: str) -> None:
    """A Gaussian of that rho has an exactly known curve, which must lie below the promise."""
    from scipy.stats import norm

    rho = concentrated(Fraction(epsilon), Fraction(delta))
    shift, price = np.sqrt(2 * float(rho)), float(Fraction(epsilon))
    spent = norm.cdf(shift / 2 - price / shift) - np.exp(price) * norm.cdf(
        -shift / 2 - price / shift
    )
    assert 0 < spent <= float(Fraction(delta))
    assert concentrated(Fraction(epsilon), Fraction(delta) / 10) < rho


def test_a_millionth_at_epsilon_1_is_a_rho_of_about_0_0243() -> None:
    assert round(float(concentrated(Fraction(1), Fraction(1, 10**6))), 4) == 0.0243
