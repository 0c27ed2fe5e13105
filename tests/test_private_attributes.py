"""No private attribute of a dependency is used: what it may change any day, we do not lean on.

An attribute with an underscore belongs to a dependency if its object is rooted at a name that was
imported from one, or if nothing in our packages defines an attribute of that name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OURS = ("whitecrow", "benchmarks", "docs", "scripts", "studies", "tests")
PUBLIC = {
    "_asdict": "named tuples and SQLAlchemy's rows document it",
    "_fields": "the same",
    "_make": "the same",
    "_mapping": "SQLAlchemy's rows document it",
    "_replace": "named tuples document it",
    "_exit": "os documents it",
}
"""Names with an underscore that their owners document for everyone."""


def sources() -> list[Path]:
    folders = [*(ROOT / "packages").glob("*/src"), ROOT / "benchmarks", ROOT / "scripts"]
    return sorted(file for folder in folders for file in folder.rglob("*.py"))


def _private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in PUBLIC and name != "_"


def _foreign(module: str) -> bool:
    return not module.split(".")[0].startswith(OURS)


def defined(tree: ast.AST) -> Iterator[str]:
    """Yield the private names that a file defines: functions, classes, fields, attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Store)
            and _root(node.value) in ("self", "cls")
        ):
            yield node.attr


def _imported(tree: ast.AST) -> Iterator[str]:
    """Yield the names that a file imports from dependencies, and what it makes of them by name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                if _foreign(one.name):
                    yield (one.asname or one.name).split(".")[0]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and _foreign(node.module or ""):
            for one in node.names:
                yield one.asname or one.name


def _root(node: ast.expr) -> str:
    """Return the name at which a chain of attributes, calls and subscripts begins."""
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def foreign_uses(text: str, ours: set[str]) -> Iterator[str]:
    """Yield the uses in a file of what is private to a dependency."""
    tree = ast.parse(text)
    imported = set(_imported(tree))
    for node in ast.walk(tree):
        for owner, name in _used(node):
            if _private(name) and (owner == "" or owner in imported or name not in ours):
                yield f"{getattr(node, 'lineno', 0)}: {ast.unparse(node)}"


def _used(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield the names that a piece of code uses, and whose they are; empty for a dependency's."""
    if isinstance(node, ast.Attribute):
        yield _root(node.value) or "?", node.attr
    elif isinstance(node, ast.Import):
        for one in node.names:
            if _foreign(one.name):
                yield from (("", part) for part in one.name.split("."))
    elif isinstance(node, ast.ImportFrom) and node.level == 0 and _foreign(node.module or ""):
        for part in (*(node.module or "").split("."), *(one.name for one in node.names)):
            yield "", part
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) > 1:
        name = node.args[1]
        if node.func.id in _BY_NAME and isinstance(name, ast.Constant):
            yield _root(node.args[0]) or "?", str(name.value)


_BY_NAME = ("getattr", "hasattr", "setattr", "delattr")


def test_no_private_attribute_of_a_dependency_is_used() -> None:
    texts = {file: file.read_text(encoding="utf-8") for file in sources()}
    ours = {name for text in texts.values() for name in defined(ast.parse(text))}
    found = [
        f"{file.relative_to(ROOT)}:{use}"
        for file, text in texts.items()
        for use in foreign_uses(text, ours)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "mutant",
    [
        "import numba\nnumba.njit(f)._cache",
        "from numpy._core import multiarray",
        "import numpy.linalg._linalg",
        "from numba import _dispatcher",
        "def f(engine):\n    return engine.raw_connection()._dbapi",
        "class Part(Library):\n    def f(self):\n        return self._final_module",
        "def f(x):\n    return getattr(x, '_hidden')",
        "import numpy as np\nnp._mine",
    ],
)
def test_what_is_private_to_a_dependency_is_found(mutant: str) -> None:
    assert list(foreign_uses(mutant, {"_mine"}))


def test_what_is_ours_or_documented_is_not_found() -> None:
    ours = "class A:\n    def f(self, other):\n        return self._mine + other._mine"
    documented = "def g(row):\n    return row._mapping, row._replace(a=1)"
    assert not list(foreign_uses(f"{ours}\n{documented}", {"_mine"}))
