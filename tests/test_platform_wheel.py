"""A wheel with machine code: what is in it, and that it is one."""

from __future__ import annotations

import base64
import csv
import hashlib
import importlib.util
import io
import platform
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

import whitecrow
from whitecrow import _code_store, _compiled

ROOT = Path(__file__).parents[1]
PLAIN = {
    "whitecrow/__init__.py": b"",
    "whitecrow-1.dist-info/WHEEL": b"Root-Is-Purelib: true\nTag: py3-none-any\n",
    "whitecrow-1.dist-info/RECORD": b"",
}
CODE = {"whitecrow/_machine_code/kernel.nbi": b"code"}


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "platform_wheel", ROOT / "scripts" / "platform_wheel.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    wheel = tmp_path / "whitecrow-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, content in PLAIN.items():
            archive.writestr(name, content)
    return wheel


def test_the_code_lies_where_it_is_looked_for(script: ModuleType) -> None:
    installed = Path(whitecrow.__file__).parent
    assert f"whitecrow/{_code_store.CARRIED.relative_to(installed)}" == script.FOLDER
    assert _code_store.CARRIED in _code_store.folders()
    assert tuple(_compiled.KINDS) == script.KINDS


def test_code_is_never_compiled_into_what_a_wheel_brought(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(_code_store, "CARRIED", tmp_path)
    monkeypatch.setattr(_code_store, "_can_be_filled", lambda place: place == tmp_path)
    assert _code_store.folder_to_fill() is None


def test_the_wheel_says_what_it_holds_and_for_whom(script: ModuleType, plain: Path) -> None:
    name, content = script.joined(plain, CODE, "cp311-cp311-linux_x86_64")
    assert name == "whitecrow-1-cp311-cp311-linux_x86_64.whl"
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    assert set(files) == {*PLAIN, *CODE}
    about = files["whitecrow-1.dist-info/WHEEL"].decode()
    assert about == "Root-Is-Purelib: false\nTag: cp311-cp311-linux_x86_64\n"
    rows = list(csv.reader(io.StringIO(files["whitecrow-1.dist-info/RECORD"].decode())))
    assert {row[0] for row in rows} == set(files)
    for path, said, size in rows[:-1]:
        digest = base64.urlsafe_b64encode(hashlib.sha256(files[path]).digest())
        assert said == f"sha256={digest.rstrip(b'=').decode()}"
        assert int(size) == len(files[path])
    assert script.joined(plain, CODE, "cp311-cp311-linux_x86_64") == (name, content)


def test_no_other_platform_gets_such_a_wheel(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    assert script.tag().endswith("-linux_x86_64")
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    with pytest.raises(SystemExit, match="x86-64 only"):
        script.tag()
