"""A model of anomalies that the code of a service registers."""

from __future__ import annotations

from typing import Any

import whitecrow as wc


class Agreeing(wc.CountingModel):
    """A record with which at most two, itself included, agree in two columns."""

    kind, threshold = "agreeing", 2

    def weight(self, i: Any, other: Any) -> int:
        """1 for a record that agrees."""
        return int(sum(a == b for a, b in zip(i, other, strict=True)) >= 2)
