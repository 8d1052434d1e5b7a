"""Model files: what is saved comes back to the bit; others are refused, and nothing is executed.

`python -m tests.classifier.keep_models` has written the files of `kept_models`.
"""

from __future__ import annotations

import errno
import io
import json
import math
import os
import pickle
import re
import zipfile
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skops.io
from numpy.typing import ArrayLike, NDArray

from boostsample import BoostSampleClassifier, DataError, SettingError, registry
from boostsample.classifier import file
from boostsample.families import Columns, HashedText, text_family
from boostsample.files.archive import archive_bytes, archive_entries, json_entry, read_json_entry
from boostsample.files.json_text import pack_state
from boostsample.learner import Learner, Targets
from boostsample.strategies import UCB
from tests.classifier.keep_models import FOLDER
from tests.problems import table

WORDS = ["one fish", "two fish", "red fish", "blue fish", "one red", "two blue"] * 5
KEPT = sorted(FOLDER.glob("*.bsm"))
Example = tuple[BoostSampleClassifier, Any]


def codes(n: int = 60) -> NDArray[np.int64]:
    return np.random.default_rng(1).integers(0, 3, n)


def fitted(X: Any, y: Any, **settings: Any) -> BoostSampleClassifier:
    given: dict[str, Any] = {"n_rounds": 8, "random_state": 0, **settings}
    return BoostSampleClassifier(**given).fit(X, y)


def missing(n: int = 60) -> NDArray[np.float32]:
    X = table(n, 5)
    X[np.random.default_rng(2).random(X.shape) < 0.1] = np.nan
    return X


EXAMPLES: dict[str, Callable[[], Example]] = {
    "stumps": lambda: (fitted(missing(), codes()), missing()),
    "products": lambda: (fitted(missing(), codes(), learner="product"), missing()),
    "trees": lambda: (fitted(missing(), codes(), learner="tree:n_leaves=4"), missing()),
    "two classes": lambda: (fitted(missing(), codes() == 1), missing()),
    "labels": lambda: (fitted(table(60), np.eye(3, dtype=int)[codes()]), table(60)),
    "images": lambda: (
        fitted(table(60, 36).reshape(-1, 6, 6), codes()),
        table(60, 36).reshape(-1, 6, 6),
    ),
    "text": lambda: (
        fitted(WORDS, codes(30), families=[text_family(WORDS), HashedText(64)]),
        WORDS,
    ),
}


@pytest.fixture(scope="module")
def stumps() -> Example:
    return EXAMPLES["stumps"]()


@pytest.mark.parametrize("name", EXAMPLES)
def test_predictions_come_back_to_the_bit(name: str, tmp_path: Path) -> None:
    model, X = EXAMPLES[name]()
    model.save(tmp_path / "a.bsm")
    loaded = BoostSampleClassifier.load(tmp_path / "a.bsm")
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(loaded.term_importances_, model.term_importances_)
    model.term_importances_ = model.term_importances_ + 1.0  # not those of the model alone
    model.save(tmp_path / "own.bsm")
    of_file = BoostSampleClassifier.load(tmp_path / "own.bsm")
    np.testing.assert_array_equal(of_file.term_importances_, model.term_importances_)
    assert loaded.classes_.dtype == model.classes_.dtype
    assert loaded.model_.families == model.model_.families
    assert loaded.get_params() == model.get_params() or name == "text"
    loaded.save(tmp_path / "b.bsm")
    first, other = (archive_entries((tmp_path / f"{x}.bsm").read_bytes()) for x in "ab")
    assert {k: v.tobytes() for k, v in first.items()} == {k: v.tobytes() for k, v in other.items()}


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_kept_files_of_all_versions_are_read(path: Path) -> None:
    model = BoostSampleClassifier.load(path)
    with np.load(path.with_suffix(".npz")) as kept:
        np.testing.assert_array_equal(model.decision_function(kept["X"]), kept["scores"])
        np.testing.assert_array_equal(model.predict(kept["X"]), kept["labels"])


def test_a_file_of_each_version_is_kept() -> None:
    versions = {int(re.findall(r"format-(\d+)-", path.name)[0]) for path in KEPT}
    assert versions == set(range(1, file.FORMAT + 1))


def test_a_full_disk_leaves_the_file_of_before(
    stumps: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, X = stumps
    model.save(tmp_path / "a.bsm")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    for name in ("a.bsm", "b.bsm"):
        with pytest.raises(DataError, match=r"No space left on device; make room or name another"):
            model.save(tmp_path / name, overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["a.bsm"]
    loaded = BoostSampleClassifier.load(tmp_path / "a.bsm")
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))


# --------------------------------------------------------------------------- what is not kept


class Unregistered(Columns):
    pass


class Private(Learner):
    name = "private"

    def learn(self, targets: Targets) -> list[Targets]:
        return [targets.times(targets.search())]


class PrivateUCB(UCB):
    pass


def test_settings_that_are_no_plain_values(tmp_path: Path) -> None:
    """Registered instances come back; others are left out and have their default."""
    X, y = table(60), codes()
    model = fitted(X, y, strategy=UCB(exploration=0.5), families=[Columns(range(4))])
    model.save(tmp_path / "a.bsm")
    loaded = BoostSampleClassifier.load(tmp_path / "a.bsm")
    assert isinstance(loaded.strategy, UCB)
    assert loaded.strategy.exploration == 0.5
    assert loaded.families == [Columns(range(4))]
    private = {"strategy": PrivateUCB(), "learner": Private()}
    fitted(X, y, **private, random_state=np.random.RandomState(0)).save(tmp_path / "b.bsm")
    other, default = BoostSampleClassifier.load(tmp_path / "b.bsm"), BoostSampleClassifier()
    for name in ("strategy", "learner", "random_state"):
        assert getattr(other, name) == getattr(default, name)
    assert other.n_rounds == 8
    entries = archive_entries((tmp_path / "b.bsm").read_bytes())
    assert read_json_entry(entries["meta"])["left_out"] == ["learner", "random_state", "strategy"]


def test_families_that_cannot_be_made_again_are_refused(tmp_path: Path) -> None:
    model = fitted(table(60), codes(), families=[Unregistered(range(8))], n_rounds=1)
    message = r"'columns' \(.*Unregistered\) is not; register its class by an"
    with pytest.raises(SettingError, match=message):
        model.save(tmp_path / "a.bsm")
    assert list(tmp_path.iterdir()) == []


class Doubled(Columns):
    """A family of another distribution."""

    def compute(self, X: Any, features: ArrayLike) -> NDArray[np.float32]:
        return 2 * super().compute(X, features)


def register_doubled(monkeypatch: pytest.MonkeyPatch) -> None:
    point, load = EntryPoint("doubled", __name__, "boostsample.families"), registry._load
    monkeypatch.setattr(registry, "entry_points", lambda group: [point] if "fam" in group else [])
    monkeypatch.setattr(
        registry, "_load", lambda place: Doubled if place == __name__ else load(place)
    )


def test_families_of_other_distributions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = fitted(table(60), codes(), families=[Doubled(range(8), "doubled")])
    with monkeypatch.context() as here:
        register_doubled(here)
        model.save(tmp_path / "a.bsm")
        loaded = BoostSampleClassifier.load(tmp_path / "a.bsm")
        np.testing.assert_array_equal(
            loaded.decision_function(table(60)), model.decision_function(table(60))
        )
    with pytest.raises(DataError, match="it needs the family 'doubled', which cannot be loaded"):
        BoostSampleClassifier.load(tmp_path / "a.bsm")


def test_a_file_is_not_replaced_by_accident(stumps: Example, tmp_path: Path) -> None:
    model, _ = stumps
    model.save(tmp_path / "a.bsm")
    with pytest.raises(SettingError, match=r"must be new, but .* exists; .*overwrite=True"):
        model.save(tmp_path / "a.bsm")
    model.save(tmp_path / "a.bsm", overwrite=True)
    with pytest.raises(SettingError, match=r"must end in \.bsm, got '.*a\.txt'"):
        model.save(tmp_path / "a.txt")
    with pytest.raises(DataError, match="cannot be written"):
        model.save(tmp_path / "none" / "a.bsm")


def test_skops_asks_for_no_type_of_another_package() -> None:
    X, y = table(60), np.arange(60) % 3
    model = BoostSampleClassifier(n_rounds=5, learner="tree:n_leaves=3", random_state=0).fit(X, y)
    content = skops.io.dumps(model)
    types: Any = skops.io.get_untrusted_types(data=content)
    assert all(name.startswith("boostsample.") for name in types)
    loaded = skops.io.loads(content, trusted=types)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.history_ == model.history_
    with pytest.raises(skops.io.exceptions.UntrustedTypesFoundException):
        skops.io.loads(content, trusted=[])


def test_files_that_are_no_models(stumps: Example, tmp_path: Path) -> None:
    path = tmp_path / "a.bsm"
    with pytest.raises(DataError, match=r"a\.bsm' cannot be read: No such file"):
        BoostSampleClassifier.load(path)
    with pytest.raises(DataError, match="cannot be read: Is a directory"):
        BoostSampleClassifier.load(tmp_path)
    stream = io.BytesIO()
    np.savez(stream, a=np.arange(3))
    other = archive_bytes({"meta": json_entry({"kind": "a cell"})})
    for content in (b"", b"some text\n", pickle.dumps(stumps[0]), other):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"is not a model file of boostsample: it is .*; give"):
            BoostSampleClassifier.load(path)
    path.write_bytes(stream.getvalue())
    with pytest.raises(DataError, match=r"a\.bsm' cannot be used: damaged \('sha256'\)"):
        BoostSampleClassifier.load(path)


def test_damaged_files_are_refused(stumps: Example, tmp_path: Path) -> None:
    """Cut anywhere, or with a byte changed: refused, or unchanged where the byte has no meaning."""
    model, X = stumps
    path = tmp_path / "a.bsm"
    model.save(path)
    content, want = path.read_bytes(), model.decision_function(X)
    rng, refused, unchanged = np.random.default_rng(0), 0, 0
    for cut in rng.integers(1, len(content), 60).tolist():
        path.write_bytes(content[:cut])
        with pytest.raises(DataError, match=r"a\.bsm' (cannot be used|is not a model)"):
            BoostSampleClassifier.load(path)
    for at in rng.integers(0, len(content), 300).tolist():
        changed = bytearray(content)
        changed[at] ^= int(rng.integers(1, 256))
        path.write_bytes(changed)
        try:
            loaded = BoostSampleClassifier.load(path)
        except DataError as error:
            refused += str(path) in str(error) and "\n" not in str(error)
        else:
            unchanged += np.array_equal(loaded.decision_function(X), want)
    assert refused + unchanged == 300
    assert refused > 200


def test_newer_files_and_too_large_ones(
    stumps: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.bsm"
    stumps[0].save(path)
    entries = archive_entries(path.read_bytes())
    meta = read_json_entry(entries["meta"])
    path.write_bytes(archive_bytes({**entries, "meta": json_entry({**meta, "format": 99})}))
    with pytest.raises(DataError, match=r"has format 99, .* reads formats up to 1; update"):
        BoostSampleClassifier.load(path)
    stumps[0].save(path, overwrite=True)
    monkeypatch.setattr(file, "MOST_BYTES", 1000)
    with pytest.raises(DataError, match="its content must have at most 1,000 bytes, got"):
        BoostSampleClassifier.load(path)
    with pytest.raises(DataError, match=r"must have at most .* before packing"):
        stumps[0].save(tmp_path / "b.bsm")


class Spy:
    """A pickle that would leave a trace."""

    traces: list[str] = []  # noqa: RUF012 - shared on purpose

    def __reduce__(self) -> tuple[Any, ...]:
        return Spy.traces.append, ("executed",)


def test_nothing_is_executed_and_no_size_is_believed(tmp_path: Path) -> None:
    path = tmp_path / "a.bsm"
    stream = io.BytesIO()
    np.savez(stream, meta=np.array([Spy()], object))
    huge = io.BytesIO()
    with zipfile.ZipFile(huge, "w") as archive:
        header = io.BytesIO()
        fields = {"descr": "|u1", "fortran_order": False, "shape": (10**13,)}
        np.lib.format.write_array_header_1_0(header, fields)
        archive.writestr("meta.npy", header.getvalue())
    for content, message in (
        (pickle.dumps(Spy()), "it is no archive"),
        (stream.getvalue(), "an array of object, which is never written"),
        (huge.getvalue(), "the size of an array of the archive does not fit"),
    ):
        path.write_bytes(content)
        with pytest.raises(DataError, match=message):
            BoostSampleClassifier.load(path)
    assert Spy.traces == []


def other_meta(**changes: Any) -> Callable[[dict[str, Any]], None]:
    def change(entries: dict[str, Any]) -> None:
        entries["meta"] = json_entry({**read_json_entry(entries["meta"]), **changes})

    return change


def other_attribute(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(entries: dict[str, Any]) -> None:
        meta = read_json_entry(entries["meta"])
        meta["attributes"][name] = value
        if name == "term_importances_":
            del entries["reads"]
        entries["meta"] = json_entry(meta)

    return change


def plain(value: Any) -> dict[str, Any]:
    """A plain value as files hold it."""
    return {"plain": json.loads(pack_state({"value": value}))}


def other_array(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(entries: dict[str, Any]) -> None:
        entries[name] = value(entries[name])

    return change


def without(name: str) -> Callable[[dict[str, Any]], None]:
    return lambda entries: entries.pop(name)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (other_meta(format="1"), "it has no format version, got '1'"),
        (other_meta(n_labels=9), "must have 9 bits for each of"),
        (other_meta(families=[{}]), "a family must have a name and settings"),
        (
            other_meta(families=[{"name": "columns", "settings": {"x": 1}, "n_features": 1}]),
            "its family 'columns' refuses its settings",
        ),
        (
            other_meta(families=[{"name": "columns", "settings": {"columns": 0}, "n_features": 2}]),
            "must have 2 features, but has 1 here",
        ),
        (other_meta(settings={"hue": {"texts": []}}), "setting 'hue' is unknown"),
        (other_meta(settings={"bank": {"magic": 1}}), "a value of an unknown form, 'magic'"),
        (other_meta(attributes={}), "it lacks the attribute 'classes_'"),
        (other_attribute("classes_", {"texts": ["a"]}), "must have 3 classes for 3 labels"),
        (other_attribute("columns_", {"columns": "[3]"}), "must be text of TableColumns.to_json"),
        (other_attribute("temperature_", {"texts": []}), "offset for each of 3 labels and a temp"),
        (other_attribute("temperature_", plain(math.nan)), "temperature must be above 0, got nan"),
        (other_attribute("offset_", plain(np.full(3, np.nan))), "offsets must be finite numbers"),
        (other_attribute("classes_", {"texts": ["a", "b", "a"]}), "its classes must differ"),
        (other_attribute("n_features_in_", plain(2.5)), "number of columns must be at least 1"),
        (other_attribute("feature_names_in_", {"texts": ["a"]}), "have a name for each of 6 colu"),
        (other_array("feature", lambda array: array + np.uint8(100)), "features must be between"),
        (
            other_array("feature", lambda array: array.astype(np.float32)),
            "'feature' is missing, or",
        ),
        (
            other_array("threshold", lambda array: array * np.float32(np.nan)),
            "its thresholds must be",
        ),
        (other_array("alpha", lambda array: array * np.inf), "its alphas must be finite"),
        (other_array("alpha", lambda array: array[1:]), "must have an alpha each"),
        (other_array("votes", lambda array: array[:, :0]), "must have 3 bits for each of"),
        (other_array("n_terms", lambda array: array[1:]), "its rounds must have all of the terms"),
        (other_array("parent", lambda array: array + np.int8(1)), "its terms must be trees"),
        (other_array("side", lambda array: array[1:]), "must have a parent and a side each"),
        (other_array("split", lambda array: array[1:]), "'split' must have a bit for each"),
        (without("below"), "'below' is missing, or"),
        (other_attribute("term_importances_", {"texts": []}), "must have importances of"),
    ],
)
def test_contents_that_are_no_model(
    change: Callable[[dict[str, Any]], None], message: str, tmp_path: Path
) -> None:
    """With a checksum that fits: no content crashes the process."""
    path = tmp_path / "a.bsm"
    entries: dict[str, Any] = archive_entries((FOLDER / "format-1-images.bsm").read_bytes())
    change(entries)
    path.write_bytes(archive_bytes(entries))
    with pytest.raises(DataError, match=re.escape(message).replace("\\ ", " ")):
        BoostSampleClassifier.load(path)
