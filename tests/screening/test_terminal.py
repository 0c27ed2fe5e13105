"""``whitecrow screening open``, ``ask`` and ``close``."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from whitecrow.cli import whitecrow

SERIES = ["--beta", "60", "--radius", "0.5", "--epsilon", "3", "--delta", "1e-6"]


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    crowd = np.random.default_rng(3).normal(size=(4000, 2))
    pq.write_table(pa.table({"a": crowd[:, 0], "b": crowd[:, 1]}), "crowd.parquet")
    (tmp_path / "new.csv").write_text("id,a,b\nx,90,90\ny,0,0\nz,0,\n")

    def act(*words, code=0):
        done = CliRunner().invoke(whitecrow, ["--json", "screening", *words, *SERIES])
        assert done.exit_code == code, done.output
        return json.loads(done.stdout)

    return act


def test_it_is_paid_once_asked_about_files_and_closed_for_good(run, tmp_path):
    assert run("open", "crowd.parquet", "--budget", "3, 1e-6")["charged"]
    asked = ["ask", "crowd.parquet", "--records", "new.csv", "--key", "id", "--leave-out"]
    said = run(*asked, "--out", "flags.csv")
    assert not said["charged"]
    assert said["answers"] == [{"key": "x", "answer": True}, {"key": "y", "answer": False}]
    assert said["left_out"] == ["z"]
    assert (tmp_path / "flags.csv").read_text().splitlines()[1:] == ['"x",true', '"y",false']
    one = run("ask", "crowd.parquet", "--record", '{"a": 50, "b": 1}')
    assert one["answer"] is True
    assert run("close", "crowd.parquet") == {"closed": True}
    assert run(*asked)["answers"] == said["answers"]
    assert "refused" in run("ask", "crowd.parquet", "--record", '{"a": 51, "b": 1}', code=1)


def test_what_was_never_opened_is_not_closed(run):
    said = run("close", "crowd.parquet", "--budget", "3, 1e-6", code=2)
    assert "No such screening" in json.dumps(said)


def test_the_price_is_told_and_nothing_paid(run):
    priced = run("ask", "crowd.parquet", "--records", "new.csv", "--price-only")
    assert "paid once" in priced["words"]
    assert run("open", "crowd.parquet", "--budget", "3, 1e-6")["charged"]
