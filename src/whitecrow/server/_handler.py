"""Taking a request in: who sent it, how often they may, and what they get back.

A person is known by their headers before anything of a body is read. Everything that waits
(database, computation) runs in a thread, once per request.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from fastapi import Request, Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from whitecrow.errors import (
    NotSignedIn,
    WhitecrowError,
    http_status,
    public_name,
    retry_after,
    to_json,
)
from whitecrow.question import Question, Release
from whitecrow.questions import kinds
from whitecrow.server import _schemas as schemas
from whitecrow.server._buckets import Buckets
from whitecrow.server._limits import Limits
from whitecrow.server._metrics import Metrics
from whitecrow.server._overruns import overrun
from whitecrow.server._people import Person
from whitecrow.server._proxies import counted_address
from whitecrow.server._scheduling import Schedule
from whitecrow.server._service import Service
from whitecrow.server._strangers import Asked
from whitecrow.server._threads import Threads

__all__ = ["BEARER", "RequestHandler", "encoded", "kind_of", "refusal"]

BEARER = HTTPBearer(auto_error=False, description="A token of whitecrow: wc_...")
_AT_ONCE = 40  # threads for what is not an ask
_ASKS = 1000  # more than there are slots: whoever has a slot never waits for a thread


class RequestHandler:
    """Takes requests in, with the service behind it.

    Parameters
    ----------
    service : Service
        What people may do.
    metrics : Metrics
        Where asks are counted.
    """

    def __init__(self, service: Service, metrics: Metrics) -> None:
        settings = service.settings
        self.service, self.metrics = service, metrics
        shared = None if settings.limits is None else Path(settings.limits)
        self.limits = Limits(settings.rate, settings.burst, shared=shared)
        # An SQLite file serves one machine, whose workers share their buckets in memory.
        if settings.database.startswith("postgresql"):
            shelf = Buckets(service.store, settings.rate, self.limits.capacity)
            self.limits = Limits(settings.rate, settings.burst, shared=shared, lend=shelf.lend)
        self.schedule = Schedule(
            at_once=settings.asks_at_once, slots=settings.slots, waiting=settings.asks_waiting
        )
        # Asks may compute for long: they have threads of their own, one for each that is admitted.
        self._asking, self.threads = Threads(_ASKS), Threads(_AT_ONCE)
        self._counting: set[asyncio.Future[None]] = set()

    def person(
        self, request: Request, bearer: HTTPAuthorizationCredentials | None, *, scope: str = ""
    ) -> Person:
        """Return who sent a request; a token of this scope will do."""
        known: Person | None = getattr(request.state, "who", None)
        if known is not None:
            return known
        try:
            if bearer is None:
                raise NotSignedIn("Sign in with a token: Authorization: Bearer wc_...")
            found = self.service.bearer(bearer.credentials, scope=scope)
        except NotSignedIn:
            self.limits.take(f"address {counted_address(request)}")
            raise
        if scope != "witness":  # each answer elsewhere waits for it
            self.limits.take(f"person {found.name}")
        request.state.person, request.state.who = found.name, found
        return found

    async def admit(self, request: Request, *, scope: str = "") -> Person:
        """Return who sent a request, by its headers alone: nothing of its body is read yet."""
        bearer = await BEARER(request)
        return await self.threads.run(lambda: self.person(request, bearer, scope=scope))

    async def act(
        self,
        request: Request,
        bearer: HTTPAuthorizationCredentials | None,
        work: Callable[[Person], Any],
        *,
        status: int = 200,
    ) -> Response:
        """Authenticate the caller, run an action in a thread, and reply with what it found."""

        def job() -> bytes:
            found = work(self.person(request, bearer))
            return encoded({} if found is None else found)

        return await _replied(self.threads, job, status)

    async def look(self, job: Callable[[], bytes], media: str) -> Response:
        """Run a job that needs no sign-in, and reply with its result."""
        return await _replied(self.threads, job, 200, media)

    async def stranger(self, request: Request, work: Callable[[], Any]) -> Response:
        """Do something for somebody who is not signed in yet, as often as an address may."""

        def job() -> bytes:
            self.limits.take(f"address {counted_address(request)}")
            return encoded(work())

        return await _replied(self.threads, job)

    async def ask(self, request: Request, name: str) -> Response:
        """Answer a question; the reply leaves when it is due, whatever it says."""
        who = await self.admit(request)
        bearer = await BEARER(request)
        raw = await schemas.read(request, self.service.settings.largest_question)

        def read() -> tuple[Question, float | None, Release | None]:
            question = self.askable(who, name, schemas.question_in(request.headers, raw))
            return question, *self.out(who, name, question)

        def reply(release: Release) -> Response:
            return Response(encoded(release.to_json()), media_type="application/json")

        def answer() -> Response:
            # Again: a token may have ended while its question waited.
            still = who if bearer is None else self.service.bearer(bearer.credentials)
            return reply(self.answered(still, name, question))

        question, deadline, out = await self.threads.run(read)
        if out is not None:
            return reply(out)
        async with self.slot(request, who, name, kind_of(question), deadline):
            return await self.in_slot(answer)

    def out(self, who: Person, name: str, question: Asked) -> tuple[float | None, Release | None]:
        """The reply time of a question, and its answer if that is out: it waits for nothing."""
        deadline = self.service.deadline(who, name, question)
        if deadline is None:
            return None, None
        found = self.service.stored(who, name, question, deadline)
        if found is not None:
            self.metrics.asked(kind_of(question), "free")
        return deadline, found

    def askable(self, who: Person, name: str, question: Asked) -> Question:
        """Refuse at once what public facts refuse: it needs no slot, and its time tells nothing."""
        try:
            return self.service.askable(who, name, question)
        except WhitecrowError as error:
            self.metrics.asked(kind_of(question), public_name(error))
            raise

    def slot(
        self, request: Request, who: Person, name: str, kind: str, deadline: float | None
    ) -> AbstractAsyncContextManager[None]:
        """A slot for an ask, kept until its reply is due."""

        def late() -> None:
            counting = self.threads.run(lambda: overrun(self.service.store, name, kind))
            self._counting.add(task := asyncio.ensure_future(counting))
            task.add_done_callback(self._counting.discard)

        return self.schedule.slot(who.name, name, kind, deadline, request.receive, late)

    async def in_slot(self, job: Callable[[], Response]) -> Response:
        """Run what a slot was taken for, in a thread that waits for nothing else."""
        try:
            return await self._asking.run(job)
        except WhitecrowError as error:
            return refusal(error)

    def answered(self, person: Person, name: str, question: Asked) -> Release:
        """Answer a question, and count what came of it."""
        kind = kind_of(question)
        try:
            release = self.service.ask(person, name, question)
        except WhitecrowError as error:
            self.metrics.asked(kind, public_name(error))
            raise
        self.metrics.asked(kind, "charged" if release.charged else "free")
        return release


async def _replied(
    threads: Threads, job: Callable[[], bytes], status: int = 200, media: str = "application/json"
) -> Response:
    """Do a job in a thread and reply with what it returns, or with its refusal."""
    try:
        body = await threads.run(job)
    except WhitecrowError as error:
        return refusal(error)
    return Response(body, status, media_type=media)


def kind_of(question: Asked) -> str:
    """The kind a question says it is, if there is such a kind."""
    if isinstance(question, Question):
        return question.kind
    kind = question.get("kind")
    return kind if isinstance(kind, str) and kind in kinds() else "unknown"


def encoded(result: Any) -> bytes:
    """Write a reply's JSON."""
    return json.dumps(result, ensure_ascii=False, allow_nan=False).encode()


def refusal(error: WhitecrowError) -> Response:
    """The reply for an error that was raised on purpose."""
    status = http_status(error)
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    after = retry_after(error)
    if after is not None:
        headers["Retry-After"] = str(after)
    return Response(encoded(to_json(error)), status, headers, "application/json")
