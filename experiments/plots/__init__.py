"""Pictures of results: curves, families, sampling, edges, margins and ranks."""

from boostsample.experiments.plots.curves import comparison_figure
from boostsample.experiments.plots.drawing import (
    COLOURS,
    DASHES,
    FORMATS,
    STYLE,
    Layout,
    check_picture,
    describe,
    picture_bytes,
    save_picture,
    using_layout,
)

__all__ = [
    "COLOURS",
    "DASHES",
    "FORMATS",
    "STYLE",
    "Layout",
    "check_picture",
    "comparison_figure",
    "describe",
    "picture_bytes",
    "save_picture",
    "using_layout",
]
