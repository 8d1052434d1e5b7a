"""Model files of the classifier (``.bsm``): everything that prediction needs, and the settings.

A file is an archive, see `boostsample.files.archive`, of the entry ``meta`` (JSON), the arrays of
`boostsample.models.model`, and ``reads``, a bit for each term, where importances follow from it.
"""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Self

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
from boostsample.files.json_text import pack_state, unpack_state
from boostsample.learner import Learner
from boostsample.models.importances import model_importances
from boostsample.models.model import (
    Model,
    families_of_specs,
    family_specs,
    model_arrays,
    model_of_arrays,
)
from boostsample.output_codes import OutputCode, make_output_code
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
    "code_": False,
}
"""Fitted attributes in the file beside `model_`, and whether each fitted classifier has them."""

_KIND = "boostsample classifier"


class _OtherFile(DataError):
    """No model file of this version; the message goes on from the name of the file."""


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
        target = check_writable_file(path, ENDING, "the model", overwrite=overwrite)
        write_file(target, archive_bytes(_entries(self)), "the model")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The fitted classifier of a file that `save` has written; equal predictions, to the bit.

        Raises
        ------
        DataError
            If the file cannot be read, is damaged, of another kind or of a newer version, or needs
            a family of a distribution that is not installed.
        """
        try:
            content = archive_content(path)
        except OSError as error:
            raise DataError(f"the model file '{path}' cannot be read: {os_fault(error)}") from error
        try:
            loaded: Self = _classifier(cls, content)
        except _OtherFile as error:
            raise DataError(f"'{path}' {error}") from error
        except Exception as error:  # parsers raise anything on garbage
            ours = isinstance(error, DataError)
            reason = one_line(error) if ours else f"damaged ({one_line(error)})"
            raise DataError(
                f"the model file '{path}' cannot be used: {reason}; save or copy the model again"
            ) from error
        return loaded


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
    importances = attributes.get("term_importances_")
    if importances is not None:
        reads = importances > 0
        if np.array_equal(model_importances(model, reads), importances):
            del attributes["term_importances_"]  # 64 times as large
            arrays["reads"] = np.packbits(reads)
    meta = {
        "kind": _KIND,
        "format": FORMAT,
        "settings": settings,
        "left_out": sorted(left_out),
        "families": family_specs(model.families),
        "n_labels": model.n_labels,
        "attributes": {name: _packed(value) for name, value in attributes.items()},
    }
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
    """The fitted classifier of the class `kind` that a file describes."""
    is_archive = content.startswith(b"PK")
    entries = archive_entries(content, MOST_BYTES) if is_archive else {}
    meta = read_json_entry(entries.pop("meta")) if "meta" in entries else None
    if not isinstance(meta, dict) or meta.get("kind") != _KIND:
        is_what = "another archive" if is_archive else "no archive" if content else "empty"
        raise _OtherFile(
            f"is not a model file of boostsample: it is {is_what}; give a file that "
            "BoostSampleClassifier.save has written"
        )
    version = meta.get("format")
    if type(version) is not int or version < 1:
        raise DataError(f"it has no format version, got {version!r:.40}")
    if version > FORMAT:
        raise _OtherFile(
            f"has format {version}, but this version of boostsample reads formats up to "
            f"{FORMAT}; update boostsample"
        )
    classifier, known = kind(), inspect.signature(kind).parameters
    for name, packed in meta["settings"].items():
        if name not in known:
            raise DataError(f"its setting {name!r} is unknown to this version of boostsample")
        with suppress(SettingError):  # not registered here: the default, as if it were left out
            setattr(classifier, name, _unpacked(packed))
    model = model_of_arrays(entries, families_of_specs(meta.get("families")), meta.get("n_labels"))
    attributes = {name: _unpacked(packed) for name, packed in meta["attributes"].items()}
    if "reads" in entries:
        reads = bits_entry(entries, "reads", model.feature.size)
        attributes["term_importances_"] = model_importances(model, reads)
    _check_attributes(attributes, model)
    vars(classifier).update({**attributes, "model_": model})
    return classifier


def _check_attributes(attributes: Mapping[str, Any], model: Model) -> None:
    n_labels, code = model.n_labels, attributes.get("code_")
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
    if code is not None:
        if not isinstance(code, OutputCode) or code.n_bits != n_labels:
            raise DataError(f"it must have a code of {n_labels} bits")
        n_classes = code.matrix.shape[0]
        n_labels = 1 if n_classes == 2 else n_classes
    offset, temperature = attributes["offset_"], attributes["temperature_"]
    if np.shape(offset) != (n_labels,) or not isinstance(temperature, float):
        raise DataError(f"it must have an offset for each of {n_labels} labels and a temperature")
    if not 0.0 < temperature < np.inf:
        raise DataError(f"its temperature must be above 0, got {temperature}")
    if np.asarray(offset).dtype != np.float64 or not np.isfinite(offset).all():
        raise DataError("its offsets must be finite numbers")
    classes, several = attributes["classes_"], attributes["_multi_label"]
    n_classes = n_labels if several is True or n_labels > 1 else 2
    is_array = isinstance(classes, np.ndarray) and classes.shape == (n_classes,)
    if type(several) is not bool or not is_array:
        raise DataError(f"it must have {n_classes} classes for {n_labels} labels")
    if len(set(classes.tolist())) < n_classes:
        raise DataError(f"its classes must differ, got {classes.tolist()!r:.60}")
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
    if isinstance(value, OutputCode):
        return {"code": [value.matrix.tolist(), value.decoding]}
    if isinstance(value, Strategy | Learner):
        kind = "strategy" if isinstance(value, Strategy) else "learner"
        name = registered_name(kind, type(value))
        if name is None:
            raise TypeError(f"the {kind} is not registered")
        settings = {n: getattr(value, n) for n in inspect.signature(type(value)).parameters}
        return {"registered": [kind, name, _packed(settings)]}
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


def _unpacked(value: Any) -> Any:
    """The value of `_packed`; SettingError if it is of a class that is not registered."""
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
    if way == "code":
        matrix, decoding = content
        return make_output_code(matrix, decoding, len(matrix), np.random.default_rng(0))
    if way == "family":
        return families_of_specs([content])[0]
    if way == "items":
        return [_unpacked(item) for item in content]
    if way == "registered":
        kind, name, settings = content
        return registered_class(kind, name)(**_unpacked(settings))
    raise DataError(f"it has a value of an unknown form, {way!r:.40}")
