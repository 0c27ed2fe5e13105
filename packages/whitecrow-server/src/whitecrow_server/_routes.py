"""The interface for programs: ``/v1/...``, ``/healthz``, ``/metrics``.

Each route names the person by their token, calls one method of the service and writes down what it
returns. Everything that waits (database, computation) runs in a thread, once per request.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.routing import APIRoute

from whitecrow.errors import (
    Forbidden,
    WhitecrowError,
)
from whitecrow_server import _schemas as schemas
from whitecrow_server._documents import creating, replies
from whitecrow_server._handler import AskRoute, PlanRoute, RequestHandler, encoded, unread
from whitecrow_server._people import Person
from whitecrow_server._people_routes import Bearer, add_people
from whitecrow_server._readiness import Readiness
from whitecrow_server._service import MOST_ENTRIES

_DATASET = "/v1/datasets/{name}"
_WITNESS = "/v1/witness/{ledger}"
_LARGE = ("/v1/datasets", _DATASET, f"{_DATASET}/drafts", _WITNESS)
_MONITORS = ("custodian", "auditor")


class StrictRoute(APIRoute):
    """A route that knows who asks before it reads a body, and parses it strictly."""

    scope = ""
    """Tokens of which scope it takes, beside those that are good for everything."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        has_body = self.body_field is not None
        large = self.path_format in _LARGE

        async def strictly(request: Request) -> Response:
            if not has_body:
                return await handle(request)
            handler: RequestHandler = request.app.state.handler
            try:
                who = await handler.admit(request, scope=self.scope)
                share = handler.share(request, who)
                share.refuse_if_full()
            except WhitecrowError as error:
                return unread(error)
            settings = handler.service.settings
            most = settings.largest_body if large else settings.largest_question
            return await handle(schemas.StrictRequest(request, share, most))

        return strictly


class WitnessRoute(StrictRoute):
    """The route of other instances, which tell something before each answer of theirs."""

    scope = "witness"


def router_of(handler: RequestHandler) -> APIRouter:
    """Build the routes."""
    service = handler.service
    file = service.settings.ledger_file
    readiness = Readiness(service.store, None if file is None else file.parent)
    router = APIRouter(route_class=StrictRoute)

    async def ask(
        request: Request, bearer: Bearer, name: str, question: schemas.Written
    ) -> Response:
        """Answer a question (analyst, custodian). Asking again returns the stored answer, free."""
        raise NotImplementedError  # read and answered by AskRoute; here for its description

    # Before all others, which a request is compared with one after the other.
    router.add_api_route(
        "/v1/datasets/{name}/ask",
        ask,
        methods=["POST"],
        responses=replies("question", "answer", "guarantee", "statement", "charged", also=(402,)),
        tags=["questions"],
        route_class_override=AskRoute,
    )

    async def plan(request: Request, bearer: Bearer, name: str, body: schemas.Batch) -> Response:
        """What a batch of questions would cost together."""
        raise NotImplementedError  # read and answered by PlanRoute; here for its description

    router.add_api_route(
        "/v1/datasets/{name}/plan",
        plan,
        methods=["POST"],
        responses=replies("questions", "charged", "price", "fits"),
        tags=["questions"],
        route_class_override=PlanRoute,
    )

    @router.get("/healthz", responses=replies("status", also=(503,)), tags=["service"])
    async def health() -> Response:
        """Whether the service runs: if not, start it anew. A database that is away is no reason."""
        return Response(encoded({"status": "ok"}), media_type="application/json")

    @router.get("/readyz", responses=replies("status", also=(503,)), tags=["service"])
    async def ready() -> Response:
        """Whether the database takes writes: if not, send people elsewhere for a while."""

        def look() -> dict[str, str]:
            readiness.check()
            return {"status": "ready"}

        return await handler.probe(look)

    @router.get(
        "/metrics", responses=replies(media="text/plain", also=(401, 403, 429)), tags=["service"]
    )
    async def metrics(request: Request, bearer: Bearer) -> Response:
        """Numbers for Prometheus, for custodians, auditors and their tokens of scope metrics."""

        def look(who: Person) -> bytes:
            if who.role not in _MONITORS:
                raise Forbidden("The numbers are for custodians and auditors.")
            return handler.metrics.text()

        media = "text/plain; version=0.0.4"
        return await handler.act(request, look, scope="metrics", media=media)

    async def testify(
        request: Request, bearer: Bearer, ledger: str, body: schemas.Witnessed
    ) -> Response:
        """Be told how far another instance's ledger is; one that goes back is refused."""
        return await handler.act(
            request,
            lambda who: service.witnessing.keep(who, ledger, body.public, body.statement),
        )

    router.add_api_route(
        _WITNESS,
        testify,
        methods=["PUT"],
        responses=replies("statements", also=(409,)),
        tags=["witness"],
        route_class_override=WitnessRoute,
    )

    @router.get(_WITNESS, responses=replies("statements"), tags=["witness"])
    async def testimony(request: Request, bearer: Bearer, ledger: str) -> Response:
        """What a ledger has told its witness here, as it was signed."""

        return await handler.act(
            request, lambda who: service.witnessing.read(who, ledger), scope="witness"
        )

    @router.post("/v1/sign-in/device", responses=replies("device", "code"), tags=["people"])
    async def device(request: Request) -> Response:
        """Begin a sign-in at a terminal: a code to be typed at the provider's page."""
        return await handler.stranger(request, service.single_sign_on.begin_device)

    @router.post("/v1/sign-in/device/{device}", responses=replies("state"), tags=["people"])
    async def device_token(request: Request, device: str) -> Response:
        """The token of a terminal that was approved, or what it waits for: pending or slow."""

        def work() -> dict[str, Any]:
            found = service.single_sign_on.finish_device(device)
            if found["state"] == "done":
                service.events.tell("sign-in", actor=found["name"], **{"with": "device"})
            return found

        return await handler.stranger(request, work)

    @router.get("/v1/me", responses=replies("name", "role"), tags=["people"])
    async def me(request: Request, bearer: Bearer) -> Response:
        """Who you are."""
        return await handler.act(request, lambda who: who.to_json())

    @router.get("/v1/datasets", responses=replies("datasets"), tags=["datasets"])
    async def datasets(request: Request, bearer: Bearer) -> Response:
        """The datasets you may know of."""
        return await handler.act(request, lambda who: {"datasets": service.datasets(who)})

    @creating(router, "/v1/datasets", "name", "card", tag="datasets", also=(409,))
    async def register(request: Request, bearer: Bearer, body: schemas.Registration) -> Response:
        """List a dataset (custodian); its records are read in the background."""
        return await handler.act(
            request, lambda who: service.register(who, **dict(body)), status=201
        )

    @router.get(
        "/v1/datasets/{name}",
        responses=replies("name", "ready", "card", "policy", "remaining"),
        tags=["datasets"],
    )
    async def dataset(request: Request, bearer: Bearer, name: str) -> Response:
        """A dataset's card, policy, deadlines and what remains."""
        return await handler.act(request, lambda who: service.dataset(who, name))

    @router.patch("/v1/datasets/{name}", responses=replies("name", "card"), tags=["datasets"])
    async def amend(
        request: Request, bearer: Bearer, name: str, body: schemas.Amendment
    ) -> Response:
        """Change budget, policy, card or readers (custodian); the chain keeps the reason."""
        return await handler.act(request, lambda who: service.amend(who, name, **dict(body)))

    @router.get("/v1/datasets/{name}/drafts", responses=replies("drafts"), tags=["datasets"])
    async def drafts(request: Request, bearer: Bearer, name: str) -> Response:
        """The cards that profiles drafted, the newest first (custodian)."""

        def look(who: Person) -> dict[str, Any]:
            return {"drafts": [one.to_json() for one in service.onboarding.drafts(who, name)]}

        return await handler.act(request, look)

    @router.post(
        "/v1/datasets/{name}/drafts", responses=replies("card", "edited"), tags=["datasets"]
    )
    async def accept(
        request: Request, bearer: Bearer, name: str, body: schemas.Acceptance
    ) -> Response:
        """Put a drafted card in force, as it is or edited (custodian); the chain keeps which."""
        return await handler.act(
            request,
            lambda who: service.onboarding.accept(who, name, body.draft, reason=body.reason),
        )

    @router.post("/v1/datasets/{name}/removal", responses=replies(), tags=["datasets"])
    async def remove(
        request: Request, bearer: Bearer, name: str, body: schemas.Removal
    ) -> Response:
        """Take a dataset off the list; its account stays (custodian)."""
        return await handler.act(request, lambda who: service.remove(who, name, reason=body.reason))

    @router.post("/v1/datasets/{name}/revisions", responses=replies(), tags=["datasets"])
    async def advance(
        request: Request, bearer: Bearer, name: str, body: schemas.Advance
    ) -> Response:
        """Record that the records changed: the next revision of the account (custodian)."""
        return await handler.act(
            request, lambda who: service.history.advance(who, name, **dict(body))
        )

    @router.get(
        "/v1/datasets/{name}/timeline",
        responses=replies("dataset", "events", "spent", "budget"),
        tags=["datasets"],
    )
    async def timeline(request: Request, bearer: Bearer, name: str) -> Response:
        """Revisions, publications, alarms and the budget over time, as far as you may know."""
        return await handler.act(request, lambda who: service.history.timeline(who, name))

    @router.put("/v1/datasets/{name}/allowances", responses=replies(), tags=["datasets"])
    async def allow(
        request: Request, bearer: Bearer, name: str, body: schemas.Allowance
    ) -> Response:
        """Cap what one analyst may spend (custodian)."""
        return await handler.act(
            request,
            lambda who: service.allow(who, name, body.analyst, body.budget, reason=body.reason),
        )

    @router.post(
        "/v1/datasets/{name}/price",
        responses=replies("words", "price", "figures"),
        tags=["questions"],
    )
    async def price(
        request: Request, bearer: Bearer, name: str, question: schemas.Priced
    ) -> Response:
        """What a question would cost and how accurate it would be, from public facts."""

        def work(who: Person) -> dict[str, Any]:
            public = question.pop("public", {})
            found = service.price(who, name, question, public).to_json()
            return {**found, "deadline": service.deadline(who, name, question)}

        return await handler.act(request, work)

    @router.post(
        "/v1/datasets/{name}/advice",
        responses=replies("model", "columns", "share", "question", "description"),
        tags=["questions"],
    )
    async def advise(
        request: Request, bearer: Bearer, name: str, body: schemas.Contamination
    ) -> Response:
        """A model for a wanted share of outliers, and what a better one costs; from public facts.

        Made-up records are drawn from the newest profile (for an analyst: of their own), or from
        the card. The question that comes back has the radius chosen by the data.
        """
        return await handler.act(
            request,
            lambda who: service.onboarding.advise(who, name, **dict(body)).to_json(),
        )

    @router.post(
        "/v1/datasets/{name}/dummy",
        responses=replies("question", "answer", "statement", "dummy"),
        tags=["questions"],
    )
    async def dummy(
        request: Request, bearer: Bearer, name: str, question: schemas.Written
    ) -> Response:
        """Answer a question about made-up records: free, and it says nothing of anybody."""
        return await handler.act(request, lambda who: service.dummy(who, name, question).to_json())

    @router.get(
        "/v1/datasets/{name}/detectors/{entry}",
        responses=replies(media="application/octet-stream"),
        tags=["questions"],
    )
    async def detector(request: Request, bearer: Bearer, name: str, entry: str) -> Response:
        """The file of a detector that you learned, by its entry; whitecrow score opens it."""

        return await handler.act(
            request,
            lambda who: service.detector(who, name, entry).to_bytes(),
            media="application/octet-stream",
        )

    @router.get(
        "/v1/datasets/{name}/ledger",
        responses=replies("dataset", "spent", "remaining"),
        tags=["ledger"],
    )
    async def ledger(
        request: Request,
        bearer: Bearer,
        name: str,
        after: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
        limit: Annotated[int, Query(ge=1, le=MOST_ENTRIES)] = MOST_ENTRIES,
        skip: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
        newest_first: bool = False,
    ) -> Response:
        """A page of the account: entries for custodians and auditors, an analyst's own questions.

        Entries after one number, or the newest first; an analyst's newest questions but the first
        so many that are skipped.
        """

        def look(who: Person) -> dict[str, Any]:
            return service.account(
                who, name, after=after, limit=limit, skip=skip, newest_first=newest_first
            )

        return await handler.act(request, look)

    @router.get(
        "/v1/datasets/{name}/ledger/verification",
        responses=replies("ok", "entries", "head"),
        tags=["ledger"],
    )
    async def verify(request: Request, bearer: Bearer, name: str, full: bool = False) -> Response:
        """Check the chain and the sums since the newest checkpoint, or all (custodian, auditor)."""
        return await handler.act(request, lambda who: service.verify(who, name, full=full))

    @router.post("/v1/datasets/{name}/ledger/voids", responses=replies(), tags=["ledger"])
    async def void(request: Request, bearer: Bearer, name: str, body: schemas.Voiding) -> Response:
        """Give back a spend that never led to an answer (custodian)."""
        return await handler.act(
            request, lambda who: service.void(who, name, body.entry, reason=body.reason)
        )

    @router.post("/v1/datasets/{name}/ledger/reviews", responses=replies(), tags=["ledger"])
    async def review(request: Request, bearer: Bearer, name: str, body: schemas.Review) -> Response:
        """Say that a failure was looked at, so that the dataset takes questions (custodian)."""
        return await handler.act(
            request, lambda who: service.review(who, name, body.entry, reason=body.reason)
        )

    add_people(router, handler)
    return router
