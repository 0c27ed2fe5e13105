"""What the whole suite shares."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import hypothesis
import pytest

ROOT = Path(__file__).resolve().parent

# A busy machine is no fault of a property.
hypothesis.settings.register_profile("without a clock", deadline=None)
hypothesis.settings.load_profile("without a clock")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--study", action="store_true", help="run the long studies too")
    parser.addoption("--failed-to", type=Path, help="write the failed tests' names to this file")


def pytest_configure(config: pytest.Config) -> None:
    wanted = config.getoption("--failed-to")
    if wanted and not hasattr(config, "workerinput"):  # once, not in every worker
        config.pluginmanager.register(Failed(wanted))


class Failed:
    """Writes down which tests failed, one a line, as pytest reads them again from ``@FILE``."""

    def __init__(self, path: Path) -> None:
        self.path, self.names = path, dict[str, None]()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.names[report.nodeid] = None

    def pytest_sessionfinish(self) -> None:
        self.path.write_text("".join(f"{name}\n" for name in self.names), encoding="utf-8")


FIRST = ("engines", "docs", "proofs", "console", "joint", "curator", "server")
"""What waits, or starts something that takes long to start, begins first and stays with one worker:
what is left for the end, to be shared, is short."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    order = {ROOT / "tests" / name: place for place, name in enumerate(FIRST)}
    items.sort(key=lambda item: order.get(item.path.parent, len(FIRST)))
    if config.getoption("--study"):
        return
    skip = pytest.mark.skip(reason="a long study; run it with --study")
    for item in items:
        if "study" in item.keywords:
            item.add_marker(skip)


@pytest.fixture(scope="session")
def trees() -> dict[str, ast.Module]:
    """Every file of the product by its path, read as code: tests look through all of it."""
    return {
        path.relative_to(source).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for source in sorted(ROOT.glob("packages/*/src"))
        if source.parent.name != "whitecrow-research"
        for path in sorted(source.rglob("*.py"))
    }


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data sets, or a skip that says how to provide it."""
    given = os.environ.get("WHITECROW_DATA")
    folder = Path(given) if given else ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("no real data here; set WHITECROW_DATA to the folder that has them")
    return folder
