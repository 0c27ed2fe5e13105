"""A detector file that was written on another machine loads and scores with the same bits.

``python tests/detector/test_stored.py`` writes the file anew, for a new version of the format.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import whitecrow as wc
from whitecrow.data import opened as _opened
from whitecrow.detector import Detector, scoring

FOLDER = Path(__file__).parent / "stored"
CARD = wc.Card(
    "visits",
    (
        wc.Column("age", "integer", lower=0, upper=120),
        wc.Column("pulse", lower=20, upper=220, missing="fill", fill=70),
        wc.Column("pay"),
        wc.Column("ward", "category", categories=("a", "b", "c")),
        wc.Column("seen", "date", lower="2020-01-01", upper="2024-12-31"),
    ),
)
ORDINARY = {"age": 50, "pulse": 75.0, "pay": 900.0, "ward": "a", "seen": "2022-06-01"}
RECORDS: list[dict[str, Any]] = [
    ORDINARY,
    {**ORDINARY, "age": 119, "pay": -1e12},
    {**ORDINARY, "pulse": 220.0, "ward": "c"},
    {**ORDINARY, "seen": "2024-12-31", "pay": 1e-9},
    {**ORDINARY, "age": 0, "pulse": 20.0, "pay": 0.0, "ward": "b", "seen": "2020-01-01"},
]


def made() -> Detector:
    """Learn a small detector from made-up visits."""
    source = np.random.default_rng(11)
    size = 3000
    days = source.integers(18_300, 19_900, size).astype(np.int32)
    visits = pa.table(
        {
            "age": source.integers(18, 95, size),
            "pulse": source.normal(75, 10, size),
            "pay": np.exp(source.normal(7, 1, size)),
            "ward": source.choice(["a", "b", "c"], size, p=[0.7, 0.25, 0.05]).tolist(),
            "seen": pa.array(days, pa.int32()).cast(pa.date32()),
        }
    )
    curator = wc.Curator.open(visits, card=CARD, budget="2", ledger="sqlite://", name="visits")
    found: Detector = curator.learn(epsilon="2", false_alarms=[0.05]).answer
    return found


@pytest.fixture(scope="module")
def stored() -> Detector:
    return Detector.load(FOLDER / "visits.detector", card=CARD)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_file_from_another_machine_scores_with_the_same_bits(stored, monkeypatch, compiled):
    monkeypatch.setattr(scoring, "COMPILED", compiled)
    monkeypatch.setattr(scoring, "_FEW", 0)
    expected = json.loads((FOLDER / "visits.json").read_text())
    assert [score.hex() for score in stored.scores(RECORDS).tolist()] == expected["scores"]
    added = stored.contributions(RECORDS)
    assert added.column_names == list(CARD.names)
    assert stored.thresholds[0].score == expected["threshold"]
    octets = (FOLDER / "visits.detector").read_bytes()
    assert hashlib.sha256(octets).hexdigest() == expected["sha256"]
    assert stored.to_bytes()[:8] == octets[:8]


def test_a_file_of_the_version_before_is_read_and_written_as_the_present_one(stored):
    """Its two newer numbers are those that leave scores as they were."""
    octets = (FOLDER / "visits.detector").read_bytes()
    assert struct.unpack_from("<H", octets, 8) == (2,)
    assert (stored.model.far, stored.model.ranks) == (0.0, 1.0)
    again = stored.to_bytes()
    assert struct.unpack_from("<H", again, 8) == (3,)
    assert Detector.from_bytes(again) == stored
    assert (Detector.from_bytes(again).scores(RECORDS) == stored.scores(RECORDS)).all()


def test_a_detector_that_weighs_cells_by_noise_has_a_file_that_older_versions_refuse():
    found = made()
    octets = found.to_bytes()
    assert struct.unpack_from("<H", octets, 8) == (7,)
    again = Detector.from_bytes(octets)
    assert (again.model.near, again.model.clear) == (1.75, 16.0)
    assert again.model.together == found.model.together > 0.0
    assert (again.scores(RECORDS) == found.scores(RECORDS)).all()


SMALL = wc.Card(
    "visits",
    (
        wc.Column("age", "integer", lower=0, upper=120),
        wc.Column("ward", "category", categories=("a", "b", "c")),
    ),
)


@pytest.mark.parametrize(
    "name", ["small-0.2", "small-0.2-last", "small-0.3-before", "small-0.3-last"]
)
@pytest.mark.parametrize("compiled", [True, False])
def test_a_file_of_before_scores_with_the_same_bits(monkeypatch, name, compiled):
    """Written by the first and the last 0.2, and as versions 4 and 6, with the scores of then."""
    monkeypatch.setattr(scoring, "COMPILED", compiled)
    monkeypatch.setattr(scoring, "_FEW", 0)
    path = FOLDER / f"{name}.detector"
    expected = json.loads(path.with_suffix(".json").read_text())
    assert hashlib.sha256(path.read_bytes()).hexdigest() == expected["sha256"]
    detector = Detector.load(path, card=SMALL)
    records = [(50, "a"), (119, "a"), (50, "b"), (0, "c"), (33, "b")]
    scores = detector.scores([{"age": age, "ward": ward} for age, ward in records])
    assert [score.hex() for score in scores.tolist()] == expected["scores"]
    assert detector.to_bytes() == path.read_bytes()


def _sealed(body: bytes) -> bytes:
    return body + hashlib.sha256(body).digest()


def _versioned(body: bytes) -> bytes:
    return body[:8] + struct.pack("<H", 99) + body[10:]


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda body: body[:100] + b"\0" + body[101:], "checksum"),
        (lambda body: _sealed(_versioned(body[:-32])), "version 99"),
        (lambda body: b"PK" + body[2:], "not a detector file"),
        (lambda body: body[: len(body) // 2], "checksum"),
        (
            lambda body: _sealed(body[:-32].replace(b'"pulse"', b'"pulsx"', 1)),
            "not whole|no column",
        ),
        (lambda body: b"", "not a detector file"),
    ],
)
def test_a_tampered_file_is_refused(spoil: Callable[[bytes], bytes], says: str) -> None:
    octets = (FOLDER / "visits.detector").read_bytes()
    with pytest.raises(wc.InvalidInput, match=says):
        Detector.from_bytes(spoil(octets))


def test_a_file_of_another_card_is_refused():
    other = wc.Card("visits", (*CARD.columns[:-1], wc.Column("seen", "date")))
    with pytest.raises(wc.InvalidInput, match="another card"):
        Detector.load(FOLDER / "visits.detector", card=other)


def _score(stored: Detector, **changes: Any) -> float:
    return float(stored.scores({**ORDINARY, **changes})[0])


@pytest.mark.parametrize(
    ("bad", "rule"),
    [
        ({"age": None}, "none"),
        ({"age": float("nan")}, "none"),
        ({"age": 50.5}, "none"),
        ({"age": "fifty"}, "none"),
        ({"pulse": None}, {"pulse": 70}),
        ({"pulse": float("nan")}, {"pulse": 70}),
        ({"pulse": "fast"}, {"pulse": 70}),
        ({"age": "50"}, {}),
        ({"age": 500}, {"age": 120}),
        ({"age": float("-inf")}, {"age": 0}),
        ({"pay": float("inf")}, {"pay": 1e300}),
        ({"pay": float("-inf")}, {"pay": -1e300}),
        ({"pay": float("nan")}, "none"),
        ({"ward": "z"}, {"ward": "c"}),
        ({"ward": None}, "none"),
        ({"seen": "2031-01-01"}, {"seen": "2024-12-31"}),
        ({"seen": "soon"}, "none"),
        ({"unheard of": 1}, {}),
    ],
)
def test_each_odd_value_has_its_rule(stored, bad, rule):
    """The table of docs/questions/learn.md, row by row."""
    found = _score(stored, **bad)
    if rule == "none":
        assert np.isnan(found)
        assert not stored.predict([{**ORDINARY, **bad}])[0]
    else:
        assert found == _score(stored, **rule)


def test_each_odd_frame_has_its_rule(stored):
    whole = pa.Table.from_pylist(RECORDS)
    with pytest.raises(wc.InvalidInput, match="'pay'"):
        stored.scores(whole.drop_columns(["pay"]))
    lists = whole.set_column(2, "pay", pa.array([[1.0]] * len(RECORDS)))
    with pytest.raises(wc.InvalidInput, match=r"'pay' holds list.* cannot be read"):
        stored.scores(lists)
    days = whole.set_column(0, "age", pa.array([None] * len(RECORDS), pa.date32()))
    with pytest.raises(wc.InvalidInput, match="'age' holds date32"):
        stored.scores(days)
    assert stored.scores(whole.slice(0, 0)).shape == (0,)
    assert stored.predict(whole.slice(0, 0)).shape == (0,)
    assert stored.contributions(whole.slice(0, 0)).num_rows == 0
    mixed = whole.select(["ward", "pay", "age", "seen", "pulse"])
    assert (stored.scores(mixed) == stored.scores(whole)).all()


def test_a_file_is_scored_batch_by_batch_and_says_how_far_it_is(stored, tmp_path, monkeypatch):
    """No more than a batch is in memory: files may be larger than that."""
    monkeypatch.setattr(_opened, "BATCH", 4_000)
    repeated = pa.concat_tables([pa.Table.from_pylist(RECORDS)] * 2_000)
    told: list[tuple[int, int, str]] = []
    parquet.write_table(repeated, tmp_path / "many.parquet")
    csv.write_csv(repeated, tmp_path / "many.csv")
    for name in ("many.parquet", "many.csv"):
        told.clear()
        parts = list(stored.batches(tmp_path / name, progress=lambda *one: told.append(one)))
        assert len(parts) > (1 if name.endswith("parquet") else 0)
        assert [done for done, _, _ in told] == np.cumsum([len(part) for part in parts]).tolist()
        assert told[-1][0] == told[-1][1] == 10_000
        first = stored.scores(RECORDS)
        assert (np.concatenate(parts).reshape(-1, len(RECORDS)) == first).all()


if __name__ == "__main__":
    detector = made()
    target = detector.save(FOLDER / "visits.detector")
    expected = {
        "scores": [score.hex() for score in detector.scores(RECORDS).tolist()],
        "threshold": detector.thresholds[0].score,
        "sha256": hashlib.sha256(target.read_bytes()).hexdigest(),
    }
    (FOLDER / "visits.json").write_text(json.dumps(expected, indent=1) + "\n")
