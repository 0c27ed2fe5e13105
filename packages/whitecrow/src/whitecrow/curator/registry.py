"""A draft entry for the Differential Privacy Deployments Registry, from an account.

The registry (OpenDP and others, 2025) collects how differential privacy is used in practice. What
an account knows is filled in; what only people know is marked :data:`TO_FILL_IN`. Nothing here is
read from records: the account's promises, caps and the kinds of questions are public.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from fractions import Fraction
from importlib.metadata import version
from typing import Any

from whitecrow.curator.opening import unit_of
from whitecrow.errors import InvalidInput
from whitecrow.ledger import Ledger
from whitecrow.ledger.revisions import revisions
from whitecrow.privacy import ZeroConcentrated

TO_FILL_IN = "TO BE FILLED IN"

_NEIGHBOURS = {
    "add_remove": "Two datasets are adjacent if one has one {unit} more than the other.",
    "replace_one": "Two datasets are adjacent if one {unit} has other values in one of them.",
}
_COMPOSITION = (
    "Pure losses add up; questions about one place cost a record only if it lies there, so the "
    "price of several is the largest sum over the places; zero-concentrated losses are added and "
    "read once as (epsilon, delta). Sums are exact fractions, reserved before a record is read."
)
_POST_PROCESSING = (
    "Counts are raised to 0; thresholds, scores and drawings are computed from what was released."
)
_MECHANISMS = (
    "whitecrow {version} ({kinds}). Answers are drawn by exact rational arithmetic from the "
    "operating system's randomness, so no floating-point number decides. The service replies at "
    "published moments. The records stay with the curator; analysts send questions, not code."
)
_ALL_COVERED = "Questions, prices and the card are public. No record is released as it is."
_NOT_COVERED = (
    "Records that the promise names as not covered are not protected; the details of the "
    "privacy unit say which. Questions, prices and the card are public."
)
_ACTORS = (
    "The custodian is trusted with the records. Analysts are not trusted: they may know all "
    "records but one, choose each question from earlier answers, and work together."
)


def registry_entry(ledger: Ledger, dataset: str) -> dict[str, Any]:
    """Return the draft of an entry as a plain JSON object (JSON is YAML too)."""
    snapshot = ledger.snapshot(dataset)
    settled = ledger.entries(dataset, kind="settle")
    if not settled:
        raise InvalidInput(
            f"Nothing was released under the account {dataset!r} yet, so there is no deployment to "
            "describe. Ask a question first."
        )
    closed = {entry.closes for entry in settled}
    kinds = Counter(
        str(entry.content["question"]["kind"])
        for entry in ledger.entries(dataset, kind="reserve")
        if entry.seq in closed
    )
    listed = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    totals, unit = snapshot.spent.totals(snapshot.budget.delta), unit_of(ledger, dataset)
    promise = totals.differential or totals.sensitive or totals.conditional
    if totals.differential is None:
        variant, unprotected = "Custom", _NOT_COVERED
    elif isinstance(totals.differential, ZeroConcentrated):
        variant, unprotected = "Zero-concentrated DP", _ALL_COVERED
    else:
        variant = "Approximate DP" if totals.differential.delta else "Pure DP"
        unprotected = _ALL_COVERED
    amounts = {name: getattr(promise, name, None) for name in ("epsilon", "delta", "rho")}
    caps = ", ".join(f"{name} {cap}" for name, cap in snapshot.budget.to_json().items())
    return {
        "url_slug": re.sub(r"[^a-z0-9]+", "_", dataset.lower()).strip("_") or "dataset",
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": {
                "name": dataset,
                "data_curators": [TO_FILL_IN],
                "description": f"Answers about outliers: {listed}.",
                "intended_use": TO_FILL_IN,
                "data_product_type": "Interactive API",
                "data_product_region": TO_FILL_IN,
                "publication_date": settled[0].at[:10],
            },
            "dp_variant": {
                "variant_name": variant,
                "data_domain": TO_FILL_IN,
                "unprotected_quantities": unprotected,
            },
            "privacy_loss": {
                "privacy_unit": unit,
                "privacy_unit_details": _NEIGHBOURS[snapshot.rules.unit].format(unit=unit),
                "privacy_parameters": {
                    name: _at_least(amount) for name, amount in amounts.items() if amount
                },
                "privacy_parameters_details": " ".join(totals.statements()),
            },
            "deployment_model": {
                "model_name": "Central",
                "actors": _ACTORS,
                "release_type": "Many releases",
                "release_type_details": f"All releases together stay within fixed caps ({caps}); "
                "they are not renewed.",
                "data_source_type": "Dynamic" if len(revisions(ledger, dataset)) > 1 else "Static",
                "access_type": "Interactive",
                "access_type_details": "The dataset's cap counts all analysts together; an analyst "
                "may have a cap of their own beside it. Collusion is assumed.",
            },
            "accounting": {"post_processing": _POST_PROCESSING, "composition": _COMPOSITION},
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": "Bounds and categories are on a card "
                "that is written from public knowledge, or bought by questions of this account.",
                "mechanisms": _MECHANISMS.format(
                    version=version("whitecrow"), kinds=", ".join(sorted(kinds))
                ),
                "justification": TO_FILL_IN,
            },
            "administrative": {
                "registry_authors": [TO_FILL_IN],
                "notes": f"Drafted from the account's chain, head {snapshot.head}.",
            },
        },
    }


def _at_least(amount: Fraction) -> float:
    """Return the least double that is not below an exact number."""
    nearest = float(amount)
    return nearest if Fraction(nearest) >= amount else math.nextafter(nearest, math.inf)
