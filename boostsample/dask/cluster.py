"""Shards on the workers of a Dask cluster, each asked directly, without a task of Dask.

The driver decides where a shard is, so that it knows which shards are lost with a worker:

- a worker whose connection breaks is lost at once;
- a worker that has not answered is asked every second whether it still lives, in another
  connection; one that does not answer that within `patience` is given up for good;
- lost shards are loaded by the workers with the fewest shards; a shard that is lost five times
  before it answers once ends the run, since most likely it takes too much memory;
- without workers, the driver waits a minute for one;
- a scheduler that does not answer for 20 s when a worker has to be replaced is lost.

The last three are a ShardError. Training that loses neither goes on without the scheduler.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib.metadata import version
from pkgutil import resolve_name
from typing import Any

import cloudpickle

from boostsample.checks import check_integer, check_number
from boostsample.dask.worker import DROP, PING, TELL, install
from boostsample.errors import BoostSampleError, DataError, SettingError, ShardError, one_line
from boostsample.shards.exchange import Lost, Transport
from boostsample.shards.server import Source

_LOOK, _NO_WORKER, _SCHEDULER, _CLOSE, _VERSIONS = 1.0, 60.0, 20.0, 2.0, 15.0
"""Seconds between two pings; to wait for a worker, for the scheduler, for the last words, and for
the versions of a worker before a run."""
_MOST_LOST = 5
"""Times that a shard is lost without an answer in between, after which the run ends."""
_LOOKUPS: dict[str, Callable[[], Any]] = {
    "boostsample": partial(resolve_name, "boostsample:__version__"),
    "NUMERICS": partial(resolve_name, "boostsample.loop.numerics:NUMERICS"),
    "numpy": partial(version, "numpy"),
    "numba": partial(version, "numba"),
}
"""Versions that all workers and the client share, since results depend on them; functions of the
standard library, which workers with any version of boostsample can run."""


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
            there = await asyncio.wait_for(versions_there(client, address), _VERSIONS)
        except (OSError, TimeoutError):
            return
        check_versions(address, there, versions_here())

    await asyncio.gather(*map(check, (await client.scheduler.identity())["workers"]))


class _WorkerPlace:
    """Where a shard is; `source` is sent with its first message."""

    def __init__(self, address: str, key: str, source: bytes) -> None:
        self.address, self.key, self.source = address, key, source
        self.is_new = True


class DaskShards(Transport):
    """Shards on the workers of a Dask cluster: a transport for `ShardBooster`.

    Parameters
    ----------
    client : distributed.Client
        Connected, not asynchronous. Its process must reach the workers themselves.
    sources : sequence of Source
        One for each shard; sent to its worker by cloudpickle. The workers need this package.
    workers : sequence of str or None
        Address of the worker of each shard at first; by default they are spread evenly. Results do
        not depend on it.
    n_jobs : int
        Threads of each shard; -1 is all cores of the worker's machine.
    patience : float
        Seconds after which a worker that does not even say that it lives is given up. More than the
        longest time for which `load` of a source, or another task, blocks the interpreter.

    Raises
    ------
    SettingError
        If a setting is out of range, or the client is asynchronous.
    ShardError
        If there is no worker for a minute, the scheduler does not answer for 20 s, or a worker has
        other versions of boostsample, its numerical results, numpy or numba.
    """

    def __init__(
        self,
        client: Any,
        sources: Sequence[Source],
        *,
        workers: Sequence[str] | None = None,
        n_jobs: int = 1,
        patience: float = 15.0,
    ) -> None:
        if getattr(client, "asynchronous", False):
            raise SettingError("shards need a client that is not asynchronous; use Client(address)")
        if not sources:
            raise SettingError("shards need at least one source, got none")
        if workers is not None and len(workers) != len(sources):
            raise SettingError(
                f"workers must be one for each of the {len(sources)} sources, got {len(workers)}"
            )
        self.n_shards = len(sources)
        self.n_jobs = check_integer("n_jobs", n_jobs, -1)
        self.patience = check_number("patience", patience, 0.0, above=True)
        self._client = client
        self._sources = [bytes(cloudpickle.dumps(source)) for source in sources]
        self._run = uuid.uuid4().hex
        self._n_keys = 0
        self._given_up: set[str] = set()  # they did not answer
        self._broken: set[str] = set()  # connections to them broke
        self._ready: set[str] = set()  # they have the handlers
        self._n_lost = [0] * self.n_shards
        self._places: dict[int, _WorkerPlace] = {}
        wanted = {} if workers is None else dict(enumerate(workers))
        self._sync(self._place, list(range(self.n_shards)), wanted)

    def exchange(self, messages: Mapping[int, Sequence[bytes]]) -> dict[int, bytes | Lost]:
        """Let all shards answer at once; see `Transport`."""
        answers: dict[int, bytes | Lost | Exception] = self._sync(self._exchange, messages)
        for number, answer in answers.items():
            if isinstance(answer, Exception):
                raise self._explained(answer, number)
            self._n_lost[number] = self._n_lost[number] + 1 if isinstance(answer, Lost) else 0
        return answers  # type: ignore[return-value]  # no exceptions any more

    def revive(self, lost: Mapping[int, Lost]) -> None:
        """Place lost shards on other workers; see `Transport`."""
        for number, loss in lost.items():
            if self._n_lost[number] >= _MOST_LOST:
                raise ShardError(
                    f"shard {number} was lost {_MOST_LOST} times in a row, last because "
                    f"{loss.why}; its workers may lack memory: use more and smaller shards"
                )
        self._sync(self._place, list(lost), {})

    def close(self) -> None:
        """Give up rows and weights of all shards; ends in a few seconds whatever happens."""
        with suppress(Exception):  # workers drop them later
            self._sync(self._drop)

    def _sync(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run a coroutine of this class in the event loop of the client."""
        if self._client.status == "closed":
            raise ShardError(
                "the client of these shards is closed; go on with another one from small_state() "
                "or a checkpoint"
            )
        return self._client.sync(function, *arguments)

    def _explained(self, error: Exception, number: int) -> Exception:
        """The exception of a shard as one of this package, if its cause is known."""
        where = f"shard {number} on the worker {self._places[number].address}"
        if isinstance(error, MemoryError):
            return ShardError(f"{where} has run out of memory; use more and smaller shards")
        if isinstance(error, OSError):
            return DataError(f"{where} cannot read its rows: {one_line(error)}")
        if isinstance(error, BoostSampleError):
            return error
        if isinstance(error, ImportError | AttributeError):
            return DataError(
                f"{where} cannot read its source: {one_line(error)}; workers need the same "
                "versions of Python and boostsample, and the modules of the sources"
            )
        error.add_note(f"in {where}")
        return error

    # ------------------------------------------------------------------ in the client's event loop

    async def _exchange(
        self, messages: Mapping[int, Sequence[bytes]]
    ) -> dict[int, bytes | Lost | Exception]:
        asked = [self._tell(self._places[k], list(content)) for k, content in messages.items()]
        return dict(zip(messages, await asyncio.gather(*asked), strict=True))

    async def _tell(self, place: _WorkerPlace, messages: list[bytes]) -> bytes | Lost | Exception:
        """The answer of a shard, or how it is lost; asks every second whether its worker lives."""
        source = place.source if place.is_new else None
        place.is_new = False
        call = {"key": place.key, "messages": messages, "source": source}
        answer = asyncio.ensure_future(self._call(place.address, TELL, **call))
        try:
            while not (await asyncio.wait({answer}, timeout=_LOOK))[0]:
                ping = asyncio.ensure_future(self._call(place.address, PING))
                first = asyncio.FIRST_COMPLETED
                done, _ = await asyncio.wait(
                    {answer, ping}, timeout=self.patience, return_when=first
                )
                ping.cancel()
                if not done:
                    self._given_up.add(place.address)
                    return Lost(f"{place.address} did not answer for {self.patience:g} s")
                if ping in done:
                    ping.result()
            reply = answer.result()
        except Exception as error:  # of the connection: those of a shard are in its answer
            self._broken.add(place.address)
            self._ready.discard(place.address)
            return Lost(f"{place.address}: {one_line(error)}")
        finally:
            answer.cancel()
        if "error" in reply:
            of_shard: Exception = cloudpickle.loads(reply["error"])
            return of_shard
        return reply["answer"] if "answer" in reply else Lost(f"{place.address} has dropped it")

    async def _call(self, address: str, operation: str, **arguments: Any) -> Any:
        """Call a handler of a worker."""
        return await getattr(self._client.rpc(address), operation)(**arguments)

    async def _place(self, numbers: Sequence[int], wanted: Mapping[int, str]) -> None:
        """Choose workers for some shards and prepare these for them."""
        for k in numbers:
            before = self._places.pop(k, None)
            if before is not None and before.address in self._ready:  # it may still be there
                forget = self._call(before.address, DROP, key=before.key)
                with suppress(Exception):
                    await asyncio.wait_for(forget, _CLOSE)
        waited = 0.0
        while True:
            usable = await self._usable()
            if usable:
                break
            if waited >= _NO_WORKER:
                raise ShardError(
                    f"the Dask cluster has had no usable worker for {_NO_WORKER:g} s; start "
                    "workers and go on from small_state() or a checkpoint"
                )
            await asyncio.sleep(_LOOK)
            waited += _LOOK
        for k in numbers:
            held = [place.address for place in self._places.values()]
            address = wanted.get(k, "")
            if address not in usable:
                address = min(usable, key=held.count)
            self._n_keys += 1
            key = f"{self._run}/{k}/{self._n_keys}"
            self._places[k] = _WorkerPlace(address, key, self._sources[k])

    async def _usable(self) -> list[str]:
        """Workers that hold shards or can hold them; those whose connection broke only at need."""
        addresses = await self._addresses()
        for group in ([a for a in addresses if a not in self._broken], addresses):
            ready = await asyncio.gather(*map(self._prepared, group))
            usable = [address for address, good in zip(group, ready, strict=True) if good]
            if usable:
                return sorted(usable)
        return []

    async def _addresses(self) -> list[str]:
        """Workers that the scheduler lists as running and that were not given up."""
        error: BaseException = TimeoutError("no answer")
        for _ in range(4):
            try:
                asked = self._client.scheduler.identity()
                workers = (await asyncio.wait_for(asked, _SCHEDULER / 4))["workers"]
                running = [
                    address for address, facts in workers.items() if facts["status"] == "running"
                ]
                return [address for address in running if address not in self._given_up]
            except Exception as reason:  # of the connection, of several classes
                error = reason
                await asyncio.sleep(0.5)
        raise ShardError(
            f"the Dask scheduler does not answer: {one_line(error)}; go on with another cluster "
            "from small_state() or a checkpoint"
        ) from error

    async def _prepared(self, address: str) -> bool:
        """Install the handlers on a worker; whether that was possible. Checks its versions."""
        if address in self._ready:
            return True
        try:
            versions = await asyncio.wait_for(versions_there(self._client, address), self.patience)
            check_versions(address, versions, versions_here())
            await asyncio.wait_for(self._client.run(install, workers=[address]), self.patience)
        except ShardError:
            raise
        except Exception:  # it has just gone, or hangs
            self._given_up.add(address)
            return False
        self._ready.add(address)
        return True

    async def _drop(self) -> None:
        addresses = {place.address for place in self._places.values()} - self._given_up
        calls = [self._call(address, DROP, key=f"{self._run}/") for address in addresses]
        self._places.clear()
        await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), _CLOSE)
