"""Writes the AnnData files of this folder and `h5ad_expected.npz`, what anndata holds in them.

pip install anndata==0.12.19 scanpy==1.11.5 "pandas<3"
python tests/formats/files/make_h5ad.py
pip install anndata==0.7.8 "pandas<2" "numpy<2" "scipy<1.13"  # in an environment for itself
python tests/formats/files/make_h5ad.py old
"""

import importlib
import sys
import tempfile
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
from scipy import sparse

anndata: Any = importlib.import_module("anndata") if __name__ == "__main__" else None
FOLDER = Path(__file__).parent
N, D = 30, 14
expected: dict[str, Any] = {}


def note(name: str, adata: Any, labels: list[str]) -> None:
    """Remember what a file holds."""
    matrices = {"X": adata.X, **{key: adata.layers[key] for key in adata.layers}}
    if adata.raw is not None:
        matrices["raw"] = adata.raw.X
        expected[f"{name}/raw genes"] = adata.raw.var_names.to_numpy(str)
    for key, matrix in matrices.items():
        expected[f"{name}/{key}"] = matrix.toarray() if sparse.issparse(matrix) else matrix
    for label in labels:
        values = adata.obs[label].to_numpy()
        expected[f"{name}/obs {label}"] = values.astype(str) if values.dtype == object else values
    expected[f"{name}/genes"] = adata.var_names.to_numpy(str)
    expected[f"{name}/cells"] = adata.obs_names.to_numpy(str)


def cells(counts: Any) -> Any:
    """An AnnData object of some counts with one label."""
    kinds = pd.Categorical(np.array(["T cell", "B cell", "naïve"])[np.arange(N) % 3])
    return anndata.AnnData(
        counts,
        obs=pd.DataFrame({"kind": kinds}, index=[f"cell{i}" for i in range(N)]),
        var=pd.DataFrame(index=[f"ENSG{i:03}" for i in range(D)]),
    )


def messy(counts: Any, layout: Any) -> Any:
    """A sparse matrix of these counts with unsorted, repeated and zero entries."""
    matrix = layout(counts)
    lengths = np.diff(matrix.indptr)
    ones = [np.append(matrix.indices[a:b][::-1], matrix.indices[a:b]) for a, b in _ranges(matrix)]
    values = [np.append(matrix.data[a:b][::-1] - 1, np.ones(b - a)) for a, b in _ranges(matrix)]
    indptr = np.append(0, np.cumsum(2 * lengths))
    parts = np.concatenate(values).astype(np.int64), np.concatenate(ones).astype(np.int64), indptr
    return layout(parts, shape=counts.shape)


def _ranges(matrix: Any) -> Any:
    return zip(matrix.indptr[:-1].tolist(), matrix.indptr[1:].tolist(), strict=True)


def write_all(counts: Any) -> None:
    """The files of anndata 0.12 and scanpy."""
    import scanpy  # pyright: ignore[reportMissingImports]  # it needs pandas 2

    anndata.settings.allow_write_nullable_strings = True
    dense = cells(np.log1p(counts).astype(np.float32)[:, :D])
    dense.X[3, 5] = np.nan
    dense.layers["counts"] = counts.astype(np.int64)
    dense.layers["half"] = (counts / 3).astype(np.float16)
    dense.layers["expressed"] = counts > 0
    dense.var["symbol"] = [f"G{i // 2}" for i in range(D)]
    dense.var["name"] = pd.Categorical([f"gene {i}" for i in range(D)])
    wide = anndata.AnnData(np.append(counts, counts[:, :2], axis=1).astype(np.float32))
    wide.obs_names = dense.obs_names
    dense.raw = wide
    dense.obs["ordered"] = pd.Categorical(np.arange(N) % 4 + 1, ordered=True)
    dense.obs["number"], dense.obs["is_t"] = np.arange(N) % 5, np.arange(N) % 3 == 0
    dense.obs["text"] = [f"donor {i % 4}" for i in range(N)]
    dense.obs["some"] = pd.Categorical(["a", "b", None] * 10)
    for name, kind in (("some_number", "Int64"), ("some_flag", "boolean")):
        dense.obs[name] = pd.array([1, 0, None] * 10, kind)
    dense.obs["some_text"] = pd.array(["a", None, "b"] * 10, "string")
    dense.obs["all_text"] = pd.array(["a", "c", "b"] * 10, "string")
    dense.write_h5ad(FOLDER / "dense.h5ad", convert_strings_to_categoricals=False)
    note("dense", dense, ["kind", "ordered", "number", "is_t", "text", "all_text"])

    chunked = cells(np.log1p(counts.astype(np.float64)))
    chunked.layers["lzf"] = counts.astype(np.uint8)
    chunked.write_h5ad(FOLDER / "chunked.h5ad")
    with h5py.File(FOLDER / "chunked.h5ad", "r+") as file:
        for place, packing in (("X", "gzip"), ("layers/lzf", "lzf")):
            values = file[place][()]
            del file[place]
            how = {"chunks": (8, 5), "compression": packing, "shuffle": True}
            anndata.io.write_elem(file, place, values, dataset_kwargs=how)
    note("chunked", chunked, ["kind"])

    for name, layout in (("csr", sparse.csr_matrix), ("csc", sparse.csc_matrix)):
        adata = cells(layout(np.log1p(counts).astype(np.float32)))
        adata.layers["messy"] = messy(counts, layout)
        adata.raw = adata
        adata.write_h5ad(FOLDER / f"{name}.h5ad", compression="gzip")
        note(name, adata, ["kind"])

    with tempfile.TemporaryDirectory() as folder:
        parts = [Path(folder) / f"{part}.h5ad" for part in "ab"]
        whole = cells(sparse.csr_array(counts.astype(np.float32)))
        for path, rows in zip(parts, (slice(0, 11), slice(11, N)), strict=True):
            whole[rows].copy().write_h5ad(path)
        anndata.experimental.concat_on_disk(parts, FOLDER / "concatenated.h5ad")
        note("concatenated", anndata.read_h5ad(FOLDER / "concatenated.h5ad"), ["kind"])

    adata = cells(sparse.csr_matrix(counts.astype(np.float32)))
    scanpy.pp.filter_genes(adata, min_cells=1)
    adata.layers["counts"] = adata.X.copy()
    scanpy.pp.normalize_total(adata)
    scanpy.pp.log1p(adata)
    scanpy.pp.scale(adata)
    scanpy.tl.pca(adata, n_comps=2)
    adata.write_h5ad(FOLDER / "scanpy.h5ad")
    note("scanpy", adata, ["kind"])
    np.savez_compressed(FOLDER / "h5ad_expected.npz", **expected)


def write_old(counts: Any) -> None:
    """The file of anndata 0.7."""
    adata = cells(sparse.csc_matrix(counts.astype(np.float32)))
    adata.layers["counts"] = counts.astype(np.float32)
    adata.obs["some"] = pd.Categorical(["a", "b", None] * 10)
    adata.write_h5ad(FOLDER / "old.h5ad")
    note("old", adata, ["kind"])
    np.savez_compressed(FOLDER / "h5ad_expected_old.npz", **expected)


if __name__ == "__main__":
    table = np.random.default_rng(0).poisson(0.8, (N, D))
    (write_old if sys.argv[1:] == ["old"] else write_all)(table)
