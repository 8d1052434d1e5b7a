"""How each method of a race is run, so that a clock can stand still while its errors are taken.

Most can be taken through one iteration after the other: `Paused`. scikit-learn's classifiers cannot
without starting over, so that they are fitted anew with more and more iterations, and every fit is
timed as a whole: `Whole`. Libraries are imported when they are asked for.
"""

from __future__ import annotations

import abc
import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.bank import FeatureBank
from boostsample.experiments.plan.plan import Plan
from boostsample.experiments.plan.variants import Variant
from boostsample.experiments.race.job import Job
from boostsample.labels import classify, encode
from boostsample.loop.booster import Booster
from boostsample.records import Term

__all__ = [
    "AdaBoost",
    "Boosted",
    "Codes",
    "HistGradientBoosting",
    "LightGBM",
    "Paused",
    "Whole",
    "XGBoost",
]

Codes = NDArray[np.int64]


class Paused(abc.ABC):
    """A method that goes on iteration by iteration; only `prepare` and `advance` are timed.

    Parameters
    ----------
    job : Job
    settings : Variant
    seed : int
        Of whatever the method draws.
    """

    def __init__(self, job: Job, settings: Variant, seed: int) -> None:
        self.job = job
        self.settings = settings
        self.seed = seed

    @abc.abstractmethod
    def prepare(self) -> None:
        """Build bins or data set from the training matrix, and whatever comes before learning."""

    @abc.abstractmethod
    def advance(self) -> bool:
        """Do one iteration; False if nothing is left to learn."""

    @abc.abstractmethod
    def predict(self) -> Codes:
        """Class codes of the test rows by all iterations so far: int64 (n,)."""


class Whole(abc.ABC):
    """A method that can only be fitted as a whole; only `fit` is timed.

    Parameters are those of `Paused`. Two fits must agree in the iterations that both have.
    """

    def __init__(self, job: Job, settings: Variant, seed: int) -> None:
        self.job = job
        self.settings = settings
        self.seed = seed

    @abc.abstractmethod
    def fit(self, n_iterations: int) -> None:
        """Fit from the start, bins included."""

    @abc.abstractmethod
    def staged(self) -> Iterator[Codes]:
        """Class codes of the test rows after each iteration of the last fit."""


class Boosted(Paused):
    """boostsample itself: a bank of the training rows, then the loop."""

    def __init__(self, job: Job, settings: Variant, seed: int, plan: Plan) -> None:
        super().__init__(job, settings, seed)
        self._plan = plan
        self._terms: list[Term] = []
        self._scores = np.zeros((job.y_test.size, 1 if job.n_classes == 2 else job.n_classes))

    def prepare(self) -> None:
        """Build the bank, compute the initial weights."""
        job = self.job
        bank = FeatureBank.build(job.families, job.X_train, n_jobs=job.n_jobs)
        self._booster = Booster(
            bank,
            None,
            encode(job.y_train, job.n_classes),
            self.settings.strategy(),
            n_rounds=job.n_rounds,
            budget=self._plan.looks(job.y_train.size),
            weights=self._plan.weights,
            rng=np.random.default_rng(self.settings.stream(job.name, self.seed, 0)),
            n_jobs=job.n_jobs,
        )

    def advance(self) -> bool:
        """One round."""
        self._terms.extend(self._booster.next_round().terms)
        return not self._booster.finished

    def predict(self) -> Codes:
        """Add the stumps since the last time to the scores, by their raw thresholds."""
        for term in self._terms:
            side = np.where(self.job.X_test[:, term.feature] >= term.value, 1.0, -1.0)
            self._scores += side[:, None] * (term.alpha * term.votes)
        self._terms.clear()
        return classify(self._scores)


class LightGBM(Paused):
    """LightGBM's own loop, `Booster.update`, with its multi-class objective.

    Test scores are raw scores of the iterations since the last time, added up: a validation set
    would be scored inside of `update`.
    """

    def prepare(self) -> None:
        """Construct the data set and the booster."""
        lightgbm = importlib.import_module("lightgbm")
        job = self.job
        parameters = {
            "objective": "multiclass",
            "num_class": job.n_classes,
            "max_bin": 255,
            "num_threads": job.n_jobs,
            "seed": self.seed,
            "verbosity": -1,
            **self.settings.settings,
        }
        data = lightgbm.Dataset(job.X_train, job.y_train, params=parameters)
        self._booster = lightgbm.Booster(parameters, data)
        self._scores = np.zeros((job.y_test.size, job.n_classes))
        self._scored = 0

    def advance(self) -> bool:
        """One iteration: a tree for each class."""
        return not self._booster.update()

    def predict(self) -> Codes:
        """Add the scores of the trees since the last time."""
        done = self._booster.current_iteration()
        if done > self._scored:
            self._scores += self._booster.predict(
                self.job.X_test,
                start_iteration=self._scored,
                num_iteration=done - self._scored,
                raw_score=True,
                num_threads=self.job.n_jobs,  # its threads are for all of LightGBM, training too
            )
            self._scored = done
        return classify(self._scores)


class XGBoost(Paused):
    """XGBoost's own loop, `Booster.update`, with histograms and its multi-class objective."""

    def prepare(self) -> None:
        """Construct the quantile matrix and the booster."""
        xgboost = importlib.import_module("xgboost")
        job = self.job
        parameters = {
            "objective": "multi:softprob",
            "num_class": job.n_classes,
            "tree_method": "hist",
            "grow_policy": "lossguide",
            "max_depth": 0,
            "max_bin": 256,
            "nthread": job.n_jobs,
            "seed": self.seed,
            "verbosity": 0,
            # The margin of every slice of iterations begins with it: the same for all classes.
            "base_score": 0.5,
            **self.settings.settings,
        }
        self._data = xgboost.QuantileDMatrix(
            job.X_train, job.y_train, max_bin=parameters["max_bin"], nthread=job.n_jobs
        )
        self._booster = xgboost.Booster(parameters, [self._data])
        self._scores = np.zeros((job.y_test.size, job.n_classes))
        self._done = self._scored = 0

    def advance(self) -> bool:
        """One iteration: a tree for each class."""
        self._booster.update(self._data, self._done)
        self._done += 1
        return True

    def predict(self) -> Codes:
        """Add the margins of the trees since the last time."""
        if self._done > self._scored:
            self._scores += self._booster.inplace_predict(
                self.job.X_test,
                iteration_range=(self._scored, self._done),
                predict_type="margin",
            )
            self._scored = self._done
        return classify(self._scores)


class _Sklearn(Whole):
    """A classifier of scikit-learn that can say what it predicts after each iteration."""

    @abc.abstractmethod
    def _make(self, n_iterations: int) -> Any:
        """The classifier, not fitted yet."""

    def fit(self, n_iterations: int) -> None:
        """Fit, with as many OpenMP threads as the job allows."""
        from threadpoolctl import threadpool_limits

        with threadpool_limits(self.job.n_jobs):
            self._fitted = self._make(n_iterations).fit(self.job.X_train, self.job.y_train)

    def staged(self) -> Iterator[Codes]:
        """`staged_predict` of the last fit."""
        yield from self._fitted.staged_predict(self.job.X_test)


class HistGradientBoosting(_Sklearn):
    """`sklearn.ensemble.HistGradientBoostingClassifier` without early stopping."""

    def _make(self, n_iterations: int) -> Any:
        from sklearn.ensemble import HistGradientBoostingClassifier

        return HistGradientBoostingClassifier(
            max_iter=n_iterations,
            early_stopping=False,
            random_state=self.seed,
            **self.settings.settings,
        )


class AdaBoost(_Sklearn):
    """`sklearn.ensemble.AdaBoostClassifier`, SAMME with stumps, on one thread."""

    def _make(self, n_iterations: int) -> Any:
        from sklearn.ensemble import AdaBoostClassifier
        from sklearn.tree import DecisionTreeClassifier

        settings = dict(self.settings.settings)
        tree = DecisionTreeClassifier(max_depth=settings.pop("max_depth", 1))
        return AdaBoostClassifier(
            tree, n_estimators=n_iterations, random_state=self.seed, **settings
        )
