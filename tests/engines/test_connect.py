"""Spark Connect: a client without Spark's own machinery, a server elsewhere."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from whitecrow.neighbours import count_all

ASK = """
import sys, warnings
warnings.simplefilter("error")
from whitecrow.neighbours import NeighbourRelation, open_data
dataset, engine = open_data(sys.argv[1], engine="spark", spark_master=sys.argv[2])
for columns, radius in ((("c0", "c1", "c2"), 0.5), (tuple(f"c{i}" for i in range(6)), 1.5)):
    found = engine.sparse(NeighbourRelation(columns, "euclidean", radius), 50)[1]
    print(*sorted(found.tolist()))
"""


@pytest.mark.study
def test_the_same_integers_through_spark_connect(
    connecting: Callable[..., Any], tmp_path: Path
) -> None:
    pytest.importorskip("pyspark")
    values = np.random.default_rng(0).standard_t(4, size=(5000, 6))
    path = tmp_path / "records.parquet"
    parquet.write_table(pa.table({f"c{i}": values[:, i] for i in range(6)}), path)
    with connecting("local[2]", tmp_path) as address:
        asked = [sys.executable, "-c", ASK, str(path), address]
        said = subprocess.run(asked, check=True, capture_output=True, text=True, timeout=200).stdout
    for line, (columns, radius) in zip(said.splitlines(), ((3, 0.5), (6, 1.5)), strict=True):
        counts = count_all(values[:, :columns], radius, cap=50)
        assert list(map(int, line.split())) == sorted(counts[counts < 50].tolist())
