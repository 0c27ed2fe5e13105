"""Other programs: a client made from the OpenAPI document alone is typed throughout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from whitecrow.questions import kinds
from whitecrow_server import Settings, create_app

GENERATOR = "openapi-python-client==0.29.1"
ASKING = {"ask", "price", "plan"}


@pytest.fixture
def document(tmp_path: Path) -> dict[str, Any]:
    app = create_app(Settings(database=f"sqlite:///{tmp_path / 's.db'}"))
    written: dict[str, Any] = app.openapi()
    app.state.service.close()
    return written


def parts(node: Any, path: str = "") -> list[tuple[str, dict[str, Any]]]:
    """Every object of a document, and where it stands."""
    if isinstance(node, list):
        return [found for i, one in enumerate(node) for found in parts(one, f"{path}/{i}")]
    if not isinstance(node, dict):
        return []
    inner = [found for key, one in node.items() for found in parts(one, f"{path}/{key}")]
    return [(path, node), *inner]


def test_every_list_in_the_document_says_what_it_lists(document):
    for path, node in parts(document):
        kind = node.get("type")
        if kind == "array" or (isinstance(kind, list) and "array" in kind):
            assert "items" in node or "prefixItems" in node, path


@pytest.mark.study
@pytest.mark.timeout(600)
def test_a_client_made_by_a_generator_type_checks(document, tmp_path):
    environment = tmp_path / "venv"
    bare = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    bare["PATH"] = f"{environment / 'bin'}{os.pathsep}{bare['PATH']}"

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=tmp_path, env=bare, capture_output=True, text=True, check=False
        )

    run(sys.executable, "-m", "venv", str(environment))
    tools = (GENERATOR, "mypy", "types-python-dateutil")
    got = run(str(environment / "bin" / "pip"), "install", "-q", *tools)
    if got.returncode:
        pytest.skip(f"{GENERATOR} and mypy could not be installed: {got.stderr[-200:]}")
    (tmp_path / "openapi.json").write_text(json.dumps(document))
    made = run(
        *("openapi-python-client", "generate", "--path", "openapi.json", "--meta", "none"),
        *("--output-path", "client", "--fail-on-warning"),
    )
    assert made.returncode == 0, made.stdout + made.stderr
    files = {path.name.partition("_v1_")[0] for path in tmp_path.glob("client/api/questions/*_v1*")}
    assert files == ASKING
    # Without client.py: it is the generator's own text, the same for every document.
    checked = run("mypy", "--strict", "--follow-imports=silent", "client/api", "client/models")
    assert checked.returncode == 0, checked.stdout
    asks = (tmp_path / "client/api/questions/ask_v1_datasets_name_ask_post.py").read_text()
    assert len(kinds()) <= asks.count("isinstance(body, ") + 1
