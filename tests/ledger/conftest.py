"""What the tests of this folder share; its tools are importable from them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from whitecrow.ledger import Budget, Ledger
from whitecrow.place.balls import BALLS

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks import postgres


@pytest.fixture
def ledger() -> Any:
    with Ledger("sqlite://", geometry=BALLS) as made:
        made.open("clinic", budget=Budget.of("1"))
        yield made


@pytest.fixture(scope="session")
def server() -> Iterator[postgres.Cluster]:
    if reason := postgres.missing():
        pytest.skip(reason)
    with postgres.cluster() as running:
        yield running


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty store."""
    from witnessed import emptied

    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'ledger.db'}"
    server: postgres.Cluster = request.getfixturevalue("server")
    emptied(server.url)
    return server.url


@pytest.fixture(params=["file", "database", "instance"])
def place(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """Where a witness may be kept: a file, a second database, another instance of the service."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    file = elsewhere / "witness"
    if request.param != "instance":
        yield str(file) if request.param == "file" else f"sqlite:///{file}.db"
        return
    from instances import instance

    with instance(elsewhere) as other:
        monkeypatch.setenv("WHITECROW_WITNESS_TOKEN", other.token)
        yield other.url
