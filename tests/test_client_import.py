"""What the client needs: the standard library and the light modules of whitecrow."""

from __future__ import annotations

import json
import subprocess
import sys

LIGHT = """
import json, sys
import whitecrow.client
print(json.dumps(sorted(sys.modules)))
"""


def test_the_client_loads_neither_curator_nor_any_other_package() -> None:
    done = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in json.loads(done.stdout)}
    standard = {*sys.stdlib_module_names, "__main__"}
    # What the environment itself loads at start (path files) is not the client's doing.
    bare = subprocess.run(
        [sys.executable, "-c", "import sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    elsewhere = {name.partition(".")[0] for name in bare.stdout.split()}
    assert loaded - standard - elsewhere == {"whitecrow"}
    assert not {"numpy", "pydantic", "sqlalchemy"} & loaded
    ours = {name for name in json.loads(done.stdout) if name.startswith("whitecrow.")}
    assert not {name.split(".")[1] for name in ours} & {"curator", "ledger", "data", "neighbours"}
