"""A server of the Model Context Protocol: an assistant asks, a person confirms every price.

It speaks JSON-RPC, a message a line, on standard input and output, and passes on to a service with
the token of an analyst: the custodian's allowance for that analyst is what the assistant can spend
at the most. Prices, plans and dummy answers are free. Before a question is asked of the data, the
person at the keyboard is shown question and price and says yes: through the assistant's program
where it can ask its user (*elicitation*), else by a code that they type at a terminal of their own
(``whitecrow mcp --approve CODE``). A yes holds for this very question at this very price, once.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, TextIO

from whitecrow import __version__
from whitecrow.client import Client
from whitecrow.errors import InvalidInput, NotAllowed, WhitecrowError
from whitecrow.privacy import Guarantee, ZeroConcentrated
from whitecrow.question import Question, Release
from whitecrow.questions import kinds, question_type, read_question

__all__ = ["Approvals", "Assistant", "serve"]

PROTOCOL = "2025-06-18"
_WRONG_METHOD, _WRONG_PARAMETERS, _WRONG_JSON = -32601, -32602, -32700

Send = Callable[[Mapping[str, Any]], None]
Elicit = Callable[[str], bool]
"""Shows a person a sentence; whether they said yes."""

_QUESTION: dict[str, Any] = {
    "type": "object",
    "description": "A question as JSON: its kind and its parameters; see describe_dataset.",
    "properties": {"kind": {"type": "string"}},
    "required": ["kind"],
}
_DATASET: dict[str, Any] = {"type": "string", "description": "The dataset's name."}


def _tool(name: str, says: str, free: bool = True, **properties: Any) -> dict[str, Any]:
    return {
        "name": name,
        "description": says,
        "inputSchema": {
            "type": "object",
            "properties": properties,
            "required": sorted(properties),
            "additionalProperties": False,
        },
        "annotations": {"readOnlyHint": free, "idempotentHint": True, "openWorldHint": False},
    }


TOOLS = (
    _tool("list_datasets", "Which datasets there are."),
    _tool(
        "describe_dataset",
        "A dataset's columns, what remains of the budget, and the questions with their parameters.",
        dataset=_DATASET,
    ),
    _tool(
        "price_question",
        "What a question would cost and how accurate it would be. Free, and no record is read.",
        dataset=_DATASET,
        question=_QUESTION,
    ),
    _tool(
        "ask_dummy",
        "Answer a question about made-up records, free: it says nothing of the data.",
        dataset=_DATASET,
        question=_QUESTION,
    ),
    _tool(
        "ask_question",
        "Answer a question about the data. It spends privacy budget for good, so a person must "
        "confirm the price first. Price it before.",
        free=False,
        dataset=_DATASET,
        question=_QUESTION,
    ),
)


class Approvals:
    """What a person has approved at a terminal of their own: one file a code, used once.

    Parameters
    ----------
    folder : Path
        Which the person's user alone can write.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def approve(self, code: str) -> None:
        """Say yes to what a code stands for."""
        if not code.isalnum() or len(code) != 12:
            raise InvalidInput("A code has 12 letters and digits, as the assistant showed it.")
        file = os.open(self._folder / code, os.O_CREAT | os.O_WRONLY, 0o600)
        os.close(file)

    def taken(self, code: str) -> bool:
        """Whether it was approved; that is used up by this."""
        try:
            (self._folder / code).unlink()
        except FileNotFoundError:
            return False
        return True


class Assistant:
    """What the tools do.

    Parameters
    ----------
    client : callable
        ``client(dataset)``: a service's curator; without a dataset, for the list of them.
    approvals : Approvals
        Where a yes is found if the assistant's program cannot ask its user.
    most : Fraction, optional
        What all questions of this session may cost together, beside the custodian's allowance.
    """

    def __init__(
        self,
        client: Callable[[str | None], Client],
        approvals: Approvals,
        *,
        most: Fraction | None = None,
    ) -> None:
        self._client, self._approvals, self._most = client, approvals, most
        self._spent = Fraction(0)

    def call(self, name: str, given: Mapping[str, Any], elicit: Elicit | None) -> Any:
        """Run a tool; return JSON."""
        if name == "list_datasets":
            return {"datasets": list(self._client(None).datasets())}
        client = self._client(str(given["dataset"]))
        if name == "describe_dataset":
            return self._described(client)
        question = read_question(given["question"])
        if name == "price_question":
            found = client.describe(question).to_json()
            return {**found, "deadline": client.deadline(question)}
        if name == "ask_dummy":
            return client.dummy(question).to_json()
        return self._asked(client, question, elicit).to_json()

    def _described(self, client: Client) -> dict[str, Any]:
        return {
            "name": client.name,
            "card": client.card.to_json(),
            "policy": client.policy.to_json(),
            "remaining": client.remaining().to_json(),
            "questions": {
                kind: {
                    "asks": question_type(kind).question.asks,
                    "schema": question_type(kind).question.json_schema(kind=kind),
                }
                for kind in kinds()
            },
        }

    def _asked(self, client: Client, question: Question, elicit: Elicit | None) -> Release:
        price = client.price(question)
        amount = _amount(price)
        if self._most is not None and self._spent + amount > self._most:
            raise NotAllowed(
                f"All questions of this session may cost {self._most} together; {self._spent} is "
                f"spent, and this one costs {amount}. Nothing was spent."
            )
        sentence = (
            f"Ask {client.name!r} this and spend {price.notion} {amount} for good? "
            f"{json.dumps({'kind': question.kind, **question.to_json()}, ensure_ascii=False)} "
            f"{price.statement()}"
        )
        if not self._confirmed(client.name, question, price, sentence, elicit):
            raise NotAllowed("The person did not confirm the price. Nothing was spent.")
        release = client.ask(question)
        self._spent += amount if release.charged else 0
        return release

    def _confirmed(
        self,
        dataset: str,
        question: Question,
        price: Guarantee,
        sentence: str,
        elicit: Elicit | None,
    ) -> bool:
        if elicit is not None:
            return elicit(sentence)
        code = _code(dataset, question, price)
        if self._approvals.taken(code):
            return True
        raise NotAllowed(
            f"A person must confirm the price first. Show them this, and ask again when they have "
            f"typed, at a terminal of their own: whitecrow mcp --approve {code}\n{sentence}"
        )


def _amount(price: Guarantee) -> Fraction:
    return price.rho if isinstance(price, ZeroConcentrated) else price.epsilon


def _code(dataset: str, question: Question, price: Guarantee) -> str:
    """What a yes is bound to: the dataset, the question and its price."""
    said = json.dumps([dataset, question.canonical, price.to_json()], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()[:12]


class _Session:
    """One conversation: requests in, replies out, and questions to the person in between."""

    def __init__(self, assistant: Assistant, lines: Iterable[str], send: Send) -> None:
        self._assistant, self._lines, self._send = assistant, iter(lines), send
        self._waiting: list[dict[str, Any]] = []
        self._elicits = False
        self._asked = 0

    def run(self) -> None:
        """Serve until the input ends."""
        while (message := self._next()) is not None:
            self._take(message)

    def _next(self) -> dict[str, Any] | None:
        if self._waiting:
            return self._waiting.pop(0)
        return self._read()

    def _read(self) -> dict[str, Any] | None:
        for line in self._lines:
            if not line.strip():
                continue
            try:
                found = json.loads(line)
            except ValueError:
                self._fail(None, _WRONG_JSON, "This is not JSON.")
                continue
            if isinstance(found, dict):
                return found
            self._fail(None, _WRONG_JSON, "A message is a JSON object.")
        return None

    def _take(self, message: dict[str, Any]) -> None:
        method, number = message.get("method"), message.get("id")
        if method is None or number is None:
            return  # a reply nobody waits for, or a notification
        given = message.get("params") or {}
        if method == "initialize":
            self._elicits = "elicitation" in given.get("capabilities", {})
            self._reply(
                number,
                {
                    "protocolVersion": PROTOCOL,
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "whitecrow", "version": __version__},
                },
            )
        elif method == "ping":
            self._reply(number, {})
        elif method == "tools/list":
            self._reply(number, {"tools": list(TOOLS)})
        elif method == "tools/call":
            self._call(number, given)
        else:
            self._fail(number, _WRONG_METHOD, "There is no such method.")

    def _call(self, number: Any, given: Mapping[str, Any]) -> None:
        name, arguments = given.get("name"), given.get("arguments") or {}
        tool = next((one for one in TOOLS if one["name"] == name), None)
        if tool is None or set(arguments) != set(tool["inputSchema"]["required"]):
            self._fail(number, _WRONG_PARAMETERS, "There is no such tool, or its arguments differ.")
            return
        try:
            elicit = self._elicit if self._elicits else None
            found = self._assistant.call(str(name), arguments, elicit)
        except WhitecrowError as error:
            text = [{"type": "text", "text": str(error)}]
            self._reply(number, {"content": text, "isError": True})
            return
        written = json.dumps(found, ensure_ascii=False)
        text = [{"type": "text", "text": written}]
        self._reply(number, {"content": text, "structuredContent": found, "isError": False})

    def _elicit(self, sentence: str) -> bool:
        """Let the assistant's program ask its user; what comes meanwhile waits."""
        self._asked += 1
        number = f"whitecrow-{self._asked}-{time.time_ns()}"
        confirm = {"type": "boolean", "title": "Spend it?", "default": False}
        schema = {"type": "object", "properties": {"confirm": confirm}, "required": ["confirm"]}
        self._send(
            {
                "jsonrpc": "2.0",
                "id": number,
                "method": "elicitation/create",
                "params": {"message": sentence, "requestedSchema": schema},
            }
        )
        while (message := self._read()) is not None:
            if message.get("id") == number and "method" not in message:
                said = message.get("result") or {}
                content = said.get("content") or {}
                return said.get("action") == "accept" and content.get("confirm") is True
            self._waiting.append(message)
        return False

    def _reply(self, number: Any, result: Mapping[str, Any]) -> None:
        self._send({"jsonrpc": "2.0", "id": number, "result": result})

    def _fail(self, number: Any, code: int, says: str) -> None:
        self._send({"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": says}})


def serve(assistant: Assistant, lines: Iterable[str], out: TextIO) -> None:
    """Serve one assistant until its input ends."""

    def send(message: Mapping[str, Any]) -> None:
        out.write(json.dumps(message, ensure_ascii=True) + "\n")
        out.flush()

    _Session(assistant, lines, send).run()
