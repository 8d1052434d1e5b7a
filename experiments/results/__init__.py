"""Results of comparisons: runs, tables, curves, and the folders that hold them."""

from boostsample.experiments.results.read_folder import Results, read_results, read_runs

__all__ = ["Results", "read_results", "read_runs"]
