"""With padding on, an ask ends on its answer: at once, after a reload, without scripts."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from whitecrow.question import digest
from whitecrow_server._untrusted_input import question_from

from .conftest import QUESTIONS, House, build, hidden
from .test_browser import CHROMIUM, FLAGS, PASSWORD, Tab, listening


@pytest.fixture(scope="module")
def padded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A service with padded replies and two analysts of one dataset."""
    house = build(
        Path(tmp_path_factory.mktemp("padded")), patience=240.0, deadlines={"*": 0.5, "count": 2.0}
    )
    service = house.service
    service.start()
    readers = ["ana", "bob"]
    service.amend(house.person("custodian"), "clinic", readers=readers, reason="two analysts")
    service.curator(house.person("ana"), "clinic")
    yield house
    service.close()


def _answered(visitor: Any, address: str) -> str:
    """Load an address as often as it says, until it is no page that waits."""
    for _ in range(20):
        reply = visitor.send("GET", address)
        if reply.status_code != 202:
            assert reply.status_code == 200, reply.text
            return str(reply.text)
        pause = re.search(r'<meta http-equiv="refresh" content="(\d+)">', reply.text)
        assert pause
        assert reply.headers["retry-after"] == pause[1]
        time.sleep(int(pause[1]))
    raise AssertionError("it waits for ever")


@pytest.mark.timing
def test_the_address_of_an_answer_waits_until_the_reply_is_due(padded: House) -> None:
    ana = padded.visitor("ana")
    question = hidden(ana.priced("count", epsilon="1/3").text, "question")
    # The answer is there at once; its reply is due in a while, and somebody looks before that.
    padded.service.ask(padded.person("ana"), "clinic", json.loads(question))
    history = ana.get("/datasets/clinic/history").text
    address = re.findall(r'href="([^"]*/answers/[^"]*)">not answered yet', history)[0]
    assert ana.send("GET", address).status_code == 202  # not due, and no missing page
    assert ana.send("GET", f"{address}/score").status_code == 503
    assert 'class="headline"' in _answered(ana, address)
    assert ana.send("GET", address).status_code == 200  # after a reload too
    again = ana.post("/datasets/clinic/ask/count/now", {"question": question})
    assert "stored answer" in _answered(ana, again.headers["location"])


def test_the_form_of_a_padded_ask_leads_to_its_answer(padded: House) -> None:
    ana = padded.visitor("ana")
    question = hidden(ana.priced("screen", epsilon="1/3").text, "question")
    sent = ana.post("/datasets/clinic/ask/screen/now", {"question": question})
    assert sent.status_code == 303
    assert 'class="headline"' in _answered(ana, sent.headers["location"])


def test_what_somebody_else_asked_is_answered_too_and_has_no_address(padded: House) -> None:
    """Were digests of other people's questions addresses, trying them would tell what was asked."""
    ana, bob = padded.visitor("ana"), padded.visitor("bob")
    question = hidden(ana.priced("screen", epsilon="1/5").text, "question")
    address = ana.post("/datasets/clinic/ask/screen/now", {"question": question}).headers[
        "location"
    ]
    _answered(ana, address)
    assert bob.send("GET", address).status_code == 404
    for _ in range(2):  # a reload sends the form again
        shown = bob.post("/datasets/clinic/ask/screen/now", {"question": question})
        assert shown.status_code == 200
        assert "stored answer, free of charge" in shown.text
    assert bob.send("GET", address).status_code == 404


@pytest.mark.parametrize(
    ("outcome", "words"), [("failed", "nothing was released"), ("void", "given back")]
)
def test_a_question_without_an_answer_says_so_at_its_address(
    padded: House, monkeypatch: pytest.MonkeyPatch, outcome: str, words: str
) -> None:
    ana = padded.visitor("ana")
    question = json.loads(hidden(ana.priced("screen", epsilon="1/7").text, "question"))
    asked = {"question": question, "outcome": outcome, "answer": None}
    monkeypatch.setattr(
        padded.service, "asked", lambda who, name, skip=0, **more: [] if skip else [asked]
    )
    for part in ("", "/score", "/detector"):
        reply = ana.get(f"/datasets/clinic/answers/{digest(question_from(question))}{part}")
        assert reply.status_code == 404
        assert words in reply.text


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("asks", [3, pytest.param(50, marks=pytest.mark.study)])
def test_an_ask_in_a_browser_ends_on_its_answer(padded: House, asks: int) -> None:
    """One after the other: with scripts, without, and with a reload while the page waits."""
    from playwright.sync_api import sync_playwright

    ended = 0
    with listening(padded) as url, sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        tabs = []
        for scripts in (True, False):
            tabs.append(Tab(browser.new_page(java_script_enabled=scripts), url))
            tabs[-1].sign_in("ana", PASSWORD)
        for number in range(asks):
            tab = tabs[number % 2]
            tab.go("/datasets/clinic/ask/screen")
            epsilon = f"{asks}/{1000 + number}"
            for name, value in {**QUESTIONS["screen"], "epsilon": epsilon}.items():
                tab.page.fill(f'[name="{name}"]', value)
            tab.press("Show price and expected error")
            tab.page.get_by_role("button", name="Ask and spend").click()
            tab.page.wait_for_url("**/answers/*")
            if number % 3 == 2:
                tab.page.reload()
            tab.page.wait_for_selector(".headline", timeout=20_000)
            ended += "/answers/" in tab.page.url
        for tab in tabs:
            assert tab.errors == []
            tab.page.close()
        browser.close()
    assert ended == asks
