"""Model files of the classifier (``.bsm``): everything that prediction needs, and the settings.

A file is an archive, see `boostsample.files.archive`, of the entry ``meta`` (JSON), the arrays of
`boostsample.models.model_file`, and ``reads``, a bit for each term from which importances follow.
Settings that are no plain values are kept if they are strategies, learners or families known by
registered names; others are left out, and the loaded classifier has the default. Prediction does
not use them.
"""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from boostsample.classifier.inputs.frames import TableColumns
from boostsample.errors import DataError, SettingError, one_line, os_fault
from boostsample.family import Family
from boostsample.files.archive import (
    archive_bytes,
    archive_content,
    archive_entries,
    bits_entry,
    json_entry,
    read_json_entry,
)
from boostsample.files.atomic import check_writable_file, write_file
from boostsample.files.booster_state import pack_state, unpack_state
from boostsample.learner import Learner
from boostsample.models.importances import model_importances
from boostsample.models.model import Model
from boostsample.models.model_file import (
    families_of_specs,
    family_specs,
    model_arrays,
    model_of_arrays,
)
from boostsample.registry import registered_class, registered_name
from boostsample.strategy import Strategy

ENDING = ".bsm"
FORMAT = 1
"""Version of the format; files of all versions up to this one can be read."""
MOST_BYTES = 2**28
"""Most bytes of an unpacked model file."""
SAVED = {
    "classes_": True,
    "_multi_label": True,
    "columns_": True,
    "offset_": True,
    "temperature_": True,
    "term_importances_": False,
    "n_features_in_": False,
    "feature_names_in_": False,
    "_column_names": False,
}
"""Fitted attributes in the file beside `model_`, and whether each fitted classifier has them."""

_KIND = "boostsample classifier"
_WHAT = "the model"


class _RegisteredValue(NamedTuple):
    """An instance of a registered class."""

    kind: str
    name: str
    settings: Mapping[str, Any]


class ModelFiles:
    """Methods of a classifier that write and read its files."""

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


def save_classifier(
    classifier: Any, path: str | os.PathLike[str], *, overwrite: bool = False
) -> None:
    """Write a fitted classifier to a new file; see `BoostSampleClassifier.save`."""
    target = check_writable_file(path, ENDING, _WHAT, overwrite=overwrite)
    content = archive_bytes(_entries(classifier))
    write_file(target, content, _WHAT)


def load_classifier(kind: type[Any], path: str | os.PathLike[str]) -> Any:
    """A classifier of the class `kind` from a file; see `BoostSampleClassifier.load`."""
    try:
        content = archive_content(path)
    except OSError as error:
        raise DataError(f"the model file '{path}' cannot be read: {os_fault(error)}") from error
    try:
        return _classifier(kind, content)
    except _NotOurs as error:
        raise DataError(
            f"'{path}' is not a model file of boostsample: {error}; give a file that "
            "BoostSampleClassifier.save has written"
        ) from error
    except _Newer as error:
        raise DataError(f"the model file '{path}' {error}") from error
    except Exception as error:  # parsers raise anything on garbage
        reason = one_line(error) if isinstance(error, DataError) else f"damaged ({one_line(error)})"
        raise DataError(
            f"the model file '{path}' cannot be used: {reason}; save or copy the model again"
        ) from error


class _NotOurs(DataError):
    pass


class _Newer(DataError):
    pass


def _entries(classifier: Any) -> dict[str, Any]:
    settings, left_out = {}, []
    for name, value in classifier.get_params(deep=False).items():
        try:
            settings[name] = _packed(value)
        except (AttributeError, TypeError, ValueError, RecursionError):
            left_out.append(name)
    model = classifier.model_
    attributes = {name: getattr(classifier, name) for name in SAVED if hasattr(classifier, name)}
    arrays = model_arrays(model)
    meta: dict[str, Any] = {
        "kind": _KIND,
        "format": FORMAT,
        "settings": settings,
        "left_out": sorted(left_out),
        "families": family_specs(model.families),
        "n_labels": model.n_labels,
        "attributes": {name: _packed(value) for name, value in attributes.items()},
    }
    importances = getattr(classifier, "term_importances_", None)
    if importances is not None:
        reads = importances > 0
        if np.array_equal(model_importances(model, reads), importances):
            del meta["attributes"]["term_importances_"]  # 64 times as large
            arrays["reads"] = np.packbits(reads)
    entries = {"meta": json_entry(meta), **arrays}
    size = sum(entry.nbytes for entry in entries.values())
    most = MOST_BYTES - 2**16  # less the headers of the archive
    if size > most:
        raise DataError(
            f"a model file must have at most {most:,} bytes before packing, got {size:,}; "
            "use fewer rounds or labels, or a smaller vocabulary"
        )
    return entries


def _classifier(kind: type[Any], content: bytes) -> Any:
    if not content:
        raise _NotOurs("it is empty")
    if not content.startswith(b"PK"):
        raise _NotOurs("it is no archive")
    entries = archive_entries(content, MOST_BYTES)
    meta = read_json_entry(entries.pop("meta")) if "meta" in entries else None
    if not isinstance(meta, dict) or meta.get("kind") != _KIND:
        raise _NotOurs("it is another archive")
    version = meta.get("format")
    if type(version) is not int or version < 1:
        raise DataError(f"it has no format version, got {version!r:.40}")
    if version > FORMAT:
        raise _Newer(
            f"has format {version}, but this version of boostsample reads formats up to "
            f"{FORMAT}; update boostsample"
        )
    classifier = _unfitted(kind, meta)
    families = families_of_specs(meta.get("families"))
    model = model_of_arrays(entries, families, meta.get("n_labels"))
    attributes = {name: _unpacked(packed) for name, packed in meta["attributes"].items()}
    if "reads" in entries:
        reads = bits_entry(entries, "reads", model.feature.size)
        attributes["term_importances_"] = model_importances(model, reads)
    _check_attributes(attributes, model)
    vars(classifier).update({**attributes, "model_": model})
    return classifier


def _unfitted(kind: type[Any], meta: Mapping[str, Any]) -> Any:
    """The classifier with its settings, not fitted yet."""
    settings = {name: _unpacked(packed) for name, packed in meta["settings"].items()}
    known = inspect.signature(kind).parameters
    for name in settings:
        if name not in known:
            raise DataError(f"its setting {name!r} is unknown to this version of boostsample")
    made = {}
    for name, value in settings.items():
        try:
            made[name] = _made(value)
        except SettingError:  # not registered here: left out, as if it had not been there
            continue
    return kind(**made)


def _check_attributes(attributes: Mapping[str, Any], model: Model) -> None:
    n_labels = model.n_labels
    for name in attributes:
        if name not in SAVED:
            raise DataError(f"its attribute {name!r} is unknown to this version of boostsample")
    missing = [name for name, needed in SAVED.items() if needed and name not in attributes]
    if missing:
        raise DataError(f"it lacks the attribute {missing[0]!r}")
    if np.shape(attributes.get("term_importances_", model.alpha)) != model.alpha.shape:
        raise DataError(f"it must have importances of {model.alpha.size} terms")
    if not isinstance(attributes["columns_"], TableColumns | None):
        raise DataError("its columns must be those of a data frame, or none")
    offset, temperature = attributes["offset_"], attributes["temperature_"]
    if np.shape(offset) != (n_labels,) or not isinstance(temperature, float):
        raise DataError(f"it must have an offset for each of {n_labels} labels and a temperature")
    if not 0.0 < temperature < np.inf:
        raise DataError(f"its temperature must be above 0, got {temperature}")
    if np.asarray(offset).dtype != np.float64 or not np.isfinite(offset).all():
        raise DataError("its offsets must be finite numbers")
    classes, several = attributes["classes_"], attributes["_multi_label"]
    n_classes = n_labels if several is True or n_labels > 1 else 2
    if (
        type(several) is not bool
        or not isinstance(classes, np.ndarray)
        or classes.shape != (n_classes,)
    ):
        raise DataError(f"it must have {n_classes} classes for {n_labels} labels")
    if len(set(classes.tolist())) < n_classes:
        raise DataError(f"its classes must differ, got {classes.tolist()!r:.60}")
    _check_columns(attributes)


def _check_columns(attributes: Mapping[str, Any]) -> None:
    """DataError unless number and names of the columns of X, where there are any, fit."""
    number = attributes.get("n_features_in_")
    if number is not None and (type(number) is not int or number < 1):
        raise DataError(f"its number of columns must be at least 1, got {number!r:.40}")
    for name in ("feature_names_in_", "_column_names"):
        if name in attributes and np.shape(attributes[name]) != (number,):
            raise DataError(f"it must have a name for each of {number} columns, or none")


def _packed(value: Any) -> Any:
    """A value as JSON; TypeError or ValueError if it cannot be kept."""
    if isinstance(value, TableColumns):
        return {"columns": value.to_json()}
    if isinstance(value, Strategy):
        return {"registered": _name("strategy", value, value.get_params(deep=False))}
    if isinstance(value, Learner):
        names = inspect.signature(type(value)).parameters
        return {"registered": _name("learner", value, {n: getattr(value, n) for n in names})}
    if isinstance(value, Family):
        return {"family": family_specs([value])[0]}
    if isinstance(value, list | tuple) and any(isinstance(item, Family) for item in value):
        return {"items": [_packed(item) for item in value]}
    if isinstance(value, np.ndarray) and value.dtype.kind in "OT":
        texts = value.tolist()
        if value.ndim != 1 or not all(isinstance(item, str) for item in texts):
            raise TypeError("an array of objects that are not texts")
        return {"texts": [str(item) for item in texts]}
    if isinstance(value, np.ndarray):
        value = np.ascontiguousarray(value)
    return {"plain": json.loads(pack_state({"value": value}))}


def _name(kind: str, instance: Any, settings: Mapping[str, Any]) -> list[Any]:
    name = registered_name(kind, type(instance))
    if name is None:
        raise TypeError(f"the {kind} is not registered")
    return [kind, name, _packed(dict(settings))]


def _unpacked(value: Any) -> Any:
    """The value of `_packed`; strategies, learners and families are a `_RegisteredValue`."""
    if not isinstance(value, dict) or len(value) != 1:
        raise DataError(f"it has a value of an unknown form, {value!r:.40}")
    ((way, content),) = value.items()
    if way == "plain":
        return unpack_state(json.dumps(content))["value"]
    if way == "texts":
        texts = np.empty(len(content), object)
        texts[:] = [str(item) for item in content]
        return texts
    if way == "columns":
        return TableColumns.from_json(content)
    if way == "family":
        return _RegisteredValue("family", "", content)
    if way == "items":
        return [_unpacked(item) for item in content]
    if way == "registered":
        kind, name, settings = content
        return _RegisteredValue(kind, name, _unpacked(settings))
    raise DataError(f"it has a value of an unknown form, {way!r:.40}")


def _made(value: Any) -> Any:
    """A setting with its strategies, learners and families; SettingError if one is unknown."""
    if isinstance(value, list):
        return [_made(item) for item in value]
    if not isinstance(value, _RegisteredValue):
        return value
    if value.kind == "family":
        return families_of_specs([value.settings])[0]
    return registered_class(value.kind, value.name)(**value.settings)
