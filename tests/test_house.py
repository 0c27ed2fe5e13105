"""The shape of the house: a module whose name begins with an underscore belongs to its folder."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{name.name}" for name in node.names)


def _foreign(module: str, imported: str) -> bool:
    """Whether a module imports what belongs to a folder in which it does not lie."""
    parts = imported.split(".")
    for depth, part in enumerate(parts):
        if part.startswith("_") and not part.startswith("__"):
            return not f"{module}.".startswith(".".join(parts[:depth]) + ".")
    return False


def _modules() -> Iterator[tuple[str, ast.Module]]:
    for source in ROOT.glob("packages/*/src"):
        for path in source.rglob("*.py"):
            name = ".".join(path.relative_to(source).with_suffix("").parts)
            yield name, ast.parse(path.read_text(encoding="utf-8"))


def test_nobody_imports_what_is_internal_to_another_folder() -> None:
    broken = [
        f"{module}: {imported}"
        for module, tree in _modules()
        for imported in _imported(tree)
        if imported.startswith("whitecrow") and _foreign(module, imported)
    ]
    assert broken == []


@pytest.mark.parametrize(
    ("module", "imported", "foreign"),
    [
        ("whitecrow.cli.card", "whitecrow.data._template.written", True),
        ("whitecrow_server._app", "whitecrow.data._values", True),
        ("whitecrow.noise.seeded", "whitecrow.noise.bulk._words", True),
        ("whitecrow.data.reading", "whitecrow.data._values.read", False),
        ("whitecrow.data.warehouse.spark", "whitecrow.data._values.read", False),
    ],
)
def test_the_search_tells_a_neighbour_from_a_stranger(
    module: str, imported: str, foreign: bool
) -> None:
    assert _foreign(module, imported) is foreign
