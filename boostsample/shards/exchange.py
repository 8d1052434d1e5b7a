"""The driver's side of the shards: transports of messages, and shards that are lost.

Changes wait for the next request, so that they cost no message. The driver keeps all changes of the
run and the messages of the current round. If a shard is lost, it is loaded again, and these are
replayed: it then has the same bits.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import WEIGHT_RANGE
from boostsample.errors import DataError, SettingError, ShardError
from boostsample.shards.server import Loaded, ShardServer, Source, pack_message, unpack_message


class Lost:
    """Stands for the answer of a shard whose process is lost, with its rows and weights."""

    def __init__(self, why: str) -> None:
        self.why = why


class Transport(abc.ABC):
    """Base class of transports, a context manager that closes itself; for one booster at a time."""

    n_shards: int
    n_jobs: int
    """Threads of each shard."""

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

    def __exit__(self, *_: object) -> None:
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
        self.close()

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


class Exchange:
    """Asks all shards of a run at once; loads them on construction.

    `masses` float64 (M,) are those of the shards by their last answers; None if weights have
    changed since. Bytes and messages of lost shards count once.
    """

    def __init__(
        self, transport: Transport, weight_init: str, one_search: bool, two_sided: bool = False
    ) -> None:
        self._transport = transport
        self._active = list(range(transport.n_shards))
        self._builds: dict[int, bytes] = {}  # the first messages; before them nothing is replayed
        self._restored: dict[int, tuple[Any, ...]] = {}  # changes of single shards that come first
        self._done: list[tuple[Any, ...]] = []  # changes of finished rounds
        self._changes: list[tuple[Any, ...]] = []  # changes of this round
        self._current: list[Mapping[int, bytes]] = []  # messages of this round
        self._pending: list[tuple[Any, ...]] = []
        self._broken = False  # whether an exchange was broken off: shards may differ
        self.n_bytes = self.n_messages = self.n_lost = 0
        self.masses: NDArray[np.float64] | None = None
        loaded: list[Loaded] = self.ask("load", weight_init)
        _check_shards(loaded)
        self._active = [k for k, shard in enumerate(loaded) if shard.n_examples]
        self.loaded = [loaded[k] for k in self._active]
        self.counts = np.array([shard.n_examples for shard in self.loaded])
        # A power of two: user weights that are divided by it keep their digits.
        unit = 2.0 ** math.floor(math.log2(max(shard.most for shard in self.loaded)))
        least = min(shard.least_label for shard in self.loaded) / unit
        total = math.fsum(shard.total for shard in self.loaded) / unit
        of_run = (weight_init, unit, least, total), one_search, two_sided, transport.n_jobs
        builds = {
            k: pack_message(((), ("build", number, *of_run, loaded[k].checksum)))
            for number, k in enumerate(self._active)
        }
        self.first: list[Any] = self._told(builds)
        self._builds = builds

    @property
    def n_shards(self) -> int:
        """Shards in use."""
        return len(self._active)

    def change(self, name: str, *arguments: Any) -> None:
        """Make a change in all shards, before the next request is answered."""
        self._pending.append((name, *arguments))
        if name.startswith("update"):
            self.masses = None

    def begin(self) -> None:
        """Begin a round; what the last one asked is forgotten, its changes are not."""
        self._done += self._changes
        self._changes, self._current = [], []
        self.change("begin")

    def restore(self, states: Sequence[Any]) -> None:
        """Forget all rounds; set the weights of each shard."""
        self._done, self._changes, self._pending, self._current = [], [], [], []
        self._restored = {}  # until all have restored theirs, lost ones need nothing before it
        changes = {k: ("restore", state) for k, state in zip(self._active, states, strict=True)}
        self._told({k: pack_message(((changes[k],), ("nothing",))) for k in self._active})
        self._restored, self._current = changes, []

    def ask(self, name: str, *arguments: Any) -> list[Any]:
        """The answers of all shards in use to one request."""
        return self.ask_each([(name, *arguments)] * self.n_shards)

    def ask_each(self, requests: Sequence[tuple[Any, ...]]) -> list[Any]:
        """The answers of all shards in use to a request for each."""
        changes = self._pending
        answers = self._told(
            {
                k: pack_message((changes, request))
                for k, request in zip(self._active, requests, strict=True)
            }
        )
        self._changes += changes  # if that fails, the changes are still pending
        self._pending = []
        return answers

    def _told(self, messages: Mapping[int, bytes]) -> list[Any]:
        answers: dict[int, bytes] = {}
        # Of a shard that is lost, all that it was told goes before the message: it then answers the
        # same.
        waiting = {k: [message] for k, message in messages.items()}
        if self._broken:
            # An interrupt may have reached some shards and not others: all begin anew.
            why = Lost("the exchange before was broken off")
            self._transport.revive(dict.fromkeys(messages, why))
            waiting = {k: [*self._told_before(k), messages[k]] for k in messages}
        self._broken = True
        while waiting:
            lost: dict[int, Lost] = {}
            for k, answer in self._transport.exchange(waiting).items():
                if isinstance(answer, Lost):
                    lost[k] = answer
                else:
                    answers[k] = answer
            if lost:
                self.n_lost += len(lost)
                self._transport.revive(lost)
            waiting = {k: [*self._told_before(k), messages[k]] for k in lost}
        if answers.keys() != messages.keys():
            raise ShardError(f"shards {sorted(messages.keys() - answers.keys())} gave no answer")
        self._broken = False
        if self._builds:
            self._current.append(messages)
        self.n_messages += len(messages)
        self.n_bytes += sum(len(messages[k]) + len(answers[k]) for k in messages)
        masses, content = zip(*(unpack_message(answers[k]) for k in self._active), strict=True)
        self.masses = None if None in masses else np.array(masses)
        return list(content)

    def _told_before(self, k: int) -> list[bytes]:
        """All that a shard has been told, without the requests of finished rounds."""
        if k not in self._builds:
            return []
        restored = [self._restored[k]] if k in self._restored else []
        changes = pack_message(([*restored, *self._done], ("nothing",)))
        return [self._builds[k], changes, *(messages[k] for messages in self._current)]


def _check_shards(loaded: Sequence[Loaded]) -> None:
    first = loaded[0]
    for number, shard in enumerate(loaded):
        same = shard.n_labels == first.n_labels and shard.families == first.families
        if not same or not np.array_equal(shard.n_bins, first.n_bins):
            raise DataError(
                f"shards must have the same labels, families and bins, but shard {number} has "
                f"{shard.n_labels} labels and {len(shard.n_bins)} features, and shard 0 has "
                f"{first.n_labels} and {len(first.n_bins)}, or their bins differ; bin all rows "
                "by the same edges"
            )
    used = [shard for shard in loaded if shard.n_examples]
    if not used:
        raise DataError("shards must hold at least one example with weight, got none")
    least, most = min(shard.least for shard in used), max(shard.most for shard in used)
    if most > WEIGHT_RANGE * least:
        raise DataError(
            f"the largest example weight must be at most {WEIGHT_RANGE:g} times the least, "
            f"got {most:g} and {least:g}; weight 0 drops an example"
        )
