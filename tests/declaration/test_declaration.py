"""Parameters are written once; checks, JSON, schema, terminal, forms and samples follow."""

from __future__ import annotations

import inspect
from fractions import Fraction

import jsonschema
import pytest
from click.testing import CliRunner

import whitecrow as wc
from whitecrow.cli import whitecrow
from whitecrow.data import Card
from whitecrow.declaration import Declared, Exact, Maybe, Names, Whole, inputs
from whitecrow.demo import CARD
from whitecrow.errors import InvalidInput
from whitecrow.questions import BUILT_IN, kinds, question_type
from whitecrow_server.console._forms import question_groups

CLINIC = Card.parse(CARD.read_text(encoding="utf-8"))
MODEL = wc.DistanceAnomaly(beta=3, radius=2)
EXAMPLES = {
    "identify": wc.Identify({"age": 61}, model=MODEL, epsilon="0.1"),
    "screen": wc.Screen({"age": 61}, model=MODEL, epsilon="0.1"),
    "count": wc.Count(["age"], model=MODEL, epsilon=1),
    "subspaces": wc.Subspaces(1, 2, model=MODEL, epsilon=1, count_share="1/2"),
    "explain": wc.Explain({"ward": "icu", "cost": 9}, metric="cost", detector=MODEL, epsilon=1),
    "publish": wc.Publish("cost", time="day", start="2024-01-01", clip=(0, 9), epsilon=1),
    "lookahead": wc.Lookahead(["ward"], model=wc.DistanceAnomaly(5, 0), k=5, epsilon=1),
    "profile": wc.Profile(["age"], epsilon=1, delta="1e-6", weights={"age": 2}),
    "learn": wc.Learn(["age"], epsilon=1, delta="1e-6"),
    "screening": wc.Screening({"age": 61}, model=MODEL, epsilon=1, delta="1e-6"),
    "monitor": wc.Monitor(["age"], time="day", start="2024-01-01", horizon=12, epsilon=1),
    "tune": wc.Tune(["age"], share="0.1", radii=[1, 2], beta=3, epsilon=1),
}


class Sample(Declared):
    """A sample."""

    names: Maybe[tuple[str, ...], list[str]] = Maybe(  # type: ignore[arg-type]
        Names(help="Some names."), default=None, kw_only=False
    )
    share: Exact = Exact(help="A share.", below=1)
    size: Whole = Whole(help="A size.", default=3, most=9, former="length")


def test_every_question_has_an_example_here():
    assert set(EXAMPLES) == set(BUILT_IN)


def test_what_is_asked_is_said_alike_in_the_list_and_on_the_class():
    for kind, (_, asks) in BUILT_IN.items():
        assert question_type(kind).question.asks == asks


@pytest.mark.parametrize("kind", EXAMPLES)
def test_a_question_fits_its_own_schema_and_a_stranger_does_not(kind):
    question = EXAMPLES[kind]
    schema = type(question).json_schema(kind=kind)
    jsonschema.Draft202012Validator.check_schema(schema)
    written = {"kind": kind, **question.to_json()}
    jsonschema.validate(written, schema)
    for wrong in ({**written, "colour": 1}, {**written, "kind": "other"}, {"kind": kind}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)


@pytest.mark.parametrize("kind", EXAMPLES)
def test_every_parameter_is_an_option_a_field_and_a_line_of_the_reference(kind):
    question = type(EXAMPLES[kind])
    command = whitecrow.get_command(whitecrow.make_context("whitecrow", ["demo"]), kind)
    parts = [[name] for name in getattr(command, "commands", {})] or [[]]
    shown = "".join(
        CliRunner().invoke(whitecrow, [kind, *part, "--help-all"]).output for part in parts
    )
    fields = {field.name for group in question_groups(question, CLINIC) for field in group.fields}
    signature = inspect.signature(question)
    for name in question.parameters:
        assert name in signature.parameters
        assert f"\n{name} : " in inspect.getdoc(question)
    for declared in (question, question.shortcuts, question.guesses):
        for one in inputs(declared):
            assert one.parameter.help
            # Several records come from a file at the terminal: --records.
            flag = "--records" if one.name == "batch" else one.parameter.flag
            assert flag in shown
            # Records of a screening are dropped on its page, not typed into the form.
            assert one.name in fields or one.parameter.control in ("record", "records")


def test_what_is_given_is_checked_and_kept_exactly():
    found = Sample(["b", "a"], share=0.1)
    assert (found.names, found.share, found.size) == (("a", "b"), Fraction(1, 10), 3)
    assert found == Sample(share="1/10", names=["a", "b"])
    assert hash(found) == hash(Sample(share="1/10", names=["a", "b"]))
    assert found != found.replace(size=4)
    assert repr(found) == "Sample(names=('a', 'b'), share=Fraction(1, 10))"
    assert Sample.from_json(found.to_json()) == found


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "Sample needs 'share': A share."),
        ({"share": 1}, "The 'share' parameter of Sample must be above 0 and below 1. Got 1"),
        ({"share": "1/2", "size": 10}, "must be a whole number between 1 and 9. Got 10"),
        ({"share": "1/2", "size": True}, "Got True"),
        ({"share": "1/2", "sise": 2}, "Sample has no parameter 'sise'; did you mean 'size'?"),
        ({"share": "1/2", "names": ["a", "a"]}, "names the column 'a' twice"),
        ({"share": "1/2", "names": "ab"}, "a list of column names"),
    ],
)
def test_refusals_have_one_form(given, words):
    with pytest.raises(InvalidInput) as refused:
        Sample(**given)
    assert words in str(refused.value)


def test_a_parameter_cannot_be_changed():
    found = Sample(share="1/2")
    with pytest.raises(AttributeError, match="frozen"):
        found.size = 4
    assert found.size == 3


def test_an_earlier_name_works_and_says_the_new_one():
    with pytest.warns(DeprecationWarning, match="called 'size' now"):
        assert Sample(share="1/2", length=5).size == 5
    with pytest.raises(InvalidInput, match="twice"), pytest.warns(DeprecationWarning, match="size"):
        Sample(share="1/2", length=5, size=5)


def test_earlier_names_of_questions_still_work():
    with pytest.warns(DeprecationWarning, match="error_floor"):
        wc.Screen({"age": 1}, model=MODEL, epsilon=1, floor="1e-6")
    with pytest.warns(DeprecationWarning, match="expected_cluster_size"):
        wc.Count(model=MODEL, epsilon=1, crowding=7)


def test_there_are_no_two_questions_of_one_name():
    assert len(set(kinds())) == len(kinds())


def _replaced(written, value):
    """Every JSON that differs from this one in one place."""
    for key in written if isinstance(written, dict) else range(len(written)):
        changed = written.copy()
        changed[key] = value
        yield changed
        if isinstance(written[key], dict | list):
            for inner in _replaced(written[key], value):
                yield {**written, key: inner} if isinstance(written, dict) else inner


@pytest.mark.parametrize("kind", EXAMPLES)
def test_no_value_however_large_or_odd_breaks_more_than_its_question(kind):
    """Whatever is written in whatever place, it is a question or a refusal in words."""
    made = EXAMPLES[kind]
    odd = (10**400, -(10**400), 10**5000, float("inf"), {"": {}}, [[]])
    for written in (one for value in odd for one in _replaced(made.to_json(), value)):
        try:
            found = type(made).from_json(written)
            assert type(made).from_json(found.to_json()) == found
            found.price(CLINIC)
            found.describe(CLINIC)
        except InvalidInput:
            pass


def test_a_context_to_start_from_has_plain_values():
    made = EXAMPLES["explain"].to_json()
    for start in ({"ward": [{}]}, {"ward": float("nan")}, {"ward": 10**5000}):
        with pytest.raises(InvalidInput, match="start"):
            wc.Explain.from_json({**made, "start": start})


def test_many_names_are_compared_once_each():
    """Comparing each with all others took minutes for what fits into one request."""

    class Spelled(str):
        compared = 0

        def __eq__(self, other):
            Spelled.compared += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    Sample([Spelled(number) for number in range(2000)], share="1/2")
    assert Spelled.compared < 10_000


def test_zero_has_one_spelling():
    plus, minus = (wc.DistanceAnomaly(beta=1, radius=zero).to_json() for zero in (0.0, -0.0))
    assert repr(plus) == repr(minus)
