"""The curator as a service: HTTP interface, sign-in, roles, console.

``create_app(Settings(...))`` builds the application that ``whitecrow serve`` runs. Web pages are
added by its ``pages`` argument and call the same :class:`~whitecrow_server._service.Service`.
The names below are loaded when first used: processes that compute need none of them.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from whitecrow.errors import NeedsLinux

if TYPE_CHECKING:
    from whitecrow_server._app import create_app
    from whitecrow_server._people import ROLES, Person
    from whitecrow_server._service import Service
    from whitecrow_server._settings import Provider, Settings, default_deadlines

__all__ = ["ROLES", "Person", "Provider", "Service", "Settings", "create_app", "default_deadlines"]

_WHERE = {
    "ROLES": "_people",
    "Person": "_people",
    "Provider": "_settings",
    "Service": "_service",
    "Settings": "_settings",
    "create_app": "_app",
    "default_deadlines": "_settings",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"whitecrow_server has no {name!r}")
    if sys.platform != "linux":
        raise NeedsLinux(
            "The service runs on Linux only, or in a container. Curators, ledgers, detectors and "
            "the client work here."
        )
    return getattr(importlib.import_module(f"whitecrow_server.{_WHERE[name]}"), name)
