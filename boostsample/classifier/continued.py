"""A fit that continues from a model: `init_model` of the classifier.

The new rounds minimise the loss of the model and themselves together: the initial label weights are
u_il exp(-y_il f_l(x_i)), normalised, with f the scores of the model on the examples of the new fit.
The families of the model come first, so that its terms keep their features; new families follow.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.classifier.file import SAVED, load_classifier
from boostsample.classifier.inputs.column_names import (
    check_family_names,
    check_same_names,
    fitted_names,
)
from boostsample.classifier.inputs.estimator_inputs import feature_names, inputs_are_numbers
from boostsample.classifier.inputs.frames import TableColumns
from boostsample.errors import DataError, SettingError
from boostsample.family import Family
from boostsample.models.importances import model_importances
from boostsample.models.model import Model


@dataclass(frozen=True)
class InitModel:
    """A model to continue, with the fitted attributes of its classifier.

    Of a `Model` alone there are none, and classes and columns are those of the new data.
    """

    model: Model
    attributes: dict[str, Any] = field(default_factory=dict)

    @property
    def columns(self) -> TableColumns | None:
        """How its columns of categories become indicators."""
        columns: TableColumns | None = self.attributes.get("columns_")
        return columns

    def read_numbers(self, families: Any) -> bool:
        """Whether its families read numbers; SettingError if those of the setting do not agree."""
        numbers = inputs_are_numbers(self.model.families)
        if families is not None and inputs_are_numbers(families) != numbers:
            what = ("documents", "numbers")[numbers]
            raise SettingError(
                f"families must read the same X as those of init_model, which read {what}, got "
                f"{families!r:.80}"
            )
        return numbers

    def check_columns(self, estimator: Any) -> None:
        """DataError unless X, as the estimator has seen it, has the columns of the model."""
        given = self.attributes
        if given and given.get("columns_") is None and estimator.columns_ is not None:
            raise DataError(
                "X must have the columns of init_model, which are numbers, got columns of "
                "categories or dates; encode them as then, or fit without init_model"
            )
        old, new = (one.get("n_features_in_") for one in (given, vars(estimator)))
        if old is not None and new is not None and old != new:
            raise DataError(
                f"X must have the columns of init_model (n_features_in_ {old}), got {new}"
            )
        check_same_names(fitted_names(vars(estimator)), fitted_names(given), "init_model")
        if not given:
            check_family_names(self.model.families, feature_names(estimator))

    def check_classes(self, estimator: Any, n_labels: int) -> None:
        """DataError unless the classes, as the estimator has seen them, are those of the model."""
        if self.attributes:
            mine, several = self.attributes["classes_"], self.attributes["_multi_label"]
            same = mine.tolist() == estimator.classes_.tolist()  # exact: int64 and float64, too
            if not same or several != estimator._multi_label:
                raise DataError(
                    f"y must have the classes of init_model, {_brief(mine)}, got "
                    f"{_brief(estimator.classes_)}; give examples of all of them and no others"
                )
        if n_labels != self.model.n_labels:
            raise DataError(
                f"y must have as many labels as init_model, {self.model.n_labels}, got {n_labels}"
            )

    def term_importances(self) -> NDArray[np.float64]:
        """Importances of its terms, see `boostsample.models.importances`."""
        known: NDArray[np.float64] | None = self.attributes.get("term_importances_")
        return model_importances(self.model) if known is None else known

    def families(self, own: Sequence[Family]) -> list[Family]:
        """Its families, then those of `own` that it does not have."""
        old = list(self.model.families)
        new = [family for family in own if family not in old]
        for family in new:
            if family.name in [one.name for one in old]:
                raise SettingError(
                    f"the family {family.name!r} differs from that of init_model; give it another "
                    "name, or leave it out to use that of init_model"
                )
        return old + new


def init_model_of(init_model: Any, kind: type[Any]) -> InitModel | None:
    """The setting `init_model` of `fit`: a path, a fitted classifier, a `Model` or None.

    Raises
    ------
    DataError
        If the file cannot be used.
    SettingError
        If it is something else, or not fitted.
    """
    if init_model is None:
        return None
    if isinstance(init_model, Model):
        return InitModel(init_model)
    if isinstance(init_model, str | os.PathLike):
        init_model = load_classifier(kind, init_model)
    model = getattr(init_model, "model_", None)
    if not isinstance(model, Model):
        raise SettingError(
            "init_model must be a model file, a fitted BoostSampleClassifier or its model_, got "
            f"{init_model!r:.80}"
        )
    names = [name for name in SAVED if hasattr(init_model, name)]
    return InitModel(model, {name: getattr(init_model, name) for name in names})


def _brief(value: Any) -> str:
    array: NDArray[Any] = np.asarray(value)
    return str(array.tolist()) if array.size <= 10 else f"{array.tolist()[:10]}..."
