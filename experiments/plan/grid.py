"""A grid: data sets times strategies times repetitions, from options, from a file, or from both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from boostsample.errors import SettingError
from boostsample.experiments.common.faults import Faults
from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.plan.grid_file import DataEntry, GridFile
from boostsample.experiments.plan.plan import Plan, Prepared, prepare

__all__ = ["Grid", "grid_of"]

DEFAULT_DATA = (DataEntry("digits"),)
_PLAN = {
    "strategies": "strategies",
    "families": "families",
    "rounds": "marks",
    "repeats": "repeats",
    "budget": "budget",
    "weights": "weights",
    "learner": "learner",
    "seed": "seed",
    "history": "history",
    "tune": "tune",
    "bank": "bank",
}
"""Options and entries of a file, with the fields of `Plan` that they fill."""


@dataclass(frozen=True)
class Grid:
    """What to compare on which data sets.

    Parameters
    ----------
    data : tuple of DataEntry
        Names or paths of the data sets, with families of their own if need be.
    plan : Plan
        What is done on each of them.
    title : str
    """

    data: tuple[DataEntry, ...] = DEFAULT_DATA
    plan: Plan = field(default_factory=Plan)
    title: str = ""

    def prepare(self, data_dir: str | None = None, what: str = "") -> list[Prepared]:
        """Load the data sets and fit the plan to each of them.

        Parameters
        ----------
        data_dir : str or None
            Folder of original data files.
        what : str
            What messages call the grid.

        Raises
        ------
        SettingError, DataError
            All that is wrong with the plan on any of the data sets.
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
                found.append(prepare(data, entry.plan(self.plan)))
        faults.raise_all(what if what and len(self.data) > 1 else "")
        return found


def grid_of(file: GridFile | None, given: Mapping[str, Any]) -> Grid:
    """The grid of a file, of options, or of a file that options complete.

    Parameters
    ----------
    file : GridFile or None
    given : mapping
        Options that the user gave, parsed, by the names of the entries of a file.

    Raises
    ------
    SettingError
        An option contradicts the file, or a setting is out of range.
    """
    entries: dict[str, Any] = {} if file is None else dict(file.entries)
    faults = Faults()
    for name, value in given.items():
        if name in entries and entries[name] != value:
            faults.add(
                f"--{name}",
                f"the grid says another {name} than this option; leave the option out, or edit a "
                "copy of the file",
            )
    if file is not None:
        faults.raise_all(str(file.path))
    entries |= given
    settings = {_PLAN[name]: value for name, value in entries.items() if name in _PLAN}
    data = entries.get("data", DEFAULT_DATA)
    return Grid(data, Plan(**settings), str(entries.get("title", "")))
