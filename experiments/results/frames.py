"""Rows of results as data frames of pandas, which is optional."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from boostsample.errors import DataError, SettingError, unknown

if TYPE_CHECKING:
    import pandas as pd


def rows_to_frame(
    tables: Mapping[str, Sequence[Mapping[str, Any]] | None], what: str
) -> pd.DataFrame:
    """One of several tables of rows as a data frame; text that holds numbers becomes numbers.

    SettingError for an unknown name or without pandas, DataError if that table was not kept.
    """
    if what not in tables:
        raise unknown("table", what, tables)
    rows = tables[what]
    if not rows:
        hint = "; run the comparison with --history" if what == "history" else ""
        raise DataError(f"the results must hold {what} for a data frame, got none{hint}")
    if importlib.util.find_spec("pandas") is None:
        raise SettingError(
            "to_frame needs the package pandas, which is not installed; run "
            "pip install 'boostsample[report]', or use the lists of dicts rows, curves and history"
        )
    import pandas as pd

    frame = pd.DataFrame.from_records(list(rows))
    for name in frame.columns:
        if name not in ("data", "strategy", "settings", "learner", "family", "stopped"):
            try:
                frame[name] = pd.to_numeric(frame[name])
            except (TypeError, ValueError):
                continue
    return frame
