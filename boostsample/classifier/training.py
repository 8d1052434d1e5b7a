"""The rounds of a fit, and those who follow them: progress, early stopping, checkpoints."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import Any, TypeAlias

from sklearn.utils import check_random_state

from boostsample.loop.booster import Booster, Round
from boostsample.loop.checkpoint import Checkpoint, checkpoint_notes, rounds_of_run
from boostsample.loop.fit_progress import FitProgress

__all__ = ["Follower", "fit_checkpoint", "fit_seed", "train"]

Follower: TypeAlias = Callable[[Round], object]
"""Called after each round, with what it adds; whatever is true ends the training."""


def train(
    booster: Booster,
    followers: Iterable[Follower] = (),
    progress: FitProgress | None = None,
    checkpoint: Checkpoint | None = None,
) -> list[Round]:
    """The rounds of a booster until it has finished or a follower asks to stop.

    Each round is given to all followers, in order, and then shown. The rounds of the checkpoint
    come first: followers see them again, so that what they have learned comes back, too.
    """
    following = list(followers)
    rounds: list[Round] = []
    known = 0 if checkpoint is None else checkpoint.n_resumed
    with nullcontext() if checkpoint is None else checkpoint:
        for done in rounds_of_run(booster, checkpoint):
            rounds.append(done)
            asked = [bool(follow(done)) for follow in following]
            ended = any(asked) or (booster.finished and len(rounds) == booster.round)
            if progress is not None and (len(rounds) > known or ended):
                progress(done.rows[-1], done.edge, ended)
            if ended:
                break
    return rounds


def fit_seed(random_state: Any, path: str | os.PathLike[str] | None = None) -> list[int]:
    """Four whole numbers that all random choices of a fit come from.

    With a `random_state` of None they are those of the checkpoint at `path`, if there is one: no
    other stream could continue it. DataError, before the fit has begun, if the file is none.
    """
    notes = None if path is None else checkpoint_notes(path)
    if random_state is None and notes is not None and "seed" in notes:
        return [int(one) for one in notes["seed"]]
    seed: list[int] = check_random_state(random_state).randint(2**31, size=4).tolist()
    return seed


def fit_checkpoint(
    path: str | os.PathLike[str] | None, booster: Booster, seconds: float, seed: list[int]
) -> Checkpoint | None:
    """The checkpoint of a fit, which also keeps its seed; None without a path."""
    return None if path is None else Checkpoint(path, booster, seconds, {"seed": seed})
