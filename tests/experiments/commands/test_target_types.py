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


@pytest.mark.parametrize("container", ["array", "pandas Arrow", "pandas categories"])
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


REFUSED = {
    "Decimal": [decimal.Decimal(0), decimal.Decimal(1)],
    "date": [datetime.date(2026, 1, 1), datetime.date(2026, 1, 2)],
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


def test_foreign_targets_are_named() -> None:
    write("n.csv", [0, 1] * COPIES, [0, 1])
    write("w.parquet", ["0", "1"] * COPIES, [0, 1])
    write("o.csv", [2, 3] * COPIES, [0, 1])
    model = fitted("n.csv")
    for name, first in (("w.parquet", "'0'"), ("o.csv", "2")):
        with pytest.raises(DataError, match=rf"classes of the model \(0, 1\), got {first} and no"):
            predictions(model, name, "y", chances=False)
