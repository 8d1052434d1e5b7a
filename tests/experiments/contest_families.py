"""Groups of neighbouring columns as families of a file, for strategies that choose families."""

from __future__ import annotations

import numpy as np

from boostsample.families import Columns


class Part(Columns):
    """One of `parts` groups of neighbouring columns of a table of `width` columns."""

    def __init__(self, part: int = 0, parts: int = 1, width: int = 1) -> None:
        self.part, self.parts, self.width = part, parts, width
        first, end = np.linspace(0, width, parts + 1).astype(int)[part : part + 2]
        super().__init__(range(first, end), f"part{part}", width)


def parts(width: int, most: int) -> list[str]:
    """The names of the groups, as many as there are columns and at most so many."""
    n = min(most, width)
    return [f"{__file__}:Part:part={k}:parts={n}:width={width}" for k in range(n)]
