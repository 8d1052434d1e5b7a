"""Versions that the client and all workers must share, since results depend on them.

Workers are asked by functions of the standard library, which any version of boostsample can run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from importlib.metadata import version
from pkgutil import resolve_name
from typing import Any

from boostsample.errors import ShardError

_PATIENCE = 15.0
"""Seconds to wait for the versions of a worker before a run."""
_LOOKUPS: dict[str, Callable[[], Any]] = {
    "boostsample": partial(resolve_name, "boostsample:__version__"),
    "NUMERICS": partial(resolve_name, "boostsample.loop.numerics:NUMERICS"),
    "numpy": partial(version, "numpy"),
    "numba": partial(version, "numba"),
}


def versions_here() -> dict[str, Any]:
    """Versions of this process."""
    return {name: lookup() for name, lookup in _LOOKUPS.items()}


async def versions_there(client: Any, address: str) -> dict[str, Any]:
    """Versions of a worker, None of what it lacks; in the event loop of the client."""
    versions = {}
    for name, lookup in _LOOKUPS.items():
        answer = await client.run(lookup, workers=[address], on_error="return")
        if isinstance(answer[address], OSError):  # of the connection
            raise answer[address]
        versions[name] = None if isinstance(answer[address], Exception) else answer[address]
    return versions


def check_versions(address: str, worker: Mapping[str, Any], client: Mapping[str, Any]) -> None:
    """ShardError that names the worker and what differs, unless it has the client's versions.

    >>> check_versions("tcp://a:1", {"numpy": "2.1", "numba": "1"}, {"numpy": "2.2", "numba": "1"})
    Traceback (most recent call last):
    boostsample.errors.ShardError: the worker tcp://a:1 has numpy 2.1, but the client has numpy \
2.2; results depend on it: install the same versions and restart the worker
    """
    if worker != client:
        of_worker, of_client = (
            ", ".join(f"{name} {versions[name]}" for name in client if worker[name] != client[name])
            for versions in (worker, client)
        )
        raise ShardError(
            f"the worker {address} has {of_worker}, but the client has {of_client}; results depend "
            "on it: install the same versions and restart the worker"
        )


def check_workers(client: Any) -> None:
    """ShardError if a worker has other versions; one that is silent is checked before it works."""
    client.sync(_check_workers, client)


async def _check_workers(client: Any) -> None:
    async def check(address: str) -> None:
        try:
            there = await asyncio.wait_for(versions_there(client, address), _PATIENCE)
        except (OSError, TimeoutError):
            return
        check_versions(address, there, versions_here())

    await asyncio.gather(*map(check, (await client.scheduler.identity())["workers"]))
