"""Security events: one schema, every sink, and no fact in any of them."""

from __future__ import annotations

import gzip
import json
import re
import runpy
import stat
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from whitecrow.demo import DATA
from whitecrow.errors import InvalidInput, MissingExtra, WhitecrowError
from whitecrow_server import Service, Settings, create_app
from whitecrow_server._logs import EVENTS, SCHEMA, Events, sinks_of
from whitecrow_server._metrics import Metrics

from .conftest import Caller, House, settle_in

ROOT = Path(__file__).resolve().parents[2]
FIELDS = {
    *("schema", "at", "event", "outcome", "actor", "acting", "target", "dataset"),
    *("address", "route", "reason", "with"),
}


def opened(folder: Path, data: Path, **changes: Any) -> House:
    settings = Settings(
        database=f"sqlite:///{folder / 'service.db'}",
        data=str(data.parent),
        rate=0,
        events=(str(folder / "events"),),
        **changes,
    )
    app = create_app(settings)
    return House(settings, app, settle_in(app.state.service))


def read(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "events").read_text().splitlines()]


def one_of_each(house: House) -> None:
    """Acts of every kind, allowed and refused, over HTTP and inside."""
    call, service = Caller(house), house.service
    custodian = service.people.get("custodian")
    call("nobody", "GET", "/v1/me")
    call("ana", "GET", "/v1/datasets/secret")
    call("ana", "GET", "/v1/analysts")
    call("bob", "POST", "/v1/datasets/clinic/price", json={})
    call("custodian", "PATCH", "/v1/datasets/clinic", json={"reason": "r", "budget": "2000"})
    call("custodian", "PATCH", "/v1/datasets/clinic", json={"reason": "r", "readers": ["bob"]})
    call("ana", "PATCH", "/v1/datasets/clinic", json={"reason": "r", "budget": "9"})
    allowed = {"analyst": "ana", "budget": "1", "reason": "r"}
    call("custodian", "PUT", "/v1/datasets/clinic/allowances", json=allowed)
    call("auditor", "GET", "/v1/datasets/clinic/ledger")
    call("auditor", "GET", "/v1/trail")
    call("custodian", "POST", "/v1/analysts", json={"name": "eve", "role": "analyst"})
    call("custodian", "POST", "/v1/analysts/eve/invitation")
    call("custodian", "POST", "/v1/analysts/eve/tokens", json={})
    call("custodian", "DELETE", "/v1/analysts/eve/tokens")
    call("custodian", "DELETE", "/v1/analysts/eve/sessions")
    call("custodian", "DELETE", "/v1/analysts/eve/second-factor")
    call("custodian", "PATCH", "/v1/analysts/eve", json={"disabled": True})
    call("custodian", "POST", "/v1/analysts/eve/removal", json={"reason": "r"})
    call("custodian", "POST", "/v1/keys")
    call("custodian", "POST", "/v1/datasets/clinic/removal", json={"reason": "r"})
    with pytest.raises(WhitecrowError):
        service.void(custodian, "clinic", 99, reason="r")


@pytest.fixture
def told(tmp_path: Path) -> Iterator[list[dict[str, Any]]]:
    house = opened(tmp_path, DATA)
    one_of_each(house)
    house.service.close()
    return read(tmp_path)


def test_every_event_has_the_documented_form_and_says_who_did_what(
    told: list[dict[str, Any]], tmp_path: Path
) -> None:
    for one in told:
        assert set(one) <= FIELDS
        assert one["schema"] == SCHEMA
        assert one["event"] in EVENTS
        assert one["outcome"] in ("success", "refused")
    said = {(one["event"], one["outcome"], one.get("actor", "")) for one in told}
    assert said >= {
        ("refusal", "refused", ""),
        ("refusal", "refused", "ana"),
        ("budget.change", "success", "custodian"),
        ("budget.change", "refused", "ana"),
        ("access.change", "success", "custodian"),
        ("allowance.change", "success", "custodian"),
        ("ledger.export", "success", "auditor"),
        ("trail.export", "success", "auditor"),
        ("people.invite", "success", "custodian"),
        ("people.invitation", "success", "custodian"),
        ("people.activation", "success", "custodian"),
        ("people.remove", "success", "custodian"),
        ("people.second-factor", "success", "custodian"),
        ("token.issue", "success", "custodian"),
        ("token.revoke", "success", "custodian"),
        ("session.end", "success", "custodian"),
        ("keys.rotate", "success", "custodian"),
        ("dataset.register", "success", "custodian"),
        ("dataset.remove", "success", "custodian"),
        ("spend.void", "refused", "custodian"),
    }
    assert stat.S_IMODE((tmp_path / "events").stat().st_mode) == 0o600


def test_no_secret_is_in_any_event(told: list[dict[str, Any]], tmp_path: Path) -> None:
    assert "wc_" not in (tmp_path / "events").read_text()


def test_the_documented_events_are_those_of_the_code() -> None:
    filled_in = runpy.run_path(str(ROOT / "docs" / "_extensions" / "declared.py"))["filled_in"]
    page = filled_in((ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8"))
    page = page.partition("## Security events")[2]
    table = re.findall(r"^\| ?`([a-z.-]+)` ?\| ?(.+?) ?\|$", page, re.MULTILINE)
    assert {name: said for name, said in table if name in EVENTS} == EVENTS
    assert {name for name, _ in table if name not in EVENTS} == FIELDS


def test_events_reach_the_log_of_the_system() -> None:
    import socket

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as log:
        log.bind(("127.0.0.1", 0))
        log.settimeout(10)
        events = Events(sinks_of((f"syslog://127.0.0.1:{log.getsockname()[1]}",)))
        events.tell("sign-in", actor="ana")
        events.close()
        said = log.recv(4096).decode()
    assert re.match(r"<86>whitecrow: \{", said)  # authpriv (10) and info (6)
    assert json.loads(said.partition(": ")[2].rstrip("\0"))["actor"] == "ana"


def test_events_reach_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    Events(sinks_of(("-",))).tell("sign-out", actor="ana")
    assert json.loads(capsys.readouterr().err)["event"] == "sign-out"


def test_a_sink_that_cannot_be_written_is_refused_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be written"):
        sinks_of((str(tmp_path / "no" / "such" / "folder"),))


class Collector(HTTPServer):
    """What an OpenTelemetry collector does: takes everything."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Taking)
        self.taken: dict[str, list[bytes]] = {}
        self.headers: list[Any] = []


class _Taking(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        self.server.taken.setdefault(self.path, []).append(body)
        self.server.headers.append(self.headers)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


def test_traces_metrics_and_events_reach_a_collector(tmp_path: Path) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
        ExportMetricsServiceRequest,
    )
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    collector = Collector()
    thread = threading.Thread(target=collector.serve_forever, daemon=True)
    thread.start()
    try:
        house = opened(
            tmp_path,
            DATA,
            telemetry=f"http://127.0.0.1:{collector.server_address[1]}",
            telemetry_headers={"x-token": "made up"},
        )
        call = Caller(house)
        call("ana", "GET", "/v1/datasets/secret")
        house.app.state.handler.metrics.asked("count", "charged")
        house.app.state.telemetry.close()
        house.service.close()
    finally:
        collector.shutdown()
        collector.server_close()
        thread.join(timeout=10)
    assert {one["x-token"] for one in collector.headers} == {"made up"}
    spans = ExportTraceServiceRequest.FromString(collector.taken["/v1/traces"][0])
    span = spans.resource_spans[0].scope_spans[0].spans[0]
    assert span.name == "GET /v1/datasets/{name}"
    assert {one.key for one in span.attributes} == {
        *("http.route", "http.request.method", "http.response.status_code")
    }
    logs = [ExportLogsServiceRequest.FromString(one) for one in collector.taken["/v1/logs"]]
    found = [kept for one in logs for kept in one.resource_logs]
    said = [record for one in found for scope in one.scope_logs for record in scope.log_records]
    assert "refusal" in {one.body.string_value for one in said}
    metrics = ExportMetricsServiceRequest.FromString(collector.taken["/v1/metrics"][-1])
    names = {one.name for one in metrics.resource_metrics[0].scope_metrics[0].metrics}
    assert names == {"whitecrow.requests", "whitecrow.reply.seconds", "whitecrow.asks"}
    for body in (b for bodies in collector.taken.values() for b in bodies):
        assert b"wc_" not in body


def test_without_the_package_telemetry_is_refused_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    settings = Settings(database=f"sqlite:///{tmp_path / 'x.db'}", telemetry="http://127.0.0.1:1")
    with pytest.raises(MissingExtra, match="telemetry"):
        create_app(settings)


def test_the_grafana_board_names_only_metrics_and_labels_that_exist() -> None:
    board = json.loads((ROOT / "examples" / "grafana" / "whitecrow.json").read_text())
    metrics = Metrics()
    metrics.began()
    metrics.ended("/x", "GET", 200, 0.1)
    metrics.asked("count", "charged")
    samples: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(metrics.text().decode()):
        for sample in family.samples:
            samples.setdefault(sample.name, set()).update(sample.labels)
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    assert len(asked) >= 8
    for expression in asked:
        for name in re.findall(r"whitecrow_\w+", expression):
            assert name in samples, expression
            for label in re.findall(rf"{name}\{{([^}}]*)\}}", expression):
                for used in re.findall(r"(\w+)\s*[=!]", label):
                    assert used in samples[name], expression
    known = {label for labels in samples.values() for label in labels}
    for expression in asked:
        for grouped in re.findall(r"by \(([^)]*)\)", expression):
            assert {one.strip() for one in grouped.split(",")} <= known


def test_a_service_without_sinks_tells_nobody(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    service = Service(Settings(database=f"sqlite:///{tmp_path / 'x.db'}"))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    service.events.tell("sign-in", actor="ana")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert capfd.readouterr() == ("", "")
    service.close()
