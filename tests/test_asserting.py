"""Every test asserts something: what asserts nothing passes whatever happens."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("tests", "packages/*/tests", "examples", "benchmarks")

ASSERTING = {
    "raises": "of pytest",
    "warns": "of pytest",
    "assert_equal": "of numpy",
    "assert_array_equal": "of numpy",
    "assert_allclose": "of numpy",
    "run_state_machine_as_test": "of Hypothesis: the machine's rules and invariants assert",
}
"""Functions of others that assert, with the reason why they are taken to."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(tree: ast.Module) -> dict[str, Function]:
    return {node.name: node for node in ast.walk(tree) if isinstance(node, Function)}


def called(function: Function) -> set[str]:
    """The names of what a function calls, without the objects they belong to."""
    names = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            # A method of an object could be anybody's; only those of pytest and numpy are taken.
            names.add(node.func.attr if node.func.attr in ASSERTING else "")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            names.add(node.func.id)
    return names


def asserting(trees: dict[str, ast.Module]) -> dict[str, set[str]]:
    """For every module by its path, the functions that assert, themselves or through others."""
    proved = {
        module: {
            name
            for name, function in functions(tree).items()
            if called(function) & set(ASSERTING)
            or any(isinstance(node, ast.Assert) for node in ast.walk(function))
        }
        for module, tree in trees.items()
    }
    calls = {
        module: {name: called(function) for name, function in functions(tree).items()}
        for module, tree in trees.items()
    }
    imports = {
        module: [
            (alias.asname or alias.name, alias.name, (node.module or "").split(".")[-1])
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        ]
        for module, tree in trees.items()
    }
    while True:
        more = 0
        by_file: dict[str, set[str]] = {}
        for module, names in proved.items():
            by_file.setdefault(module.rpartition("/")[2], set()).update(names)
        for module in trees:
            imported = {own for own, name, file in imports[module] if name in by_file.get(file, ())}
            for name, names in calls[module].items():
                if name not in proved[module] and names & (proved[module] | imported):
                    proved[module].add(name)
                    more += 1
        if not more:
            return proved


def silent(trees: dict[str, ast.Module]) -> list[str]:
    """The tests that assert nothing."""
    proved = asserting(trees)
    return [
        f"{module}.py::{name}"
        for module, tree in trees.items()
        for name in functions(tree)
        if name.startswith("test_") and name not in proved[module]
    ]


def test_every_test_asserts_something() -> None:
    trees = {
        path.relative_to(ROOT).with_suffix("").as_posix(): ast.parse(path.read_text("utf-8"))
        for folder in FOLDERS
        for path in ROOT.glob(f"{folder}/**/*.py")
    }
    assert len(trees) > 200
    assert silent(trees) == []


@pytest.mark.parametrize(
    ("text", "tests"),
    [
        ("def test_a(): print(1)", ["here.py::test_a"]),
        ("def test_a(): x = 1; assert x", []),
        ("def test_a():\n with pytest.raises(E): f()", []),
        ("def test_a(): check(1)\ndef check(x): assert x", []),
        ("from there import same\ndef test_a(): same(1)", []),
        ("from there import other\ndef test_a(): other(1)", ["here.py::test_a"]),
        ("def test_a(): thing.check(1)\ndef check(x): assert x", ["here.py::test_a"]),
    ],
)
def test_a_silent_test_is_found(text: str, tests: list[str]) -> None:
    there = "def same(x): assert x\ndef other(x): return x"
    assert silent({"here": ast.parse(text), "there": ast.parse(there)}) == tests
