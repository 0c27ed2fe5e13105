"""Handling a request: who sent it, how often they may, and what they get back.

A person is known by their headers before anything of a body is read. Everything that waits
(database, computation) runs in a thread of the lane for its sort of work, where people take turns.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import json
import math
import mmap
import os
import struct
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from fastapi import Request, Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from sqlalchemy import Float, cast, func
from sqlalchemy.dialects import postgresql

from whitecrow.errors import (
    NotSignedIn,
    TooMany,
    WhitecrowError,
    http_status,
    public_name,
    retry_after,
    to_json,
)
from whitecrow.question import Release
from whitecrow.questions import kinds
from whitecrow_server._history import overrun
from whitecrow_server._metrics import Metrics
from whitecrow_server._people import Person
from whitecrow_server._proxies import counted_address
from whitecrow_server._scheduling import Lane, Schedule, Share
from whitecrow_server._service import Asking, Service
from whitecrow_server._store import Store
from whitecrow_server._tables import buckets
from whitecrow_server._untrusted_input import must_be_json, question_in, read_body

T = TypeVar("T")

_UPLOADS, _UPLOADS_EACH = 4, 2

BEARER = HTTPBearer(auto_error=False, description="A token of whitecrow: wc_...")


class Lanes:
    """The sorts of work, each in threads of its own: none waits for another."""

    def __init__(self) -> None:
        # By address, whose many people take turns with those of other addresses.
        self.admission = Lane(16, share=16, waiting=500)
        # Sign-in and invitations, by address: to hash a password takes long and much memory, and
        # whoever sends it is not known yet.
        self.passwords = Lane(1, share=1, waiting=8, crowd=64)
        # What may wait for the provider of single sign-on: by address.
        self.provider = Lane(16, share=8, waiting=64)
        # The others by person. What looks something up, or writes it down:
        self.reading = Lane(16, share=4, waiting=64)
        # What computes a little and costs nothing: prices, pages.
        self.free = Lane(4, share=1, waiting=8, crowd=256)
        # Plans and advice, which another process computes, one after the other.
        self.planning = Lane(1, share=1, waiting=8, crowd=256)
        # Answers about synthetic records, which wait for processes of their own.
        self.dummies = Lane(4, share=1, waiting=8, crowd=256)
        self.probes = Lane(2, share=2, waiting=64)
        # Whether a question may be asked; waits while a dataset is being loaded.
        self.preparing = Lane(256, share=1, waiting=64)
        # More than there are slots: whoever has a slot never waits for a thread.
        self.computing = Lane(1000, share=1000, waiting=1000)


_DATASET = "/v1/datasets/{name}"
_LANE_OF = {
    f"{_DATASET}/price": "free",
    f"{_DATASET}/timeline": "free",
    f"{_DATASET}/ledger/verification": "free",
    f"{_DATASET}/plan": "planning",
    f"{_DATASET}/advice": "planning",
    f"{_DATASET}/dummy": "dummies",
}
"""Which lane the work of a route belongs to; that of all others is to look something up."""


class RequestHandler:
    def __init__(self, service: Service, metrics: Metrics) -> None:
        settings = service.settings
        self.service, self.metrics = service, metrics
        shared = None if settings.limits is None else Path(settings.limits)
        self.limits = Limits(settings.rate, settings.burst, shared=shared)
        # An SQLite file serves one machine, whose workers share their buckets in memory.
        if settings.database.startswith("postgresql"):
            self.limits.lend = Buckets(service.store, settings.rate, self.limits.capacity).lend
        self.schedule = Schedule(
            at_once=settings.asks_at_once, slots=settings.slots, waiting=settings.asks_waiting
        )
        self.lanes = Lanes()
        self._uploads: Counter[str] = Counter()
        self._counting: set[asyncio.Future[None]] = set()

    def _person(
        self, request: Request, bearer: HTTPAuthorizationCredentials | None, scope: str
    ) -> Person:
        """Return who sent a request; a token of this scope is enough."""
        try:
            if bearer is None:
                raise NotSignedIn("Sign in with a token: Authorization: Bearer wc_...")
            person = self.service.bearer(bearer.credentials, scope=scope)
        except NotSignedIn:
            self.limits.take(f"address {counted_address(request)}")
            raise
        if scope != "witness":  # each answer elsewhere waits for it
            self.limits.take(f"person {person.name}")
        request.state.person, request.state.who = person.name, person
        return person

    async def admit(self, request: Request, *, scope: str = "") -> Person:
        """Return who sent a request, by its headers alone: nothing of its body is read yet."""
        admitted: Person | None = getattr(request.state, "who", None)
        if admitted is not None:
            return admitted
        bearer = await BEARER(request)
        request.state.token = None if bearer is None else bearer.credentials
        # Tokens that are not ours are the provider's, whose keys may have to be fetched.
        ours = bearer is None or bearer.credentials.startswith("wc_")
        lane = self.lanes.admission if ours else self.lanes.provider
        address = counted_address(request)
        return await lane.run(address, lambda: self._person(request, bearer, scope))

    async def act(
        self,
        request: Request,
        work: Callable[[Person], Any],
        *,
        status: int = 200,
        scope: str = "",
        media: str = "application/json",
    ) -> Response:
        """Authenticate the caller, run an action in their share of the route's lane, and reply."""
        try:
            who = await self.admit(request, scope=scope)
        except WhitecrowError as error:
            return refusal(error)
        share = self.share(request, who)
        return await _replied(share.run, lambda: work(who), status, media)

    def share(self, request: Request, who: Person) -> Share:
        """A person's share of the lane that a request belongs to."""
        lane: Lane = getattr(self.lanes, _LANE_OF.get(request.scope["route"].path, "reading"))
        return lane.of(who.name)

    async def probe(self, work: Callable[[], Any]) -> Response:
        """Reply to a health check, which needs no sign-in."""
        return await _replied(self.lanes.probes.of("anybody").run, work)

    async def stranger(self, request: Request, lane: Lane, work: Callable[[], T]) -> T:
        """Serve a caller who is not signed in, within the rate of their address."""
        address = counted_address(request)

        def job() -> T:
            self.limits.take(f"address {address}")
            return work()

        return await lane.run(address, job)

    async def at_provider(self, request: Request, work: Callable[[], Any]) -> Response:
        """Reply to a terminal that signs in through the provider of single sign-on."""
        return await _replied(lambda job: self.stranger(request, self.lanes.provider, job), work)

    @asynccontextmanager
    async def uploading(self, who: Person) -> AsyncIterator[None]:
        """Receive a file: few at once, for their pieces come as fast as they can be sent."""
        if self._uploads[who.name] >= _UPLOADS_EACH or self._uploads.total() >= _UPLOADS:
            raise TooMany(after=10)
        self._uploads[who.name] += 1
        try:
            yield
        finally:
            self._uploads[who.name] -= 1

    async def ask(self, request: Request, name: str) -> Response:
        """Answer a question; the reply leaves when it is due, whatever it says."""
        who = await self.admit(request)
        raw = await read_body(request, self.service.settings.largest_question)

        def reply(release: Release) -> Response:
            return Response(encoded(release.to_json()), media_type="application/json")

        asking, out = await self.prepared(
            who, lambda: self.prepare(who, name, question_in(request.headers, raw))
        )
        if out is not None:
            return reply(out)
        token: str | None = getattr(request.state, "token", None)

        def still() -> Person:
            return who if token is None else self.service.bearer(token)

        async with self.slot(request, asking):
            return await self.in_slot(lambda: reply(self.answered(request, asking, still)))

    async def plan(self, request: Request, name: str) -> Response:
        """Price a batch; the process that computes it also parses it, since both take long."""
        try:
            who = await self.admit(request)
            share = self.share(request, who)
            share.refuse_if_full()
        except WhitecrowError as error:
            return unread(error)
        must_be_json(request.headers)
        raw = await read_body(request, self.service.settings.largest_body)
        return await _replied(share.run, lambda: self.service.plan(who, name, raw))

    async def prepared(self, who: Person, job: Callable[[], T]) -> T:
        """Look up and price a question before it gets a slot."""
        return await self.lanes.preparing.of(who.name).run(job)

    def prepare(
        self, who: Person, name: str, raw: Mapping[str, Any], *, at_once: bool = False
    ) -> tuple[Asking, Release | None]:
        """Read and price a question; return its answer too if it is released already.

        What public facts refuse is refused here: a slot would be kept until its reply is due. Where
        replies are not padded a slot is given back at once, and asking refuses.
        """
        try:
            asking = self.service.prepare(who, name, raw, at_once=at_once)
            out = None if asking.deadline is None else self.service.stored(asking)
        except WhitecrowError as error:
            self.metrics.asked(_kind(raw), public_name(error))
            raise
        if out is not None:
            self.metrics.asked(asking.inquiry.question.kind, "free")
        return asking, out

    @asynccontextmanager
    async def slot(self, request: Request, asking: Asking) -> AsyncIterator[None]:
        """A slot for an ask, kept until its reply is due; what came of it is counted then."""
        who, name = asking.who.name, asking.listing.name
        kind, deadline = asking.inquiry.question.kind, asking.deadline

        def late() -> None:
            counting = self.lanes.reading.run(
                "overruns", lambda: overrun(self.service.store, name, kind)
            )
            self._counting.add(task := asyncio.ensure_future(counting))
            task.add_done_callback(self._counting.discard)

        try:
            async with self.schedule.slot(who, name, kind, deadline, request.receive, late):
                request.state.began = datetime.now(UTC)
                yield
        finally:
            outcome = getattr(request.state, "outcome", None)
            if outcome is not None:
                self.metrics.asked(kind, outcome)

    async def in_slot(self, job: Callable[[], Response]) -> Response:
        """Run what a slot was taken for, in a thread that waits for nothing else."""
        try:
            return await self.lanes.computing.run("slots", job)
        except WhitecrowError as error:
            return refusal(error)

    def answered(self, request: Request, asking: Asking, who: Callable[[], Person]) -> Release:
        """Answer a question in the slot of a request, which counts what came of it."""
        try:
            asking = self.service.renewed(asking, who)
            release = self.service.answer(asking, began=request.state.began)
        except WhitecrowError as error:
            request.state.outcome = public_name(error)
            raise
        request.state.outcome = "charged" if release.charged else "free"
        return release


Run = Callable[[Callable[[], bytes]], Awaitable[bytes]]


async def _replied(
    run: Run, work: Callable[[], Any], status: int = 200, media: str = "application/json"
) -> Response:
    """Do some work in a thread and reply with what it returns, or with its refusal."""

    def job() -> bytes:
        result = work()
        return result if isinstance(result, bytes) else encoded({} if result is None else result)

    try:
        body = await run(job)
    except WhitecrowError as error:
        return refusal(error)
    return Response(body, status, media_type=media)


def _kind(raw: Mapping[str, Any]) -> str:
    """The kind a question says it is, if there is such a kind."""
    kind = raw.get("kind")
    return kind if isinstance(kind, str) and kind in kinds() else "unknown"


def encoded(result: Any) -> bytes:
    return json.dumps(result, ensure_ascii=False, allow_nan=False).encode()


def refusal(error: WhitecrowError) -> Response:
    """The reply for an error that was raised on purpose."""
    status = http_status(error)
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    after = retry_after(error)
    if after is not None:
        headers["Retry-After"] = str(after)
    return Response(encoded(to_json(error)), status, headers, "application/json")


def unread(error: WhitecrowError) -> Response:
    """The reply for an error that was raised before the body was read."""
    reply = refusal(error)
    reply.headers["Connection"] = "close"
    return reply


# How often somebody may come: a bucket of requests for each person, or for each address before
# sign-in. The buckets of all workers are one table in shared memory: a person has one rate,
# whichever worker answers. When it is full, whoever has not come for longest makes room.
#
# Machines on one database share the buckets that lie there. A write for each request would cost
# more than most requests, so a machine borrows some at a time, as many as half of what it would use
# before they lapse: whoever comes seldom borrows one, and nothing is wasted. The bound is that of
# one bucket. Of what was borrowed before a moment, only what has not lapsed can be used after it;
# so much less lies in the bucket when it is full.

_BUCKET = struct.Struct("<8sddd")  # whose, how many requests are left, since when, borrowed then
_ROWS, _SLOTS = 2048, 8  # a bucket lies in one of eight slots of its row
_SIZE = _ROWS * _SLOTS * _BUCKET.size

Lend = Callable[[str, int], tuple[int, float]]
"""Given whose bucket and how many are wanted: how many there are, and seconds until one is."""


class Limits:
    """Token buckets.

    Examples
    --------
    >>> limits = Limits(rate=1.0, burst=2, clock=lambda: 1.0)
    >>> limits.take("ana"), limits.take("ana")
    (None, None)
    """

    def __init__(
        self,
        rate: float,
        burst: int,
        *,
        shared: Path | None = None,
        clock: Callable[[], float] = time.monotonic,
        lend: Lend | None = None,
    ) -> None:
        self._rate, self._burst, self._clock, self.lend = rate, burst, clock, lend
        self._most = max(1, burst // 10)  # borrowed at once
        self._lock = threading.Lock()
        self._file: int | None = None
        if shared is not None:
            self._file = os.open(shared, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            os.posix_fallocate(self._file, 0, _SIZE)
        self._table = mmap.mmap(-1 if self._file is None else self._file, _SIZE)

    def take(self, who: str) -> None:
        """Count one request, or refuse it with the number of seconds to wait."""
        if self._rate <= 0:
            return
        key = hashlib.blake2b(who.encode(), digest_size=8).digest()
        if self.lend is not None:
            self._take_borrowed(key, self.lend)
            return
        with self._held():
            left = self._counted(key)
        if left < 0:
            raise TooMany(after=max(1, math.ceil(-left / self._rate)))

    @property
    def capacity(self) -> int:
        """The size of a shared bucket: the burst, less what machines may have borrowed."""
        return self._burst - self._most + 1

    def _take_borrowed(self, key: bytes, lend: Lend) -> None:
        lasts = max(1, self._most - 1) / self._rate
        with self._held():
            at, left, since, size = self._slot(key)
            now = self._clock()
            if left > 0 and now - since < lasts:
                self._put(at, key, left - 1, since, size)
                return
            wait = since - now if left < 0 else 0.0
        if wait <= 0:
            # As many as come in half the time they last, by how fast the last ones went.
            pace = size / max(now - since, 1e-6) if now - since < lasts else 0.0
            wanted = max(1, min(self._most, int(pace * lasts / 2)))
            # The database is asked outside: nobody else waits for it.
            granted, wait = lend(key.hex(), wanted)
            with self._held():
                at, left, since, size = self._slot(key)
                if granted and left > 0:  # another thread has borrowed meanwhile
                    self._put(at, key, left + granted - 1, since, size + granted)
                elif granted:
                    self._put(at, key, granted - 1, self._clock(), granted)
                elif left <= 0:
                    # Asked again only when it is worth while: refusals are cheap.
                    wait = max(wait, min(1.0, self._most / self._rate))
                    self._put(at, key, -1, self._clock() + wait, 0)
            if granted:
                return
        raise TooMany(after=max(1, math.ceil(wait)))

    @contextmanager
    def _held(self) -> Iterator[None]:
        with self._lock:
            if self._file is not None:
                fcntl.flock(self._file, fcntl.LOCK_EX)
            try:
                yield
            finally:
                if self._file is not None:
                    fcntl.flock(self._file, fcntl.LOCK_UN)

    def _counted(self, key: bytes) -> float:
        """Take one from a bucket and return how many are left; if none was, minus what lacks."""
        now = self._clock()
        at, held, since, size = self._slot(key)
        left = float(self._burst)
        if size:
            left = min(left, held + max(0.0, now - since) * self._rate)
        after = left - 1 if left >= 1 else left
        self._put(at, key, after, now, 1)
        return after if left >= 1 else left - 1

    def _slot(self, key: bytes) -> tuple[int, float, float, float]:
        """The offset of a bucket and its content; zeros if it is new."""
        row = int.from_bytes(key[:4], "little") % _ROWS * _SLOTS
        offsets = [(row + slot) * _BUCKET.size for slot in range(_SLOTS)]
        held = [_BUCKET.unpack_from(self._table, offset) for offset in offsets]
        at = next((i for i, bucket in enumerate(held) if bucket[0] == key), None)
        if at is not None:
            return offsets[at], *held[at][1:]
        return offsets[min(range(_SLOTS), key=lambda i: held[i][2])], 0.0, 0.0, 0.0

    def _put(self, at: int, key: bytes, left: float, since: float, size: float) -> None:
        _BUCKET.pack_into(self._table, at, key, left, since, size)


# Over several machines

_FORGOTTEN = 600.0
_NOW = cast(func.extract("epoch", func.statement_timestamp()), Float)


class Buckets:
    """Lends requests of one bucket for each person, in the database that the machines share.

    What is lent is lent by the database's clock, under the row's lock: all together get no more
    than one would.
    """

    def __init__(self, store: Store, rate: float, capacity: int) -> None:
        self._store, self._rate, self._capacity = store, rate, capacity
        self._swept = time.monotonic()

    def lend(self, who: str, wanted: int) -> tuple[int, float]:
        """How many of those wanted there are, and in how many seconds there is one more."""
        # Whoever waited for the row's lock began earlier than it was last written.
        passed = func.greatest(0.0, _NOW - buckets.c.at)
        level = func.least(float(self._capacity), buckets.c.left + self._rate * passed)
        granted = func.least(float(wanted), func.floor(level))
        first = {"left": float(self._capacity - wanted), "at": _NOW, "granted": float(wanted)}
        more = {
            "left": level - granted,
            "at": func.greatest(buckets.c.at, _NOW),
            "granted": granted,
        }
        with self._store.transaction(counted=False) as connection:
            # A crash may forget what was lent just now; nobody needs to wait for the disk.
            connection.exec_driver_sql("SET LOCAL synchronous_commit TO OFF")
            row = connection.execute(
                postgresql.insert(buckets)
                .values(who=who, **first)
                .on_conflict_do_update(index_elements=["who"], set_=more)
                .returning(buckets.c.granted, buckets.c.left)
            ).one()
            if time.monotonic() - self._swept > _FORGOTTEN:
                self._swept = time.monotonic()
                full = max(_FORGOTTEN, self._capacity / self._rate)  # by then it is
                connection.execute(buckets.delete().where(buckets.c.at < _NOW - full))
        return int(row.granted), max(0.0, 1 - row.left) / self._rate
