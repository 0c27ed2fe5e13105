"""Machine code of kernels: who compiles it, who finds it, and who must not use it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from whitecrow import _compiled

PROGRAM = """
import json, sys
from pathlib import Path
import numpy as np
from numba.core import event
from whitecrow import _compiled

class Listener(event.Listener):
    def on_start(self, what): pass
    def on_end(self, what): compiled.append(what.data["dispatcher"].py_func.__name__)

compiled = []
_compiled._INSTALLED = Path(sys.argv[1])
if sys.argv[2] == "read-only":  # where root runs this, to whom no folder is
    writable = _compiled._can_be_filled
    _compiled._can_be_filled = lambda place: place != _compiled._INSTALLED and writable(place)
from whitecrow.neighbours._kernels.cells import around
with event.install_listener("numba:compile", Listener()):
    found = np.zeros(3, np.int64)
    around(np.arange(3), np.arange(4), np.zeros(1, np.int64), np.ones(1, np.int64), found)
print(json.dumps([compiled, found.tolist()]))
"""

ANSWER = [2, 3, 2]


def count(
    installed: Path, home: Path, kind: str = "writable", **given: str
) -> tuple[list[str], list[int]]:
    """Count in a process of its own; return what it compiled, and its counts."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")}
    env.pop("XDG_CACHE_HOME", None)
    env |= {"HOME": str(home), "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **given}
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(installed), kind],
        env=env,
        check=True,
        capture_output=True,
        text=True,
    )
    compiled, found = json.loads(ran.stdout)
    return compiled, found


def test_code_compiled_once_is_found_by_whoever_may_only_read_it(
    tmp_path: Path,
) -> None:
    installed, home = tmp_path / "installed", tmp_path / "home"
    home.mkdir()
    assert count(installed, home) == (["around"], ANSWER)
    assert not list(home.rglob("*.nb?"))
    for file in [*installed.iterdir(), installed]:
        assert file.stat().st_mode & 0o044 == 0o044, "others could not read it"
        file.chmod(file.stat().st_mode & 0o555)
    other = tmp_path / "other"
    other.mkdir()
    assert count(installed, other, "read-only") == ([], ANSWER)


def test_where_the_installation_is_read_only_each_user_compiles_once(tmp_path: Path) -> None:
    installed, home = tmp_path / "a file", tmp_path / "home"
    installed.touch()
    home.mkdir()
    assert count(installed / "kernels", home) == (["around"], ANSWER)
    assert list((home / ".cache" / "whitecrow" / "kernels").glob("*.nbi"))
    assert count(installed / "kernels", home) == ([], ANSWER)


def test_a_given_folder_is_filled_and_no_other(tmp_path: Path) -> None:
    installed, home, given = tmp_path / "installed", tmp_path / "home", tmp_path / "given"
    home.mkdir()
    assert count(installed, home, NUMBA_CACHE_DIR=str(given)) == (["around"], ANSWER)
    assert list(given.glob("*.nbi"))
    assert not installed.exists()
    assert not list(home.iterdir())
    assert count(installed, home, NUMBA_CACHE_DIR=str(given)) == ([], ANSWER)


def test_with_a_given_folder_that_is_empty_the_installation_is_still_read(tmp_path: Path) -> None:
    installed, home = tmp_path / "installed", tmp_path / "home"
    home.mkdir()
    count(installed, home)
    assert count(installed, home, NUMBA_CACHE_DIR=str(tmp_path / "given")) == ([], ANSWER)


def test_where_nothing_can_be_written_it_still_counts(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    no = tmp_path / "file" / "folder"
    assert count(no, no) == (["around"], ANSWER)


def test_code_of_another_processor_is_left_alone_and_compiled_anew(tmp_path: Path) -> None:
    installed, home = tmp_path / "installed", tmp_path / "home"
    home.mkdir()
    count(installed, home)
    elsewhere = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    assert count(installed, home, **elsewhere) == (["around"], ANSWER)
    assert count(installed, home, **elsewhere) == ([], ANSWER)
    assert count(installed, home) == ([], ANSWER)


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_damaged_code_is_compiled_anew(tmp_path: Path, ending: str) -> None:
    installed, home = tmp_path / "installed", tmp_path / "home"
    home.mkdir()
    count(installed, home)
    (file,) = installed.glob(f"*.{ending}")
    file.write_bytes(file.read_bytes()[:40])
    assert count(installed, home) == (["around"], ANSWER)
    assert count(installed, home) == ([], ANSWER)


def test_code_belongs_to_every_function_and_constant_that_is_compiled_into_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from whitecrow.neighbours import _sphere, relation
    from whitecrow.neighbours._kernels import (
        alone,
        count,
        filter,
        lanes,
        metric,
        pivots,
        search,
        tables,
        wide,
    )

    def stamp() -> str:
        return str(_compiled._Kept(count._count)._stamp)

    before = stamp()
    assert stamp() == before
    parts = set(_compiled._parts(count._count, set()))
    for module in (count, filter, lanes, metric, pivots, search, tables, relation):
        assert Path(module.__file__).read_text(encoding="utf-8") in parts, module.__name__
    assert Path(_sphere.__file__).read_text(encoding="utf-8") not in parts
    parts = set(_compiled._parts(alone.count_alone, set()))
    for module in (alone, filter, lanes, metric, tables, wide, relation):
        assert Path(module.__file__).read_text(encoding="utf-8") in parts, module.__name__
    monkeypatch.setattr(pivots, "PIVOTS", 1)
    assert stamp() != before


def test_asking_where_code_would_be_kept_makes_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "one" / "two"))
    assert _compiled.folder_to_fill() == tmp_path / "one" / "two"
    assert not list(tmp_path.iterdir())
