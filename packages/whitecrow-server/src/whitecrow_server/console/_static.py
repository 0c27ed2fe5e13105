"""Scripts and styles: our own small files, and plotly from its installed package."""

from __future__ import annotations

import gzip
import importlib.util
import re
from functools import lru_cache
from pathlib import Path

from fastapi import APIRouter, HTTPException, Request, Response

from whitecrow.rendering.page import crow, page_rules, picture_rules

_FOLDER = Path(__file__).parent / "static"
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_FILES = {path.name: path for path in sorted(_FOLDER.iterdir()) if path.suffix in _TYPES}
_SHARED = {"console.css": page_rules, "pictures.css": picture_rules, "crow.svg": crow}
"""What the reports of the core show too."""
_KEPT = {"Cache-Control": "public, max-age=3600"}


def add(router: APIRouter) -> None:
    """Serve the files; only those that are known by name."""
    router.add_api_route("/console/static/{name}", _own, methods=["GET"], response_model=None)
    router.add_api_route("/console/plotly.min.js", _plotly, methods=["GET"], response_model=None)


def _own(name: str) -> Response:
    if name in _SHARED:
        return Response(_SHARED[name](), media_type=_TYPES[Path(name).suffix], headers=_KEPT)
    if name not in _FILES:
        raise HTTPException(404, "There is no such file.")
    path = _FILES[name]
    return Response(path.read_bytes(), media_type=_TYPES[path.suffix], headers=_KEPT)


def _plotly(request: Request) -> Response:
    packed = "gzip" in request.headers.get("accept-encoding", "")
    body = _packed() if packed else plotly_script().read_bytes()
    headers = {**_KEPT, "Vary": "Accept-Encoding"}
    if packed:
        headers["Content-Encoding"] = "gzip"
    return Response(body, media_type="text/javascript", headers=headers)


@lru_cache(maxsize=1)
def _packed() -> bytes:
    return gzip.compress(plotly_script().read_bytes(), 6)


@lru_cache(maxsize=1)
def plotly_styles() -> tuple[str, ...]:
    """The names of style sheets that plotly adds to a page unless they are there already.

    The content-security policy forbids it to; a page that holds empty elements of these names is
    left alone.
    """
    text = plotly_script().read_text(encoding="utf-8")
    return tuple(sorted(set(re.findall(r'getElementById\("([0-9a-f]{64})"\)', text))))


def plotly_script() -> Path:
    """Where plotly's own JavaScript lies: inside its Python package, which need not be imported."""
    found = importlib.util.find_spec("plotly")
    if found is None or found.origin is None:
        raise HTTPException(404, "Charts need plotly: pip install 'whitecrow[server]'.")
    return Path(found.origin).parent / "package_data" / "plotly.min.js"
