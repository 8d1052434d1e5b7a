"""The scikit-learn classifier."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from boostsample.banks.bank_forms import make_bank
from boostsample.classifier.continued import InitModel, init_model_of
from boostsample.classifier.file import load_classifier, save_classifier
from boostsample.classifier.inputs import (
    estimator_families,
    inputs_are_numbers,
    prediction_inputs,
    training_inputs,
)
from boostsample.classifier.named_settings import NamedSettings
from boostsample.classifier.probabilities import (
    label_offsets,
    log_probabilities,
    probabilities,
)
from boostsample.classifier.training import fit_checkpoint, fit_seed, train
from boostsample.family import Family
from boostsample.labels import classes_and_labels, classify
from boostsample.learner import Learner
from boostsample.loop.booster import Booster
from boostsample.loop.fit_progress import FitProgress
from boostsample.models.model import Model
from boostsample.strategy import Strategy

__all__ = ["BoostSampleClassifier"]


class BoostSampleClassifier(ClassifierMixin, NamedSettings):  # type: ignore[misc]  # untyped bases
    """AdaBoost.MH with a budget of looks for each search of a weak learner.

    Parameters
    ----------
    strategy : str or Strategy, default "laminating:scheme=distinct"
        Chooses the features and examples of each search; a registered name, with settings if need
        be as in ``"ucb:exploration=0.1"``, or an instance. The name "laminating" alone has the
        independent draws of [DF11].
    learner : str or Learner, default "stump"
        The weak learner of each round; a registered name or an instance.
    n_rounds : int, default 500
        Boosting rounds; fewer if an edge reaches 1.
    budget : int, str or None, default None
        Looks per search, or a multiple of the number of training examples N as in ``"10N"``. None
        is the strategy's default, usually 10 N.
    weight_init : {"balanced", "uniform"}, default "balanced"
        Initial label weights, [BK10] eq. 2 or 1/K; the same default as on the command line. With
        uniform ones, as in [DF11], every feature has the same best stump in the first round.
    families : str, sequence of str or Family, mapping of str to columns, or None
        Feature families. None, the default: one family of the columns of a table (n, d), or the
        default image families for images (n, h, w) or (n, h, w, channels). Names choose among these
        and the families of other distributions, ``"haar:levels=2,identity"`` or a sequence, in
        which instances may stand, too. A mapping names groups of columns,
        ``{"size": ["height", "width"], "sensors": "3-17"}``; "dtype" and "prefix" group the columns
        of a data frame by type or name; see `boostsample.families.column_groups`. A column of
        categories in a group stands for all of its indicators; ``"colour=*"`` names them, too.
    random_state : int, RandomState instance or None, default None
        Seed of the strategy's random stream.
    n_jobs : int, default 1
        Threads for features, searches and passes over all examples; -1 is all cores. Results do not
        depend on it, to the bit.
    bank : {"memory", "disk", "lazy"} with settings, default "memory"
        Storage of the features, as in ``"lazy:reference=512"``: in memory; in memory-mapped files
        that later fits of the same families on the same data reuse (``boostsample cache``); or
        computed on first use, with bin edges from 2,048 examples (`reference`).
    verbose : bool, default False
        Show round, loss and edge on standard error: one renewed line on a terminal, ten lines in
        notebooks and files.
    checkpoint : str, path or None, default None
        File that the fit is saved to. If it exists, the fit goes on from it, to the same bits as
        without an interruption; it must be one of the same settings and data, `n_rounds` may be
        more. It stays after the fit. One file for each fit: copies of this estimator, as in a
        cross-validation, need files of their own. See ``docs/checkpoints.md``.
    checkpoint_seconds : float, default 60.0
        Least seconds between two saves of the checkpoint; 0 saves after each round.
    class_weight : "balanced", mapping of class to weight, sequence of mappings or None
        Weights of classes, as in scikit-learn: they multiply the weights of their examples.
        "balanced": inversely proportional to the weights of the classes. For several labels, a
        mapping for each, as in ``[{0: 1, 1: 5}, ...]``; their factors are multiplied.

    Attributes
    ----------
    classes_ : ndarray
        Class labels; column numbers for a multi-label y.
    model_ : Model
        The stumps.
    history_ : list of dict
        One flat record per search, for `pandas.DataFrame`.
    strategy_ : Strategy
        The strategy as the last round left it, with its learned state.
    offset_ : ndarray of float64, shape (K,)
        Log ratio of the mean initial weight of a label's positive and negative rows, for the
        probabilities of multi-label rows; 0 otherwise.
    temperature_ : float
        Divisor of the logits of the probabilities; 1 without calibration.
    n_features_in_ : int
        Columns of X (its second axis); absent for documents.
    feature_names_in_ : ndarray of str
        Names of the columns, if X is a data frame with names.
    columns_ : TableColumns or None
        How columns of categories become indicators; None if X has none.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BoostSampleClassifier(n_rounds=50, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    def __init__(
        self,
        strategy: str | Strategy = "laminating:scheme=distinct",
        learner: str | Learner = "stump",
        n_rounds: int = 500,
        budget: int | str | None = None,
        weight_init: str = "balanced",
        families: Sequence[str | Family] | Mapping[str, Any] | str | None = None,
        random_state: Any = None,
        n_jobs: int = 1,
        bank: str = "memory",
        verbose: bool = False,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_seconds: float = 60.0,
        class_weight: str | Mapping[Any, float] | Sequence[Mapping[int, float]] | None = None,
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

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        init_model: str | os.PathLike[str] | BoostSampleClassifier | Model | None = None,
    ) -> BoostSampleClassifier:
        """Boost on the examples X and their labels y.

        Parameters
        ----------
        X : array, shape (n, d), (n, h, w) or (n, h, w, channels)
            Or a sparse matrix (n, d) or data frame of pandas or polars; or a sequence of n
            documents, if the families read documents. NaN means missing; infinite values are
            errors. A column of categories becomes one indicator for each of them, such as
            "colour=red": NaN if missing, 0 for categories that are not in training; the 254 most
            frequent of more than 255, and "colour=(other)". Prediction needs the same columns.
        y : array, shape (n,) or (n, K)
            Class labels, or an indicator matrix of 0 and 1 (multi-label), which may be sparse.
        sample_weight : array, shape (n,), optional
            Example weights of at least 0; rows of weight 0 are dropped first.
        init_model : path, BoostSampleClassifier or Model, optional
            A model of the same classes and columns that `n_rounds` rounds are added to: a file that
            `save` has written, a fitted classifier, or its `model_`. Its families come first, then
            those of `families` that it does not have; the default families stand for its own.
            `history_` has the new rounds, and its loss goes on from that of the model on these
            examples; see `boostsample.classifier.continued`.

        Returns
        -------
        self

        Raises
        ------
        DataError
            If X, y or weights cannot be learned from.
        SettingError
            If a setting is out of range or unknown.
        """
        start = init_model_of(init_model, type(self))
        if start is None:
            numbers = inputs_are_numbers(self.families)
        else:
            numbers = start.read_numbers(self.families)
        given = X, y, sample_weight
        columns = None if start is None else start.columns
        examples, targets, weight = training_inputs(self, *given, numbers=numbers, columns=columns)
        families = self._families(X, examples, start)
        kept = np.flatnonzero(weight > 0)
        self._multi_label = targets.ndim == 2
        self.classes_, labels = classes_and_labels(targets, kept)
        scores = None
        if start is not None:
            start.check_classes(self, labels.shape[1])
            scores = start.model.decision_function(examples[kept])
        seed = fit_seed(self.random_state, self.checkpoint)
        booster = Booster(
            make_bank(self.bank, families, examples[kept], n_jobs=self.n_jobs),
            None,
            labels,
            self.strategy,
            self.learner,
            n_rounds=self.n_rounds,
            budget=self.budget,
            weight_init=self.weight_init,
            rng=np.random.default_rng(seed),
            n_jobs=self.n_jobs,
            example_weight=weight[kept],
            scores=scores,
        )
        progress = FitProgress(booster.n_rounds) if self.verbose else None
        checkpoint = fit_checkpoint(self.checkpoint, booster, self.checkpoint_seconds, seed)
        rounds = train(booster, progress=progress, checkpoint=checkpoint)
        terms = (term for one in rounds for term in one.terms)
        if start is None:
            self.model_ = Model(families, terms, labels.shape[1])
        else:
            self.model_ = start.model.extended(families, terms)
        self.history_ = [row for one in rounds for row in one.rows]
        self.strategy_ = booster.strategy
        self.temperature_ = 1.0
        self.offset_ = np.zeros(labels.shape[1])
        if self._multi_label:
            self.offset_ = label_offsets(labels, self.weight_init, weight[kept])
        return self

    def _families(self, X: Any, examples: Any, start: InitModel | None) -> list[Family]:
        """The families of a fit, with those of the model that it starts from."""
        if start is None:
            return estimator_families(self.families, X, examples, self)
        start.check_columns(self)
        if self.families is None:
            return list(start.model.families)
        return start.families(estimator_families(self.families, X, examples, self))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores f_l(x): float64 (n, K), or (n,) with two classes, positive for `classes_[1]`."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 and not self._multi_label else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Class labels (n,) of the largest scores, the first of a tie; or 0/1 (n, K)."""
        return self._labels(self._scores(X))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities from the exponential loss, see `boostsample.classifier.probabilities`.

        Returns
        -------
        ndarray of float64, shape (n, number of classes)
            In the order of `classes_`; rows sum to 1, and `predict` returns the class of the first
            largest one. Multi-label: (n, K), one for each label, the form of scikit-learn's
            metrics and of its `MLPClassifier`. There `predict` returns the labels with positive
            scores, which for rare labels and `balanced` weights is less than probability 1/2.
        """
        return probabilities(self._scores(X), *self._odds())

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of `predict_proba`, finite for scores of any size."""
        return log_probabilities(self._scores(X), *self._odds())

    def _scores(self, X: Any) -> NDArray[np.float64]:
        """Scores f_l(x): float64 (n, K)."""
        check_is_fitted(self)
        numbers = inputs_are_numbers(self.model_.families)
        return self.model_.decision_function(prediction_inputs(self, X, numbers=numbers))

    def _labels(self, scores: NDArray[np.float64]) -> NDArray[Any]:
        codes = classify(scores, self._multi_label)
        return codes if self._multi_label else np.asarray(self.classes_[codes])

    def _odds(self) -> tuple[NDArray[np.float64], float, bool]:
        """What turns scores into probabilities."""
        return self.offset_, self.temperature_, self._multi_label

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the fitted classifier to one file, which holds no pickle.

        The file holds what prediction needs, and the settings. Settings that are neither plain
        values nor registered strategies, learners or families are left out: the loaded classifier
        has their defaults. History and state of the strategy are not kept. See docs/models.md.

        Parameters
        ----------
        path : str or path
            A name that ends in ``.bsm``.
        overwrite : bool, default False
            Whether a file of this name is replaced.

        Raises
        ------
        SettingError
            If the name has another ending, if the file exists, or if a family is not registered.
        DataError
            If the file cannot be written.
        """
        check_is_fitted(self)
        save_classifier(self, path, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The fitted classifier of a file that `save` has written; equal predictions, to the bit.

        Raises
        ------
        DataError
            If the file cannot be read, is damaged, of another kind or of a newer version, or needs
            a family of a distribution that is not installed.
        """
        loaded: Self = load_classifier(cls, path)
        return loaded

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags
