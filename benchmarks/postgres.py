"""A private PostgreSQL cluster for tests and benchmarks: a folder of its own, gone afterwards."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["Cluster", "cluster", "missing"]


def _binaries() -> Path | None:
    """Debian keeps them outside the path, one folder a version."""
    program = shutil.which("initdb")
    if program:
        return Path(program).resolve().parent
    versions = Path("/usr/lib/postgresql")
    folders = sorted(versions.glob("*/bin"), reverse=True) if versions.is_dir() else []
    return next((folder for folder in folders if (folder / "initdb").exists()), None)


def missing() -> str:
    """Say why no cluster can be started here, or nothing."""
    if _binaries() is None:
        return "PostgreSQL's server is not installed (Debian: apt-get install postgresql)"
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "the driver psycopg is not installed (pip install 'whitecrow[postgres]')"
    return ""


class Cluster:
    """A running server that listens on a socket in its own folder."""

    def __init__(self, folder: Path, *, durable: bool = True) -> None:
        self._folder, self._durable = folder, durable
        self._data = folder / "data"
        binaries = _binaries()
        assert binaries is not None
        self._binaries = binaries
        # The server refuses to run as root.
        self._user = "postgres" if os.geteuid() == 0 else None
        if self._user:
            shutil.chown(folder, self._user)
        self._run("initdb", "-D", str(self._data), "-U", "whitecrow", "-A", "trust", "-N")

    @property
    def url(self) -> str:
        """Where the ledger finds it."""
        return f"postgresql+psycopg://whitecrow@/postgres?host={self._folder}"

    def start(self) -> None:
        """Start the server; durable as it comes (fsync and synchronous_commit on), or not."""
        options = f"-c listen_addresses= -c unix_socket_directories={self._folder}"
        options += " -c max_connections=100"
        if not self._durable:
            options += " -c fsync=off -c synchronous_commit=off -c full_page_writes=off"
        log = str(self._folder / "log")
        self._run("pg_ctl", "-D", str(self._data), "-l", log, "-o", options, "-w", "start")

    def stop(self) -> None:
        """Stop it at once, as if the machine had gone away."""
        self._run("pg_ctl", "-D", str(self._data), "-m", "immediate", "-w", "stop")

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [str(self._binaries / program), *arguments],
            check=True,
            cwd=self._folder,
            user=self._user,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


@contextmanager
def cluster(*, durable: bool = True) -> Iterator[Cluster]:
    """Start a cluster, and remove it afterwards; one that is not durable lies in memory."""
    memory = None if durable or not Path("/dev/shm").is_dir() else "/dev/shm"
    with tempfile.TemporaryDirectory(
        prefix="whitecrow-pg-", dir=memory, ignore_cleanup_errors=True
    ) as name:
        server = Cluster(Path(name), durable=durable)
        server.start()
        try:
            yield server
        finally:
            server.stop()
