"""The curator as a service: HTTP interface, sign-in, roles.

``create_app(Settings(...))`` builds the application that ``whitecrow serve`` runs. Web pages are
added by its ``pages`` argument and call the same :class:`~whitecrow.server._service.Service`.
"""

import whitecrow.ledger  # noqa: F401 - says first that it needs Linux
from whitecrow.server._app import create_app
from whitecrow.server._people import ROLES, Person
from whitecrow.server._provider import Provider
from whitecrow.server._service import Service
from whitecrow.server._settings import Settings, default_deadlines

__all__ = ["ROLES", "Person", "Provider", "Service", "Settings", "create_app", "default_deadlines"]
