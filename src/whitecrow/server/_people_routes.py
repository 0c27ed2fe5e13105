"""The interface for programs that is about people: ``/v1/analysts``, their tokens and sessions."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response, Security
from fastapi.security import HTTPAuthorizationCredentials

from whitecrow.server import _schemas as schemas
from whitecrow.server._documents import replies
from whitecrow.server._handler import BEARER, RequestHandler
from whitecrow.server._people import Person

__all__ = ["Bearer", "add_people"]

Bearer = Annotated[HTTPAuthorizationCredentials | None, Security(BEARER)]


def add_people(router: APIRouter, handler: RequestHandler) -> None:
    """Add the routes."""
    service = handler.service

    @router.get("/v1/analysts", responses=replies("analysts"), tags=["people"])
    async def people(request: Request, bearer: Bearer) -> Response:
        """Everybody, whatever their role (custodian, auditor)."""
        return await handler.act(
            request, bearer, lambda who: {"analysts": service.members.everybody(who)}
        )

    @router.post(
        "/v1/analysts",
        status_code=201,
        responses=replies("name", "role", status=201, also=(409,)),
        tags=["people"],
    )
    async def invite(request: Request, bearer: Bearer, body: schemas.Invitation) -> Response:
        """Make somebody known (custodian)."""
        return await handler.act(
            request,
            bearer,
            lambda who: service.members.invite(who, body.name, body.role).to_json(),
            status=201,
        )

    @router.get("/v1/analysts/{name}", responses=replies("name", "role"), tags=["people"])
    async def person(request: Request, bearer: Bearer, name: str) -> Response:
        """One person: yourself, or anybody for custodians and auditors."""
        return await handler.act(
            request, bearer, lambda who: service.members.person(who, name).to_json()
        )

    @router.patch("/v1/analysts/{name}", responses=replies("name", "role"), tags=["people"])
    async def change(request: Request, bearer: Bearer, name: str, body: schemas.Change) -> Response:
        """Shut somebody out, or let them in again (custodian)."""
        return await handler.act(
            request, bearer, lambda who: service.members.disable(who, name, body.disabled).to_json()
        )

    @router.post(
        "/v1/analysts/{name}/password",
        status_code=201,
        responses=replies("password", status=201),
        tags=["people"],
    )
    async def reset(request: Request, bearer: Bearer, name: str) -> Response:
        """Give somebody a new random password for the console (custodian), shown once."""
        return await handler.act(
            request,
            bearer,
            lambda who: {"password": service.members.reset_password(who, name)},
            status=201,
        )

    @router.post(
        "/v1/analysts/{name}/invitation",
        status_code=201,
        responses=replies("code", status=201),
        tags=["people"],
    )
    async def invitation(request: Request, bearer: Bearer, name: str) -> Response:
        """A code with which somebody chooses a password, once and soon (custodian)."""
        return await handler.act(
            request,
            bearer,
            lambda who: {"code": service.members.invitation(who, name)},
            status=201,
        )

    @router.post("/v1/analysts/{name}/removal", responses=replies(), tags=["people"])
    async def remove(
        request: Request, bearer: Bearer, name: str, body: schemas.Removal
    ) -> Response:
        """Remove somebody; the accounts keep what was asked and spent (custodian)."""

        def work(who: Person) -> dict[str, Any]:
            service.members.remove(who, name, reason=body.reason)
            return {}

        return await handler.act(request, bearer, work)

    @router.delete("/v1/analysts/{name}/second-factor", responses=replies(), tags=["people"])
    async def no_second_factor(request: Request, bearer: Bearer, name: str) -> Response:
        """Take away the second factor of somebody who lost it (custodian)."""

        def work(who: Person) -> dict[str, Any]:
            service.members.reset_second_factor(who, name)
            return {}

        return await handler.act(request, bearer, work)

    @router.get("/v1/analysts/{name}/sessions", responses=replies("sessions"), tags=["people"])
    async def sessions(request: Request, bearer: Bearer, name: str) -> Response:
        """What is known of somebody's sessions (their own, or any for the custodian)."""
        return await handler.act(
            request, bearer, lambda who: {"sessions": service.members.sessions(who, name)}
        )

    @router.delete("/v1/analysts/{name}/sessions", responses=replies(), tags=["people"])
    async def end_sessions(request: Request, bearer: Bearer, name: str) -> Response:
        """End all of somebody's sessions."""

        def work(who: Person) -> dict[str, Any]:
            service.members.end_sessions(who, name)
            return {}

        return await handler.act(request, bearer, work)

    @router.get("/v1/trail", responses=replies("acts", "broken"), tags=["people"])
    async def trail(
        request: Request, bearer: Bearer, after: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0
    ) -> Response:
        """What administrators did about people, tokens and keys (custodian, auditor)."""
        return await handler.act(
            request, bearer, lambda who: service.members.acts(who, after=after)
        )

    @router.post("/v1/keys", responses=replies(), tags=["service"])
    async def rotate(request: Request, bearer: Bearer) -> Response:
        """Sign cookies with a new key; nobody is signed out (custodian)."""

        def work(who: Person) -> dict[str, Any]:
            service.members.rotate_keys(who)
            return {}

        return await handler.act(request, bearer, work)

    @router.get("/v1/analysts/{name}/tokens", responses=replies("tokens"), tags=["people"])
    async def tokens(request: Request, bearer: Bearer, name: str) -> Response:
        """What is known of somebody's tokens (their own, or any for the custodian)."""
        return await handler.act(
            request,
            bearer,
            lambda who: {"tokens": [one.to_json() for one in service.members.tokens(who, name)]},
        )

    @router.post(
        "/v1/analysts/{name}/tokens",
        status_code=201,
        responses=replies("token", "id", "expires", status=201),
        tags=["people"],
    )
    async def issue(
        request: Request, bearer: Bearer, name: str, body: schemas.NewToken
    ) -> Response:
        """Make a token; its text is shown in this reply and never again."""

        def work(who: Person) -> dict[str, Any]:
            written, made = service.members.issue(who, name, **dict(body))
            return {"token": written, **made.to_json()}

        return await handler.act(request, bearer, work, status=201)

    @router.delete("/v1/analysts/{name}/tokens", responses=replies(), tags=["people"])
    async def revoke_all(request: Request, bearer: Bearer, name: str) -> Response:
        """End all of somebody's tokens, and all that were made with them."""

        def work(who: Person) -> dict[str, Any]:
            service.members.revoke_all(who, name)
            return {}

        return await handler.act(request, bearer, work)

    @router.delete("/v1/analysts/{name}/tokens/{token}", responses=replies(), tags=["people"])
    async def revoke(request: Request, bearer: Bearer, name: str, token: str) -> Response:
        """End a token's life, and that of all that were made with it."""

        def work(who: Person) -> dict[str, Any]:
            service.members.revoke(who, name, token)
            return {}

        return await handler.act(request, bearer, work)
