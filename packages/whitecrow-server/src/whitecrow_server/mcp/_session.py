"""The Model Context Protocol: JSON-RPC, a message a line; no line ends the session."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, TextIO

from whitecrow import __version__
from whitecrow.errors import WhitecrowError
from whitecrow_server.mcp._assistant import TOOLS, Assistant

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
        while (message := self._next()) is not None:
            try:
                self._take(message)
            except Exception:  # noqa: BLE001 - whatever one message breaks, the next is served
                said = "This request could not be handled. Sent again, a question is charged once."
                self._fail(_number(message), _FAULT, said)

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
            except (ValueError, RecursionError):
                self._fail(None, _WRONG_JSON, "This is not JSON, or nested too deeply.")
                continue
            if isinstance(found, dict):
                return found
            self._fail(None, _WRONG_JSON, "A message is a JSON object.")
        return None

    def _take(self, message: dict[str, Any]) -> None:
        method, number = message.get("method"), _number(message)
        if not isinstance(method, str):
            if not {"result", "error"} & set(message):  # else a reply that nobody waits for
                self._fail(number, _WRONG_REQUEST, "A request has a method, which is a text.")
            return
        if "id" not in message:
            return  # a notification
        given = message.get("params", {})
        if number is None or not isinstance(given, dict):
            self._fail(
                number,
                _WRONG_REQUEST,
                "The id is a text or a whole number, params an object.",
            )
        elif method == "initialize":
            capabilities = given.get("capabilities")
            self._elicits = isinstance(capabilities, dict) and "elicitation" in capabilities
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
        name, arguments = given.get("name"), given.get("arguments", {})
        tool = next((one for one in TOOLS if one["name"] == name), None)
        if tool is None or not _fits(arguments, tool["inputSchema"]):
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
                said = message.get("result")
                content = said.get("content") if isinstance(said, dict) else None
                if not isinstance(said, dict) or not isinstance(content, dict):
                    return False
                return said.get("action") == "accept" and content.get("confirm") is True
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
    wanted = {name: types[one["type"]] for name, one in schema["properties"].items()}
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
