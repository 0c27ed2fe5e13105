"""Taking a request in: who sent it, how often they may, and what they get back.

A person is known by their headers before anything of a body is read. Everything that waits
(database, computation) runs in a thread of the lane for its sort of work, where people take turns.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from fastapi import Request, Response
from fastapi.routing import APIRoute
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

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
from whitecrow_server._buckets import Buckets
from whitecrow_server._limits import Limits
from whitecrow_server._metrics import Metrics
from whitecrow_server._overruns import overrun
from whitecrow_server._people import Person
from whitecrow_server._proxies import counted_address
from whitecrow_server._scheduling import Lane, Schedule, Share
from whitecrow_server._service import Asking, Service
from whitecrow_server._untrusted_input import must_be_json, question_in, read_body

T = TypeVar("T")

_UPLOADS, _UPLOADS_EACH = 4, 2

BEARER = HTTPBearer(auto_error=False, description="A token of whitecrow: wc_...")


class Lanes:
    """The sorts of work, each in threads of its own: none waits for another."""

    def __init__(self) -> None:
        # By address, whose many people take turns with those of other addresses.
        self.admission = Lane(16, share=16, waiting=500)
        self.passwords = Lane(1, share=1, waiting=8, crowd=64)
        """Sign-in and invitations, by address: to hash a password takes long and much memory, and
        whoever sends it is not known yet."""
        self.provider = Lane(16, share=8, waiting=64)
        """What may wait for the provider of single sign-on: by address."""
        self.reading = Lane(16, share=4, waiting=64)
        """What looks something up, or writes it down: by person."""
        self.free = Lane(4, share=1, waiting=8, crowd=256)
        """What computes a little and costs nothing: prices, pages: by person."""
        self.planning = Lane(1, share=1, waiting=8, crowd=256)
        """Plans and advice, which another process computes, one after the other: by person."""
        self.dummies = Lane(4, share=1, waiting=8, crowd=256)
        """Made-up answers, which wait for processes of their own: by person."""
        self.probes = Lane(2, share=2, waiting=64)
        self.preparing = Lane(256, share=1, waiting=64)
        """Whether a question may be asked; waits while a dataset is being loaded: by person."""
        self.computing = Lane(1000, share=1000, waiting=1000)
        """More than there are slots: whoever has a slot never waits for a thread."""


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
    """Takes requests in, with the service behind it."""

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
        self.lanes = Lanes()
        self._uploads: Counter[str] = Counter()
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

    def admission(self, request: Request) -> Share:
        """Where it is found out who sent a request."""
        return self.lanes.admission.of(counted_address(request))

    def passwords(self, request: Request) -> Share:
        """Where the passwords of people who are not signed in yet are looked at."""
        return self.lanes.passwords.of(counted_address(request))

    def provider(self, request: Request) -> Share:
        """Where the provider of single sign-on is spoken to."""
        return self.lanes.provider.of(counted_address(request))

    async def admit(self, request: Request, *, scope: str = "") -> Person:
        """Return who sent a request, by its headers alone: nothing of its body is read yet."""
        known: Person | None = getattr(request.state, "who", None)
        if known is not None:
            return known
        bearer = await BEARER(request)
        request.state.token = None if bearer is None else bearer.credentials
        # Tokens that are not ours are the provider's, whose keys may have to be fetched.
        ours = bearer is None or bearer.credentials.startswith("wc_")
        lane = self.admission(request) if ours else self.provider(request)
        return await lane.run(lambda: self.person(request, bearer, scope=scope))

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
        return await _replied(self.share(request, who), lambda: work(who), status, media)

    def share(self, request: Request, who: Person) -> Share:
        """A person's share of the lane that a request belongs to."""
        lane: Lane = getattr(self.lanes, _LANE_OF.get(request.scope["route"].path, "reading"))
        return lane.of(who.name)

    async def probe(self, work: Callable[[], Any]) -> Response:
        """Reply to whoever watches over the service; anybody may."""
        return await _replied(self.lanes.probes.of("anybody"), work)

    async def stranger(self, request: Request, work: Callable[[], Any]) -> Response:
        """Speak to the provider for somebody who is not signed in, as often as an address may."""

        def job() -> Any:
            self.limits.take(f"address {counted_address(request)}")
            return work()

        return await _replied(self.provider(request), job)

    @asynccontextmanager
    async def uploading(self, who: Person) -> AsyncIterator[None]:
        """Take a file in: few at once, for their pieces come as fast as they can be sent."""
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
        return await _replied(share, lambda: self.service.plan(who, name, raw))

    async def prepared(self, who: Person, job: Callable[[], T]) -> T:
        """Find out what may be known of a question before it gets a slot."""
        return await self.lanes.preparing.of(who.name).run(job)

    def prepare(
        self, who: Person, name: str, written: Mapping[str, Any], *, at_once: bool = False
    ) -> tuple[Asking, Release | None]:
        """Read and price a question; return its answer too if that is out: it waits for nothing.

        What public facts refuse is refused here: a slot would be kept until its reply is due. Where
        replies are not padded a slot is given back at once, and asking refuses.
        """
        try:
            asking = self.service.prepare(who, name, written, at_once=at_once)
            out = None if asking.deadline is None else self.service.stored(asking)
        except WhitecrowError as error:
            self.metrics.asked(_kind(written), public_name(error))
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


class AskRoute(APIRoute):
    """The route that is taken most: read by hand, documented like all others.

    What FastAPI does for any signature costs more than the rest of a request.
    """

    @staticmethod
    async def reply(handler: RequestHandler, request: Request, name: str) -> Response:
        """Reply to a request about a dataset."""
        return await handler.ask(request, name)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        async def directly(request: Request) -> Response:
            handler: RequestHandler = request.app.state.handler
            try:
                return await self.reply(handler, request, request.path_params["name"])
            except WhitecrowError as error:
                return refusal(error)

        return directly


class PlanRoute(AskRoute):
    """The route whose bodies are long: parsed where they delay nobody."""

    @staticmethod
    async def reply(handler: RequestHandler, request: Request, name: str) -> Response:
        return await handler.plan(request, name)


async def _replied(
    share: Share, work: Callable[[], Any], status: int = 200, media: str = "application/json"
) -> Response:
    """Do some work in a thread and reply with what it returns, or with its refusal."""

    def job() -> bytes:
        found = work()
        return found if isinstance(found, bytes) else encoded({} if found is None else found)

    try:
        body = await share.run(job)
    except WhitecrowError as error:
        return refusal(error)
    return Response(body, status, media_type=media)


def _kind(written: Mapping[str, Any]) -> str:
    """The kind a question says it is, if there is such a kind."""
    kind = written.get("kind")
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
