"""The rounds and the temperature of a fit, by models of a part of its rows: `n_rounds="auto"`.

Up to 2,000 rows, three models leave out a third of the rows each; else one model leaves out a part.
They are trained side by side. The number of rounds is that of the best smoothed metric of the rows
left out ([BK10] 4.2; `boostsample.classifier.early_stopping`), and the temperature of the
probabilities is the multiple of the rule's that fits these rows best
(`boostsample.classifier.prediction.calibration`). The model is then trained on all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.classifier.defaults import AUTO
from boostsample.classifier.early_stopping import EarlyStopping
from boostsample.classifier.eval_metric import EvalMetric
from boostsample.classifier.inputs.fit_rows import FitRows, HeldScores, folds
from boostsample.classifier.prediction.calibration import temperature_ratio
from boostsample.errors import SettingError
from boostsample.loop.booster import Booster
from boostsample.loop.fit_progress import FitProgress

__all__ = [
    "MOST_ROUNDS",
    "MOST_ROWS",
    "UNTRIED",
    "Trial",
    "chooses_rounds",
    "left_out_parts",
    "try_rounds",
]

MOST_ROUNDS = 300
"""Of `n_rounds` "auto"."""
MOST_ROWS = 20_000
"""Fits of more rows are not repeated: the model is that of a part of them."""
_MOST_FOLDED, _N_FOLDS = 2000, 3
_FEWEST_ROWS = 20


class Trial(NamedTuple):
    """What the rows left out say.

    Attributes
    ----------
    n_rounds : int
    ratio : float
        Of the temperature to that of the rule.
    stopping : EarlyStopping or None
        Metric and errors of the rows left out; None if there are none.
    """

    n_rounds: int
    ratio: float
    stopping: EarlyStopping | None


UNTRIED = Trial(100, 1.0, None)
"""Of too few rows to leave any out, or if a model that is continued may know them."""


def chooses_rounds(n_rounds: Any, warm_start: Any) -> bool:
    """Whether `n_rounds` is "auto"; SettingError if it is other text, or with `warm_start`."""
    if not isinstance(n_rounds, str):
        return False
    if n_rounds != AUTO:
        raise SettingError(f"n_rounds must be '{AUTO}' or a whole number, got {n_rounds!r}")
    if warm_start:
        raise SettingError(
            f"warm_start continues a fit up to n_rounds, but n_rounds='{AUTO}' chooses their number"
            " anew; set n_rounds to a number, or warm_start=False"
        )
    return True


def left_out_parts(
    rows: FitRows, fraction: float, rng: np.random.Generator, multi_label: bool
) -> list[NDArray[np.int64]]:
    """Positions of the rows that each model leaves out; none of fewer than 20 rows."""
    n = rows.train.size
    if n > _MOST_FOLDED:
        return [rows.split(fraction, rng, multi_label).held]
    parts = folds(rows.labels, _N_FOLDS, rng, multi_label) if n >= _FEWEST_ROWS else []
    return parts if all(part.size for part in parts) else []


def try_rounds(
    boosters: Sequence[Booster],
    scores_of_parts: Callable[[], HeldScores],
    metric_of: Callable[[HeldScores], EvalMetric],
    offsets: NDArray[np.float64],
    multi_label: bool,
    *,
    verbose: bool = False,
) -> Trial:
    """Train the models of all parts until further rounds promise nothing.

    `boosters` are at their start; `scores_of_parts` makes the scores of the rows left out before
    the first round, and `metric_of` the metric of such scores. `offsets` are as in
    `boostsample.classifier.prediction.probabilities`. `verbose` shows the first model.
    """
    stopping = EarlyStopping(metric_of(scores_of_parts()), {})
    progress = FitProgress(boosters[0].n_rounds, lambda: f"{stopping.text()}, to choose the rounds")
    rounds = []
    ended = False
    while not ended:
        rounds.append([booster.next_round() for booster in boosters])
        ended = stopping(*rounds[-1]) or any(booster.finished for booster in boosters)
        if verbose:
            progress(rounds[-1][0].rows[-1], rounds[-1][0].edge, ended)
    stopping.end()
    n_rounds = stopping.n_rounds()
    scores = scores_of_parts()
    for done in rounds[:n_rounds]:
        scores.add(*done)
    return Trial(n_rounds, temperature_ratio(scores, offsets, multi_label), stopping)
