"""Forms that help: mistakes at their field, a first question, one row a question, empty pages."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from whitecrow.curator import Policy
from whitecrow.demo import CARD, DATA
from whitecrow.ledger import Budget
from whitecrow.questions import kinds

from .conftest import NOTIONS, PASSWORD, House, Visitor, build
from .test_pages import Reader

People = Callable[[str], Visitor]


def test_a_policy_is_shown_before_it_is_in_force(house: House) -> None:
    custodian = house.visitor("custodian")
    fields = {
        "notions": ["differential", "sensitive"],
        "epsilon": "2",
        "delta": "0",
        "max_epsilon": "1/2",
        "max_tau": "30",
        "min_radius": "2",
        "questions": ["identify", "count"],
        "asking": ["ana", "bob", "*"],
        "may.ana": ["identify"],
        "may.*": ["count"],
    }
    path, name = "/datasets/ward/policy", "ward"
    shown = custodian.post(path, {**fields, "step": "show"})
    assert "This would promise" in shown.text
    assert "at least 30 records that pass the card (itself included) within 2 of it" in shown.text
    assert (
        "conditional" in house.service.dataset(house.person("custodian"), name)["policy"]["notions"]
    )
    refused = custodian.post(path, {**fields, "step": "force", "reason": ""})
    assert refused.status_code == 422
    done = custodian.post(path, {**fields, "step": "force", "reason": "reviewed"})
    assert done.status_code == 303
    found = house.service.dataset(house.person("custodian"), name)
    policy = Policy.from_json(found["policy"])
    assert policy.analysts == {"ana": ("identify",), "*": ("count",), "bob": ()}
    assert Budget.of(found["budget"]).sensitive == 2
    again = custodian.get(path).text
    assert ticked(again) == {"ana: identify", "everybody else: count"}
    assert 'name="epsilon" type="text" value="2"' in again


def test_ticks_of_a_policy_mean_what_they_show(house: House) -> None:
    """What is allowed is ticked, and what is not ticked is not allowed: none ticked allows none."""
    custodian, path = house.visitor("custodian"), "/datasets/clinic/policy"
    page = custodian.get(path).text
    boxes = re.findall(r'name="questions" value="(\w+)"( checked)?', page)
    assert {kind for kind, checked in boxes if checked} == set(kinds())
    assert len(ticked(page)) == 2 * len(kinds())  # ana, and everybody else
    fields = {"notions": NOTIONS, "epsilon": "100", "delta": "0", "step": "show"}
    none = {"asking": ["ana", "*"], "may.ana": list(kinds()), "may.*": list(kinds())}
    assert "No question is answered." in custodian.post(path, {**fields, **none}).text
    every = {**none, "questions": list(kinds())}
    shown = custodian.post(path, {**fields, **every}).text
    assert "may ask" not in shown.partition("This would promise")[2]
    assert "Only these" not in shown
    nobody = {**every, "may.ana": [], "may.*": []}
    assert "Everybody else may ask: nothing." in custodian.post(path, {**fields, **nobody}).text


def test_mistakes_are_told_where_they_were_made(visitors: People) -> None:
    ana = visitors("ana")
    for kind, changes, words in (
        ("identify", {"beta": "many"}, "must be a whole number"),
        ("identify", {"radius": ""}, "Radius is missing"),
        ("screen", {"record.age": "5"}, "age must be between the card"),
        ("screen", {"record.age": "old"}, "age: write a number"),
        ("count", {"epsilon": "0"}, "Price ε must be"),
        ("publish", {"start": "soon"}, "Starts must be"),
    ):
        reply = ana.priced(kind, **changes)
        assert reply.status_code == 422
        told_at(reply.text, next(iter(changes)), words)


def told_at(page: str, name: str, words: str) -> None:
    """The note above leads to the field, which is marked and says what is wrong."""
    found = Reader(page)
    field = next(
        one
        for tag, one in found.tags
        if one.get("name") == name and one.get("type") != "hidden" and "id" in one
    )
    where = field["id"]
    assert field["aria-invalid"] == "true"
    assert f"{where}-wrong" in (field["aria-describedby"] or "")
    note = re.search(r'role="alert" id="wrong"[^>]*>.*?</div>', page, re.S)
    assert note
    assert f'href="#{where}"' in note[0]
    at_field = re.search(rf'<p class="mistake" id="{where}-wrong">(.*?)</p>', page, re.S)
    assert at_field
    assert words in html.unescape(at_field[1])


def test_the_custodians_mistakes_are_told_at_their_field(house: House) -> None:
    custodian = house.visitor("custodian")
    good = {"notions": ["differential"], "epsilon": "1", "delta": "0", "step": "show"}
    for path, fields, at, words in (
        ("/datasets/clinic/policy", {**good, "epsilon": ""}, "epsilon", "missing"),
        ("/datasets/clinic/policy", {**good, "epsilon": "", "sensitive": "1"}, "differential", "?"),
        ("/datasets/clinic/policy", {**good, "delta": "much"}, "delta", "δ must be"),
        ("/datasets/clinic/policy", {**good, "max_tau": "few"}, "max_tau", "whole number"),
        ("/datasets/clinic/policy", {**good, "max_radius": "x"}, "max_radius", "a number"),
        ("/datasets/clinic/policy", {**good, "step": "force"}, "reason", "need a reason"),
        ("/people", {"name": "a b", "role": "analyst"}, "name", "Name must have"),
        ("/people", {"name": "ana", "role": "analyst"}, "name", "already"),
        ("/datasets/clinic/analysts", {"readers": ["ana"]}, "reason", "need a reason"),
        ("/datasets/clinic/allowances", {"analyst": "ana", "budget": "x"}, "budget", "ε must be"),
        ("/me/password", {"old": "no", "new": PASSWORD, "again": PASSWORD}, "old", "wrong"),
        ("/me/password", {"old": PASSWORD, "new": "short", "again": "short"}, "new", "12 to"),
        ("/me/password", {"old": PASSWORD, "new": "x" * 12, "again": "y"}, "again", "differ"),
    ):
        reply = custodian.post(path, fields)
        assert reply.status_code in (409, 422), (path, fields)
        told_at(reply.text, at, words)
    empty = custodian.post("/datasets/clinic/policy", {**good, "notions": []}).text
    assert "Allow at least one guarantee." in empty
    assert 'id="f-notions" aria-invalid="true"' in empty


def test_a_fold_with_a_mistake_or_a_change_stands_open(visitors: People) -> None:
    ana = visitors("ana")
    folds = r'<details class="fold"( open)?><summary>Details'
    assert re.findall(folds, ana.get("/datasets/clinic/ask/identify").text) == [""]
    wrong = ana.priced("identify", error_floor="much").text
    assert re.findall(folds, wrong) == [" open"]


def ticked(page: str) -> set[str]:
    """Who may ask what, by the boxes that are ticked."""
    return {
        str(one["aria-label"])
        for one in Reader(page).all("input")
        if (one.get("name") or "").startswith("may.") and "checked" in one
    }


# The first question, the history, the use


def test_a_newcomer_is_led_from_the_dataset_to_a_first_answer(tmp_path: Path) -> None:
    """The suggested form can be priced as it stands; after one answer nobody is led any more."""
    house = build(tmp_path)
    house.service.start()
    try:
        ana = house.visitor("ana")
        page = ana.get("/datasets/clinic").text
        link = re.search(r'href="/console(/datasets/clinic/ask/(\w+)\?first=1)"', page)
        assert link
        form = ana.get(link[1]).text
        assert 'aria-current="step">Describe' in form
        fields = {
            str(one["name"]): html.unescape(str(one.get("value") or ""))
            for one in Reader(form).all("input")
            if one.get("name") not in (None, "csrf") and one.get("type") != "checkbox"
        }
        assert fields["first"] == "1"
        priced = ana.post(f"/datasets/clinic/ask/{link[2]}", fields)
        assert priced.status_code == 200, priced.text
        assert 'aria-current="step">Ask' in priced.text
        ana.asked("screen")
        after = ana.get("/datasets/clinic").text
        answer = re.search(
            r'href="/console(/datasets/clinic/answers/\w+)"',
            ana.get("/datasets/clinic/history").text,
        )
        assert answer
        assert "Your first answer" in ana.get(answer[1]).text
    finally:
        house.service.close()
    assert "first=1" not in after


def test_the_history_is_one_row_a_question_with_its_answer_error_and_price(
    visitors: People,
) -> None:
    ana = visitors("ana")
    ana.asked("count")
    page = ana.get("/datasets/clinic/history").text
    rows = re.findall(r'<tr class="answered">.*?</tr>', page, re.S)
    asked = [one for one in rows if "<summary>count</summary>" in one]
    assert len(asked) == 1
    for words in ("± ", "ε 0.5", ">Everyone<", "/answers/"):
        assert words in asked[0]


def test_one_bar_is_shown_and_says_what_its_number_says(visitors: People) -> None:
    """Other guarantees are behind a fold; every bar is as long as its number is of its cap."""
    visitors("ana").asked("count")
    page = visitors("ana").get("/datasets/clinic").text
    before, fold, _ = page.partition('<details class="fold"><summary>Other guarantees')
    assert fold
    shown = r'gauge-left">([\d.]+) <small>of ([\d.]+) left.*?<rect class="fill[^>]*width="([\d.]+)"'
    found = re.findall(shown, page, re.S)
    assert len(found) == 3
    assert len(re.findall(shown, before, re.S)) == 1
    for left, cap, width in found:
        assert float(width) == pytest.approx(100 * float(left) / float(cap), abs=0.06)


def test_pages_without_anything_yet_say_what_to_do(tmp_path: Path) -> None:
    house = build(tmp_path, listed=False)
    custodian, ana = house.visitor("custodian"), house.visitor("ana")
    assert "Register the first one" in custodian.get("").text
    assert "Ask the custodian to admit you" in ana.get("").text
    assert "Make one for a script" in ana.get("/me").text
    house.service.register(
        house.person("custodian"), "new", {"file": DATA.name}, card=CARD.read_text()
    )
    assert "Admit an analyst" in custodian.get("/datasets/new/analysts").text
    assert "Admit an analyst" in custodian.get("/datasets/new/use").text
    house.service.amend(house.person("custodian"), "new", reason="both", readers=["ana"])
    assert "Choose a question" in ana.get("/datasets/new/history").text
    house.service.close()
