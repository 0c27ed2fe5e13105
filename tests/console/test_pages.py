"""What the pages hold: nothing private, nothing unescaped, a name for every field; and the acts."""

from __future__ import annotations

import csv
import re
import time
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from whitecrow.ledger import ChargeRequest
from whitecrow.ledger.failures import halt
from whitecrow.question import digest
from whitecrow_server._untrusted_input import question_from

from .conftest import PASSWORD, QUESTIONS, House, Visitor, build, hidden

People = Callable[[str], Visitor]
EVIL = '"><script>alert(1)</script><img src=x onerror=alert(2)>'
MAP = "/datasets/clinic/map?x=age&y=bmi&beta=5&radius=4&epsilon=1"
LAB = "/laboratory?days=40&size=10&outliers=2"
CUSTODIAN_PAGES = (
    "",
    "/me",
    LAB,
    "/register",
    "/people",
    *(f"/datasets/clinic{one}" for one in ("", "/policy", "/card", "/analysts", "/use", "/ledger")),
    *(f"/datasets/clinic{one}" for one in ("/model", "/ask/profile", "/history")),
    "/datasets/clinic/recovery",
    MAP,
)
ANALYST_PAGES = (
    "",
    "/me",
    LAB,
    "/datasets/clinic",
    "/datasets/clinic/history",
    *(f"/datasets/clinic/ask/{kind}" for kind in QUESTIONS),
)


PLACED = ("identify", "screen")
"""Questions whose answer is not a number: a noisy one could be a fact by chance."""


class Reader(HTMLParser):
    """Notes what a page is made of."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.wrapped: set[int] = set()
        self._labels = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "label":
            self._labels += 1
        if self._labels:
            self.wrapped.add(len(self.tags))
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag == "label":
            self._labels -= 1

    def all(self, *names: str) -> list[dict[str, str | None]]:
        return [found for tag, found in self.tags if tag in names]


def every_page(visitors: People) -> Iterator[tuple[str, str]]:
    yield "/sign-in", visitors("").get("/sign-in").text
    yield "404", visitors("ana").get("/nowhere").text
    for name, paths in (("custodian", CUSTODIAN_PAGES), ("ana", ANALYST_PAGES)):
        for path in paths:
            reply = visitors(name).get(path)
            assert reply.status_code == 200, path
            assert "default-src 'none'" in reply.headers["content-security-policy"]
            assert reply.headers["cache-control"] == "no-store"
            yield path, reply.text
    for kind in QUESTIONS:
        yield f"price of {kind}", visitors("ana").priced(kind).text
        yield f"answer to {kind}", visitors("ana").asked(kind).text


def test_every_page_is_well_made(visitors: People) -> None:
    """One heading and one main part, a name for each control, no code or style in the page."""
    for where, page in every_page(visitors):
        found = Reader(page)
        assert page.startswith("<!DOCTYPE html>"), where
        assert found.all("html")[0]["lang"] == "en", where
        assert len(found.all("h1")) == len(found.all("main")) == 1, where
        assert found.tags[[tag for tag, _ in found.tags].index("a")][1]["class"] == "skip", where
        names = [one["id"] for _, one in found.tags if one.get("id")]
        assert len(names) == len(set(names)), (where, "an id comes twice")
        labelled = {one.get("for") for one in found.all("label")}
        for place, (tag, one) in enumerate(found.tags):
            if tag in ("input", "select", "textarea") and one.get("type") != "hidden":
                named = one.get("id") in labelled or place in found.wrapped or "hidden" in one
                assert named, (where, one)
            for word in (one.get("aria-describedby") or "").split():
                assert word in names, (where, word)
            assert "style" not in one, (where, tag)
            assert not [key for key in one if key.startswith("on")], (where, tag)
            for key in ("href", "src", "action"):
                if one.get(key) is not None:
                    assert (one[key] or "").startswith(("/console", "#", "?")), (where, one[key])
        assert not found.all("style"), where
        assert all(one.get("src") for one in found.all("script")), where
        for form in re.findall(r"<form method=\"post\".*?</form>", page, re.S):
            assert 'name="csrf"' in form or 'name="number"' in form, where


def test_what_people_write_is_shown_and_never_run(house: House) -> None:
    """Reasons, labels and values of forms come back as text."""
    custodian, ana = house.visitor("custodian"), house.visitor("ana")
    custodian.post(
        "/datasets/clinic/allowances", {"analyst": "ana", "budget": "90", "reason": EVIL}
    )
    ana.post("/me/tokens", {"label": EVIL})
    pages = [
        custodian.get("/datasets/clinic/ledger").text,
        ana.get("/me").text,
        ana.priced("identify", **{"record.age": EVIL}).text,
        ana.priced("count", epsilon=EVIL).text,
        custodian.post("/register", {"name": EVIL, "card": EVIL, "file": EVIL}).text,
        custodian.post("/people", {"name": EVIL, "role": EVIL}).text,
        custodian.post("/datasets/clinic/policy", {"notions": "differential", "delta": EVIL}).text,
        custodian.post("/datasets/clinic/card", {"card": EVIL, "reason": EVIL}).text,
        ana.get(f"/laboratory?epsilon={EVIL}").text,
        ana.get(f"/datasets/clinic/ask/{EVIL}").text,
        ana.get(f"/datasets/clinic?done={EVIL}").text,
        custodian.get(f"/datasets/clinic/ledger?analyst={EVIL}").text,
    ]
    for page in pages:
        assert "<script>alert" not in page
        assert "<img src=x" not in page
    assert "&lt;script&gt;" in pages[0]


def test_a_card_cannot_carry_code_into_a_page(house: House) -> None:
    card = {
        "name": "evil",
        "columns": [
            {"name": EVIL, "type": "number", "lower": 0, "upper": 1},
            {"name": "c", "type": "category", "categories": [EVIL]},
        ],
    }
    name = EVIL.replace('"', '""')
    (Path(house.service.settings.data) / "evil.csv").write_text(
        f'"{name}",c\n0.5,x\n', encoding="utf-8"
    )
    house.service.register(
        house.person("custodian"), "evil", {"file": "evil.csv"}, card=card, readers=["ana"]
    )
    ana = house.visitor("ana")
    for path in ("/datasets/evil", "/datasets/evil/ask/identify", "/datasets/evil/ask/explain"):
        page = ana.get(path)
        assert page.status_code == 200
        assert "<script>alert" not in page.text
        assert "<img src=x" not in page.text


def test_no_fact_is_on_an_analysts_page(tmp_path: Path) -> None:
    """A value that only the records hold, and their number, show nowhere."""
    rows = [[30 + i % 7, 22.5 + i % 5] for i in range(1361)] + [[88, 53.1337]]
    with (tmp_path / "records.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["age", "bmi"], *rows])
    house = build(tmp_path, data=str(tmp_path), listed=False)
    bounds = {"type": "number", "lower": 0, "upper": 100}
    columns = [{"name": "age", **bounds}, {"name": "bmi", **bounds}]
    house.service.register(
        house.person("custodian"),
        "records",
        {"file": "records.csv"},
        card={"name": "records", "columns": columns},
        budget="100",
        readers=["ana"],
    )
    house.service.start()
    try:
        ana = house.visitor("ana")
        pages = [ana.asked(kind, "records", **{"record.systolic": ""}).text for kind in PLACED]
        others = ("", "/history", *(f"/ask/{kind}" for kind in QUESTIONS))
        pages += [ana.get(f"/datasets/records{path}").text for path in others]
        custodian = house.visitor("custodian")
        private = custodian.get(MAP.replace("clinic", "records")).text
    finally:
        house.service.close()
    assert "53.1337" in private
    assert "1,362" in private
    for page in pages:
        assert re.search(r"53\.1337|1,?36[123]\b", page) is None


def test_a_price_spends_nothing_and_an_answer_is_stored_once(
    visitors: People, house: House
) -> None:
    ana = visitors("ana")
    house.service.curator(house.person("ana"), "clinic")  # loaded, and bound to its records
    before = len(house.service.ledger.entries("clinic"))
    priced = ana.priced("screen", radius="7")
    assert "Ask and spend ε 0.25" in priced.text
    assert "wrong with probability" in priced.text
    assert len(house.service.ledger.entries("clinic")) == before
    first, second = ana.asked("screen", radius="7"), ana.asked("screen", radius="7")
    assert len(house.service.ledger.entries("clinic")) == before + 2
    assert "free of charge" in second.text
    assert first.url.path == second.url.path


@pytest.mark.parametrize("kind", QUESTIONS)
def test_every_question_is_answered_with_promise_error_and_code(
    visitors: People, kind: str
) -> None:
    page = visitors("ana").asked(kind).text
    for words in ("What it promises", "How wrong it may be", "Give me the code", "WHITECROW_TOKEN"):
        assert words in page
    assert "protected" in page
    assert f"whitecrow {kind} clinic" in page


def test_every_step_of_a_series_has_its_page_and_the_history_has_the_series(
    visitors: People,
) -> None:
    ana = visitors("ana")
    fields = {"columns": "age", "time": "day", "start": "2024-01-01", "period": "month",
              "horizon": "3", "epsilon": "1/2"}  # fmt: skip
    for through in ("1", "2"):
        priced = ana.post("/datasets/clinic/ask/monitor", {**fields, "through": through})
        question = hidden(priced.text, "question")
        page = ana.post("/datasets/clinic/ask/monitor/now", {"question": question})
        assert page.status_code == 200, page.text
        assert f"Step {through} of 3" in page.text
        assert ("free of charge" in page.text) == (through == "2")
    assert "A series of 3 steps that is paid" in ana.get("/datasets/clinic/history").text


def test_a_question_over_the_budget_is_refused_and_the_form_stays(visitors: People) -> None:
    ana = visitors("ana")
    priced = ana.priced("count", epsilon="1000")
    assert "it would be refused" in priced.text
    fields = {**QUESTIONS["count"], "epsilon": "1000", "question": hidden(priced.text, "question")}
    reply = ana.post("/datasets/clinic/ask/count/now", fields)
    assert reply.status_code == 402
    assert "Refused." in reply.text
    assert 'value="1000"' in reply.text


def test_a_question_of_another_kind_does_not_slip_through_a_form(visitors: People) -> None:
    ana = visitors("ana")
    question = hidden(ana.priced("screen").text, "question")
    for sent in (question, "", "[]", "{", '{"kind": "count"}'):
        path = "/datasets/clinic/ask/identify/now"
        assert ana.post(path, {"question": sent}).status_code == 422


# The custodian's acts


def test_the_custodian_registers_admits_and_invites(house: House) -> None:
    custodian = house.visitor("custodian")
    card = (
        Path(__file__).parents[2] / "packages/whitecrow/src/whitecrow/demo/clinic.toml"
    ).read_text()
    fields = {"name": "second", "file": "clinic.csv", "budget": "3", "card": card}
    reply = custodian.post("/register", fields)
    assert reply.headers["location"] == "/console/datasets/second/policy?done=registered"
    assert custodian.post("/register", fields).status_code == 409
    page = custodian.post("/people", {"name": "dora", "role": "analyst"}).text
    link = re.search(r'id="link">http://localhost(/console/invitation/[^<]+)<', page)
    assert link
    assert link[1] not in custodian.get("/people").text
    fields = {"readers": ["dora"], "reason": "a new study"}
    assert custodian.post("/datasets/second/analysts", fields).status_code == 303
    dora = Visitor(house)
    chosen = {"new": "a long enough phrase", "again": "a long enough phrase"}
    assert "Choose your password" in dora.send("GET", link[1]).text
    for changes, status in (({"again": "another"}, 422), ({}, 303), ({}, 401)):  # once
        reply = dora.send("POST", link[1], data={**chosen, **changes})
        assert reply.status_code == status, reply.text
    assert dora.sign_in("dora", chosen["new"]).status_code == 303
    assert "second" in dora.get("").text
    assert "clinic" not in dora.get("").text.replace("clinic.csv", "")


def test_a_spend_without_an_answer_is_found_and_given_back(house: House) -> None:
    """A worker that died between reserving and answering."""
    service, custodian = house.service, house.visitor("custodian")
    question = question_from(
        {"kind": "screen", "record": {"age": 50}, "model": {"beta": 3, "radius": 1}, "epsilon": "1"}
    )
    price = service.curator(house.person("ana"), "clinic").price(question)
    written = {"kind": "screen", "question": question.to_json()}
    order = ChargeRequest("ana", digest(question), written, price)
    held, _ = service.ledger.reserve("clinic", order)
    held.release()
    page = custodian.get("/datasets/clinic/recovery").text
    entry = hidden(page, "entry")
    path = "/datasets/clinic/recovery"
    assert custodian.post(path, {"entry": entry, "reason": ""}).status_code == 422
    assert custodian.post(path, {"entry": "x", "reason": "y"}).status_code == 422
    assert custodian.post(path, {"entry": entry, "reason": "it died"}).status_code == 303
    assert "Every spend has its answer" in custodian.get(path).text
    ledger = custodian.get("/datasets/clinic/ledger?act=void").text
    assert "it died” (custodian)" in ledger
    assert "Whole." in ledger


def test_a_closed_dataset_says_so_and_is_opened_by_a_review(house: House) -> None:
    service, custodian = house.service, house.visitor("custodian")
    path = "/datasets/clinic/recovery"
    assert "Closed to new questions" not in custodian.get(path).text
    halt(service.ledger, "clinic")
    page = custodian.get(path).text
    assert "Closed to new questions" in page
    fields = {"act": "review", "entry": hidden(page, "entry"), "reason": ""}
    assert custodian.post(path, fields).status_code == 422
    assert custodian.post(path, {**fields, "reason": "a full disk"}).status_code == 303
    assert "Closed to new questions" not in custodian.get(path).text
    assert service.ledger.snapshot("clinic").failures == 0
    assert "a full disk" in custodian.get("/datasets/clinic/ledger?act=review").text


def test_people_change_their_own_password(house: House) -> None:
    auditor = house.visitor("auditor")
    fields = {"old": "wrong", "new": "another long password", "again": "another long password"}
    assert auditor.post("/me/password", fields).status_code == 422
    assert auditor.post("/me/password", {**fields, "old": PASSWORD}).status_code == 303
    assert Visitor(house).sign_in("auditor", PASSWORD).status_code == 401
    assert Visitor(house).sign_in("auditor", "another long password").status_code == 303


def test_replies_to_asks_leave_at_published_moments(tmp_path: Path) -> None:
    house = build(tmp_path, deadlines={"screen": 0.5})
    house.service.start()
    try:
        ana = house.visitor("ana")
        question = hidden(ana.priced("screen").text, "question")
        # What is malformed, or was answered before, says nothing of the records and need not wait.
        started = time.perf_counter()
        ana.post("/datasets/clinic/ask/screen/now", {"question": question})
        assert time.perf_counter() - started >= 0.5
    finally:
        house.service.close()


def test_a_person_sets_up_a_second_factor_and_ends_a_session(house: House) -> None:
    import time

    from whitecrow_server import _sessions as totp

    house.service.people.add("frida", "analyst")
    house.service.sessions.set_password("frida", PASSWORD)
    frida, other = house.visitor("frida"), house.visitor("frida")
    shown = frida.post("/me/factor").text
    key = hidden(shown, "key")
    mine = {"key": key, "password": PASSWORD}
    assert frida.post("/me/factor/confirm", {**mine, "code": "000"}).status_code == 422
    code = totp.code_at(key, totp.step_at(time.time()) - 1)
    on = frida.post("/me/factor/confirm", {**mine, "code": code}).text
    codes = re.findall(r'<code class="secret">([0-9a-f-]+)</code>', on)
    assert len(codes) == 10
    assert Visitor(house).sign_in("frida", PASSWORD).status_code == 401
    page = frida.get("/me").text
    ended = re.search(r'/me/sessions/end">.*?name="id" value="([0-9a-f]+)"', page, re.DOTALL)
    assert ended
    assert frida.post("/me/sessions/end", {"id": ended[1]}).status_code == 303
    assert other.get("/me").status_code == 303
    assert frida.post("/me/factor/remove", {"password": "wrong"}).status_code == 422
    assert frida.post("/me/factor/remove", {"password": PASSWORD}).status_code == 422
    proof = {"password": PASSWORD, "old_code": codes[0]}
    assert frida.post("/me/factor/remove", proof).status_code == 303
    assert Visitor(house).sign_in("frida", PASSWORD).status_code == 303


def test_where_custodians_need_a_second_factor_a_password_opens_its_set_up_alone(
    tmp_path: Path,
) -> None:
    import time

    from whitecrow_server import _sessions as totp

    house = build(tmp_path, second_factor=("custodian",))
    try:
        carla = house.visitor("custodian")
        for path in ("", "/people", "/datasets/clinic", "/datasets/clinic/ledger"):
            assert carla.get(path).headers["location"].startswith("/console/me?")
        made = {"name": "eve", "role": "analyst"}
        for path, form in (("/people", made), ("/me/tokens", {"label": "x"})):
            assert carla.post(path, form).headers["location"].startswith("/console/me?")
        assert "eve" not in [one.name for one in house.service.people.all()]
        key = hidden(carla.post("/me/factor").text, "key")
        code = totp.code_at(key, totp.step_at(time.time()) - 1)
        proof = {"key": key, "code": code, "password": PASSWORD}
        assert carla.post("/me/factor/confirm", proof).status_code == 200
        assert carla.get("/people").status_code == 200
        assert carla.post("/me/factor/remove", {"password": PASSWORD}).status_code == 422
        assert house.service.sessions.has_second_factor("custodian")
        assert house.visitor("ana").get("").status_code == 200  # a duty of custodians alone
    finally:
        house.service.close()


def test_the_custodian_removes_somebody_and_sees_it_in_the_trail(house: House) -> None:
    house.service.people.add("gina", "analyst")
    custodian = house.visitor("custodian")
    assert custodian.post("/people/remove", {"name": "gina", "reason": ""}).status_code == 422
    again = custodian.post("/people/invitation", {"name": "gina"}).text
    assert "/console/invitation/" in again
    assert custodian.post("/people/factor", {"name": "gina"}).status_code == 303
    assert custodian.post("/people/remove", {"name": "gina", "reason": "left"}).status_code == 303
    page = custodian.get("/people").text
    assert "<td>remove</td><td>gina</td>" in page


def test_over_the_budget_the_button_is_disabled(house: House) -> None:
    page = house.visitor("ana").priced("count", epsilon="1000").text
    assert re.search(r'<button class="main big" disabled>Ask and spend', page)
