"""Tables that the code declares, put into pages where a comment names them: one place a fact."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from sphinx.application import Sphinx

from whitecrow.declaration import REQUIRED
from whitecrow.questions import BUILT_IN, question_type
from whitecrow_server import Settings, create_app
from whitecrow_server._logs import EVENTS
from whitecrow_server._settings import reference


def _table(heads: tuple[str, ...], rows: Iterable[Iterable[str]]) -> str:
    lines = (heads, ("---",) * len(heads), *rows)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _questions() -> str:
    rows = (
        (f"`{kind}`", f"`{question_type(kind).question.__name__}`", asks)
        for kind, (_, asks) in BUILT_IN.items()
    )
    return _table(("kind", "class", "asks"), rows)


def _parameters(kind: str) -> str:
    rows = []
    for parameter in question_type(kind).question.parameters.values():
        choices = ", ".join(
            f"`{name}`" for name in getattr(parameter, "choices", None) or () if name
        )
        default = parameter.default
        shown = "" if default in (None, (), "") else f"`{default}`"
        shown = "required" if default is REQUIRED else shown
        rows.append((f"`{parameter.name}`", shown, f"{parameter.help} {choices}".strip()))
    return _table(("parameter", "default", "meaning"), rows)


def _routes() -> Iterator[tuple[str, str]]:
    with tempfile.TemporaryDirectory() as folder:
        app = create_app(Settings(database=f"sqlite:///{folder}/service.db"))
        try:
            for path, methods in app.openapi()["paths"].items():
                for method, route in methods.items():
                    yield f"`{method.upper()} {path}`", " ".join(route["description"].split())
        finally:
            app.state.service.close()


TABLES: dict[str, Callable[[], str]] = {
    "questions": _questions,
    **{f"parameters of {kind}": partial(_parameters, kind) for kind in BUILT_IN},
    "routes": lambda: _table(("method and path", "does"), _routes()),
    "security events": lambda: _table(
        ("event", "says that"), ((f"`{event}`", words) for event, words in EVENTS.items())
    ),
    "settings of serve": lambda: _table(
        ("option, or name of the setting", "default", "what it is"), reference()
    ),
}


def filled_in(page: str) -> str:
    """Return a page with the tables that it names."""
    for name, table in TABLES.items():
        mark = f"<!-- table: {name} -->"
        if mark in page:
            page = page.replace(mark, table())
    return page


def setup(app: Sphinx) -> dict[str, bool]:
    """Fill pages in as they are read."""

    def read(_: Sphinx, name: str, source: list[str]) -> None:
        source[0] = filled_in(source[0])

    app.connect("source-read", read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
