"""AnnData files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from boostsample.formats.h5ad import AnnotatedTable, read_h5ad

h5py = pytest.importorskip("h5py")


def values_of(table: AnnotatedTable) -> Any:
    X = table.X
    return X.toarray() if hasattr(X, "toarray") else X.columns_at(np.arange(X.shape[1])).T


def write_frame(file: Any, name: str, columns: dict[str, Any]) -> None:
    group = file.create_group(name)
    group.attrs.update({"encoding-type": "dataframe", "encoding-version": "0.2.0"})
    group.attrs.update({"_index": "_index", "column-order": list(columns)[1:]})
    for column, values in columns.items():
        group[column] = values


@pytest.mark.parametrize("layout", ["array", "csr_matrix", "csc_matrix"])
def test_matrices_are_read(layout: str, tmp_path: Path) -> None:
    values = np.random.default_rng(0).poisson(0.7, (40, 9)).astype(np.float32)
    path = tmp_path / "x.h5ad"
    with h5py.File(path, "w") as file:
        write_frame(file, "obs", {"_index": [f"c{i}" for i in range(40)], "kind": [1, 2] * 20})
        write_frame(file, "var", {"_index": [f"g{i}" for i in range(9)]})
        if layout == "array":
            file["X"] = values
        else:
            matrix = sparse.csr_matrix(values).asformat(layout[:3])
            group = file.create_group("X")
            group.attrs.update({"encoding-type": layout, "encoding-version": "0.1.0"})
            group.attrs["shape"] = values.shape
            group.update({k: getattr(matrix, k) for k in ("data", "indices", "indptr")})
    table = read_h5ad(path, "kind")
    assert table.y is not None
    assert table.y.tolist() == [1, 2] * 20
    assert (table.gene_names[8], table.cell_ids[39]) == ("g8", "c39")
    np.testing.assert_array_equal(values_of(table), values)
