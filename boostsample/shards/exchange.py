"""The driver's side of the shards: messages, their bytes, and shards that are lost.

Changes wait for the next request, so that they cost no message. What shards have been told is
kept: a shard that is lost is loaded again, is told the same, and has the same bits. The changes of
finished rounds are kept without their requests, a few numbers a round.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import DataError, ShardError
from boostsample.shards import messages as m
from boostsample.shards.transport import Lost, Transport

#: Kinds of changes that later rounds depend on.
_LASTING = (m.Begin, m.Split, m.Update, m.UpdateLeaves)
#: User weights further apart than this would sink to the floor of `boostsample.rows.weights`.
_WEIGHT_RANGE = 1e24


class Exchange:
    """Asks all shards of a run at once; loads them on construction.

    Attributes
    ----------
    loaded : list of Loaded
        What each shard in use holds; shards without weighted rows are not used.
    unit : float
        Unit of the user weights.
    first : list of Sums
        Masses and label sums of all examples before the first round.
    n_bytes, n_messages : int
        Bytes of all messages and answers so far, and messages; those of lost shards count once.
    most_bytes : int
        Largest of the bytes of the shards.
    n_lost : int
        Shards lost and loaded again so far.
    broken : bool
        Whether an exchange was broken off: shards may differ.
    masses : ndarray of float64, shape (M,), or None
        Masses of the shards by their last answers; None if weights have changed since.
    """

    def __init__(self, transport: Transport, weight_init: str, one_search: bool) -> None:
        self._transport = transport
        self._active = list(range(transport.n_shards))
        self._start: list[Any] = [None] * transport.n_shards  # the first message, once it is known
        self._done: list[Any] = []  # changes of finished rounds, or a list with one for each shard
        self._current: list[list[bytes]] = [[] for _ in self._active]  # messages of this round
        self._lasting: list[Any] = []  # changes of this round
        self._pending: list[Any] = []
        self.broken = False
        self.n_messages = self.n_lost = 0
        self.masses: NDArray[np.float64] | None = None
        self._finished: tuple[m.Finish | None, Any] = None, None
        self.value, self.values_computed = -math.inf, 0
        self._bytes = np.zeros(transport.n_shards, np.int64)
        self.loaded: list[m.Loaded] = self._ask_once([m.Load()] * transport.n_shards)
        self._check()
        used = [shard for shard in self.loaded if shard.n_examples]
        most = max(shard.most for shard in used)
        self.unit = 2.0 ** math.floor(math.log2(most))  # exact, as `check_example_weight`
        least = min(shard.least for shard in used)
        if most > _WEIGHT_RANGE * least:
            raise DataError(
                f"the largest example weight must be at most {_WEIGHT_RANGE:g} times the least, "
                f"got {most:g} and {least:g}; weight 0 drops an example"
            )
        self._active = [k for k, shard in enumerate(self.loaded) if shard.n_examples]
        self.loaded = used
        measure = m.MeasureWeights(self.unit, weight_init)
        measured: list[m.Measured] = self._ask_once([measure] * self.n_shards)
        least = min(shard.least for shard in measured)
        total = math.fsum(shard.total for shard in measured)
        for number, (k, shard) in enumerate(zip(self._active, used, strict=True)):
            of_run = measure, least, total, one_search, transport.n_jobs
            build = m.Build(number, *of_run, shard.checksum)
            self._start[k] = m.pack_message(m.Message((), build))
        self.first: list[m.Sums] = self._told([self._start[k] for k in self._active])

    @property
    def n_shards(self) -> int:
        """Shards in use."""
        return len(self._active)

    @property
    def n_bytes(self) -> int:
        """Bytes of all messages and answers so far."""
        return int(self._bytes.sum())

    @property
    def most_bytes(self) -> int:
        """Bytes so far of the shard that has most."""
        return int(self._bytes.max())

    def _check(self) -> None:
        """DataError unless the shards fit each other."""
        first = self.loaded[0]
        for number, shard in enumerate(self.loaded):
            same = shard.n_labels == first.n_labels and shard.families == first.families
            if not same or not np.array_equal(shard.n_bins, first.n_bins):
                raise DataError(
                    f"shards must have the same labels, families and bins, but shard {number} has "
                    f"{shard.n_labels} labels and {len(shard.n_bins)} features, and shard 0 has "
                    f"{first.n_labels} and {len(first.n_bins)}, or their bins differ; bin all rows "
                    "by the same edges"
                )
        if not any(shard.n_examples for shard in self.loaded):
            raise DataError("shards must hold at least one example with weight, got none")

    # ------------------------------------------------------------------------------------ changes

    def change(self, change: Any) -> None:
        """Make a change in all shards, before the next request is answered."""
        self._pending.append(change)
        if isinstance(change, m.Update | m.UpdateLeaves | m.Restart):
            self.masses = None

    def begin(self) -> None:
        """Begin a round; what the last one asked is forgotten, its changes are not."""
        self._done += self._lasting
        self._lasting, self._current = [], [[] for _ in self._start]
        self.change(m.Begin())

    def replace_all(self, changes: Sequence[Any]) -> None:
        """Forget all rounds and make one change in each shard that sets its weights."""
        self._lasting, self._current, self._pending = [], [[] for _ in self._start], []
        for_shards = dict(zip(self._active, changes, strict=True))
        packed = [m.pack_message(m.Message((for_shards[k],), None)) for k in self._active]
        self._done = []  # until all have made it, lost ones need nothing before it
        self._told(packed)
        self._done, self.masses = [list(changes)], None

    # ----------------------------------------------------------------------------------- requests

    def ask(self, request: Any) -> list[Any]:
        """The answers of all shards in use to one request, or to a list with one for each."""
        changes = tuple(self._pending)
        requests = request if isinstance(request, list) else [request] * self.n_shards
        packed = [m.pack_message(m.Message(changes, of_shard)) for of_shard in requests]
        answers = self._told(packed)  # if that fails, the changes are still pending
        self._lasting += [change for change in changes if isinstance(change, _LASTING)]
        self._pending = []
        for k, message in zip(self._active, packed, strict=True):
            self._current[k].append(message)
        if all(hasattr(answer, "mass") for answer in answers):
            self.masses = np.array([answer.mass for answer in answers])
        return answers

    def _ask_once(self, requests: Sequence[Any]) -> list[Any]:
        """Answers before the first round: a shard that is lost is only asked again."""
        return self._told([m.pack_message(m.Message((), request)) for request in requests])

    def _told(self, messages: Sequence[bytes]) -> list[Any]:
        """Send a message to each shard in use; load lost shards again until all have answered."""
        latest = dict(zip(self._active, messages, strict=True))
        waiting: dict[int, list[bytes]] = {k: [message] for k, message in latest.items()}
        answers: dict[int, bytes] = {}
        if self.broken:
            self._transport.revive({k: Lost("the exchange before was broken off") for k in latest})
            waiting = {k: [*self._told_before(k, latest[k]), latest[k]] for k in latest}
        self.broken = True
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
            waiting = {k: [*self._told_before(k, latest[k]), latest[k]] for k in lost}
        if answers.keys() != latest.keys():
            raise ShardError(f"shards {sorted(latest.keys() - answers.keys())} gave no answer")
        self.broken = False
        self.n_messages += len(latest)
        for k, message in latest.items():
            self._bytes[k] += len(message) + len(answers[k])
        return [m.unpack_message(answers[k]) for k in self._active]

    def _told_before(self, k: int, message: bytes) -> list[bytes]:
        """All that a shard has been told, without the requests of finished rounds."""
        if self._start[k] is None or self._start[k] is message:
            return []
        number = self._active.index(k)
        changes = tuple(c[number] if isinstance(c, list) else c for c in self._done)
        return [self._start[k], m.pack_message(m.Message(changes, None)), *self._current[k]]

    # --------------------------------------------------------------------------------- the finish

    def finished(
        self, request: m.Finish, totals: NDArray[np.float64], answers: Sequence[m.Finished]
    ) -> None:
        """Keep what the last finish has told: totals float64 (M, K) of a stump."""
        self._finished = request, totals
        self.value = answers[0].value
        self.values_computed = sum(answer.values_computed for answer in answers)

    def totals_of(self, feature: int, threshold: int) -> NDArray[np.float64] | None:
        """Totals of a stump in each shard if it is the last one finished, on all examples."""
        request, totals = self._finished
        return totals if request == m.Finish(m.Target(), feature, threshold) else None
