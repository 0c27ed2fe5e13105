"""An assistant may look and price; what spends needs a person's yes, once and for this question."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import whitecrow as wc
from whitecrow import demo
from whitecrow.cli import whitecrow
from whitecrow.mcp import TOOLS, Approvals, Assistant, serve

MODEL = {"beta": 40, "radius": 12.0, "metric": "euclidean"}
QUESTION = {
    "kind": "screen",
    "record": {"age": 74.0, "bmi": 44.0},
    "model": MODEL,
    "epsilon": "1/4",
}


class Here:
    """A curator in this process with the methods of a client."""

    def __init__(self, curator: wc.Curator) -> None:
        self._curator = curator
        self.name = "clinic"

    def __getattr__(self, name: str) -> Any:
        return getattr(self._curator, name)

    def datasets(self) -> tuple[str, ...]:
        return ("clinic",)

    def deadline(self, question: object) -> None:
        return None


@pytest.fixture
def curator() -> Iterator[wc.Curator]:
    with wc.Curator.open(demo.DATA, card=demo.CARD, budget="1", ledger="sqlite://") as found:
        yield found


def talk(
    curator: wc.Curator,
    folder: Path,
    *messages: dict[str, Any],
    elicits: bool = False,
    most: Fraction | None = None,
) -> list[dict[str, Any]]:
    """Say these messages after the greeting; return what comes back, the greeting's reply first."""
    capabilities = {"elicitation": {}} if elicits else {}
    hello = {"id": 0, "method": "initialize", "params": {"capabilities": capabilities}}
    lines = [json.dumps({"jsonrpc": "2.0", **one}) + "\n" for one in (hello, *messages)]
    out = io.StringIO()
    here: Any = Here(curator)
    serve(Assistant(lambda _: here, Approvals(folder), most=most), lines, out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def call(tool: str, number: int = 1, **arguments: Any) -> dict[str, Any]:
    return {"id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


def test_the_greeting_and_the_list_of_tools(curator: wc.Curator, tmp_path: Path) -> None:
    hello, listed, wrong = talk(
        curator, tmp_path, {"id": 1, "method": "tools/list"}, {"id": 2, "method": "no/such"}
    )
    assert hello["result"]["serverInfo"]["name"] == "whitecrow"
    assert [one["name"] for one in listed["result"]["tools"]] == [one["name"] for one in TOOLS]
    assert wrong["error"]["code"] == -32601


def test_looking_pricing_and_dummies_are_free(curator: wc.Curator, tmp_path: Path) -> None:
    replies = talk(
        curator,
        tmp_path,
        call("list_datasets"),
        call("describe_dataset", dataset="clinic"),
        call("price_question", dataset="clinic", question=QUESTION),
        call("ask_dummy", dataset="clinic", question=QUESTION),
    )[1:]
    found = [one["result"]["structuredContent"] for one in replies]
    assert not any(one["result"]["isError"] for one in replies)
    assert found[0] == {"datasets": ["clinic"]}
    assert "screen" in found[1]["questions"]
    assert found[2]["price"]["epsilon"] == "1/4"
    assert found[3]["dummy"] is True
    assert str(curator.remaining()) == "differential 1, sensitive 1"


def test_nothing_is_asked_of_the_data_before_a_person_approved_it(
    curator: wc.Curator, tmp_path: Path
) -> None:
    asking = call("ask_question", dataset="clinic", question=QUESTION)
    refused = talk(curator, tmp_path, asking)[1]["result"]
    assert refused["isError"]
    said = refused["content"][0]["text"]
    assert "1/4" in said
    assert str(curator.remaining()) == "differential 1, sensitive 1"
    code = said.partition("--approve ")[2].split()[0]
    done = CliRunner().invoke(whitecrow, ["mcp", "--approvals", str(tmp_path), "--approve", code])
    assert done.exit_code == 0, done.output
    other = {**QUESTION, "epsilon": "1/2"}
    answers = talk(
        curator, tmp_path, call("ask_question", dataset="clinic", question=other), asking, asking
    )[1:]
    assert answers[0]["result"]["isError"]  # a yes holds for one question at one price
    assert answers[1]["result"]["structuredContent"]["charged"] is True
    assert answers[2]["result"]["isError"]  # and once
    assert str(curator.remaining()) == "differential 0.75, sensitive 0.75"


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ({"action": "accept", "content": {"confirm": True}}, True),
        ({"action": "accept", "content": {"confirm": False}}, False),
        ({"action": "accept", "content": {"confirm": "yes"}}, False),
        ({"action": "accept"}, False),
        ({"action": "decline"}, False),
        ({"action": "cancel"}, False),
        ({}, False),
    ],
)
def test_only_a_plain_yes_of_the_user_spends(
    curator: wc.Curator, tmp_path: Path, said: dict[str, Any], asked: bool
) -> None:
    """The assistant's program asks its user; what comes meanwhile is answered afterwards."""
    here: Any = Here(curator)
    out = io.StringIO()

    def lines() -> Iterator[str]:
        yield json.dumps(
            {"id": 0, "method": "initialize", "params": {"capabilities": {"elicitation": {}}}}
        )
        yield json.dumps(call("ask_question", dataset="clinic", question=QUESTION))
        yield json.dumps({"id": 9, "method": "ping"})
        shown = json.loads(out.getvalue().splitlines()[-1])
        assert shown["method"] == "elicitation/create"
        assert "1/4" in shown["params"]["message"]
        yield json.dumps({"jsonrpc": "2.0", "id": shown["id"], "result": said})

    serve(Assistant(lambda _: here, Approvals(tmp_path)), lines(), out)
    replies = {one["id"]: one for one in map(json.loads, out.getvalue().splitlines())}
    assert replies[1]["result"]["isError"] is not asked
    assert replies[9]["result"] == {}
    left = "0.75" if asked else "1"
    assert str(curator.remaining()) == f"differential {left}, sensitive {left}"


def test_a_session_has_a_cap_beside_the_custodians(curator: wc.Curator, tmp_path: Path) -> None:
    reply = talk(
        curator,
        tmp_path,
        call("ask_question", dataset="clinic", question=QUESTION),
        most=Fraction(1, 8),
    )[1]
    assert reply["result"]["isError"]
    assert "may cost 1/8 together" in reply["result"]["content"][0]["text"]


@pytest.mark.parametrize(
    "arguments",
    [{"dataset": "clinic"}, {"dataset": "clinic", "question": QUESTION, "confirmed": True}],
)
def test_arguments_that_the_tool_does_not_have_are_refused(
    curator: wc.Curator, tmp_path: Path, arguments: dict[str, Any]
) -> None:
    assert talk(curator, tmp_path, call("ask_question", **arguments))[1]["error"]["code"] == -32602


def test_what_is_no_message_is_said_and_survived(curator: wc.Curator, tmp_path: Path) -> None:
    out = io.StringIO()
    here: Any = Here(curator)
    lines = ["{", "[]", json.dumps({"id": 1, "method": "ping"})]
    serve(Assistant(lambda _: here, Approvals(tmp_path)), lines, out)
    replies = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [one.get("error", {}).get("code") for one in replies] == [-32700, -32700, None]
