"""Compares strategies: data sets, grids, runs, results, tables, plots, reports and commands.

``from boostsample.experiments import compare`` is the function for users; import other names from
their modules, as in ``from boostsample.experiments.data.datasets import load_dataset``.
"""

import importlib

if __name__ != "boostsample.experiments":
    raise ImportError(
        f"import this package as boostsample.experiments, not as {__name__!r}: "
        "under two names every class would exist twice"
    )


def __getattr__(name: str) -> object:
    """Import `compare` on first use (PEP 562): the package itself imports nothing."""
    if name != "compare":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module("boostsample.experiments.run.comparison").compare
