"""What records are recognised by: a digest of a file's bytes, or of a table's rows.

A mark says whether two sources hold the same records. It depends on the records alone, not on the
card, so that a second card finds the account of the first; it is a fact, and an account keeps a
keyed hash of it only (:mod:`whitecrow.ledger.revisions`).

* A *file*, or a folder of Parquet files or of a table, is marked by its bytes. Files are hashed
  once: while size, inode and both times of a file stay, its digest is known. (The time of the last
  change of the inode cannot be set back, unlike that of the contents. Of a file that was written a
  moment ago nothing is remembered: a second write might bear the same time.)
* A *frame* or the result of a query is marked by the multiset of its rows, in whichever order they
  come, over all of its columns: the sum of a hash of each row.
* A *database* that counts for itself is asked for the number of its rows and such a sum.

*Chunks* are marked in the same way, so that an account can see that records were only added: runs
of rows in their order, or whole files of a folder.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from whitecrow._arrays import Array, Words
from whitecrow.data.opened import files_of

FileStates = dict[str, list[int]]
"""By path: size, inode, time of change of the contents and of the inode."""


_MODULUS = 1 << 256
_ROWS = 1 << 15  # so many rows stay in the processor's cache from one step to the next
_LANES = (0x243F6A8885A308D3, 0x13198A2E03707344)  # two independent sums: 128 bits
_CHUNK = 1 << 16
_A_MOMENT_NS = 2_000_000_000
_NULL = np.uint64(0xA4093822299F31D0)


def file_states(path: Path) -> FileStates:
    """Return what changes when a file, or the files of a folder, are written."""
    states = {}
    for file in files_of(path):
        stat = file.stat()
        states[str(file)] = [stat.st_size, stat.st_ino, stat.st_mtime_ns, stat.st_ctime_ns]
    return states


def files_fingerprint(states: FileStates, stored: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the fingerprint of files, and the digests to be known next time.

    ``stored`` is what an earlier call returned.
    """
    digests: dict[str, Any] = {}
    for file, state in states.items():
        earlier = stored.get(file)
        same = earlier is not None and earlier[0] == state
        digests[file] = earlier if same else [state, _file_digest(file)]
    total = sum(int(digest, 16) for _, digest in digests.values()) % _MODULUS
    before = time.time_ns() - _A_MOMENT_NS
    lasting = {file: digest for file, digest in digests.items() if digest[0][-1] < before}
    return f"files:{len(digests)}:{total:064x}", lasting


def file_chunks(states: FileStates, folder: Path) -> dict[str, str]:
    """Return the digest of each file of a folder, by its place there."""
    return {f"file:{Path(file).relative_to(folder)}": _file_digest(file) for file in states}


def _file_digest(file: str) -> str:
    with Path(file).open("rb") as content:
        return hashlib.file_digest(content, "blake2b").hexdigest()[:64]


class RowFingerprint:
    """Adds up the rows of a table, batch by batch, in any order.

    To ``keep`` 16 bytes a row is for :meth:`chunks`.

    Examples
    --------
    >>> import pyarrow
    >>> one, other = RowFingerprint(), RowFingerprint()
    >>> for age in ([30.0, 31.0], [90.0]):
    ...     one.add(pyarrow.record_batch({"age": age}))
    >>> other.add(pyarrow.record_batch({"age": [90.0, 31.0, 30.0]}))
    >>> one.text() == other.text()
    True
    """

    def __init__(self, *, keep: bool = False) -> None:
        self._count = 0
        self._sums = [0] * len(_LANES)
        self._names: tuple[str, ...] = ()
        self._rows: list[Words] | None = [] if keep else None

    def __repr__(self) -> str:
        return "<fingerprint withheld>"

    def add(self, batch: Any) -> None:
        """Take in a batch of rows (Arrow)."""
        order = sorted(range(batch.num_columns), key=lambda at: batch.schema.names[at])
        self._names = tuple(batch.schema.names[at] for at in order)
        columns = [_words(batch.column(at)) for at in order]
        self._count += batch.num_rows
        for first in range(0, batch.num_rows, _ROWS):
            part = [words[first : first + _ROWS] for words in columns]
            lanes = [_hashed(part, seed) for seed in _LANES]
            for lane, hashes in enumerate(lanes):
                self._sums[lane] += int(hashes.sum(dtype=np.uint64))
            if self._rows is not None:
                self._rows.append(np.stack(lanes, axis=1))

    def text(self) -> str:
        """Return the fingerprint of all rows so far."""
        names = self._named(8).hexdigest()
        sums = ":".join(f"{total % (1 << 64):016x}" for total in self._sums)
        return f"rows:{self._count}:{names}:{sums}"

    def chunks(self, earlier: Iterable[str] = ()) -> dict[str, str]:
        """Return a digest of each run of rows, by the number of rows up to its end.

        The first rows are cut as in the ``earlier`` chunks of another revision, so that rows that
        follow make chunks of their own.
        """
        assert self._rows is not None
        rows = np.concatenate(self._rows) if self._rows else np.empty((0, len(_LANES)), np.uint64)
        ends = sorted(int(name.partition(":")[2]) for name in earlier if name.startswith("rows:"))
        last = ends[-1] if ends else 0
        ends = [end for end in ends if end < len(rows)]
        ends += [*range(last + _CHUNK, len(rows), _CHUNK), *([len(rows)] if len(rows) else [])]
        digests, first = {}, 0
        for end in ends:
            digest = self._named(32)
            digest.update(np.ascontiguousarray(rows[first:end]).tobytes())
            digests[f"rows:{end}"] = digest.hexdigest()
            first = end
        return digests

    def _named(self, size: int) -> Any:
        # A name that holds what stands between names is told from two names by another hash.
        person = b"NUL" if any("\0" in name for name in self._names) else b""
        names = json.dumps(self._names) if person else "\0".join(self._names)
        return hashlib.blake2b(names.encode(), digest_size=size, person=person)


def joined_fingerprints(texts: Iterable[str]) -> str:
    """Return the fingerprint of rows that were read in parts."""
    counted = [text.split(":") for text in texts]
    parts = [part for part in counted if part[1] != "0"] or counted
    sums = [
        sum(int(part[lane], 16) for part in parts) % (1 << 64) for lane in range(3, 3 + len(_LANES))
    ]
    records = sum(int(part[1]) for part in parts)
    return f"rows:{records}:{parts[0][2]}:" + ":".join(f"{total:016x}" for total in sums)


def _hashed(columns: list[Words], seed: int) -> Words:
    """Hash each row; the finalizer is that of splitmix64."""
    hashes = np.full(len(columns[0]), seed, dtype=np.uint64)
    spare = np.empty_like(hashes)
    for words in columns:
        hashes ^= words
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
            np.right_shift(hashes, np.uint64(shift), out=spare)
            hashes ^= spare
            hashes *= np.uint64(factor)
        hashes += np.uint64(seed)
    return hashes


def _words(column: Any) -> Words:
    """Return one 64-bit word a value: equal values have equal words, and no value makes it fail.

    What a number stands for is part of its word: a day, a moment of some unit and zone, a truth.
    The same number of another unit is another day.
    """
    import pyarrow as pa
    from pyarrow import compute, types

    column = _stored(column)
    kind = column.type
    if types.is_null(kind):
        return np.full(len(column), _NULL)
    if types.is_floating(kind):
        values = np.asarray(compute.fill_null(column.cast(pa.float64()), np.nan))
        values = np.where(np.isnan(values), np.nan, values) + 0.0  # of many bit patterns; -0 is 0
        return values.view(np.uint64)
    if types.is_integer(kind):
        wide = pa.uint64() if types.is_uint64(kind) else pa.int64()
        return _with_nulls(np.asarray(compute.fill_null(column.cast(wide), 0)), column)
    if types.is_boolean(kind) or types.is_date32(kind):
        whole = column.cast(pa.int8()) if types.is_boolean(kind) else column.view(pa.int32())
        parts = [np.asarray(compute.fill_null(whole, 0)).astype(np.int64).view(np.uint64)]
    elif types.is_struct(kind):
        parts = [_words(column.field(index)) for index in range(kind.num_fields)]
    elif types.is_temporal(kind):
        width = kind.bit_width // 32
        stop = column.offset + len(column)
        ticks = np.frombuffer(column.buffers()[1] or b"", np.int32, width * stop)
        parts = list(ticks.reshape(-1, width)[column.offset :].T.astype(np.int64).view(np.uint64))
    else:
        lists = (types.is_list, types.is_large_list, types.is_fixed_size_list, types.is_map)
        views = (types.is_list_view, types.is_large_list_view)
        listed = any(is_kind(kind) for is_kind in (*lists, *views))
        return _with_nulls(_list_words(column) if listed else _text_words(column), column)
    return _with_nulls(_hashed([_typed(kind, len(column)), *parts], _LANES[0]), column)


def _stored(column: Any) -> Any:
    """Return a column without an extension, a dictionary or runs."""
    import pyarrow as pa
    from pyarrow import compute, types

    if isinstance(column.type, pa.BaseExtensionType):
        return _stored(column.storage)
    if types.is_dictionary(column.type):
        return _stored(column.dictionary_decode())
    if types.is_run_end_encoded(column.type):
        return _stored(compute.run_end_decode(column))
    return column


def _typed(kind: Any, rows: int) -> Words:
    digest = hashlib.blake2b(str(kind).encode(), digest_size=8).digest()
    return np.full(rows, int.from_bytes(digest), dtype=np.uint64)


def _list_words(column: Any) -> Words:
    """Hash the values of each list in their order."""
    import pyarrow as pa
    from pyarrow import compute, types

    if types.is_map(column.type):
        pair = [("key", column.type.key_type), ("value", column.type.item_type)]
        column = column.cast(pa.list_(pa.struct(pair)))
    lengths = np.asarray(compute.fill_null(compute.list_value_length(column), 0)).astype(np.int64)
    values = _words(compute.list_flatten(column))
    ends = np.cumsum(lengths)
    index = np.arange(len(values)) - np.repeat(ends - lengths, lengths)
    mixed = _hashed([values, index.astype(np.uint64)], _LANES[1])
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)])
    return _hashed([lengths.astype(np.uint64), sums[ends] - sums[ends - lengths]], _LANES[0])


def _with_nulls(values: Array, column: Any) -> Words:
    words = values.view(np.uint64)
    if column.null_count:
        words = words.copy()
        words[np.asarray(column.is_null())] = _NULL
    return words


def _text_words(column: Any) -> Words:
    """Hash each different value once."""
    import pyarrow as pa
    from pyarrow import types

    kind = column.type
    texts = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    octets = types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind)
    if texts or octets:
        column = column.cast(pa.binary())
    else:
        listed = [None if value is None else str(value).encode() for value in column.to_pylist()]
        column = pa.array(listed, pa.binary())
    coded = column.dictionary_encode(null_encoding="encode")
    hashes = [
        int.from_bytes(hashlib.blake2b(_named_bytes(value, octets), digest_size=8).digest())
        for value in coded.dictionary.to_pylist()
    ]
    by_code: Words = np.array(hashes, dtype=np.uint64)
    words: Words = by_code[np.asarray(coded.indices)]
    return words


def _named_bytes(value: bytes | None, octets: bool) -> bytes:
    """Write a value so that a text and the same bytes differ, whether or not it is a text."""
    if value is None:
        return repr(value).encode()
    if octets:
        return repr(str(value)).encode()
    try:
        return repr(value.decode()).encode()
    except UnicodeDecodeError:
        return b"no text" + value
