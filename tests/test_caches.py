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

PUBLIC = ("whitecrow_audit/", "whitecrow/detector/")
"""Checks on made-up universes, and released detectors: nothing there is private."""

CACHES = {
    ("whitecrow/anomaly/detectors/libraries.py", "_enable"): "nothing",
    ("whitecrow/anomaly/graph.py", "all_pairs"): "a synthetic universe, for checks",
    ("whitecrow/anomaly/model.py", "_installed"): "nothing",
    ("whitecrow/anomaly/model.py", "_plugged_in"): "a kind of model",
    ("whitecrow/_compiled.py", "_tell_of_compiling"): "nothing",
    ("whitecrow/attack/scores.py", "_freedom"): "a number of releases",
    ("whitecrow/counting/calibration.py", "_smooth"): "the question and the card",
    ("whitecrow/counting/smooth.py", "least_bound"): "the calibration: cap, decay, relation",
    ("whitecrow_server/console/_site.py", "_packed"): "nothing",
    ("whitecrow_server/console/_site.py", "plotly_styles"): "nothing",
    ("whitecrow/terms.py", "policy_of"): "a policy's text",
    ("whitecrow/questions.py", "_built_in"): "a kind of question",
    ("whitecrow/questions.py", "_installed"): "nothing",
    ("whitecrow/questions.py", "_plugged_in"): "a kind of question",
    ("whitecrow/card.py", "_fingerprints"): "the card",
    ("whitecrow/explain/contexts.py", "bits"): "the question and the card",
    ("whitecrow/explain/contexts.py", "shifts"): "the question and the card",
    ("whitecrow/explain/mechanism.py", "__post_init__"): "the shape of a context, and it ends with the question",
    ("whitecrow/explain/unaccounted.py", "_flip_law"): "exact laws, for hazmat and the checks; no question uses it",
    ("whitecrow/explain/_utilities.py", "_check_everywhere"): "a utility and the card's sizes",
    ("whitecrow/place/balls.py", "_sheet_name"): "a queried ball",
    ("whitecrow/neighbours/relation.py", "same_place"): "a relation",
    ("whitecrow/neighbours/relation.py", "space"): "a relation",
    ("whitecrow/histogram/noise_budget.py", "concentrated"): "a price",
    ("whitecrow/histogram/line.py", "root"): "a column's type and bounds",
    ("whitecrow/learning/question.py", "rates"): "the question",
    ("whitecrow/monitor/drift.py", "sets"): "a released layout",
    ("whitecrow/monitor/drift.py", "weight"): "the horizon and a released layout",
    ("whitecrow/monitor/question.py", "calendar"): "the question",
    ("whitecrow/monitor/streams.py", "_sums"): "kind of noise and horizon",
    ("whitecrow/monitor/streams.py", "inverse"): "kind of noise and horizon",
    ("whitecrow/monitor/streams.py", "strategy"): "kind of noise and horizon",
    ("whitecrow/ledger/account.py", "_plain"): "nothing",
    ("whitecrow/ledger/account.py", "text"): "the account, with which it goes",
    ("whitecrow/privacy/composition.py", "best_order"): "a cap",
    ("whitecrow/privacy/composition.py", "penalties"): "a cap's delta and an order",
    ("whitecrow/ledger/spatial.py", "<module>"): "a price's text",
    ("whitecrow/ledger/spatial.py", "_ball"): "a queried ball, its price and who asked",
    ("whitecrow/ledger/transaction.py", "_budget"): "a budget's text",
    ("whitecrow/ledger/transaction.py", "terms_of"): "a promise",
    ("whitecrow/ledger/database.py", "_for_postgresql"): "a statement's text",
    ("whitecrow/ledger/database.py", "_for_sqlite"): "a statement's text",
    ("whitecrow/ledger/database.py", "_row"): "names of columns",
    ("whitecrow/ledger/statements.py", "acts"): "a number of kinds of acts",
    ("whitecrow/ledger/statements.py", "closing_of"): "a number of entries to look up",
    ("whitecrow/ledger/statements.py", "some_entries"): "a number of entries to look up",
    ("whitecrow/data/warehouse/spark.py", "_parts"): "the files of the source",
    ("whitecrow/data/warehouse/workers.py", "_spare_the_collector"): "nothing",
    ("whitecrow/neighbours/work.py", "_slots"): "the cells of one count, with which it goes",
    ("whitecrow/neighbours/devices.py", "cupy_device"): "nothing",
    ("whitecrow/neighbours/devices.py", "torch_device"): "the name of a device",
    ("whitecrow/neighbours/cells.py", "_spans"): "nothing: it ends with the lattice",
    ("whitecrow/neighbours/cells.py", "_strides"): "nothing: it ends with the lattice",
    ("whitecrow/neighbours/relation.py", "<module>"): "the question's columns, metric and radius",
    ("whitecrow/neighbours/relation.py", "_form"): "the question's neighbour relation",
    ("whitecrow/neighbours/parallel.py", "_cores"): "nothing",
    ("whitecrow/neighbours/_tiles.py", "_kernel"): "a measure and a number of columns",
    ("whitecrow/noise/_exact.py", "_factors"): "a precision",
    ("whitecrow/noise/_integers.py", "<module>"): "a public scale, or variance (or remember=False)",
    ("whitecrow/privacy/guarantees.py", "odds"): "a price",
    ("whitecrow/publish/periods.py", "_first"): "the question",
    ("whitecrow/publish/periods.py", "_numbers"): "the question",
    ("whitecrow/publish/plan.py", "_deviations"): "the plan",
    ("whitecrow/publish/plan.py", "_floats"): "the plan",
    ("whitecrow/publish/plan.py", "_json"): "the plan",
    ("whitecrow/publish/plan.py", "_stages"): "the plan",
    ("whitecrow/publish/plan.py", "_units"): "the plan",
    ("whitecrow/publish/plan.py", "bound"): "the plan",
    ("whitecrow/publish/plan.py", "first"): "the plan",
    ("whitecrow/publish/plan.py", "levels"): "the plan",
    ("whitecrow/publish/plan.py", "step"): "the plan",
    ("whitecrow/publish/question.py", "calendar"): "the question",
    ("whitecrow/publish/buffered.py", "scales"): "the plan",
    ("whitecrow/publish/buffered.py", "_scales"): "the plan",
    ("whitecrow/publish/buffered.py", "_variances"): "the plan",
    ("whitecrow/publish/buffered.py", "_parsed"): "the plan",
    ("whitecrow/publish/plan.py", "_scales"): "the plan",
    ("whitecrow/question.py", "_sentence"): "a price",
    ("whitecrow/question.py", "canonical"): "the question",
    ("whitecrow/question.py", "cache_key"): "the question",
    ("whitecrow/question.py", "_facts"): "the question",
    ("whitecrow/screening/question.py", "cache_key"): "the question",
    ("whitecrow/screening/law.py", "_entries"): "a public law",
    ("whitecrow/screening/law.py", "chosen"): "a model and a price",
    ("whitecrow/screening/law.py", "table"): "a public law",
    ("whitecrow/learned.py", "_common_ledger"): "nothing",
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
        if not where.startswith(PUBLIC)
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
