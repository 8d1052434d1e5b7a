"""Levels: numbers of stumps, looks or seconds of training at which strategies are compared."""

from __future__ import annotations

import math

from boostsample.errors import SettingError, unknown

__all__ = ["LEVEL_AXES", "parse_levels"]

LEVEL_AXES = {
    "stumps": "stumps",
    "looks": "looks (search and modelling)",
    "seconds": "seconds of training",
}
"""Axes on which strategies are compared, with their titles in pictures."""


def parse_levels(text: str) -> tuple[str, tuple[float, ...] | None]:
    """Read an axis and optional levels; SettingError if they are not usable.

    >>> parse_levels("stumps"), parse_levels("looks=6e6,6e7")
    (('stumps', None), ('looks', (6000000.0, 60000000.0)))
    """
    axis, equals, listed = text.partition("=")
    if axis not in LEVEL_AXES:
        raise unknown("axis", axis, LEVEL_AXES)
    if not equals:
        return axis, None
    rule = "positive whole numbers" if axis == "stumps" else "positive numbers"
    levels = []
    for part in listed.split(","):
        try:
            level = float(part)
        except ValueError:
            level = math.nan
        if not 0 < level < math.inf or (axis == "stumps" and level % 1):
            raise SettingError(
                f"levels of {axis} must be {rule} separated by commas, as in "
                f"{axis}={'10,1000' if axis == 'stumps' else '6e6,6e7'}; got {part.strip()!r}"
            )
        levels.append(level)
    return axis, tuple(sorted(set(levels)))
