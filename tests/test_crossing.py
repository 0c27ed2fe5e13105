"""The crossing: exact numbers stay in facts, and only a mechanism opens them.

A field of facts is public (named here), or *exact* (``exact_...``: a ``mechanism.py`` reads it), or
*hidden* (``_...``: the facts' own methods read it, and whatever they answer has noise).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import get_type_hints

import pytest

from whitecrow.data import Dataset, Records
from whitecrow.data.warehouse import RemoteDataset
from whitecrow.questions import BUILT_IN, question_type

PUBLIC = {
    "base", "calibration", "candidates", "caps", "card", "count", "domain", "done", "epoch", "eta",
    "last", "method", "plan", "search", "space", "start", "step", "within",
}  # fmt: skip
"""Fields of facts that hold no record's doing; ``count`` leads to further facts."""

COUNTING = {"counted_by", "every_counted_by", "every_text"}
"""What counts records exactly, for facts to hide."""

NOISES = {"whitecrow/histogram/noise_budget.py", "whitecrow/sites/__init__.py"}
"""Where noise is added to the counts that facts hand it."""

CHECKERS = ("whitecrow_audit/", "whitecrow/attack/")
"""Packages that make up facts themselves, to check mechanisms against proofs and adversaries."""

CUSTODIAN = {
    "Rejections": ("whitecrow/data/",),
    "rejections": ("whitecrow/data/",),
    "PrivacyMap": ("whitecrow/identify/map.py",),
    "privacy_map": ("whitecrow/identify/map.py", "whitecrow/hazmat.py", "whitecrow_server/"),
}
"""Reports for the custodian's eyes, which no question releases, and who knows of them."""


def facts_of(trees, known=()) -> dict[str, ast.ClassDef]:
    """Every class of facts, by its name."""
    classes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    found: dict[str, ast.ClassDef] = {}
    for _ in range(2):  # facts, and what is derived from them
        for node in classes:
            bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
            if bases & {"Facts", *found, *known} and node.name not in CUSTODIAN:
                found[node.name] = node
    return found


@pytest.fixture(scope="module")
def facts(trees):
    return facts_of(trees.values())


def fields(owner: ast.ClassDef) -> Iterator[str]:
    return (part.target.id for part in owner.body if isinstance(part, ast.AnnAssign))


def leaks(where: str, tree: ast.Module, facts: dict[str, ast.ClassDef]) -> Iterator[str]:
    """Say what of a file lets exact numbers out."""
    named = {name for owner in facts.values() for name in fields(owner)}
    exact = {name for name in named if name.startswith("exact_")}
    hidden = {name for name in named if name.startswith("_")} | {"_exact"}
    for node in ast.walk(tree):
        name = getattr(node, "attr", None) or getattr(node, "value", None)
        if isinstance(node, ast.Attribute | ast.Constant) and isinstance(name, str):
            own = isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "self"
            if name in exact and not where.endswith("mechanism.py"):
                yield f"{where}: {name}"
            if name in hidden and not own:
                yield f"{where}: {name} of another"
        if isinstance(node, ast.Name) and node.id in COUNTING and not where.endswith("/facts.py"):
            yield f"{where}: counts records where nothing hides them"
        if isinstance(node, ast.ClassDef) and node.name in facts:
            yield from (
                f"{where}: {node.name}.{name} is neither public, exact nor hidden"
                for name in fields(node)
                if name not in PUBLIC and not name.startswith(("exact_", "_"))
            )
        if isinstance(node, ast.ClassDef):
            for part in node.body:
                if not isinstance(part, ast.FunctionDef) or part.name[0] == "_":
                    continue
                given = {argument.arg for argument in part.args.args}
                if node.name in facts and not ({"noise", "epsilon"} & given and "source" in given):
                    yield f"{where}: {node.name}.{part.name} answers without noise"
                if part.name == "added" and where not in NOISES:
                    yield f"{where}: {node.name} is noise of its own"


LEAKS = {
    "a field": "def f(facts): return facts.exact_truth",
    "what is returned": "def f(q, d, e): return gather(q, d, e).exact_truth",
    "a field of a field": "def f(state): return state.exact_position.exact_memories",
    "one of many": "def f(facts): return [day.exact_joins for day in facts.exact_days]",
    "a computed name": "def f(facts): return getattr(facts, 'exact_bound')",
    "a field with another name": "class Own(Facts):\n    neighbours: int",
    "a method that tells": "class Own(CellFacts):\n    def tell(self): return self._exact(0)",
    "a hidden field": "def f(facts, cells): return facts._count(cells)",
    "a hidden method": "def f(facts, cells): return facts._exact(cells)",
    "a count of its own": "def f(cells, dataset): return counted_by(cells, dataset, ['x'])",
    "noise that is none": "class No(Noise):\n    def added(self, counts, source): return counts",
}
"""Code that lets exact numbers out."""


def test_exact_numbers_stay_in_facts_and_mechanisms(trees, facts):
    assert {"PlaceFacts", "CellFacts", "LearnFacts", "PublisherState"} <= set(facts)
    mine = [where for where in trees if not where.startswith(CHECKERS)]
    assert not [leak for where in mine for leak in leaks(where, trees[where], facts)]


@pytest.mark.parametrize("leak", LEAKS)
def test_a_leak_is_found(facts, leak):
    tree = ast.parse(LEAKS[leak])
    assert list(leaks("whitecrow/own/text.py", tree, facts | facts_of([tree], facts)))


def test_reports_for_the_custodian_are_known_where_they_are_shown(trees):
    for where, tree in trees.items():
        for node in ast.walk(tree):
            for known in (getattr(node, name, "") for name in ("id", "attr", "name")):
                allowed = CUSTODIAN.get(known, where) if isinstance(known, str) else where
                assert where.startswith(allowed), f"{where}: {known}"


# --- records


@pytest.mark.parametrize("kind", BUILT_IN)
def test_every_question_gathers_from_records_wherever_they_are(kind):
    code = question_type(kind)
    hints = get_type_hints(code.gather)
    assert hints["dataset"] is Records
    assert issubclass(code.question, hints["question"])
    assert hints["return"] is get_type_hints(code.release)["facts"]


def test_local_and_remote_data_have_all_that_records_offer():
    asked = {name for name in vars(Records) if not name.startswith("_")}
    assert {"card", "size", "tally", "close"} <= asked
    for offered in (Dataset, RemoteDataset):
        assert asked - {"card"} <= set(dir(offered))
