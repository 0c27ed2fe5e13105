"""Text is never code: every place that imports or looks up by a computed name is listed here.

A request, a card, a policy and a ledger are data. These tests read the whole tree; whoever needs
one more dynamic import adds it below with the reason why no stranger chooses the name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

IMPORTS = {
    ("whitecrow/__init__.py", "__getattr__"): "names of _WHERE, _MODULES and _MOVED",
    ("whitecrow_server/__init__.py", "__getattr__"): "names of _WHERE",
    ("whitecrow_audit/audit/__init__.py", "cases"): "names of MECHANISMS",
    (
        "whitecrow_audit/audit/run.py",
        "_cases",
    ): "names of MECHANISMS, checked where the work is shared out",
    ("whitecrow_audit/verify/__init__.py", "checks"): "names of MECHANISMS",
    ("whitecrow/cli/__init__.py", "get_command"): "names of COMMANDS",
    ("whitecrow/questions.py", "_built_in"): "modules that BUILT_IN lists",
    (
        "whitecrow_server/_messages.py",
        "register_added",
    ): "modules whose questions and models the parent process registered",
    ("whitecrow/neighbours/devices.py", "_imported"): "called with cupy and torch",
    ("whitecrow/anomaly/detectors/libraries.py", "_made"): "names of SHIPPED",
}
"""Functions that import a module whose name is computed."""

LOOKUPS = {
    (
        "whitecrow_server/_messages.py",
        "register_added",
    ): "models that the parent process registered",
    ("whitecrow/__init__.py", "__getattr__"): "a key of _WHERE",
    ("whitecrow/demo/__init__.py", "run"): "names of CHAPTERS",
    ("whitecrow/cli/__init__.py", "get_command"): "names of COMMANDS",
    (
        "whitecrow/question.py",
        "__getattr__",
    ): "what the caller types: a method of the detector it holds",
    ("whitecrow_server/__init__.py", "__getattr__"): "a key of _WHERE",
    ("whitecrow/anomaly/detectors/libraries.py", "_made"): "names of SHIPPED",
    ("whitecrow/declaration.py", "__getattr__"): "what our own surfaces ask of a parameter",
    ("whitecrow_audit/audit/shipped.py", "same_facts"): "fields of a dataclass",
    ("whitecrow/detector/file.py", "_sound"): "names of _NUMBERS",
    ("whitecrow/detector/file.py", "_part"): "names of _NUMBERS",
    ("whitecrow_audit/verify/tape.py", "__getattr__"): "what our own mechanisms ask of a price",
    ("whitecrow_audit/verify/monitor.py", "__getattr__"): "what our own steps ask of a question",
    ("whitecrow_audit/audit/learn.py", "__getattr__"): "what our own training asks of a price",
    ("whitecrow/report.py", "registry_entry"): "epsilon, delta or rho of a total",
    ("whitecrow/ledger/account.py", "admissible"): "rho or epsilon, by the class of the price",
    ("whitecrow/ledger/account.py", "too_many"): "names of _AMOUNTS that the price has",
    ("whitecrow/ledger/spatial.py", "sheet"): "lines of LINES",
    ("whitecrow/detector/contributions.py", "top_outliers"): "names of _TABLE",
    ("whitecrow_server/_handler.py", "share"): "values of _LANE_OF",
    ("whitecrow_server/_metrics.py", "_message"): "a level of our own events",
    ("whitecrow_server/_untrusted_input.py", "question_from"): "names that a question declares",
    ("whitecrow/testing.py", "_declared"): "parameters of a question's own declaration",
}
"""Functions that get or set an attribute, not of themselves, whose name is computed."""

ENTRY_POINTS = {
    "whitecrow/plugins.py": "what packages offer that the owner of the process installed"
}
"""Files that load entry points."""

FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__", "attrgetter", "methodcaller",
                   "run_module", "run_path", "memmap", "fromfile"}  # fmt: skip
FORBIDDEN_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve",
                     "yaml", "runpy", "code"}  # fmt: skip


@pytest.fixture(scope="module")
def calls(trees) -> list[tuple[str, str, ast.Call, str]]:
    """Every call of the tree: its file, the function it stands in, itself, what it calls."""
    found = []
    for where, tree in trees.items():
        for function, call in _inside(tree, "<module>"):
            called = call.func
            if isinstance(called, ast.Attribute):
                found.append((where, function, call, called.attr))
            elif isinstance(called, ast.Name):
                found.append((where, function, call, called.id))
    return found


def _inside(node: ast.AST, function: str) -> Iterator[tuple[str, ast.Call]]:
    for child in ast.iter_child_nodes(node):
        named = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
        if isinstance(child, ast.Call):
            yield function, child
        yield from _inside(child, child.name if named else function)  # type: ignore[attr-defined]


def _constant(call: ast.Call, place: int) -> bool:
    return len(call.args) > place and isinstance(call.args[place], ast.Constant)


def test_only_the_listed_places_import_by_a_computed_name(calls):
    found = {
        (where, function)
        for where, function, call, name in calls
        if name in ("import_module", "find_spec") and not _constant(call, 0)
    }
    assert found == set(IMPORTS)


def test_only_the_listed_places_look_up_an_attribute_by_a_computed_name(calls):
    found = {
        (where, function)
        for where, function, call, name in calls
        if isinstance(call.func, ast.Name)
        and name in ("getattr", "setattr", "hasattr", "delattr")
        and not _constant(call, 1)
        and not (isinstance(call.args[0], ast.Name) and call.args[0].id == "self")
    }
    assert found == set(LOOKUPS)


def test_entry_points_are_loaded_in_the_listed_files_only(calls):
    assert {where for where, _, _, name in calls if name == "entry_points"} == set(ENTRY_POINTS)


def test_nothing_runs_text_or_reads_objects_from_files(calls):
    bare = {
        (where, name)
        for where, _, call, name in calls
        if name in FORBIDDEN_CALLS
        and (isinstance(call.func, ast.Name) or name not in ("compile", "eval"))
    }
    assert not bare
    loads = [(where, call) for where, _, call, name in calls if _loads_arrays(call, name)]
    for where, call in loads:
        said = {word.arg: word.value for word in call.keywords}
        assert isinstance(said.get("allow_pickle"), ast.Constant), where
        assert said["allow_pickle"].value is False, where


def _loads_arrays(call: ast.Call, name: str) -> bool:
    of = call.func.value if isinstance(call.func, ast.Attribute) else None
    return name in ("load", "save", "savez") and isinstance(of, ast.Name) and of.id == "np"


def test_no_module_that_makes_objects_from_bytes_is_imported(trees):
    for path, tree in trees.items():
        for node in ast.walk(tree):
            names = [part.name for part in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            assert not {name.partition(".")[0] for name in names} & FORBIDDEN_MODULES, path
