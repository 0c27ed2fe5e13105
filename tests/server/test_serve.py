"""Starting a service: what it refuses, what it prints, what it writes down."""

from __future__ import annotations

import io
import json
import re
import runpy
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import structlog
from benchmarks.postgres import cluster, missing
from click.testing import CliRunner

import whitecrow as wc
from whitecrow.cli import whitecrow
from whitecrow.cli.screen_output import Output
from whitecrow_server import Service, Settings, create_app, default_deadlines
from whitecrow_server._logs import configure
from whitecrow_server._settings import reference
from whitecrow_server._tables import VERSIONS
from whitecrow_server.commands import serve

from .conftest import Caller, House, identify, settings_for, settle_in


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "crow.example.org"])
def test_listening_in_the_open_needs_tls_or_a_word(host: str) -> None:
    done = CliRunner().invoke(whitecrow, ["serve", "--demo", "--host", host])
    assert done.exit_code == 1
    assert "--public-without-tls" in done.output
    serve.check_exposure(host, True, False)
    serve.check_exposure(host, False, True)


def test_loopback_needs_nothing() -> None:
    for host in ("127.0.0.1", "localhost", "::1"):
        serve.check_exposure(host, False, False)
        assert "localhost" in serve.known_hosts(host, ())
    assert serve.known_hosts("0.0.0.0", ()) == ()
    assert "crow.example.org" in serve.known_hosts("127.0.0.1", ("Crow.example.org",))


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--ledger", "x.db", "--tls-key", __file__],
        ["--demo", "--deadline", "identify"],
        ["--demo", "--deadline", "identify=soon"],
        ["--demo", "--deadline", "identify=-1"],
    ],
)
def test_wrong_options_are_refused_in_words(options: list[str]) -> None:
    done = CliRunner().invoke(whitecrow, ["serve", *options])
    assert done.exit_code == 2, done.output


def test_the_demo_prints_tokens_that_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = settings_for(tmp_path, deadlines=default_deadlines())
    serve.invite(Output(as_json=True), settings, demo=True, url="http://127.0.0.1:1")
    said = json.loads(capsys.readouterr().out)
    service = Service(settings)
    try:
        for name, token in said["tokens"].items():
            assert service.people.bearer(token).name == name
            assert service.sessions.sign_in(name, said["passwords"][name])
        analyst = service.people.get("analyst")
        service.start()
        assert service.ask(analyst, "clinic", identify(epsilon="1/2")).charged
    finally:
        service.close()
    # A second start makes nobody and prints no secret.
    serve.invite(Output(as_json=False), settings, demo=True, url="http://127.0.0.1:1")
    assert "token" not in capsys.readouterr().out


def test_the_documentation_lists_every_setting_as_it_is_declared() -> None:
    docs = Path(__file__).parents[2] / "docs"
    filled_in = runpy.run_path(str(docs / "_extensions" / "declared.py"))["filled_in"]
    page = filled_in((docs / "server.md").read_text(encoding="utf-8"))
    rows = [f"| {' | '.join(row)} |" for row in reference()]
    listed = page.partition("## Settings")[2].partition("\n## ")[0]
    assert [line for line in listed.splitlines() if line.startswith("| `")] == rows
    options = {name for parameter in serve.command.params for name in parameter.opts}
    said = {one for one in re.findall(r"`(--[a-z-]+)`", listed) if "--no-" not in one}
    assert options - {"--help-all"} == said


def test_the_environment_sets_an_option(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHITECROW_SERVE_DEADLINE", "identify=soon")
    done = CliRunner().invoke(whitecrow, ["serve", "--demo"])
    assert "'soon' is not a number of seconds" in done.output


def test_settings_reach_the_workers_and_hide_passwords() -> None:
    settings = Settings(
        database="sqlite:///x.db", databases={"w": "postgresql://a:secret@h/d"}, hosts=("a",)
    )
    assert Settings.from_text(settings.to_text()) == settings
    assert "secret" not in repr(settings)


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """What the service writes to its log."""
    written = io.StringIO()
    configure()
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(written))
    yield written
    structlog.reset_defaults()


def test_logs_and_metrics_hold_no_question_answer_or_name_of_a_dataset(
    house: House, lines: io.StringIO
) -> None:
    call = Caller(house)
    question = identify(77)
    call("ana", "POST", "/v1/datasets/clinic/ask", json=question)
    call("ana", "POST", "/v1/datasets/clinic/ask", json={"kind": "identify"})
    metrics = call("auditor", "GET", "/metrics").text
    written = lines.getvalue()
    assert len(written.splitlines()) == 3
    for line in written.splitlines():
        assert set(json.loads(line)) == {
            *("event", "level", "method", "person", "route", "seconds", "status", "timestamp")
        }
    for text in (written, metrics):
        for private in ("clinic", "record", "systolic", house.tokens["ana"], "answer"):
            assert private not in text
    assert "ana" not in metrics
    assert 'whitecrow_asks_total{kind="identify",outcome="charged"} 1.0' in metrics
    assert 'whitecrow_asks_total{kind="identify",outcome="InvalidInput"} 1.0' in metrics
    labels = set(re.findall(r'(\w+)="', metrics))
    assert labels == {"kind", "le", "method", "outcome", "route", "status"}


def test_a_fault_of_ours_is_one_constant_sentence(
    opened: Callable[..., House], monkeypatch: pytest.MonkeyPatch
) -> None:
    house = opened()

    def broken(*given: object, **more: object) -> None:
        raise RuntimeError("the record of Ms Canary")

    monkeypatch.setattr(house.service, "datasets", broken)
    reply = Caller(house)("ana", "GET", "/v1/datasets")
    assert reply.status_code == 500
    assert "Canary" not in reply.text


def test_a_newer_store_is_left_alone(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    service = Service(settings)
    with service.store.transaction() as connection:
        connection.execute(VERSIONS.column.table.update().values(version=99))
    service.close()
    with pytest.raises(wc.Unavailable, match="newer version"):
        Service(settings)


@pytest.mark.skipif(bool(missing()), reason=missing() or "there")
def test_a_service_on_postgresql_does_the_same() -> None:
    with cluster() as server:
        data = str(settings_for(Path()).data)
        settings = Settings(database=server.url, data=data, rate=0, patience=60.0)
        app = create_app(settings)
        house = House(settings, app, settle_in(app.state.service))
        house.service.start()
        try:
            call = Caller(house)
            for who, status in (("ana", 200), ("bob", 404), ("nobody", 401)):
                path = "/v1/datasets/clinic/ask"
                assert call(who, "POST", path, json=identify()).status_code == status
            assert call("auditor", "GET", "/v1/datasets/clinic/ledger/verification").json()["ok"]
            assert call("ana", "GET", "/v1/datasets/cl%00inic").status_code == 404
            password = house.service.sessions.new_password("ana")
            _, cookie = house.service.sessions.sign_in("ana", password)
            assert house.service.sessions.visitor(cookie).person.name == "ana"
        finally:
            house.service.close()


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("named", [False, True])
def test_the_first_password_goes_to_a_file_where_output_is_no_terminal(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    as_json: bool,
    named: bool,
) -> None:
    settings = settings_for(tmp_path)
    file = tmp_path / ("named" if named else "first-sign-in.txt")
    monkeypatch.setenv("WHITECROW_FIRST_SIGN_IN", str(file) if named else "")
    serve.invite(Output(as_json=as_json), settings, demo=False, url="http://127.0.0.1:1")
    printed = capsys.readouterr().out
    assert ("wc_" in printed) == (as_json and not named)  # a program asked for it
    assert file.exists() == (named or not as_json)
    if not file.exists():
        return
    assert file.stat().st_mode & 0o777 == 0o600
    password = file.read_text(encoding="utf-8").split()[-1]
    service = Service(settings)
    try:
        assert service.sessions.sign_in("custodian", password)
    finally:
        service.close()


def test_what_the_pages_say_custodians_may_do_is_what_they_may_do(house: House) -> None:
    """The page of roles, the page of people and the form for inviting agree with the service."""
    custodian = house.service.people.get("custodian")
    assert house.service.prepare(custodian, "clinic", identify()).who == custodian
    root = Path(__file__).resolve().parents[2]
    pages = [
        *(root / "docs").glob("*.md"),
        *(root / "packages/whitecrow-server/src/whitecrow_server/console").rglob("*.html"),
    ]
    for page in pages:
        assert "never ask" not in page.read_text(encoding="utf-8"), page
