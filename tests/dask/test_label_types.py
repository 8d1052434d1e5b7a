"""Labels of every kind in every container come back from a cluster as from one machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from boostsample.dask import DaskBoostSampleClassifier
from boostsample.dask.inputs.part_rows import naming_part
from boostsample.dask.inputs.summary import merged, summarise
from boostsample.errors import DataError
from tests.label_containers import CONTAINERS, VALUES, WITH_MISSING

dask: Any = pytest.importorskip("dask", reason="the extra 'dask' is not installed")
da: Any = pytest.importorskip("dask.array")
dd: Any = pytest.importorskip("dask.dataframe")

COPIES = 6


def table_of(n_classes: int) -> Any:
    return np.tile(np.eye(n_classes), (COPIES, 1))


def classes_of(*parts: Any) -> list[Any]:
    """The classes of a table with these parts, without a cluster."""
    found = []
    for number, y in enumerate(parts):
        with naming_part(number, ""):
            found.append(summarise(np.eye(len(y)), y, None, number, 9, "balanced"))
    classes: list[Any] = merged(found, None, 9).classes.tolist()
    return classes


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("container", CONTAINERS)
def test_classes_of_parts_in_every_container(container: str, values: list[Any]) -> None:
    make = CONTAINERS[container]
    classes = classes_of(make(values[:1] * len(values)), make(values[::-1]))
    assert classes == values
    assert [*map(type, classes)] == [*map(type, values)]


@pytest.mark.parametrize("container", WITH_MISSING)
def test_a_missing_label_is_named_with_its_part_and_row(container: str) -> None:
    make = WITH_MISSING[container]
    with pytest.raises(DataError, match=r"part 1 of the table: y must .* contains \S+ in row 1;"):
        classes_of(make([0, 1, 0]), make([0, None, 1]))


def test_parts_of_different_types() -> None:
    parts = [np.array([2**53 + 1, 2]), np.array([2**63, 3], np.uint64), [2**53, 3]]
    assert classes_of(*parts) == [2, 3, 2**53, 2**53 + 1, 2**63]
    assert classes_of(np.array([0, 1]), np.array([1.0, 2.0])) == [0.0, 1.0, 2.0]
    with pytest.raises(DataError, match="one kind in all parts, got numbers and truth values"):
        classes_of([0, 1], [False, True])
    with pytest.raises(DataError, match="one kind in all parts, got text and truth values"):
        classes_of(["a", "b"], [False, True])


def as_column(y: Any, X: Any, folder: Path) -> tuple[Any, Any]:
    frame = pandas.DataFrame(X, columns=[f"x{at}" for at in range(X.shape[1])]).assign(y=y)
    return dd.from_pandas(frame, npartitions=3), "y"


def as_folder(y: Any, X: Any, folder: Path) -> tuple[Any, Any]:
    frame = pandas.DataFrame(X, columns=[f"x{at}" for at in range(X.shape[1])]).assign(y=y)
    frame.to_parquet(folder / "a.parquet", row_group_size=5)
    return folder, "y"


def as_array(y: Any, X: Any, folder: Path) -> tuple[Any, Any]:
    return da.from_array(X, chunks=(4, -1)), da.from_array(np.asarray(y), chunks=7)


@pytest.mark.parametrize(
    ("form", "container", "kind"),
    [
        (as_column, "pandas nullable", "neighbours"),
        (as_column, "pandas categories", "codes"),
        (as_folder, "pandas Arrow", "neighbours"),
        (as_array, "objects", "text"),
    ],
)
def test_a_fit_gives_values_and_types_back(
    form: Any, container: str, kind: str, client: Any, tmp_path: Path
) -> None:
    values = VALUES[kind]
    X, y = table_of(len(values)), CONTAINERS[container](values * COPIES)
    weights = {value: 1.0 + at for at, value in enumerate(values)}
    model = DaskBoostSampleClassifier(
        "full", "stump", n_rounds=8, random_state=0, client=client, class_weight=weights
    )
    given = form(y, X, tmp_path)
    model.fit(*given)
    assert model.classes_.tolist() == values
    assert [*map(type, model.classes_.tolist())] == [*map(type, values)]
    here = X
    if hasattr(model, "feature_names_in_"):
        here = pandas.DataFrame(X, columns=model.feature_names_in_)
    assert model.predict(here).tolist() == values * COPIES
    assert model.score(here, y) == 1.0
    if form is not as_folder:
        table, target = given
        if form is as_column:
            table, target = table.drop(columns="y"), table["y"]
        assert model.score(table, target) == 1.0
        assert model.predict(table).compute().tolist() == values * COPIES
