"""Pictures of results: curves, families, sampling, edges, margins and ranks."""

from boostsample.experiments.plots.curves import comparison_figure
from boostsample.experiments.plots.drawing import Layout, check_picture, save_picture, using_layout

__all__ = ["Layout", "check_picture", "comparison_figure", "save_picture", "using_layout"]
