"""Series and publications after a restore, with another instance of the service as the witness."""

from __future__ import annotations

import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from click.testing import CliRunner
from instances import Instance, instance
from witnessed import restored

import whitecrow as wc
from whitecrow.cli import whitecrow
from whitecrow.errors import LedgerOutdated, LedgerUnusable
from whitecrow.ledger import Ledger
from whitecrow.ledger.backup import backup
from whitecrow.ledger.verification import verify
from whitecrow.ledger.witness import appoint

CARD = wc.Card(
    "visits",
    (
        wc.Column("x", lower=-8, upper=8, outside="clip"),
        wc.Column("kind", "category", categories=("a", "b")),
        wc.Column("month", "integer", lower=0, upper=11),
    ),
)
SERIES = {"time": "month", "start": 0, "period": 1, "horizon": 6, "epsilon": 2, "delta": "1e-6"}
PUBLISHED = wc.Publish("x", time="month", start=0, period=1, horizon=6, rho="1/2")


@pytest.fixture
def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Instance]:
    with instance(tmp_path) as running:
        monkeypatch.setenv("WHITECROW_WITNESS_TOKEN", running.token)
        yield running


@pytest.fixture
def opened(tmp_path: Path) -> Callable[[], wc.Curator]:
    draw = np.random.default_rng(1)
    month = np.repeat(np.arange(6), 100)
    table = pyarrow.table(
        {"x": draw.normal(size=600), "kind": draw.choice(["a", "b"], 600), "month": month}
    )

    def open_curator() -> wc.Curator:
        ledger = f"sqlite:///{tmp_path / 'ledger.db'}"
        return wc.Curator.open(table, card=CARD, budget="9, 1e-5", ledger=ledger, name="visits")

    return open_curator


def watched_by(other: Instance, folder: Path, opened: Callable[[], wc.Curator]) -> None:
    opened().close()
    with Ledger(folder / "ledger.db") as ledger:
        appoint(ledger.database, other.url, folder / "key")


def monitored(curator: wc.Curator, month: int) -> Any:
    return curator.monitor(**SERIES, through=month).answer


def published(curator: wc.Curator, month: int) -> Any:
    return curator.publisher(PUBLISHED).update(month, [1.0, 2.0])


@pytest.mark.parametrize("step", [monitored, published])
def test_a_series_that_lost_a_step_is_over_and_the_account_goes_on(
    other: Instance,
    tmp_path: Path,
    opened: Callable[[], wc.Curator],
    step: Callable[[wc.Curator, int], Any],
) -> None:
    """Step 2 was released after the backup: it must not be drawn again, nor a later one."""
    watched_by(other, tmp_path, opened)
    with opened() as curator:
        step(curator, 1)
        backup(curator.ledger.database, tmp_path / "copy")
        step(curator, 2)
    restored(f"sqlite:///{tmp_path / 'ledger.db'}", tmp_path / "copy")
    with opened() as curator:
        for month in (1, 2, 3):
            with pytest.raises(LedgerOutdated):
                step(curator, month)
    words = ["ledger", "witness", str(tmp_path / "ledger.db"), "--accept-loss", "--reason", "fire"]
    done = CliRunner().invoke(whitecrow, words)
    assert (done.exit_code, "visits, publication" in done.output) == (0, True), done.output
    with opened() as curator:
        for month in (1, 2, 3):
            with pytest.raises(wc.PolicyViolation, match="is over"):
                step(curator, month)
        model = wc.DistanceAnomaly(beta=5, radius=1)
        assert curator.count(["x"], model=model, epsilon="1/2").charged
        assert verify(curator.ledger, "visits", full=True).ok


def test_while_the_other_instance_is_away_nothing_leaves_and_then_all_goes_on(
    tmp_path: Path, opened: Callable[[], wc.Curator], monkeypatch: pytest.MonkeyPatch
) -> None:
    with instance(tmp_path) as first:
        monkeypatch.setenv("WHITECROW_WITNESS_TOKEN", first.token)
        watched_by(first, tmp_path, opened)
        port = urllib.parse.urlsplit(first.url).port
        curator = opened()
        one = published(curator, 0)
        assert one == published(curator, 0)
    for month in (1, 1, 2):
        with pytest.raises(LedgerUnusable, match="cannot be reached"):
            published(curator, month)
    assert port is not None
    with instance(tmp_path, port):  # its token is good for as long as it says
        two = published(curator, 1)
        assert two == published(curator, 1)
        assert [point.period for point in (*one, *two)] == ["0", "1"]
        curator.close()
