"""A question of a package that is no longer installed: its entries stay, and so do their pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from whitecrow import questions

from .conftest import build

pytest.importorskip("whitecrow_nearby", reason="scripts/test installs examples/nearby")
NEARBY = {"kind": "nearby", "place": {"age": 40}, "radius": 4.0, "epsilon": "1/2"}


def test_what_was_asked_is_shown_and_charged_without_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = build(tmp_path)
    house.service.start()
    try:
        ana = house.person("ana")
        answer = house.service.ask(ana, "clinic", NEARBY).answer
        before = house.service.account(ana, "clinic")
        monkeypatch.setattr(questions, "_installed", frozenset)  # as after pip uninstall
        assert house.service.account(ana, "clinic") == before
        assert before["spent"]["differential"] == "1/2"
        shown = house.visitor("ana").get("/datasets/clinic/history")
        assert shown.status_code == 200
        assert f"{answer} <span" in shown.text
        assert "the package of this question is not installed" in shown.text
        custodian = house.visitor("custodian")
        for page in ("ledger", "use"):
            assert "nearby" in custodian.get(f"/datasets/clinic/{page}").text
        assert custodian.get("/datasets/clinic/timeline").status_code == 200
    finally:
        house.service.close()
