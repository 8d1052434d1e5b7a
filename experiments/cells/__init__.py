"""Cells: one run each, its key, its training, its file."""
