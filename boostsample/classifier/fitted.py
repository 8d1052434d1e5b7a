"""What a fit leaves on a classifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from boostsample.classifier.inputs.seen_columns import (
    COLUMN_ATTRIBUTES,
    SeenColumns,
)
from boostsample.loop.run_file import RunFile
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
