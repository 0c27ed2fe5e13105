"""A draft for the Deployments Registry: the registry's fields, and the account's numbers."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pyarrow
import pytest
from click.testing import CliRunner

import whitecrow as wc
from whitecrow.cli import whitecrow
from whitecrow.report import TO_FILL_IN, registry_entry

MODEL = wc.DistanceAnomaly(beta=3, radius=1)
ROWS = pyarrow.table({"x": [1.0, 2.0, 3.0]})

FIELDS = {
    "basic": {
        "name",
        "data_curators",
        "description",
        "intended_use",
        "data_product_type",
        "data_product_region",
        "publication_date",
        "data_product_sector",
    },
    "dp_variant": {"variant_name", "data_domain", "unprotected_quantities"},
    "privacy_loss": {
        "privacy_unit",
        "privacy_unit_details",
        "privacy_parameters",
        "privacy_parameters_details",
    },
    "deployment_model": {
        "model_name",
        "model_name_details",
        "actors",
        "release_type",
        "release_type_details",
        "data_source_type",
        "data_source_type_details",
        "access_type",
        "access_type_details",
    },
    "accounting": {"post_processing", "composition"},
    "implementation": {"preprocessing_and_hyperparameter_tuning", "mechanisms", "justification"},
    "administrative": {"sources", "notes", "registry_authors"},
}
"""What the registry's schema allows, as of 2026; it refuses any other name."""

CHOICES = {
    ("dp_variant", "variant_name"): {
        "Pure DP",
        "Approximate DP",
        "Zero-concentrated DP",
        "Renyi DP",
        "Custom",
    },
    ("basic", "data_product_type"): {"Interactive API"},
    ("deployment_model", "model_name"): {"Central"},
    ("deployment_model", "release_type"): {"One release", "Many releases"},
    ("deployment_model", "data_source_type"): {"Static", "Dynamic"},
    ("deployment_model", "access_type"): {"Interactive", "Non-interactive"},
}


def curator(budget: str = "4, 1/1000") -> wc.Curator:
    return wc.Curator.open(ROWS, budget=budget)


def described(asked: wc.Curator) -> dict[str, dict[str, object]]:
    entry = registry_entry(asked.ledger, asked.name)
    assert set(entry) == {"url_slug", "status", "tier", "deployment"}
    assert entry["status"] == "Draft"
    found: dict[str, dict[str, object]] = entry["deployment"]
    return found


def test_the_fields_are_those_of_the_registry() -> None:
    asked = curator()
    asked.screen({"x": 5.0}, model=MODEL, epsilon="1/3")
    found = described(asked)
    assert set(found) == set(FIELDS)
    for section, allowed in FIELDS.items():
        assert set(found[section]) <= allowed, section
    for (section, name), allowed in CHOICES.items():
        assert found[section][name] in allowed
    assert found["basic"]["data_curators"] == [TO_FILL_IN]


def test_the_numbers_are_those_of_the_account_and_never_below_them() -> None:
    asked = curator()
    asked.screen({"x": 5.0}, model=MODEL, epsilon="1/3")
    loss = described(asked)["privacy_loss"]
    parameters = loss["privacy_parameters"]
    assert isinstance(parameters, dict)
    assert Fraction(1, 3) <= Fraction(parameters["epsilon"]) < Fraction(1, 3) + Fraction(1, 10**15)
    assert loss["privacy_parameters_details"] == asked.statement()


def test_a_promise_to_some_records_only_is_called_custom_and_told_in_full() -> None:
    asked = curator()
    asked.identify({"x": 2.0}, model=MODEL, epsilon="1/10", k=1)
    found = described(asked)
    assert found["dp_variant"]["variant_name"] == "Custom"
    assert found["privacy_loss"]["privacy_parameters_details"] == asked.statement()


def test_an_account_without_a_release_has_no_deployment() -> None:
    with pytest.raises(wc.InvalidInput, match="Nothing was released"):
        described(curator())


def test_the_terminal_writes_the_entry(tmp_path: Path) -> None:
    path = tmp_path / "x.whitecrow.db"
    asked = wc.Curator.open(ROWS, budget="1", ledger=path, name="x")
    asked.screen({"x": 5.0}, model=MODEL, epsilon="1/4")
    run = CliRunner()
    done = run.invoke(whitecrow, ["ledger", "export", str(path), "--registry"])
    assert done.exit_code == 0
    assert json.loads(done.output)["deployment"]["basic"]["name"] == "x"
    done = run.invoke(whitecrow, ["ledger", "export", str(path), "--registry", "--format", "csv"])
    assert done.exit_code != 0
