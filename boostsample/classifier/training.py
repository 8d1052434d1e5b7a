"""The rounds of a fit: those who follow them, how they are saved, and how a fit goes on later."""

from __future__ import annotations

import functools
import numbers
import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from boostsample.banks.bank import Bank
from boostsample.checks import check_flag
from boostsample.classifier.inputs.column_names import check_same_names, fitted_names
from boostsample.errors import DataError, SettingError
from boostsample.files.booster_state import pack_state
from boostsample.hashing import sha256_of_bytes
from boostsample.learner import NO_EDGE
from boostsample.loop.booster import Booster
from boostsample.loop.checkpoint import Checkpoint, checkpoint_notes
from boostsample.loop.committee import Committee
from boostsample.loop.fit_progress import FitProgress
from boostsample.loop.run_facts import differences
from boostsample.records.outcome import Round

Follower: TypeAlias = Callable[[Round], object]
"""Called after each round, with what it adds; whatever is true ends the training."""
_EXAMPLES = "training examples"
_FEATURES = "features"
_NAMES = "names of columns"
_START = "strategy before the first round"
_WAY_OUT = "set warm_start=False to train anew"
_Method = TypeVar("_Method", bound=Callable[..., Any])


def all_or_nothing(method: _Method) -> _Method:
    """The method of an estimator; if it fails or is interrupted, all attributes are as before."""

    @functools.wraps(method)
    def fit(estimator: Any, *args: Any, **given: Any) -> Any:
        before = dict(vars(estimator))
        try:
            return method(estimator, *args, **given)
        except BaseException:
            vars(estimator).clear()
            vars(estimator).update(before)
            raise

    return cast(_Method, fit)


def train(
    booster: Booster | Committee,
    followers: Iterable[Follower] = (),
    progress: FitProgress | None = None,
    checkpoint: Checkpoint | None = None,
    *,
    turn: int = 1,
    before: Callable[[], None] | None = None,
    rounds: list[Round] | None = None,
) -> list[Round]:
    """The rounds of a booster until it has finished or a follower asks to stop, in whole turns.

    Each round is given to all followers, in order; the last of a turn is then shown. The rounds of
    the checkpoint, or those that `rounds` already holds, come first: followers see them again, so
    that what they have learned comes back, too. `before` is called before each round that is
    trained; `rounds` is the list that is returned, for those who follow.
    """
    following, found = list(followers), [] if rounds is None else rounds
    if checkpoint is not None:
        found[:] = checkpoint.rounds
    next_round = booster.next_round if checkpoint is None else checkpoint.next_round
    with nullcontext() if checkpoint is None else checkpoint:
        asked = [bool(follow(done)) for done in found for follow in following]
        ended = any(asked) or booster.finished
        if ended and found and progress is not None:
            progress(found[-1].rows[-1], found[-1].edge, ended)
        while not ended or len(found) % turn:
            if before is not None:
                before()
            done = next_round()
            found.append(done)
            asked = [bool(follow(done)) for follow in following]
            ended = ended or any(asked) or booster.finished
            if progress is not None and len(found) % turn == 0:
                progress(done.rows[-1], done.edge, ended)
    _warn_of_no_edge(found, booster.stopped)
    return found


def _warn_of_no_edge(rounds: Sequence[Round], stopped: str) -> None:
    """ConvergenceWarning if training has ended at an edge of 0, or no round has found another."""
    if rounds and rounds[-1].edge <= NO_EDGE:
        way_out = (
            "try a learner of several stumps as learner='tree', smaller limits of its leaves, or "
            "other features"
        )
        if stopped:
            text = f"training ended in round {rounds[-1].rows[-1]['round']}: {stopped}; {way_out}"
        elif all(one.edge <= NO_EDGE for one in rounds):
            text = f"no edge in {len(rounds)} rounds: the model has learned nothing; {way_out}"
        else:
            return
        warnings.warn(text, ConvergenceWarning, stacklevel=2)


def fit_seed(random_state: Any, path: str | os.PathLike[str] | None = None) -> list[int]:
    """Four whole numbers that all random choices of a fit come from.

    With a `random_state` of None they are those of the checkpoint at `path`, if there is one: no
    other stream could continue it. DataError, before the fit has begun, if the file is none.
    """
    notes = None if path is None else checkpoint_notes(path)
    if random_state is None and notes is not None and "seed" in notes:
        return [int(one) for one in notes["seed"]]
    try:
        seed: list[int] = check_random_state(random_state).randint(2**31, size=4).tolist()
    except ValueError as error:
        raise SettingError(
            f"random_state must be None, a RandomState or from 0 to 2**32 - 1, got {random_state!r}"
        ) from error
    return seed


def split_stream(seed: list[int]) -> np.random.Generator:
    """The random stream that chooses held-out rows; independent of that of the strategy."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))


def fit_checkpoint(
    path: str | os.PathLike[str] | None,
    booster: Booster | Committee,
    seconds: float,
    seed: list[int],
) -> Checkpoint | None:
    """The checkpoint of a fit, which also keeps its seed; None without a path."""
    return None if path is None else Checkpoint(path, booster, seconds, {"seed": seed})


@dataclass(frozen=True, slots=True)
class Run:
    """What `warm_start` needs to continue a fit; pickled with the classifier.

    Neither features nor weights are kept: the weights follow from the terms, at O(N) a round.

    Attributes
    ----------
    seed : list of int
        As from `fit_seed`.
    facts : dict
        What must be the same, by name.
    rounds : list of Round
        All rounds trained: terms, history rows and edges.
    state : dict
        `Booster.small_state` after the last of them.
    plans_rounds : bool
        Whether the strategy has read the number of rounds planned.
    n_rounds : int
        That number.
    """

    seed: list[int]
    facts: dict[str, Any]
    rounds: list[Round]
    state: dict[str, Any]
    plans_rounds: bool
    n_rounds: int


def run_to_continue(estimator: Any) -> Run | None:
    """The run of the last fit if the estimator has `warm_start`; None if there was no fit.

    Raises SettingError if `warm_start` is neither True nor False, if the fit kept none, as that of
    a loaded file, if there is a checkpoint, or if `random_state` is another number; None and a
    RandomState keep the stream of the fit.
    """
    if not check_flag("warm_start", estimator.warm_start) or not hasattr(estimator, "model_"):
        return None
    if estimator.checkpoint is not None:
        raise SettingError(
            "warm_start and checkpoint both continue a fit; set warm_start=False: the checkpoint "
            "continues it by itself"
        )
    run: Run | None = getattr(estimator, "_run", None)
    if run is None:
        raise SettingError(
            "warm_start continues the last fit of this object, but it was loaded from a file that "
            "holds the model only, or its model is the mean of several, of n_rounds='auto'; set "
            "warm_start=False"
        )
    seed = estimator.random_state
    if isinstance(seed, numbers.Integral) and fit_seed(seed) != run.seed:
        raise SettingError(
            "warm_start continues a fit with the same settings, but random_state differs, now "
            f"{seed}; {_WAY_OUT}"
        )
    return run


def run_facts(booster: Booster, bank: Bank, estimator: Any) -> dict[str, Any]:
    """What two runs must share for one to continue the other; `booster` before its first round."""
    start = booster.small_state()
    return {
        "strategy": repr(booster.strategy),
        "learner": f"{type(booster.learner).__name__} {vars(booster.learner)}",
        "budget": booster.budget,
        "max_model_features": booster.max_model_features,
        "learning_rate": booster.step_size.learning_rate,
        "smoothing": booster.step_size.smoothing,
        "weight_init": estimator.weight_init,
        "families": ", ".join(family.name for family in bank.families),
        "number of features": bank.n_features,
        _EXAMPLES: start["weights"],
        _FEATURES: _digest(bank),
        _NAMES: fitted_names(vars(estimator)),
        _START: _checksum(start["strategy"]),
    }


def _digest(bank: Bank) -> dict[str, str]:
    """Checksums of a bank; none if a lazy one holds objects, which cannot be compared."""
    try:
        return bank.digest()
    except SettingError:
        return {}


def _checksum(state: Any) -> str:
    """Checksum of a state; empty if it holds objects, which cannot be compared."""
    try:
        return sha256_of_bytes(pack_state(state).encode())
    except TypeError:
        return ""


def resume(booster: Booster, run: Run | None, facts: dict[str, Any]) -> list[Round]:
    """Set a new booster to the end of a run; the rounds of the run, none without one.

    Raises
    ------
    SettingError
        If settings differ, rounds are fewer than trained, or the strategy depends on their number.
    DataError
        If examples, labels, weights or features differ.
    """
    if run is None:
        return []
    if booster.n_rounds < len(run.rounds):
        raise SettingError(
            f"with warm_start, n_rounds must be at least the {len(run.rounds)} rounds trained, got "
            f"{booster.n_rounds}; {_WAY_OUT}"
        )
    apart = dict.fromkeys([_EXAMPLES, _FEATURES, _NAMES, _START])
    saved, now = run.facts | apart, facts | apart
    if facts[_EXAMPLES] != run.facts[_EXAMPLES] and facts["weight_init"] == saved["weight_init"]:
        raise DataError(
            "warm_start continues a fit on the same examples, but their number, order, labels or "
            f"weights differ; {_WAY_OUT}"
        )
    check_same_names(facts[_NAMES], run.facts.get(_NAMES), "the last fit, because of warm_start")
    wrong = differences(saved, now)
    if wrong:
        raise SettingError(
            "warm_start continues a fit with the same settings, but these differ: "
            f"{'; '.join(wrong)}; {_WAY_OUT}"
        )
    other_x = f"warm_start continues a fit on the same X, but its features differ; {_WAY_OUT}"
    if facts[_FEATURES] != run.facts[_FEATURES]:
        raise DataError(other_x)
    plans = run.plans_rounds or facts[_START] != run.facts[_START]
    if plans and booster.n_rounds != run.n_rounds:
        raise SettingError(
            f"the strategy {facts['strategy']} depends on the number of rounds planned, "
            f"{run.n_rounds}, so its fit cannot be continued to {booster.n_rounds}; {_WAY_OUT}"
        )
    terms, edges = [one.terms for one in run.rounds], [one.edge for one in run.rounds]
    try:
        booster.replay(terms, edges, run.state)
    except DataError as error:
        raise DataError(other_x) from error
    return list(run.rounds)
