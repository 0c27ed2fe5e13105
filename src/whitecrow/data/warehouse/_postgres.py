"""A table or a query in PostgreSQL, read in its binary copy format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from whitecrow.data._database import read_only_engine, reading_connection
from whitecrow.data._dialect import POSTGRES, Query
from whitecrow.data._statement import select_only
from whitecrow.data.warehouse._protocol import BATCH, InOneProcess, Matrix

__all__ = ["PostgresWarehouse"]

_HEADER = 19


class PostgresWarehouse(InOneProcess):
    """Records that a PostgreSQL server keeps; nothing is written there.

    Parameters
    ----------
    url : str
        A SQLAlchemy URL such as ``postgresql+psycopg://host/database``.
    query : str
        ``SELECT ...``, or the name of a table or a view. The records must stay as they are while
        the dataset is in use: one question may read them several times.
    """

    dialect = POSTGRES

    def __init__(self, url: str, query: str) -> None:
        self._engine = read_only_engine(url)
        self.source = f"({select_only(query, 'postgresql')}) records"
        self.name = query.strip() if query.strip().isidentifier() else "query"

    def schema(self) -> Any:
        """Return the Arrow schema of the stored records, from the types that the server names."""
        import pyarrow

        text = f"SELECT * FROM {self.source} LIMIT 0"  # noqa: S608 - the custodian's own query
        with reading_connection(self._engine) as connection:
            cursor: Any = connection.exec_driver_sql(text.replace("%", "%%")).cursor
            described = [(column.name, column.type_code) for column in cursor.description]
        known = _arrow_types()
        return pyarrow.schema(
            [(name, known.get(code, pyarrow.binary())) for name, code in described]
        )

    def texts(self, query: Query) -> list[tuple[str | None, int]]:
        """Return a result of two columns: a text, and a whole number as a double."""
        with reading_connection(self._engine) as connection:
            found = connection.exec_driver_sql(query.text.replace("%", "%%")).fetchall()
        return [(text, int(number)) for text, number in found]

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()

    def _batches(self, query: Query) -> Iterator[Matrix]:
        """Yield a result; all its columns are doubles, so that each row has one length."""
        text = query.ordered()
        if query.lent is not None:
            numbers = ",".join(map(str, query.lent.tolist()))
            lent = f"(SELECT unnest('{{{numbers}}}'::bigint[]) AS cell) lent"
            text = text.replace(Query.LENT, lent)
        with self._engine.connect() as connection:
            driver: Any = connection.connection.driver_connection
            with driver.cursor() as cursor:
                copying = f"COPY ({text}) TO STDOUT (FORMAT BINARY)"
                with cursor.copy(copying) as arriving:
                    yield from _matrices(arriving)


def _matrices(arriving: Any) -> Iterator[Matrix]:
    """Read the binary copy format: a header, rows of equal length, and a trailer of two bytes.

    A row is a 16-bit number of fields and for each field a 32-bit length, here 8, and its bytes.
    """
    kept = bytearray()
    row = 0
    for data in arriving:
        kept += data
        if not row:
            if len(kept) < _HEADER + 2:
                continue
            del kept[:_HEADER]
            width = int.from_bytes(kept[:2], "big", signed=True)
            if width < 0:
                return
            shape = np.dtype(
                [("fields", ">i2"), ("field", [("size", ">i4"), ("value", ">f8")], width)]
            )
            row = shape.itemsize
        if len(kept) >= row * BATCH:
            yield _matrix(kept, shape)
    # The trailer is a number of fields of -1.
    if row and len(kept) > 2:
        yield _matrix(kept, shape)


def _matrix(kept: bytearray, shape: np.dtype[Any]) -> Matrix:
    """Take the whole rows out of what has arrived."""
    whole = len(kept) // shape.itemsize
    found = np.frombuffer(bytes(kept[: whole * shape.itemsize]), shape)["field"]
    assert (found["size"] == 8).all()
    del kept[: whole * shape.itemsize]
    return np.ascontiguousarray(found["value"], dtype=np.float64)


def _arrow_types() -> dict[int, Any]:
    """The Arrow types of PostgreSQL's numbered ones; others are not read."""
    import pyarrow

    return {
        16: pyarrow.bool_(),
        20: pyarrow.int64(),
        21: pyarrow.int16(),
        23: pyarrow.int32(),
        700: pyarrow.float32(),
        701: pyarrow.float64(),
        1700: pyarrow.decimal128(38),
        25: pyarrow.string(),
        2950: pyarrow.string(),
        1042: pyarrow.string(),
        1043: pyarrow.string(),
        1082: pyarrow.date32(),
        1114: pyarrow.timestamp("us"),
        1184: pyarrow.timestamp("us", tz="UTC"),
    }
