"""Numbers for monitoring: counts of public events, by kind and status.

No dataset, person or answer is in them, and no time of a computation: how long counting took is a
function of the records. An ask's duration is the one that the analyst sees, after the padding.
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
import time
from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.request import Request, urlopen

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from whitecrow.errors import MissingExtra, invalid

MULTIPROCESS = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable with the folder in which several workers add up their numbers."""

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    def __init__(self, telemetry: Telemetry | None = None) -> None:
        self._telemetry = telemetry
        self._registry = CollectorRegistry()
        self._children: dict[tuple[Any, tuple[str, ...]], Any] = {}
        counter = partial(Counter, registry=self._registry)
        self._requests = counter(
            "whitecrow_requests_total",
            "Requests, by route, method and status.",
            ("route", "method", "status"),
        )
        self._asks = counter(
            "whitecrow_asks_total",
            "Asks, by kind and outcome: charged, free, or the error's name.",
            ("kind", "outcome"),
        )
        self._seconds = Histogram(
            "whitecrow_reply_seconds",
            "Time to reply as the caller sees it (after padding), by route.",
            ("route",),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._running = Gauge(
            "whitecrow_requests_running",
            "Requests being served now.",
            registry=self._registry,
            multiprocess_mode="livesum",
        )

    def began(self) -> None:
        self._running.inc()

    def ended(self, route: str, method: str, status: int, seconds: float) -> None:
        self._running.dec()
        self._labelled(self._requests, route, method, str(status)).inc()
        self._labelled(self._seconds, route).observe(seconds)
        if self._telemetry is not None:
            self._telemetry.request(route, method, status, seconds)

    def asked(self, kind: str, outcome: str) -> None:
        self._labelled(self._asks, kind, outcome).inc()
        if self._telemetry is not None:
            self._telemetry.asked(kind, outcome)

    def _labelled(self, family: Any, *labels: str) -> Any:
        """One line of a family; looked up once, for there are few and requests are many."""
        child = self._children.get((family, labels))
        if child is None:
            child = self._children[family, labels] = family.labels(*labels)
        return child

    def text(self) -> bytes:
        """All numbers, of all workers where there are several, in Prometheus' text format."""
        if os.environ.get(MULTIPROCESS):
            together = CollectorRegistry()
            MultiProcessCollector(together)  # type: ignore[no-untyped-call]
            return generate_latest(together)
        return generate_latest(self._registry)


_NAME = "whitecrow"
_WAITING = 4096
"""Events that wait for the collector, at most."""
_PATIENCE = 5.0
"""Seconds."""


class Telemetry:
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

        about: dict[str, Any] = {"http.route": route, "http.request.method": method}
        about["http.response.status_code"] = status
        end = time.time_ns()
        span = self._tracer.start_span(
            f"{method} {route}",
            kind=SpanKind.SERVER,
            start_time=end - int(seconds * 1e9),
            attributes=about,
        )
        span.end(end)
        self._requests.add(1, about)
        self._seconds.record(seconds, {"http.route": route})

    def asked(self, kind: str, outcome: str) -> None:
        self._asks.add(1, {"kind": kind, "outcome": outcome})

    def event(self, event: Mapping[str, Any]) -> None:
        self._logs.send(event)

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

    def send(self, event: Mapping[str, Any]) -> None:
        """Send an event; a collector that is far behind loses it, and nobody waits."""
        with contextlib.suppress(queue.Full):
            self._waiting.put_nowait(_message(event))

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


def _message(event: Mapping[str, Any]) -> bytes:
    """Return a security event as OTLP has log records."""
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
    from opentelemetry.proto.logs.v1 import logs_pb2

    request: Any = ExportLogsServiceRequest()
    part = request.resource_logs.add()
    part.resource.attributes.add(key="service.name").value.string_value = _NAME
    scope = part.scope_logs.add()
    scope.scope.name = _NAME
    level = "INFO" if event["outcome"] == "success" else "WARN"
    record = scope.log_records.add(
        time_unix_nano=time.time_ns(),
        severity_number=getattr(logs_pb2, f"SEVERITY_NUMBER_{level}"),
        severity_text=level,
        event_name=f"whitecrow.{event['event']}",
    )
    record.body.string_value = str(event["event"])
    for key, value in event.items():
        record.attributes.add(key=f"whitecrow.{key}").value.string_value = str(value)
    return bytes(request.SerializeToString())
