"""What the whole suite shares."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--study", action="store_true", help="run the long studies too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--study"):
        return
    skip = pytest.mark.skip(reason="a long study; run it with --study")
    for item in items:
        if "study" in item.keywords:
            item.add_marker(skip)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data sets, or a skip that says how to provide it."""
    given = os.environ.get("WHITECROW_DATA")
    folder = Path(given) if given else ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("no real data here; set WHITECROW_DATA to the folder that has them")
    return folder
