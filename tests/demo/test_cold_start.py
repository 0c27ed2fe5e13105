"""A new machine: the first answers come before a compiler has been loaded."""

from __future__ import annotations

import sys

import pytest
from benchmarks.cold_start import DEMO, QUESTIONS, fresh

WITHOUT = "\nimport sys\nassert 'numba' not in sys.modules, 'the compiler was loaded'\n"


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_first_question_about_few_records_needs_no_compiler(name: str) -> None:
    """Generous, for a busy machine: it takes 1 to 2 seconds of one core."""
    assert fresh([sys.executable, "-c", QUESTIONS[name] + WITHOUT]) < 30


def test_the_demo_ends_soon_where_nothing_is_compiled() -> None:
    """Generous, for a busy machine: it takes 4 seconds of one core, half of them compiling."""
    assert fresh(DEMO) < 60
