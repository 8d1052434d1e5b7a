"""A Dask cluster in this process: quick to start, its tasks run in threads."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from typing import Any

import cloudpickle

from boostsample.dask.worker import name_worker
from boostsample.shards.server import ShardData, Source

distributed: Any = importlib.import_module("distributed")


@contextlib.contextmanager
def in_process_client(n_workers: int = 2) -> Iterator[Any]:
    """The client of a cluster of workers with one thread each."""
    with (
        distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=False,
            dashboard_address="127.0.0.1:0",
            protocol="tcp",
            host="127.0.0.1",
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def loaded_by_workers(client: Any, sources: Sequence[Source]) -> list[ShardData]:
    """The shards as workers load them: from pickles, in threads that are not those of tasks."""

    def load(source: bytes, worker: Any) -> ShardData:
        name_worker(worker)
        shard: ShardData = cloudpickle.loads(source).load()
        return shard

    pickled = [cloudpickle.dumps(source) for source in sources]
    with ThreadPoolExecutor(len(sources)) as pool:
        return list(pool.map(load, pickled, cycle(client.cluster.workers.values())))
