"""The tree of exceptions: drawn, raised by cause, reported by one table."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from whitecrow import errors
from whitecrow.errors import WhitecrowError

HOUSE = Path(errors.__file__).parent
KINDS = sorted(
    (
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, WhitecrowError)
    ),
    key=lambda kind: kind.__name__,
)
LEAVES = [kind for kind in KINDS if not any(kind in other.__bases__ for other in KINDS)]
BRANCHES = {"WhitecrowError", "PolicyViolation", "Unavailable"}


def _drawn() -> dict[str, str]:
    """The drawing at the head of the file: each name beside the one it hangs on."""
    found: dict[str, str] = {}
    above: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"    ([│├└─ ]*)([A-Z]\w+)  ", line)
        if match:
            depth = len(match[1]) // 4
            above[depth:] = [match[2]]
            found[match[2]] = above[depth - 1] if depth else ""
    return found


def test_the_tree_at_the_head_of_the_file_is_the_tree() -> None:
    real = {
        kind.__name__: next((base.__name__ for base in kind.__bases__ if base in KINDS), "")
        for kind in KINDS
    }
    assert _drawn() == real


def test_every_error_is_raised_by_its_cause(trees: dict[str, ast.Module]) -> None:
    """A branch is for catching: it is raised nowhere."""
    vague = []
    for where, tree in trees.items():
        if where.endswith("errors.py"):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
                name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
                if name in BRANCHES:
                    vague.append(f"{where}:{node.lineno}")
    assert not vague


@pytest.mark.parametrize("kind", KINDS)
def test_a_report_is_read_back_as_the_error_it_tells_of(kind: type[WhitecrowError]) -> None:
    said = kind("Something.")
    back = errors.from_json(errors.to_json(said))
    assert type(back) is kind
    assert str(back) == "Something."


def test_a_report_of_another_version_is_read_by_its_branch() -> None:
    of_old = {"refused": {"type": "PolicyViolation", "reason": "No."}}
    of_new = {"error": {"type": "Unavailable", "cause": "OutOfOrder", "reason": "Later."}}
    assert type(errors.from_json(of_old)) is errors.PolicyViolation
    assert type(errors.from_json(of_new)) is errors.Unavailable
    assert (
        type(errors.from_json({"error": {"type": "Exception", "reason": ""}})) is errors.Unavailable
    )
    assert errors.from_json({"detail": "not ours"}) is None


@pytest.mark.parametrize("kind", LEAVES)
def test_statuses_follow_the_branch(kind: type[WhitecrowError]) -> None:
    error = kind("Something.")
    status, left = errors.http_status(error), errors.exit_status(error)
    if issubclass(kind, errors.InvalidInput):
        assert (left, status in (404, 409, 422)) == (2, True)
    elif issubclass(kind, errors.PolicyViolation):
        assert (left, status in (401, 403)) == (1, True)
    elif issubclass(kind, errors.BudgetExhausted):
        assert (left, status) == (1, 402)
    else:
        assert (left, status in (429, 503)) == (1, True)
    assert (errors.retry_after(error) is None) == (status < 429 and status != 429)


def test_every_kind_is_in_the_documentation() -> None:
    page = (HOUSE.parents[3] / "docs" / "errors.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \| (\d) \|", page, re.MULTILINE)
    assert {name for name, _, _ in rows} == {kind.__name__ for kind in LEAVES}
    for name, http, left in rows:
        error = vars(errors)[name]("Something.")
        assert (errors.http_status(error), errors.exit_status(error)) == (int(http), int(left))
