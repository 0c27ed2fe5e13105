"""The page of a screening: price and error first, then a file dropped, flags, a download."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from whitecrow.demo import CARD, DATA
from whitecrow.screening import MOST_AT_ONCE

from .conftest import NOTIONS, PASSWORD, House, Visitor, build, hidden
from .test_browser import CHROMIUM, FLAGS, Tab, listening

SERIES = {"columns": ["age", "bmi"], "beta": "60", "radius": "4", "epsilon": "8", "delta": "1e-6"}
RECORDS = "age,note,bmi\n40,a,24\n18,b,59\n95,c,12\n"


def with_delta(house: House) -> House:
    """Add a dataset whose budget has a delta."""
    house.service.register(
        house.person("custodian"),
        "flagged",
        {"file": DATA.name},
        card=CARD.read_text(encoding="utf-8"),
        policy={"notions": NOTIONS},
        budget="20, 1e-5",
        readers=["ana"],
    )
    house.service.start()
    house.service.curator(house.person("ana"), "flagged")
    return house


@pytest.fixture(scope="module", params=[{}, {"screening": 0.5}], ids=["plain", "padded"])
def ana(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Visitor]:
    house = with_delta(build(Path(tmp_path_factory.mktemp("screening")), deadlines=request.param))
    yield house.visitor("ana")
    house.service.close()


@pytest.fixture(scope="module")
def opened(ana: Visitor) -> str:
    """The address of the page of a screening that is paid."""
    priced = ana.post("/datasets/flagged/ask/screening", SERIES)
    assert priced.status_code == 200, priced.text
    assert "Records near it" in priced.text  # the error by distance from the threshold: a table
    assert "data-chart" in priced.text  # and a picture
    question = hidden(priced.text, "question")
    reply = ana.post("/datasets/flagged/ask/screening/now", {"question": question})
    assert "any number of records" in reply.text
    link = re.search(r'href="/console(/datasets/flagged/screening\?question=[^"]+)"', reply.text)
    assert link
    return link[1]


def flags(ana: Visitor, opened: str, records: str, **more: str) -> Any:
    question = hidden(ana.get(opened).text, "question")
    fields = {"question": question, "records": records, **more}
    return ana.post("/datasets/flagged/ask/screening/flags", fields)


def test_records_are_flagged_listed_and_can_be_downloaded(ana: Visitor, opened: str) -> None:
    before = ana.house.service.account(ana.house.person("ana"), "flagged")
    page = flags(ana, opened, RECORDS)
    assert page.status_code == 200
    assert "2 of 3 would be anomalies (66.7 %)" in page.text
    assert "<td>95</td><td>12</td>" in page.text.replace(".0<", "<")
    file = flags(ana, opened, RECORDS, **{"as": "csv"})
    assert file.headers["content-disposition"].endswith("flags.csv")
    assert file.content == b"row,anomaly\n1,0\n2,1\n3,1\n"
    assert ana.house.service.account(ana.house.person("ana"), "flagged") == before  # paid before


@pytest.mark.parametrize(
    ("records", "says"),
    [
        ("age\n30\n", "has no column"),
        ("age,bmi\nx,3\n", "row 1, age"),
        ("age,bmi\n", "no rows"),
        ("age,bmi\n" + "30,24\n" * (MOST_AT_ONCE + 1), "Send them in parts"),
    ],
    ids=["column", "value", "nothing", "long"],
)
def test_what_cannot_be_screened_is_refused_on_the_page(
    ana: Visitor, opened: str, records: str, says: str
) -> None:
    reply = flags(ana, opened, records)
    assert reply.status_code == 422
    assert says in reply.text
    assert "<textarea" in reply.text


def test_a_screening_that_is_not_paid_is_not_paid_by_dropping_a_file(
    ana: Visitor, opened: str
) -> None:
    dearer = opened.replace("%228%22", "%229%22")
    assert dearer != opened
    reply = flags(ana, dearer, RECORDS)
    assert reply.status_code == 422
    assert "No such screening is open" in reply.text


def test_what_is_no_screening_has_no_page(ana: Visitor, opened: str) -> None:
    for question in ("", "3", "%7B%22kind%22%3A%22screen%22%7D", "%7B%22kind%22%3A%22os%22%7D"):
        assert ana.get(f"/datasets/flagged/screening?question={question}").status_code == 422
    assert ana.house.visitor("bob").get(opened).status_code == 404


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_long_file_is_dropped_flagged_and_downloaded_on_a_phone(
    tmp_path: Path, few_records: Callable[[], None]
) -> None:
    from playwright.sync_api import sync_playwright

    house = with_delta(build(tmp_path, patience=120.0))
    rows = [f"{20 + n % 60},{18 + n % 40 / 2}" for n in range(2 * MOST_AT_ONCE + 50)]
    file = tmp_path / "new.csv"
    file.write_text("\n".join(["age,bmi", *rows, "18,60", ""]))
    with listening(house) as url, sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        tab = Tab(browser.new_page(viewport={"width": 360, "height": 700}), url)
        page = tab.page
        tab.sign_in("ana", PASSWORD)
        tab.price("flagged", "screening", SERIES)
        tab.charts(1)
        assert page.locator("body").bounding_box()["width"] <= 360
        page.get_by_role("button", name="Ask and spend").click()
        page.get_by_role("link", name="Screen a file").click()
        page.set_input_files("[data-drop-file]", file)
        page.wait_for_function("document.getElementById('records').value.length > 9")
        tab.press("Screen")
        page.wait_for_selector("text=2,051 would be anomalies")
        assert "2,051 of 2,051 screened" in page.inner_text("#flags")
        with page.expect_download() as kept:
            page.get_by_role("link", name="Download the flags").click()
        written = Path(kept.value.path()).read_text().splitlines()
        assert (len(written), written[0], written[-1]) == (2052, "row,anomaly", "2051,1")
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 360
        tab.seen("screening")
        assert tab.errors == []
        assert tab.hosts == {"127.0.0.1"}
        browser.close()
    house.service.close()
