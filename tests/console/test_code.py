"""The code that a page gives is the question that was asked."""

from __future__ import annotations

import json
import shlex
import sys
import types
from typing import Any

import click
import pytest
from click.testing import CliRunner

import whitecrow as wc
from whitecrow.cli import common, whitecrow
from whitecrow.data import Card
from whitecrow.demo import CARD
from whitecrow.question import digest
from whitecrow.questions import question_type, read_question
from whitecrow_server.console._code import listings
from whitecrow_server.console._forms import read_question_form
from whitecrow_server.console._site import Form

from .conftest import QUESTIONS

CLINIC = Card.parse(CARD.read_text(encoding="utf-8"))
URL = "http://127.0.0.1:8765"

MORE: dict[str, tuple[str, dict[str, Any]]] = {
    "identify for everyone": ("identify", {"notion": "differential", "metric": "manhattan"}),
    "identify by a kernel": (
        "identify",
        {
            "model": '{"kind": "kernel", "most": 30, "radii": [2, 5], "heights": [3, 1]}',
            "beta": "",
            "radius": "",
            "metric": "manhattan",
        },
    ),
    "screen in a group": (
        "screen",
        {
            "model": '{"kind": "contextual", "group": ["ward"]}',
            "record.ward": "surgery",
            "metric": "",
        },
    ),
    "screen by a neighbour": (
        "screen",
        {"model": '{"kind": "kth-neighbour", "nth": 3}', "beta": ""},
    ),
    "count with a delta": ("count", {"mechanism": "analytic_gaussian", "delta": "1e-6"}),
    "subspaces without counts": ("subspaces", {"count_share": "0", "top": "2"}),
    "explain by lof": (
        "explain",
        {"detector": "lof", "notion": "conditional", "beta": "", "radius": ""},
    ),
    "publish a count": ("publish", {"statistic": "count", "column": "", "clip": ""}),
    "publish under rho": ("publish", {"noise": "gaussian", "epsilon": "1/2"}),
    **{kind: (kind, {}) for kind in QUESTIONS},
}


def stored(name: str) -> dict[str, Any]:
    """A question as the ledger has it."""
    kind, changes = MORE[name]
    fields = {**QUESTIONS[kind], **changes}
    form = Form(
        {key: value if isinstance(value, list) else [value] for key, value in fields.items()}
    )
    asked, _ = read_question_form(question_type(kind).question, form, CLINIC)
    question = read_question({"kind": kind, **asked})
    question.check(CLINIC)
    return {"kind": kind, **question.to_json()}


def texts(question: dict[str, Any]) -> dict[str, str]:
    return {one["id"]: one["text"] for one in listings(question, "clinic", URL)}


class Recorder:
    """Stands for a client and keeps the question it is asked."""

    def __init__(self, *given: Any, **named: Any) -> None:
        self.opened = given, named

    def __getattr__(self, kind: str) -> Any:
        def method(*given: Any, **named: Any) -> Any:
            question = getattr(wc, kind.capitalize())(*given, **named)
            return self.ask(question)

        return method

    def describe(self, question: Any, **public: Any) -> wc.Description:
        return question.describe(CLINIC)

    def ask(self, question: Any, **more: Any) -> wc.Release:
        asked.append(question)
        written = {"kind": question.kind, **question.to_json()}
        return wc.Release(written, None, question.price(CLINIC), "")


class AtTheTerminal(Recorder):
    """Ends the command once it has asked: how an answer is printed is not the matter here."""

    def ask(self, question: Any, **more: Any) -> wc.Release:
        super().ask(question)
        raise click.exceptions.Exit(0)


asked: list[Any] = []


@pytest.mark.parametrize("name", MORE)
def test_the_python_asks_the_same_question(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    question = stored(name)
    monkeypatch.setenv("WHITECROW_TOKEN", "wc_x")
    names = {key: getattr(wc, key) for key in wc.__all__}
    fake = types.ModuleType("whitecrow")
    fake.__dict__.update({**names, "Client": Recorder})
    monkeypatch.setitem(sys.modules, "whitecrow", fake)
    asked.clear()
    exec(texts(question)["python"], {"print": lambda *words: None})  # noqa: S102 - what we show
    assert [digest(one) for one in asked] == [digest(read_question(question))]


@pytest.mark.parametrize("name", MORE)
def test_the_command_line_asks_the_same_question(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = stored(name)
    monkeypatch.setattr(common, "opened", lambda given, **more: AtTheTerminal())
    asked.clear()
    words = shlex.split(texts(question)["terminal"].replace("\\\n", " "))
    assert words[:4] == ["whitecrow", question["kind"], "clinic", "--server"]
    result = CliRunner().invoke(whitecrow, words[1:])
    assert result.exit_code == 0, result.output
    assert [digest(one) for one in asked] == [digest(read_question(question))]


@pytest.mark.parametrize("name", MORE)
def test_the_request_asks_the_same_question(name: str) -> None:
    question = stored(name)
    words = shlex.split(texts(question)["curl"].replace("\\\n", " "))
    assert words[1] == f"{URL}/v1/datasets/clinic/ask"
    assert json.loads(words[words.index("-d") + 1]) == question


def test_a_shell_sees_no_more_than_a_word_in_a_value() -> None:
    question = stored("identify")
    question["record"] = {"x'; rm -rf ~; '": "$(reboot)`x`"}
    for name in ("terminal", "curl"):
        words = shlex.split(texts(question)[name].replace("\\\n", " "))
        assert not {"rm", "~;", "$(reboot)`x`"} & set(words)


def test_what_the_terminal_cannot_say_is_said_so() -> None:
    question = read_question(
        {
            "kind": "publish",
            "statistic": "count",
            "time": "day",
            "start": "2024-01-01",
            "rho": "1/3",
            "clip": {"smallest": "1", "largest": "8", "share": "1/3"},
        }
    )
    found = texts({"kind": "publish", **question.to_json()})["terminal"]
    assert found.startswith("# The terminal has no option")
