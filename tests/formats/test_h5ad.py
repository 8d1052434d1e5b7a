"""AnnData files as anndata and scanpy write them: the values that anndata holds, or one error."""

from __future__ import annotations

import io
import pickle
import shutil
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from boostsample import BoostSampleClassifier
from boostsample.checks import columns_merged_by_float32
from boostsample.column_table import ColumnTable
from boostsample.errors import DataError, SettingError
from boostsample.formats import h5ad as module
from boostsample.formats.h5ad import AnnotatedTable, read_h5ad, table_of_anndata
from boostsample.formats.hdf5_members import _check_lengths, _is_endless, _is_whole

FILES = Path(__file__).with_name("files")
EXPECTED = {
    **np.load(FILES / "h5ad_expected.npz"),
    **np.load(FILES / "h5ad_expected_old.npz"),
}
NAMES = ["dense", "chunked", "csr", "csc", "concatenated", "scanpy", "old"]
MATRICES = [key for key in EXPECTED if key.partition("/")[2] not in ("cells", "genes", "raw genes")]
MATRICES = [key for key in MATRICES if "/obs " not in key]


def values_of(table: AnnotatedTable) -> Any:
    X = table.X
    return X.columns_at(np.arange(X.shape[1])).T if isinstance(X, ColumnTable) else X.toarray()


@pytest.mark.parametrize("layout", ["dense", "chunked", "csr", "csc"])
@pytest.mark.parametrize("few", [False, True])
def test_genes_that_float32_merges_are_a_warning(
    layout: str, few: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if few:
        for name, value in (("BYTES", 64), ("ENTRIES", 40)):
            monkeypatch.setattr(module, f"_BLOCK_{name}", value)
    rng = np.random.default_rng(0)
    exact = np.where(rng.random((30, 14)) < 0.6, rng.normal(size=(30, 14)), 0.0)
    exact[:, 2] = 1e9 + rng.integers(0, 4, 30)
    exact[:, 6], exact[17, 6] = 3e12, 3e12 + 1  # constant as float32
    exact[:, 9] = rng.integers(0, 2, 30) * 1e9  # few, but different values
    exact[:, 11] = (5e9 + np.arange(30) % 2) * (np.arange(30) % 3 > 0)
    matrix = getattr(sparse, f"{layout}_matrix")(exact) if layout in ("csr", "csc") else None
    for dtype, n_merged in ((np.float64, 3), (np.float32, 0)):
        values: Any = exact.astype(dtype)
        parts = {"X": values}
        if matrix is not None:
            values = matrix.tocsc().astype(dtype)
            data = matrix.data.astype(dtype)
            parts = {"X/data": data, "X/indices": matrix.indices, "X/indptr": matrix.indptr}
        path = Path(shutil.copy(FILES / f"{layout}.h5ad", tmp_path / f"{n_merged}.h5ad"))
        with h5py.File(path, "r+") as file:
            for place, content in parts.items():
                replace(place, content)(file)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            table = read_h5ad(path, "kind")
            for bank in ("memory", "columns") if layout != "csr" else ():
                settings: dict[str, Any] = {"n_rounds": 1, "random_state": 0, "bank": bank}
                model = BoostSampleClassifier("full", **settings)
                model.fit(table.X, np.arange(30) % 2)
        messages = [str(warning.message) for warning in caught]
        assert len(messages) == (n_merged > 0) * (1 if layout == "csr" else 2)
        names = [table.gene_names[column] for column in columns_merged_by_float32(values)]
        assert len(names) == n_merged
        for message in messages:
            assert f"in {n_merged} of them some become equal" in message
            assert all(name in message for name in names)


def copy_of(name: str, folder: Path, change: Callable[[Any], object]) -> Path:
    """A file of this name that is changed by h5py."""
    path = Path(shutil.copy(FILES / f"{name}.h5ad", folder / "x.h5ad"))
    with h5py.File(path, "r+") as file:
        change(file)
    return path


def replace(place: str, values: Any) -> Callable[[Any], None]:
    """The change that gives a member other values, and keeps its attributes."""

    def change(file: Any) -> None:
        attributes = dict(file[place].attrs)
        del file[place]
        file[place] = values
        file[place].attrs.update(attributes)

    return change


def edit(place: str, index: Any, value: Any) -> Callable[[Any], None]:
    return lambda file: file[place].__setitem__(index, value)


@pytest.mark.parametrize("key", MATRICES)
@pytest.mark.parametrize("few", [False, True])
def test_matrices_are_those_of_anndata(
    key: str, few: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if few:  # many blocks of rows, a run for each gap
        for name, value in (("BYTES", 64), ("ENTRIES", 7)):
            monkeypatch.setattr(module, f"_BLOCK_{name}", value)
        monkeypatch.setattr(module, "_SIEVE_BYTES", 1)
        monkeypatch.setattr(module, "_GAP_ENTRIES", 1)
    name, _, layer = key.partition("/")
    table = read_h5ad(FILES / f"{name}.h5ad", "kind", layer=None if layer == "X" else layer)
    expected = EXPECTED[key].astype(np.float32)
    np.testing.assert_array_equal(values_of(table), expected)
    assert table.y is not None
    np.testing.assert_array_equal(table.y, EXPECTED[f"{name}/obs kind"])
    assert table.cell_ids == EXPECTED[f"{name}/cells"].tolist()
    assert table.gene_names == EXPECTED[f"{name}/{'raw ' * (layer == 'raw')}genes"].tolist()
    if isinstance(table.X, ColumnTable):
        assert table.X.column_names == table.gene_names
        rng = np.random.default_rng(0)
        for columns in (rng.permutation(14)[:9], np.array([13, 0, 0, 1, 7]), np.array([5])):
            for rows in (slice(None), rng.permutation(30)[:20]):
                np.testing.assert_array_equal(
                    table.X[rows].columns_at(columns), expected[rows][:, columns].T
                )
    else:
        assert table.X.format == "csc"
        assert (table.X.dtype, table.X.indices.dtype) == (np.float32, np.int32)
        assert table.X.has_canonical_format


@pytest.mark.parametrize("label", ["kind", "ordered", "number", "is_t", "text", "all_text"])
def test_labels_are_those_of_anndata(label: str) -> None:
    labels = read_h5ad(FILES / "dense.h5ad", label).y
    assert labels is not None
    assert labels.tolist() == EXPECTED[f"dense/obs {label}"].tolist()


@pytest.mark.parametrize("name", ["old some", "dense some", "dense some_number", "dense some_text"])
def test_cells_without_a_label_are_refused_or_left_out(name: str) -> None:
    file, label = name.split()
    path = FILES / f"{file}.h5ad"
    with pytest.raises(DataError, match=r"lacks 10 of 30, the first that of 'cell[12]'; leave"):
        read_h5ad(path, label)
    rest = read_h5ad(path, label, drop_unlabelled=True)
    rows = np.flatnonzero(np.arange(30) % 3 != (1 if label == "some_text" else 2))
    first = {"some": "a", "some_number": 1, "some_text": "a"}[label]
    assert rest.y is not None
    assert rest.y.tolist() == [first, {"a": "b", 1: 0}[first]] * 10
    assert rest.cell_ids == [f"cell{row}" for row in rows]
    np.testing.assert_array_equal(values_of(rest), EXPECTED[f"{file}/X"][rows])


def test_genes_have_the_names_of_a_column() -> None:
    path = FILES / "dense.h5ad"
    assert read_h5ad(path, gene_names="name").gene_names == [f"gene {i}" for i in range(14)]
    with pytest.raises(DataError, match=r"var\['symbol'\] has 'G0' 2 times; name another column"):
        read_h5ad(path, gene_names="symbol")


@pytest.mark.parametrize("name", ["dense", "csr", "csc"])
def test_genes_of_another_file_are_found_by_name(name: str) -> None:
    table = read_h5ad(FILES / f"{name}.h5ad")
    columns = np.random.default_rng(0).permutation(14)[:9]
    names = [table.gene_names[column] for column in columns]
    aligned = table.aligned(names)
    assert aligned.gene_names == names
    np.testing.assert_array_equal(values_of(aligned), EXPECTED[f"{name}/X"][:, columns])
    with pytest.raises(DataError, match=r"1 are missing.* 'x'"):
        table.aligned([*names, "x"])


def test_tables_are_read_in_threads_and_after_pickling(tmp_path: Path) -> None:
    for name in ("dense", "csc"):
        table = read_h5ad(FILES / f"{name}.h5ad").X[3:]
        again = pickle.loads(pickle.dumps(table))
        expected = EXPECTED[f"{name}/X"].T[:, 3:]
        with ThreadPoolExecutor(4) as pool:
            for values in pool.map(lambda _: again.columns_at(np.arange(14)), range(40)):  # noqa: B023  # the pool ends within the loop
                np.testing.assert_array_equal(values, expected)


def test_a_file_that_has_changed_is_not_read_on(tmp_path: Path) -> None:
    path = Path(shutil.copy(FILES / "csc.h5ad", tmp_path))
    table = read_h5ad(path).X
    shutil.copy(FILES / "dense.h5ad", path)
    with pytest.raises(DataError, match="has changed since it was opened; open it anew"):
        table.columns_at(np.arange(3))
    path.unlink()
    with pytest.raises(DataError, match="does not exist"):
        table.columns_at(np.arange(3))


class AnnData:
    """What `table_of_anndata` uses of an object of anndata."""

    isbacked, raw = False, None

    def __init__(self, X: Any) -> None:
        self.X, self.layers = X, {"twice": 2 * X}
        kinds = pd.Categorical(["a", "b", None] * 10)
        ids = [f"cell{i}" for i in range(30)]
        self.obs = pd.DataFrame({"kind": list("abc") * 10, "some": kinds}, index=ids)
        self.var = pd.DataFrame({"name": list("abcdefghijklmn")}, index=map(str, range(14)))
        self.obs_names = self.obs.index


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_matrix])
def test_objects_in_memory(layout: Any) -> None:
    X = layout(EXPECTED["csr/X"])
    table = table_of_anndata(AnnData(X), "kind", layer="twice", gene_names="name")
    assert type(table.X) is type(X)
    assert (table.X != 2 * X).sum() == 0
    assert table.y is not None
    assert table.y.tolist() == list("abc") * 10
    assert (table.cell_ids[29], table.gene_names[13]) == ("cell29", "n")
    with pytest.raises(DataError, match="lacks 10 of 30"):
        table_of_anndata(AnnData(X), "some")
    for wrong in ({"label": "x"}, {"layer": "x"}, {"layer": "raw"}, {"gene_names": "x"}):
        with pytest.raises(SettingError, match="unknown"):
            table_of_anndata(AnnData(X), **wrong)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"label": "kid"}, "unknown column of .*obs 'kid' .did you mean 'kind'.*; known: kind, o"),
        ({"layer": "x"}, "unknown layer of .* 'x'; known: counts, expressed, half, raw"),
        ({"gene_names": "x"}, "unknown column of .*var 'x'; known: symbol, name"),
    ],
)
def test_unknown_names_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingError, match=words):
        read_h5ad(FILES / "dense.h5ad", **settings)


def compound(file: Any) -> None:
    del file["obs"]
    file["obs"] = np.zeros(30, [("index", "S8"), ("kind", "i1")])


def links(file: Any) -> None:
    del file["X"]
    file["X"] = h5py.ExternalLink("other.h5ad", "X")


def unwritten(shape: Any, place: str = "X", dtype: Any = "f4") -> Callable[[Any], None]:
    """The change that declares values that are not in the file."""

    def change(file: Any) -> None:
        del file[place]
        file.create_dataset(place, shape, dtype, chunks=tuple(min(n, 1000) for n in shape))

    return change


def unknown_filter(file: Any) -> None:
    del file["X"]
    plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plan.set_chunk((30, 14))
    plan.set_filter(32001, h5py.h5z.FLAG_OPTIONAL, (1,))
    space = h5py.h5s.create_simple((30, 14))
    h5py.h5d.create(file.id, b"X", h5py.h5t.NATIVE_FLOAT, space, plan)


DAMAGES: dict[str, tuple[str, Callable[[Any], object], str]] = {
    "compound": ("dense", compound, "before 0.7; write the file anew by anndata.read_h5ad"),
    "h5sparse": (
        "csr",
        lambda file: file["X"].attrs.update({"h5sparse_format": "csr"}),
        "before 0.7; write the file anew",
    ),
    "encoding": (
        "csr",
        lambda file: file["X"].attrs.update({"encoding-version": "0.9"}),
        "X has the encoding 'csr_matrix' '0.9', which is unknown",
    ),
    "MuData": (
        "csr",
        lambda file: file.attrs.update({"encoding-type": "MuData"}),
        "must hold one AnnData object, got 'MuData'; write one of its modalities",
    ),
    "10x": (
        "csr",
        lambda file: (file.pop("obs"), file.create_group("matrix")),
        "must hold 'obs' and 'var' .* read a file of 10x by",
    ),
    "linked": ("dense", links, "must hold 'X' itself, but has a link to it"),
    "filter": ("dense", unknown_filter, r"compressed by blosc \(HDF5 filter 32001\)"),
    "unwritten": ("dense", unwritten((10**6, 10**6)), "X declares 4,000,000,000,000 bytes in"),
    "unwritten cells": (
        "dense",
        unwritten((10**12,), "obs/_index", h5py.string_dtype()),
        "index '_index' declares 8,000,000,000,000 bytes",
    ),
    "text": ("dense", replace("X", np.full((30, 14), b"a")), "X must hold .*numbers, got text"),
    "complex": ("dense", replace("X", np.ones((30, 14), complex)), "got complex128"),
    "axes": ("dense", replace("X", np.ones(30)), "X must have 2 axes, got the shape"),
    "cells": ("dense", replace("X", np.ones((29, 14))), "index '_index' must have 29 values"),
    "genes": ("dense", replace("X", np.ones((30, 15))), "index '_index' must have 15 values"),
    "no cell": ("dense", replace("X", np.ones((0, 14))), "at least one cell and one gene"),
    "infinite": (
        "dense",
        edit("X", (4, 9), np.inf),
        "got a larger value in gene 'ENSG009', cell 'cell4'; make it NaN",
    ),
    "large": ("chunked", edit("X", (4, 9), 1e39), "in gene 'ENSG009', cell 'cell4'"),
    "infinite in CSR": ("csr", edit("X/data", 7, np.inf), "in gene 'ENSG013', cell 'cell0'"),
    "infinite in CSC": ("csc", edit("X/data", 7, -np.inf), "in gene 'ENSG000', cell 'cell.*'"),
    "shape": (
        "csr",
        lambda file: file["X"].attrs.update({"shape": [30, 13]}),
        "index '_index' must have 13 values",
    ),
    "no shape": ("csc", lambda file: file["X"].attrs.pop("shape"), "must have the shape of"),
    "index of CSR": (
        "csr",
        edit("X/indices", 7, 14),
        "must have indices from 0 to 13, got 0 to 14",
    ),
    "index of CSC": ("csc", edit("X/indices", 7, -1), "must have indices from 0 to 29, got -1 to"),
    "indptr falls": ("csc", edit("X/indptr", 3, 0), "must have indptr that ascends from 0 to"),
    "indptr ends": ("csr", edit("X/indptr", 30, 10), "must have indptr that ascends from 0 to"),
    "lengths": ("csc", replace("X/indices", np.zeros(9, np.int32)), "data and indices of one leng"),
    "float indices": ("csc", replace("X/indices", np.zeros(9)), "indices must hold whole numbers"),
    "code": ("csr", edit("obs/kind/codes", 3, 3), "must hold codes from -1 to 2, .* got 0 to 3"),
    "code below": ("csr", edit("obs/kind/codes", 3, -2), "got -2 to 2"),
    "categories": (
        "csr",
        edit("obs/kind/categories", slice(None), "B cell"),
        "categories that differ",
    ),
    "not UTF-8": (
        "csr",
        edit("obs/kind/categories", 0, b"\xff"),
        r"must be UTF-8, got b'\\xff' at 0",
    ),
    "old categories": (
        "old",
        lambda file: file["obs/kind"].attrs.update({"categories": "x"}),
        "must refer to its categories",
    ),
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_damaged_and_lying_files_are_refused(kind: str, tmp_path: Path) -> None:
    name, change, words = DAMAGES[kind]
    path = copy_of(name, tmp_path, change)
    with pytest.raises(DataError, match=words) as error:
        values_of(read_h5ad(path, "kind"))
    assert "\n" not in str(error.value)
    assert str(path) in str(error.value)


@pytest.mark.parametrize("big", [2**24, 0])
def test_the_heaps_of_whole_files_pass(big: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("boostsample.formats.hdf5_members._BIG", big)
    for name in NAMES:
        read_h5ad(FILES / f"{name}.h5ad", "kind")


@pytest.mark.parametrize(
    ("declared", "text", "is_whole"), [(48, 8, True), (56, 8, False), (48, 900, False)]
)
def test_a_heap_ends_where_it_declares(declared: int, text: int, is_whole: bool) -> None:
    """A heap alone, of one text and free space, in bytes that are no HDF5 file."""
    head = b"GCOL\1\0\0\0" + declared.to_bytes(8, "little")
    entry = b"\1\0\1\0\0\0\0\0" + text.to_bytes(8, "little") + bytes(8)
    content = head + entry + bytes(8)
    assert _is_whole(io.BytesIO(content), 0, len(content)) == is_whole


@pytest.mark.parametrize(
    ("parts", "is_endless"), [([1], False), ([8, 1], False), ([8, 0], True), ([8, 8], True)]
)
def test_free_parts_of_names_have_an_end(parts: list[int], is_endless: bool) -> None:
    """A heap alone, whose first free part is at 0, in bytes that are no HDF5 file."""
    numbers = np.array([16, 0, 40, 0, *parts], "<u8").tobytes()
    assert _is_endless(io.BytesIO(b"HEAP\0\0\0\0" + numbers), 0) == is_endless


def test_texts_are_no_longer_than_the_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="a text declares more bytes than the file has"):
        _check_lengths([3, 11], 10, tmp_path)


def test_a_matrix_beside_a_missing_X(tmp_path: Path) -> None:
    path = copy_of("csr", tmp_path, lambda file: file.pop("X"))
    with pytest.raises(SettingError, match="has no X; choose one of its layers by layer=: messy"):
        read_h5ad(path)
    assert read_h5ad(path, layer="messy").X.shape == (30, 14)


def test_a_csr_matrix_that_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("boostsample.formats.hdf5_members.free_memory", lambda: 10**3)
    with pytest.raises(DataError, match=r"GiB of memory, .* are free; "):
        read_h5ad(FILES / "csr.h5ad")
