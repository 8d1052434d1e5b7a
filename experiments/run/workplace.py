"""The splits and banks of a worker process, made once and kept."""

from __future__ import annotations

import threading
from collections import OrderedDict

from boostsample.experiments.cells.training import (
    TrainingOrder,
    TrainingSplit,
    TrainingWatch,
    train_cell,
    warm_up_training,
)
from boostsample.experiments.plan.prepared import Prepared

__all__ = ["Workplace"]

_MOST_SPLITS = 2  # splits that a worker process keeps in memory


class Workplace:
    """Trains cells in a worker process; its threads share the splits."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._splits: OrderedDict[tuple[str, ...], TrainingSplit] = OrderedDict()
        self._warm: set[tuple[str, ...]] = set()

    def work(self, prepared: Prepared, order: TrainingOrder, watch: TrainingWatch) -> bytes:
        """Train a cell and return the content of its file."""
        facts = order.task.facts
        data = (str(prepared.plan), str(facts["data"]), str(facts["families"]))
        place = (*data, str(facts["split"]))
        with self._lock:
            split = self._splits.get(place)
            if split is None:
                form = "lazy" if prepared.plan.bank.name == "lazy" else "disk"
                split = TrainingSplit(prepared, order.task.repetition, form=form)
                self._splits[place] = split
                while len(self._splits) > _MOST_SPLITS:
                    self._splits.popitem(last=False)
            warm = (*data, order.task.variant.label)
            if order.known is None and warm not in self._warm:
                warm_up_training(split, order.task)
                self._warm.add(warm)
        return train_cell(split, order, watch).to_bytes()
