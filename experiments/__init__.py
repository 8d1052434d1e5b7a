"""Compares strategies: data sets, grids, runs, results, tables, plots, reports and commands.

Import names from their modules, as in
``from boostsample.experiments.data.datasets import load_dataset``.
"""

if __name__ != "boostsample.experiments":
    raise ImportError(
        f"import this package as boostsample.experiments, not as {__name__!r}: "
        "under two names every class would exist twice"
    )
