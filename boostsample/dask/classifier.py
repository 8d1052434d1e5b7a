"""The classifier on a Dask cluster: the rows stay on the workers."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import DTypeLike, NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from boostsample.checks import check_flag, check_known, warn_of_merged_columns
from boostsample.classifier.defaults import (
    AUTO,
    NamedSettings,
    choose_settings,
    choose_smoothing,
)
from boostsample.classifier.fit_run import fit_checkpoint, fit_seed, train
from boostsample.classifier.fitted import FittedState
from boostsample.classifier.prediction.prediction_mixin import accuracy
from boostsample.classifier.prediction.probabilities import TemperatureRule, largest_score
from boostsample.dask.cluster import DaskShards
from boostsample.dask.cluster_table import read_table
from boostsample.dask.parts import is_collection, is_frame
from boostsample.errors import SettingError
from boostsample.estimator import BoostSampleClassifier
from boostsample.family import Family
from boostsample.labels import class_values
from boostsample.learner import Learner
from boostsample.loop.budgets import RunLimits
from boostsample.loop.fit_progress import FitProgress
from boostsample.loop.shard_booster import ShardBooster
from boostsample.models.importances import model_importances, round_falls
from boostsample.models.model import Model
from boostsample.objective import Objective
from boostsample.registry import make_objective
from boostsample.strategy import Strategy

_dask: Any = importlib.import_module("dask")
_distributed: Any = importlib.import_module("distributed")

_OF_CLUSTER = ("client", "n_shards", "patience")
"""Parameters that the classifier on one machine does not have."""
_CALIBRATIONS = (None, "auto", "rule")


class DaskBoostSampleClassifier(
    ClassifierMixin,  # type: ignore[misc]  # untyped
    NamedSettings,
):
    """`boostsample.BoostSampleClassifier` with its rows on the workers of a Dask cluster.

    The conventions are those of `lightgbm.dask` and `xgboost.dask`. A worker reads its part of the
    rows, bins them and keeps them; strategy, random streams and model are in the process of `fit`.
    Parameters that are not described here are those of `BoostSampleClassifier`.

    Parameters
    ----------
    strategy, learner, budget, weight_init, families, random_state : object
    n_rounds : int, default 300
    n_jobs : int, default 1
        Threads of each worker for searches and passes over its rows.
    bank : {"auto", "memory", "disk", "columns"} with settings, default "auto"
        Where a worker keeps the bins of its rows: in memory, of dense rows also on disk; of sparse
        ones in memory up to 64 MiB, else "columns" bins the columns that a search asks for.
        ``reference=n`` is the number of rows that bin edges come from, 65,536 by default: see
        `boostsample.dask.cluster_table`.
    verbose, checkpoint, checkpoint_seconds : object
        The checkpoint is a file of the process of `fit`.
    class_weight : "balanced", mapping of class to weight, or None
        Weights above 0; None for several labels.
    max_model_features, learning_rate, smoothing, max_seconds, max_looks : object
    objective : str or Objective, default "mh"
        "mh", "real-mh", "info" or "gentle", or one whose weights follow from the scores as theirs.
    calibration : {"auto", "rule", None}
        No rows are held out.
    client : distributed.Client or None, default None
        None is the client that was made last in this process. It is not pickled.
    n_shards : int or None, default None
        Shards of rows, at most one for each part of the table; None is one for each worker. The
        result depends on it, not on the number of workers.
    patience : float, default 15.0
        Seconds after which a worker that does not even say that it lives is given up. More on
        machines that are busy with other work.

    Attributes
    ----------
    classes_, model_, n_rounds_, stopped_, history_, strategy_ : object
        History rows have the columns ``bytes`` and ``messages`` of their round.
    term_importances_, feature_importances_, family_importances_ : object
        As if no value of a row were missing, see `boostsample.models.importances`.
    offset_, temperature_, n_features_in_, feature_names_in_ : object

    Examples
    --------
    See docs/cluster.md.
    """

    model_: Model
    classes_: NDArray[Any]
    _multi_label: bool

    def __init__(
        self,
        strategy: str | Strategy = AUTO,
        learner: str | Learner = AUTO,
        n_rounds: int = 300,
        budget: int | str | None = None,
        weight_init: str = "balanced",
        families: Sequence[str | Family] | Mapping[str, Any] | str | None = None,
        random_state: Any = None,
        n_jobs: int = 1,
        bank: str = "auto",
        verbose: bool = False,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_seconds: float = 60.0,
        class_weight: str | Mapping[Any, float] | None = None,
        max_model_features: int | None = None,
        calibration: str | None = "auto",
        client: Any = None,
        n_shards: int | None = None,
        patience: float = 15.0,
        learning_rate: float = 0.2,
        smoothing: float | str = AUTO,
        max_seconds: float | None = None,
        max_looks: int | None = None,
        objective: str | Objective = "mh",
    ) -> None:
        self.strategy = strategy
        self.learner = learner
        self.n_rounds = n_rounds
        self.budget = budget
        self.weight_init = weight_init
        self.families = families
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.bank = bank
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.checkpoint_seconds = checkpoint_seconds
        self.class_weight = class_weight
        self.max_model_features = max_model_features
        self.calibration = calibration
        self.client = client
        self.n_shards = n_shards
        self.patience = patience
        self.learning_rate = learning_rate
        self.smoothing = smoothing
        self.max_seconds = max_seconds
        self.max_looks = max_looks
        self.objective = objective

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> DaskBoostSampleClassifier:
        """Boost on the rows of a table that workers read.

        Parameters
        ----------
        X : Dask array (n, ...), data frame (n, d) or bag of rows, list of delayed parts, or path
            Numbers and truth values; NaN means missing. Blocks of an array, or delayed parts, may
            all be SciPy sparse matrices or arrays; they stay sparse. A path is that of a folder of
            `.npy` or Parquet files, or of one file, which all workers can read under this name.
        y : Dask array, series or bag (n,) or (n, K), list of delayed parts, column, or path
            With the parts of X; or the name of a column, of a data frame or of Parquet files; or,
            for `.npy` files, the number of a column or the path of a folder of files. Class labels,
            or 0 and 1 of several labels.
        sample_weight : like y, optional
            Example weights of at least 0; rows of weight 0 are dropped first.

        Returns
        -------
        self

        Raises
        ------
        DataError
            If the table cannot be learned from, a part cannot be read, or has other rows when it is
            read again.
        ShardError
            If the cluster is lost, or a shard again and again, or a worker has other versions than
            this process; a checkpoint continues the fit.
        SettingError
            If a setting is out of range or unknown.

        Notes
        -----
        Workers make each part of the table twice: for bin edges and classes, and for the bins.
        Unless it is read from files, `persist` a collection whose parts are expensive.
        """
        limits = RunLimits(self.max_seconds, self.max_looks, monotonic)
        is_verbose = check_flag("verbose", self.verbose, numbers=True)
        client = self._client()
        check_known("calibration", self.calibration, _CALIBRATIONS)
        facts, sources = read_table(
            client,
            X,
            y,
            sample_weight,
            families=self.families,
            bank=self.bank,
            weight_init=self.weight_init,
            class_weight=self.class_weight,
            n_shards=self.n_shards,
        )
        warn_of_merged_columns(facts.merged_columns)
        n_features = sum(family.n_features for family in facts.families)
        strategy, learner, budget = choose_settings(
            self.strategy,
            self.learner,
            self.budget,
            sum(facts.n_rows),
            n_features,
            facts.n_labels,
            limited=self.max_model_features is not None,
            spread=True,
        )
        objective = make_objective(self.objective)
        seed = fit_seed(self.random_state, self.checkpoint)
        with DaskShards(client, sources, n_jobs=self.n_jobs, patience=self.patience) as shards:
            booster = ShardBooster(
                shards,
                strategy,
                learner,
                n_rounds=self.n_rounds,
                budget=budget,
                weight_init=self.weight_init,
                rng=np.random.default_rng(seed),
                n_jobs=self.n_jobs,
                max_model_features=self.max_model_features,
                learning_rate=self.learning_rate,
                smoothing=choose_smoothing(self.smoothing, objective, self.learning_rate),
                objective=objective,
            )
            rounds, stopped = train(
                booster,
                limits,
                (),
                FitProgress(booster.n_rounds) if is_verbose else None,
                fit_checkpoint(self.checkpoint, booster, self.checkpoint_seconds, seed),
            )
        terms = (term for done in rounds for term in done.terms)
        model = Model(facts.families, terms, facts.n_labels)
        temperature = 1.0
        if self.calibration is not None:
            edges = [done.edge for done in rounds]
            of_data = sum(facts.n_rows), facts.offset, facts.multi_label
            rule = TemperatureRule(booster.objective, *of_data)
            temperature = rule.temperature(largest_score(model), edges)
        falls = round_falls(rounds, booster.objective, booster.step_size)
        FittedState(
            facts.seen,
            facts.classes,
            facts.multi_label,
            model,
            facts.offset,
            temperature,
            model_importances(model, falls=falls),
            [row for done in rounds for row in done.rows],
            booster.strategy,
            stopped=stopped,
        ).assign(self)
        return self

    def predict(self, X: Any) -> Any:
        """Class labels, as of `BoostSampleClassifier.predict`.

        A Dask array for a Dask array or data frame, with its chunks of rows; a list of delayed
        arrays for a bag or a list of delayed parts, nothing computed yet; an array for any other X,
        at once.
        """
        width = self.model_.n_labels if self._multi_label else None
        dtype = np.int64 if self._multi_label else self.classes_.dtype
        return self._answered(X, "predict", dtype, width)

    def predict_proba(self, X: Any) -> Any:
        """Probabilities (n, number of classes), or of labels (n, K); of the kind of `predict`."""
        return self._answered(X, "predict_proba", np.float64, self.classes_.size)

    def decision_function(self, X: Any) -> Any:
        """Scores (n, K), or (n,) with two classes; of the kind of `predict`."""
        vector = self.model_.n_labels == 1 and not self._multi_label
        width = None if vector else self.model_.n_labels
        return self._answered(X, "decision_function", np.float64, width)

    def _answered(self, X: Any, method: str, dtype: DTypeLike, width: int | None) -> Any:
        """What a method of the local classifier answers, `width` columns or a vector (None)."""
        local = self.to_local()
        if not is_collection(X):
            return getattr(local, method)(X)
        empty = np.empty((0,) if width is None else (0, width), dtype)
        if is_frame(X):
            meta = _framed(empty, None)
            return X.map_partitions(_partition, local, method, empty, meta=meta).to_dask_array()
        model = _dask.delayed(local)
        if not hasattr(X, "rechunk"):
            parts = X if isinstance(X, list | tuple) else X.to_delayed()
            work = _dask.delayed(_block)
            return [work(part, model, method, empty) for part in parts]
        whole = X.rechunk(dict.fromkeys(range(1, X.ndim), -1))
        shape: dict[str, Any] = {"drop_axis": list(range(1 if width is None else 2, X.ndim))}
        if width is not None:
            shape["chunks"] = (whole.chunks[0], (width,))
        answer = {"model": model, "method": method, "empty": empty}
        return whole.map_blocks(_block, **answer, dtype=dtype, meta=empty, **shape)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """As of `BoostSampleClassifier.score`; computes collections."""
        inputs = self.predict(X), y, sample_weight
        answers, truth, weight = (_dask.compute(collection)[0] for collection in inputs)
        # Lists of parts; a bag is predicted as one, and computed as a list of rows.
        answers = np.concatenate(answers) if isinstance(answers, list) else answers
        if _is_in_parts(y):
            truth = np.concatenate([class_values(part) for part in truth])
        weight = np.concatenate(weight) if _is_in_parts(sample_weight) else weight
        return accuracy(self.classes_, self._multi_label, answers, truth, weight)

    def to_local(self) -> BoostSampleClassifier:
        """A fitted classifier on one machine: equal predictions, to the bit; saves and exports."""
        check_is_fitted(self)
        settings = self.get_params(deep=False)
        local = BoostSampleClassifier(
            **{name: value for name, value in settings.items() if name not in _OF_CLUSTER}
        )
        FittedState.of(self).assign(local)
        return local

    @property
    def n_rounds_(self) -> int:
        """Rounds in the model."""
        check_is_fitted(self)
        return len(self.model_)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """As of `BoostSampleClassifier`."""
        return self.to_local().feature_importances_

    @property
    def family_importances_(self) -> dict[str, float]:
        """As of `BoostSampleClassifier`."""
        return self.to_local().family_importances_

    def _client(self) -> Any:
        client = self.client
        if client is not None:
            if not isinstance(client, _distributed.Client) or client.asynchronous:
                raise SettingError(
                    "client must be None or a distributed.Client that is not asynchronous, got "
                    f"{client!r:.80}; make one by distributed.Client(address)"
                )
            return client
        try:
            return _distributed.default_client()
        except ValueError as error:
            raise SettingError(
                "fit needs a client of a Dask cluster, got client=None and no client in this "
                "process; make one by distributed.Client(address), or pass it as client="
            ) from error

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {**state, "client": None}

    def __sklearn_clone__(self) -> DaskBoostSampleClassifier:
        settings = self.get_params(deep=False)
        client = settings.pop("client")
        copied = {name: clone(value, safe=False) for name, value in settings.items()}
        return type(self)(**copied, client=client)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.classifier_tags.multi_label = True
        return tags


def _is_in_parts(values: Any) -> bool:
    """Whether labels or weights are a list of delayed parts."""
    return isinstance(values, list | tuple) and is_collection(values)


def _block(X: Any, model: Any, method: str, empty: Any) -> Any:
    """The answer for one chunk; chunks of collections may be empty."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)  # sparse blocks have no length
    return np.asarray(getattr(model, method)(X), empty.dtype) if n else empty


def _partition(frame: Any, model: Any, method: str, empty: Any) -> Any:
    """The answer for one partition as a frame, which data frames of Dask need."""
    return _framed(_block(frame, model, method, empty), frame.index)


def _framed(values: Any, index: Any) -> Any:
    return (pd.Series if values.ndim == 1 else pd.DataFrame)(values, index)
