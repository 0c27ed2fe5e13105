"""The file of a detector.

| part | bytes | |
|---|---|---|
| mark | 8 | ``WCROWDET`` |
| version | 2 | little-endian, 7; 2 to 6 are read |
| length of the header | 4 | little-endian |
| header | | JSON: card, question, guarantee, thresholds; of each model grids and arrays |
| arrays | | zlib; one after the other, each as the planes of its bytes, the low bytes first |
| checksum | 32 | SHA-256 of all before |

Nothing in it is executed when it is read; sizes are checked before memory is taken, and whatever
else the bytes may be, there is one error for it.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from whitecrow.card import Card
from whitecrow.detector.model import CUTS, PARTS, SPAN, Grid, Model, Tables, Threshold, grid_of
from whitecrow.errors import InvalidInput
from whitecrow.privacy import DifferentialPrivacy

MAGIC = b"WCROWDET"
VERSION = 7
_HEAD = struct.Struct("<8sHI")
_MOST = 1 << 28  # a detector is far smaller than this
_MOST_CELLS = 1 << 11  # of a column without an order
_MOST_CUTS = 8
_MOST_AXES = 16


def packed(models: Sequence[Model], about: Mapping[str, Any]) -> bytes:
    """Return the bytes of models with what else is to be known of them."""
    parts = [_part(model) for model in models]
    heads = {**about, "models": [head for head, _ in parts]}
    header = json.dumps(heads, ensure_ascii=False, allow_nan=False).encode()
    # Counts are noisy: looking harder takes twenty times as long and saves one byte in fifty.
    squeezed = zlib.compress(b"".join(planes for _, planes in parts), 6)
    version = max(map(_version, models))
    body = _HEAD.pack(MAGIC, version, len(header)) + header + squeezed
    return body + hashlib.sha256(body).digest()


def _version(model: Model) -> int:
    newest = (model.together, model.clear, model.fits, model.near)
    return next((7 - older for older, used in enumerate(newest) if used), 3)


def _part(model: Model) -> tuple[dict[str, Any], bytes]:
    arrays = {
        "shares": np.concatenate([np.rint(share * PARTS) for share in model.shares]),
        "logarithms": np.concatenate([np.diff(pair[0], prepend=0) for pair in model.looks]),
        "ranks": np.concatenate([np.diff(pair[1], prepend=0) for pair in model.looks]),
        "start": model.tables.start,
        "axis": model.tables.axis,
        "offset": model.tables.offset,
        "pace": model.tables.pace,
        "counts": model.counts,
    }
    octets = (array.astype("<i4").view(np.uint8).reshape(-1, 4) for array in arrays.values())
    header = {
        "grids": [
            {field: getattr(grid, field) for field in _FIELDS}
            | ({} if grid.absent is None else {"absent": grid.absent})
            for grid in model.grids
        ],
        "numbers": {
            name: value for name in _NUMBERS if (value := getattr(model, name)) != _LATER.get(name)
        },
        "arrays": {name: len(array) for name, array in arrays.items()},
    }
    return header, b"".join(each.T.tobytes() for each in octets)


_FIELDS = ("name", "ordered", "whole", "lower", "upper", "cuts")
_LATER = {"near": 0.0, "clear": 0.0, "together": 0.0}
_NEWER = {"far": 0.0, "ranks": 1.0, **_LATER}
"""Numbers that older files do not have, and what they mean there; later ones are left out then."""
_NUMBERS = {
    "records": (1.0, 2.0**100),
    **dict.fromkeys(("noise", "marginal_noise"), (0.0, 2.0**100)),
    **dict.fromkeys(("peak", "tail", "far", "ranks", "near", "clear", "together"), (0.0, 64.0)),
}  # between which numbers each may lie: far beyond what is ever learned
_ARRAYS = ("shares", "logarithms", "ranks", "start", "axis", "offset", "pace", "counts")


def _models(heads: list[dict[str, Any]], squeezed: bytes) -> tuple[Model, ...]:
    lengths = [head["arrays"] for head in heads]
    for arrays in lengths:
        _expect(arrays.keys() == set(_ARRAYS))
        _expect(all(type(size) is int and 0 <= size <= _MOST for size in arrays.values()))
    sizes = [4 * sum(arrays.values()) for arrays in lengths]
    total = sum(sizes)
    _expect(total <= _MOST)
    octets = zlib.decompressobj().decompress(squeezed, total + 1)
    _expect(len(octets) == total)
    ends = np.cumsum(sizes)
    parts = [octets[end - size : end] for end, size in zip(ends, sizes, strict=True)]
    return tuple(_model(head, part) for head, part in zip(heads, parts, strict=True))


def _expect(sound: object) -> None:
    if not sound:
        raise ValueError


def _grid(fields: dict[str, Any]) -> Grid:
    """Return a grid, none of whose numbers makes it larger than a column's can be."""
    lower, upper, absent = fields["lower"], fields["upper"], fields.get("absent")
    flags = fields["ordered"], fields["whole"]
    _expect(all(type(flag) is bool for flag in flags))
    _expect((lower is None) == (upper is None))
    for number in (lower, upper, absent):
        _expect(number is None or (type(number) is float and math.isfinite(number)))
    _expect(lower is None or lower <= upper)
    grid = Grid(str(fields["name"]), *flags, lower, upper, absent=absent)
    _expect(grid.ordered or (grid.whole and lower == 0.0 and upper <= _MOST_CELLS))
    _expect(len(fields["cuts"]) <= _MOST_CUTS)
    for chosen in fields["cuts"]:
        _expect(len(chosen) <= CUTS)
        _expect(all(type(cell) is int and 0 <= cell < grid.cells for cell in chosen))
        grid = grid.refined(tuple(chosen))
    return grid


def _model(header: dict[str, Any], octets: bytes) -> Model:
    arrays, begin = {}, 0
    for name, size in header["arrays"].items():
        planes = np.frombuffer(octets, np.uint8, 4 * size, begin).reshape(4, -1)
        arrays[name] = np.ascontiguousarray(planes.T).view("<i4").reshape(-1).astype(np.int32)
        begin += 4 * size
    grids = tuple(_grid(fields) for fields in header["grids"])
    given = {**_NEWER, **header["numbers"]}
    numbers = {name: float(given[name]) for name in _NUMBERS}
    ends = np.cumsum([grid.cells for grid in grids])[:-1]
    coordinates = (np.split(arrays[name], ends) for name in ("logarithms", "ranks"))
    model = Model(
        grids=grids,
        shares=tuple(part / PARTS for part in np.split(arrays["shares"], ends)),
        looks=tuple(
            np.cumsum(pair, axis=1).astype(np.int32) for pair in zip(*coordinates, strict=True)
        ),
        tables=Tables(*(arrays[name] for name in ("start", "axis", "offset", "pace"))),
        counts=arrays["counts"],
        **numbers,
    )
    _expect(_sound(model))
    return model


def _sound(model: Model) -> bool:
    """Say whether numbers are in their ranges, and no array leads a loop out of its tables."""
    tables = model.tables
    cells = [grid.cells for grid in model.grids]
    return (
        all(least <= getattr(model, name) <= most for name, (least, most) in _NUMBERS.items())
        and tables.start[0] == 0
        and bool((np.diff(tables.start) >= 1).all())
        and int(tables.start[-1]) == len(tables.axis) == len(tables.offset) == len(tables.pace)
        and bool(((tables.axis >= 0) & (tables.axis < 2 * len(cells))).all())
        and bool(((tables.offset >= 0) & (tables.offset <= 2 * SPAN)).all())
        and bool(((tables.pace >= 1) & (tables.pace < 1 << 16)).all())
        and int(np.diff(tables.start).max(initial=0)) <= _MOST_AXES
        # So few axes of so few bins never multiply to more than a double holds; 64 bits wrap.
        and float(np.multiply.reduceat(tables.bins.astype(np.float64), tables.start[:-1]).max())
        <= 1 << 16
        and int(tables.base[-1]) == len(model.counts)
        and [len(share) for share in model.shares] == cells
        and all(share.min() >= 0.0 and share.sum() == 1.0 for share in model.shares)
        and all(
            coordinates.shape == (2, size)
            and int(coordinates.min()) >= 0
            and int(coordinates.max()) <= SPAN
            for coordinates, size in zip(model.looks, cells, strict=True)
        )
    )


def fields_of(octets: bytes) -> dict[str, Any]:
    """Return the fields of a detector."""
    if len(octets) < _HEAD.size + 32 or octets[:8] != MAGIC:
        raise InvalidInput("This is not a detector file.")
    _, version, length = _HEAD.unpack_from(octets)
    if not 2 <= version <= VERSION:
        raise _refused(f"is of version {version}; this whitecrow reads versions 2 to {VERSION}")
    body, checksum = octets[:-32], octets[-32:]
    if hashlib.sha256(body).digest() != checksum:
        raise _refused("is damaged: its checksum is another")
    try:
        header = json.loads(body[_HEAD.size : _HEAD.size + length])
        return _fields(_models(header["models"], body[_HEAD.size + length :]), header)
    except InvalidInput:
        raise
    except Exception:  # noqa: BLE001 - bytes that somebody made can be wrong in any way
        raise InvalidInput("The file of a detector is not whole. Save it again.") from None


def _refused(why: str) -> InvalidInput:
    return InvalidInput(f"The file of a detector {why}. Save the detector again.")


def _fields(models: tuple[Model, ...], about: Mapping[str, Any]) -> dict[str, Any]:
    card = Card.from_json(about["card"])
    columns = [grid_of(card.column(name)) for name in models[0].names]
    for model in models:
        _expect([replace(grid, cuts=()) for grid in model.grids] == columns)
    promise = about["guarantee"]
    return {
        "models": models,
        "card": card,
        "guarantee": DifferentialPrivacy(promise["epsilon"], promise["delta"], promise["unit"]),
        "statement": str(about["statement"]),
        "question": dict(about["question"]),
        "thresholds": tuple(
            Threshold(Fraction(sold["rate"]), _finite(sold["score"]), _finite(sold.get("rough")))
            for sold in about["thresholds"]
        ),
        "entry": str(about["entry"]),
        "notes": tuple(str(note) for note in about["notes"]),
    }


def _finite(value: Any) -> float | None:
    if value is None:
        return None
    _expect(math.isfinite(float(value)))
    return float(value)
