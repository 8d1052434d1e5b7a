"""Results of comparisons: runs, rows, curves, and the folders that hold them."""

from boostsample.experiments.results.folder.read_folder import Results, read_results, read_runs

__all__ = ["Results", "read_results", "read_runs"]
