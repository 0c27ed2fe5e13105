"""The notebooks of ``examples`` run, cell after cell, and nothing in them is stored output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def test_there_is_one_for_each_kind_of_data() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["embeddings", "fraud", "hospital", "taxi"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_its_first_cell_to_its_last(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert cells[0]["cell_type"] == "markdown"
    names: dict[str, object] = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            exec(compile("".join(cell["source"]), path.name, "exec"), names)  # noqa: S102 - our own
    assert capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
