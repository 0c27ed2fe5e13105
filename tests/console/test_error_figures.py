"""Every answer comes with its expected error, and rare combinations are listed on a page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from .conftest import House, Visitor, hidden

People = Callable[[str], Visitor]
LISTED = {"columns": ["ward", "insurance"], "beta": "10", "k": "4", "epsilon": "1"}


@pytest.mark.parametrize("kind", ["screen", "count"])
def test_an_answers_page_says_the_error_that_was_said_before_asking(
    house: House, visitors: People, kind: str
) -> None:
    house.service.curator(house.person("ana"), "clinic")  # its records are read
    ana = visitors("ana")

    priced = ana.priced(kind)
    assert "Expected error" in priced.text
    page = ana.asked(kind)
    assert page.status_code == 200
    asked = house.service.asked(house.person("ana"), "clinic")[-1]
    written = asked["question"]
    release = house.service.ask(house.person("ana"), "clinic", written)
    assert not release.charged
    assert release.error
    assert f"Expected error: {release.error}" in page.text.replace("&#39;", "'")


def test_a_release_over_http_carries_the_error_of_its_price(house: House) -> None:
    token, _ = house.service.members.issue(house.person("ana"), "ana")
    question = {
        "kind": "count",
        "columns": ["age", "bmi"],
        "model": {"beta": 5, "radius": 4},
        "epsilon": "1/3",
    }

    def send(act: str) -> dict[str, Any]:
        reply = Visitor(house).send(
            "POST",
            f"/v1/datasets/clinic/{act}",
            json=question,
            headers={"Authorization": f"Bearer {token}"},
        )
        assert reply.status_code == 200, reply.text
        found: dict[str, Any] = reply.json()
        return found

    said, told = send("price"), send("ask")
    assert told["error"] == said["error"] != ""
    assert told["warning"] == said["warning"]
    assert send("ask") == {**told, "charged": False}  # asked again: the error stands there too


def test_rare_combinations_are_listed_on_a_page(house: House, visitors: People) -> None:
    ana = visitors("ana")
    form = ana.get("/datasets/clinic/ask/lookahead")
    assert form.status_code == 200
    priced = ana.post("/datasets/clinic/ask/lookahead", LISTED)
    assert priced.status_code == 200, priced.text
    assert "ARE RELEASED AS THEY ARE" in priced.text
    done = ana.post(
        "/datasets/clinic/ask/lookahead/now", {"question": hidden(priced.text, "question")}
    )
    page = ana.get(done.headers["location"].removeprefix("/console"))
    assert page.status_code == 200
    assert "of them rare" in page.text
    assert ">ward</th>" in page.text
    assert ">insurance</th>" in page.text
