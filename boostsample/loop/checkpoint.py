"""Checkpoints: a run is saved every so often, and goes on after any end as if nothing happened.

Files do not hold the weights: they follow from the terms, at O(N) for each round.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from numpy.typing import ArrayLike

from boostsample.banks.bank import Bank
from boostsample.checks import check_number
from boostsample.errors import (
    BoostSampleError,
    DataError,
    SettingError,
    ShardError,
    StrategyError,
    one_line,
)
from boostsample.files.atomic import check_writable_file, remove_stale_files, write_file
from boostsample.loop.booster import Booster, differences, learner_facts
from boostsample.loop.budgets import RunLimits
from boostsample.loop.committee import Committee
from boostsample.loop.fit_progress import RENEW
from boostsample.loop.interrupts import HeldInterrupts
from boostsample.loop.run_file import RunFile, read_checkpoint, start_of
from boostsample.records import Round
from boostsample.strategy import Strategy

_SHARE = 50.0
"""Wait at least this many times as long as the last save took: saves take at most 2 % of a run."""


class Checkpoint:
    """Trains a booster and saves its run to a file; continues the run of an existing file.

    Use it as a context manager around the loop. Leaving the block saves the rounds that are not
    saved yet. In the block, Ctrl-C waits for the end of the round; the run is saved, one line on
    standard error says so, and KeyboardInterrupt is raised. A second Ctrl-C breaks the round off,
    and the last save stays. SIGTERM and SIGHUP do the same and end the process. All only in the
    main thread, and if the process has no handlers of its own for them.

    Parameters
    ----------
    path : str or path
        The file; replaced as a whole by each save, so that it is never half-written. It stays after
        the last round: a run with more rounds may go on from there.
    booster : Booster or Committee
        Before its first round. If the file exists, it is set to the state after the saved rounds.
    seconds : float, default 60
        Least time between two saves; 0 saves after each round. Otherwise saves take at most 2 % of
        the time.
    notes : dict, optional
        JSON values to keep in the file, see `checkpoint_notes`.

    Attributes
    ----------
    path : Path
    rounds : list of Round
        The rounds of the run: those of the file, then those trained.
    n_resumed : int
        Rounds that came from the file.

    Raises
    ------
    DataError
        If the file is damaged, no checkpoint or of another format, if it was saved by another run
        (the message names each difference), or if it cannot be written.
    SettingError
        If `seconds` is out of range, the booster has trained already, or a setting of strategy or
        learner cannot be compared with that of another process.
    StrategyError
        If the state of the strategy cannot be saved.

    Notes
    -----
    All later rounds have the same bits as without the interruption: terms, weights, random stream
    and history, except the columns `seconds` and, of a lazy bank, `values_computed`, which say
    what this process did. The number of rounds planned may differ from that of the file if the
    strategy does not plan with it.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        booster: Booster | Committee,
        seconds: float = 60.0,
        notes: Mapping[str, Any] | None = None,
    ) -> None:
        self.path = _checked_path(path)
        self._pause = check_number("seconds of a checkpoint", seconds, 0.0)
        if booster.round:
            raise SettingError(
                "a checkpoint needs a booster before its first round, got one after round "
                f"{booster.round}; make the checkpoint first"
            )
        self._booster = booster
        self._facts = booster.facts()
        try:
            self._start = start_of(booster)
        except TypeError as error:
            raise self._unsaveable(error) from error
        self._notes = dict(notes or {})
        self._plans_rounds = False
        self._whole = True  # whether no round was broken off
        self._interrupts = HeldInterrupts(self._save_and_tell)
        self.rounds: list[Round] = []
        saved = read_checkpoint(self.path)
        if saved is None:
            check_writable_file(self.path, self.path.suffix.lower(), "checkpoints", overwrite=True)
        else:
            self._resume(saved)
        self.n_resumed = self._n_saved = len(self.rounds)
        self._saved_at, self._wait = time.monotonic(), 0.0
        remove_stale_files(self.path.parent, self.path)

    def _unsaveable(self, error: TypeError) -> StrategyError:
        who = type(self._booster.strategy).__name__
        return StrategyError(
            f"with a checkpoint, {who} must keep and note arrays, numbers, text, lists and dicts "
            f"of these only: {error}; change what it keeps"
        )

    def _resume(self, saved: RunFile) -> None:
        """Set the booster to the end of the saved run; DataError if it is another run."""
        wrong = differences(saved.facts, self._facts)
        wrong = wrong or [saved.other_plan(self._booster.n_rounds, self._start)]
        if any(wrong):
            raise DataError(
                f"the checkpoint '{self.path}' is that of another run: {'; '.join(wrong)}; train "
                "with the settings and data of the checkpoint, name another file or delete it"
            )
        try:
            saved.continue_in(self._booster)
        except MemoryError:
            raise
        except Exception as error:  # of any type if the file was changed on purpose
            raise DataError(
                f"the checkpoint '{self.path}' cannot be continued: {one_line(error)}"
            ) from error
        self.rounds = list(saved.rounds)
        self._plans_rounds = saved.plans_rounds

    def next_round(self) -> Round:
        """Train one more round, and save the run if the last save is long enough ago.

        The first round is always saved: what cannot be saved is an error before the run has cost
        much. A later save that fails is a RuntimeWarning: the file stays as it was, and training
        goes on.
        """
        with self._interrupts.held():
            self._whole = False
            try:
                done = self._booster.next_round()
            except ShardError:  # the booster is at the end of the round before: it can be saved
                self._whole = True
                raise
            self.rounds.append(done)
            self._whole = True
            if len(self.rounds) == self.n_resumed + 1:
                self._write()
            elif time.monotonic() - self._saved_at >= self._wait:
                self.save()
        return done

    def save(self) -> None:
        """Save the rounds that are not saved yet; a RuntimeWarning if that fails."""
        if not self._whole or len(self.rounds) == self._n_saved:
            return
        try:
            self._write()
        except (BoostSampleError, MemoryError) as error:
            self._saved_at = time.monotonic()
            warnings.warn(
                f"training goes on, but its checkpoint '{self.path}' stays at round "
                f"{self._n_saved:,}: {one_line(error)}",
                RuntimeWarning,
                stacklevel=3,
            )

    def _write(self) -> None:
        booster, began = self._booster, time.monotonic()
        # A learner that has changed since the first round would be resumed without the change.
        facts_now = learner_facts(booster.learner)
        wrong = differences({name: self._facts.get(name) for name in facts_now}, facts_now)
        if wrong:
            raise StrategyError(
                f"with a checkpoint, the learner {type(booster.learner).__name__} must keep nothing"
                f" between rounds, but it has changed: {'; '.join(wrong)}"
            )
        saved = RunFile(
            self._facts,
            self._start,
            booster.n_rounds,
            self._plans_rounds or booster.plans_rounds,
            self._facts["labels"],
            self._notes,
            self.rounds,
            booster.small_state(),
        )
        try:
            content = saved.to_bytes()
        except TypeError as error:
            raise self._unsaveable(error) from error
        write_file(self.path, content, "the checkpoint")
        self._n_saved, self._saved_at = len(self.rounds), time.monotonic()
        self._wait = max(self._pause, _SHARE * (self._saved_at - began)) if self._pause else 0.0

    def _save_and_tell(self) -> None:
        """Save, and say in one line on standard error how to go on after an interrupt."""
        self.save()
        text = "nothing is saved yet"
        if self._n_saved:
            held = f"'{self.path}' holds the rounds up to {self._n_saved:,}"
            text = f"{held}; the same run goes on from there"
        if sys.stderr is None:  # closed
            return
        with suppress(OSError):
            start = RENEW if sys.stderr.isatty() else ""
            sys.stderr.write(f"{start}interrupted: {text}\n")
            sys.stderr.flush()

    def __enter__(self) -> Self:
        self._interrupts.install()
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        try:
            if isinstance(error, KeyboardInterrupt):
                self._save_and_tell()
            else:
                self.save()
        finally:
            self._interrupts.remove()


def rounds_of_run(
    booster: Booster, checkpoint: Checkpoint | None, limits: RunLimits
) -> Iterator[Round]:
    """The rounds of a booster until it ends; those of its checkpoint, if any, first."""
    if checkpoint is not None:
        limits.resume(checkpoint.rounds)
        yield from tuple(checkpoint.rounds)
    while not (booster.finished or limits.reached):
        done = booster.next_round() if checkpoint is None else checkpoint.next_round()
        limits.count(done)
        yield done


def boost(
    bank: Bank,
    rows: ArrayLike | None,
    Y: ArrayLike,
    strategy: str | Strategy,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_seconds: float = 60.0,
    max_seconds: float | None = None,
    max_looks: int | None = None,
    **settings: Any,
) -> Iterator[Round]:
    """Yield the rounds of a `Booster` with these parameters, as a generator.

    Consumers add progress, early stopping or tables.

    Parameters
    ----------
    bank, rows, Y, strategy, **settings
        As of `Booster`.
    checkpoint : str, path or None
        File that the run is saved to, and that it goes on from if the file exists; see
        `Checkpoint`. Name the seed, too (`rng`).
    checkpoint_seconds : float
        Least time between two saves; 0 saves after each round.
    max_seconds : float or None
        Seconds of the rounds, those of the checkpoint included, at which training ends.
    max_looks : int or None
        Looks of search and modelling at which training ends; see
        `boostsample.loop.budgets.RunLimits`.

    Yields
    ------
    Round
        `n_rounds` of them, or fewer if training ends early; those of the checkpoint first.
    """
    limits = RunLimits(max_seconds, max_looks)
    check_number("checkpoint_seconds", checkpoint_seconds, 0.0)
    booster = Booster(bank, rows, Y, strategy, **settings)
    if checkpoint is None:
        yield from rounds_of_run(booster, None, limits)
    else:
        with Checkpoint(checkpoint, booster, checkpoint_seconds) as saved:
            yield from rounds_of_run(booster, saved, limits)


def checkpoint_notes(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """The notes in a checkpoint, or None if there is no such file; DataError as `Checkpoint`."""
    saved = read_checkpoint(_checked_path(path))
    return None if saved is None else saved.notes


def _checked_path(path: Any) -> Path:
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise SettingError(f"checkpoint must be the path of a file, got {path!r}")
    return Path(path).absolute()
