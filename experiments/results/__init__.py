"""Results of comparisons: runs, rows, curves, and the folders that hold them."""

from boostsample.experiments.results.results import Results, read_results, read_runs

__all__ = ["Results", "read_results", "read_runs"]
