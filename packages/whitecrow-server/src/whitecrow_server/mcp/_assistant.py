"""What an assistant may do: look, price and try for nothing; ask when a person said yes.

It speaks the Model Context Protocol: JSON-RPC, a message a line; no line ends the session.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from fractions import Fraction
from typing import Any, TextIO

from whitecrow import __version__
from whitecrow.client import Client
from whitecrow.errors import (
    BudgetExhausted,
    InvalidInput,
    NotAllowed,
    PolicyViolation,
    WhitecrowError,
)
from whitecrow.question import Question, Release
from whitecrow.questions import loaded, read_question
from whitecrow_server.mcp.approvals import AMOUNTS, Approvals, Spend, amounts

Elicit = Callable[[str], bool]
"""Shows a person what would be spent; whether they said yes."""

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
        "Answer a question about synthetic records, free: it says nothing of the data.",
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


class Assistant:
    """What the tools do, with ``client(dataset)``; without a dataset, for the list of them.

    ``most`` caps what all questions of this session may cost together, beside the custodian's
    allowance: ``epsilon``, ``delta`` and ``rho``. What it does not name may not be spent at all.
    """

    def __init__(
        self,
        client: Callable[[str | None], Client],
        approvals: Approvals,
        *,
        most: Mapping[str, Fraction] | None = None,
    ) -> None:
        self._client, self._approvals, self._most = client, approvals, most
        self._spent = dict.fromkeys(AMOUNTS, Fraction(0))

    def call(self, name: str, given: Mapping[str, Any], elicit: Elicit | None) -> Any:
        if name == "list_datasets":
            return {"datasets": list(self._client(None).datasets())}
        client = self._client(str(given["dataset"]))
        if name == "describe_dataset":
            return self._described(client)
        question = read_question(given["question"])
        if name == "price_question":
            description = client.describe(question).to_json()
            return {**description, "deadline": client.deadline(question)}
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
                kind: {"asks": type_.question.asks, "schema": type_.question.json_schema(kind=kind)}
                for kind, type_ in loaded().items()
            },
        }

    def _asked(self, client: Client, question: Question, elicit: Elicit | None) -> Release:
        description = client.describe(question)
        price = amounts(description.price)
        self._check_cap(price)
        spend = Spend(
            client.name,
            {"kind": question.kind, **question.to_json()},
            description.price.to_json(),
            description.words,
        )
        if not self._confirmed(spend, elicit):
            raise NotAllowed("The person did not confirm the price. Nothing was spent.")
        # Counted before it is asked: a reply that gets lost may have been charged.
        self._count(price, 1)
        try:
            release = client.ask(question)
        except (InvalidInput, PolicyViolation, BudgetExhausted):
            self._count(price, -1)
            raise
        if not release.charged:
            self._count(price, -1)
        return release

    def _check_cap(self, price: Mapping[str, Fraction]) -> None:
        """Refuse what this session may not spend any more; epsilon, delta and rho apart."""
        if self._most is None:
            return
        for name, amount in price.items():
            spent, most = self._spent[name], self._most.get(name)
            if most is None:
                raise NotAllowed(
                    f"This question costs {name} {amount}, and the cap of this session "
                    f"(--at-most) names no {name}. Nothing was spent."
                )
            if spent + amount > most:
                raise NotAllowed(
                    f"All questions of this session may cost {name} {most} together; {spent} is "
                    f"spent, and this one costs {amount}. Nothing was spent."
                )

    def _count(self, price: Mapping[str, Fraction], sign: int) -> None:
        for name, amount in price.items():
            self._spent[name] += sign * amount

    def _confirmed(self, spend: Spend, elicit: Elicit | None) -> bool:
        if elicit is not None:
            return elicit(str(spend))
        if self._approvals.taken(spend):
            return True
        self._approvals.request(spend)
        raise NotAllowed(
            f"A person must confirm the price first. Ask them to type, at a terminal of their own: "
            f"whitecrow mcp --approve {spend.code}\nIt shows them the question and its price, and "
            f"asks for a yes. Ask again when they have said it.\n{spend}"
        )


# The protocol

PROTOCOL = "2025-06-18"
_WRONG_REQUEST, _WRONG_METHOD, _WRONG_PARAMETERS, _FAULT = -32600, -32601, -32602, -32603
_WRONG_JSON = -32700

Send = Callable[[Mapping[str, Any]], None]


class _Session:
    """One conversation: requests in, replies out, and questions to the person in between."""

    def __init__(self, assistant: Assistant, lines: Iterable[str], send: Send) -> None:
        self._assistant, self._lines, self._send = assistant, iter(lines), send
        self._waiting: list[dict[str, Any]] = []
        self._elicits = False
        self._asked = 0

    def run(self) -> None:
        while (message := self._waiting.pop(0) if self._waiting else self._read()) is not None:
            try:
                self._take(message)
            except Exception:  # noqa: BLE001 - whatever one message breaks, the next is served
                reason = (
                    "This request could not be handled. Sent again, a question is charged once."
                )
                self._fail(_number(message), _FAULT, reason)

    def _read(self) -> dict[str, Any] | None:
        for line in self._lines:
            if not line.strip():
                continue
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                self._fail(None, _WRONG_JSON, "This is not JSON, or nested too deeply.")
                continue
            if isinstance(message, dict):
                return message
            self._fail(None, _WRONG_JSON, "A message must be a JSON object.")
        return None

    def _take(self, message: dict[str, Any]) -> None:
        method, number = message.get("method"), _number(message)
        if not isinstance(method, str):
            if not {"result", "error"} & set(message):  # else a reply that nobody waits for
                self._fail(number, _WRONG_REQUEST, "A request must have a method, a string.")
            return
        if "id" not in message:
            return  # a notification
        given = message.get("params", {})
        if number is None or not isinstance(given, dict):
            words = "The id must be a string or an integer, params an object."
            self._fail(number, _WRONG_REQUEST, words)
        elif method == "initialize":
            capabilities = given.get("capabilities")
            self._elicits = isinstance(capabilities, dict) and "elicitation" in capabilities
            server = {"name": "whitecrow", "version": __version__}
            offered = {"capabilities": {"tools": {}}, "serverInfo": server}
            self._reply(number, {"protocolVersion": PROTOCOL, **offered})
        elif method == "ping":
            self._reply(number, {})
        elif method == "tools/list":
            self._reply(number, {"tools": list(TOOLS)})
        elif method == "tools/call":
            self._call(number, given)
        else:
            self._fail(number, _WRONG_METHOD, "There is no such method.")

    def _call(self, number: Any, given: Mapping[str, Any]) -> None:
        name, arguments = given.get("name"), given.get("arguments", {})
        tool = next((entry for entry in TOOLS if entry["name"] == name), None)
        if tool is None or not _fits(arguments, tool["inputSchema"]):
            self._fail(number, _WRONG_PARAMETERS, "There is no such tool, or its arguments differ.")
            return
        try:
            elicit = self._elicit if self._elicits else None
            result = self._assistant.call(str(name), arguments, elicit)
        except WhitecrowError as error:
            text = [{"type": "text", "text": str(error)}]
            self._reply(number, {"content": text, "isError": True})
            return
        text = [{"type": "text", "text": json.dumps(result, ensure_ascii=False)}]
        self._reply(number, {"content": text, "structuredContent": result, "isError": False})

    def _elicit(self, sentence: str) -> bool:
        """Let the assistant's program ask its user; what comes meanwhile waits."""
        self._asked += 1
        number = f"whitecrow-{self._asked}-{time.time_ns()}"
        confirm = {"type": "boolean", "title": "Spend it?", "default": False}
        schema = {"type": "object", "properties": {"confirm": confirm}, "required": ["confirm"]}
        asked = {"message": sentence, "requestedSchema": schema}
        request = {"id": number, "method": "elicitation/create", "params": asked}
        self._send({"jsonrpc": "2.0", **request})
        while (message := self._read()) is not None:
            if message.get("id") == number and "method" not in message:
                result = message.get("result")
                content = result.get("content") if isinstance(result, dict) else None
                if not isinstance(result, dict) or not isinstance(content, dict):
                    return False
                return result.get("action") == "accept" and content.get("confirm") is True
            self._waiting.append(message)
        return False

    def _reply(self, number: Any, result: Mapping[str, Any]) -> None:
        self._send({"jsonrpc": "2.0", "id": number, "result": result})

    def _fail(self, number: Any, code: int, says: str) -> None:
        self._send({"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": says}})


def _number(message: Mapping[str, Any]) -> str | int | None:
    """The id of a request, if it is one that JSON-RPC knows."""
    given = message.get("id")
    return given if isinstance(given, str | int) and not isinstance(given, bool) else None


def _fits(arguments: object, schema: Mapping[str, Any]) -> bool:
    """Whether the arguments of a tool are those that it has, each of its type."""
    types = {"string": str, "object": dict}
    wanted = {name: types[declared["type"]] for name, declared in schema["properties"].items()}
    return (
        isinstance(arguments, dict)
        and set(arguments) == set(wanted)
        and all(isinstance(arguments[name], wanted[name]) for name in wanted)
    )


class _HungUp(BaseException):
    """Nobody reads the replies any more. No error of a request: those do not end the session."""


def serve(assistant: Assistant, lines: Iterable[str], out: TextIO) -> None:
    """Serve one assistant until its input ends."""

    def send(message: Mapping[str, Any]) -> None:
        try:
            out.write(json.dumps(message, ensure_ascii=True) + "\n")
            out.flush()
        except OSError:
            raise _HungUp from None

    with suppress(_HungUp):
        _Session(assistant, lines, send).run()
