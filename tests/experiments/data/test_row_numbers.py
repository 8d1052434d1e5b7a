"""Columns and targets that number the rows: what `to_csv` leaves, and identifiers as classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostsample import BoostSampleClassifier, DataError
from boostsample.experiments.commands.cli import main
from boostsample.experiments.data.class_labels import parse_labels
from boostsample.experiments.data.datasets import load_dataset

pandas: Any = pytest.importorskip("pandas", reason="data frames need the extra 'report'")

N = 40
MODEL = BoostSampleClassifier("full", "stump", n_rounds=1, random_state=0)
INDICES = {
    "from 0": np.arange(N),
    "from 7": np.arange(7, 7 + N),
    "backwards": np.arange(N)[::-1],
    "of a sample": np.random.default_rng(0).choice(1000, N, replace=False),
    "of two tables": np.arange(N) % (N // 2),
}


def frame_of(index: Any) -> Any:
    width = np.random.default_rng(0).normal(size=N).round(3)
    return pandas.DataFrame({"width": width, "kind": np.where(width > 0, "a", "b")}, index)


def write(folder: Path, form: str, frame: Any) -> str:
    """The file of a frame with its index: in its first column, or in two of them."""
    path = folder / "mine.csv"
    if form == "parquet":
        path = folder / "mine.parquet"
        frame.rename_axis(None).reset_index(names="Unnamed: 0").to_parquet(path, index=False)
    elif form == "parquet without pandas":
        path = folder / "mine.parquet"
        frame.reset_index(names="__index_level_0__").to_parquet(path, index=False)
    else:
        frame.to_csv(path)
    if form == "written twice":
        pandas.read_csv(path).to_csv(path)
    elif form == "quoted":
        path.write_text('""' + path.read_text())
    return str(path)


FORMS = ("csv", "quoted", "written twice", "parquet", "parquet without pandas")


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize("form", FORMS)
def test_an_index_among_the_columns_is_refused(
    form: str, index: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, form, frame_of(INDICES[index]))
    fit = ["fit", path, "--target", "kind", "--quiet", "--rounds", "1", "-o", f"{tmp_path}/m.bsm"]
    assert main(fit) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "features must not number the rows, but the column '" in line
    assert "as the index that to_csv of pandas writes; leave it out with --drop " in line
    with pytest.raises(DataError, match=r"features must not number the rows.* drop=0, or give it"):
        load_dataset(path)


@pytest.mark.parametrize(
    "index", [[f"row {k}" for k in range(N)], pandas.date_range("2020", periods=N)]
)
def test_an_index_of_text_or_dates_is_refused(
    index: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, "csv", frame_of(index))
    fit = ["fit", path, "--target", "kind", "--quiet", "--rounds", "1", "-o", f"{tmp_path}/m.bsm"]
    assert main(fit) == 1
    assert "the column 'Unnamed: 0' had no name" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_without_the_index_all_commands_go_on(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, model = write(tmp_path, form, frame_of(None)), str(tmp_path / "m.bsm")
    fit = ["fit", path, "--target", "kind", "--quiet", "--rounds", "1", "-o", model]
    assert main([*fit, "--drop", "Unnamed: 0"]) == 0
    assert main(["predict", model, path, "--target", "kind"]) == 0
    capsys.readouterr()
    assert load_dataset(f"{path}:drop=0").columns == ("width",)


@pytest.mark.parametrize("values", [np.arange(N) + 0.5, np.where(np.arange(N) == 3, np.nan, 1)])
def test_other_columns_without_a_name_are_features(
    values: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, "csv", frame_of(values))
    assert load_dataset(path).columns == ("column 0", "width")
    assert main(["fit", path, "--target", "kind", "--quiet", "--dry-run"]) == 0
    frame_of(None).rename_axis("number").to_csv(path)
    assert load_dataset(path).columns == ("number", "width")
    assert main(["fit", path, "--target", "kind", "--quiet", "--dry-run"]) == 0
    capsys.readouterr()


@pytest.mark.filterwarnings("ignore:The number of unique classes:UserWarning")
@pytest.mark.parametrize("kind", [int, str])
@pytest.mark.parametrize("share", [1.0, 0.55])
def test_a_target_that_numbers_the_rows_is_refused(kind: type, share: float) -> None:
    n = 3000
    y: Any = np.where(np.arange(n) < share * n, np.arange(n), 0).astype(kind)
    X = np.random.default_rng(0).normal(size=(n, 2))
    with pytest.raises(DataError, match=r"y must have classes with several rows each, got [13],"):
        MODEL.fit(X, y)
    with pytest.raises(DataError, match=r"here must have classes with .* the only row of their"):
        parse_labels(y.tolist(), "here")


@pytest.mark.filterwarnings("ignore:The number of unique classes:UserWarning")
@pytest.mark.parametrize("y", [np.arange(100), np.arange(300) // 2, np.arange(404) % 202])
def test_few_classes_and_classes_of_several_rows_are_learned(y: Any) -> None:
    X = np.random.default_rng(0).normal(size=(y.size, 2))
    assert MODEL.fit(X, y).classes_.size == np.unique(y).size


def test_values_that_float32_merges_are_named(tmp_path: Path) -> None:
    frame = frame_of(None)
    frame["width"] += 1e9
    frame.insert(0, "height", np.arange(N))
    frame.to_csv(tmp_path / "mine.csv", index=False)
    frame.to_parquet(tmp_path / "mine.parquet")
    for name in ("mine.csv", "mine.parquet"):
        with pytest.warns(RuntimeWarning, match=f"become equal: .*{name}: column 'width'"):
            load_dataset(str(tmp_path / name))
