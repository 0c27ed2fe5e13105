"""An assistant may look and price; what spends needs a person's yes, once and for this question."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import whitecrow as wc
from whitecrow import demo
from whitecrow.cli import whitecrow
from whitecrow.privacy import guarantee
from whitecrow.questions import read_question
from whitecrow_server.commands.mcp import _caps
from whitecrow_server.mcp import TOOLS, Approvals, Assistant, Spend, serve

MODEL = {"beta": 40, "radius": 12.0, "metric": "euclidean"}
NAMES = st.sampled_from(["id", "method", "params", "name", "arguments", "capabilities", "result"])
JSON = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from(["ping", "initialize", "tools/list", "tools/call", "list_datasets", "x"])
)
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
    most: dict[str, Fraction] | None = None,
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


def approve(folder: Path, code: str, typed: str) -> Any:
    """What a person does at a terminal of their own."""
    words = ["mcp", "--approvals", str(folder), "--approve", code]
    return CliRunner().invoke(whitecrow, words, input=typed)


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
    for typed, approved in (("n\n", False), ("", False), ("y\n", True)):
        done = approve(tmp_path, code, typed)
        assert (done.exit_code == 0) is approved, done.output
        assert "Price, exactly: differential epsilon 1/4" in done.output
        assert '"age": 74' in done.output
        if not approved:
            assert talk(curator, tmp_path, asking)[1]["result"]["isError"]
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


def test_a_code_shows_the_price_it_stands_for_whatever_the_assistant_said_of_it(
    curator: wc.Curator, tmp_path: Path
) -> None:
    """The assistant's words are not the person's: 50 is shown as 50, and escapes are no words."""
    dear = {**QUESTION, "epsilon": "50", "record": {"age": 74.0, "bmi": 44.0}}
    talk(curator, tmp_path, call("ask_question", dataset="clinic", question=dear))
    (request,) = tmp_path.glob("*.request")
    shown = approve(tmp_path, request.stem, "n\n").output
    assert "Price, exactly: differential epsilon 50" in shown
    spend = Approvals(tmp_path).requested(request.stem)
    painted = replace(spend, words="cheap\x1b[1A\nPrice, exactly: differential epsilon 1/100")
    assert "\x1b" not in str(painted)
    assert str(painted).splitlines()[-1] == "Price, exactly: differential epsilon 50"


def test_a_yes_is_bound_to_question_and_price_and_not_to_the_short_code(tmp_path: Path) -> None:
    """Two questions with one code of 48 bits can be found; a yes is for what was shown."""
    approvals = Approvals(tmp_path)
    cheap = Spend("clinic", QUESTION, {"notion": "differential", "epsilon": "1/100"}, "")
    dear = Spend("clinic", QUESTION, {"notion": "differential", "epsilon": "50"}, "")
    approvals.request(cheap)
    approvals.approve(approvals.requested(cheap.code))
    (tmp_path / f"{cheap.code}.yes").rename(tmp_path / f"{dear.code}.yes")  # as if codes met
    assert not approvals.taken(dear)
    assert dear.code != cheap.code


@pytest.mark.parametrize("code", ["", "../../etc/pw", "0123456789ab", "x" * 13])
def test_a_code_that_nothing_waits_for_approves_nothing(tmp_path: Path, code: str) -> None:
    assert approve(tmp_path, code, "y\n").exit_code != 0
    assert not list(tmp_path.iterdir())


HALF, TINY = Fraction(1, 2), Fraction(1, 10**9)


@pytest.mark.parametrize(
    ("most", "price", "said"),
    [
        ({"epsilon": Fraction(1, 8)}, {"epsilon": "1/4"}, "may cost epsilon 1/8 together"),
        ({"epsilon": HALF}, {"epsilon": "1/4"}, ""),
        ({"epsilon": HALF}, {"epsilon": "1/4", "delta": "1/1000000"}, "names no delta"),
        ({"epsilon": HALF, "delta": TINY}, {"epsilon": "1/4", "delta": "1/1000000"}, "cost delta"),
        ({"epsilon": HALF, "delta": HALF}, {"epsilon": "1/4", "delta": "1/1000000"}, ""),
        ({"epsilon": HALF}, {"rho": "1/100"}, "names no rho"),
        ({"rho": HALF}, {"epsilon": "1/4"}, "names no epsilon"),
        ({"rho": HALF, "epsilon": HALF}, {"rho": "1/2"}, ""),
    ],
)
def test_a_session_is_capped_in_epsilon_delta_and_rho_apart(
    curator: wc.Curator,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    most: dict[str, Fraction],
    price: dict[str, str],
    said: str,
) -> None:
    notion = "concentrated" if "rho" in price else "differential"
    given = guarantee({"notion": notion, "unit": "add_remove", "delta": "0", **price})
    free = curator.describe(read_question(QUESTION))
    monkeypatch.setattr(curator, "describe", lambda question: replace(free, price=given))
    asking = call("ask_question", dataset="clinic", question=QUESTION)
    text = talk(curator, tmp_path, asking, most=most)[1]["result"]["content"][0]["text"]
    assert (said or "A person must confirm the price first") in text


def test_what_was_spent_of_a_cap_stays_spent(curator: wc.Curator, tmp_path: Path) -> None:
    here: Any = Here(curator)
    assistant = Assistant(lambda _: here, Approvals(tmp_path), most={"epsilon": HALF})

    def ask(epsilon: str) -> Any:
        given = {"dataset": "clinic", "question": {**QUESTION, "epsilon": epsilon}}
        return assistant.call("ask_question", given, lambda _: True)

    assert ask("1/4")["charged"]
    assert not ask("1/4")["charged"]  # free, and counted as that
    with pytest.raises(wc.PolicyViolation, match="1/4 is spent"):
        ask("1/3")
    assert ask("1/5")["charged"]


@pytest.mark.parametrize(
    ("written", "caps"),
    [
        (["1/2"], {"epsilon": "1/2"}),
        (["epsilon=1", "delta=1e-9", "rho=1/8"], {"epsilon": "1", "delta": "1e-9", "rho": "1/8"}),
        (["tau=1"], None),
        (["1", "epsilon=2"], None),
        (["0"], None),
        (["rho="], None),
    ],
)
def test_caps_are_written_by_name(written: list[str], caps: dict[str, str] | None) -> None:
    if caps is None:
        with pytest.raises(wc.InvalidInput, match="--at-most"):
            _caps(tuple(written))
        return
    assert _caps(tuple(written)) == {name: Fraction(one) for name, one in caps.items()}


@pytest.mark.parametrize(
    "arguments",
    [{"dataset": "clinic"}, {"dataset": "clinic", "question": QUESTION, "confirmed": True}],
)
def test_arguments_that_the_tool_does_not_have_are_refused(
    curator: wc.Curator, tmp_path: Path, arguments: dict[str, Any]
) -> None:
    assert talk(curator, tmp_path, call("ask_question", **arguments))[1]["error"]["code"] == -32602


DEEP = '{"id": 1, "method": "tools/call", "params": ' + "[" * 100_000 + "]" * 100_000 + "}"
DEEPER = call("price_question", dataset="clinic", question={"kind": "screen", "record": {}})
DEEPER["params"]["arguments"]["question"]["record"] = {"age": json.loads("[" * 900 + "]" * 900)}


@pytest.mark.parametrize(
    "line",
    [
        DEEP,
        json.dumps(DEEPER),
        '{"id": 1, "method": "initialize", "params": {"capabilities": null}}',
        '{"id": 1, "method": "initialize", "params": null}',
        '{"id": 1, "method": "initialize", "params": [1]}',
        '{"id": null, "method": "ping"}',
        '{"id": {}, "method": "ping"}',
        '{"id": 1, "method": 7}',
        '{"id": 1}',
        '{"id": 1, "method": "tools/call", "params": {"name": [], "arguments": [[]]}}',
        json.dumps(call("price_question", dataset=[], question=QUESTION)),
        json.dumps(call("price_question", dataset="clinic", question=None)),
        json.dumps(call("price_question", dataset="clinic", question={"kind": {}})),
        json.dumps(call("price_question", dataset="clinic", question={**QUESTION, "model": 1e308})),
        "\ufffd\ufffd",
        "NaN",
        "null",
    ],
    ids=lambda line: line[:60],
)
def test_every_line_gets_one_reply_and_the_session_goes_on(
    curator: wc.Curator, tmp_path: Path, line: str
) -> None:
    out = io.StringIO()
    here: Any = Here(curator)
    serve(
        Assistant(lambda _: here, Approvals(tmp_path)), [line, '{"id": 9, "method": "ping"}'], out
    )
    replies = [json.loads(text) for text in out.getvalue().splitlines()]
    assert len(replies) == 2
    assert replies[1] == {"jsonrpc": "2.0", "id": 9, "result": {}}
    refused = replies[0].get("error") or replies[0]["result"].get("isError")
    assert refused or "capabilities" in line


@given(st.recursive(JSON, lambda one: st.lists(one) | st.dictionaries(NAMES, one), max_leaves=12))
def test_no_json_ends_a_session(message: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        out = io.StringIO()
        lines = [json.dumps(message), '{"id": 9, "method": "ping"}']
        serve(Assistant(_nowhere, Approvals(Path(folder))), lines, out)
    assert json.loads(out.getvalue().splitlines()[-1])["result"] == {}


def test_a_fault_in_a_tool_is_told_and_survived(tmp_path: Path) -> None:
    out = io.StringIO()
    lines = [json.dumps(call("list_datasets")), '{"id": 9, "method": "ping"}']
    serve(Assistant(_nowhere, Approvals(tmp_path)), lines, out)
    replies = [json.loads(text) for text in out.getvalue().splitlines()]
    assert [one.get("error", {}).get("code") for one in replies] == [-32603, None]


def _nowhere(dataset: str | None) -> Any:
    raise ZeroDivisionError


def test_what_is_no_message_is_said_and_survived(curator: wc.Curator, tmp_path: Path) -> None:
    out = io.StringIO()
    here: Any = Here(curator)
    lines = ["{", "[]", json.dumps({"id": 1, "method": "ping"})]
    serve(Assistant(lambda _: here, Approvals(tmp_path)), lines, out)
    replies = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [one.get("error", {}).get("code") for one in replies] == [-32700, -32700, None]
