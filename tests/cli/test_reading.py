"""What people read on the terminal: never too wide, with the fix last, and a hint at a slip."""

from __future__ import annotations

import re
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from whitecrow import demo
from whitecrow.cli import COMMANDS, SECTIONS, whitecrow
from whitecrow.cli.screen_output import report_error, wrapped
from whitecrow.errors import InvalidInput
from whitecrow.neighbours import METRICS

WIDEST = 100
SCREEN = ["--record", '{"age": 74, "bmi": 44.0, "systolic": 222}', "--beta", "40", "--radius", "12"]


def run(*arguments):
    return CliRunner().invoke(whitecrow, list(arguments))


def narrow(text):
    for line in text.splitlines():
        assert len(line) <= WIDEST, line
    return text


@pytest.fixture
def clinic(tmp_path):
    for path in (demo.DATA, demo.CARD):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return [str(tmp_path / "clinic.csv"), "--card", str(tmp_path / "clinic.toml")]


def pages(name):
    command = whitecrow.get_command(None, name)
    parts = getattr(command, "commands", {})
    return [[name], *([name, part] for part in parts)]


@pytest.mark.parametrize("name", COMMANDS)
def test_no_line_of_help_is_wider_than_100_columns(name):
    for page in pages(name):
        narrow(run(*page, "--help").output)


def test_every_command_has_one_place_in_the_help():
    assert sorted(COMMANDS) == sorted(name for part in SECTIONS.values() for name in part)
    found = narrow(run("--help-all").output)
    for title in SECTIONS:
        assert f"\n{title}:\n" in found


@pytest.mark.parametrize("name", ["screen", "count", "explain", "publish"])
def test_options_are_grouped_and_choices_are_shown(name):
    found = run(name, "--help").output
    for title in ("What is asked", "Promise and price", "Data and account", "Output"):
        assert f"\n{title}:\n" in found
    if name == "screen":
        found = run(name, "--help-all").output
        assert "euclidean, manhattan, chebyshev" in " ".join(found.split())


def test_metric_means_the_distance_everywhere():
    for name in COMMANDS:
        command = whitecrow.get_command(None, name)
        for option in command.params:
            if isinstance(option, click.Option) and "--metric" in option.opts and not option.hidden:
                assert option.default in METRICS or isinstance(option.type, click.Choice)


def test_the_old_name_of_an_option_still_works_and_says_the_new_one(clinic):
    record = '{"ward": "maternity", "insurance": "public", "year": "2023", "cost": 14000}'
    old = ["--metric", "cost", "--record", record, "--beta", "20", "--radius", "3000"]
    found = run("explain", *clinic, *old, "--epsilon", "0.2", "--price-only")
    assert found.exit_code == 0, found.output
    assert "--metric is called --of now" in found.output


@pytest.mark.parametrize(
    ("slip", "meant"), [("scren", "screen"), ("identfy", "identify"), ("ledgr", "ledger")]
)
def test_a_slip_is_met_with_what_was_meant(slip, meant):
    found = run(slip)
    assert found.exit_code == 2
    assert f"Did you mean '{meant}'" in found.output


def test_a_slip_in_an_option_is_met_with_what_was_meant(clinic):
    found = run("screen", *clinic, "--radios", "12")
    assert found.exit_code == 2
    assert "--radius" in found.output


def test_answers_prices_and_accounts_are_wrapped(clinic):
    price = run("screen", *clinic, *SCREEN, "--epsilon", "1/2", "--price-only")
    narrow(price.output)
    answer = run("screen", *clinic, *SCREEN, "--epsilon", "1/2")
    assert answer.exit_code == 0, answer.output
    lines = narrow(answer.output).splitlines()
    labels = [line[:11].strip() for line in lines if line[:1].strip()]
    assert labels == ["account", "answer", "error", "cost", "left", "promise"]
    narrow(run("ledger", "show", clinic[0]).output)
    narrow(run("doctor").output)


def test_an_error_ends_with_what_to_do(clinic):
    found = run("screen", *clinic, *SCREEN, "--epsilon", "much")
    assert found.exit_code == 2
    lines = narrow(found.output).strip().splitlines()
    assert lines[0].startswith("error: ")
    assert lines[-1].startswith("Write it as text")


def test_what_follows_a_label_is_aligned_under_itself():
    first, second = wrapped("promise    " + "odds " * 25).splitlines()
    assert first.startswith("promise    odds odds")
    assert second.startswith("           odds")


@pytest.mark.parametrize(
    ("message", "first"),
    [
        (
            "The file 'a.b' is no card. Write one with: card new.",
            "error: The file 'a.b' is no card.",
        ),
        ("There is nobody called 'A. Smith'.", "error: There is nobody called 'A. Smith'."),
    ],
)
def test_what_to_do_is_the_last_sentence_and_not_a_name(message, first, capsys):
    assert report_error(InvalidInput(message), as_json=False) == 2
    assert capsys.readouterr().err.splitlines()[0] == first


def test_what_is_for_a_file_is_not_wrapped(clinic, tmp_path):
    assert run("screen", *clinic, *SCREEN, "--epsilon", "1/2").exit_code == 0
    assert max(map(len, run("ledger", "export", clinic[0], "--format", "csv").output.split())) > 100


def test_doctor_says_how_to_get_what_is_missing(monkeypatch):
    monkeypatch.setattr("whitecrow.cli.start._installed", lambda package: None)
    found = run("doctor")
    assert found.exit_code == 0
    for extra in ("plots", "detectors", "sql", "gpu", "spark", "server"):
        assert f"pip install 'whitecrow[{extra}]'" in found.output


def test_a_report_is_one_page_of_the_account_and_reads_no_record(clinic, tmp_path):
    assert run("screen", *clinic, *SCREEN, "--epsilon", "1/2").exit_code == 0
    Path(clinic[0]).unlink()  # the page comes from the ledger alone
    out = tmp_path / "account.html"
    found = run("report", clinic[0], "--out", str(out))
    assert found.exit_code == 0, found.output
    page = out.read_text(encoding="utf-8")
    assert "0.5 of 1 left" in page
    assert "Yes, it would be an anomaly" in page or ">No<" in page
    assert not re.search(r"(?:src|href)\s*=\s*(?:[\"'](?!#)|[^\"'#\s])", page)


def test_a_newcomer_has_a_private_answer_after_two_commands(tmp_path):
    """From a CSV to an answer: write the card, ask; each command in seconds of processor time."""
    program = Path(sys.executable).with_name("whitecrow")
    (tmp_path / "p.csv").write_bytes(demo.DATA.read_bytes())
    card = tmp_path / "p.toml"
    subprocess.run([program, "card", "new", "p.csv", "--out", card], cwd=tmp_path, check=True)
    card.write_bytes(demo.CARD.read_bytes())  # the person fills in the bounds
    asked = [program, "screen", "p.csv", "--card", card, *SCREEN, "--epsilon", "1/2"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = subprocess.run(asked, cwd=tmp_path, check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert found.stdout.startswith("answer     ")
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 5


def _pages(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    if isinstance(command, click.Group):
        ctx = click.Context(command)
        for name in command.list_commands(ctx):
            part = command.get_command(ctx, name)
            if part is not None and " " not in name:
                yield from _pages(part, (*path, name))


def test_the_help_of_every_command_fits_on_a_screen_of_forty_lines():
    pages = {path: run(*path, "--help").output.splitlines() for path in _pages(whitecrow)}
    assert len(pages) > 40
    assert {path: len(lines) for path, lines in pages.items() if len(lines) > 40} == {}


def test_what_is_folded_away_is_named_and_shown_when_asked_for():
    short, long = run("learn", "--help").output, run("learn", "--help-all").output
    assert "More, with --help-all: --relation" in short
    assert "Where the account is kept" not in short
    assert "Where the account is kept" in long
    assert "[required, or --from and --to]" in run("tune", "--help").output
