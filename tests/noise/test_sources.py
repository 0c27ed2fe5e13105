"""Randomness: fresh in every fork and thread, uniform, and repeatable only on purpose."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from noise_tools import FALSE_ALARM, Replay, chi_square

from whitecrow.errors import InvalidInput
from whitecrow.noise import Source, system_source
from whitecrow.noise._source import PooledSource
from whitecrow.noise.seeded import SeededSource, seeded

pytestmark = pytest.mark.fresh_noise

SEEDED_2026 = 14940665122170333304

FORKS = """
import os, sys
from whitecrow.noise import system_source
from whitecrow.noise import discrete_laplace
source = {source}
source.bits(64)                       # the pool now holds words that a fork copies
for child in range(4):
    if os.fork() == 0:
        words = [source.bits(64) for _ in range(3)]
        os.write(1, (" ".join(map(str, words)) + "\\n").encode())
        os._exit(0)
for child in range(4):
    os.wait()
os.write(1, (" ".join(str(source.bits(64)) for _ in range(3)) + "\\n").encode())
"""


def _drawn_by_forks(source):
    script = FORKS.format(source=source)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.split()


def test_forked_children_and_their_parent_draw_different_numbers():
    words = _drawn_by_forks("system_source()")
    assert len(words) == 15
    assert len(set(words)) == 15


def test_a_pool_that_is_not_emptied_at_a_fork_repeats_itself():
    """The mutant of the test above: the same pool without the hook."""
    mutant = "type(system_source())()"
    words = _drawn_by_forks(mutant)
    assert len(set(words)) == 3


def test_forks_of_a_process_pool_draw_different_numbers():
    script = """
import multiprocessing
from whitecrow.noise import system_source
def word(_):
    return system_source().bits(64)
if __name__ == "__main__":
    system_source().bits(64)
    with multiprocessing.get_context("fork").Pool(4) as pool:
        print(*pool.map(word, range(64), chunksize=1))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert len(set(done.stdout.split())) == 64


def test_threads_never_share_a_word():
    source = system_source()
    with ThreadPoolExecutor(8) as threads:
        parts = list(threads.map(lambda _: [source.bits(64) for _ in range(5000)], range(8)))
    words = [word for part in parts for word in part]
    assert len(set(words)) == len(words)  # 40,000 words of 64 bits: a chance repeat has 5e-11


def test_a_copied_or_pickled_system_source_is_the_system_source():
    source = system_source()
    assert pickle.loads(pickle.dumps(source)) is source
    assert copy.deepcopy(source) is source
    assert repr(source) == "system_source()"


def test_the_protocol_is_met_by_both_sources():
    assert isinstance(system_source(), Source)
    assert isinstance(seeded(1), Source)
    assert not isinstance(object(), Source)


@pytest.mark.parametrize("k", [0, 1, 7, 63, 64, 65, 200])
def test_bits_fill_their_range(k):
    for source in (system_source(), seeded(k)):
        words = [source.bits(k) for _ in range(200)]
        assert all(0 <= word < 1 << k for word in words)
        union = 0
        for word in words:
            union |= word
        assert union == (1 << k) - 1  # misses a bit with probability 200 * 2**-200 at most


@pytest.mark.parametrize("n", [1, 2, 3, 10, 97])
def test_uniform_numbers_pass_a_chi_square_test(n):
    source = seeded(f"uniform {n}")
    counts = Counter(source.below(n) for _ in range(20_000))
    assert chi_square(counts, dict.fromkeys(range(n), 20000 / n)) > FALSE_ALARM


def test_uniform_numbers_of_hundreds_of_bits_reach_both_halves():
    source, n = seeded("long"), 3 << 300
    draws = [source.below(n) for _ in range(100)]
    assert all(0 <= draw < n for draw in draws)
    assert min(draws) < n // 2 < max(draws)


def test_a_word_in_the_biased_part_is_drawn_again():
    n = 3 << 62  # 2**64 mod n is 2**62: a quarter of the words must be refused
    refused = Replay([0], then=seeded(5)).below(n)
    assert refused == seeded(5).below(n)


def test_the_same_seed_gives_the_same_draws_and_another_seed_others():
    first, second, third = SeededSource("a"), SeededSource("a"), SeededSource("b")
    words = [first.bits(64) for _ in range(2000)]
    assert words == [second.bits(64) for _ in range(2000)]
    assert set(words).isdisjoint(third.bits(64) for _ in range(2000))
    assert seeded(1).bits(64) != seeded("1").bits(64)


def test_a_seeded_stream_is_the_same_on_every_machine():
    assert seeded(2026).bits(64) == SEEDED_2026


def test_impossible_requests_are_refused():
    for source in (system_source(), seeded(1)):
        with pytest.raises(InvalidInput, match="'n' parameter of below"):
            source.below(0)
        with pytest.raises(InvalidInput, match="'k' parameter of bits"):
            source.bits(-1)
    with pytest.raises(NotImplementedError):
        PooledSource().bits(64)
