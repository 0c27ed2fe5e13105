"""OpenTelemetry, when its package is installed: traces, metrics and security events by OTLP.

A span has route, method and status, and lasts as long as the caller waited, after the padding: the
same that Prometheus gets. No dataset, question, answer or time of a computation is in any of it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from whitecrow.errors import MissingExtra

_NAME = "whitecrow"


class Telemetry:
    """Sends to a collector.

    Parameters
    ----------
    endpoint : str
        The collector's address, such as ``http://127.0.0.1:4318``; also for its subpaths.
    headers : mapping
        Sent along, for collectors that want a token.
    """

    def __init__(self, endpoint: str, *, headers: Mapping[str, str] | None = None) -> None:
        try:
            from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
            from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk._logs import LoggerProvider
            from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
            from opentelemetry.sdk.metrics import MeterProvider
            from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
        except ImportError:
            raise MissingExtra(
                "OpenTelemetry is not installed: pip install 'whitecrow[telemetry]'."
            ) from None
        base, sent = endpoint.rstrip("/"), dict(headers or {})
        about = Resource.create({"service.name": _NAME})
        self._traces = TracerProvider(resource=about)
        self._traces.add_span_processor(
            BatchSpanProcessor(OTLPSpanExporter(f"{base}/v1/traces", headers=sent))
        )
        self._logs = LoggerProvider(resource=about)
        self._logs.add_log_record_processor(
            BatchLogRecordProcessor(OTLPLogExporter(f"{base}/v1/logs", headers=sent))
        )
        exporter = OTLPMetricExporter(f"{base}/v1/metrics", headers=sent)
        self._metrics = MeterProvider([PeriodicExportingMetricReader(exporter)], resource=about)
        meter = self._metrics.get_meter(_NAME)
        self._tracer, self._logger = self._traces.get_tracer(_NAME), self._logs.get_logger(_NAME)
        self._requests = meter.create_counter("whitecrow.requests")
        self._seconds = meter.create_histogram("whitecrow.reply.seconds", unit="s")
        self._asks = meter.create_counter("whitecrow.asks")

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        """A request was replied to."""
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
        """An ask ended."""
        self._asks.add(1, {"kind": kind, "outcome": outcome})

    def event(self, said: Mapping[str, Any]) -> None:
        """A security event."""
        from opentelemetry._logs import SeverityNumber

        refused = said["outcome"] != "success"
        self._logger.emit(
            timestamp=time.time_ns(),
            severity_number=SeverityNumber.WARN if refused else SeverityNumber.INFO,
            severity_text="WARN" if refused else "INFO",
            body=str(said["event"]),
            attributes={f"whitecrow.{key}": value for key, value in said.items()},
            event_name=f"whitecrow.{said['event']}",
        )

    def close(self) -> None:
        """Send what is left, and stop."""
        for provider in (self._traces, self._logs, self._metrics):
            provider.shutdown()
