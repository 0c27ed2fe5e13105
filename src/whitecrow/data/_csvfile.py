"""CSV files: every field is text, and every record is read alike wherever it lies in the file.

The file is cut between records, whatever their length and whatever line ends their quoted fields
hold, so that no cut falls into one. A row with another number of fields than the header is left
out by itself.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from whitecrow.card import CsvFormat
from whitecrow.errors import InvalidInput

__all__ = ["batches", "guessed_schema", "header"]

USUAL = CsvFormat()
_CHUNK = 1 << 24
_MARK = b"\xef\xbb\xbf"
# As the parser sees it: a quote opens a field only at its start, two quotes inside stand for one,
# and from the closing quote to the end of the field quotes are plain characters.
_QUOTED = {
    mark: re.compile(rb"(?:(?<=[" + re.escape(mark) + rb'\r\n])|\A)"(?:[^"]|"")*+("?)')
    for mark in (b",", b";", b"\t", b"|")
}


def header(path: Path, form: CsvFormat = USUAL) -> list[str]:
    """Return the names in the first row.

    Raises
    ------
    InvalidInput
        There is none that can be read.
    """
    with path.open("rb") as file:
        first = next(_records(_recoded(file, form), _mark(form)), b"")
    try:
        text = io.StringIO(first.decode(), newline="")
        names = next(csv.reader(text, delimiter=_mark(form).decode()), [])
    except (UnicodeDecodeError, csv.Error):
        names = []
    if not names:
        raise _unreadable(path)
    return names


def batches(
    path: Path,
    names: list[str],
    wanted: list[str],
    left_out: Callable[[], None],
    form: CsvFormat = USUAL,
    numbers: Collection[str] = (),
) -> Iterator[Any]:
    """Yield the wanted columns as Arrow batches of text.

    Parameters
    ----------
    path : Path
    names : list of str
        The header.
    wanted : list of str
    left_out : callable
        Called for each row that has another number of fields than the header.
    form : CsvFormat
        How the file is written.
    numbers : collection of str
        The columns whose decimals have the mark that the form says.
    """
    import pyarrow

    def skip(row: object) -> str:
        left_out()
        return "skip"

    places = [names.index(name) for name in wanted]
    with path.open("rb") as file:
        blocks = _records(_recoded(file, form), _mark(form))
        next(blocks, b"")  # the header
        for block in blocks:
            if block.strip(b"\r\n"):
                for batch in _parsed(path, block, len(names), places, skip, form).to_batches():
                    texts = [
                        _as_text(column, "," if form.decimal == "," and name in numbers else "")
                        for name, column in zip(wanted, batch.columns, strict=True)
                    ]
                    yield pyarrow.record_batch(texts, names=wanted)


def guessed_schema(path: Path, form: CsvFormat) -> Any:
    """Return names and the types that the first rows suggest, for a custodian's draft of a card."""
    import pyarrow
    from pyarrow import csv as arrow

    options = arrow.ParseOptions(
        delimiter=_mark(form).decode(),
        newlines_in_values=True,
        invalid_row_handler=lambda row: "skip",
    )
    try:
        with arrow.open_csv(
            path,
            arrow.ReadOptions(encoding=form.encoding),
            options,
            arrow.ConvertOptions(decimal_point=form.decimal),
        ) as start:
            return start.schema
    except pyarrow.ArrowInvalid:
        return pyarrow.schema([(name, pyarrow.string()) for name in header(path, form)])


class _Recoded:
    """A file in another encoding, read as UTF-8; what cannot be decoded is marked as such."""

    def __init__(self, file: BinaryIO, encoding: str) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder(encoding)(errors="replace")

    def read(self, size: int) -> bytes:
        while True:
            piece = self._file.read(size)
            found = self._decoder.decode(piece, final=not piece)
            if found or not piece:
                return found.encode()


def _recoded(file: BinaryIO, form: CsvFormat) -> BinaryIO | _Recoded:
    return file if form.encoding == "utf-8" else _Recoded(file, form.encoding)


def _mark(form: CsvFormat) -> bytes:
    return b"\t" if form.delimiter == "tab" else form.delimiter.encode()


def _records(file: BinaryIO | _Recoded, mark: bytes) -> Iterator[bytes]:
    """Yield the first record alone, then blocks of whole records."""
    first = True
    kept = file.read(max(_CHUNK, len(_MARK))).removeprefix(_MARK)
    while True:
        end = _boundary(kept, mark, first=first)
        if end:
            yield kept[:end]
            kept = kept[end:]
        if not (end and first):  # after the header, what is kept may hold whole records
            more = file.read(max(_CHUNK, len(kept)))
            if not more:
                break
            kept += more
        first = first and not end
    if kept:
        yield kept


def _boundary(block: bytes, mark: bytes, *, first: bool) -> int:
    """Return where the last record that is surely whole ends (or the first); 0 if none is."""
    quoted = []
    for found in _QUOTED[mark].finditer(block):
        # A closing quote at the very end may be the first of two.
        whole = found[1] and found.end() < len(block)
        quoted.append((found.start(), found.end() if whole else len(block)))
    if first:
        place = block.find(b"\n")
        for start, end in quoted:
            if start < place < end:
                place = block.find(b"\n", end)
        return place + 1
    place = block.rfind(b"\n")
    for start, end in reversed(quoted):
        if start < place < end:
            place = block.rfind(b"\n", 0, start)
    return place + 1


def _parsed(
    path: Path,
    block: bytes,
    width: int,
    places: list[int],
    skip: Callable[[object], str],
    form: CsvFormat,
) -> Any:
    import pyarrow
    from pyarrow import csv as arrow

    # Named by their places: a header may name two alike.
    names = [str(place) for place in range(width)]
    try:
        return arrow.read_csv(
            pyarrow.py_buffer(block),
            # One block: the parser makes no cut of its own.
            read_options=arrow.ReadOptions(
                block_size=len(block) + 1, use_threads=False, column_names=names
            ),
            parse_options=arrow.ParseOptions(
                delimiter=_mark(form).decode(), newlines_in_values=True, invalid_row_handler=skip
            ),
            convert_options=arrow.ConvertOptions(
                column_types=dict.fromkeys(names, pyarrow.binary()),
                include_columns=[str(place) for place in places],
                strings_can_be_null=True,
            ),
        )
    except (pyarrow.ArrowException, OverflowError):
        raise _unreadable(path) from None


def _as_text(column: Any, decimal: str = "") -> Any:
    import pyarrow
    from pyarrow import compute

    try:
        found = column.cast(pyarrow.string())
    except pyarrow.ArrowInvalid:
        texts = [_text_or_none(value) for value in column.to_pylist()]
        found = pyarrow.array(texts, pyarrow.string())
    if decimal:  # a point would be another mark than the one that was declared
        found = compute.replace_substring(found, ".", "?")
        found = compute.replace_substring(found, decimal, ".")
    return found


def _text_or_none(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


def _unreadable(path: Path) -> InvalidInput:
    return InvalidInput(f"The file {path.name!r} is not readable CSV with a header.")
