"""A new machine: the first answers come before a compiler has been loaded."""

from __future__ import annotations

import sys

import pytest
from benchmarks.cold_start import DEMO, FEW, QUESTIONS, asking, fresh

WITHOUT = "\nimport sys\nassert 'numba' not in sys.modules, 'the compiler was loaded'\n"


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_first_question_about_few_records_needs_no_compiler(name: str) -> None:
    """Generous, for a busy machine: it takes 1 to 2 seconds of one core."""
    assert fresh([sys.executable, "-c", QUESTIONS[name] + WITHOUT]) < 30


@pytest.mark.parametrize("name", ["count_3", "subspaces_3", "tune_2", "explain", "monitor_3"])
def test_ten_thousand_records_are_few(name: str) -> None:
    """Generous, for a busy machine: it takes 1 to 2 seconds of one core."""
    python, option, program, *given = asking(name, FEW, "once")
    assert fresh([python, option, program + WITHOUT, *given]) < 30


def test_the_demo_ends_soon_where_nothing_is_compiled() -> None:
    """Generous, for a busy machine: it takes 3 seconds of one core."""
    assert fresh(DEMO) < 60
