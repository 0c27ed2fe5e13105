"""The console: web pages over the service, for people at a browser.

Pages are rendered on the server and work without scripts. They decide nothing: every act goes
through :class:`whitecrow_server.Service` with the person who is signed in.
"""

from __future__ import annotations

from fastapi import FastAPI

from whitecrow_server._handler import RequestHandler
from whitecrow_server.console import _account as account
from whitecrow_server.console import _analyst as analyst
from whitecrow_server.console import _datasets as datasets
from whitecrow_server.console import _laboratory as laboratory
from whitecrow_server.console import _me as me
from whitecrow_server.console import _onboarding as onboarding
from whitecrow_server.console import _people as people
from whitecrow_server.console import _policy as policy
from whitecrow_server.console import _privacy_map as privacy_map
from whitecrow_server.console import _screening as screening
from whitecrow_server.console import _sign_in_pages as sign_in_pages
from whitecrow_server.console import _use as use
from whitecrow_server.console._site import Site

__all__ = ["mount", "site_of"]


def mount(app: FastAPI, handler: RequestHandler) -> None:
    """Add the pages to an application: the ``pages`` argument of ``create_app``."""
    app.include_router(site_of(handler).router)


def site_of(handler: RequestHandler) -> Site:
    site = Site(handler)
    for part in (
        *(sign_in_pages, me, datasets, onboarding, policy, people, use, account),
        *(privacy_map, analyst, screening, laboratory),
    ):
        part.add(site)
    site.finish()
    return site
