"""Two runs of the benchmarks compared: what is worse is said, what is noise is not."""

from __future__ import annotations

import subprocess
import textwrap
from pathlib import Path

import pytest
from benchmarks.__main__ import main
from benchmarks.runs import Runs, better, compare, load, save

OLD = {"a.seconds_7d": (4.0, 4.2, 5.0), "a.ratio_min": (10.0, 12.0, 11.0)}


def runs(**changed: tuple[float, ...]) -> Runs:
    values = {**OLD, **{f"a.{name}": some for name, some in changed.items()}}
    return Runs({"cores": "2"}, values)


def regressed(new: Runs, tolerance: float = 1.3) -> list[str]:
    return [line.name for line in compare(runs(), new, tolerance) if line.regressed]


def test_the_same_run_has_no_regression() -> None:
    assert regressed(runs()) == []


def test_more_seconds_and_smaller_ratios_are_worse() -> None:
    assert better("a.ratio_min") == better("x.records_per_second") == "more"
    assert better("a.seconds_7d") == better("x.growth_exponent") == "less"
    assert better("ratios.cover_over_count") == "less"
    assert regressed(runs(seconds_7d=(8.0, 9.0, 8.5))) == ["a.seconds_7d"]
    assert regressed(runs(ratio_min=(5.0, 6.0, 5.5))) == ["a.ratio_min"]
    assert regressed(runs(seconds_7d=(1.0, 1.0, 1.0), ratio_min=(99.0, 99.0, 99.0))) == []


def test_what_the_runs_themselves_vary_by_is_noise() -> None:
    assert regressed(runs(seconds_7d=(4.9, 9.0, 8.5))) == []
    assert regressed(runs(seconds_7d=(5.1, 5.1, 5.2)), tolerance=1.5) == []


def test_a_file_holds_what_was_saved_and_compare_ends_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(runs(), tmp_path / "old.json")
    save(runs(seconds_7d=(8.0, 9.0, 8.5)), tmp_path / "new.json")
    assert load(tmp_path / "old.json") == runs()
    assert main(["compare", str(tmp_path / "old.json"), str(tmp_path / "old.json")]) == 0
    assert main(["compare", str(tmp_path / "old.json"), str(tmp_path / "new.json")]) == 1
    assert "REGRESSED" in capsys.readouterr().out


def test_two_commits_run_in_turns_each_with_its_own_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    told = tmp_path / "told"
    for seconds in ("1.0", "9.0"):
        program = f"""
            open({str(told)!r}, "a").write({seconds!r} + " ")
            print("a table for people 1.0\\nseconds {seconds}")
        """
        (tmp_path / "benchmarks").mkdir(exist_ok=True)
        (tmp_path / "benchmarks" / "__init__.py").touch()
        (tmp_path / "benchmarks" / "toy.py").write_text(textwrap.dedent(program), encoding="utf-8")
        for words in ("init -q", "add benchmarks", "commit -qm toy"):
            who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
            subprocess.run(["git", *who, *words.split()], check=True)
    assert main(["compare", "HEAD~1", "HEAD", "toy", "--repeat", "2"]) == 1
    assert told.read_text(encoding="utf-8") == "1.0 9.0 1.0 9.0 "
    assert "toy.seconds" in capsys.readouterr().out
