"""A service in processes of its own, on this machine only, for tests and benchmarks."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from whitecrow.demo import CARD, DATA
from whitecrow_server import Service, Settings

__all__ = ["Running", "prepared", "running"]

_START_SECONDS = 60.0


def prepared(url: str, analysts: Sequence[str], *, budget: str) -> dict[str, str]:
    """Put people and the bundled clinic into an empty service; returns the analysts' tokens."""
    service = Service(Settings(database=url, data=str(DATA.parent)))
    try:
        custodian = service.people.add("custodian", "custodian")
        tokens = {}
        for name in analysts:
            service.members.invite(custodian, name, "analyst")
            tokens[name] = service.members.issue(custodian, name)[0]
        service.register(
            custodian,
            "clinic",
            {"file": DATA.name},
            card=CARD.read_text(encoding="utf-8"),
            budget=budget,
            readers=["*"],
        )
        return tokens
    finally:
        service.close()


class Running:
    """A service that runs; all its processes are one group."""

    def __init__(
        self, database: str, port: int, options: Sequence[str], data: Path = DATA.parent
    ) -> None:
        self.url = f"http://127.0.0.1:{port}"
        command = ["-c", "from whitecrow.cli import main; main()", "serve", "--ledger", database]
        self._process = subprocess.Popen(
            [sys.executable, *command, "--port", str(port), "--data", str(data), *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """The process that all others belong to."""
        return self._process.pid

    def wait_until_ready(self, seconds: float = _START_SECONDS) -> None:
        """Wait until it answers."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            try:
                with urllib.request.urlopen(f"{self.url}/healthz", timeout=5):
                    return
            except (urllib.error.URLError, OSError):
                if self._process.poll() is not None:
                    break
                time.sleep(0.05)
        self.kill()
        raise RuntimeError("the service did not start")

    def cpu_seconds(self) -> float:
        """How long its processes have been computing, on all cores together."""
        ticks = 0
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text(encoding="utf-8").rpartition(")")[2].split()
            except OSError:  # a process that has ended meanwhile
                continue
            if int(fields[2]) == self._process.pid:  # the process group
                ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def kill(self) -> None:
        """End all its processes without a warning, as a power cut would."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        """Ask it to end, and wait."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                self.kill()


def free_port() -> int:
    """Return a port nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
    return port


@contextmanager
def running(
    database: str, *options: str, port: int | None = None, data: Path = DATA.parent
) -> Iterator[Running]:
    """Run a service while the block lasts."""
    service = Running(database, port or free_port(), options, data)
    try:
        service.wait_until_ready()
        yield service
    finally:
        service.stop()


def in_folder(folder: Path) -> str:
    """The address of a durable store in a folder."""
    return f"sqlite:///{folder / 'service.db'}"
