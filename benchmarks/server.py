"""How many asks a second a service answers, and how long the slowest take.

32 analysts on loopback ask fresh questions, each charged to a durable ledger, one after the other.
The service runs in processes of its own; so do the analysts, who share the two cores with it.
`asks_per_second` is how many are answered, `p99_ms` how long all but one in a hundred take.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import tempfile
import time
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import uvloop

from benchmarks.common import emit, parser, print_table
from benchmarks.service import in_folder, prepared, running
from whitecrow.ledger import Ledger
from whitecrow.ledger.verification import verify
from whitecrow.place.balls import BALLS

ANALYSTS = 32
_PRICE = "1/1000000"
_FRESH_RADII = 4_000  # ages x radii: how many different questions an analyst has


@dataclass(frozen=True)
class Load:
    """What the analysts saw."""

    seconds: float
    times: tuple[float, ...]
    charged: int
    cpu_seconds: float = 0.0

    @property
    def rate(self) -> float:
        return len(self.times) / self.seconds

    def percentile(self, quantile: float) -> float:
        ordered = sorted(self.times)
        return 1000 * ordered[min(len(ordered) - 1, int(quantile * len(ordered)))]


def question(analyst: int, i: int) -> bytes:
    """A question nobody asked before."""
    record = {"age": 18 + (i * 7 + analyst) % 78, "bmi": 12 + (i * 13 + analyst * 5) % 480 / 10}
    body = {
        "kind": "screen",
        "record": record,
        "model": {"beta": 5, "radius": 1 + (analyst * _FRESH_RADII + i) / 1e6},
        "epsilon": _PRICE,
    }
    return json.dumps(body).encode()


async def _analyst(port: int, who: int, token: str, until: float) -> list[tuple[float, bool]]:
    """Ask one question after the other over one connection; plain sockets, to spare the cores."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = (
        "POST /v1/datasets/clinic/ask HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: "
    ).encode()
    seen = []
    for i in range(_FRESH_RADII):
        body = question(who, i)
        started = time.perf_counter()
        if started >= until and len(seen) >= 2:
            break
        writer.write(head + str(len(body)).encode() + b"\r\n\r\n" + body)
        reply = await reader.readuntil(b"\r\n\r\n")
        length = int(reply.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        content = await reader.readexactly(length)
        if reply.startswith(b"HTTP/1.1 503"):  # the dataset is still being loaded
            await asyncio.sleep(0.5)
            continue
        if not reply.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(content.decode())
        seen.append((time.perf_counter() - started, b'"charged": true' in content))
    writer.close()
    return seen


def _analysts(port: int, tokens: list[str], seconds: float) -> Load:
    async def all_of_them() -> Load:
        started = time.perf_counter()
        seen = await asyncio.gather(
            *(_analyst(port, who, token, started + seconds) for who, token in enumerate(tokens))
        )
        elapsed = time.perf_counter() - started
        flat = [seconds for some in seen for seconds in some]
        return Load(elapsed, tuple(took for took, _ in flat), sum(paid for _, paid in flat))

    return uvloop.run(all_of_them())


def measure(folder: Path, *, workers: int, seconds: float) -> Load:
    """Run a service and its analysts; check the account afterwards."""
    database = in_folder(folder)
    names = [f"analyst-{i}" for i in range(ANALYSTS)]
    tokens = prepared(database, names, budget="1000")
    options = ("--no-pad", "--rate", "0", "--no-console", "--workers", str(workers))
    with running(database, *options) as service:
        port = int(service.url.rsplit(":", 1)[1])
        # A process of its own: the analysts' Python must not wait for this one's.
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            pool.apply(_analysts, (port, list(tokens.values()), 1.0))  # compilers, connections
            before = service.cpu_seconds()
            load = pool.apply(_analysts_again, (port, list(tokens.values()), seconds))
            load = replace(load, cpu_seconds=service.cpu_seconds() - before)
    _check(database, load)
    return load


def _analysts_again(port: int, tokens: list[str], seconds: float) -> Load:
    """The same analysts with other questions than in the warm-up."""
    global _PRICE
    _PRICE = "0.0000011"
    return _analysts(port, tokens, seconds)


def _check(database: str, load: Load) -> None:
    """Zero overspend: the chain verifies, and every charge led to one answer."""
    with Ledger(database, geometry=BALLS) as ledger:
        finding = verify(ledger, "clinic")
        standing = ledger.snapshot("clinic")
        kinds = [entry.kind for entry in ledger.entries("clinic")]
    assert finding.ok, finding.reason
    assert kinds.count("reserve") == kinds.count("settle") >= load.charged == len(load.times)
    spent = standing.spent.spent("conditional", Fraction(0))
    assert spent is not None
    assert spent <= standing.budget.conditional


def main(argv: list[str] | None = None) -> None:
    """Run the benchmark."""
    options = parser(__doc__ or "")
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--seconds", type=float, default=None)
    given = options.parse_args(argv)
    seconds = given.seconds or (15.0 if given.quick else 60.0)
    with tempfile.TemporaryDirectory(prefix="whitecrow-bench-") as folder:
        load = measure(Path(folder), workers=given.workers, seconds=seconds)
    print_table(
        (
            "workers",
            "analysts",
            "asks",
            "asks/s",
            "median ms",
            "p99 ms",
            "CPU ms/ask",
            "cores used",
        ),
        [
            (
                given.workers,
                ANALYSTS,
                len(load.times),
                load.rate,
                load.percentile(0.5),
                load.percentile(0.99),
                1000 * load.cpu_seconds / len(load.times),
                load.cpu_seconds / load.seconds,
            )
        ],
    )
    emit("asks_per_second", load.rate)
    emit("p99_ms", load.percentile(0.99))


if __name__ == "__main__":
    main()
