"""Machine code of kernels: who compiles it, who finds it, and who must not use it."""

from __future__ import annotations

import io
import json
import os
import platform
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from whitecrow import _code_store, _compiled

PROGRAM = """
import json, os, sys
from pathlib import Path
import numpy as np
from numba.core import event
from whitecrow import _code_store, _compiled

class Listener(event.Listener):
    def on_start(self, what): pass
    def on_end(self, what): compiled.append(what.data["dispatcher"].py_func.__name__)

compiled = []
_code_store.INSTALLED = Path(sys.argv[1])
_code_store.CARRIED = Path(sys.argv[1]).parent / "carried"
_compiled.PATIENCE = float(os.environ.get("PATIENCE", "60"))
if sys.argv[2] == "read-only":  # where root runs this, to whom no folder is
    writable = _code_store._can_be_filled
    _code_store._can_be_filled = lambda place: place != _code_store.INSTALLED and writable(place)
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
    assert not list(installed.glob("*.lock"))
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


KIND = {"NUMBA_CPU_NAME": "x86-64-v3", "NUMBA_CPU_FEATURES": ""}
"""How code is compiled for a kind of processor."""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="a kind of x86-64")
def test_code_for_the_kind_of_processor_is_used_until_there_is_its_own(tmp_path: Path) -> None:
    home, carried = tmp_path / "home", tmp_path / "carried"
    home.mkdir()
    assert count(carried, home, **KIND) == (["around"], ANSWER)
    files = {file.name: file.read_bytes() for file in carried.iterdir()}
    assert count(tmp_path / "installed", home) == ([], ANSWER)
    assert not (tmp_path / "installed").exists()
    assert {file.name: file.read_bytes() for file in carried.iterdir()} == files


def test_a_processor_uses_no_code_that_needs_what_it_lacks() -> None:
    v3 = "+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe"
    more = ",".join(f"+avx512{part}" for part in ("f", "bw", "cd", "dq", "vl"))
    assert list(_compiled.kinds(f"{v3},{more}")) == ["x86-64-v4", "x86-64-v3"]
    assert list(_compiled.kinds(f"{v3},-avx512f")) == ["x86-64-v3"]
    assert list(_compiled.kinds(v3.replace("+movbe", "-movbe"))) == []
    assert list(_compiled.kinds("")) == []


def test_processes_that_need_the_same_code_compile_it_once(tmp_path: Path) -> None:
    installed, home = tmp_path / "installed", tmp_path / "home"
    home.mkdir()
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda _: count(installed, home), range(3)))
    assert [counts for _, counts in found] == [ANSWER] * 3
    assert [name for compiled, _ in found for name in compiled] == ["around"]
    assert not list(installed.glob("*.lock"))


@pytest.mark.skipif(os.name == "nt", reason="there are no such locks")
def test_a_lock_that_is_never_released_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    import fcntl

    installed, home = tmp_path / "installed", tmp_path / "home"
    home.mkdir()
    count(installed, home)
    (index,) = installed.glob("*.nbi")
    for file in installed.iterdir():
        file.unlink()
    with (installed / f"{index.stem}.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        start = time.monotonic()
        assert count(installed, home, PATIENCE="1") == (["around"], ANSWER)
        assert time.monotonic() - start > 1
    assert count(installed, home) == ([], ANSWER)


@pytest.mark.skipif(os.name == "nt", reason="there are no such locks")
@pytest.mark.parametrize("kind", ["a link", "a folder"])
def test_what_lies_where_a_lock_would_be_is_left_alone(tmp_path: Path, kind: str) -> None:
    lock, other = tmp_path / "lock", tmp_path / "other"
    other.write_text("kept")
    if kind == "a link":
        lock.symlink_to(other)
    else:
        lock.mkdir()
    turn = _code_store.Turn(lock)
    assert turn.taken()
    turn.over()
    assert other.read_text() == "kept"
    assert lock.is_symlink() or lock.is_dir()


@pytest.mark.skipif(os.name == "nt", reason="permissions are not in the mode")
@pytest.mark.parametrize("mode", [0o777, 0o1777])
def test_a_folder_that_others_can_write_to_is_neither_read_nor_filled(
    tmp_path: Path, mode: int
) -> None:
    installed, home, given = tmp_path / "installed", tmp_path / "home", tmp_path / "given"
    home.mkdir()
    count(installed, home, NUMBA_CACHE_DIR=str(given))
    given.chmod(mode)
    for file in given.glob("*.nbc"):
        file.write_bytes(b"somebody else's")
    before = {file.name: file.read_bytes() for file in given.iterdir()}
    assert count(installed, home, NUMBA_CACHE_DIR=str(given)) == (["around"], ANSWER)
    assert {file.name: file.read_bytes() for file in given.iterdir()} == before


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root gives files away")
def test_a_folder_of_somebody_else_is_not_trusted(tmp_path: Path) -> None:
    place = tmp_path / "theirs"
    place.mkdir()
    assert _code_store.trusted(place)
    os.chown(place, 54321, 54321)
    assert not _code_store.trusted(place)


def test_a_group_of_several_is_not_oneself(tmp_path: Path) -> None:
    place = tmp_path / "shared"
    place.mkdir()
    place.chmod(0o775)
    about = place.stat()
    assert _code_store.trusted(place) == (about.st_uid == about.st_gid)
    if os.geteuid() == 0:
        os.chown(place, 0, 50)
        assert not _code_store.trusted(place)


class Terminal(io.StringIO):
    """Somebody looks."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("looked_at", [True, False])
def test_who_waits_at_a_terminal_is_told_why_once(
    monkeypatch: pytest.MonkeyPatch, looked_at: bool
) -> None:
    shown = Terminal() if looked_at else io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    notice = _compiled.Notice(after=0.01)
    for _ in range(2):
        end = notice.begin()
        time.sleep(0.2)
        end()
    assert shown.getvalue().count("whitecrow warm") == int(looked_at)


def test_who_hardly_waits_is_told_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    _compiled.Notice(after=0.05).begin()()
    time.sleep(0.1)
    assert not shown.getvalue()


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
    from whitecrow.neighbours import relation
    from whitecrow.neighbours import sphere as _sphere
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
    assert _code_store.folder_to_fill() == tmp_path / "one" / "two"
    assert not list(tmp_path.iterdir())
