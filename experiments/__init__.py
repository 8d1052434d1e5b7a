"""Experiments: data sets, and later grids, tables and plots, all built on the engine.

Import what you need from its module, for instance
``from boostsample.experiments.data.datasets import load_dataset``; this file imports nothing.
"""

if __name__ != "boostsample.experiments":
    raise ImportError(
        f"import this package as boostsample.experiments, not as {__name__!r}: "
        "under two names every class would exist twice"
    )
