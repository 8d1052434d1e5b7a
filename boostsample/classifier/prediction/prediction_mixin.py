"""What a fitted classifier answers: scores, labels, probabilities, importances."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from boostsample.classifier.inputs.fit_inputs import check_prediction_inputs, inputs_are_numbers
from boostsample.classifier.inputs.frames import SeenColumns
from boostsample.classifier.prediction.probabilities import log_probabilities, probabilities
from boostsample.column_table import ColumnTable
from boostsample.errors import SettingError, unknown
from boostsample.labels import class_codes, class_values, classify
from boostsample.models.importances import (
    Contributions,
    column_importances,
    family_importances,
    feature_columns,
    model_contributions,
    model_importances,
    side_shares,
)
from boostsample.models.model import Model
from boostsample.output_codes import OutputCode


def accuracy(
    classes: NDArray[Any], multi_label: bool, predicted: NDArray[Any], y: Any, weight: Any
) -> float:
    """Weighted share of rows that are predicted right; labels of other classes are wrong."""
    truth = class_values(y)
    if not multi_label and truth.ndim == 1:
        truth, predicted = (class_codes(labels, classes) for labels in (truth, predicted))
    return float(accuracy_score(truth, predicted, sample_weight=weight))


class PredictionMixin:
    """Predictions of `boostsample.estimator.BoostSampleClassifier` from its fitted attributes."""

    model_: Model
    classes_: NDArray[Any]
    offset_: NDArray[np.float64]
    temperature_: float
    term_importances_: NDArray[np.float64]
    columns_: Any
    n_features_in_: int
    _multi_label: bool
    code_: OutputCode | None = None

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores f_l(x): float64 (n, K), or (n,) with two classes, positive for `classes_[1]`.

        With an output code, the scores of bits are decoded: see `boostsample.output_codes`.
        """
        return self._shaped(self._scores(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Class labels (n,) of the largest scores, the first of a tie; or 0/1 (n, K)."""
        return self._labels(self._scores(X))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities from the exponential loss, see `classifier.prediction.probabilities`.

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

    def contributions(self, X: Any, *, by: str = "column", background: Any = None) -> Contributions:
        """What each column adds to the scores of each row; base + sum = `decision_function`.

        Shapley values, see `boostsample.models.importances` for the rule.

        Parameters
        ----------
        X : as for `predict`
        by : {"column", "family", "feature"}, default "column"
            Sum the contributions of the features of each column of X, such as the indicators of a
            column of categories; or of each family, also of images; or those of each feature in
            use.
        background : like X, optional
            Rows, such as those of the training, whose shares of the sides of a threshold are
            expected if its feature is not known; the base of stumps and trees is their mean score.
            Default: both sides are equally likely. A stump then adds alpha v phi(x) to a base of 0;
            the score of terms without a threshold, which read missing values only, is in the base.

        Returns
        -------
        Contributions
            Base (K,), values (n, columns, K) and names; without the last axis for two classes. With
            an output code they are those of the scores of its bits, K of them.

        Raises
        ------
        SettingError
            If `by` is unknown, or "column" for families that do not consist of columns.
        """
        examples = self._examples(X)
        group, names = self._groups(by)
        expected = None if background is None else self._examples(background)
        shares = side_shares(self.model_, expected)
        base, values = model_contributions(self.model_, examples, group, len(names), shares)
        if values.shape[2] == 1 and not self._multi_label:
            base, values = base[0], values[:, :, 0]
        return Contributions(np.asarray(base), values, names)

    def staged_decision_function(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """`decision_function` after round 1, 2, ..., `n_rounds_`; all together cost about two."""
        return (self._shaped(scores) for scores in self._staged(X))

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """`predict` after round 1, 2, ..., `n_rounds_`."""
        return (self._labels(scores) for scores in self._staged(X))

    def staged_predict_proba(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """`predict_proba` after round 1, 2, ..., `n_rounds_`; of all with the last temperature."""
        return (probabilities(scores, *self._odds()) for scores in self._staged(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of rows with the right label, or with all labels right; y as for `fit`."""
        return accuracy(self.classes_, self._multi_label, self.predict(X), y, sample_weight)

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """`score` after round 1, 2, ..., `n_rounds_`."""
        return (
            accuracy(self.classes_, self._multi_label, predicted, y, sample_weight)
            for predicted in self.staged_predict(X)
        )

    @property
    def n_rounds_(self) -> int:
        """Rounds in the model."""
        check_is_fitted(self)
        return len(self.model_)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Shares of the columns of X in the fall of the log loss: float64 (n_features_in_,).

        They sum to 1, or are 0; a column of categories has the sum of its indicators.
        AttributeError if a family does not consist of columns, as those of images: see
        `family_importances_`, and `term_importances_` for single features.
        """
        check_is_fitted(self)
        shares = column_importances(self.model_, self._importances())
        if shares is None:
            raise AttributeError(
                "feature_importances_ are those of the columns of a table, but these families make "
                "other features of X; see family_importances_ and term_importances_"
            )
        if self.columns_ is None:
            return np.pad(shares, (0, self.n_features_in_ - shares.size))
        origin = self.columns_.origin[: shares.size]
        return np.asarray(np.bincount(origin, shares, self.n_features_in_), np.float64)

    @property
    def family_importances_(self) -> dict[str, float]:
        """Shares of the families in the fall of the log loss, by name."""
        check_is_fitted(self)
        return family_importances(self.model_, self._importances())

    def _importances(self) -> NDArray[np.float64]:
        """Importances of the terms; older files of models have none."""
        known: NDArray[np.float64] | None = getattr(self, "term_importances_", None)
        return model_importances(self.model_) if known is None else known

    def _groups(self, by: str) -> tuple[NDArray[np.intp], tuple[str, ...]]:
        """Column, family or number among those in use of each feature, and their names."""
        model = self.model_
        sizes = [family.n_features for family in model.families]
        if by == "family":
            names = tuple(family.name for family in model.families)
            return np.repeat(np.arange(len(sizes)), sizes), names
        if by == "feature":
            used, group = np.unique(model.feature), np.zeros(sum(sizes), np.intp)
            group[used] = np.arange(used.size)
            return group, tuple(map(model.feature_name, used.tolist()))
        if by != "column":
            raise unknown("way to sum contributions", by, ("column", "family", "feature"))
        column = feature_columns(model)
        if column is None:
            raise SettingError(
                "by='column' needs families of columns, but these make other features of X; give "
                "by='family' or by='feature'"
            )
        if self.columns_ is not None:
            return self.columns_.origin[column], tuple(of.name for of in self.columns_.columns)
        named = getattr(self, "feature_names_in_", getattr(self, "_column_names", None))
        if named is None:
            named = getattr(model.families[0], "column_names", None)
        if named is None:
            named = [f"column {at}" for at in range(self.n_features_in_)]
        return column, tuple(map(str, named))

    def _staged(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Scores float64 (n, K) after each round; X is checked at once."""
        examples = self._examples(X)  # first: it checks that there is a model
        return map(self._decoded, staged_scores(self.model_, examples))

    def _examples(self, X: Any) -> Any:
        check_is_fitted(self)
        numbers, needed = inputs_are_numbers(self.model_.families), None
        if isinstance(X, ColumnTable):
            columns = feature_columns(self.model_)
            needed = None if columns is None else np.unique(columns[self.model_.feature])
        seen = SeenColumns.of_fitted(self)
        return check_prediction_inputs(self, X, seen, numbers=numbers, needed=needed)

    def _scores(self, X: Any) -> NDArray[np.float64]:
        """Scores of classes or labels: float64 (n, K)."""
        examples = self._examples(X)
        return self._decoded(self.model_.decision_function(examples))

    def _decoded(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scores of classes or labels from those of the model."""
        return scores if self.code_ is None else self.code_.decode(scores)

    def _shaped(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return scores[:, 0] if scores.shape[1] == 1 and not self._multi_label else scores

    def _labels(self, scores: NDArray[np.float64]) -> NDArray[Any]:
        codes = classify(scores, self._multi_label)
        return codes if self._multi_label else np.asarray(self.classes_[codes])

    def _odds(self) -> tuple[NDArray[np.float64], float, bool]:
        return self.offset_, self.temperature_, self._multi_label


def staged_scores(model: Model, X: Any) -> Iterator[NDArray[np.float64]]:
    """Scores float64 (n, K) after round 1, 2, ..., the last; features of few rounds in memory.

    At the ends of `Model.chunks` they are those of `Model.decision_function`, else up to rounding.
    """
    done = np.zeros((X.shape[0], model.n_labels))
    for start, end in model.chunks(len(model), X.shape[0]):
        part = model.terms(start, end)
        different, at = np.unique(model.feature[part], return_inverse=True)
        values = model.features(X, different)
        sides = (values[:, at] >= model.threshold[part].astype(np.float32)).T
        scores = done.copy()
        for number in range(start, end - 1):
            of_round = model.terms(number, number + 1)
            model.add_scores(
                sides[of_round.start - part.start : of_round.stop - part.start], of_round, scores
            )
            yield scores.copy()
        model.add_scores(sides, part, done)
        yield done.copy()
