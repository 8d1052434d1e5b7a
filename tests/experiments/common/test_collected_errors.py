"""Several errors in one message."""

from __future__ import annotations

import re

import pytest

from boostsample.errors import SettingError
from boostsample.experiments.common.collected_errors import Faults


def test_the_places_of_many_long_errors_can_be_read() -> None:
    faults = Faults()
    for number in range(8):
        with faults.at(f"strategies[{number}]"):
            raise SettingError(f"unknown strategy {number}; known: " + "a, " * 150)
    with pytest.raises(SettingError, match=r"^the grid has 8 errors: ") as caught:
        faults.raise_all("the grid")
    places = re.findall(r"\((\d)\) strategies\[(\d)\]: unknown strategy (\d)", str(caught.value))
    assert places == [(f"{n + 1}", f"{n}", f"{n}") for n in range(8)]


def test_of_very_many_errors_the_first_are_listed() -> None:
    faults = Faults()
    for number in range(30):
        with faults.at(f"strategy {number}"):
            raise SettingError(f"unknown reward {number}; known: " + "a, " * 50)
    with pytest.raises(SettingError, match=r"\(9\) strategy 8: unknown reward 8.*; and 21 more$"):
        faults.raise_all()
