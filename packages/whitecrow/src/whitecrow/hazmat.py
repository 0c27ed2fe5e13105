"""Bare mechanisms, seeds and the quantities the proofs speak of. **No ledger, no policy.**

Nothing here is accounted for: a second call spends a second time, a seeded source makes noise that
anyone can subtract, and the exact quantities are private. It is for researchers, tests and proofs;
analysts and custodians use :class:`whitecrow.Curator`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whitecrow.anomaly.law import discrepancy, flip_probability
    from whitecrow.attack.naive import naive_release
    from whitecrow.counting.ball_cover import ball_cover
    from whitecrow.counting.smooth import smooth_sensitivity
    from whitecrow.explain.unaccounted import context_release, exact_release_law, matching_contexts
    from whitecrow.identify.compiler import (
        Base,
        Coins,
        Compiled,
        compiled,
        optimal_base,
        randomized_response,
    )
    from whitecrow.identify.map import privacy_map
    from whitecrow.identify.unaccounted import identify
    from whitecrow.neighbours import count_related
    from whitecrow.noise.seeded import seeded

_WHERE = {
    "Base": "whitecrow.identify.compiler",
    "Coins": "whitecrow.identify.compiler",
    "Compiled": "whitecrow.identify.compiler",
    "ball_cover": "whitecrow.counting.ball_cover",
    "compiled": "whitecrow.identify.compiler",
    "context_release": "whitecrow.explain.unaccounted",
    "count_related": "whitecrow.neighbours",
    "discrepancy": "whitecrow.anomaly.law",
    "exact_release_law": "whitecrow.explain.unaccounted",
    "flip_probability": "whitecrow.anomaly.law",
    "identify": "whitecrow.identify.unaccounted",
    "matching_contexts": "whitecrow.explain.unaccounted",
    "naive_release": "whitecrow.attack.naive",
    "optimal_base": "whitecrow.identify.compiler",
    "privacy_map": "whitecrow.identify.map",
    "randomized_response": "whitecrow.identify.compiler",
    "seeded": "whitecrow.noise.seeded",
    "smooth_sensitivity": "whitecrow.counting.smooth",
}

__all__ = [
    "Base",
    "Coins",
    "Compiled",
    "ball_cover",
    "compiled",
    "context_release",
    "count_related",
    "discrepancy",
    "exact_release_law",
    "flip_probability",
    "identify",
    "matching_contexts",
    "naive_release",
    "optimal_base",
    "privacy_map",
    "randomized_response",
    "seeded",
    "smooth_sensitivity",
]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(importlib.import_module(_WHERE[name]), name)
    raise AttributeError(f"whitecrow.hazmat has no {name!r}")
