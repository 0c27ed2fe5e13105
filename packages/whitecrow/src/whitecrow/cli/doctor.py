"""``whitecrow doctor``: what is installed, what is compiled, what is missing."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

import click

import whitecrow
from whitecrow import plugins
from whitecrow._compiled import kept_in
from whitecrow.cli.screen_output import Output
from whitecrow.errors import BrokenPlugin
from whitecrow.neighbours.parallel import workers

_PARTS = {
    "pictures of detectors": ("matplotlib", "plots"),
    "further detectors (LOF)": ("scikit-learn", "detectors"),
    "detectors of PyOD": ("pyod", "detectors"),
    "DuckDB files": ("duckdb", "sql"),
    "PostgreSQL": ("psycopg", "postgres"),
    "counting on a GPU": ("cupy-cuda12x", "gpu"),
    "counting in Spark": ("pyspark", "spark"),
    "the service": ("fastapi", "server"),
}
"""Optional parts: the package each needs, and the extra that installs it."""


@click.command("doctor", epilog="Example: whitecrow doctor")
@click.pass_obj
def command(output: Output) -> None:
    """Say what is installed, what is compiled, and how to get what is missing.

    Nothing is read or changed.
    """
    kernels = kept_in()
    parts = {what: _installed(package) for what, (package, _) in _PARTS.items()}
    about = {
        "whitecrow": whitecrow.__version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}, {workers()} cores",
        **{name: _installed(name) or "missing" for name in ("numpy", "numba", "pyarrow")},
    }
    added = _plug_ins()
    result = {**about, "compiled": kernels, "optional": parts, "plug-ins": added}
    if output.as_json:
        output.show(result, "")
        return
    rows = [[name, str(found), ""] for name, found in about.items()]
    rows.append(_kernel_row(kernels))
    for what, found in parts.items():
        extra = _PARTS[what][1]
        rows.append([what, found or "not installed", "" if found else _fix(extra)])
    rows += [[f"plug-in {one['name']}", one["package"], one["fault"]] for one in added]
    output.table("whitecrow doctor", ["Part", "Found", "To get it"], rows)


def _plug_ins() -> list[dict[str, str]]:
    """What installed packages add: each name, the package with its version, and what is wrong."""
    found = []
    for group in plugins.GROUPS:
        for name, entry in sorted(plugins.offered(group).items()):
            package = "?" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"
            fault = ""
            try:
                plugins.load(group, name, object)
            except BrokenPlugin as error:
                fault = str(error)
            called = f"{group.removeprefix('whitecrow.')}: {name}"
            found.append({"name": called, "package": package, "fault": fault})
    return found


def _kernel_row(folder: str | None) -> list[str]:
    if folder is None:
        return ["compiled kernels", "cannot be kept", "set NUMBA_CACHE_DIR to a folder of your own"]
    return ["compiled kernels", f"kept in {folder}", ""]


def _fix(extra: str) -> str:
    return f"pip install 'whitecrow[{extra}]'"


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
