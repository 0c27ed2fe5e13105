"""Any bytes are a detector or refused: one kind of error, and no memory beyond what they say."""

from __future__ import annotations

import copy
import hashlib
import json
import random
import struct
import tracemalloc
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whitecrow as wc
from whitecrow.detector import Detector

STORED = (Path(__file__).parent / "stored" / "visits.detector").read_bytes()
HEAD = struct.Struct("<8sHI")
RECORD = {"age": 50, "pulse": 75.0, "pay": 900.0, "ward": "a", "seen": "2022-06-01"}
HOSTILE: tuple[Any, ...] = (
    None, True, -1, 0, 1, 2**31, 2**62, 2**64, 10**400, -(10**400), 0.5, 1e308, -1e308, 5e-324,
    float("inf"), float("nan"), "", "x", "1/0", "\ud800", "0" * 5000, [], [[]], {}, {"a": 1},
    [0] * 1000, "[" * 50,
)  # fmt: skip
MOST_BYTES = 64 << 20


def parts(octets: bytes) -> tuple[dict[str, Any], bytes]:
    _, _, length = HEAD.unpack_from(octets)
    header = json.loads(octets[HEAD.size : HEAD.size + length])
    return header, zlib.decompress(octets[HEAD.size + length : -32])


def sealed(header: Any, arrays: bytes, version: int = 3) -> bytes:
    written = header if isinstance(header, bytes) else json.dumps(header).encode()
    body = HEAD.pack(b"WCROWDET", version, len(written)) + written + zlib.compress(arrays, 1)
    return body + hashlib.sha256(body).digest()


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every place in a JSON value, as what holds it and its key."""
    keys = list(value) if isinstance(value, dict) else range(len(value))
    for key in keys:
        yield value, key
        if isinstance(value[key], dict | list):
            yield from places(value[key])


def read_or_refused(octets: bytes) -> bool:
    """Whether the bytes are a detector; then it scores a record. Anything else is a failure."""
    tracemalloc.start()
    try:
        found = Detector.from_bytes(octets)
        score = found.scores(RECORD)
        assert not np.isinf(score).any()
        found.contributions(RECORD)
    except wc.InvalidInput:
        return False
    finally:
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert most < MOST_BYTES, f"{most:,} bytes"
    return True


def spoiled(draw: random.Random) -> bytes:
    """Return the stored file with one or a few things changed, and a checksum that fits."""
    header, arrays = parts(STORED)
    kind = draw.randrange(4)
    if kind == 0:
        changed = bytearray(STORED)
        for _ in range(draw.randrange(1, 5)):
            changed[draw.randrange(len(changed))] = draw.randrange(256)
        return bytes(changed[: draw.choice((len(changed), draw.randrange(len(changed))))])
    if kind == 1:
        whole = np.frombuffer(arrays, np.uint8).copy()
        for _ in range(draw.choice((1, 5, 500))):
            whole[draw.randrange(len(whole))] = draw.randrange(256)
        return sealed(header, whole.tobytes())
    for _ in range(draw.choice((1, 1, 2))):
        holder, key = draw.choice(list(places(header)))
        if draw.random() < 0.2 and isinstance(holder, dict):
            del holder[key]
        else:
            holder[key] = copy.deepcopy(draw.choice(HOSTILE))
    return sealed(header, arrays, draw.choice((2, 3)))


def test_spoiled_files_are_read_or_refused_and_nothing_else() -> None:
    draw = random.Random(30)
    read = [read_or_refused(spoiled(draw)) for _ in range(80)]
    assert 1 < sum(read) < 79  # some changes are to notes


@pytest.mark.study
@pytest.mark.timeout(3600)
def test_very_many_spoiled_files_are_read_or_refused_and_nothing_else() -> None:
    draw = random.Random(31)
    for _ in range(20_000):
        read_or_refused(spoiled(draw))


def test_a_table_whose_cells_wrap_64_bits_takes_no_memory() -> None:
    """Sixteen axes of 16 bins are 2^64 cells, which is 0 in 64 bits, as many as are stored."""
    header, arrays = parts(STORED)
    (model,) = header["models"]
    cells = model["arrays"]["shares"]
    tables = {"start": [0, 16], "axis": [0] * 16, "offset": [0] * 16, "pace": [160] * 16}
    assert (6144 * 160 >> 16) + 1 == 16
    planes = [
        np.array(one, "<i4").view(np.uint8).reshape(-1, 4).T.tobytes() for one in tables.values()
    ]
    sizes = {name: len(one) for name, one in tables.items()}
    columns = dict.fromkeys(("shares", "logarithms", "ranks"), cells)
    model["arrays"] = {**columns, **sizes, "counts": 0}
    assert not read_or_refused(sealed(header, arrays[: 3 * 4 * cells] + b"".join(planes)))


@pytest.mark.parametrize(
    "octets",
    [
        b"",
        b"WCROWDET",
        bytes(1000),
        sealed(b"[" * 100_000, b""),
        sealed(b"9" * 10_000, b""),
        sealed(b"\xff\xfe", b""),
        sealed([], b""),
        sealed(None, b""),
        sealed({"models": []}, b""),
        sealed({"models": [{"arrays": {}}]}, b""),
        sealed(parts(STORED)[0], bytes(1 << 24)),
    ],
    ids=len,
)
def test_what_is_nothing_like_a_file_is_refused(octets: bytes) -> None:
    assert not read_or_refused(octets)


def test_arrays_larger_than_they_say_are_refused_before_they_are_unpacked() -> None:
    header, arrays = parts(STORED)
    assert read_or_refused(sealed(header, arrays))
    for size in (2**28, 2**62, 2**64, 10**400):
        header, _ = parts(STORED)
        header["models"][0]["arrays"]["counts"] = size
        assert not read_or_refused(sealed(header, bytes(1 << 24)))
