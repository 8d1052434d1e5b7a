"""The rounds of a run as a generator."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from numpy.typing import ArrayLike

from boostsample.banks.bank import Bank
from boostsample.loop.booster import Booster
from boostsample.loop.checkpoint import Checkpoint, rounds_of_run
from boostsample.records import Round
from boostsample.strategy import Strategy


def boost(
    bank: Bank,
    rows: ArrayLike | None,
    Y: ArrayLike,
    strategy: str | Strategy,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_seconds: float = 60.0,
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
        `boostsample.loop.checkpoint.Checkpoint`. Name the seed, too (`rng`).
    checkpoint_seconds : float
        Least time between two saves; 0 saves after each round.

    Yields
    ------
    Round
        `n_rounds` of them, or fewer if training ends early; those of the checkpoint first.
    """
    booster = Booster(bank, rows, Y, strategy, **settings)
    if checkpoint is None:
        yield from rounds_of_run(booster, None)
    else:
        with Checkpoint(checkpoint, booster, checkpoint_seconds) as saved:
            yield from rounds_of_run(booster, saved)
