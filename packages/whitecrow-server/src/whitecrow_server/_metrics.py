"""Numbers for monitoring: counts of public events, by kind and status.

No dataset, no person, no answer and no time of a computation is in them: how long counting took is
a function of the records. The duration of an ask is measured where the analyst sees it, after the
padding.
"""

from __future__ import annotations

import os
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from whitecrow_server._telemetry import Telemetry

MULTIPROCESS = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable with the folder in which several workers add up their numbers."""

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """The numbers of one application."""

    def __init__(self, telemetry: Telemetry | None = None) -> None:
        self._telemetry = telemetry
        self._registry = CollectorRegistry()
        self._lines: dict[tuple[Any, tuple[str, ...]], Any] = {}
        self._requests = Counter(
            "whitecrow_requests_total",
            "Requests, by route, method and status.",
            ("route", "method", "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "whitecrow_reply_seconds",
            "Time to reply as the caller sees it (after padding), by route.",
            ("route",),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._asks = Counter(
            "whitecrow_asks_total",
            "Asks, by kind and outcome: charged, free, or the error's name.",
            ("kind", "outcome"),
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
        found = self._lines.get((family, labels))
        if found is None:
            found = self._lines[family, labels] = family.labels(*labels)
        return found

    def text(self) -> bytes:
        """All numbers, of all workers where there are several, in Prometheus' text format."""
        if os.environ.get(MULTIPROCESS):
            together = CollectorRegistry()
            MultiProcessCollector(together)  # type: ignore[no-untyped-call]
            return generate_latest(together)
        return generate_latest(self._registry)
