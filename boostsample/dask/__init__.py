"""Boosting over the workers of a Dask cluster; needs the extra `dask`.

`DaskBoostSampleClassifier` trains on Dask collections and folders. The loop itself is open, too::

    from boostsample.dask import DaskShards, ShardBooster

    with DaskShards(client, sources) as shards:
        booster = ShardBooster(shards, "laminating", n_rounds=300, rng=0)
        while not booster.finished:
            done = booster.next_round()

`sources` is a list of `Source`, one for each shard, whose `load() -> ShardData` runs on the worker.
`ShardBooster` has the interface of `boostsample.Booster`: next_round, state, restore, small_state,
replay, facts, finished, stopped, round, strategy, learner, budget, n_rounds. Beside it:
`booster.families` (tuple of Family), `booster.n_examples`, `booster.n_labels`, and the history
columns `bytes` and `messages`. `LocalShards(sources)` takes the place of `DaskShards(...)` without
Dask: all shards in this process.

The names are imported on first use, so that a worker can import this package in no time.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from boostsample.dask.classifier import DaskBoostSampleClassifier
    from boostsample.dask.cluster import DaskShards
    from boostsample.loop.shard_booster import ShardBooster
    from boostsample.shards.exchange import LocalShards
    from boostsample.shards.server import (
        ArraySource,
        FileSource,
        ShardData,
        Source,
        array_sources,
    )

__all__ = [
    "ArraySource",
    "DaskBoostSampleClassifier",
    "DaskShards",
    "FileSource",
    "LocalShards",
    "ShardBooster",
    "ShardData",
    "Source",
    "array_sources",
]

_NAMES_IN = {
    "dask.classifier": "DaskBoostSampleClassifier",
    "dask.cluster": "DaskShards",
    "loop.shard_booster": "ShardBooster",
    "shards.server": "ArraySource FileSource ShardData Source array_sources",
    "shards.exchange": "LocalShards",
}
_MODULE_OF = {name: module for module, names in _NAMES_IN.items() for name in names.split()}


if not TYPE_CHECKING:  # type checkers see the imports above

    def __getattr__(name: str) -> object:
        """Import a public name on first use (PEP 562)."""
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            module = importlib.import_module(f"boostsample.{_MODULE_OF[name]}")
        except ModuleNotFoundError as error:
            if error.name not in ("cloudpickle", "dask", "distributed"):
                raise
            raise ImportError(
                f"boostsample.dask.{name} needs the package {error.name}, which is not installed; "
                "run pip install 'boostsample[dask]'"
            ) from error
        value = getattr(module, name)
        globals()[name] = value
        return value
