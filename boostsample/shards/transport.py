"""Transports carry messages to shards, wherever these are; one within this process."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

from boostsample.errors import SettingError
from boostsample.shards.server import ShardServer
from boostsample.shards.shard_source import Source


class Lost:
    """Stands for the answer of a shard whose process is lost, with its rows and weights."""

    def __init__(self, why: str) -> None:
        self.why = why


class Transport(abc.ABC):
    """What `ShardBooster` needs of a transport. One booster uses it at a time.

    Base class of transports; a context manager that closes itself.

    Attributes
    ----------
    n_shards : int
    n_jobs : int
        Threads of each shard.
    """

    n_shards: int
    n_jobs: int

    @abc.abstractmethod
    def exchange(self, messages: Mapping[int, Sequence[bytes]]) -> dict[int, bytes | Lost]:
        """Have shards answer some messages, one after another; returns the last answers.

        All shards work at the same time. An exception of a shard is raised here, after all have
        answered. Must end: a shard that does not answer in a stated time is lost.
        """

    @abc.abstractmethod
    def revive(self, lost: Mapping[int, Lost]) -> None:
        """Make these shards anew from their sources: rows not loaded, no message received.

        Raises ShardError if that is not possible.
        """

    @abc.abstractmethod
    def close(self) -> None:
        """Give up rows and weights of all shards."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class LocalShards(Transport):
    """Shards in this process, one after another.

    Messages are packed as for other processes, so that history and results are theirs.

    Parameters
    ----------
    sources : sequence of Source
    n_jobs : int
        Threads that work for a shard.
    """

    def __init__(self, sources: Sequence[Source], n_jobs: int = 1) -> None:
        if not sources:
            raise SettingError("shards need at least one source, got none")
        self._sources = list(sources)
        self.n_shards, self.n_jobs = len(self._sources), n_jobs
        self._servers = [ShardServer(source) for source in self._sources]

    def exchange(self, messages: Mapping[int, Sequence[bytes]]) -> dict[int, bytes | Lost]:
        """Let each shard answer in turn."""
        answers: dict[int, bytes | Lost] = {}
        for number, of_shard in messages.items():
            for message in of_shard:
                answers[number] = self._servers[number].handle(message)
        return answers

    def revive(self, lost: Mapping[int, Lost]) -> None:
        """New servers."""
        for number in lost:
            self._servers[number] = ShardServer(self._sources[number])

    def close(self) -> None:
        """Forget all shards; later ones are loaded again."""
        self._servers = [ShardServer(source) for source in self._sources]
