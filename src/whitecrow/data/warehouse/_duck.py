"""Parquet files of any size through DuckDB, in this process but not in its memory."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from whitecrow.data._dialect import DUCKDB, Query
from whitecrow.data.warehouse._protocol import BATCH, InOneProcess, Matrix, doubles
from whitecrow.errors import InvalidInput, MissingExtra

__all__ = ["DuckWarehouse"]


class DuckWarehouse(InOneProcess):
    """A Parquet file, or a folder of them.

    Parameters
    ----------
    path : Path
        ``patients.parquet``, or a folder whose ``*.parquet`` files, at any depth, are the records.
    """

    dialect = DUCKDB

    def __init__(self, path: Path) -> None:
        try:
            import duckdb
        except ImportError:
            raise MissingExtra(
                "The engine 'sql' needs DuckDB for files: pip install 'whitecrow[sql]'."
            ) from None
        if not path.exists():
            raise InvalidInput(f"There is no file or folder {str(path)!r}.")
        if path.is_file() and path.suffix.lower() not in (".parquet", ".pq"):
            raise InvalidInput(
                f"The engine 'sql' reads Parquet files and folders of them, not {path.name!r}."
            )
        self.name = path.stem
        pattern = path if path.is_file() else path / "**" / "*.parquet"
        self.source = f"read_parquet({DUCKDB.string(str(pattern))})"
        # Nothing is fetched from anywhere: an extension that is not here is an error.
        quiet: Any = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
        self._connection = duckdb.connect(config=quiet)
        # What does not fit into memory is written where only this user reads, and removed.
        folder = tempfile.mkdtemp(prefix="whitecrow-duckdb-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self._connection.execute(f"SET temp_directory = {DUCKDB.string(folder)}")
        self._connection.execute("SET enable_progress_bar = false")
        self._connection.execute("SET preserve_insertion_order = false")
        # A query reads these files and no others, and cannot say otherwise.
        if path.is_file():
            self._connection.execute(f"SET allowed_paths = [{DUCKDB.string(str(path))}]")
            self._connection.execute(f"SET allowed_directories = [{DUCKDB.string(folder)}]")
        else:
            folders = ", ".join(DUCKDB.string(f"{each}/") for each in (path, folder))
            self._connection.execute(f"SET allowed_directories = [{folders}]")
        self._connection.execute("SET enable_external_access = false")
        self._connection.execute("SET lock_configuration = true")
        self._wrong: tuple[type[Exception], ...] = (
            duckdb.InvalidInputException,
            duckdb.IOException,
        )

    def schema(self) -> Any:
        """Return the Arrow schema of the stored records."""
        try:
            query = f"SELECT * FROM {self.source} LIMIT 0"  # noqa: S608 - a quoted path
            return self._connection.cursor().sql(query).to_arrow_table().schema
        except self._wrong:
            raise InvalidInput(f"{self.name!r} is not readable Parquet.") from None

    def rows(self, query: Query, width: int) -> Matrix:
        """Return a result of ``width`` columns, all doubles."""
        return doubles(self._answer(query).to_arrow_table())

    def texts(self, query: Query) -> list[tuple[str | None, int]]:
        """Return a result of two columns: a text, and a whole number as a double."""
        return [(text, int(number)) for text, number in self._answer(query).fetchall()]

    def _batches(self, query: Query) -> Iterator[Matrix]:
        reader = self._answer(query).to_arrow_reader(BATCH)
        return (doubles(batch) for batch in reader if batch.num_rows)

    def close(self) -> None:
        """Let go of the files."""
        self._connection.close()

    def _answer(self, query: Query) -> Any:
        # A cursor for each query: several threads may ask, and one result is read beside another.
        cursor = self._connection.cursor()
        if query.lent is not None:
            import pyarrow

            cursor.register(Query.LENT, pyarrow.table({"cell": query.lent}))
        return cursor.sql(query.ordered())
