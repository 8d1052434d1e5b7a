"""Pictures of results: curves, families, sampling, edges, margins and ranks."""

from boostsample.experiments.plots.pictures import (
    COLOURS,
    DASHES,
    FORMATS,
    STYLE,
    check_picture,
    comparison_figure,
    describe,
    picture_bytes,
    save_picture,
)

__all__ = [
    "COLOURS",
    "DASHES",
    "FORMATS",
    "STYLE",
    "check_picture",
    "comparison_figure",
    "describe",
    "picture_bytes",
    "save_picture",
]
