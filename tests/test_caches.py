"""A warm cache must not tell a fact: whatever is remembered is known by something public.

A reply that comes sooner because the same value was met before tells that it was met. So every
cache that outlives a question is listed here, with what its entries are known by.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from fractions import Fraction

from whitecrow.counting.calibration import Calibration, draw
from whitecrow.counting.smooth import horizon
from whitecrow.noise._integers import _gaussian, _geometric
from whitecrow.noise.seeded import SeededSource

PUBLIC = ("verify", "audit", "detector")
"""Checks on made-up universes, and released detectors: nothing there is private."""

CACHES = {
    ("anomaly/detectors/registry.py", "_enable"): "nothing",
    ("_compiled.py", "_stamp"): "the sources of a kernel",
    ("counting/calibration.py", "_smooth"): "the question and the card",
    ("counting/smooth.py", "least_bound"): "the calibration: cap, decay, relation",
    ("console/_static.py", "_packed"): "nothing",
    ("console/_static.py", "plotly_styles"): "nothing",
    ("terms.py", "policy_of"): "a policy's text",
    ("questions.py", "_built_in"): "a kind of question",
    ("questions.py", "_installed"): "nothing",
    ("questions.py", "_plugged_in"): "a kind of question",
    ("card.py", "_fingerprint"): "the card",
    ("explain/contexts.py", "bits"): "the question and the card",
    ("explain/contexts.py", "shifts"): "the question and the card",
    ("explain/_graph.py", "__init__"): "the shape of a context, and it ends with the question",
    ("explain/law.py", "_flip_law"): "exact laws, for hazmat and the checks; no question uses it",
    ("explain/_utilities.py", "_check_everywhere"): "a utility and the card's sizes",
    ("place/balls.py", "_sheet_name"): "a queried ball",
    ("histogram/noise_budget.py", "concentrated"): "a price",
    ("histogram/line.py", "root"): "a column's type and bounds",
    ("learn/question.py", "rates"): "the question",
    ("monitor/drift.py", "_spans"): "the horizon",
    ("monitor/drift.py", "sets"): "a released layout",
    ("monitor/drift.py", "weight"): "the horizon and a released layout",
    ("monitor/question.py", "calendar"): "the question",
    ("monitor/strategy.py", "_sums"): "kind of noise and horizon",
    ("monitor/strategy.py", "inverse"): "kind of noise and horizon",
    ("monitor/strategy.py", "strategy"): "kind of noise and horizon",
    ("ledger/account.py", "_plain"): "nothing",
    ("ledger/spatial.py", "_ball"): "a queried ball, its price and who asked",
    ("ledger/transaction.py", "_budget"): "a budget's text",
    ("ledger/statements.py", "closing_of"): "a number of entries to look up",
    ("ledger/statements.py", "some_entries"): "a number of entries to look up",
    ("data/warehouse/spark.py", "_parts"): "the files of the source",
    ("data/warehouse/_tasks.py", "_spare_the_collector"): "nothing",
    ("neighbours/cellwork.py", "_slots"): "the cells of one count, with which it goes",
    ("neighbours/devices.py", "cupy_device"): "nothing",
    ("neighbours/devices.py", "torch_device"): "the name of a device",
    ("neighbours/index.py", "wide"): "an index, once it is asked about records alone",
    ("neighbours/_local.py", "_form"): "the question's neighbour relation",
    ("neighbours/_local.py", "_space"): "the question's neighbour relation",
    ("neighbours/parallel.py", "_cores"): "nothing",
    ("neighbours/plans.py", "prepared"): "nothing",
    ("neighbours/_tiles.py", "_kernel"): "a measure and a number of columns",
    ("noise/_exact.py", "_factors"): "a precision",
    ("noise/_integers.py", "_gaussian"): "a public variance (or remember=False)",
    ("noise/_integers.py", "_geometric"): "a public scale",
    ("privacy/sentences.py", "odds"): "a price",
    ("publish/periods.py", "_first"): "the question",
    ("publish/periods.py", "_numbers"): "the question",
    ("publish/plan.py", "_deviations"): "the plan",
    ("publish/plan.py", "_floats"): "the plan",
    ("publish/plan.py", "_json"): "the plan",
    ("publish/plan.py", "_stages"): "the plan",
    ("publish/plan.py", "best_mechanism"): "kind of noise and horizon of the series",
    ("publish/plan.py", "bound"): "the plan",
    ("publish/plan.py", "first"): "the plan",
    ("publish/plan.py", "levels"): "the plan",
    ("publish/plan.py", "step"): "the plan",
    ("publish/question.py", "calendar"): "the question",
    ("publish/square_root.py", "_strategy"): "the plan",
    ("publish/square_root.py", "coefficients"): "the plan",
    ("publish/buffered.py", "square_root"): "the plan",
    ("publish/buffered.py", "scales"): "the plan",
    ("publish/buffered.py", "_scales"): "the plan",
    ("publish/buffered.py", "_variances"): "the plan",
    ("publish/fitted.py", "_parsed"): "the plan",
    ("publish/plan.py", "_scales"): "the plan",
    ("question.py", "_sentence"): "a price",
    ("_estimator.py", "_common_ledger"): "nothing",
}  # fmt: skip
"""Where something is remembered, and what it is known by."""

_MAKERS = {"lru_cache", "cache", "cached_property"}


def _makes_a_cache(node: ast.AST) -> bool:
    return any(
        (isinstance(part, ast.Name) and part.id in _MAKERS)
        or (isinstance(part, ast.Attribute) and part.attr in _MAKERS)
        for part in ast.walk(node)
    )


def _caches(node: ast.AST, function: str = "<module>") -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            if any(map(_makes_a_cache, child.decorator_list)):
                yield child.name
            for part in child.body:
                yield from _caches(ast.Module([part], []), child.name)
        elif isinstance(child, ast.Call) and _makes_a_cache(child.func):
            yield function
        elif not isinstance(child, ast.ImportFrom):
            yield from _caches(child, function)


def test_every_cache_is_listed_with_what_it_is_known_by(trees):
    found = {
        (where, name)
        for where, tree in trees.items()
        if where.partition("/")[0] not in PUBLIC
        for name in _caches(tree)
    }
    assert found == set(CACHES)


def test_the_horizon_of_a_count_is_not_remembered_by_the_private_size():
    assert not hasattr(horizon, "cache_info")


def test_a_private_sensitivity_leaves_no_table_behind():
    for mechanism in ("smooth", "gaussian"):
        given = {"relation": "add_remove", "cap": 10, "multiplier": Fraction(2)}
        how = Calibration(mechanism, **given, decay=Fraction(9, 10), tail=3)
        before = _gaussian.cache_info().currsize, _geometric.cache_info().currsize
        for sensitivity in (Fraction(7, 3), Fraction(11, 5)):
            draw(how, sensitivity, SeededSource(1))
        assert (_gaussian.cache_info().currsize, _geometric.cache_info().currsize) == before
