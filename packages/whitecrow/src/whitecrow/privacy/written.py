"""Guarantees as the ledger writes them down, read back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from whitecrow.privacy.guarantees import (
    ConditionalPrivacy,
    DifferentialPrivacy,
    Guarantee,
    SensitivePrivacy,
    ZeroConcentrated,
    Zone,
)


def guarantee(data: Mapping[str, Any]) -> Guarantee:
    """Read the JSON of a guarantee back."""
    notion = data["notion"]
    if notion == "differential":
        return DifferentialPrivacy(data["epsilon"], data["delta"], data["unit"])
    if notion == "concentrated":
        return ZeroConcentrated(data["rho"], data["unit"])
    if notion == "sensitive":
        zones = (Zone.from_json(data), *_zones(data.get("and_also", [])))
        return SensitivePrivacy.over(data["epsilon"], zones, data["delta"])
    return ConditionalPrivacy(
        data["epsilon"],
        data["condition"],
        tuple(data.get("and_also", [])),
        data["delta"],
        _zones(data.get("zones", [])),
    )


def _zones(listed: Iterable[Mapping[str, Any]]) -> tuple[Zone, ...]:
    return tuple(Zone.from_json(one) for one in listed)
