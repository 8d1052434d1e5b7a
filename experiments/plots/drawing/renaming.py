"""Results with new names of strategies, for pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from boostsample.experiments.common.new_names import check_new_names
from boostsample.experiments.plan.variants import CHARGED_VARIANT, Variant
from boostsample.experiments.results.labels import is_charged, label_of
from boostsample.experiments.results.read_folder import Results
from boostsample.experiments.results.runs import Run


def renamed_results(results: Sequence[Results], names: Mapping[str, str]) -> list[Results]:
    """Results whose rows have the new names; `names` maps labels of strategies to these.

    A charged strategy follows the name of the tuned one. SettingError as in `check_new_names`.
    """
    labels = (label_of(row) for one in results for row in one.rows)
    check_new_names(names, (label for label in labels if not is_charged(label)))
    charged = {old + CHARGED_VARIANT: new + CHARGED_VARIANT for old, new in names.items()}
    every = {**names, **charged}

    def renamed(row: dict[str, Any]) -> dict[str, Any]:
        new = every.get(label_of(row))
        return row if new is None else {**row, "strategy": new, "settings": ""}

    return [replace(one, table=list(map(renamed, one.table))) for one in results]


def renamed_runs(runs: Sequence[Run], names: Mapping[str, str]) -> list[Run]:
    """Runs whose strategies have the new names; see `renamed_results`."""
    labels = [label_of(run.row_names) for run in runs]
    check_new_names(names, labels)
    return [
        replace(run, variant=Variant(names[label]), trained=Variant(names[label]))
        if label in names
        else run
        for run, label in zip(runs, labels, strict=True)
    ]
