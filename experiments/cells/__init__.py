"""Cells: the trained runs of a comparison, their keys and files, and the training itself."""

from boostsample.experiments.cells.cell_file import Cell

__all__ = ["Cell"]
