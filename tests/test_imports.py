"""Imports stand at the head of a file, except where they would cost everybody time or a package."""

from __future__ import annotations

import ast
from collections.abc import Iterator

HEAVY = {
    *("numba", "numpy", "pyarrow", "scipy", "sqlalchemy", "rich"),  # take long to load
    *("sqlglot", "narwhals", "duckdb", "psycopg", "pyspark", "uvicorn"),  # only for some sources
    *("matplotlib", "sklearn", "pyod", "deltalake", "pyiceberg", "cryptography"),  # extras
    "opentelemetry",
    "opendp",
}
"""Packages that may be imported inside functions, by those who need them."""

_CYCLE = "a cycle: each of the two makes the other"
_RARELY = "scoring, which others start often, needs none of these"

LISTED = {
    ("whitecrow_audit/audit/service.py", "whitecrow_server.loopback"): "the service is an extra",
    ("whitecrow/client.py", "whitecrow.curator.advice"): "advice is loaded when asked for",
    ("whitecrow/demo/__init__.py", "whitecrow.demo"): "its data are wanted without the story",
    (
        "whitecrow/curator/advice.py",
        "whitecrow.tune",
    ): "the code of a question is loaded when asked",
    (
        "whitecrow/curator/curator.py",
        "whitecrow.publish",
    ): "the code of a question is loaded when asked",
    (
        "whitecrow/asks.py",
        "whitecrow.screening.opened",
    ): "the code of a question is loaded when asked",
    (
        "whitecrow/curator/series.py",
        "whitecrow.curator.transcripts",
    ): "the code of a question is loaded when asked",
    ("whitecrow/curator/curator.py", "whitecrow.curator.advice"): "advice is loaded when asked for",
    ("whitecrow/curator/curator.py", "whitecrow.curator.dummy"): "made-up records, when asked for",
    ("whitecrow/detector/detector.py", "whitecrow.detector"): _RARELY,
    ("whitecrow/detector/detector.py", "whitecrow.detector.picture"): _RARELY,
    ("whitecrow/detector/detector.py", "whitecrow.neighbours"): _RARELY,
    ("whitecrow/detector/detector.py", "whitecrow.detector.remote"): _RARELY,
    ("whitecrow/detector/remote.py", "whitecrow.detector.detector"): _CYCLE,
    ("whitecrow/histogram/table.py", "whitecrow.histogram.picture"): _CYCLE,
    ("whitecrow/place/balls.py", "whitecrow.place.recount"): _CYCLE,
    (
        "whitecrow/questions.py",
        "whitecrow.question",
    ): "the names of questions are wanted without their code",
}
"""Other imports inside functions, each with its reason."""

LOADS_THE_COMPILER = ("._kernels", ".kernels")
"""Modules of compiled code: importing one loads the compiler."""


def _inside_functions(trees: dict[str, ast.Module]) -> Iterator[tuple[str, str]]:
    """Every import in a function: its file and the module."""
    for where, tree in trees.items():
        for function in ast.walk(tree):
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            for node in ast.walk(function):
                if isinstance(node, ast.Import):
                    yield from ((where, one.name) for one in node.names)
                elif isinstance(node, ast.ImportFrom):
                    modules = [f"{node.module}.{one.name}" for one in node.names]
                    compiled = all(one.endswith(LOADS_THE_COMPILER) for one in modules)
                    yield where, modules[0] if compiled else str(node.module)


def _allowed(where: str, module: str) -> bool:
    if module.split(".")[0] in HEAVY or (where, module) in LISTED:
        return True
    if any(f"{part}." in f"{module}." for part in LOADS_THE_COMPILER):
        return True
    # A command loads what it needs when it runs, so that help is instant.
    return where.split("/")[1] in ("cli", "commands") and module.startswith("whitecrow")


def test_only_what_is_heavy_is_imported_inside_functions(trees):
    found = set(_inside_functions(trees))
    assert {one for one in found if not _allowed(*one)} == set()
    assert set(LISTED) <= found, "the list names imports that are gone"
