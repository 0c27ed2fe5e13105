"""Passwords and tokens reach commands by files or the environment, never by the command line."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

import whitecrow as wc
from whitecrow.cli import whitecrow
from whitecrow.cli.secrets import check_argv, named, read_secret, token
from whitecrow.data import SqlQuery
from whitecrow_server import Settings, _listening
from whitecrow_server.commands import serve

SECRET = "opensesame"  # noqa: S105 - made up
URL = f"postgresql+psycopg://crow:{SECRET}@192.0.2.1:5432/accounts"


@pytest.mark.parametrize(
    "command",
    [
        ["serve", "--ledger", URL],
        ["serve", "--demo", "--database", f"warehouse={URL}"],
        ["serve", "--demo", f"--database=warehouse={URL}"],
        ["ledger", "show", URL],
        ["count", f"{URL}::people", "--epsilon", "1"],
        ["ledger", "show", f"postgresql://host/accounts?user=crow&password={SECRET}"],
        ["ledger", "show", f"postgresql://crow:{SECRET}/with@192.0.2.1/accounts"],
    ],
)
def test_a_password_on_the_command_line_is_refused_and_not_repeated(command: list[str]) -> None:
    done = CliRunner().invoke(whitecrow, command)
    assert done.exit_code == 2
    assert "every user of this machine can read it" in " ".join(done.output.split())
    assert SECRET not in done.output


@pytest.mark.parametrize(
    "command",
    [
        ["ledger", "show", "postgresql+psycopg://crow@host:5432/accounts"],
        ["screen", "clinic", "--server", "http://127.0.0.1:8765/ana@example"],
        ["count", "sqlite:///records.db::SELECT mail FROM people WHERE mail LIKE '%:x@%'"],
    ],
)
def test_addresses_without_a_password_pass(command: list[str]) -> None:
    check_argv(command)
    with pytest.raises(wc.InvalidInput):
        check_argv([*command, URL])


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """What settings a service would have been started with."""
    found: list[Settings] = []

    def note(output: object, settings: Settings, **more: object) -> None:
        found.append(settings)

    monkeypatch.setattr(serve, "invite", note)
    monkeypatch.setattr(_listening, "bound", lambda host, port, workers: [socket.socket()])
    monkeypatch.setattr(_listening, "run", lambda *given: None)
    monkeypatch.delenv(serve.SETTINGS, raising=False)
    return found


@pytest.mark.parametrize("how", ["variables", "files", "variables that name files"])
def test_addresses_come_from_the_environment_or_from_files(
    started: list[Settings], tmp_path: Path, how: str
) -> None:
    ledger, databases = tmp_path / "ledger", tmp_path / "databases"
    ledger.write_text(f"{URL}\n", encoding="utf-8")
    databases.write_text(f"# two of them\nwarehouse={URL}\n\nother={URL}2\n", encoding="utf-8")
    options, environment = {
        "variables": (
            [],
            {"WHITECROW_LEDGER": URL, "WHITECROW_DATABASE": f"warehouse={URL} other={URL}2"},
        ),
        "files": (["--ledger-file", str(ledger), "--database-file", str(databases)], {}),
        "variables that name files": (
            [],
            {"WHITECROW_LEDGER_FILE": str(ledger), "WHITECROW_DATABASE_FILE": str(databases)},
        ),
    }[how]
    log = ["--custodian-log", str(tmp_path / "log")]
    done = CliRunner().invoke(whitecrow, ["serve", *log, *options], env=environment)
    assert done.exit_code == 0, done.output
    (settings,) = started
    assert settings.database == URL
    assert settings.databases == {"warehouse": URL, "other": f"{URL}2"}
    assert SECRET not in repr(settings) + str(settings) + done.output
    os.environ.pop(serve.SETTINGS, None)


@pytest.mark.parametrize(
    ("options", "trusted"),
    [
        ([], ()),
        (["--behind-tls-proxy"], ("127.0.0.0/8", "::1")),
        (["--behind-tls-proxy", "--trusted-proxy", "10.0.0.0/8"], ("10.0.0.0/8",)),
    ],
)
def test_proxies_are_believed_only_when_there_are_any(
    started: list[Settings], options: list[str], trusted: tuple[str, ...]
) -> None:
    done = CliRunner().invoke(whitecrow, ["serve", "--demo", *options])
    assert done.exit_code == 0, done.output
    assert started[0].proxies == trusted
    os.environ.pop(serve.SETTINGS, None)


def test_a_proxy_elsewhere_must_be_named(started: list[Settings]) -> None:
    options = ["--host", "0.0.0.0", "--public-without-tls", "--behind-tls-proxy"]
    done = CliRunner().invoke(whitecrow, ["serve", "--demo", *options])
    assert done.exit_code == 2
    assert "--trusted-proxy" in done.output


def test_a_service_whose_log_cannot_be_written_does_not_start(
    started: list[Settings], tmp_path: Path
) -> None:
    nowhere = str(tmp_path / "missing" / "log")
    done = CliRunner().invoke(whitecrow, ["serve", "--demo", "--custodian-log", nowhere])
    assert done.exit_code == 2
    assert "--custodian-log" in done.output


def test_a_secret_file_that_is_missing_is_refused_in_words(tmp_path: Path) -> None:
    for file in (tmp_path / "nothing", tmp_path):
        with pytest.raises(wc.InvalidInput, match="cannot be read"):
            read_secret(str(file))
    with pytest.raises(wc.InvalidInput, match="NAME=VALUE") as refused:
        serve.pairs((URL.replace("=", ""),))
    assert SECRET not in str(refused.value)
    assert named(()) == ()


def test_a_token_comes_from_a_variable_or_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WHITECROW_TOKEN", raising=False)
    with pytest.raises(wc.InvalidInput, match="WHITECROW_TOKEN_FILE"):
        token()
    monkeypatch.setenv("WHITECROW_TOKEN", "wc_one")
    assert token() == "wc_one"
    (tmp_path / "token").write_text("wc_two\n", encoding="utf-8")
    monkeypatch.setenv("WHITECROW_TOKEN_FILE", str(tmp_path / "token"))
    assert token() == "wc_two"


def test_no_repr_of_a_source_or_of_settings_holds_a_password() -> None:
    assert SECRET not in repr(SqlQuery(URL, "SELECT 1"))
    assert SECRET not in repr(Settings(database=URL, databases={"warehouse": URL}))


def _family(pid: int) -> list[int]:
    """A process and all that descend from it."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError):  # a thread that has ended since
            for child in (task / "children").read_text(encoding="ascii").split():
                found += _family(int(child))
    return found


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs /proc")
def test_no_process_of_a_service_carries_a_password_in_its_arguments(tmp_path: Path) -> None:
    environment = {**os.environ, "WHITECROW_DATABASE": f"warehouse={URL}"}
    options = ["--ledger", str(tmp_path / "l.db"), "--port", "0", "--workers", "2"]
    service = subprocess.Popen(
        [sys.executable, "-c", "from whitecrow.cli import main; main()", "serve", *options],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + 60
        while len(family := _family(service.pid)) < 3 and time.monotonic() < until:
            time.sleep(0.1)
        assert len(family) >= 3
        for pid in family:
            assert SECRET not in Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8")
    finally:
        service.send_signal(signal.SIGTERM)
        service.wait(timeout=60)
