"""What a custodian must not overlook: a broken guarantee, the statement to sign, drafted cards."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import House, build, hidden


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """One house, in which ana has ended the guarantee for everyone."""
    found = build(Path(tmp_path_factory.mktemp("governing")))
    found.service.start()
    ana = found.visitor("ana")
    assert ana.asked("count").status_code == 200
    assert ana.asked("identify").status_code == 200
    yield found
    found.service.close()


@pytest.mark.parametrize("page", ["", "/ledger", "/use", "/statement", "/timeline", "/policy"])
def test_a_broken_guarantee_is_a_banner_with_entry_and_person(house: House, page: str) -> None:
    text = house.visitor("custodian").get(f"/datasets/clinic{page}").text
    banner = re.search(r'<div class="note bad" role="alert">(.*?)</div>', text)
    assert banner
    (asked,) = [
        entry
        for entry in house.service.ledger.entries("clinic", kind="reserve")
        if entry.content["question"]["kind"] == "identify"
    ]
    assert "<strong>ana</strong>" in banner[1]
    assert f"identify covers fewer (entry {asked.seq})" in banner[1]
    assert "no longer have a bound for everyone" in banner[1]
    assert "broken" not in house.visitor("custodian").get(f"/datasets/ward{page}").text


def test_it_is_an_event_of_the_timeline_for_those_who_may_know(house: House) -> None:
    path = "/datasets/clinic/timeline"
    assert "badge act-broken" in house.visitor("auditor").get(path).text
    mine = house.visitor("ana").get(path).text
    assert "identify covers fewer" in mine
    assert "(entry" not in mine  # numbers would count what others ask
    custodian = house.person("custodian")
    house.service.amend(custodian, "clinic", readers=["ana", "bob"], reason="bob too")
    others = house.visitor("bob").get(path).text
    assert "A guarantee is broken." in others
    assert "identify" not in others
    assert ">ana<" not in others


def test_the_statement_says_what_holds_and_has_a_place_to_sign(house: House) -> None:
    page = house.visitor("auditor").get("/datasets/clinic/statement").text
    snapshot = house.service.ledger.snapshot("clinic")
    for sentence in snapshot.spent.totals(snapshot.budget.delta).statements():
        assert sentence in page
    assert snapshot.head in page
    assert "<dt>Signature</dt>" in page
    nothing = house.visitor("auditor").get("/datasets/ward/statement").text
    assert "Nothing has been asked yet." in nothing


def test_the_report_is_a_file_with_every_answer(house: House) -> None:
    reply = house.visitor("custodian").get("/datasets/clinic/report")
    assert reply.headers["content-disposition"].endswith("clinic-report.html")
    assert "2 questions by 1 person" in reply.text
    assert house.service.ledger.snapshot("clinic").head in reply.text


def test_questions_are_ordered_by_use_and_say_whom_they_protect(house: House) -> None:
    page = house.visitor("ana").get("/datasets/clinic").text
    tiles = re.findall(r'<li class="panel link"><h3><a[^>]*>(\w+)</a>.*?</li>', page)
    assert (tiles[0], tiles[-1]) == ("Learn", "Identify")
    badges = re.findall(r'<li class="panel link">.*?</li>', page)
    assert all('class="badge ' in tile for tile in badges)
    assert "badge sensitive" in badges[-1]
    assert "badge sensitive" not in badges[0]


def test_the_steps_leave_a_dataset_that_is_described(house: House) -> None:
    custodian = house.visitor("custodian")
    for page in ("", "/card", "/model", "/ask/count"):
        assert 'class="path"' not in custodian.get(f"/datasets/ward{page}").text


def test_a_stored_answer_is_offered_free_before_anything_is_asked(house: House) -> None:
    priced = house.visitor("ana").priced("count").text
    assert "Show the stored answer, free" in priced
    assert "Ask and spend" not in priced


def test_the_ledger_measures_long_texts_instead_of_showing_them(house: House) -> None:
    ana = house.visitor("ana")
    learn = {"columns": ["age", "bmi"], "epsilon": "1", "delta": "0"}
    priced = ana.post("/datasets/clinic/ask/learn", learn)
    question = hidden(priced.text, "question")
    answer = ana.post("/datasets/clinic/ask/learn/now", {"question": question})
    page = ana.send("GET", answer.headers["location"]).text
    assert page.count("<svg") >= 2  # a picture of each column
    assert '<th scope="col">usual is</th>' in page
    statement = re.search(r"<blockquote>(.*?)</blockquote>", page)
    assert statement
    assert page.count(statement[1]) == 1  # the promise once
    ledger = house.visitor("custodian").get("/datasets/clinic/ledger").text
    assert not re.search(r"[A-Za-z0-9+/]{200}", ledger)
    assert re.search(r"\([\d,]+ characters\)", ledger)
