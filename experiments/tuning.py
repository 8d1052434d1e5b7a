"""Tuning as in [DF11] 5.2: every setting of a grid is trained in full, the best run is kept.

"We tune the meta-parameters of these techniques [...] by training them multiple times over a large
range of parameters and keeping only the results of the run with the smallest final Boosting loss."
This is done in each repetition, on the same training examples and with each setting's own stream,
so that the kept run is the very run that its settings give without tuning. The final loss is the
training loss at the last mark; test examples play no part, and rejected runs are not even scored
on them. The first setting of the grid wins a tie.

A search over M settings costs M times the looks of one run, "around one order of magnitude" in the
paper, and two sets of result rows tell of both sides:

- ``ucb*``: the kept run at the marks, as in the paper's Table 2; its looks are its own.
- ``ucb* charged``: in the row of mark m the kept run after m // M stumps, with the looks and the
  seconds that all M runs together have spent on as many stumps each: about the looks that a
  strategy without tuning has spent after m stumps. No numbers (NaN) where that is less than one
  stump. Chosen by its loss at the end, the kept run need not be the best one of that moment.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from boostsample.experiments.runs import LOOKS, Run, Tuning, charged_stumps
from boostsample.experiments.variants import Variant
from boostsample.learners import Term

__all__ = ["Search", "explanation", "tuning_record"]


class Search:
    """The runs of one strategy in one repetition, of which the best is kept.

    A strategy that is not tuned has a single run. Only the best run so far keeps its losses,
    history and stumps.

    Parameters
    ----------
    runs : sequence of Run
        One for each setting of the grid, in its order.
    marks : tuple of int
        Numbers of stumps at which results are taken.
    """

    def __init__(self, runs: Sequence[Run], marks: tuple[int, ...]) -> None:
        self.runs = tuple(runs)
        self.charged = tuple(charged_stumps(mark, len(runs)) for mark in marks)
        self.repetition = runs[0].repetition
        self._finals: dict[int, float] = {}
        self._best = -1
        self._terms: list[list[Term]] = []
        self._lock = threading.Lock()

    @property
    def kept(self) -> Run:
        """The best run so far; the final one once all are finished."""
        return self.runs[self._best]

    def finish(self, number: int, terms: list[list[Term]]) -> list[list[Term]] | None:
        """Take in a run that has ended; may be called from several threads, in any order.

        Parameters
        ----------
        number : int
            Which of `runs`.
        terms : list of list of Term
            Its stumps, by round.

        Returns
        -------
        list of list of Term, or None
            The stumps of the kept run when this was the last one to end.
        """
        with self._lock:
            self._finals[number] = self.runs[number].loss[-1]
            best = min(self._finals, key=lambda at: (self._finals[at], at))
            for loser in {number, self._best} - {best, -1}:
                self.runs[loser].loss, self.runs[loser].history = [], []
            if best == number:
                self._best, self._terms = number, terms
            if len(self._finals) < len(self.runs):
                return None
        if len(self.runs) > 1:
            self.kept.tuning = self._tuning()
        return self._terms

    def _tuning(self) -> Tuning:
        runs = self.runs
        spent = {}
        for stumps in self.charged:
            each = [one.spent_at(stumps) for one in runs]
            spent[stumps] = (sum(looks for looks, _ in each), sum(seconds for _, seconds in each))
        return Tuning(
            losses=tuple(self._finals[number] for number in range(len(runs))),
            budget=sum(one.budget for one in runs),
            looks={purpose: sum(one.looks[purpose] for one in runs) for purpose in LOOKS},
            seconds=sum(one.seconds for one in runs),
            spent=spent,
        )


def explanation(variants: Sequence[Variant], n_rounds: int) -> str:
    """How to read the results of tuned strategies; empty if there is none."""
    tuned = [variant for variant in variants if variant.grid]
    if not tuned:
        return ""
    sizes = ", ".join(f"{len(variant.grid)} for {variant.label}" for variant in tuned)
    return (
        "strategies with a * were tuned: each of the M settings of their grid "
        f"({sizes}) was trained in each repetition, and the run with the smallest training loss "
        f"after {n_rounds:,} stumps was kept. In a column 'charged' the search is paid for: in the "
        "row of m stumps it has the kept run after m / M stumps, when all M runs together have "
        "spent the looks of m stumps; '-' where that is less than one stump"
    )


def tuning_record(variant: Variant, runs: Sequence[Run]) -> dict[str, Any]:
    """Grid, choice and every run's final loss of a tuned strategy, as JSON takes it.

    Parameters
    ----------
    variant : Variant
        With a grid.
    runs : sequence of Run
        Its kept runs, by repetition.
    """
    return {
        "grid": [one.settings_text for one in variant.grid],
        "tuning": [
            {
                "repetition": one.repetition,
                "kept": one.trained.settings_text,
                "final_log10_loss": list(one.tuning.losses),
                "looks": one.tuning.looks["search"] + one.tuning.looks["modelling"],
                "seconds": one.tuning.seconds,
            }
            for one in runs
            if one.tuning is not None
        ],
    }
