"""What is locked has allowed licences and no known flaw, and no file holds a secret."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "supply_chain", ROOT / "scripts" / "supply_chain.py"
    )
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_nothing_locked_is_known_to_be_vulnerable(script: ModuleType) -> None:
    versions = script.locked()
    assert len(versions) > 100
    assert script.flaws(versions) == []


def test_an_old_version_is_found(script: ModuleType) -> None:
    versions = {**script.locked(), "jinja2": Version("3.1.2")}
    assert [line.split()[0] for line in script.flaws(versions)] == ["jinja2"]


def test_every_licence_is_one_that_was_allowed(script: ModuleType) -> None:
    assert script.licences(script.locked()) == []


def test_a_licence_that_nobody_allowed_is_found(script: ModuleType) -> None:
    assert not script.PERMISSIVE.search("GNU General Public License v3 (GPLv3)")
    assert not script.PERMISSIVE.search("Proprietary")
    assert script.PERMISSIVE.search("BSD-3-Clause AND Apache-2.0")


def test_no_tracked_file_holds_a_secret(script: ModuleType) -> None:
    assert script.exposed() == []


@pytest.mark.parametrize(
    "line",
    [
        "-----BEGIN " + "RSA PRIVATE KEY-----",
        "key = AKIA" + "IOSFODNN7EXAMPLE",
        "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
        'api_key = "' + "Zk3v9QpL7xW2tB8nM4cR6yD1" + '"',
        "ey" + "JhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0In0" + ".c2lnbmF0dXJlLWhlcmU",
    ],
)
def test_a_planted_secret_is_found(line: str, script: ModuleType) -> None:
    assert next(script.secrets(f"harmless\n{line}\n"))[0] == 2


def test_words_are_no_secrets(script: ModuleType) -> None:
    assert (
        list(script.secrets('password = "your password goes here please"\ntoken = new_token()'))
        == []
    )
