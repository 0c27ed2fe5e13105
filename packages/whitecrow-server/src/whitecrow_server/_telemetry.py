"""OpenTelemetry, when its package is installed: traces, metrics and security events by OTLP.

A span has route, method and status, and lasts as long as the caller waited, after the padding: the
same that Prometheus gets. No dataset, question, answer or time of a computation is in any of it.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Mapping
from typing import Any
from urllib.request import Request, urlopen

from whitecrow.errors import MissingExtra, invalid

_NAME = "whitecrow"
_WAITING = 4096
"""Events that wait for the collector, at most."""
_PATIENCE = 5.0
"""Seconds."""


class Telemetry:
    """Sends to a collector."""

    def __init__(self, endpoint: str, *, headers: Mapping[str, str] | None = None) -> None:
        try:
            from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.metrics import MeterProvider
            from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
        except ImportError:
            raise MissingExtra(
                "OpenTelemetry is not installed: pip install 'whitecrow[telemetry]'."
            ) from None
        if not endpoint.startswith(("http://", "https://")):
            raise invalid("Telemetry", "endpoint", "an address of HTTP", endpoint)
        base, sent = endpoint.rstrip("/"), dict(headers or {})
        about = Resource.create({"service.name": _NAME})
        self._traces = TracerProvider(resource=about)
        self._traces.add_span_processor(
            BatchSpanProcessor(OTLPSpanExporter(f"{base}/v1/traces", headers=sent))
        )
        self._logs = _Logs(f"{base}/v1/logs", sent)
        exporter = OTLPMetricExporter(f"{base}/v1/metrics", headers=sent)
        self._metrics = MeterProvider([PeriodicExportingMetricReader(exporter)], resource=about)
        meter = self._metrics.get_meter(_NAME)
        self._tracer = self._traces.get_tracer(_NAME)
        self._requests = meter.create_counter("whitecrow.requests")
        self._seconds = meter.create_histogram("whitecrow.reply.seconds", unit="s")
        self._asks = meter.create_counter("whitecrow.asks")

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        from opentelemetry.trace import SpanKind

        about = {"http.route": route, "http.request.method": method}
        about_reply: dict[str, Any] = {**about, "http.response.status_code": status}
        end = time.time_ns()
        span = self._tracer.start_span(
            f"{method} {route}",
            kind=SpanKind.SERVER,
            start_time=end - int(seconds * 1e9),
            attributes=about_reply,
        )
        span.end(end)
        self._requests.add(1, about_reply)
        self._seconds.record(seconds, {"http.route": route})

    def asked(self, kind: str, outcome: str) -> None:
        self._asks.add(1, {"kind": kind, "outcome": outcome})

    def event(self, said: Mapping[str, Any]) -> None:
        self._logs.send(said)

    def close(self) -> None:
        for provider in (self._traces, self._logs, self._metrics):
            provider.shutdown()


class _Logs:
    """Sends security events as log records, from a thread of its own.

    The OpenTelemetry packages have no public interface for logs yet; their messages are public.
    """

    def __init__(self, address: str, headers: Mapping[str, str]) -> None:
        self._address = address
        self._headers = {**headers, "Content-Type": "application/x-protobuf"}
        self._waiting: queue.Queue[bytes | None] = queue.Queue(_WAITING)
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def send(self, said: Mapping[str, Any]) -> None:
        """Send an event; a collector that is far behind loses it, and nobody waits."""
        with contextlib.suppress(queue.Full):
            self._waiting.put_nowait(_message(said))

    def shutdown(self) -> None:
        """Send what is left, for some seconds."""
        with contextlib.suppress(queue.Full):
            self._waiting.put_nowait(None)
        self._thread.join(_PATIENCE)

    def _work(self) -> None:
        while (body := self._waiting.get()) is not None:
            request = Request(self._address, body, self._headers)
            with contextlib.suppress(OSError):
                urlopen(request, timeout=_PATIENCE).close()  # nosec B310


def _message(said: Mapping[str, Any]) -> bytes:
    """Return a security event as OTLP has log records."""
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
    from opentelemetry.proto.logs.v1 import logs_pb2

    request: Any = ExportLogsServiceRequest()
    part = request.resource_logs.add()
    part.resource.attributes.add(key="service.name").value.string_value = _NAME
    scope = part.scope_logs.add()
    scope.scope.name = _NAME
    level = "INFO" if said["outcome"] == "success" else "WARN"
    record = scope.log_records.add(
        time_unix_nano=time.time_ns(),
        severity_number=getattr(logs_pb2, f"SEVERITY_NUMBER_{level}"),
        severity_text=level,
        event_name=f"whitecrow.{said['event']}",
    )
    record.body.string_value = str(said["event"])
    for key, value in said.items():
        record.attributes.add(key=f"whitecrow.{key}").value.string_value = str(value)
    return bytes(request.SerializeToString())
