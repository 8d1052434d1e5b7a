"""Labels of every kind in every container come back from a cluster as from one machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas
import pytest

from boostsample.dask import DaskBoostSampleClassifier
from boostsample.dask.summary import merged, naming_part, summarise
from boostsample.errors import DataError
from tests.label_containers import CONTAINERS, VALUES

dask: Any = pytest.importorskip("dask", reason="the extra 'dask' is not installed")
da: Any = pytest.importorskip("dask.array")
dd: Any = pytest.importorskip("dask.dataframe")

COPIES = 6


def classes_of(*parts: Any) -> list[Any]:
    """The classes of a table with these parts, without a cluster."""
    found = []
    for number, y in enumerate(parts):
        with naming_part(number, ""):
            found.append(summarise(np.eye(len(y)), y, None, number, 9, "balanced"))
    classes: list[Any] = merged(found, None, 9).classes.tolist()
    return classes


def test_a_missing_label_is_named_with_its_part_and_row() -> None:
    with pytest.raises(DataError, match=r"part 1 of the table: y must .* contains \S+ in row 1;"):
        classes_of([0, 1, 0], [0, None, 1])


def test_parts_of_different_types() -> None:
    parts = [np.array([2**53 + 1, 2]), np.array([2**63, 3], np.uint64), [2**53, 3]]
    assert classes_of(*parts) == [2, 3, 2**53, 2**53 + 1, 2**63]
    assert classes_of(np.array([0, 1]), np.array([1.0, 2.0])) == [0.0, 1.0, 2.0]
    with pytest.raises(DataError, match="one kind in all parts, got numbers and truth values"):
        classes_of([0, 1], [False, True])


@pytest.mark.parametrize("kind", ["neighbours", "text"])
@pytest.mark.parametrize("of_frames", [True, False])
def test_a_fit_gives_values_and_types_back(of_frames: bool, kind: str, client: Any) -> None:
    values = VALUES[kind]
    X: Any = np.tile(np.eye(len(values)), (COPIES, 1))
    y: Any = CONTAINERS["pandas nullable" if of_frames else "objects"](values * COPIES)
    if of_frames:
        X = pandas.DataFrame(X, columns=[f"x{at}" for at in range(len(values))])
        table, labels = (dd.from_pandas(one, npartitions=3) for one in (X, y))
    else:
        table, labels = da.from_array(X, chunks=(4, -1)), da.from_array(y, chunks=7)
    weights = {value: 1.0 + at for at, value in enumerate(values)}
    model = DaskBoostSampleClassifier(
        "full", "stump", n_rounds=8, random_state=0, client=client, class_weight=weights
    ).fit(table, labels)
    assert model.classes_.tolist() == values
    assert [*map(type, model.classes_.tolist())] == [*map(type, values)]
    assert model.predict(X).tolist() == values * COPIES
    assert model.predict(table).compute().tolist() == values * COPIES
    assert model.score(X, y) == model.score(table, labels) == 1.0
