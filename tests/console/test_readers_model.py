"""A model that somebody registered is chosen in a form by its name, and answers."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

import whitecrow as wc
from whitecrow.anomaly import model as registry

from .conftest import build


def test_a_form_takes_a_registered_model_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "server"))
    monkeypatch.setattr(registry, "_registered", {})
    wc.register_model(importlib.import_module("agreeing_model").Agreeing)
    house = build(tmp_path)
    house.service.start()
    try:
        house.service.curator(house.person("ana"), "clinic")
        ana = house.visitor("ana")
        model = {"model": "agreeing", "beta": "", "radius": "", "epsilon": "50"}
        far = {"record.age": "90", "record.bmi": "45", "record.systolic": ""}
        page = ana.asked("screen", **model, **far)
        assert "Yes, it would be an anomaly" in page.text
        refused = ana.priced("screen", **{**model, "model": "os:system"})
        assert refused.status_code == 422
    finally:
        house.service.close()
