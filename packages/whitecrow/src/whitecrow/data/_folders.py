"""Which files hold the records of a folder: Parquet files, or a table that keeps a log of them."""

from __future__ import annotations

from pathlib import Path

_PARQUET = (".parquet", ".pq")


def lake_kind(path: Path) -> str:
    """Return "delta" or "iceberg" for a folder that such a table lies in, else nothing.

    Its Parquet files are not its records: some were removed, others belong to another version.
    """
    if (path / "_delta_log").is_dir():
        return "delta"
    return "iceberg" if any((path / "metadata").glob("*.metadata.json")) else ""


def is_lake(path: Path) -> bool:
    """Whether a Delta or an Iceberg table lies in this folder."""
    return bool(lake_kind(path))


def is_parquet(path: Path) -> bool:
    """Whether a file is one of Parquet, by its ending."""
    return path.suffix.lower() in _PARQUET


def parquet_files(path: Path) -> list[Path]:
    """Return the Parquet files at any depth of a folder."""
    return sorted(one for one in path.rglob("*") if is_parquet(one))


def files_of(path: Path) -> list[Path]:
    """Return every file that decides which records a file or folder holds."""
    if is_lake(path):
        return sorted(one for one in path.rglob("*") if one.is_file())
    if path.is_dir():
        return parquet_files(path)
    # What DuckDB has not yet moved into the file itself.
    log = path.with_name(f"{path.name}.wal")
    return [path, log] if path.suffix.lower() == ".duckdb" and log.exists() else [path]
