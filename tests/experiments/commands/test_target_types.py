"""`boostsample fit` and `predict --target`: the target's values and types come back from files."""

from __future__ import annotations

import datetime
import decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from boostsample import BoostSampleClassifier, DataError
from boostsample.experiments.commands.cli import main
from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.fitting.table_models import predictions, read_training_table
from tests.label_containers import CONTAINERS, VALUES

MODEL = BoostSampleClassifier("full", "stump", n_rounds=20, random_state=0)
COPIES = 6


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(name: str, y: Any, values: list[Any]) -> None:
    """A file with a column for each class, and the target."""
    X = np.tile(np.eye(len(values)), (COPIES, 1))
    frame = pandas.DataFrame(X, columns=[f"x{at}" for at in range(len(values))]).assign(y=y)
    if name.endswith(".csv"):
        frame.to_csv(name, index=False)
    else:
        frame.to_parquet(name)


def fitted(name: str) -> BoostSampleClassifier:
    table = read_training_table(name, "y")
    MODEL.fit(table.X, table.y).save("m.bsm", overwrite=True)
    return BoostSampleClassifier.load("m.bsm")


@pytest.mark.parametrize(
    "container", ["array", "pandas nullable", "pandas Arrow", "pandas categories"]
)
@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_values_come_back_from_files(container: str, values: list[Any]) -> None:
    y = CONTAINERS[container](values * COPIES)
    for ending in ("csv", "parquet"):
        write(f"t.{ending}", y, values)
    for ending in ("csv", "parquet"):
        model = fitted(f"t.{ending}")
        assert model.classes_.tolist() == values
        assert [*map(type, model.classes_.tolist())] == [*map(type, values)]
        for other in ("csv", "parquet"):
            frame_of_predictions, error = predictions(model, f"t.{other}", "y", chances=True)
            assert error == 0.0
            assert frame_of_predictions["prediction"].tolist() == values * COPIES
            assert frame_of_predictions.columns[1:].tolist() == [
                f"probability of {class_name}" for class_name in values
            ]


EQUAL = {
    "int.csv": [0, 1],
    "float.csv": [0.0, 1.0],
    "bool.csv": [False, True],
    "int8.parquet": np.array([0, 1], np.int8),
    "float32.parquet": np.array([0, 1], np.float32),
    "bool.parquet": np.array([0, 1], bool),
    "Int64.parquet": pandas.array([0, 1], dtype="Int64"),
    "boolean.parquet": pandas.array([False, True], dtype="boolean"),
    "category.parquet": pandas.Categorical([0, 1]),
}
"""Files of classes that are equal in Python."""


def test_files_of_equal_classes_of_other_types() -> None:
    for name, y in EQUAL.items():
        write(name, pandas.concat([pandas.Series(y)] * COPIES, ignore_index=True), [0, 1])
    for name in EQUAL:
        model = fitted(name)
        assert [predictions(model, other, "y", chances=False)[1] for other in EQUAL] == [0.0] * 9


REFUSED = {
    "Decimal": [decimal.Decimal(0), decimal.Decimal(1)],
    "date": [datetime.date(2026, 1, 1), datetime.date(2026, 1, 2)],
    "datetime64": [datetime.datetime(2026, 1, 1), datetime.datetime(2026, 1, 2)],
    "bytes": [b"a", b"b"],
}


@pytest.mark.parametrize("values", REFUSED.values(), ids=REFUSED)
def test_a_target_of_other_values_is_refused_or_read_as_text(
    values: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    write("t.parquet", values * COPIES, values)
    fit = ["fit", "t.parquet", "--target", "y", "--rounds", "20", "--quiet"]
    for more in (["-o", "m.bsm"], ["--dry-run"]):
        assert main([*fit, *more]) == 1
        (line,) = capsys.readouterr().err.splitlines()
        assert "t.parquet: the label 'y' must hold whole numbers or text, got " in line
        assert " in data row 1 " in line
        assert line.endswith("in boostsample fit by --category")
    with pytest.raises(DataError, match="the label 'y' must hold whole numbers or text, got"):
        load_dataset("t.parquet:label=y")
    assert main([*fit, "--category", "y", "-o", "m.bsm"]) == 0
    capsys.readouterr()
    assert main(["predict", "m.bsm", "t.parquet", "--target", "y"]) == 0
    out, err = capsys.readouterr()
    assert err == "wrong: 0.00 % of 12 rows\n"
    assert len(set(out.splitlines()[1:])) == 2


def test_missing_and_foreign_targets_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    Path("t.csv").write_text("x,y\n1,a\n2,b\n3,\n")
    with pytest.raises(DataError, match=r"'y' must have a label .* contains NaN in data row 3; dr"):
        read_training_table("t.csv", "y")
    write("n.csv", [0, 1] * COPIES, [0, 1])
    write("w.parquet", ["0", "1"] * COPIES, [0, 1])
    write("o.csv", [2, 3] * COPIES, [0, 1])
    model = fitted("n.csv")
    for name, first in (("w.parquet", "'0'"), ("o.csv", "2")):
        with pytest.raises(DataError, match=rf"classes of the model \(0, 1\), got {first} and no"):
            predictions(model, name, "y", chances=False)


def test_numbers_that_are_too_large_for_floats(capsys: pytest.CaptureFixture[str]) -> None:
    values = [2**53, 2**53 + 1]
    write("t.csv", [f"{value}.0" for value in values] * COPIES, values)
    with pytest.raises(DataError, match="float numbers of this size merge"):
        read_training_table("t.csv", "y")
    write("t.csv", [-1, 2**63 + 1, 2**63 + 2] * COPIES, [0, 1, 2])
    assert fitted("t.csv").classes_.size == 3


def test_classes_of_text_stay_apart_if_asked() -> None:
    texts = ["1", "1.0", "2", "0.50"]
    Path("t.csv").write_text("x,y\n" + "".join(f"{k},{y}\n" for k, y in enumerate(texts)) * 6)
    table = read_training_table("t.csv", "y", category=["y"])
    model = MODEL.fit(table.X, table.y)
    assert model.classes_.tolist() == sorted(texts)
    assert predictions(model, "t.csv", "y", chances=False)[1] == 0.0
