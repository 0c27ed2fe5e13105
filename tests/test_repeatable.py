"""Noise that is drawn in a test's own process is the same in every run."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from whitecrow.noise import system_source
from whitecrow.noise.seeded import SeededSource

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = "from whitecrow.noise import system_source; print(system_source().bits(64))"


@pytest.mark.parametrize("time", [1, 2])
def test_each_test_begins_the_stream_of_its_file(time: int, request: pytest.FixtureRequest) -> None:
    chosen = request.config.getoption("--stream")
    stream = SeededSource(f"{chosen}{Path(__file__).relative_to(ROOT).as_posix()}")
    assert [system_source().bits(64) for _ in range(1000)] == [
        stream.bits(64) for _ in range(1000)
    ], time


@pytest.mark.fresh_noise
def test_unless_it_draws_from_the_system() -> None:
    stream = SeededSource(Path(__file__).relative_to(ROOT).as_posix())
    assert system_source().bits(64) != stream.bits(64)  # but for a chance of 2**-64


def test_programs_that_a_test_starts_draw_from_the_system() -> None:
    command = [sys.executable, "-c", SCRIPT]
    done = [subprocess.run(command, capture_output=True, check=True).stdout for _ in range(2)]
    assert done[0] != done[1]


def test_threads_of_a_test_never_share_a_word() -> None:
    source = system_source()
    with ThreadPoolExecutor(8) as threads:
        parts = list(threads.map(lambda _: [source.bits(64) for _ in range(5000)], range(8)))
    assert len({word for part in parts for word in part}) == 40_000
