"""The timeline over HTTP and on the console's page, and revisions recorded from there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from whitecrow.demo import DATA

from .conftest import Caller, identify


@pytest.fixture
def call(opened: Any, tmp_path: Path) -> Caller:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "clinic.csv").write_bytes(DATA.read_bytes())
    return Caller(opened(data=str(folder)))


def _change(tmp_path: Path, *, add: bool) -> None:
    path = tmp_path / "data" / "clinic.csv"
    rows = path.read_text(encoding="utf-8").splitlines()
    rows = [*rows, rows[-1]] if add else [rows[0], *rows[2:]]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def test_the_timeline_tells_each_role_what_is_theirs(call: Caller) -> None:
    path = "/v1/datasets/clinic"
    assert call("ana", "POST", f"{path}/ask", json=identify(1)).json()["charged"]
    said = {"reason": "Mr Smith said so", "budget": "900"}
    assert call("custodian", "PATCH", path, json=said).status_code == 200
    theirs = call("custodian", "GET", f"{path}/timeline").json()
    assert "Mr Smith said so" in str(theirs)
    assert len(theirs["spent"]) == 1
    own = call("ana", "GET", f"{path}/timeline").json()
    assert "Smith" not in str(own)
    assert len(own["spent"]) == 1
    # The identify was of the sensitive kind: it ended the guarantee for everyone.
    kinds = [one["kind"] for one in own["events"]]
    assert kinds == ["opened", "revision", "broken", "promise"]


def test_growth_is_declared_and_checked_over_http(call: Caller, tmp_path: Path) -> None:
    path = "/v1/datasets/clinic"
    assert call("ana", "POST", f"{path}/ask", json=identify(1)).json()["charged"]

    def advance(**said: str) -> Any:
        return call("custodian", "POST", f"{path}/revisions", json=said)

    assert advance(reason="a register", growth="insert-only").json() == {"revision": 1}
    _change(tmp_path, add=True)
    assert advance(reason="May").json() == {"revision": 2}
    _change(tmp_path, add=False)
    refused = advance(reason="June")
    assert refused.status_code == 403
    assert "only added at the end" in refused.json()["refused"]["reason"]
    assert advance(reason="June", growth="any").json() == {"revision": 3}
    assert advance(reason="June", growth="append").status_code == 422
    told = call("ana", "GET", f"{path}/timeline").json()["events"]
    assert "insert-only" in str(told)


def test_an_analyst_learns_nothing_of_a_refused_revision(call: Caller, tmp_path: Path) -> None:
    path = "/v1/datasets/clinic"
    assert call("ana", "POST", f"{path}/ask", json=identify(1)).json()["charged"]
    declared = {"reason": "a register", "growth": "insert-only"}
    call("custodian", "POST", f"{path}/revisions", json=declared)
    before = call("ana", "GET", f"{path}/timeline").json()
    _change(tmp_path, add=False)
    refused = call("custodian", "POST", f"{path}/revisions", json={"reason": "June"})
    assert refused.status_code == 403
    assert call("ana", "GET", f"{path}/timeline").json() == before
