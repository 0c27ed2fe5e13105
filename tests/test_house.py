"""The shape of the house: short files, and internal modules that say so."""

from __future__ import annotations

from pathlib import Path

import whitecrow

ROOT = Path(whitecrow.__file__).parent
LONGEST = 450

OPEN = {
    "console": set(),
    "data": set(),
    "data/warehouse": set(),
    "explain": {"question", "facts", "mechanism", "cost", "text", "unaccounted"},
    "neighbours": {"relation"},
    "publish": {"question", "facts", "mechanism", "cost", "text"},
    "server": set(),
}
"""Rooms whose modules are internal, but for these: a question's own files, and what proofs name."""


def test_no_file_has_more_than_450_lines():
    lengths = {
        path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in ROOT.rglob("*.py")
    }
    assert {name: length for name, length in lengths.items() if length > LONGEST} == {}


def test_internal_modules_begin_with_an_underscore():
    for room, known in OPEN.items():
        found = {path.stem for path in (ROOT / room).glob("*.py") if path.stem[0] != "_"}
        assert found == known, f"{room}: an internal module is called _name.py"
