"""The engine that counts on a GPU, by looking at every pair."""

from __future__ import annotations

from whitecrow._arrays import Counts, Matrix
from whitecrow.neighbours._engine import LocalRecords, sparse_rows
from whitecrow.neighbours._tiles import Scattered
from whitecrow.neighbours.devices import Device, find_device
from whitecrow.neighbours.index import Progress
from whitecrow.neighbours.plans import CountsByForm, checked_cap, checked_data
from whitecrow.neighbours.relation import Form, NeighbourRelation


class GpuEngine(CountsByForm):
    """Counts neighbours in one dataset on a GPU, through CuPy or PyTorch.

    The records of the columns asked about last stay on the GPU.
    """

    def __init__(
        self,
        dataset: LocalRecords,
        *,
        device: Device | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._dataset = dataset
        self.device = find_device() if device is None else device
        self._progress = progress
        self._latest: tuple[tuple[str, ...], Form, Scattered] | None = None

    def __repr__(self) -> str:
        return f"<GpuEngine on {self.device.name}: records withheld>"

    def degrees(self, neighbour_relation: NeighbourRelation, cap: int | None = None) -> Counts:
        data = self._scattered(neighbour_relation)
        limit = checked_cap(cap, len(data), "degrees")
        return data.count_every(neighbour_relation.form(), limit, self._progress)

    def sparse(self, neighbour_relation: NeighbourRelation, cap: int) -> tuple[Matrix, Counts]:
        return sparse_rows(
            self._dataset, neighbour_relation, self.degrees(neighbour_relation, cap), cap
        )

    def _count(
        self, asked: Matrix, relation: NeighbourRelation, form: Form, cap: int | None
    ) -> Counts:
        data = self._scattered(relation)
        return data.count_for(form.placed(asked), form, checked_cap(cap, len(data), "engine"))

    def _scattered(self, relation: NeighbourRelation) -> Scattered:
        # Read and written once each: questions about other columns run in other threads.
        latest, wanted = self._latest, (relation.columns, relation.form().space)
        if latest is None or latest[:2] != wanted:
            values = checked_data(self._dataset.matrix(relation.columns), "engine")
            placed = relation.form().placed(values)
            self._latest = latest = *wanted, Scattered(self.device, placed)
        return latest[2]
