"""Every benchmark has the options, the machine, the spread and the file that programs rely on."""

from __future__ import annotations

import ast
import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.common import emit, ratios, times_of
from benchmarks.peers import PEERS

from whitecrow import __version__
from whitecrow_research.bench import NAMES

ROOT = Path(__file__).parents[1]
HELPERS = {"__init__", "__main__", "common", "peers", "postgres", "proxy", "runs", "service"}


def test_every_module_is_a_benchmark_or_a_helper() -> None:
    found = {path.stem for path in (ROOT / "benchmarks").glob("*.py")}
    assert found == HELPERS | set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_offers_quick_json_and_repeat_and_says_what_it_emits(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = importlib.import_module(f"benchmarks.{name}")
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as ended:
        module.main()
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert all(option in said for option in ("--quick", "--json", "--repeat"))
    about = " ".join((module.__doc__ or "").split())
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "emit":
            line = call.args[0]
            assert not isinstance(line, ast.Constant) or f"`{line.value}`" in about, line.value


def test_a_line_is_the_median_with_its_spread(capsys: pytest.CaptureFixture[str]) -> None:
    emit("seconds", 3.0, 1.0, 2.0)
    emit("bytes", 7)
    assert capsys.readouterr().out == "seconds 2  (1 to 3, 3 values)\nbytes 7\n"
    assert ratios([4.0, 8.0], [2.0]) == [2.0, 4.0]
    assert len(times_of(lambda: None, 4)) == 4


def test_a_repeated_run_prints_medians_and_keeps_machine_versions_and_values(
    tmp_path: Path,
) -> None:
    (tmp_path / "benchmarks").mkdir()
    for name in ("__init__", "common", "runs"):
        text = (ROOT / "benchmarks" / f"{name}.py").read_text(encoding="utf-8")
        (tmp_path / "benchmarks" / f"{name}.py").write_text(text, encoding="utf-8")
    (tmp_path / "benchmarks" / "little.py").write_text(
        "from benchmarks.common import emit, parser\n"
        "parser('Little.').parse_args()\n"
        "emit('seconds', 1.0, 2.0)\n",
        encoding="utf-8",
    )
    program = [sys.executable, "-m", "benchmarks.little", "--json", "kept.json"]
    for more, values in ((["--quick"], 2), (["--repeat", "2"], 4)):
        done = subprocess.run(
            [*program, *more], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert f"whitecrow {__version__}" in done.stdout
        kept = json.loads((tmp_path / "kept.json").read_text(encoding="utf-8"))
        assert kept["machine"]["whitecrow"] == __version__
        assert len(kept["values"]["little.seconds"]) == values
    assert "median" in done.stdout


@pytest.mark.parametrize("name", PEERS)
def test_every_peer_counts_what_we_count(name: str) -> None:
    import numpy as np
    from benchmarks.neighbours import case, check

    from whitecrow.neighbours import count_all

    this = case(3_772, 6)
    try:
        count = PEERS[name](this.data, this.cap)
    except ImportError as missing:
        pytest.skip(f"the peer {name} is not installed: {missing}")
    rows = np.arange(0, 3_772, 80)
    ours = count_all(this.data, this.radius, cap=this.cap)
    check(name, ours, this.cap, (rows, count(this.data[rows], this.radius)))
