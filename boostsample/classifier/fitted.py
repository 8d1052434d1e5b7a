"""What a fit leaves on a classifier, and a model that a fit goes on from: `init_model`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from boostsample.classifier.inputs.fit_inputs import inputs_are_numbers
from boostsample.classifier.inputs.frames import (
    COLUMN_ATTRIBUTES,
    SeenColumns,
    TableColumns,
    check_same_names,
)
from boostsample.errors import DataError, SettingError
from boostsample.family import Family
from boostsample.loop.run_file import RunFile
from boostsample.models.importances import model_importances
from boostsample.models.model import Model
from boostsample.output_codes import OutputCode
from boostsample.strategy import Strategy

_ATTRIBUTES = {
    "classes": "classes_",
    "multi_label": "_multi_label",
    "model": "model_",
    "offset": "offset_",
    "temperature": "temperature_",
    "term_importances": "term_importances_",
    "history": "history_",
    "strategy": "strategy_",
    "n_members": "n_members_",
    "validation_error": "validation_error_",
    "stopped": "stopped_",
    "code": "code_",
    "example_weights": "example_weights_",
    "run": "_run",
}
"""Attributes of a fitted classifier, by field of `FittedState`; `SeenColumns` has the others."""
FITTED_ATTRIBUTES = (*_ATTRIBUTES.values(), *COLUMN_ATTRIBUTES)


@dataclass(frozen=True)
class FittedState:
    """All attributes that a fit sets, assigned at once when it has ended; None is left out.

    `run` is what `warm_start` continues, pickled with the classifier, without features and weights.
    """

    seen: SeenColumns
    classes: NDArray[Any]
    multi_label: bool
    model: Model
    offset: NDArray[np.float64]
    temperature: float
    term_importances: NDArray[np.float64] | None = None
    history: list[dict[str, Any]] | None = None
    strategy: Strategy | None = None
    n_members: int | None = None
    validation_error: NDArray[np.float64] | None = None
    stopped: str | None = None
    code: OutputCode | None = None
    example_weights: NDArray[np.float64] | None = None
    run: RunFile | None = None

    @classmethod
    def of(cls, estimator: Any) -> Self:
        """The state of a fitted classifier."""
        fields = {field: vars(estimator).get(name) for field, name in _ATTRIBUTES.items()}
        return cls(SeenColumns.of_fitted(estimator), **fields)

    def attributes(self) -> dict[str, Any]:
        """The attributes of the classifier."""
        fields = {name: getattr(self, field) for field, name in _ATTRIBUTES.items()}
        known = {name: value for name, value in fields.items() if value is not None}
        return {**self.seen.attributes(), **known}

    def assign(self, estimator: Any) -> None:
        """Set the attributes, and delete those of an earlier fit that this one does not have."""
        attributes = self.attributes()
        for name in FITTED_ATTRIBUTES:
            vars(estimator).pop(name, None)
        vars(estimator).update(attributes)


@dataclass(frozen=True)
class InitModel:
    """A model to continue, with the fitted state of its classifier; a `Model` alone has none."""

    model: Model
    state: FittedState | None = None

    @classmethod
    def of(cls, init_model: Any, kind: type[Any]) -> Self:
        """The setting `init_model` of `fit`; `kind` is the class that loads files."""
        if isinstance(init_model, Model):
            return cls(init_model)
        if isinstance(init_model, str | os.PathLike):
            init_model = kind.load(init_model)
        model = getattr(init_model, "model_", None)
        if not isinstance(model, Model):
            raise SettingError(
                "init_model must be a model file, a fitted BoostSampleClassifier or its model_, "
                f"got {init_model!r:.80}"
            )
        return cls(model, FittedState.of(init_model))

    @property
    def columns(self) -> TableColumns | None:
        """How its columns of categories become indicators."""
        return None if self.state is None else self.state.seen.table

    def read_numbers(self, families: Any) -> bool:
        """Whether its families read numbers; SettingError if those of the setting do not agree."""
        numbers = inputs_are_numbers(self.model.families)
        if families is not None and inputs_are_numbers(families) != numbers:
            inputs = ("documents", "numbers")[numbers]
            raise SettingError(
                f"families must read the same X as those of init_model, which read {inputs}, got "
                f"{families!r:.80}"
            )
        return numbers

    def check_columns(self, seen: SeenColumns) -> None:
        """DataError unless X has the columns of the model."""
        if self.state is None:
            return seen.check_families(self.model.families)
        before = self.state.seen
        if before.table is None and seen.table is not None and not seen.table.all_numbers:
            raise DataError(
                "X must have the columns of init_model, which are numbers, got columns of "
                "categories or dates; encode them as then, or fit without init_model"
            )
        if None not in (before.width, seen.width) and before.width != seen.width:
            raise DataError(
                f"X must have the columns of init_model (n_features_in_ {before.width}), got "
                f"{seen.width}"
            )
        check_same_names(seen.names, before.names, "init_model")

    def check_classes(self, classes: NDArray[Any], multi_label: bool, n_labels: int) -> None:
        """DataError unless the classes of y are those of the model."""
        if self.state is not None:
            before = self.state.classes
            same = before.tolist() == classes.tolist()  # exact: int64 and float64, too
            if not same or self.state.multi_label != multi_label:
                raise DataError(
                    f"y must have the classes of init_model, {_brief(before)}, got "
                    f"{_brief(classes)}; give examples of all of them and no others"
                )
        if n_labels != self.model.n_labels:
            raise DataError(
                f"y must have as many labels as init_model, {self.model.n_labels}, got {n_labels}"
            )

    def check_no_code(self, code: OutputCode | None) -> None:
        """SettingError if the model or the fit has an output code."""
        if code is not None or (self.state is not None and self.state.code is not None):
            raise SettingError(
                "init_model continues the scores of classes, not those of an output code; fit "
                "without it, or both with code='one-vs-rest' and decoding='loss'"
            )

    def term_importances(self) -> NDArray[np.float64]:
        """Importances of its terms, see `boostsample.models.importances`."""
        known = None if self.state is None else self.state.term_importances
        return model_importances(self.model) if known is None else known

    def families(self, further: Sequence[Family]) -> list[Family]:
        """Its families, so that its terms keep their features, then those that it does not have."""
        old = list(self.model.families)
        new = [family for family in further if family not in old]
        for family in new:
            if family.name in [of_model.name for of_model in old]:
                raise SettingError(
                    f"the family {family.name!r} differs from that of init_model; give it another "
                    "name, or leave it out to use that of init_model"
                )
        return old + new


def _brief(classes: NDArray[Any]) -> str:
    return str(classes.tolist()) if classes.size <= 10 else f"{classes.tolist()[:10]}..."
