"""The lists of names in docs/interface.md are those of the code."""

from __future__ import annotations

import ast
import re
import runpy
from pathlib import Path

import click
import pytest

import whitecrow
from whitecrow.cli import COMMANDS
from whitecrow.cli import whitecrow as terminal
from whitecrow.demo import DATA
from whitecrow.question import Question
from whitecrow.questions import BUILT_IN, kinds, question_type
from whitecrow_research.bench import NAMES

ROOT = Path(__file__).resolve().parents[2]
_FILLED_IN = runpy.run_path(str(ROOT / "docs" / "_extensions" / "declared.py"))["filled_in"]
PAGE = _FILLED_IN((ROOT / "docs" / "interface.md").read_text(encoding="utf-8"))


def rows(section: str) -> list[list[str]]:
    """The rows of the first table of a section, cell by cell, without the two of its head."""
    _, found, rest = PAGE.partition(f"# {section} ")
    assert found, section
    table = re.search(r"(?:^\|.*\n)+", rest, re.MULTILINE)
    assert table is not None
    lines = table.group().splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def names(section: str) -> list[str]:
    """What stands in backquotes in the first column of a section's table."""
    return [name for row in rows(section) for name in re.findall(r"`([^`]+)`", row[0])]


def public(owner: type) -> list[str]:
    """The attributes of a class for users, but for the questions, which are all methods."""
    found = [name for name in dir(owner) if not name.startswith("_")]
    assert set(BUILT_IN) <= set(found)
    return sorted(set(found) - set(BUILT_IN))


def test_every_public_name_of_python_is_listed_and_no_other() -> None:
    assert sorted(names("1.1")) == sorted(whitecrow.__all__)


def test_every_question_is_listed_with_its_class_and_what_it_asks() -> None:
    assert set(BUILT_IN) <= set(kinds())  # a plug-in may have added to them
    listed = [(kind.strip("`"), name.strip("`"), asks) for kind, name, asks in rows("1.2")]
    there = [(kind, _class_of(kind).__name__, asks) for kind, (_, asks) in BUILT_IN.items()]
    assert listed == there


def _class_of(kind: str) -> type[Question]:
    found: type[Question] = question_type(kind).question
    return found


def test_every_method_of_the_curator_and_of_the_client_is_listed_and_no_other() -> None:
    assert sorted(names("1.3")) == public(whitecrow.Curator)
    assert sorted(names("1.4")) == public(whitecrow.Client)


def test_every_command_is_listed_with_its_own_commands_and_no_other() -> None:
    assert names("2.") == list(COMMANDS)
    context = terminal.make_context("whitecrow", ["demo"])
    for row in rows("2."):
        for name in re.findall(r"`([^`]+)`", row[0]):
            command = terminal.get_command(context, name)
            listed = re.findall(r"`([^`]+)`", row[1])
            offered = command.list_commands(context) if isinstance(command, click.Group) else []
            assert sorted(listed) == sorted(offered), name


def test_the_options_that_all_questions_share_are_listed() -> None:
    said = PAGE.partition("Those that all share are ")[2].partition("\n")[0]
    context = terminal.make_context("whitecrow", ["demo"])
    shared: set[str] | None = None
    for kind in BUILT_IN:
        command = terminal.get_command(context, kind)
        assert command is not None
        if isinstance(command, click.Group):
            command = command.commands["ask"]
        options = {name for one in command.params for name in one.opts if name.startswith("--")}
        declared = {f"--{name.replace('_', '-')}" for name in _class_of(kind).__annotations__}
        options -= {*declared, "--help"}
        shared = options if shared is None else shared & options
    assert set(re.findall(r"`(--[a-z-]+)`", said)) == shared


def test_every_route_is_listed_and_no_other(tmp_path: Path) -> None:
    server = pytest.importorskip("whitecrow_server")
    settings = server.Settings(database=f"sqlite:///{tmp_path}/service.db", data=str(DATA.parent))
    app = server.create_app(settings)
    there = {
        f"{method.upper()} {path}"
        for path, methods in app.openapi()["paths"].items()
        for method in methods
    }
    app.state.service.close()
    assert len(names("3.")) == len(set(names("3.")))
    assert set(names("3.")) == there


def test_every_notion_is_listed_and_no_other() -> None:
    told = PAGE.partition("`notion` is ")[2].partition(".")[0]
    found = [getattr(getattr(whitecrow, name), "notion", None) for name in whitecrow.__all__]
    there = {notion for notion in found if isinstance(notion, str)}  # guarantees have one
    assert set(re.findall(r"`([a-z]+)`", told)) == there


def _emitted(name: str) -> set[str]:
    """The names of the lines that a benchmark prints, where they are written out."""
    tree = ast.parse((ROOT / "benchmarks" / f"{name}.py").read_text(encoding="utf-8"))
    return {
        call.args[0].value
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id == "emit"
        and isinstance(call.args[0], ast.Constant)
    }


def test_every_benchmark_and_its_lines_are_listed() -> None:
    assert names("5.") == list(NAMES)
    measuring = [
        path.stem
        for path in (ROOT / "benchmarks").glob("*.py")
        if re.search(r"^ +emit\(", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert sorted([*measuring, "duckdb"]) == sorted(NAMES)  # which stands for another
    for row in rows("5."):
        name = row[0].strip("`")
        listed = set(re.findall(r"`([^`]+)`", row[1]))
        written = (ROOT / "benchmarks" / f"{name}.py").read_text(encoding="utf-8")
        assert _emitted(name) <= listed, name
        for line in listed - _emitted(name):  # some are computed: direct_{kind}_s
            computed = re.sub("_(grubbs|lof)(?=_|$)", "_{kind}", line)
            assert line in written or computed in written, line
