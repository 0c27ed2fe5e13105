"""``whitecrow doctor``: what is installed, what is compiled, what is missing."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version

import click

import whitecrow
from whitecrow._compiled import kept_in
from whitecrow.cli.screen_output import Output

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
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    about = {
        "whitecrow": whitecrow.__version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}, {cores} cores",
        **{name: _installed(name) or "missing" for name in ("numpy", "numba", "pyarrow")},
    }
    result = {**about, "compiled": kernels, "optional": parts}
    if output.as_json:
        output.show(result, "")
        return
    rows = [[name, str(found), ""] for name, found in about.items()]
    rows.append(_kernel_row(kernels))
    for what, found in parts.items():
        extra = _PARTS[what][1]
        rows.append([what, found or "not installed", "" if found else _fix(extra)])
    output.table("whitecrow doctor", ["Part", "Found", "To get it"], rows)


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
