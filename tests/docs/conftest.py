"""What the pages name as evidence, looked up."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from whitecrow_audit.verify import checks

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def named() -> Callable[[str], list[str]]:
    """Return the checks and tests that a list in backquotes names; each of them exists."""
    claims = {f"verify {check.mechanism}: {check.name}" for check in checks()}

    def look_up(said: str) -> list[str]:
        found = [" ".join(name.split()) for name in re.findall(r"`([^`]+)`", said)]
        for name in found:
            if name.startswith("verify "):
                assert name in claims
            else:
                file, _, test = name.partition("::")
                assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8"), name
        return found

    return look_up
