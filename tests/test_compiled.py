"""Machine code of kernels: where it is kept, and who is told that it is compiled."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import json, sys
import numpy as np
from numba.core import event

class Listener(event.Listener):
    def on_start(self, what): pass
    def on_end(self, what): compiled.append(what.data["dispatcher"].py_func.__name__)

class Terminal:
    said = ""
    def isatty(self): return True
    def write(self, text): self.said += text
    def flush(self): pass

compiled = []
sys.stderr = terminal = Terminal()
from whitecrow.neighbours._kernels.cells import around, find
with event.install_listener("numba:compile", Listener()):
    found = np.zeros(3, np.int64)
    around(np.arange(3), np.arange(4), np.zeros(1, np.int64), np.ones(1, np.int64), found)
    line = np.zeros(1, np.int64)
    find(line, np.zeros(2, np.int32), 1, line, line)
print(json.dumps([compiled, found.tolist(), terminal.said.count("compiling")]))
"""

ANSWER = [2, 3, 2]
BOTH = ["around", "_slot", "find"]


def count(folder: Path) -> tuple[list[str], list[int], int]:
    """Count in a process of its own; return what it compiled, its counts, and lines it said."""
    given = {"NUMBA_CACHE_DIR": str(folder), "HOME": str(folder)}
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, **given},
        check=True,
        capture_output=True,
        text=True,
    )
    compiled, found, said = json.loads(ran.stdout)
    return compiled, found, said


def test_code_is_compiled_once_said_so_once_and_found_by_the_next_process(tmp_path: Path) -> None:
    assert count(tmp_path) == (BOTH, ANSWER, 1)
    assert list(tmp_path.rglob("*.nbi"))
    assert count(tmp_path) == ([], ANSWER, 0)


def test_where_nothing_can_be_written_it_still_counts() -> None:
    program = """
import numba
plain = numba.njit
def refuse(**flags):
    def wrap(function):
        if flags.pop("cache", False):
            raise RuntimeError("cannot cache function: no locator available")
        return plain(**flags)(function)
    return wrap
numba.njit = refuse
from whitecrow._compiled import cache_folder
assert cache_folder() is None
"""
    done = subprocess.run([sys.executable, "-c", program], check=False)
    assert done.returncode == 0
