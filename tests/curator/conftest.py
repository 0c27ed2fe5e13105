"""Curators over a few records, and the stores they keep their accounts in."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
import sqlalchemy as sa

import whitecrow as wc

# The tools of this folder, and the benchmarks' private server.
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]

import toy_question  # noqa: E402
from benchmarks import postgres  # noqa: E402

ROWS = pa.table({"x": [1.0, 2.0, 3.0, 4.0, 50.0]})


@pytest.fixture(scope="session")
def server() -> Iterator[postgres.Cluster]:
    reason = postgres.missing()
    if reason:
        pytest.skip(reason)
    with postgres.cluster() as running:
        yield running


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty durable store."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'ledger.whitecrow.db'}"
    return str(request.getfixturevalue("database"))


@pytest.fixture
def database(server: postgres.Cluster) -> str:
    """The URL of an empty PostgreSQL database."""
    engine = sa.create_engine(server.url)
    with engine.begin() as connection:
        connection.execute(sa.text("DROP SCHEMA public CASCADE"))
        connection.execute(sa.text("CREATE SCHEMA public"))
    engine.dispose()
    return server.url


Opening = Callable[..., wc.Curator]


@pytest.fixture
def opened() -> Opening:
    """Open a curator over a few records; everything can be overridden."""

    def open_(**options: object) -> wc.Curator:
        return wc.Curator.open(ROWS, **{"name": "toys", **options})  # type: ignore[arg-type]

    return open_


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    yield
    toy_question.ON_GATHER.clear()
