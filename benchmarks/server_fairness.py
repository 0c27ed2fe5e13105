"""Whether one caller can slow down all others: honest analysts, quiet and under each hostile load.

32 analysts ask and look, each once a second. In turns with quiet, somebody else does what they can:
strangers send passwords, one analyst sends plans of 2,000 questions or everything else that costs
nothing, a custodian sends files, some send their bodies slowly. The ratio is the p99 of the
honest replies under that load, divided by the p99 in quiet of the same run; `fairness_ratio` is the
largest of them.

`refusals` is about padded replies: four analysts count, while another has questions refused from
public facts whose published reply time would be long.

Whoever is hostile has 60 connections from an address of their own and sends on as soon as a reply
is there, ten times a second a connection at the most. They run at the lowest priority: what they
take of the two cores themselves is not the service's doing.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import uvloop

from benchmarks.common import emit, parser, print_table
from benchmarks.service import Running, free_port, in_folder, prepared, running
from whitecrow.demo import DATA
from whitecrow_server import Service, Settings

if TYPE_CHECKING:
    from multiprocessing.sharedctypes import Synchronized

ANALYSTS, HOSTILE = 32, 60
_HONEST_ADDRESS, _HOSTILE_ADDRESS = "127.0.0.1", "127.0.0.66"
_THERE = "/v1/datasets/clinic"
_QUESTIONS = 10**4  # more questions than an analyst asks in one
_PASSWORD = "correct horse battery staple"  # noqa: S105 - of made-up people


@dataclass(frozen=True)
class Credentials:
    """What the hostile ones hold."""

    hog: str
    cookie: str
    csrf: str


Request = tuple[str, str, bytes]
"""Address, headers, body."""


def _json(path: str, token: str, body: object) -> Request:
    headers = f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\n"
    return path, headers, json.dumps(body).encode()


def _screen(i: int) -> dict[str, object]:
    return {
        "kind": "screen",
        "record": {"age": 18 + i % 78, "bmi": 12 + i % 480 / 10},
        "model": {"beta": 5, "radius": 1 + i / 1e6},
        "epsilon": "1/1000000",
    }


def _count(i: int) -> dict[str, object]:
    model = {"beta": 5, "radius": 1 + i / 1e6}
    return {"kind": "count", "columns": ["age", "bmi"], "model": model, "epsilon": "1/1000000"}


# What the hostile ones send


def _untrusted(held: Credentials) -> Iterator[Request]:
    form = "Content-Type: application/x-www-form-urlencoded\r\n"
    for i in count():
        body = f"new={_PASSWORD}&again={_PASSWORD}".replace(" ", "+").encode()
        yield f"/console/invitation/guess{i}", form, body
        cookie = f"{form}Cookie: whitecrow-form=x\r\n"
        yield "/console/sign-in", cookie, f"name=nobody{i}&password=a+guess&number=x".encode()


def _plans(held: Credentials) -> Iterator[Request]:
    for i in count():
        questions = [_screen(2000 * i + j) for j in range(2000)]
        yield _json(f"{_THERE}/plan", held.hog, {"questions": questions})


def _everything(held: Credentials) -> Iterator[Request]:
    for i in count():
        yield _json(f"{_THERE}/advice", held.hog, {"contamination": "0.01"})
        yield _json(f"{_THERE}/dummy", held.hog, _count(i))
        yield _json(f"{_THERE}/price", held.hog, _count(i))
        yield _json(f"{_THERE}/ask", held.hog, _count(10**6 + i))


def _refusals(held: Credentials) -> Iterator[Request]:
    # Its steps grow with 1/epsilon: more than is lent to a question.
    while True:
        yield _json(f"{_THERE}/ask", held.hog, {"kind": "profile", "epsilon": "1/796479"})


def _uploads(held: Credentials) -> Iterator[Request]:
    headers = f"Cookie: {held.cookie}\r\nX-CSRF: {held.csrf}\r\n"
    body = b"age\n" + b"41\n" * 700_000
    while True:
        yield "/console/register/upload?kind=csv", headers, body


LOADS: dict[str, Callable[[Credentials], Iterator[Request]]] = {
    "strangers": _untrusted,
    "plans": _plans,
    "one analyst": _everything,
    "uploads": _uploads,
    "slow bodies": _plans,
}


async def _exchange(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    request: Request,
    *,
    slowly: bool = False,
) -> int:
    path, headers, body = request
    method = "POST" if body else "GET"
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}Content-Length: {len(body)}"
    writer.write(f"{head}\r\n\r\n".encode())
    for at in range(0, len(body), 64) if slowly else ():
        writer.write(body[at : at + 64])
        await writer.drain()
        await asyncio.sleep(0.5)
    if not slowly:
        writer.write(body)
    reply = (await reader.readuntil(b"\r\n\r\n")).lower()
    if b"content-length: " in reply:
        await reader.readexactly(int(reply.split(b"content-length: ")[1].split(b"\r\n")[0]))
    return int(reply.split(b" ", 2)[1])


async def _hostile(
    port: int, load: str, held: Credentials, which: int, sent: Synchronized[int]
) -> None:
    requests = LOADS.get(load, _refusals)(held)
    for _ in range(which):
        next(requests)
    while True:
        try:
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", port, local_addr=(_HOSTILE_ADDRESS, 0)
            )
            while True:
                request = next(requests)
                sent.value += 1
                await _exchange(reader, writer, request, slowly=load == "slow bodies")
                await asyncio.sleep(0.1)
        except (OSError, EOFError, RuntimeError, asyncio.LimitOverrunError):
            await asyncio.sleep(0.1)  # uvloop raises the third where the service has hung up


def _give_way() -> None:
    """Compute only where nobody else does, also where the kernel shares among sessions first."""
    os.setsid()
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    group = Path("/proc/self/autogroup")
    if group.exists():
        group.write_text("19", encoding="utf-8")


def _be_hostile(port: int, load: str, held: Credentials, sent: Synchronized[int]) -> None:
    _give_way()

    async def all_of_them() -> None:
        await asyncio.gather(*(_hostile(port, load, held, i % 4, sent) for i in range(HOSTILE)))

    uvloop.run(all_of_them())


@contextmanager
def _attacked(port: int, load: str, held: Credentials) -> Iterator[Synchronized[int]]:
    context = multiprocessing.get_context("spawn")
    sent: Synchronized[int] = context.Value("i")
    process = context.Process(target=_be_hostile, args=(port, load, held, sent), daemon=True)
    process.start()
    while not sent.value:  # it imports, which is not the service's doing either
        time.sleep(0.01)
    try:
        yield sent
    finally:
        process.kill()
        process.join()
        time.sleep(1.0)  # what was begun is over


# The honest ones


async def _honest(
    port: int, token: str, who: int, until: float, first: int, ask: Callable[[int], object]
) -> list[float]:
    times = []
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    await asyncio.sleep(who / ANALYSTS)
    for i in count(first):
        if time.perf_counter() > until:
            break
        looking = _THERE, f"Authorization: Bearer {token}\r\n", b""
        asking = _json(f"{_THERE}/ask", token, ask(who * 10**6 + i))
        for request in (asking, looking):
            started = time.perf_counter()
            status = await _exchange(reader, writer, request)
            times.append(time.perf_counter() - started)
            if status != 200:
                raise RuntimeError(f"an honest request was answered with {status}")
        await asyncio.sleep(max(0.0, 1.0 - sum(times[-2:])))
    writer.close()
    return times


def _wait_until_loaded(port: int, token: str) -> None:
    """Every worker loads the dataset for itself, and connections land on any of them."""

    async def loaded() -> None:
        in_a_row = 0
        for i in count():
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            request = _json(f"{_THERE}/ask", token, _screen(i))
            in_a_row = in_a_row + 1 if await _exchange(reader, writer, request) == 200 else 0
            writer.close()
            if in_a_row == 20:
                return
            await asyncio.sleep(0.1)

    uvloop.run(loaded())


def _be_honest(
    port: int, tokens: list[str], seconds: float, batch: int, light: bool
) -> list[float]:
    async def all_of_them() -> list[float]:
        until = time.perf_counter() + seconds
        ask = _screen if light else _count
        times = await asyncio.gather(
            *(
                _honest(port, token, who, until, batch * _QUESTIONS, ask)
                for who, token in enumerate(tokens)
            )
        )
        return [time for some in times for time in some]

    return uvloop.run(all_of_them())


@dataclass(frozen=True)
class Fairness:
    """How many seconds honest replies took, in quiet and under a load; what hostile ones sent."""

    quiet: list[float]
    attacked: list[float]
    hostile: list[int]

    @property
    def p99(self) -> tuple[float, float]:
        return _p99(self.quiet), _p99(self.attacked)

    @property
    def ratio(self) -> float:
        quiet, attacked = self.p99
        return attacked / quiet


def _p99(times: list[float]) -> float:
    return statistics.quantiles(times, n=100)[98]


def _credentials(database: str, hog: str) -> Credentials:
    service = Service(Settings(database=database, data=str(DATA.parent)))
    try:
        service.people.add("carla", "custodian")
        service.sessions.set_password("carla", _PASSWORD)
        session, cookie = service.sessions.sign_in("carla", _PASSWORD)
        return Credentials(hog, f"{service.sessions.cookie()['key']}={cookie}", session.csrf)
    finally:
        service.close()


def measure(
    folder: Path, loads: tuple[str, ...], *, seconds: float, rounds: int, workers: int = 2
) -> dict[str, Fairness]:
    """Run a service, its analysts, and each load in turns with quiet."""
    results: dict[str, Fairness] = {}
    for padded in (False, True):
        some = [load for load in loads if (load == "refusals") == padded]
        if some:
            subfolder = folder / ("padded" if padded else "unpadded")
            results |= _measured(subfolder, some, seconds, rounds, workers)
    return results


def _measured(
    folder: Path, loads: list[str], seconds: float, rounds: int, workers: int
) -> dict[str, Fairness]:
    padded, batches = "refusals" in loads, count(1)
    results: dict[str, Fairness] = {}
    folder.mkdir()
    database = in_folder(folder)
    names = [f"analyst-{i}" for i in range(4 if padded else ANALYSTS)]
    tokens = prepared(database, [*names, "hog"], budget="1000")
    held = _credentials(database, tokens.pop("hog"))
    options = ["--workers", str(workers)]
    options += ["--deadline", "count=0.1"] if padded else ["--no-pad"]
    with (
        _running(database, folder, options) as service,
        multiprocessing.get_context("spawn").Pool(1) as pool,
    ):
        port = int(service.url.rsplit(":", 1)[1])

        def honest() -> list[float]:
            given = (port, list(tokens.values()), seconds, next(batches), not padded)
            times: list[float] = pool.apply(_be_honest, given)
            return times

        pool.apply(_wait_until_loaded, (port, next(iter(tokens.values()))))
        honest()  # connections, compilers
        for load in loads:
            results[load] = fairness = Fairness([], [], [])
            for _ in range(rounds):
                fairness.quiet.extend(honest())
                with _attacked(port, load, held) as sent:
                    fairness.attacked.extend(honest())
                fairness.hostile.append(sent.value)
    return results


@contextmanager
def _running(database: str, folder: Path, options: list[str]) -> Iterator[Running]:
    """A service whose uploads go to a folder of their own."""
    data = folder / "data"
    data.mkdir()
    (data / DATA.name).write_bytes(DATA.read_bytes())
    with running(database, *options, port=free_port(), data=data) as service:
        yield service


def main(argv: list[str] | None = None) -> None:
    """Run the benchmark."""
    options = parser(__doc__ or "")
    options.add_argument("--load", action="append", choices=[*LOADS, "refusals"])
    options.add_argument("--seconds", type=float, default=None)
    options.add_argument("--rounds", type=int, default=None)
    given = options.parse_args(argv)
    seconds = given.seconds or (4.0 if given.quick else 20.0)
    some = ("strangers", "plans") if given.quick else (*LOADS, "refusals")
    loads, rounds = tuple(given.load or some), given.rounds or (1 if given.quick else 3)
    with tempfile.TemporaryDirectory(prefix="whitecrow-bench-") as folder:
        results = measure(Path(folder), loads, seconds=seconds, rounds=rounds)
    rows = [
        (load, len(f.attacked), sum(f.hostile), *(1000 * time for time in f.p99), f.ratio)
        for load, f in results.items()
    ]
    print_table(("load", "replies", "hostile requests", "quiet p99 ms", "p99 ms", "ratio"), rows)
    emit("fairness_ratio", max(fairness.ratio for fairness in results.values()))


if __name__ == "__main__":
    main()
