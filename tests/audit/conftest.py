"""All rows of the audit, listed once: that takes seconds."""

from __future__ import annotations

import pytest

from whitecrow_audit.audit import Case, cases


@pytest.fixture(scope="session")
def every() -> list[Case]:
    return cases()
