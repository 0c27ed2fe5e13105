"""The pages of a profile: its form follows from the declaration, its answer has pictures."""

from __future__ import annotations

from .conftest import hidden

PROFILE = {"columns": ["age", "ward"], "epsilon": "2", "relation": "add_remove", "weights": "age=3"}


def test_a_profile_is_priced_asked_and_shown_with_a_picture_of_every_column(house, visitors):
    house.service.curator(house.person("ana"), "clinic")  # its records are read
    ana = visitors("ana")
    form = ana.get("/datasets/clinic/ask/profile")
    assert form.status_code == 200
    assert 'name="weights"' in form.text
    priced = ana.post("/datasets/clinic/ask/profile", PROFILE)
    assert priced.status_code == 200
    assert "records of rank" in priced.text
    assert "age 75%" in priced.text
    answered = ana.post(
        "/datasets/clinic/ask/profile/now", {"question": hidden(priced.text, "question")}
    )
    page = ana.get(answered.headers["location"].removeprefix("/console"))
    assert page.status_code == 200
    assert page.text.count("Released distribution of") == 2
    assert "median" in page.text
