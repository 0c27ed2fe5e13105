"""The pages of a learned detector: quality before asking, download, records dropped and scored."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import whitecrow as wc
from whitecrow.detector import Detector

from .conftest import House, Visitor, hidden

LEARN = {"columns": ["age", "bmi", "ward"], "epsilon": "8", "false_alarms": "0.05"}
RECORDS = "ward,age,bmi,note\nsurgery,50,25,a\nmaternity,98,59,b\n,40,25,c\n"


@pytest.fixture(scope="module")
def learned(house: House, visitors: Callable[[str], Visitor]) -> str:
    """The address of an answer."""
    house.service.curator(house.person("ana"), "clinic")  # its records are read
    ana = visitors("ana")
    priced = ana.post("/datasets/clinic/ask/learn", LEARN)
    assert "worth its price from about so many records on" in priced.text

    reply = ana.post(
        "/datasets/clinic/ask/learn/now", {"question": hidden(priced.text, "question")}
    )
    assert reply.status_code == 303, reply.text
    return reply.headers["location"].removeprefix("/console").partition("?")[0]


def test_the_answer_offers_the_file_which_is_the_detector(learned, house, visitors):
    ana = visitors("ana")
    page = ana.get(learned).text
    assert f"{learned}/score" in page
    reply = ana.get(f"{learned}/detector")
    assert reply.headers["content-type"] == "application/octet-stream"
    assert "clinic.detector" in reply.headers["content-disposition"]
    detector = Detector.from_bytes(reply.content)
    assert detector.columns == ("age", "bmi", "ward")
    assert detector.guarantee == wc.privacy.DifferentialPrivacy(8)


def test_records_are_scored_with_the_columns_that_made_them(learned, visitors):
    ana = visitors("ana")
    detector = Detector.from_bytes(ana.get(f"{learned}/detector").content)
    reply = ana.post(f"{learned}/score", {"records": RECORDS})
    assert reply.status_code == 200
    assert "3 records scored" in reply.text
    strange = {"age": 98, "bmi": 59, "ward": "maternity"}
    ordinary = {"age": 50, "bmi": 25, "ward": "surgery"}
    for record in (strange, ordinary):
        assert f"{detector.scores(record)[0]:.2f}" in reply.text
    # Ten standard deviations of the noise, in another process, lie between the two scores.
    place = reply.text.index("bmi = 59")
    assert place < reply.text.index(f"{detector.scores(ordinary)[0]:.2f}")
    assert "1 have a missing value that the card does not fill" in reply.text


def test_nothing_of_the_records_is_kept_and_nothing_is_charged(learned, house, visitors):
    ana = visitors("ana")
    before = house.service.account(house.person("ana"), "clinic")
    ana.post(f"{learned}/score", {"records": RECORDS.replace("note", "unheard-of")})
    assert house.service.account(house.person("ana"), "clinic") == before
    assert "unheard-of" not in ana.get(f"{learned}/score").text


@pytest.mark.parametrize(
    ("records", "says"),
    [
        ("age,bmi\n1,2", "lists the column"),
        ("age,age,bmi,ward\n1,1,2,x", "twice"),
        ("age,bmi,ward\n1,2", "as many fields"),
        ('age,bmi,ward\n"1', "no CSV"),
        ("age,bmi,ward\n" + "1,2,x\n" * 20_001, "20,001 records"),
    ],
)
def test_what_cannot_be_scored_is_refused_with_the_reason(learned, visitors, records, says):
    reply = visitors("ana").post(f"{learned}/score", {"records": records})
    assert reply.status_code == 422
    assert says in reply.text


def test_a_body_beyond_the_limit_is_not_read(learned, visitors):
    assert visitors("ana").post(f"{learned}/score", {"records": "x" * 2_000_000}).status_code == 413


def test_what_records_hold_is_shown_and_never_run(learned, visitors):
    records = "age,bmi,ward\n98,59,<script>alert(1)</script>\n"
    page = visitors("ana").post(f"{learned}/score", {"records": records}).text
    assert "<script>alert" not in page


def test_only_who_asked_sees_the_detectors_pages(learned, visitors):
    for name in ("bob", "auditor", "custodian"):
        for part in ("detector", "score"):
            assert visitors(name).get(f"{learned}/{part}").status_code == 404
