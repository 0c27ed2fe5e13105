"""What installed packages add: every group is found one way, and text chooses among names only."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

import whitecrow as wc
from whitecrow import plugins, questions
from whitecrow.anomaly.detectors import FittedDetector, libraries
from whitecrow.cli import whitecrow
from whitecrow.data import sources
from whitecrow.errors import InvalidInput, Unavailable
from whitecrow.neighbours import ENGINES, LocalEngine, engine_names, open_engine
from whitecrow.neighbours import _opening as opening
from whitecrow.questions import question_type

ROOT = Path(__file__).parents[2]

MODULE = '''
import click
import pyarrow

from whitecrow.data import Opened, SourceType
from whitecrow.neighbours import EngineType, LocalEngine

opened = []


def records(address):
    opened.append(address)
    table = pyarrow.table({"age": [30.0, 31.0, 32.0, 90.0]})
    return Opened("lake", table.schema, 4, lambda names, left_out: table.select(names).to_batches())


class Slow(LocalEngine):
    """Counts as local does."""


ENGINE = EngineType(Slow)
SOURCE = SourceType(records)
HALF = EngineType(lambda records: object())


@click.command()
def command():
    click.echo("hello")
'''
POINTS = """
[whitecrow.engines]
slow = added_by_a_test:ENGINE
half = added_by_a_test:HALF
local = added_by_a_test:HALF
wrong = added_by_a_test:SOURCE
gone = added_by_a_test:NOTHING

[whitecrow.sources]
lake = added_by_a_test:SOURCE

[whitecrow.commands]
greet = added_by_a_test:command
count = added_by_a_test:command

[whitecrow.detectors]
strange = added_by_a_test:ENGINE
"""


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package as pip leaves it: a module, and metadata with its entry points."""
    (tmp_path / "added_by_a_test.py").write_text(MODULE)
    written = tmp_path / "added_by_a_test-1.0.dist-info"
    written.mkdir()
    (written / "METADATA").write_text("Metadata-Version: 2.1\nName: added-by-a-test\nVersion: 1\n")
    (written / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("added_by_a_test", None)


def test_an_installed_engine_counts_like_any_other(installed):
    assert engine_names() == (*ENGINES, "slow", "half", "wrong", "gone")
    assert "added_by_a_test" not in sys.modules
    with wc.Curator.open("lake://here", engine="slow", ledger="sqlite://", budget="100") as curator:
        model = wc.DistanceAnomaly(beta=1, radius=5.0)
        assert curator.identify({"age": 90.0}, model=model, epsilon="100").answer is True


def test_an_installed_source_opens_addresses_of_its_scheme(installed):
    assert wc.read("lake://here").size == 4
    assert sys.modules["added_by_a_test"].opened == ["lake://here"]
    with pytest.raises(InvalidInput, match="No source opens sea://"):
        wc.read("sea://here")


def test_an_address_without_an_installed_source_is_refused_and_names_no_file():
    with pytest.raises(InvalidInput, match="packages open nothing else"):
        wc.read("lake://here")


def test_a_name_of_our_own_is_never_replaced(installed):
    dataset = wc.read("lake://here")
    assert type(open_engine(dataset, "local")).__module__ == "whitecrow.neighbours._local"
    assert "hello" not in CliRunner().invoke(whitecrow, ["count", "--help"]).output


def test_an_installed_command_is_one_of_the_terminal(installed):
    assert CliRunner().invoke(whitecrow, ["greet"]).output == "hello\n"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("wrong", "is no EngineType"),
        ("gone", "cannot be imported"),
        ("half", "lacks a method of Engine"),
    ],
)
def test_what_is_not_what_its_group_says_is_unavailable(installed, name, says):
    with pytest.raises(Unavailable, match=says):
        open_engine(wc.read("lake://here"), name)


def test_a_name_that_two_packages_offer_belongs_to_neither(installed):
    again = installed / "another-1.0.dist-info"
    again.mkdir()
    (again / "METADATA").write_text("Metadata-Version: 2.1\nName: another\nVersion: 1\n")
    (again / "entry_points.txt").write_text(POINTS)
    with pytest.raises(Unavailable, match="2 installed packages offer 'lake'"):
        wc.read("lake://here")


@pytest.mark.parametrize("text", ["os:system", "added_by_a_test:ENGINE", "added_by_a_test", "nope"])
def test_a_text_that_is_no_installed_name_imports_nothing(installed, text):
    before = set(sys.modules)
    with pytest.raises(InvalidInput):
        question_type(text)
    with pytest.raises(InvalidInput):
        FittedDetector(text)
    with pytest.raises(InvalidInput):
        wc.read(f"{text}://here")
    with pytest.raises(InvalidInput):
        wc.Curator.open("lake://here", engine=text, ledger="sqlite://")
    assert "added_by_a_test" not in before
    assert "nope" not in sys.modules


def test_a_detector_is_loaded_only_if_the_operator_lists_it(installed, monkeypatch):
    with pytest.raises(InvalidInput, match="strange"):
        FittedDetector("strange")
    assert "added_by_a_test" not in sys.modules
    libraries._enable.cache_clear()
    monkeypatch.setenv(libraries.ENABLED, "strange")
    try:
        with pytest.raises(Unavailable, match="is no Registered"):
            FittedDetector("strange")
    finally:
        libraries._enable.cache_clear()


def test_the_page_on_plug_ins_lists_every_group():
    text = (ROOT / "docs" / "plug-ins.md").read_text(encoding="utf-8")
    assert len(set(plugins.GROUPS)) == 6
    for group in plugins.GROUPS:
        assert f"`{group}`" in text


def test_one_line_registers_what_the_table_of_contributing_says(monkeypatch, tmp_path):
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    lists = re.findall(r"one line in `(\w+)`", text)
    assert lists == ["BUILT_IN", "shipped", "SHIPPED", "_IN_MEMORY", "_FILES"]

    monkeypatch.setitem(questions.BUILT_IN, "far", ("whitecrow.screen", "Is it far?"))
    assert question_type("far").question is wc.Screen
    assert "--epsilon" in CliRunner().invoke(whitecrow, ["far", "--help"]).output

    rule = replace(libraries.SHIPPED[0], name="rule_of_mine")
    monkeypatch.setattr(libraries, "SHIPPED", (*libraries.SHIPPED, rule))
    monkeypatch.setattr(libraries, "_REGISTERED", {})
    libraries._enable.cache_clear()
    try:
        assert libraries.registered("rule_of_mine") is rule
    finally:
        libraries._enable.cache_clear()

    monkeypatch.setitem(sources._FILES, ".lines", sources._FILES[".csv"])
    (tmp_path / "ages.lines").write_text("age\n30\n90\n")
    dataset = wc.read(tmp_path / "ages.lines", wc.Card("ages", (wc.Column("age"),)))
    assert dataset.size == 2

    monkeypatch.setitem(opening._IN_MEMORY, "mine", opening._IN_MEMORY["local"])
    assert isinstance(open_engine(dataset, "mine"), LocalEngine)


def test_every_question_of_our_own_has_a_public_name_and_a_method():
    for kind in questions.BUILT_IN:
        cls = question_type(kind).question
        assert cls.__name__ in wc.__all__
        assert getattr(wc, cls.__name__) is cls
        assert callable(getattr(wc.Curator, kind))
        assert getattr(wc.Client, kind) is getattr(wc.Curator, kind)


def test_every_question_is_kept_apart_from_the_others_by_the_import_contract():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    floors = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    (floor,) = (names.split(" | ") for names in floors if "whitecrow.identify" in names)
    # One is made of two others and stands a floor above them.
    assert floors[floors.index(" | ".join(floor)) - 1] == "whitecrow.monitor"
    known = sorted(module for module, _ in questions.BUILT_IN.values())
    assert sorted([*floor, "whitecrow.monitor"]) == known


def test_a_broken_plug_in_is_named_with_its_cause_and_stops_no_service(tmp_path):
    (tmp_path / "unlicensed.py").write_text("raise RuntimeError('the licence is over')\n")
    written = tmp_path / "unlicensed-2.1.dist-info"
    written.mkdir()
    (written / "METADATA").write_text("Metadata-Version: 2.1\nName: unlicensed\nVersion: 2.1\n")
    (written / "entry_points.txt").write_text(
        "[whitecrow.questions]\nbet = unlicensed:TYPE\n[whitecrow.commands]\nwin = unlicensed:RUN\n"
    )
    code = """
import json, sys
sys.path.insert(0, sys.argv[1])
from click.testing import CliRunner
from whitecrow.cli import whitecrow
from whitecrow_server import Settings, create_app
from whitecrow_server._settings import default_deadlines
assert "learn" in default_deadlines() and "bet" not in default_deadlines()
settings = Settings(f"sqlite:///{sys.argv[1]}/l.db")
assert "BetQuestion" not in json.dumps(create_app(settings).openapi())
print(CliRunner().invoke(whitecrow, ["--json", "doctor"]).stdout)
from whitecrow.cli.screen_output import Output
from whitecrow_server.commands.serve import say_broken
say_broken(Output(as_json=False))
assert CliRunner().invoke(whitecrow, ["win"]).exit_code == 1
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = {one["name"]: one for one in json.loads(done.stdout)["plug-ins"]}
    assert found["questions: bet"]["package"] == "unlicensed 2.1"
    assert found["questions: bet"]["fault"].endswith("RuntimeError: the licence is over")
    assert found["commands: serve"]["fault"] == ""
    assert "the question 'bet' is left out" in done.stderr
