"""The parts of a model in files, and back: the arrays of its terms, and its families.

The arrays are those of `boostsample.records.term_arrays`, and ``feature`` and ``threshold`` of each
term, the latter float32, or float64 where float32 is not exact; ``alpha`` float64 of each round. A
family is a registered name with settings, as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import DataError, SettingError, one_line
from boostsample.family import Family
from boostsample.files.archive import floats_entry, integers_entry, narrowest
from boostsample.models.model import Model
from boostsample.records.term_arrays import TermColumns, places_of_arrays, term_arrays
from boostsample.registry import registered_class, registered_name


def model_arrays(model: Model) -> dict[str, NDArray[Any]]:
    """The arrays of the model's terms; the module lists them."""
    with np.errstate(over="ignore"):
        threshold = model.threshold.astype(np.float32)
    exact = np.array_equal(threshold, model.threshold)
    split = None if model.are_stumps else np.any(model.below != -model.votes, axis=1)
    return {
        "feature": narrowest(model.feature),
        "threshold": threshold if exact else model.threshold,
        "alpha": model.alpha[model.first],
        **term_arrays(model.columns, split),
    }


def model_of_arrays(
    arrays: Mapping[str, NDArray[Any]], families: Sequence[Family], n_labels: Any
) -> Model:
    """The model of `model_arrays`; DataError if the arrays are not those of a model."""
    if type(n_labels) is not int or n_labels < 1:
        raise DataError(f"its number of labels must be at least 1, got {n_labels!r:.40}")
    feature = integers_entry(arrays, "feature")
    n = feature.size
    most = sum(family.n_features for family in families) - 1
    if n and not 0 <= feature.min() <= feature.max() <= most:
        raise DataError(f"its features must be between 0 and {most}")
    threshold = floats_entry(arrays, "threshold")
    if threshold.shape != (n,) or np.isnan(threshold).any():
        raise DataError("its thresholds must be one number for each term")
    if (np.abs(threshold[np.isfinite(threshold)]) > np.finfo(np.float32).max).any():
        raise DataError("its thresholds must lie within +-3.4e38 (float32), or be infinite")
    alpha = floats_entry(arrays, "alpha")
    if not np.isfinite(alpha).all():
        raise DataError("its alphas must be finite")
    n_terms, votes, below, parent, side, _ = places_of_arrays(arrays, n, n_labels)
    if alpha.shape != n_terms.shape:
        raise DataError(f"its {n_terms.size} rounds must have an alpha each, got {alpha.size}")
    columns = TermColumns(feature, votes, below, parent, side, np.repeat(alpha, n_terms))
    return Model.of_arrays(families, columns, threshold, are_stumps="n_terms" not in arrays)


def family_specs(families: Sequence[Family]) -> list[dict[str, Any]]:
    """The specification of each family: registered name, settings and number of features.

    SettingError if a family is not registered, or if its settings do not make an equal family.
    """
    return [_spec(family) for family in families]


def families_of_specs(specs: Any) -> list[Family]:
    """The families of `family_specs`.

    A family of another distribution is imported from there, by its entry point. DataError if a
    family is unknown here, refuses its settings or has another number of features.
    """
    if not isinstance(specs, list) or not all(isinstance(spec, Mapping) for spec in specs):
        raise DataError("its families must be a list of specifications")
    return [_family(spec) for spec in specs]


def _spec(family: Family) -> dict[str, Any]:
    kind = type(family)
    name = registered_name("family", kind)
    who = f"the family {family.name!r} ({kind.__module__}.{kind.__qualname__})"
    if name is None:
        raise SettingError(
            f"a saved model needs registered families, but {who} is not; register its class by "
            "an entry point of the group boostsample.families, or keep the model with skops"
        )
    settings = family.settings()
    try:
        made = kind(**settings)
    except Exception as error:  # a family of the user may raise anything
        raise SettingError(
            f"a saved model needs families that settings() makes again, but {who} refuses its "
            f"own: {one_line(error)}; correct its settings()"
        ) from error
    if made != family or (made.name, made.n_features) != (family.name, family.n_features):
        raise SettingError(
            f"a saved model needs families that settings() makes again, but {who} becomes another "
            "one; correct its settings()"
        )
    return {"name": name, "settings": settings, "n_features": family.n_features}


def _family(spec: Mapping[str, Any]) -> Family:
    name, settings, n_features = (spec.get(key) for key in ("name", "settings", "n_features"))
    if not isinstance(name, str) or not isinstance(settings, dict):
        raise DataError(f"a family must have a name and settings, got {spec!r:.100}")
    try:
        kind = registered_class("family", name)
    except SettingError as error:
        raise DataError(
            f"it needs the family {name!r}, which cannot be loaded here ({one_line(error)}); "
            "install the distribution that registers it"
        ) from error
    try:
        family: Family = kind(**settings)
    except Exception as error:  # a family of another distribution may raise anything
        raise DataError(f"its family {name!r} refuses its settings: {one_line(error)}") from error
    if family.n_features != n_features:
        raise DataError(
            f"its family {name!r} must have {n_features} features, but has {family.n_features} "
            "here; use the version of the family that the model was trained with"
        )
    return family
