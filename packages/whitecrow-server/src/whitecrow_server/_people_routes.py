"""The interface for programs that is about people: ``/v1/analysts``, their tokens and sessions."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response, Security
from fastapi.security import HTTPAuthorizationCredentials

from whitecrow_server import _schemas as schemas
from whitecrow_server._documents import creating, replies
from whitecrow_server._handler import BEARER, RequestHandler
from whitecrow_server._people import Person

Bearer = Annotated[HTTPAuthorizationCredentials | None, Security(BEARER)]


def add_people(router: APIRouter, handler: RequestHandler) -> None:
    """Add the routes."""
    service = handler.service

    @router.get("/v1/analysts", responses=replies("analysts"), tags=["people"])
    async def people(request: Request, bearer: Bearer) -> Response:
        """Everybody, whatever their role (custodian, auditor)."""
        return await handler.act(request, lambda who: {"analysts": service.members.everybody(who)})

    @creating(router, "/v1/analysts", "name", "role", tag="people", also=(409,))
    async def invite(request: Request, bearer: Bearer, body: schemas.Invitation) -> Response:
        """Make somebody known (custodian)."""
        return await handler.act(
            request,
            lambda who: service.members.invite(who, body.name, body.role).to_json(),
            status=201,
        )

    @router.get("/v1/analysts/{name}", responses=replies("name", "role"), tags=["people"])
    async def person(request: Request, bearer: Bearer, name: str) -> Response:
        """One person: yourself, or anybody for custodians and auditors."""
        return await handler.act(request, lambda who: service.members.person(who, name).to_json())

    @router.patch("/v1/analysts/{name}", responses=replies("name", "role"), tags=["people"])
    async def change(request: Request, bearer: Bearer, name: str, body: schemas.Change) -> Response:
        """Shut somebody out, or let them in again (custodian)."""
        return await handler.act(
            request, lambda who: service.members.disable(who, name, body.disabled).to_json()
        )

    @creating(router, "/v1/analysts/{name}/password", "password", tag="people")
    async def reset(request: Request, bearer: Bearer, name: str) -> Response:
        """Give somebody a new random password for the console (custodian), shown once."""
        return await handler.act(
            request,
            lambda who: {"password": service.members.reset_password(who, name)},
            status=201,
        )

    @creating(router, "/v1/analysts/{name}/invitation", "code", tag="people")
    async def invitation(request: Request, bearer: Bearer, name: str) -> Response:
        """A code with which somebody chooses a password, once and soon (custodian)."""
        return await handler.act(
            request,
            lambda who: {"code": service.members.invitation(who, name)},
            status=201,
        )

    @router.post("/v1/analysts/{name}/removal", responses=replies(), tags=["people"])
    async def remove(
        request: Request, bearer: Bearer, name: str, body: schemas.Removal
    ) -> Response:
        """Remove somebody; the accounts keep what was asked and spent (custodian)."""
        return await handler.act(
            request, lambda who: service.members.remove(who, name, reason=body.reason)
        )

    @router.delete("/v1/analysts/{name}/second-factor", responses=replies(), tags=["people"])
    async def no_second_factor(request: Request, bearer: Bearer, name: str) -> Response:
        """Take away the second factor of somebody who lost it (custodian)."""
        return await handler.act(
            request, lambda who: service.members.reset_second_factor(who, name)
        )

    @router.get("/v1/analysts/{name}/sessions", responses=replies("sessions"), tags=["people"])
    async def sessions(request: Request, bearer: Bearer, name: str) -> Response:
        """What is known of somebody's sessions (their own, or any for the custodian)."""
        return await handler.act(
            request, lambda who: {"sessions": service.members.sessions(who, name)}
        )

    @router.delete("/v1/analysts/{name}/sessions", responses=replies(), tags=["people"])
    async def end_sessions(request: Request, bearer: Bearer, name: str) -> Response:
        """End all of somebody's sessions."""
        return await handler.act(request, lambda who: service.members.end_sessions(who, name))

    @router.get("/v1/trail", responses=replies("acts", "broken"), tags=["people"])
    async def trail(
        request: Request, bearer: Bearer, after: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0
    ) -> Response:
        """What administrators did about people, tokens and keys (custodian, auditor)."""
        return await handler.act(request, lambda who: service.members.acts(who, after=after))

    @router.post("/v1/keys", responses=replies(), tags=["service"])
    async def rotate(request: Request, bearer: Bearer) -> Response:
        """Sign cookies with a new key; nobody is signed out (custodian)."""
        return await handler.act(request, lambda who: service.members.rotate_keys(who))

    @router.get("/v1/analysts/{name}/tokens", responses=replies("tokens"), tags=["people"])
    async def tokens(request: Request, bearer: Bearer, name: str) -> Response:
        """What is known of somebody's tokens (their own, or any for the custodian)."""
        return await handler.act(
            request,
            lambda who: {"tokens": [one.to_json() for one in service.members.tokens(who, name)]},
        )

    @creating(router, "/v1/analysts/{name}/tokens", "token", "id", "expires", tag="people")
    async def issue(
        request: Request, bearer: Bearer, name: str, body: schemas.NewToken
    ) -> Response:
        """Make a token; its text is shown in this reply and never again."""

        def work(who: Person) -> dict[str, Any]:
            written, made = service.members.issue(who, name, **dict(body))
            return {"token": written, **made.to_json()}

        return await handler.act(request, work, status=201)

    @router.delete("/v1/analysts/{name}/tokens", responses=replies(), tags=["people"])
    async def revoke_all(request: Request, bearer: Bearer, name: str) -> Response:
        """End all of somebody's tokens, and all that were made with them."""
        return await handler.act(request, lambda who: service.members.revoke_all(who, name))

    @router.delete("/v1/analysts/{name}/tokens/{token}", responses=replies(), tags=["people"])
    async def revoke(request: Request, bearer: Bearer, name: str, token: str) -> Response:
        """End a token's life, and that of all that were made with it."""
        return await handler.act(request, lambda who: service.members.revoke(who, name, token))
