"""What the tests of this folder share; its tools are importable from them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from whitecrow.ledger import Budget, Ledger
from whitecrow.place.balls import BALLS

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def ledger() -> Any:
    with Ledger("sqlite://", geometry=BALLS) as made:
        made.open("clinic", budget=Budget.of("1"))
        yield made
