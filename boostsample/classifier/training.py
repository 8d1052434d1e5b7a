"""The rounds of a fit, and those who follow them: progress, early stopping, checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from boostsample.loop.booster import Booster, Round
from boostsample.loop.fit_progress import FitProgress

__all__ = ["Follower", "train"]

Follower: TypeAlias = Callable[[Round], object]
"""Called after each round, with what it adds; whatever is true ends the training."""


def train(
    booster: Booster, followers: Iterable[Follower] = (), progress: FitProgress | None = None
) -> list[Round]:
    """The rounds of a booster until it has finished or a follower asks to stop.

    Each round is given to all followers, in order, and then shown.
    """
    following = list(followers)
    rounds = []
    ended = booster.finished
    while not ended:
        rounds.append(booster.next_round())
        asked = [bool(follow(rounds[-1])) for follow in following]
        ended = booster.finished or any(asked)
        if progress is not None:
            progress(rounds[-1].rows[-1], rounds[-1].edge, ended)
    return rounds
