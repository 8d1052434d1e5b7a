"""Cells: the trained runs of a comparison, their keys and files, and the training itself."""

from boostsample.experiments.cells.cell_store import Cell

__all__ = ["Cell"]
