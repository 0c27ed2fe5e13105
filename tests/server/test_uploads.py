"""What a custodian sent and nobody wants is removed; looking at it happens in another process."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from whitecrow.data import reading
from whitecrow.demo import CARD, DATA
from whitecrow.errors import InvalidInput
from whitecrow_server import Service
from whitecrow_server import _onboarding as uploads
from whitecrow_server import _sketching as sketching

from .conftest import House

HOUR, DAY = 3600.0, 86_400.0
CSV = {"csv": {}, "table": {}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "files"
    found.mkdir()
    shutil.copy(DATA, found)
    return found


def _aged(path: Path, seconds: float) -> None:
    shutil.copy(DATA, path)
    os.utime(path, (time.time() - seconds,) * 2)


def test_what_did_not_arrive_or_was_not_registered_is_removed_by_its_age(
    opened: Callable[..., House], folder: Path
) -> None:
    house = opened(data=str(folder))
    service, custodian = house.service, house.service.people.get("custodian")
    ours = uploads._beginning(house.settings)
    stays = {
        f"{ours}00.csv.part": HOUR / 2,  # under way, perhaps in another worker
        f"{ours}01.csv": DAY / 2,  # the custodian is at the second step
        f"{ours}02.csv": 30 * DAY,  # registered
        f"{ours}03.csv": 30 * DAY,  # registered, by a name with dots
        "upload-ffffff04.csv": 30 * DAY,  # of another service over this folder
        "visits.csv": 30 * DAY,  # of whoever runs it
        "visits.csv.part": 30 * DAY,
    }
    goes = {f"{ours}05.csv.part": 2 * HOUR, f"{ours}06.parquet": 2 * DAY, f"{ours}07.csv": 2 * DAY}
    for name, age in {**stays, **goes}.items():
        _aged(folder / name, age)
    for number, file in ((2, f"{ours}02.csv"), (3, f"./../files/{ours}03.csv")):
        card = CARD.read_text(encoding="utf-8")
        service.register(custodian, f"sent{number}", {"file": file}, card=card)
    other = Service(house.settings)
    try:
        other.start()
        assert {path.name for path in folder.iterdir()} == {DATA.name, *stays}
        _aged(folder / f"{ours}08.csv.part", 2 * HOUR)
        other.onboarding.clean_uploads()  # as before every upload
        assert {path.name for path in folder.iterdir()} == {DATA.name, *stays}
    finally:
        other.close()


def test_the_wizard_looks_at_a_source_in_another_process(
    opened: Callable[..., House], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Types are guessed from rows, and no row may be read where the network is."""
    house = opened(data=str(folder))
    expected = reading.drafted_card(folder / DATA.name)

    def here(*given: object, **more: object) -> Any:
        raise AssertionError("rows are read in the process that talks to the network")

    for name in ("drafted_card", "open_source", "guessed_schema"):
        monkeypatch.setattr(reading, name, here)
    custodian = house.service.people.get("custodian")
    found = house.service.onboarding.sketch(custodian, {"file": DATA.name}, **CSV)
    assert found == expected
    assert found[1]  # guessed


@pytest.mark.parametrize("lack", ["_SKETCH_SECONDS", "_SKETCH_BYTES"])
def test_a_source_that_takes_too_much_is_refused_in_words(
    folder: Path, monkeypatch: pytest.MonkeyPatch, lack: str
) -> None:
    monkeypatch.setattr(sketching, lack, {"_SKETCH_SECONDS": 0.001, "_SKETCH_BYTES": 1 << 20}[lack])
    with pytest.raises(InvalidInput, match="limits on time and memory"):
        sketching.sketched(folder / DATA.name, **CSV)


def test_what_is_wrong_with_a_source_is_said_and_its_rows_are_not(folder: Path) -> None:
    (folder / "broken.parquet").write_bytes(b"PAR1 a secret value PAR1")
    with pytest.raises(InvalidInput) as refused:
        sketching.sketched(folder / "broken.parquet", **CSV)
    assert "secret" not in str(refused.value)


def test_the_process_that_looks_gets_no_secret_of_the_service(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHITECROW_LEDGER", "postgresql://crow:hush@host/ledger")
    seen: list[dict[str, Any]] = []
    run = subprocess.run

    def noted(*given: Any, **more: Any) -> Any:
        seen.append({"words": given[0], **more})
        return run(*given, **more)

    monkeypatch.setattr(sketching.subprocess, "run", noted)
    sketching.sketched(folder / DATA.name, **CSV)
    (started,) = seen
    assert "hush" not in str(started["env"])
    assert not any(str(folder) in word for word in started["words"])
