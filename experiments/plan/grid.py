"""Grids: data sets, strategies and repetitions to compare, from a file, options, or both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from boostsample.errors import SettingError
from boostsample.experiments.common.faults import Faults
from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.plan.grid_file import GRID_ENTRIES, GridFile, GridFileData
from boostsample.experiments.plan.plan import Plan
from boostsample.experiments.plan.prepared import Prepared, prepare

__all__ = ["Grid", "combined_grid"]


@dataclass(frozen=True)
class Grid:
    """What to compare on which data sets."""

    data: tuple[GridFileData, ...] = (GridFileData("digits"),)
    plan: Plan = field(default_factory=Plan)  # families of a `DataEntry` replace those of the plan
    title: str = ""

    def prepare(self, data_dir: str | None = None) -> list[Prepared]:
        """Load the data sets, from `data_dir` if given, and apply the plan to each of them.

        SettingError or DataError, listing the errors of all data sets, if the plan does not fit.
        """
        faults = Faults()
        found: list[Prepared] = []
        for entry in self.data:
            with faults.at(entry.name if len(self.data) > 1 else ""):
                data = load_dataset(entry.name, data_dir=data_dir, seed=self.plan.seed)
                if any(one.data.name == data.name for one in found):
                    raise SettingError(
                        f"data sets need different names, got {data.name!r} twice; rename a file"
                    )
                families = self.plan.families if entry.families is None else entry.families
                found.append(prepare(data, replace(self.plan, families=families)))
        faults.raise_all("the grid" if len(self.data) > 1 else "")
        return found


def combined_grid(file: GridFile | None, given: Mapping[str, Any]) -> Grid:
    """Combine a grid file with parsed options, `given` by the names of a file's entries.

    SettingError if an option contradicts the file.
    """
    entries = {} if file is None else dict(file.entries)
    faults = Faults()
    for name, value in given.items():
        with faults.at(f"--{name}"):
            if entries.setdefault(name, value) != value:
                raise SettingError(
                    f"the grid has another {name} than this option; leave the option out, or edit "
                    "a copy of the file"
                )
    if file is not None:
        faults.raise_all(str(file.path))
    plan = Plan(**{GRID_ENTRIES[name]: entries[name] for name in GRID_ENTRIES.keys() & entries})
    grid = {name: entries[name] for name in ("data", "title") if name in entries}
    return Grid(plan=plan, **grid)
