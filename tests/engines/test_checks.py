"""The card's checks elsewhere: the same records as a reading here, or a clear refusal."""

from __future__ import annotations

import datetime
import math
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from whitecrow.data import Card, Column, read
from whitecrow.data.dataset import Cut, Plain, Rounded
from whitecrow.data.warehouse import open_remote
from whitecrow.errors import InvalidInput, Unavailable, WhitecrowError
from whitecrow.neighbours import open_data

Opening = Callable[..., tuple[Any, Any]]
Storing = Callable[..., object]

NAN, INF = math.nan, math.inf
DAY = datetime.date(2020, 2, 29)


def table() -> pa.Table:
    return pa.table(
        {
            "plain": [1.5, None, NAN, INF, -INF, 1e308, -0.0, 3.0, 3.0, 2.5],
            "cut": [5.0, 11.0, -INF, INF, NAN, None, 0.0, 10.0, 1.0, 2.0],
            "filled": [None, NAN, 1.0, 2.0, 99.0, -1.0, 3.0, 4.0, 0.5, 2.0],
            "whole": [1.0, 2.0, 2.5, NAN, None, 2.0**60, INF, 3.0, -4.0, 5.0],
            "small": pa.array([1, None, 3, 4, 5, 6, 7, 8, 9, 10], pa.int32()),
            "single": pa.array([0.1, None, NAN, INF, 1, 2, 3, 4, 5, 6], pa.float32()),
            "sick": [True, False, None, True, True, False, True, True, False, True],
            "ward": ["a", "b", None, "it's", "c\\d", "elsewhere", "a", "b", "a", "a"],
            "year": [2004.0, 2005.0, NAN, 2004.5, 0.1 + 0.2, None, 2004.0, 7.0, 2005.0, 2004.0],
            "code": pa.array([1, 2, 3, None, 5, 1, 1, 2, 3, 1], pa.int64()),
            "day": pa.array([DAY + datetime.timedelta(30 * i) for i in range(9)] + [None]),
            "moment": pa.array(
                [datetime.datetime(1969, 12, 31, 23, 59, i) for i in range(9)] + [None],
                pa.timestamp("us"),
            ),
        }
    )


COLUMNS = {
    "plain": Column("plain"),
    "cut": Column("cut", lower=0, upper=10, outside="clip"),
    "bounded": Column("cut", lower=0, upper=10),
    "filled": Column("filled", lower=0, upper=50, missing="fill", fill=7.5),
    "whole": Column("whole", "integer"),
    "whole, filled": Column("whole", "integer", missing="fill", fill=3),
    "small": Column("small", "integer", lower=2, upper=8),
    "single": Column("single"),
    "sick": Column("sick", "integer"),
    "sick or not": Column("sick", "category", categories=("false", "true")),
    "ward": Column("ward", "category", categories=("b", "it's", "c\\d", "a")),
    "ward, filled": Column(
        "ward", "category", categories=("a", "b"), missing="fill", fill="b", outside="reject"
    ),
    "year": Column("year", "category", categories=("2005", "2004", "0.3", "inf", "x")),
    "code": Column("code", "category", categories=("2", "1", "5")),
    "day": Column("day", "date"),
    "day within": Column("day", "date", lower="2020-04-01", upper="2020-09-30"),  # type: ignore[arg-type]
    "moment": Column("moment", "date"),
}


def listed(dataset: Any, columns: list[str]) -> list[tuple[float, ...]]:
    groups, counts = dataset.tally([Plain(name) for name in columns])
    rows = zip(*(np.asarray(group, float).tolist() for group in groups), strict=True)
    return sorted(row for row, count in zip(rows, counts, strict=True) for _ in range(count))


def test_a_column_is_read_as_here(way: str, storing: Storing) -> None:
    """NaN and nothing are missing, infinity is outside, categories are those of the card."""
    source = storing(way, table())
    engine = "spark" if way.startswith("spark") else "disk"
    few = ("cut", "filled", "whole, filled", "ward, filled", "year", "moment")  # each takes a job
    for name in few if engine == "spark" else COLUMNS:
        column = COLUMNS[name]
        card = Card("toy", (column,))
        there = open_remote(source, card, engine=engine)
        assert listed(there, [column.name]) == listed(read(table(), card), [column.name]), name
        there.close()


def test_one_bad_value_leaves_the_whole_record_out(remote_kind: str, opening: Opening) -> None:
    card = Card("toy", (COLUMNS["plain"], COLUMNS["filled"], COLUMNS["ward, filled"]))
    here = opening("local", table(), card)[0]
    there = opening(remote_kind, table(), card)[0]
    names = list(card.names)
    assert listed(there, names) == listed(here, names)
    assert (there.size, there.rejections.read, there.rejections.kept) == (here.size, 10, here.size)


def test_keys_fall_as_here_also_on_their_edges(remote_kind: str, opening: Opening) -> None:
    values = np.concatenate([np.arange(-8, 9) / 4, [0.1, 0.3, 1e300, -1e300, np.nextafter(0.5, 1)]])
    card = Card("toy", (Column("v"),))
    here = opening("local", pa.table({"v": values}), card)[0]
    there = opening(remote_kind, pa.table({"v": values}), card)[0]
    keys = [Cut("v", (-1.0, 0.5)), Rounded("v", 0.0, 0.5, 2.0**36), Rounded("v", 0.1, 0.1, 2.0**36)]
    found = []
    for dataset in (here, there):
        groups, counts = dataset.tally(keys)
        rows = np.column_stack([np.asarray(g, float) for g in groups])
        found.append(sorted(map(tuple, np.repeat(rows, counts, axis=0).tolist())))
    assert found[0] == found[1]


def test_of_a_person_so_many_records_are_kept(remote_kind: str, opening: Opening) -> None:
    people = pa.table({"who": ["a", "b", "a", "a", "b", "c"], "v": [3.0, 1.0, 2.0, 2.0, 9.0, 4.0]})
    columns = (Column("who", "text"), Column("v", lower=0, upper=5))
    card = Card("toy", columns, unit="user", user_column="who", contribution=2)
    there = opening(remote_kind, people, card)[0]
    # The first of each person in the order of their values; b's second is outside the bounds.
    assert listed(there, ["v"]) == [(1.0,), (2.0,), (2.0,), (4.0,)]


def test_texts_that_stand_for_numbers_and_dates_are_read_as_here(
    remote_kind: str, opening: Opening
) -> None:
    texts = pa.table({"v": ["1.5", "x", "-0"], "d": ["2020-01-01", "2020-02-30", "20200103"]})
    there = opening(remote_kind, texts, Card("toy", (Column("v"),)))[0]
    assert listed(there, ["v"]) == [(0.0,), (1.5,)]
    there = opening(remote_kind, texts, Card("toy", (Column("d", "date"),)))[0]
    assert listed(there, ["d"]) == [(18262.0,), (18264.0,)]


def test_what_cannot_be_read_is_refused(remote_kind: str, opening: Opening) -> None:
    texts = pa.table({"v": ["1.5"], "d": ["2020-01-01"]})
    with pytest.raises(InvalidInput, match="which the data do not have"):
        opening(remote_kind, texts, Card("toy", (Column("other"),)))
    with pytest.raises(InvalidInput, match="hold more records than the size"):
        opening(remote_kind, table(), Card("toy", (Column("single"),), size_public=True, size=2))


def test_a_query_is_taken_as_it_is_written(storing: Callable[..., object]) -> None:
    people = pa.table({"Who's": ["ab", "ba", "ac"], "V %": [1.0, 2.0, 4.0]})
    url, _, name = str(storing("postgresql", people)).partition("::")
    card = Card("toy", (Column("V %"), Column("Who's", "category", categories=("ac", "ab"))))
    query = f"""SELECT * FROM {name} WHERE "Who's" LIKE 'a%' AND 7 % 2 = 1;"""  # noqa: S608 - a name of ours
    dataset = open_remote(f"{url}::{query}", card)
    assert listed(dataset, ["V %", "Who's"]) == [(1.0, 1.0), (4.0, 0.0)]
    dataset.close()


def test_whole_columns_are_not_copied_here(opening: Opening) -> None:
    there = opening("disk", table())[0]
    for refused in (lambda: there.values("plain"), lambda: there.matrix(["plain"])):
        with pytest.raises(Unavailable, match="stay where they are"):
            refused()
    assert "withheld" not in repr(there)
    assert "elsewhere" in repr(there)


def test_sources_are_named_when_they_are_wrong(tmp_path: Path) -> None:
    wrong = tmp_path / "x.parquet"
    wrong.write_text("no Parquet")
    (tmp_path / "x.csv").write_text("a\n1\n")
    for source, words in (
        (tmp_path / "none.parquet", "There is no file"),
        (wrong, "not readable as Parquet"),
        (7, "must be a path, a data frame"),
    ):
        with pytest.raises(InvalidInput, match=words):
            open_remote(source)
    with pytest.raises(InvalidInput, match="consists of none"):
        open_remote(tmp_path / "x.csv", engine="spark")
    with pytest.raises(Unavailable, match="did not answer"):
        open_remote("postgresql://nobody@localhost:1/none::records")
    (tmp_path / "empty").mkdir()
    with pytest.raises(WhitecrowError, match=r"Parquet|did not answer") as refused:
        open_remote(tmp_path / "empty")
    assert refused.value.__cause__ is None
    with pytest.raises(InvalidInput, match="left out unless the engine is spark"):
        open_data(table(), engine="local", spark_master="local[2]")


def test_columns_on_disk_have_no_name_and_are_gone_when_they_are_closed(opening: Opening) -> None:
    there = opening("disk", table())[0]
    number = there.warehouse._spool._file.fileno()
    about = os.fstat(number)
    assert about.st_nlink == 0  # nobody else can open it, and it ends with the process
    assert about.st_size > 0
    assert stat.S_IMODE(about.st_mode) == 0o600
    assert not os.get_inheritable(number)
    there.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(number)


def test_a_full_disk_is_told_when_a_source_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table({"a": np.arange(200_000.0)}), path)
    code = f"""
import resource, signal
import whitecrow
from whitecrow.data.warehouse import open_remote
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
try:
    open_remote({str(path)!r})
except whitecrow.Unavailable as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert said.stdout.startswith("There is no room on disk"), said.stderr


def test_what_is_not_installed_is_named_before_anything_is_spent(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table({"a": [1.0]}), path)
    monkeypatch.setitem(__import__("sys").modules, "pyspark.sql", None)
    with pytest.raises(Unavailable, match=r"whitecrow\[spark\]"):
        open_remote(path, engine="spark")
    monkeypatch.undo()
    pytest.importorskip("pyspark")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(Unavailable, match="needs Java 17"):
        open_remote(path, engine="spark", spark_master="local[1]")
