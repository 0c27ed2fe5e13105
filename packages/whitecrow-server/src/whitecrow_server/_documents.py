"""What the OpenAPI document says of replies: every status that can come back, and its shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter

_WORDS = {
    200: "Done.",
    201: "Made.",
    400: "The request cannot be read, or names a host this service does not answer to.",
    401: "No token, or one that is unknown, expired or revoked.",
    402: "The budget does not suffice; nothing was spent.",
    403: "The role or the policy forbids it; nothing was spent.",
    404: "There is no such thing, or none that you may know of.",
    408: "The body did not arrive in time.",
    409: "The name is taken.",
    413: "The body is too large.",
    422: "A value is not what it must be; nothing was spent.",
    429: "Too many requests; Retry-After says when to come again.",
    503: "Not available now; Retry-After says when to come again.",
}

_EVERYWHERE = (400, 401, 403, 404, 408, 413, 422, 429, 503)

_SAID = {
    "type": "object",
    "required": ["type", "reason"],
    "properties": {
        "type": {"type": "string", "description": "The library's name for the error."},
        "reason": {"type": "string"},
        "requested": {"type": "string"},
        "remaining": {"type": "string"},
    },
}

_REFUSAL = {
    "type": "object",
    "properties": {"refused": _SAID, "error": _SAID},
    "minProperties": 1,
    "maxProperties": 1,
}


def replies(
    *keys: str, status: int = 200, also: tuple[int, ...] = (), media: str = "application/json"
) -> dict[int | str, dict[str, Any]]:
    """Describe what a route may reply: an object with these keys, or a refusal."""
    shape: dict[str, Any] = {"type": "string"}
    if media == "application/json":
        shape = {"type": "object", "required": list(keys)}
    found: dict[int | str, dict[str, Any]] = {
        status: {"description": _WORDS[status], "content": {media: {"schema": shape}}}
    }
    for refused in (*_EVERYWHERE, *also):
        found[refused] = {
            "description": _WORDS[refused],
            "content": {"application/json": {"schema": _REFUSAL}},
        }
    return found


def creating(
    router: APIRouter, path: str, *keys: str, tag: str, also: tuple[int, ...] = ()
) -> Callable[[Any], Any]:
    """Add a route that makes something: it replies 201 and an object with these keys."""
    said = replies(*keys, status=201, also=also)
    return router.post(path, status_code=201, responses=said, tags=[tag])
