"""The crossing: facts are opened by mechanisms only, and records are typed wherever they are."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import get_type_hints

import pytest

from whitecrow.data import Dataset, Records
from whitecrow.data.warehouse import RemoteDataset
from whitecrow.questions import BUILT_IN, question_type

CHECKERS = ("whitecrow_audit/", "whitecrow/attack/")
"""Packages that make up facts themselves, to check mechanisms against proofs and adversaries."""

CUSTODIAN = {
    "Rejections": {"whitecrow/data/intake.py"},
    "PrivacyMap": {
        "whitecrow/identify/map.py",
        "whitecrow_server/_maps.py",
        "whitecrow_server/console/_privacy_map.py",
        "whitecrow/demo/identify.py",
    },
}
"""Reports for the custodian's eyes, which no question releases, and who shows them."""


# --- which attribute reads open facts: a small inference of types over the syntax trees


class Types:
    """What the tree says of private types: facts with their fields, and who returns or holds them.

    A type is a set of names of facts classes, or ``("of", type)`` for a collection or a callable
    of them, or ``("each", types)`` for a tuple; None for anything else.
    """

    def __init__(self, trees):
        classes = [node for tree in trees for node in ast.walk(tree) if _is(node, ast.ClassDef)]
        self.facts = {
            node.name: node
            for node in classes
            if any(_is(base, ast.Name) and base.id == "Facts" for base in node.bases)
        }
        self.held, self.returned = {}, {}
        for node in classes:
            for part in node.body:
                if _is(part, ast.AnnAssign) and _is(part.target, ast.Name):
                    self._add(self.held, part.target.id, self.read(part.annotation))
        for tree in trees:
            for node in ast.walk(tree):
                if _is(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    found = self.read(node.returns)
                    prop = any(getattr(d, "id", "") == "property" for d in node.decorator_list)
                    where = self.held if prop else self.returned
                    self._add(where, _called(node.name, tree), found)
        self.own = {}
        for node in classes:
            for name, value in _kept(node):
                self._add(self.own, (node.name, name), self.of(value, {}))

    @staticmethod
    def _add(known, name, found):
        if isinstance(found, frozenset) and isinstance(known.get(name), frozenset):
            known[name] |= found
        elif found is not None:
            known.setdefault(name, found)

    def read(self, note):
        """Return the type that an annotation stands for."""
        if _is(note, ast.Constant) and isinstance(note.value, str):
            note = ast.parse(note.value, mode="eval").body
        if _is(note, ast.Name):
            return frozenset([note.id]) if note.id in self.facts else None
        if _is(note, ast.BinOp):
            return self.read(note.left) or self.read(note.right)
        if not _is(note, ast.Subscript):
            return None
        inside = note.slice.elts if _is(note.slice, ast.Tuple) else [note.slice]
        inner = [self.read(part) for part in inside]
        if not any(inner):
            return None
        whole = getattr(note.value, "id", "") == "tuple" and not _is(inside[-1], ast.Constant)
        return ("each", inner) if whole else ("of", next(filter(None, inner)))

    def of(self, node, names):
        """Return the type of an expression."""
        if _is(node, ast.Name):
            return None if node.id == "self" else names.get(node.id)
        if _is(node, ast.Attribute):
            within = names.get("self") if getattr(node.value, "id", "") == "self" else None
            return self.own.get((within, node.attr)) or self.held.get(node.attr)
        if _is(node, ast.IfExp | ast.BoolOp):
            parts = [node.body, node.orelse] if _is(node, ast.IfExp) else node.values
            return next(filter(None, (self.of(part, names) for part in parts)), None)
        if _is(node, ast.Subscript):
            found = self.of(node.value, names)
            return found[1] if isinstance(found, tuple) and found[0] == "of" else None
        if not _is(node, ast.Call):
            return None
        called = node.func
        name = getattr(called, "id", None) or getattr(called, "attr", None)
        if name in self.facts:
            return frozenset([name])
        if name == "replace" and node.args:
            return self.of(node.args[0], names)
        held = self.of(called, names)
        if isinstance(held, tuple):
            return held[1]
        return self.returned.get(_called(name, names.get("module")))

    def bind(self, target, found, names):
        """Give a target of an assignment its type."""
        if _is(target, ast.Name):
            names[target.id] = found
        elif _is(target, ast.Tuple) and isinstance(found, tuple):
            each = found[1] if found[0] == "each" else [found[1]] * len(target.elts)
            for part, one in zip(target.elts, each, strict=False):
                self.bind(part, one, names)


def _is(node, kinds):
    return isinstance(node, kinds)


def _called(name, tree):
    """A private function is known in its own module only."""
    return (id(tree), name) if name and name.startswith("_") else name


def _kept(node):
    """What a class assigns to its own attributes."""
    for part in ast.walk(node):
        if _is(part, ast.Assign):
            for target in part.targets:
                if _is(target, ast.Attribute) and getattr(target.value, "id", "") == "self":
                    yield target.attr, part.value


def opened(tree, types) -> Iterator[tuple[str, str]]:
    """Yield (class of facts, attribute) for every read of a private attribute."""
    inside = {}
    for owner in ast.walk(tree):
        if _is(owner, ast.ClassDef):
            inside |= {id(node): owner.name for node in ast.walk(owner)}
            if owner.name in types.facts:
                for node in ast.walk(owner):
                    if _is(node, ast.Attribute) and getattr(node.value, "id", "") == "self":
                        yield owner.name, node.attr
        if _is(owner, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module):
            yield from _reads(owner, types, {"self": inside.get(id(owner)), "module": tree})


def _reads(owner, types, names):
    if not _is(owner, ast.Module):
        given = owner.args
        for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs):
            names.setdefault(argument.arg, types.read(argument.annotation))
    nodes = list(_within(owner))
    for _ in range(2):
        for node in nodes:
            if _is(node, ast.Assign):
                for target in node.targets:
                    types.bind(target, types.of(node.value, names), names)
            elif _is(node, ast.AnnAssign):
                types.bind(node.target, types.read(node.annotation), names)
            elif _is(node, ast.For | ast.comprehension):
                found = types.of(node.iter, names)
                types.bind(node.target, found[1] if isinstance(found, tuple) else None, names)
    for node in nodes:
        if _is(node, ast.Attribute):
            found = types.of(node.value, names)
            if isinstance(found, frozenset) and not node.attr.startswith("__"):
                yield from ((name, node.attr) for name in found)
        elif _is(node, ast.Call) and getattr(node.func, "id", "") in ("getattr", "vars", "asdict"):
            found = types.of(node.args[0], names)
            if isinstance(found, frozenset):
                yield from ((name, node.func.id) for name in found)


def _within(owner):
    """The nodes of a function that are not those of a function inside it."""
    waiting = list(ast.iter_child_nodes(owner))
    while waiting:
        node = waiting.pop(0)
        yield node
        if not _is(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            waiting = [*ast.iter_child_nodes(node), *waiting]


LEAKS = {
    "a parameter": "def f(facts: IdentifyFacts): return facts.copies",
    "what is returned": "def f(q, d, e):\n    found = gather(q, d, e)\n    found.copies",
    "a field of a field": "def f(state: PublisherState): return state.position.base",
    "what is kept": (
        "class A:\n    def __init__(self): self.s = fresh(1)\n    def f(self): self.s.waiting"
    ),
    "one of many": "def f(facts: PublishFacts): return [day.joins for day in facts.days]",
    "a count to come": "def f(facts: TuneFacts): return facts.count(1).outliers",
    "a computed name": "def f(facts: ScreenFacts): return getattr(facts, 'neighbours')",
    "its own method": "class MoreFacts(Facts):\n    x: int\n    def f(self): return self.x",
}
"""Code that opens facts where it must not."""


@pytest.fixture(scope="module")
def leaks():
    return {name: ast.parse(code) for name, code in LEAKS.items()}


@pytest.fixture(scope="module")
def types(trees, leaks):
    return Types([*trees.values(), *leaks.values()])


def test_only_mechanism_modules_open_facts(trees, types):
    assert {"IdentifyFacts", "TuneFacts", "PublisherState", "Position"} <= set(types.facts)
    broken, mechanisms = [], set()
    for where, tree in trees.items():
        if where.startswith(CHECKERS):
            continue
        for name, attribute in opened(tree, types):
            if where.endswith("mechanism.py"):
                mechanisms.add(where)
            elif where not in CUSTODIAN.get(name, ()):
                broken.append(f"{where}: {name}.{attribute}")
    assert not broken
    folders = {module.split(".")[1] for module, _ in BUILT_IN.values()}
    assert {f"whitecrow/{folder}/mechanism.py" for folder in folders - {"count"}} <= mechanisms


@pytest.mark.parametrize("leak", LEAKS)
def test_the_search_for_opened_facts_finds(leaks, types, leak):
    assert list(opened(leaks[leak], types))


# --- records


@pytest.mark.parametrize("kind", BUILT_IN)
def test_every_question_gathers_from_records_wherever_they_are(kind):
    code = question_type(kind)
    hints = get_type_hints(code.gather)
    assert hints["dataset"] is Records
    assert hints["question"] is code.question
    assert hints["return"] is get_type_hints(code.release)["facts"]


def test_local_and_remote_data_have_all_that_records_offer():
    asked = {name for name in vars(Records) if not name.startswith("_")}
    assert {"card", "size", "tally", "close"} <= asked
    for offered in (Dataset, RemoteDataset):
        assert asked - {"card"} <= set(dir(offered))
