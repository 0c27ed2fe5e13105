"""The page of a dataset's timeline: what it shows, to whom, and the revision recorded from it."""

from __future__ import annotations

from collections.abc import Callable

from .conftest import House, Visitor

People = Callable[[str], Visitor]
PATH = "/datasets/clinic/timeline"


def test_the_page_shows_the_budget_and_the_events(house: House, visitors: People) -> None:
    page = visitors("custodian").get(PATH).text
    assert 'class="plot"' in page
    assert "the account was opened" in page
    assert "Record the revision" in page
    assert "Record the revision" not in visitors("ana").get(PATH).text
    assert "Record the revision" not in visitors("auditor").get(PATH).text


def test_a_custodian_records_a_revision_from_the_page(house: House, visitors: People) -> None:
    custodian = visitors("custodian")
    house.service.curator(house.person("custodian"), "clinic")  # the first revision is recorded
    wrong = custodian.post(PATH, {"reason": " ", "growth": "insert-only"})
    assert wrong.status_code == 422
    assert "need a reason" in wrong.text
    unknown = custodian.post(PATH, {"reason": "May", "growth": "append"})
    assert unknown.status_code == 422
    done = custodian.post(PATH, {"reason": "<b>May</b>", "growth": "insert-only"})
    assert done.status_code == 303
    page = custodian.get(f"{PATH}?done=revision").text
    assert "The revision is recorded" in page
    assert "only added from here on" in page
    assert "&lt;b&gt;May" in page
    assert "May" not in visitors("ana").get(PATH).text
