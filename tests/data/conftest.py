"""A database of our own."""

from collections.abc import Iterator

import pytest
from benchmarks import postgres


@pytest.fixture(scope="session")
def server() -> Iterator[postgres.Cluster]:
    reason = postgres.missing()
    if reason:
        pytest.skip(reason)
    with postgres.cluster() as running:
        yield running
