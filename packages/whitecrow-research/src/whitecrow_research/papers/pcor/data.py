"""The data of the experiments: other years and states than the paper's, of the same shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from whitecrow.anomaly.detectors import Detector
from whitecrow.data import Card, Column, Dataset, read
from whitecrow.explain.contexts import Grid, Space
from whitecrow_research.papers.report import Context

_TAIL = 25


@dataclass(frozen=True)
class Study:
    """A public dataset, its attributes and its metric."""

    name: str
    data: Dataset
    attributes: tuple[str, ...]
    metric: str

    def record(self, row: int) -> dict[str, Any]:
        """Return one record as a question takes it."""
        card = self.data.card
        values: dict[str, Any] = {}
        for name in self.attributes:
            categories = card.column(name).categories or ()
            values[name] = categories[int(self.data.values(name)[row])]
        return {**values, self.metric: float(self.data.values(self.metric)[row])}


def salary(context: Context, *, small: bool = False) -> Study | None:
    """Ontario's public salaries 1999-2006: 65,231 records, or 11,000 with 14 values."""
    metric = Column("Salary", lower=100_000, upper=3_000_000, resolution=0.01)
    keep = {"Jobtitle": 5, "Employer": 4, "Year": 5} if small else {}
    names = ("Jobtitle", "Employer", "Year")
    return _study(context, "ontario_salary.parquet", names, metric, keep, 11_000)


def homicide(context: Context, *, small: bool = False) -> Study | None:
    """Homicide reports of six western states: 42,532 records, or 28,000 with 12 values."""
    metric = Column("VictimAge", "integer", lower=0, upper=120)
    keep = {"AgencyType": 4, "State": 4, "Weapon": 4} if small else {}
    names = ("AgencyType", "State", "Weapon")
    return _study(context, "homicide.parquet", names, metric, keep, 28_000)


def _study(
    context: Context,
    file: str,
    names: Sequence[str],
    metric: Column,
    keep: Mapping[str, int],
    size: int,
) -> Study | None:
    """Read a file; with ``keep``, the most frequent values of each attribute and ``size`` rows."""
    path = context.dataset(file)
    if path is None:
        return None
    from pyarrow import compute, parquet

    table = parquet.read_table(path, columns=[*names, metric.name])
    columns = []
    for name in names:
        counted = compute.value_counts(table[name].cast("string")).to_pylist()
        counted.sort(key=lambda item: (-item["counts"], item["values"]))
        chosen = [item["values"] for item in counted][: keep.get(name)]
        columns.append(Column(name, "category", categories=tuple(sorted(chosen))))
    # Values outside the kept categories are left out by the card, like anyone's would be.
    card = Card(path.stem, (*columns, metric))
    data = read(table, card)
    if keep and data.size > size:
        rows = np.random.default_rng(context.seed).permutation(data.size)[:size]
        data = Dataset(card, {name: data.values(name)[rows] for name in (*names, metric.name)})
    return Study(path.stem, data, tuple(names), metric.name)


def outliers(
    study: Study, detector: Detector, count: int, seed: int, *, hidden: bool = False
) -> list[dict[str, Any]]:
    """Return random records, each an outlier in the random context it was found in.

    A *hidden* one is no outlier among all records.
    """
    random = np.random.default_rng(seed)
    card, data = study.data.card, study.data
    steps = Grid.of(study.metric, card).cells(data.values(study.metric))
    every = np.sort(steps)
    records: list[dict[str, Any]] = []
    while len(records) < count:
        seen = study.record(int(random.integers(data.size)))
        space = Space.of(study.attributes, seen, card)
        chosen = space.chosen(int(random.integers(1 << space.bits)))
        inside = np.ones(data.size, dtype=bool)
        for attribute, codes in zip(space.attributes, chosen, strict=True):
            inside &= np.isin(data.values(attribute.name), codes)
        members = np.flatnonzero(inside)
        members = members[np.argsort(steps[members], kind="stable")]
        values = steps[members]
        tails = np.unique(np.r_[:_TAIL, len(members) - _TAIL : len(members)].clip(0))
        for index in random.permutation(tails[tails < len(members)]):
            own = int(values[index])
            if detector.outlier(values, own) and not (hidden and detector.outlier(every, own)):
                records.append(study.record(int(members[index])))
                break
    return records
