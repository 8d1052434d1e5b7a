"""Boosting over the workers of a Dask cluster; needs the extra `dask`.

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
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from boostsample.loop.shard_booster import ShardBooster
from boostsample.shards.source import ArraySource, FileSource, ShardData, Source, array_sources
from boostsample.shards.transport import LocalShards

if TYPE_CHECKING:
    from boostsample.dask.cluster import DaskShards

__all__ = [
    "ArraySource",
    "DaskShards",
    "FileSource",
    "LocalShards",
    "ShardBooster",
    "ShardData",
    "Source",
    "array_sources",
]


if not TYPE_CHECKING:  # type checkers see the import above

    def __getattr__(name: str) -> object:
        """Import `distributed` on first use."""
        if name != "DaskShards":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return importlib.import_module("boostsample.dask.cluster").DaskShards
