"""With frozen answers, neighbouring data look the same; a house that tells is found out."""

from __future__ import annotations

import pytest

from whitecrow.questions import BUILT_IN
from whitecrow_audit.audit.replay import BASE, LEAKS, neighbours, questions, replay, transcript


@pytest.fixture(scope="module")
def base() -> list[str]:
    return transcript(BASE)


def test_questions_of_every_kind_and_fate_are_asked(base):
    kinds = {question.kind for question in questions()}
    assert set(BUILT_IN) == kinds
    for word in ("ComputationFailed", "InvalidInput", "NotAllowed", "BudgetExhausted"):
        assert any(line.startswith(word) for line in base)
    for call in ("reserve", "gather", "release", "settle", "fail"):
        assert f"call {call}" in base
    assert any('"charged": false' in line for line in base)


@pytest.mark.parametrize("which", neighbours())
def test_neighbours_look_the_same_to_the_last_byte(which, base):
    assert transcript(neighbours()[which]) == base


@pytest.mark.parametrize("which", LEAKS)
def test_a_house_that_tells_something_looks_different(which):
    honest = transcript(BASE, LEAKS[which])
    assert any(transcript(records, LEAKS[which]) != honest for records in neighbours().values())


def test_the_replay_says_so():
    found = replay()
    assert found.ok
    assert "5 neighbours look the same" in found.words()
