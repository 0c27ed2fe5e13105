"""Give me the code: a question as Python, as a command line and as a request."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from whitecrow.curator.registry import KINDS, answering
from whitecrow.errors import WhitecrowError
from whitecrow.question import digest

__all__ = ["listings"]

_FLAGS = {
    "k": "--k",
    "notion": "--notion",
    "floor": "--floor",
    "epsilon": "--epsilon",
    "delta": "--delta",
    "relation": "--relation",
    "mechanism": "--mechanism",
    "crowding": "--crowding",
    "size": "--size",
    "top": "--top",
    "count_share": "--count-share",
    "metric": "--metric",
    "search": "--search",
    "samples": "--samples",
    "column": "--column",
    "statistic": "--statistic",
    "time": "--time",
    "start": "--start",
    "period": "--period",
    "horizon": "--horizon",
    "through": "--through",
    "view": "--view",
    "resolution": "--resolution",
    "leaves": "--leaves",
}
"""Parameters whose option takes the value as it is."""

_SWITCHES = {"normalised": ("--normalised", "--plain"), "raw": ("--raw", "")}
_DETECTORS = ("lof", "grubbs", "histogram")


def listings(question: Mapping[str, Any], dataset: str, url: str) -> list[dict[str, str]]:
    """Return the question in three languages, each with its name.

    Parameters
    ----------
    question : mapping
        As stored: its kind and all parameters.
    dataset, url : str
        Where it was asked.
    """
    short = _shortened(question)
    return [
        {"name": "Python", "id": "python", "text": _python(question, short, dataset, url)},
        {"name": "Terminal", "id": "terminal", "text": _terminal(short, dataset, url)},
        {"name": "curl", "id": "curl", "text": _curl(question, dataset, url)},
    ]


def _shortened(question: Mapping[str, Any]) -> dict[str, Any]:
    """The question without what it would say anyway: each part is tried without."""
    kind = str(question["kind"])
    full = {key: value for key, value in question.items() if key != "kind"}
    cls = answering(kind).question
    wanted = digest(cls.from_json(full))
    kept = dict(full)
    for key in full:
        less = {name: value for name, value in kept.items() if name != key}
        try:
            same = digest(cls.from_json(less)) == wanted
        except (WhitecrowError, KeyError, TypeError):
            same = False
        if same:
            kept = less
    detector = kept.get("detector")
    if isinstance(detector, dict) and detector.get("kind") in _DETECTORS:
        named = {**kept, "detector": detector["kind"]}
        if digest(cls.from_json(named)) == wanted:
            kept = named
    return {"kind": kind, **kept}


# Python


def _python(full: Mapping[str, Any], short: Mapping[str, Any], dataset: str, url: str) -> str:
    head = [
        "import os",
        "import whitecrow as wc",
        "",
        f'client = wc.Client({json.dumps(url)}, os.environ["WHITECROW_TOKEN"], '
        f"dataset={dataset!r})",
    ]
    call = _call(short)
    if call is None:  # a question that no form makes: as it is stored
        head.insert(1, "from whitecrow.curator import read_question")
        call = f"release = client.ask(read_question({dict(full)!r}))"
    return "\n".join([*head, call, "print(release.answer, release.statement)"])


def _call(short: Mapping[str, Any]) -> str | None:
    first, named = "", []
    for key, value in short.items():
        if key == "kind":
            continue
        if key in ("record", "columns") and short["kind"] not in ("subspaces",) and not first:
            first = repr(value)
        elif key == "model":
            named.append(f"model={_model(value)}")
        elif key == "detector" and not isinstance(value, str):
            if "radius" not in value:
                return None
            named.append(f"detector={_model(value)}")
        elif isinstance(value, dict) and key in ("clip", "utility"):
            return None
        else:
            named.append(f"{key}={value!r}")
    lines = ",\n    ".join([*([first] if first else []), *named])
    return f"release = client.{short['kind']}(\n    {lines},\n)"


def _model(model: Mapping[str, Any]) -> str:
    parts = [f"beta={model['beta']}", f"radius={model['radius']!r}"]
    if model.get("metric", "euclidean") != "euclidean":
        parts.append(f"metric={model['metric']!r}")
    return f"wc.DistanceAnomaly({', '.join(parts)})"


# Terminal


def _terminal(short: Mapping[str, Any], dataset: str, url: str) -> str:
    words: list[str] = []
    for key, value in short.items():
        if key == "kind":
            continue
        found = _options(str(short["kind"]), key, value)
        if found is None:
            return f"# The terminal has no option for {key!r} of this question; use Python or curl."
        words.extend(found)
    lines = [f"whitecrow {short['kind']} {shlex.quote(dataset)} --server {shlex.quote(url)}"]
    for flag, value in zip(words[::2], words[1::2], strict=True):
        lines.append(f"  {flag} {shlex.quote(value)}" if value else f"  {flag}")
    return " \\\n".join(lines)


def _options(kind: str, key: str, value: Any) -> list[str] | None:
    """Flags and values, in turn; an empty value for a flag without one. None: no such option."""
    if key in _FLAGS and not isinstance(value, dict):
        return [_FLAGS[key], str(value)]
    if key in _SWITCHES:
        flag = _SWITCHES[key][0 if value else 1]
        return [flag, ""] if flag else None
    if key in ("record", "start"):
        return [f"--{key}", json.dumps(value, ensure_ascii=False)]
    if key in ("columns", "attributes"):
        return [f"--{key}", ",".join(value)]
    if key == "subspaces":
        return [part for one in value for part in ("--subspace", ",".join(one))]
    if key == "model" or (key == "detector" and isinstance(value, dict) and "radius" in value):
        found = ["--beta", str(value["beta"]), "--radius", f"{value['radius']!r}"]
        if key == "detector":
            return ["--detector", "distance", *found]
        plain = value.get("metric", "euclidean") == "euclidean"
        return found if plain else [*found, "--metric", value["metric"]]
    if key == "detector" and isinstance(value, str):
        return ["--detector", value]
    if key == "clip" and isinstance(value, list):
        return ["--clip", ",".join(value)]
    if key == "rho":
        return _gaussian(Fraction(value))
    return None


def _gaussian(rho: Fraction) -> list[str] | None:
    """The option that spends rho: its epsilon has rho = epsilon^2 / 2, where that is rational."""
    from math import isqrt

    square = 2 * rho
    top, bottom = isqrt(square.numerator), isqrt(square.denominator)
    if top * top != square.numerator or bottom * bottom != square.denominator:
        return None
    return ["--noise", "gaussian", "--epsilon", f"{top}/{bottom}"]


# curl


def _curl(question: Mapping[str, Any], dataset: str, url: str) -> str:
    assert question["kind"] in KINDS
    body = json.dumps(dict(question), ensure_ascii=False)
    return " \\\n".join(
        [
            f"curl {shlex.quote(f'{url}/v1/datasets/{dataset}/ask')}",
            '  -H "Authorization: Bearer $WHITECROW_TOKEN"',
            "  -H 'Content-Type: application/json'",
            f"  -d {shlex.quote(body)}",
        ]
    )
