"""A grid that grows in its folder keeps the keys of the runs that are there."""

from __future__ import annotations

from typing import Any

import pytest

from boostsample.errors import SettingError
from boostsample.experiments.results.folder.grid_growth import check_growth


def test_runs_with_other_keys_are_named() -> None:
    def grid(key: str) -> dict[str, Any]:
        run = {"name": "full", "settings": {}, "repetition": 0, "keys": [key]}
        return {"rounds": [2], "history": False, "data_sets": [{"name": "a", "searches": [run]}]}

    check_growth(grid("x"), grid("x"), grid("x"), "'f'")
    with pytest.raises(SettingError, match="full of a has other rows, families, values to tune or"):
        check_growth(grid("x"), grid("y"), grid("y"), "'f'")
