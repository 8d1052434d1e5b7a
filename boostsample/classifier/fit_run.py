"""The rounds of a fit: those who follow them, how they are saved, and how a fit goes on later."""

from __future__ import annotations

import numbers
import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from boostsample.banks.bank import Bank, FeatureBank
from boostsample.checks import check_flag, check_number
from boostsample.classifier.defaults import choose_objective, choose_settings, choose_smoothing
from boostsample.classifier.early_stopping import EvalMetric, Metric, RoundScores
from boostsample.classifier.fitted import FITTED_ATTRIBUTES, FittedState, InitModel
from boostsample.classifier.inputs.fit_inputs import FitInputs
from boostsample.classifier.inputs.frames import check_same_names
from boostsample.classifier.inputs.held_rows import HeldScores
from boostsample.classifier.prediction.probabilities import TemperatureRule, largest_score
from boostsample.errors import DataError, SettingError
from boostsample.files.json_text import pack_state
from boostsample.hashing import sha256_of_arrays, sha256_of_bytes
from boostsample.learner import NO_EDGE
from boostsample.loop.booster import Booster, differences
from boostsample.loop.budgets import RunLimits
from boostsample.loop.checkpoint import Checkpoint, checkpoint_notes
from boostsample.loop.committee import Committee, mean_terms
from boostsample.loop.fit_progress import FitProgress
from boostsample.loop.run_file import RunFile
from boostsample.models.importances import round_falls, term_importances
from boostsample.models.model import Model
from boostsample.objective import AdaBoostMH, Objective
from boostsample.objectives.real import RealMH
from boostsample.output_codes import OutputCode
from boostsample.records import Round
from boostsample.registry import make_objective
from boostsample.rows.weights import InitialWeights
from boostsample.threads import Threads, n_threads

try:
    import sklearn.callback as _callback
except ImportError:
    _callback = None

Follower: TypeAlias = Callable[[Round], str]
"""Called after each round, with what it adds; why the training is to end, or an empty text."""
_Method = TypeVar("_Method", bound=Callable[..., Any])
_EXAMPLES = "training examples"
_FEATURES = "features"
_NAMES = "names of columns"
_START = "strategy before the first round"
_WAY_OUT = "set warm_start=False to train anew"


@dataclass(frozen=True)
class FitRun:
    """What the rounds of a fit are trained on, and the fitted state that they make."""

    settings: Any
    inputs: FitInputs
    bank: Bank
    offset: NDArray[np.float64]
    seed: list[int]
    metric: Metric
    start: InitModel | None = None
    code: OutputCode | None = None

    @property
    def n_members(self) -> int:
        """Models whose mean is the score."""
        return max(1, len(self.inputs.rows.held))

    @property
    def objective(self) -> Objective:
        """The objective in use."""
        settings = self.settings
        of_learner = settings.learner, settings.smoothing
        size = self.bank.n_features, self.n_members
        objective: Objective = make_objective(
            choose_objective(settings.objective, *of_learner, *size)
        )
        return objective

    @cached_property
    def rule(self) -> TemperatureRule:
        """The rule of the temperature."""
        n_rows, multi_label = self.inputs.rows.train.size, self.inputs.multi_label
        return TemperatureRule(self.objective, n_rows, self.offset, multi_label, self.code)

    def booster(self, train: NDArray[np.int64], n_rounds: int, *stream: int) -> Booster:
        """The booster of some of the rows, before its first round."""
        settings, rows = self.settings, self.inputs.rows
        labels = rows.labels[train]
        if self.code is not None:
            labels = self.code.encode(labels)
        objective = self.objective
        grows = type(objective) in (AdaBoostMH, RealMH)
        strategy, learner, budget = choose_settings(
            settings.strategy,
            settings.learner,
            settings.budget,
            train.size,
            self.bank.n_features,
            labels.shape[1],
            limited=settings.max_model_features is not None,
            levels=self.n_members > 1 and isinstance(self.bank, FeatureBank) and grows,
        )
        return Booster(
            self.bank,
            train,
            labels,
            strategy,
            learner,
            n_rounds=n_rounds,
            budget=budget,
            weight_init=settings.weight_init,
            rng=np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=stream)),
            n_jobs=max(n_threads(settings.n_jobs) // self.n_members, 1),
            example_weight=rows.weight[train],
            scores=None if rows.scores is None else rows.scores[train],
            max_model_features=settings.max_model_features,
            learning_rate=settings.learning_rate,
            smoothing=choose_smoothing(settings.smoothing, objective, settings.learning_rate),
            objective=objective,
            groups=None if rows.queries is None else rows.queries[train],
        )

    def committee(self, n_rounds: int) -> Committee:
        """The boosters of all rows but those that a member leaves out.

        With a checkpoint, which saves after any round, they are trained one after the other.
        """
        train = self.inputs.rows.train
        rows = [np.setdiff1d(train, part) for part in self.inputs.rows.held]
        members = [self.booster(part, n_rounds, 2, at) for at, part in enumerate(rows)]
        alone = self.settings.checkpoint is not None
        return Committee(members, Threads(1 if alone else n_threads(self.settings.n_jobs)))

    @property
    def _threads(self) -> Threads:
        return Threads(n_threads(self.settings.n_jobs))

    def held_scores(self, *parts: NDArray[np.int64]) -> HeldScores:
        """The scores of rows that are not trained on; see `HeldScores`."""
        rows = self.inputs.rows
        return HeldScores(self.bank, rows, *parts, threads=self._threads, code=self.code)

    def held_metric(self, *parts: NDArray[np.int64]) -> EvalMetric:
        """The metric of rows that are not trained on; see `HeldScores`."""
        return EvalMetric(self.metric, self.held_scores(*parts), self.rule, self.inputs.classes)

    def example_weights(
        self, booster: Booster | Committee, rounds: Sequence[Round]
    ) -> NDArray[np.float64]:
        """The weight of each row of X after these rounds, 0 for rows that are not trained on.

        Float64 (n,), of total 1. Those of the booster, O(n K), if it has trained these rounds and
        no others; else those that follow from the scores, to which all rounds are added again.
        """
        rows, n_members = self.inputs.rows, self.n_members
        weights = np.zeros(self.inputs.weighted.size)
        trained = np.flatnonzero(self.inputs.weighted)[rows.train]
        whole, resamples = booster.round == len(rounds), booster.objective.resamples
        if isinstance(booster, Booster) and whole and not resamples:
            weights[trained] = booster.example_weights()
            return weights
        if self.code is not None:  # the labels that are boosted
            rows = rows._replace(labels=self.code.encode(rows.labels))
        scores = HeldScores(self.bank, rows, rows.train, threads=self._threads)
        for turn in range(0, len(rounds), n_members):
            scores.add(*rounds[turn : turn + n_members])
        kind, labels = self.settings.weight_init, scores.labels
        label_weights = InitialWeights(kind, scores.weight).of(labels)
        queries = None if rows.queries is None else rows.queries[rows.train]
        of_scores = labels, label_weights, scores.scores, queries
        weights[trained] = booster.objective.example_weights(*of_scores)
        return weights

    def state(
        self, booster: Booster | Committee, rounds: Sequence[Round], history: list[dict[str, Any]]
    ) -> FittedState:
        """The state of the classifier with the model of these rounds."""
        rows, classes, multi_label, seen, _ = self.inputs
        families, n_members = self.bank.families, self.n_members
        terms = mean_terms(rounds, n_members)
        if self.start is None:
            n_labels = self.offset.size if self.code is None else self.code.n_bits
            before, model = np.empty(0), Model(families, terms, n_labels)
        else:
            before = self.start.term_importances()
            model = self.start.model.extended(families, terms)
        temperature = 1.0
        if self.settings.calibration is not None:
            edges = [done.edge for done in rounds]
            temperature = self.rule.temperature(largest_score(model), edges)
        falls = round_falls(
            rounds,
            booster.objective,
            booster.step_size,
            n_members=n_members,
            start=booster.start_log_loss,
        )
        importances = term_importances(rounds, falls, self.bank, rows.train)
        return FittedState(
            seen,
            classes,
            multi_label,
            model,
            self.offset,
            temperature,
            np.concatenate([before, importances / n_members]),
            history,
            booster.strategy,
            n_members,
            code=self.code,
        )


class _NoCallbacks:
    """An estimator without callbacks."""


CallbackSupportMixin: Any = getattr(_callback, "CallbackSupportMixin", _NoCallbacks)
"""Base class that adds `set_callbacks`, if scikit-learn has callbacks."""


def with_callbacks(method: _Method) -> _Method:
    """The method, after which callbacks are torn down, whether it ends by an error or not."""
    wrap = getattr(_callback, "with_callbacks", None)
    return method if wrap is None else cast(_Method, wrap(method))


class RoundCallbacks:
    """Calls the callbacks of the classifier at both ends of the fit and of its rounds."""

    def __init__(
        self,
        fit: FitRun,
        booster: Booster | Committee,
        rounds: Sequence[Round],
        evaluation: RoundScores,
        X: Any,
        y: Any,
        sample_weight: Any,
    ) -> None:
        self._fit, self._booster, self._rounds, self._evaluation = fit, booster, rounds, evaluation
        weights = None if sample_weight is None else {"sample_weight": sample_weight}
        self._arguments = {"estimator": fit.settings, "X": X, "y": y, "metadata": weights}
        n_rounds = booster.n_rounds - booster.round
        self._context = fit.settings._init_callback_context(max_subtasks=n_rounds)
        self._context.call_on_fit_task_begin(**self._arguments)
        self._round: Any = None

    def begin(self) -> None:
        """Begin a round."""
        self._round = self._context.subcontext(task_name="round")
        self._round.call_on_fit_task_begin(**self._arguments)

    def __call__(self, done: Round) -> str:
        """End a round; a text if a callback asks to stop. Rounds of earlier fits are ignored."""
        asked = self._round is not None and self._end(self._round, self._attributes)
        return "a callback has asked for it" if asked else ""

    def end(self, state: FittedState) -> None:
        """End the fit with its final state."""
        self._end(self._context, _all_attributes(state))

    def _end(self, task: Any, attributes: Any) -> Any:
        return task.call_on_fit_task_end(**self._arguments, reconstruction_attributes=attributes)

    def _attributes(self) -> dict[str, Any]:
        """Attributes of the classifier fitted so far; made only if a callback asks for them."""
        history = self._evaluation.history(self._rounds)
        return _all_attributes(self._fit.state(self._booster, self._rounds, history))


def _all_attributes(state: FittedState) -> dict[str, Any]:
    # scikit-learn sets them on a copy of the estimator, which may have those of an earlier fit.
    return {**dict.fromkeys(FITTED_ATTRIBUTES), **state.attributes()}


class TrainedRounds(NamedTuple):
    """The rounds of a fit, and why it has ended before all that were planned, or an empty text."""

    rounds: list[Round]
    stopped: str


def train(
    booster: Booster | Committee,
    limits: RunLimits,
    followers: Iterable[Follower] = (),
    progress: FitProgress | None = None,
    checkpoint: Checkpoint | None = None,
    *,
    turn: int = 1,
    before: Callable[[], None] | None = None,
    rounds: list[Round] | None = None,
) -> TrainedRounds:
    """Train a booster until it ends, a limit is reached or a follower asks to stop; in whole turns.

    Each round is given to all followers; the last of a turn is then shown. The rounds of the
    checkpoint, or those that `rounds` already holds, come first: followers see them again, so that
    what they have learned comes back, too. `before` is called before each round that is trained.
    """
    following, trained = list(followers), [] if rounds is None else rounds

    if checkpoint is not None:
        trained[:] = checkpoint.rounds
    next_round = booster.next_round if checkpoint is None else checkpoint.next_round
    with nullcontext() if checkpoint is None else checkpoint:
        limits.resume(trained, turn)
        asked = [follow(done) for done in trained for follow in following]
        stopped = next(filter(None, asked), limits.reached)
        ended = bool(stopped) or booster.finished
        if ended and trained and progress is not None:
            progress(trained[-1].rows[-1], trained[-1].edge, ended, stopped)
        while not ended or len(trained) % turn:
            if before is not None:
                before()
            done = next_round()
            trained.append(done)
            limits.count(done)
            asked = [follow(done) for follow in following]
            stopped = stopped or next(filter(None, asked), limits.reached)
            ended = bool(stopped) or booster.finished
            if progress is not None and len(trained) % turn == 0:
                progress(done.rows[-1], done.edge, ended, stopped)
    _warn_of_no_edge(trained, booster.stopped)
    return TrainedRounds(trained, booster.stopped if booster.finished else stopped)


def _warn_of_no_edge(rounds: Sequence[Round], stopped: str) -> None:
    """ConvergenceWarning if training has ended at an edge of 0, or no round has found another."""
    if rounds and rounds[-1].edge <= NO_EDGE:
        way_out = (
            "try a learner of more stumps, as learner='tree:n_leaves=8', smaller limits of its "
            "leaves, or other features"
        )
        if stopped:
            text = f"training ended in round {rounds[-1].rows[-1]['round']}: {stopped}; {way_out}"
        elif all(done.edge <= NO_EDGE for done in rounds):
            text = f"no edge in {len(rounds)} rounds: the model has learned nothing; {way_out}"
        else:
            return
        warnings.warn(text, ConvergenceWarning, stacklevel=2)


def fit_seed(random_state: Any, path: str | os.PathLike[str] | None = None) -> list[int]:
    """Four numbers that all random choices come from; those of the checkpoint without a seed."""
    notes = None if path is None else checkpoint_notes(path)
    if random_state is None and notes is not None and "seed" in notes:
        return [int(number) for number in notes["seed"]]
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
    check_number("checkpoint_seconds", seconds, 0.0)
    return None if path is None else Checkpoint(path, booster, seconds, {"seed": seed})


def run_to_continue(estimator: Any) -> RunFile | None:
    """The run of the last fit if the estimator has `warm_start`; None if there was no fit."""
    if not check_flag("warm_start", estimator.warm_start) or not hasattr(estimator, "model_"):
        return None
    if estimator.checkpoint is not None:
        raise SettingError(
            "warm_start and checkpoint both continue a fit; set warm_start=False: the checkpoint "
            "continues it by itself"
        )
    run: RunFile | None = getattr(estimator, "_run", None)
    if run is None:
        raise SettingError(
            "warm_start continues the last fit of this object, but it was loaded from a file that "
            "holds the model only, or its model is the mean of several, of n_rounds='auto'; set "
            "warm_start=False"
        )
    seed = estimator.random_state
    if isinstance(seed, numbers.Integral) and fit_seed(seed) != run.notes["seed"]:
        raise SettingError(
            "warm_start continues a fit with the same settings, but random_state differs, now "
            f"{seed}; {_WAY_OUT}"
        )
    return run


def run_facts(booster: Booster, fit: FitRun) -> dict[str, Any]:
    """What two runs must share for one to continue the other; `booster` before its first round."""
    start = booster.small_state()
    features: dict[str, str] = {}
    with suppress(SettingError):
        features = fit.bank.digest()
    strategy = ""
    with suppress(TypeError):
        strategy = sha256_of_bytes(pack_state(start["strategy"]).encode())
    return {
        "strategy": repr(booster.strategy),
        "learner": f"{type(booster.learner).__name__} {vars(booster.learner)}",
        "budget": booster.budget,
        "max_model_features": booster.max_model_features,
        "learning_rate": booster.step_size.learning_rate,
        "smoothing": booster.step_size.smoothing,
        "objective": repr(booster.objective),
        "code": "none" if fit.code is None else sha256_of_arrays(fit.code.matrix),
        "decoding": fit.settings.decoding,
        "weight_init": fit.settings.weight_init,
        "families": ", ".join(family.name for family in fit.bank.families),
        "number of features": fit.bank.n_features,
        _EXAMPLES: start["weights"],
        _FEATURES: features,
        _NAMES: fit.inputs.seen.names,
        _START: strategy,
    }


def run_to_keep(
    booster: Booster | Committee,
    fit: FitRun,
    facts: dict[str, Any],
    rounds: list[Round],
    last_run: RunFile | None,
) -> RunFile:
    """What a later fit with `warm_start` continues; `last_run` is what this one has continued."""
    plans = booster.plans_rounds or (last_run is not None and last_run.plans_rounds)
    of_start = facts[_START], booster.n_rounds, plans, fit.offset.size
    return RunFile(facts, *of_start, {"seed": fit.seed}, rounds, booster.small_state())


def resume(booster: Booster, run: RunFile | None, facts: dict[str, Any]) -> list[Round]:
    """Set a new booster to the end of a run; the rounds of the run, none without one."""
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
    plans = run.plans_rounds or facts[_START] != run.start
    if plans and booster.n_rounds != run.n_rounds:
        raise SettingError(
            f"the strategy {facts['strategy']} depends on the number of rounds planned, "
            f"{run.n_rounds}, so its fit cannot be continued to {booster.n_rounds}; {_WAY_OUT}"
        )
    try:
        run.continue_in(booster)
    except DataError as error:
        raise DataError(other_x) from error
    return list(run.rounds)
