"""Give me the code: a question as Python, as a command line and as a request."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

from whitecrow.declaration import Flag, Nested, typed
from whitecrow.errors import WhitecrowError
from whitecrow.question import Question, digest
from whitecrow.questions import BUILT_IN, question_type


def listings(question: Mapping[str, Any], dataset: str, url: str) -> list[dict[str, str]]:
    """Return the question in three languages, each with its name."""
    kind = str(question["kind"])
    asked = question_type(kind).question
    short = _shortened(asked, {key: value for key, value in question.items() if key != "kind"})
    return [
        {"name": "Python", "id": "python", "text": _python(asked, short, dataset, url)},
        {"name": "Terminal", "id": "terminal", "text": _terminal(asked, short, dataset, url)},
        {"name": "curl", "id": "curl", "text": _curl(question, dataset, url)},
    ]


def _shortened(asked: type[Question], full: Mapping[str, Any]) -> dict[str, Any]:
    """The question without its defaults: each part is left out if nothing changes."""
    wanted = digest(asked.from_json(full))
    shown = dict(full)
    for key in full:
        less = {name: value for name, value in shown.items() if name != key}
        try:
            same = digest(asked.from_json(less)) == wanted
        except WhitecrowError:
            same = False
        if same:
            shown = less
    return shown


# Python


def _python(asked: type[Question], short: Mapping[str, Any], dataset: str, url: str) -> str:
    placed: list[str] = []
    named: list[str] = []
    for name, value in short.items():
        parameter = asked.parameters[name]
        code = repr(value)
        if isinstance(parameter, Nested):
            code = _object(parameter, value)
        if not parameter.kw_only and not named:
            placed.append(code)
        else:
            named.append(f"{name}={code}")
    lines = ",\n    ".join([*placed, *named])
    # The client's method of this name, or the one for questions of other packages.
    method = f"{asked.kind}(" if asked.kind in BUILT_IN else f"ask_about(\n    {asked.kind!r},"
    return "\n".join(
        [
            "import os",
            "import whitecrow as wc",
            "",
            f'client = wc.Client({json.dumps(url)}, os.environ["WHITECROW_TOKEN"], '
            f"dataset={dataset!r})",
            f"release = client.{method}\n    {lines},\n)",
            "print(release.answer, release.statement)",
        ]
    )


def _object(parameter: Nested[Any], value: Mapping[str, Any]) -> str:
    declared = type(parameter.parse(value, ""))
    if not declared.__module__.startswith("whitecrow."):
        return repr(dict(value))  # of another package: as JSON it needs no import
    parameters = declared.parameters
    arguments = {
        name: argument
        for name, argument in value.items()
        if name in parameters
        and (parameters[name].required or argument != parameters[name].dump_default())
    }
    listed = ", ".join(f"{name}={argument!r}" for name, argument in arguments.items())
    return f"wc.{declared.__name__}({listed})"


# Terminal


def _terminal(asked: type[Question], short: Mapping[str, Any], dataset: str, url: str) -> str:
    lines = [f"whitecrow {asked.kind} {shlex.quote(dataset)} --server {shlex.quote(url)}"]
    rest, shortened = asked.shortcuts.contract(short)
    try:
        again = asked.from_json(asked.shortcuts.from_json(shortened).expand(rest))
        if digest(again) != digest(asked.from_json(short)):
            raise TypeError
        inputs = (*typed(asked, rest).values(), *typed(asked.shortcuts, shortened).values())
        for entry, value in inputs:
            parameter = entry.parameter
            if isinstance(parameter, Flag):
                lines.append(f"  {parameter.flag if value else parameter.off}")
            else:
                lines.append(f"  {parameter.flag} {shlex.quote(parameter.to_text(value))}")
    except (TypeError, WhitecrowError):
        return "# The terminal has no options for all of this question; use Python or curl."
    return " \\\n".join(lines)


# curl


def _curl(question: Mapping[str, Any], dataset: str, url: str) -> str:
    body = json.dumps(dict(question), ensure_ascii=False)
    return " \\\n".join(
        [
            f"curl {shlex.quote(f'{url}/v1/datasets/{dataset}/ask')}",
            '  -H "Authorization: Bearer $WHITECROW_TOKEN"',
            "  -H 'Content-Type: application/json'",
            f"  -d {shlex.quote(body)}",
        ]
    )
