"""CSV files: every field is text, and every record is read alike wherever it lies in the file.

A line is a record, whatever its quotes say. One whose quotes do not close is left out by itself,
and so is one with another number of fields than the header. Only where the card declares that a
record may have several lines does an open quote reach into the next ones, and never further than
that many.

Lines are cut before anything is decoded: a byte that is no text is a matter of its own line.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Callable, Collection, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from whitecrow.card import CsvFormat
from whitecrow.data.values import text_of_bytes
from whitecrow.errors import InvalidInput

USUAL = CsvFormat()
_CHUNK = 1 << 24
_LONGEST = 1 << 26
"""A record of more bytes is left out: it would have to be held in memory as a whole."""
_LINE_END = re.compile(rb"\r\n?|\n")
# As the parser sees it: a quote opens a field only at its start, two quotes inside stand for one,
# and from the closing quote to the end of the field quotes are plain characters.
_DELIMITERS = (b",", b";", b"\t", b"|")
_OPENING = {sep: rb'"(?:(?<=[' + re.escape(sep) + rb'\r\n]")|(?<=\A"))' for sep in _DELIMITERS}
_QUOTED = {sep: re.compile(quote + rb'(?:[^"]|"")*+("?)') for sep, quote in _OPENING.items()}
# A quote that may open a field, and none that closes it on the same line. It is also found at the
# end of some quoted fields, so whoever uses it looks again.
_PERHAPS_OPEN = {
    sep: re.compile(quote + rb'(?:[^"\r\n]|"")*+(?=[\r\n]|\Z)') for sep, quote in _OPENING.items()
}

LeftOut = Callable[[], None]


def usual(path: Path) -> CsvFormat:
    """Return how a file is written, as its header tells, whose names are public.

    Its delimiter is the one that is seen most often there; it is UTF-16 if it begins with the mark
    of it, and otherwise UTF-8 or, where the header is no UTF-8, of Windows.
    """
    with path.open("rb") as file:
        first = file.readline(_LONGEST)
    if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding, line = "utf-16", first.decode("utf-16", errors="ignore")
    else:
        encoding = "utf-8" if _is_text(first) else "cp1252"
        line = first.decode(encoding, errors="ignore")
    bare = re.sub(r'"[^"]*"', "", line)
    marks = {",": ",", ";": ";", "tab": "\t", "|": "|"}
    return CsvFormat(max(marks, key=lambda name: bare.count(marks[name])), encoding)


def header(path: Path, form: CsvFormat = USUAL) -> list[str]:
    """Return the names in the first row."""

    def refuse() -> None:
        raise _unreadable(path)

    with path.open("rb") as file:
        first = next(_blocks(file, form, refuse), b"")
    try:
        text = io.StringIO(first.decode(), newline="")
        names = next(csv.reader(text, delimiter=_delimiter(form).decode()), [])
    except (UnicodeDecodeError, csv.Error):
        names = []
    if not names:
        raise _unreadable(path)
    return names


def batches(
    path: Path,
    names: list[str],
    wanted: list[str],
    left_out: LeftOut,
    form: CsvFormat = USUAL,
    numbers: Collection[str] = (),
) -> Iterator[Any]:
    """Yield the wanted columns of a file with the header ``names`` as Arrow batches of text.

    ``left_out`` is called for each row that has another number of fields than the header. In the
    columns ``numbers`` decimals have the mark that the form says.
    """
    import pyarrow

    def skip(row: object) -> str:
        left_out()
        return "skip"

    places = [names.index(name) for name in wanted]
    commas = numbers if form.decimal == "," else ()
    with path.open("rb") as file:
        blocks = _blocks(file, form, left_out)
        next(blocks, b"")  # the header
        for block in blocks:
            if block.strip(b"\r\n"):
                # The parser may show a row that it does not take, and cannot if that is no text.
                text = _is_text(block)
                block = block if text else block.decode("latin-1").encode()
                for batch in _parsed(path, block, len(names), places, skip, form).to_batches():
                    columns = [
                        _as_text(column if text else _as_it_was(column), comma=name in commas)
                        for name, column in zip(wanted, batch.columns, strict=True)
                    ]
                    yield pyarrow.record_batch(columns, names=wanted)


def guessed_schema(path: Path, form: CsvFormat) -> Any:
    """Return names and the types that the first rows suggest, for a custodian's draft of a card."""
    import pyarrow
    from pyarrow import csv as arrow

    options = arrow.ParseOptions(
        delimiter=_delimiter(form).decode(),
        newlines_in_values=form.lines_per_record > 1,
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
    except (pyarrow.ArrowInvalid, UnicodeError):
        return pyarrow.schema([(name, pyarrow.string()) for name in header(path, form)])


def _delimiter(form: CsvFormat) -> bytes:
    return b"\t" if form.delimiter == "tab" else form.delimiter.encode()


def _blocks(file: BinaryIO, form: CsvFormat, left_out: LeftOut) -> Iterator[bytes]:
    """Yield the header alone, nothing if its quotes do not close, then blocks of whole records.

    All is UTF-8; what is no text in the file's own encoding is no UTF-8 either.
    """
    delimiter, most = _delimiter(form), form.lines_per_record
    lines = _lines(file, form.encoding, left_out)
    buffer, end = b"", 0
    for more in lines:
        buffer += more
        end = _record_end(buffer, 0, delimiter, most)
        if end or _has_lines(buffer, most):
            break
    yield buffer[:end]
    buffer = buffer[end:]
    for more in chain(lines, [b""]):
        block, buffer = _closed(buffer, delimiter, most, left_out, last=not more)
        yield block
        buffer += more


def _lines(file: BinaryIO, encoding: str, left_out: LeftOut) -> Iterator[bytes]:
    """Yield blocks of whole lines, as UTF-8; lines that are too long are left out."""
    buffer = file.read(3)
    if encoding == "utf-8":
        buffer = buffer.removeprefix(codecs.BOM_UTF8)
    elif encoding == "utf-16":
        big = buffer.startswith(codecs.BOM_UTF16_BE)
        encoding = "utf-16-be" if big else "utf-16-le"
        buffer = buffer.removeprefix(codecs.BOM_UTF16_BE if big else codecs.BOM_UTF16_LE)
    ends = _LINE_ENDS.get(encoding, (b"\n", b"\r"))
    skipping, more = False, b" "
    while more:
        more = file.read(_CHUNK)
        buffer += more
        if skipping or len(buffer) > _LONGEST:
            # The first line is the only one that may have grown over several reads.
            first = min((at + len(end) for end in ends if (at := buffer.find(end)) >= 0), default=0)
            if skipping or not 0 < first <= _LONGEST:
                if not skipping:
                    left_out()
                skipping = not first
                buffer = buffer[first:] if first else buffer[-1:]
        # A carriage return at the very end may be the first half of a line end.
        cut = max(buffer.rfind(end, 0, len(buffer) - (end == b"\r")) + len(end) for end in ends)
        cut = cut if more else len(buffer)
        if cut >= len(ends[0]) and not skipping:
            yield _recoded(buffer[:cut], encoding)
            buffer = buffer[cut:]


_LINE_ENDS = {"utf-16-le": (b"\n\0",), "utf-16-be": (b"\0\n",)}
"""As they are encoded. They are looked for at every byte: were a line with half a character to
shift those that follow, one record would change all of them."""


def _recoded(block: bytes, encoding: str) -> bytes:
    """Return lines as UTF-8, but for what is no text."""
    if encoding == "utf-8":
        return block
    if encoding not in _LINE_ENDS:
        return block.decode(encoding, "surrogateescape").encode(errors="surrogatepass")
    (end,) = _LINE_ENDS[encoding]
    octets = np.frombuffer(block, np.uint8)
    shifted = np.flatnonzero((octets[:-1] == end[0]) & (octets[1:] == end[1])) % 2
    if shifted.any() or len(block) % 2:
        # Half a character at the end of a line is no text.
        return b"\n".join(_two_by_two(line, encoding) for line in block.split(end))
    return _two_by_two(block, encoding)


def _two_by_two(line: bytes, encoding: str) -> bytes:
    whole = line[: len(line) // 2 * 2].decode(encoding, "surrogatepass")
    return whole.encode(errors="surrogatepass") + b"\xff" * (len(line) % 2)


def _closed(
    block: bytes, delimiter: bytes, most: int, left_out: LeftOut, *, last: bool
) -> tuple[bytes, bytes]:
    """Return the records of whole lines whose quotes close, and the start of one that needs more.

    A record may have ``most`` lines; ``left_out`` is called for each line that is left out.
    """
    if b'"' not in block:
        return block, b""
    parts, done, after = [], 0, 0
    for quote in _PERHAPS_OPEN[delimiter].finditer(block):
        if quote.start() < after:
            continue  # in a record that was looked at
        # Every line from the last of these to this one is closed, so a record starts here.
        ends = (block.rfind(end, after, quote.start()) for end in (b"\n", b"\r"))
        start = max(after, *(end + 1 for end in ends))
        after = _record_end(block, start, delimiter, most)
        if after > start:
            continue
        if not last and not _has_lines(block, most, start):
            parts.append(block[done:start])
            return b"".join(parts), block[start:]
        left_out()
        after = _line_end(block, start)
        parts.append(block[done:start])
        done = after
    return b"".join([*parts, block[done:]]) if parts else block, b""


def _has_lines(block: bytes, number: int, start: int = 0) -> bool:
    """Whether so many whole lines, or as much as a record may have, follow."""
    ends = islice(_LINE_END.finditer(block, start), number)
    return len(block) - start > _LONGEST or sum(1 for _ in ends) == number


def _line_end(block: bytes, start: int) -> int:
    end = _LINE_END.search(block, start)
    return len(block) if end is None else end.end()


def _record_end(block: bytes, start: int, delimiter: bytes, most: int) -> int:
    """Return where the record ends that starts here; ``start`` if its quotes do not close."""
    end = start
    for _ in range(most):
        end = _line_end(block, end)
        if end - start > _LONGEST:
            break
        if all(quoted[1] for quoted in _QUOTED[delimiter].finditer(block[start:end])):
            return end
        if end == len(block):
            break
    return start


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
    names = [str(column) for column in range(width)]
    try:
        return arrow.read_csv(
            pyarrow.py_buffer(block),
            # One block: the parser makes no cut of its own.
            read_options=arrow.ReadOptions(
                block_size=len(block) + 1, use_threads=False, column_names=names
            ),
            parse_options=arrow.ParseOptions(
                delimiter=_delimiter(form).decode(),
                newlines_in_values=True,
                invalid_row_handler=skip,
            ),
            convert_options=arrow.ConvertOptions(
                column_types=dict.fromkeys(names, pyarrow.binary()),
                include_columns=[str(column) for column in places],
                strings_can_be_null=True,
            ),
        )
    except (pyarrow.ArrowException, OverflowError):
        raise _unreadable(path) from None


def _is_text(block: bytes) -> bool:
    try:
        return block.isascii() or bool(block.decode())
    except UnicodeDecodeError:
        return False


def _as_it_was(column: Any) -> Any:
    import pyarrow

    fields = text_of_bytes(column).to_pylist()
    octets = [None if field is None else field.encode("latin-1") for field in fields]
    return pyarrow.array(octets, pyarrow.binary())


def _as_text(column: Any, *, comma: bool) -> Any:
    from pyarrow import compute

    fields = text_of_bytes(column)
    if comma:  # a point would be another mark than the one that was declared
        fields = compute.replace_substring(compute.replace_substring(fields, ".", "?"), ",", ".")
    return fields


def _unreadable(path: Path) -> InvalidInput:
    return InvalidInput(
        f"The file {path.name!r} is not readable CSV with a header. Its first line must name the "
        "columns; a card's [csv] says how the file is written: delimiter, encoding."
    )
