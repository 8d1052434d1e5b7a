"""Ticks of log axes: three or more with names, all in one style of numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from matplotlib.axis import Axis
from matplotlib.ticker import Formatter, LogLocator, MaxNLocator

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_DIGITS = ((1,), (1, 2, 5), (1, 3), tuple(range(1, 10)))
"""First digits of the ticks, the preferred ones first."""
_LEAST, _MOST = 3, 9  # numbers of ticks


def tick_name(value: float, *, powers: bool) -> str:
    """The name of a positive number, in plain digits or with a power of ten.

    >>> [tick_name(value, powers=False) for value in (0.001, 0.2, 1, 5_000, 200_000)]
    ['0.001', '0.2', '1', '5,000', '200,000']
    >>> [tick_name(value, powers=True) for value in (5e-4, 1, 10_000, 2e6)]
    ['5×10⁻⁴', '10⁰', '10⁴', '2×10⁶']
    """
    if not powers:
        return f"{value:,.12g}"
    exponent = math.floor(math.log10(value) + 1e-9)
    digit = f"{value / 10.0**exponent:g}"
    power = "10" + str(exponent).translate(_SUPERSCRIPTS)
    return power if digit == "1" else f"{digit}×{power}"


class LogTicks(LogLocator):
    """Places of at least three ticks, at most as many as there is room for."""

    def __init__(self, *, integer: bool = False) -> None:
        super().__init__()
        self.integer = integer  # ticks at whole numbers only

    def __call__(self) -> Any:
        """The ticks of the axis."""
        assert isinstance(self.axis, Axis), "a tick locator is used by an axis"
        low, high = sorted(self.axis.get_view_interval())
        return self.places(low, high, self.axis.get_tick_space())

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """The ticks between two positive numbers."""
        return self.places(min(vmin, vmax), max(vmin, vmax), _MOST)

    def places(self, low: float, high: float, room: int) -> list[float]:
        """Ascending ticks from `low` to `high`, more than `room` only to have three."""
        room = min(max(room, _LEAST), _MOST)
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        usable = []
        for digits in _DIGITS:
            every = [float(f"{d}e{n}") for n in range(first, last + 1) for d in digits]
            ticks = _inside(every, low, high)
            if digits == (1,) and len(ticks) > room:
                ticks = ticks[:: min(-(-len(ticks) // room), (len(ticks) - 1) // 2)]
            if _LEAST <= len(ticks) <= room:
                return ticks
            if len(ticks) > room:
                usable.append(ticks)
        if usable:
            return min(usable, key=len)
        for bins in (4, 6, 9):
            even = MaxNLocator(bins, steps=[1, 2, 2.5, 5, 10], integer=self.integer)
            ticks = _inside(even.tick_values(low, high), low, high)
            if len(ticks) >= _LEAST:
                break
        return ticks


def _inside(values: Iterable[float], low: float, high: float) -> list[float]:
    slack = 1e-9
    inside = [float(value) for value in values if low * (1 - slack) <= value <= high * (1 + slack)]
    return list(np.unique(inside))


class LogNames(Formatter):
    """Names of the ticks: all plain, or all with powers of ten if one is large or small."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        """The name of a tick that is alone."""
        del pos
        return self.format_ticks([x])[0]

    def format_ticks(self, values: Iterable[float]) -> list[str]:
        """The names of all ticks of an axis."""
        every = list(values)
        powers = any(value < 9.99e-4 or value >= 1e6 for value in every)
        return [tick_name(value, powers=powers) for value in every]
