"""For authors of questions and of models: what they must keep, checked.

``check_question`` is a conformance suite, as ``check_estimator`` is for estimators;
``check_model`` computes on a small universe whether a model keeps its promise.
"""

from __future__ import annotations

import copy
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from whitecrow.anomaly.check import ModelReport, check_model
from whitecrow.curator import Curator
from whitecrow.data import Card
from whitecrow.errors import InvalidInput
from whitecrow.exhaustive import exhaust
from whitecrow.neighbours import open_data
from whitecrow.privacy import Facts, Guarantee
from whitecrow.question import Description, Question, QuestionType, digest
from whitecrow.questions import BUILT_IN, kinds, register, type_of

__all__ = ["ModelReport", "check_model", "check_question"]

Type = QuestionType[Any, Any, Any]


def check_question(
    found: Type,
    examples: Sequence[Question],
    records: object,
    card: Card,
    *,
    law: Mapping[str, Any] | None = None,
) -> list[str]:
    """Check that a question keeps the contract that curators, services and ledgers rely on.

    Parameters
    ----------
    found : QuestionType
        What is checked.
    examples : sequence of Question
        At least one question that the card can serve.
    records : data frame, Arrow table or path
        A few records that fit the card; made up, for answers are drawn from them.
    card : Card
        Their public facts.
    law : mapping, optional
        What :func:`whitecrow.exhaustive.exhaust` needs to measure the loss on every edge of a small
        universe: ``law`` (database to output law), ``edges`` and ``epsilon``. Without it the law
        is not checked, and the last line says so.

    Returns
    -------
    list of str
        What was checked, a line each.

    Raises
    ------
    AssertionError
        With a sentence that says what is broken.
    """
    assert examples, "Give at least one example of the question."
    if found.question.kind not in BUILT_IN and found.question.kind not in kinds():
        register(found)
    checked = []
    for check in (_declared, _canonical, _priced_without_data, _hidden, _charged_once):
        for example in examples:
            check(found, example, records, card)
        checked.append((check.__doc__ or "").splitlines()[0])
    checked.append(_lawful(law))
    return checked


def _declared(code: Type, example: Question, records: object, card: Card) -> None:
    """Parameters are declared, documented, checked and frozen."""
    question = code.question
    assert type(example) is question, f"{example!r} is not a {question.__name__}."
    assert type_of(example) is code, f"Another question has the kind {question.kind!r}."
    assert question.asks, "Say what it asks, in one line: `asks`."
    for name, parameter in question.parameters.items():
        assert parameter.help, f"The parameter {name!r} has no help."
        try:
            setattr(example, name, None)
        except AttributeError:
            continue
        raise AssertionError(f"The parameter {name!r} can be changed after the question was made.")
    try:
        question.from_json({**example.to_json(), "no such parameter": 1})
    except InvalidInput:
        return
    raise AssertionError("A parameter that is not declared is accepted.")


def _canonical(code: Type, example: Question, records: object, card: Card) -> None:
    """The JSON is canonical: it is plain, complete, and leads back to the same question."""
    fields = json.loads(json.dumps(example.to_json(), allow_nan=False))
    again = code.question.from_json(fields)
    assert again == example, f"From its JSON comes another question: {again!r}."
    assert digest(again, card) == digest(example, card), "Its identity changes on the way."
    assert hash(again) == hash(example), "Equal questions have different hashes."
    names = set(code.question.json_schema()["properties"])
    assert set(fields) <= names, f"The schema does not have {set(fields) - names}."


def _priced_without_data(code: Type, example: Question, records: object, card: Card) -> None:
    """Price and description are known from public facts, and are the same every time."""
    price = example.price(card)
    assert isinstance(price, Guarantee), f"The price is a {type(price).__name__}."
    described = example.describe(card)
    assert isinstance(described, Description), "`describe` returns a Description."
    assert described.price == price, "The description names another price."
    assert example.price(copy.deepcopy(card)) == price, "The same card gives another price."
    json.dumps(described.to_json(), allow_nan=False)


def _hidden(code: Type, example: Question, records: object, card: Card) -> None:
    """Facts show nothing of themselves: no repr, no JSON, no pickle, no log line."""
    heard: list[str] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            heard.append(record.getMessage())

    listener, root = Listener(), logging.getLogger()
    root.addHandler(listener)
    try:
        dataset, engine = open_data(records, card, "local")
        facts = code.gather(example, dataset, engine, None)
    finally:
        root.removeHandler(listener)
    assert isinstance(facts, Facts), f"Facts are a {type(facts).__name__}, not a privacy.Facts."
    assert repr(facts) == str(facts) == "<facts withheld>", "The facts show themselves."
    ways: dict[str, Callable[[], object]] = {
        "pickle": lambda: facts.__reduce_ex__(4),
        "json": lambda: json.dumps(facts),
    }
    for way, write in ways.items():
        try:
            write()
        except TypeError:
            continue
        raise AssertionError(f"The facts can be written down by {way}.")
    assert not heard, "Gathering facts writes log lines."


def _charged_once(code: Type, example: Question, records: object, card: Card) -> None:
    """A question is charged its price once; asked again it gets the stored answer."""
    with Curator.open(
        records, card=card, budget="1000000, 1/2", ledger="sqlite://", name="check"
    ) as curator:
        curator.amend(
            reason="check",
            policy={"notions": ["differential", "concentrated", "sensitive", "conditional"]},
        )
        first, second = curator.ask(example), curator.ask(example)
    assert first.charged, "The first time is not charged."
    assert not second.charged, "The second time is charged again."
    assert first.answer == second.answer, "The second time has another answer."
    assert first.guarantee == example.price(card), "The release promises another guarantee."
    assert example.says(first.answer).headline, "The answer cannot be said in words."


def _lawful(law: Mapping[str, Any] | None) -> str:
    if law is None:
        return "The law was not checked: none was given."
    report = exhaust(law["law"], law["edges"], law["epsilon"])
    assert report.worst_loss <= report.bound * (1 + 1e-9), (
        f"On some edge the loss is {report.worst_loss:.6g}, more than {report.bound:.6g}."
    )
    return f"The law keeps its bound on {report.edges} edges."
