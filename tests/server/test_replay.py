"""The same acts on neighbouring records leave the same in every log, trace and metric.

Questions are answered, refused and asked again in both runs. What may differ is when something
happened, how long it took as its caller saw it, and the answer itself, which is in none of these.
"""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Any

import pytest
import structlog

from whitecrow.demo import CARD, DATA

from .conftest import Caller, House, identify
from .test_events import Collector, one_of_each, opened, read

pytest.importorskip("opentelemetry.exporter.otlp.proto.http")

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

COUNT = {
    "kind": "count",
    "columns": ["age", "bmi"],
    "model": {"beta": 5, "radius": 4.0, "metric": "euclidean"},
    "epsilon": "1/2",
}


def answered(house: House) -> list[int]:
    """Questions that are answered, answered again, tried out, refused and malformed."""
    call, path = Caller(house), "/v1/datasets/clinic"
    house.service.curator(house.service.people.get("ana"), "clinic")  # the records are read
    asked: list[tuple[str, dict[str, Any]]] = [
        ("price", COUNT),
        ("ask", COUNT),
        ("ask", COUNT),
        ("ask", identify(3)),
        ("dummy", COUNT),
        ("plan", {"questions": [COUNT]}),
        ("ask", {**COUNT, "epsilon": "5000"}),
        ("ask", {**COUNT, "columns": ["no such column"]}),
    ]
    told = [call("ana", "POST", f"{path}/{act}", json=body).status_code for act, body in asked]
    told.append(call("ana", "GET", f"{path}/ledger").status_code)
    told.append(call("auditor", "GET", "/metrics").status_code)
    return told


def spans(collector: Collector) -> list[Any]:
    found = []
    for body in collector.taken["/v1/traces"]:
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            for scope in resource.scope_spans:
                for one in scope.spans:
                    said = sorted((a.key, str(a.value)) for a in one.attributes)
                    found.append((one.name, one.kind, one.status.code, len(one.events), said))
    return found


def counters(collector: Collector) -> list[Any]:
    found = []
    last = ExportMetricsServiceRequest.FromString(collector.taken["/v1/metrics"][-1])
    for scope in last.resource_metrics[0].scope_metrics:
        for metric in scope.metrics:
            for point in (*metric.sum.data_points, *metric.histogram.data_points):
                said = sorted((a.key, str(a.value)) for a in point.attributes)
                number = point.count if metric.HasField("histogram") else point.as_int
                found.append((metric.name, said, number))
    return sorted(found)


def records(collector: Collector) -> list[Any]:
    found = []
    for body in collector.taken["/v1/logs"]:
        for resource in ExportLogsServiceRequest.FromString(body).resource_logs:
            for scope in resource.scope_logs:
                for one in scope.log_records:
                    said = sorted(
                        (a.key, str(a.value)) for a in one.attributes if a.key != "whitecrow.at"
                    )
                    found.append((one.event_name, one.severity_number, str(one.body), said))
    return found


def prometheus(house: House) -> list[str]:
    """Counts; of times only how many there were."""
    lines = house.app.state.handler.metrics.text().decode().splitlines()
    times = re.compile(r"_(bucket|sum|created)\{|_created ")
    return [line for line in lines if not times.search(line)]


def log(text: str) -> list[str]:
    """Lines of the service's log, without when and how long."""
    moments = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|seconds=[0-9.e-]+"
    return [re.sub(moments, "", line) for line in text.splitlines()]


def test_on_neighbouring_records_logs_traces_and_metrics_are_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    structlog.reset_defaults()  # whatever another test has set
    lines = DATA.read_text(encoding="utf-8").splitlines(keepends=True)
    seen: list[dict[str, Any]] = []
    for name, kept in (("one", lines), ("other", lines[:1] + lines[2:])):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "clinic.csv").write_text("".join(kept), encoding="utf-8")
        (folder / "clinic.toml").write_text(CARD.read_text(encoding="utf-8"), encoding="utf-8")
        collector = Collector()
        thread = threading.Thread(target=collector.serve_forever, daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{collector.server_address[1]}"
        house = opened(folder, folder / "clinic.csv", telemetry=url, patience=240.0)
        house.service.start()
        try:
            told = answered(house)
            one_of_each(house)
            numbers = prometheus(house)
        finally:
            house.app.state.telemetry.close()
            house.service.close()
            collector.shutdown()
            collector.server_close()
            thread.join(timeout=10)
        seen.append(
            {
                "told": told,
                "events": [{**one, "at": ""} for one in read(folder)],
                "spans": spans(collector),
                "counters": counters(collector),
                "records": records(collector),
                "prometheus": numbers,
                "log": log(capsys.readouterr().out),
            }
        )
    one, other = seen
    assert one["told"] == [200, 200, 200, 200, 200, 200, 402, 422, 200, 200]
    for what, found in one.items():
        assert found, what
        assert found == other[what], what
    assert sum(number for name, _, number in one["counters"] if name == "whitecrow.asks") == 5
