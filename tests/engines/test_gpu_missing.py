"""The engine ``gpu`` where there is no GPU, or no library that reaches it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from whitecrow.errors import Unavailable
from whitecrow.neighbours import devices, open_engine
from whitecrow.neighbours.devices import find_device


class Table:
    """Data that counts how often it is read."""

    reads = 0

    def matrix(self, columns: Sequence[str]) -> NDArray[np.float64]:
        self.reads += 1
        return np.zeros((5, len(columns)))


def test_without_a_library_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(devices, "_imported", lambda name: None)
    with pytest.raises(Unavailable, match=r"'gpu' is not installed .*cupy-cuda12x.*torch.*local"):
        open_engine(Table(), "gpu")


def test_without_a_gpu_the_message_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "_imported", lambda name: sys)
    monkeypatch.setattr(devices, "_has_gpu", lambda module: False)
    table = Table()
    with pytest.raises(Unavailable, match=r"cupy and torch found no GPU .*engine='local'"):
        open_engine(table, "gpu")
    assert table.reads == 0


def test_a_curator_that_finds_no_gpu_opens_no_account(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("sqlalchemy")
    from whitecrow import Curator, demo

    monkeypatch.setattr(devices, "_imported", lambda name: None)
    ledger = tmp_path / "ledger.db"
    with pytest.raises(Unavailable, match="'gpu' is not installed"):
        Curator.open(demo.DATA, card=demo.CARD, budget="3", engine="gpu", ledger=ledger)
    assert not ledger.exists()


def test_a_library_that_fails_is_no_gpu() -> None:
    class Broken:
        class cuda:
            @staticmethod
            def is_available() -> bool:
                raise RuntimeError("no driver")

    assert devices._has_gpu(Broken) is False
    assert devices._imported("no_such_library_at_all") is None


def test_numpy_and_the_array_library_are_all_it_needs() -> None:
    script = """
import sys
for name in ("numba", "llvmlite", "scipy", "pyarrow", "sqlalchemy", "narwhals", "click", "rich"):
    sys.modules[name] = None
import numpy as np
from whitecrow.neighbours import NeighbourRelation
from whitecrow.neighbours.devices import NUMPY
from whitecrow.neighbours.gpu import GpuEngine

class Table:
    def matrix(self, columns): return np.arange(1200.0).reshape(-1, 2) / 40

engine = GpuEngine(Table(), device=NUMPY)
for metric in ("euclidean", "manhattan", "chebyshev", "hamming", "haversine"):
    print(engine.degrees(NeighbourRelation(("a", "b"), metric, 1.0), 9).tolist()[300:303])
gower = NeighbourRelation(("a", "b"), "gower", 0.01, (20.0, 0.0))
print(engine.degrees(gower, 9).tolist()[300:303])
"""
    ran = subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, text=True, timeout=60
    )
    assert ran.returncode == 0, ran.stderr
    assert len(ran.stdout.splitlines()) == 6


def test_nothing_is_found_where_nothing_is() -> None:
    libraries = (devices._imported(name) for name in ("cupy", "torch"))
    if any(library is not None and devices._has_gpu(library) for library in libraries):
        pytest.skip("a GPU is here")
    with pytest.raises(Unavailable, match="'gpu' is not"):
        find_device()
