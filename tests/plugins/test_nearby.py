"""A question from another package appears everywhere, without an edit inside whitecrow."""

from __future__ import annotations

import json
from itertools import product
from math import exp
from pathlib import Path

import pytest
from click.testing import CliRunner

import whitecrow as wc
from whitecrow import demo, questions
from whitecrow.cli import whitecrow
from whitecrow.curator import Policy
from whitecrow.data import Card
from whitecrow.errors import InvalidInput
from whitecrow.privacy import Facts
from whitecrow.question import QuestionType
from whitecrow.testing import check_question
from whitecrow_server import Settings, create_app
from whitecrow_server.console._forms import question_groups

nearby = pytest.importorskip(
    "whitecrow_nearby", reason="examples/nearby is not installed; scripts/test installs it"
)
CARD = Card.parse(demo.CARD.read_text(encoding="utf-8"))
PLACE = {"age": 40, "bmi": 25.0}
QUESTION = {"kind": "nearby", "place": PLACE, "radius": 4.0, "epsilon": "1/2"}
EPSILON, FAR = 0.5, 60


def law(database: tuple[int, ...]) -> dict[object, float]:
    """The exact law on a line of three places, radius 1, asked in the middle."""
    count, a = sum(database), exp(-EPSILON)
    inner: dict[object, float] = {
        o: (1 - a) / (1 + a) * a ** abs(o - count) for o in range(-FAR, FAR + 1)
    }
    return inner | {
        "below": a ** (count + FAR + 1) / (1 + a),
        "above": a ** (FAR + 1 - count) / (1 + a),
    }


def edges() -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    universe = list(product(range(4), repeat=3))
    return [
        (x, y)
        for x in universe
        for y in universe
        if sum(y) == sum(x) + 1 and all(0 <= b - a <= 1 for a, b in zip(x, y, strict=True))
    ]


def check(found=None, **more):
    examples = [nearby.Nearby(PLACE, radius=4, epsilon="1/2")]
    return check_question(found or nearby.NEARBY, examples, demo.DATA, CARD, **more)


def test_it_conforms():
    lines = check(law={"law": law, "edges": edges(), "epsilon": EPSILON})
    assert lines[-1] == f"The law keeps its bound on {len(edges())} edges."
    assert check()[-1] == "The law was not checked: none was given."


def test_the_conformance_suite_rejects_what_breaks_the_contract(monkeypatch):
    def bare(question, dataset, engine, progress=None):
        return 7

    class Loud(Facts):
        def __repr__(self) -> str:
            return "<7>"

    for gather, words in ((bare, "not a privacy.Facts"), (lambda *given: Loud(), "show")):
        broken = QuestionType(nearby.Nearby, gather, nearby.NEARBY.release)
        with monkeypatch.context() as patch:
            patch.setattr(questions, "_plugged_in", lambda kind, broken=broken: broken)
            with pytest.raises(AssertionError, match=words):
                check(broken)
    with pytest.raises(AssertionError, match="more than"):
        check(law={"law": law, "edges": edges(), "epsilon": EPSILON / 2})

    class Nameless(nearby.Nearby):
        asks = ""

    with pytest.raises(AssertionError, match="is not a Nameless"):
        check(QuestionType(Nameless, nearby.NEARBY.gather, nearby.NEARBY.release))


def test_the_terminal_asks_it_and_the_ledger_keeps_it(tmp_path: Path):
    ledger = f"sqlite:///{tmp_path / 'l.whitecrow.db'}"
    line = ["--json", "nearby", str(demo.DATA), "--card", str(demo.CARD), "--ledger", ledger]
    line += ["--place", json.dumps(PLACE), "--radius", "4", "--epsilon", "1/2"]
    first, again = (CliRunner().invoke(whitecrow, line) for _ in range(2))
    assert first.exit_code == 0, first.output
    found = json.loads(first.stdout)
    assert found["question"] == QUESTION
    assert isinstance(found["answer"], int)
    assert not json.loads(again.stdout)["charged"]
    shown = CliRunner().invoke(whitecrow, ["--json", "ledger", "export", ledger])
    assert '"nearby"' in shown.stdout, shown.output
    assert "nearby" in CliRunner().invoke(whitecrow, ["--help"]).output


def test_the_service_its_openapi_page_and_its_console_know_it(tmp_path: Path):
    settings = Settings(database=f"sqlite:///{tmp_path / 's.db'}")
    app = create_app(settings)
    written = app.openapi()
    body = written["paths"]["/v1/datasets/{name}/ask"]["post"]["requestBody"]
    listed = body["content"]["application/json"]["schema"]["oneOf"]
    found = {one["properties"]["kind"]["const"] for one in listed}
    assert {*questions.BUILT_IN, "nearby"} <= found
    groups = list(question_groups(nearby.Nearby, CARD))
    assert [field.name for group in groups for field in group.fields][-2:] == ["radius", "epsilon"]
    app.state.service.close()


def test_clients_ask_it_by_its_kind():
    curator = wc.Curator.open(demo.DATA, card=demo.CARD, ledger="sqlite://", name="clinic")
    found = curator.ask_about("nearby", PLACE, radius=4, epsilon="1/2")
    assert found.question == QUESTION
    with pytest.raises(InvalidInput, match="no question 'farby'"):
        curator.ask_about("farby", PLACE)
    assert Policy(questions=("nearby",)).questions == ("nearby",)
