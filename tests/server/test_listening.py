"""Each worker listens on a socket of its own, so that no worker takes all connections."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
import requests
from benchmarks.service import in_folder, prepared, running
from uvicorn import Config

from whitecrow.errors import InvalidInput
from whitecrow_server import _listening
from whitecrow_server._listening import bound


def _closed(sockets: list[socket.socket]) -> None:
    for one in sockets:
        one.close()


@pytest.mark.parametrize("workers", [1, 3])
def test_a_port_that_is_taken_is_refused_however_many_workers(workers: int) -> None:
    first = bound("127.0.0.1", 0, workers)
    port = first[0].getsockname()[1]
    try:
        assert {one.getsockname()[1] for one in first} == {port}
        for others in (1, 3):
            with pytest.raises(InvalidInput, match="something else listens there"):
                bound("127.0.0.1", port, others)
    finally:
        _closed(first)


def test_connections_are_spread_over_the_sockets() -> None:
    sockets = bound("127.0.0.1", 0, 2)
    port = sockets[0].getsockname()[1]
    clients = [socket.create_connection(("127.0.0.1", port), timeout=5) for _ in range(64)]
    taken = []
    for one in sockets:
        one.setblocking(False)
        taken.append(0)
        try:
            while True:
                one.accept()[0].close()
                taken[-1] += 1
        except BlockingIOError:
            pass
    _closed(clients + sockets)
    assert sum(taken) == 64
    assert min(taken) >= 8  # by a fair coin less happens once in 10^9 times


class _Worker:
    """What the supervisor knows of a process."""

    def __init__(self, config: Config, sockets: list[socket.socket]) -> None:
        (self.socket,) = sockets
        self.process, self.alive = self, True
        self.exitcode = None

    def is_alive(self, timeout: float = 0) -> bool:
        return self.alive

    ping = is_ready = is_alive

    def start(self) -> None:
        pass

    def join(self) -> None:
        pass

    def terminate(self) -> None:
        self.alive = False

    kill = terminate
    pid = 0


def test_a_worker_that_is_started_anew_gets_the_socket_of_the_one_that_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("whitecrow_server._listening.Process", _Worker)
    monkeypatch.setattr(signal, "signal", lambda *given: None)
    sockets = bound("127.0.0.1", 0, 3)
    try:
        workers = _listening.Workers(Config("nothing:here", workers=3), sockets)
        workers.init_processes()
        assert [one.socket for one in workers.processes] == sockets  # type: ignore[attr-defined]
        workers.processes[1].terminate()
        workers.keep_subprocess_alive()
        assert [one.socket for one in workers.processes] == sockets  # type: ignore[attr-defined]
        before = list(workers.processes)
        workers.restart_all()
        workers.handle_ttin()
        workers.handle_ttou()
        assert [one.socket for one in workers.processes] == sockets  # type: ignore[attr-defined]
        assert not set(before) & set(workers.processes)
    finally:
        _closed(sockets)


def test_a_service_whose_worker_was_killed_answers_everybody_again(tmp_path: Path) -> None:
    database = in_folder(tmp_path)
    prepared(database, ["ana"], budget="1")
    with running(database, "--workers", "2", "--rate", "0", "--no-console") as there:
        parent = there.pid
        found = subprocess.run(
            ["pgrep", "-P", str(parent), "-f", "spawn_main"], capture_output=True, text=True
        )
        children = [int(pid) for pid in found.stdout.split()]
        assert len(children) == 2
        os.kill(children[0], signal.SIGKILL)
        until = time.monotonic() + 200
        answered = 0
        while answered < 24 and time.monotonic() < until:
            try:
                answered += requests.get(f"{there.url}/healthz", timeout=60).ok
            except requests.ConnectionError:  # it waited in the queue of the one that was killed
                time.sleep(0.05)
        assert answered == 24
