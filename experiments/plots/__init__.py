"""Pictures of results: curves, families, sampling, edges, margins and ranks."""

from boostsample.experiments.plots.drawing import Layout, save_picture, using_layout

__all__ = ["Layout", "save_picture", "using_layout"]
