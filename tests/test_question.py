"""Questions: one identity for one question, and statements that promise no more than is kept."""

import whitecrow as wc
from whitecrow.curator.opening import Opened
from whitecrow.data import Card, Column
from whitecrow.neighbours import open_engine
from whitecrow.question import digest, statement

MODEL = wc.DistanceAnomaly(beta=3, radius=2)


def test_spelling_does_not_change_a_questions_identity():
    one = wc.Screen({"age": 61, "bmi": 24.0}, model=MODEL, epsilon="0.1")
    for other in (
        wc.Screen({"bmi": 24, "age": 61.0}, model=wc.DistanceAnomaly(3, 2.0), epsilon="1/10"),
        wc.Screen.from_json(one.to_json()),
        wc.Screen({"age": 61, "bmi": 24}, model=MODEL, epsilon=0.1),
    ):
        assert digest(other) == digest(one)


def test_another_question_has_another_identity():
    one = wc.Screen({"age": 61}, model=MODEL, epsilon="0.1")
    others = [
        wc.Screen({"age": 62}, model=MODEL, epsilon="0.1"),
        wc.Screen({"bmi": 61}, model=MODEL, epsilon="0.1"),
        wc.Screen({"age": 61}, model=MODEL, epsilon="0.2"),
        wc.Screen({"age": 61}, model=wc.DistanceAnomaly(4, 2), epsilon="0.1"),
        wc.Identify({"age": 61}, model=MODEL, k=1, epsilon="0.1"),
    ]
    assert len({digest(question) for question in (one, *others)}) == 1 + len(others)


def test_where_a_person_has_several_records_the_statement_says_so():
    columns = (Column("who", "text"), Column("age", lower=0, upper=120))
    question = wc.Screen({"age": 61}, model=MODEL, epsilon="0.1")
    alone = Card("visits", columns)
    many = Card("visits", columns, unit="user", user_column="who", contribution=3)
    assert "one person" not in statement(question, question.price(alone), alone)
    assert "all records of one person here (at most 3)" in statement(
        question, question.price(many), many
    )


def test_under_another_card_the_same_words_are_another_question():
    """A stored answer was computed on the records as the old card read them."""
    import pyarrow

    rows = pyarrow.table({"age": [30.0, 31.0, 90.0, 500.0]})
    question = wc.Screen({"age": 61}, model=MODEL, epsilon="0.1")
    cards = [
        Card("visits", (Column("age", lower=0, upper=120, outside=o),)) for o in ("reject", "clip")
    ]
    assert digest(question, cards[0]) != digest(question, cards[1])
    assert digest(question, Card("people", cards[0].columns)) == digest(question, cards[0])
    # Under a public size all columns decide who counts, whatever is asked; the number does not.
    four, five = (Card("people", cards[0].columns, size_public=True, size=n) for n in (4, 5))
    assert digest(question, four) == digest(question, five) != digest(question, cards[0])
    first = wc.Curator.open(rows, card=cards[0], ledger="sqlite://", name="visits")
    assert first.ask(question).charged
    assert not first.ask(question).charged
    read = wc.read(rows, cards[1])
    second = wc.Curator(Opened(read, first.ledger, "visits", open_engine(read)))
    assert second.ask(question).charged
