"""What the whole suite shares."""

from __future__ import annotations

import ast
import hashlib
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from whitecrow.noise._source import _SYSTEM
from whitecrow.noise.seeded import SeededSource

ROOT = Path(__file__).resolve().parent

# It takes parts of the system away from whichever process imports it.
collect_ignore = ["tests/other_systems/sitecustomize.py"]


def kernel_cache() -> Path:
    """Return a folder for machine code that belongs to the text of all that is compiled.

    numba takes code for current while the one file of a kernel is the same, whatever the others
    are that were compiled into it.
    """
    core, digest = ROOT / "packages/whitecrow/src/whitecrow", hashlib.sha256()
    more = (core / "neighbours/relation.py", core / "neighbours/sphere.py", core / "_compiled.py")
    for file in sorted([*core.rglob("*kernels.py"), *core.rglob("_kernels/*.py"), *more]):
        digest.update(file.read_bytes())
    return ROOT / ".pytest_cache" / "kernels" / digest.hexdigest()[:16]


os.environ.setdefault("NUMBA_CACHE_DIR", str(kernel_cache()))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--study", action="store_true", help="run the long studies too")
    parser.addoption("--stream", default="", help="other noise and other cases, for every test")


def pytest_configure(config: pytest.Config) -> None:
    """Properties are tried on the same cases in every run; a busy machine is no fault of theirs."""
    again = not config.getoption("--stream")
    hypothesis.settings.register_profile("repeatable", deadline=None, derandomize=again)
    hypothesis.settings.load_profile("repeatable")


class RepeatableNoise:
    """What the system's source gives in the tests: one stream a test file, begun by each test.

    A test that looks at noise fails in every run or in none. Children of the test's process draw
    from the system, as programs that a test starts do: what is said of their answers must hold for
    every draw, but for a chance below one in a million.
    """

    def __init__(self) -> None:
        self._stream: SeededSource | None = None
        self._process, self._lock = os.getpid(), threading.Lock()

    def begin(self, name: str | None) -> None:
        """Begin the stream of this name; without one, draw from the system."""
        self._stream = None if name is None else SeededSource(name)
        _SYSTEM.forget()

    def octets(self, count: int) -> bytes:
        if self._stream is None or os.getpid() != self._process:
            return os.urandom(count)
        with self._lock:
            return self._stream.octets(count)


NOISE = RepeatableNoise()
type(_SYSTEM).octets = lambda self, count: NOISE.octets(count)  # type: ignore[method-assign]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    fresh = item.get_closest_marker("fresh_noise")
    stream = f"{item.config.getoption('--stream')}{item.path.relative_to(ROOT).as_posix()}"
    NOISE.begin(None if fresh else stream)


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


@pytest.fixture(autouse=True)
def _forget_models() -> Iterator[None]:
    """What a test or a page registers is gone after it: a later service would look for it."""
    before = set(_models())
    yield
    for kind in set(_models()) - before:
        del _models()[kind]


def _models() -> dict[str, object]:
    module = sys.modules.get("whitecrow.anomaly.model")
    return {} if module is None else module._registered  # type: ignore[no-any-return]


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
