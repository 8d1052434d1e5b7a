"""Pictures of results: curves, families, sampling, edges, margins and ranks."""

from boostsample.experiments.plots.curves import comparison_figure
from boostsample.experiments.plots.drawing.figures import COLOURS, DASHES, STYLE
from boostsample.experiments.plots.drawing.layout import Layout, using_layout
from boostsample.experiments.plots.drawing.picture_files import (
    FORMATS,
    check_picture,
    describe,
    picture_bytes,
    save_picture,
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
