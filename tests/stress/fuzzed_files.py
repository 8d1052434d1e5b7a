"""Damaged files of every kind that we read: read correctly, or refused in one clear line.

Files are damaged as `tests.stress.file_damage` does. Another exception than ours, or a pickle that
was loaded, is a fault.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

from boostsample import BoostSampleClassifier
from boostsample.banks.bank_forms import make_bank
from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.plan.grid import combined_grid, read_grid_file
from boostsample.families import Columns
from tests.stress.file_damage import damaged
from tests.stress.fit_invariants import refusal


class Kind(NamedTuple):
    """Files of a kind: `make` writes good ones into a folder and returns those to damage."""

    make: Callable[[Path], list[str]]
    read: Callable[[Path], object]


def _table() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 30)
    return rng.normal(size=(30, 4)).round(2) + y[:, None], y


def _text(separator: str) -> Callable[[Path], list[str]]:
    def make(folder: Path) -> list[str]:
        X, y = _table()
        rows = ([*map(str, row), f"k{k}"] for row, k in zip(X, y, strict=True))
        lines = [["a", "b", "c d", "e", "y"], *rows]
        name = "data.csv" if separator == "," else "data.tsv"
        (folder / name).write_text("".join(f"{separator.join(line)}\n" for line in lines))
        return [name]

    return make


def _npz(folder: Path) -> list[str]:
    X, y = _table()
    np.savez_compressed(folder / "data.npz", X=X.astype("f4"), y=y)
    return ["data.npz"]


def _svmlight(folder: Path) -> list[str]:
    X, y = _table()
    dump_svmlight_file(sp.csr_matrix(X), y, str(folder / "data.svm"))
    return ["data.svm"]


def _parquet(folder: Path) -> list[str]:
    import pandas as pd

    X, y = _table()
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y}).to_parquet(folder / "data.parquet")
    return ["data.parquet"]


def _grid(folder: Path) -> list[str]:
    (folder / "grid.toml").write_text(
        'title = "t"\ndata = ["digits", { path = "x.csv", label = "y" }]\nrounds = [1, 10]\n'
        'strategies = ["laminating", { name = "ucb", exploration = [0.02, 2] }]\nbudget = "10N"\n'
        "repeats = 2\nseed = 3\ntune = true\n"
    )
    return ["grid.toml"]


def _model(folder: Path) -> list[str]:
    _fitted("stump").save(folder / "stump.bsm")
    _fitted("tree:n_leaves=3", calibration="temperature").save(folder / "tree.bsm")
    _fitted("product:n_terms=2").save(folder / "product.bsm")
    return ["stump.bsm", "tree.bsm", "product.bsm"]


def _fitted(learner: str, **settings: Any) -> BoostSampleClassifier:
    return BoostSampleClassifier("ucb", learner, n_rounds=5, random_state=0, **settings).fit(
        *_table()
    )


def _checkpoint(folder: Path) -> list[str]:
    _fitted("tree:n_leaves=3", checkpoint=folder / "a.checkpoint", checkpoint_seconds=0)
    return ["a.checkpoint"]


def _bank(folder: Path) -> list[str]:
    _disk_bank(folder)
    return [str(path.relative_to(folder)) for path in sorted(folder.rglob("*")) if path.is_file()]


def _disk_bank(folder: Path) -> Any:
    os.environ["BOOSTSAMPLE_CACHE_DIR"] = str(folder / "cache")
    return make_bank("disk", [Columns(range(4), n_columns=4)], _table()[0])


def _read_bank(folder: Path) -> None:
    """A damaged bank is built again: it never gives other bins."""
    X = _table()[0]
    right = make_bank("memory", [Columns(range(4), n_columns=4)], X)
    bank, every = _disk_bank(folder), np.arange(4)
    assert (bank.take(every, np.arange(30)) == right.take(every, np.arange(30))).all()
    assert (bank.cuts_of(every) == right.cuts_of(every)).all()


def _read_data(name: str) -> Callable[[Path], None]:
    def read(folder: Path) -> None:
        label: dict[str, Any] = {"label": "y"} if name.endswith(("csv", "tsv", "parquet")) else {}
        data = load_dataset(str(folder / name), **label)
        assert data.X.shape[0] == len(data.y)
        assert int(data.y.max()) < len(data.classes)

    return read


def _read_model(folder: Path) -> None:
    for path in sorted(folder.glob("*.bsm")):
        model = BoostSampleClassifier.load(path)
        X = _table()[0]
        assert np.isfinite(model.decision_function(X)).all()
        model.predict(X)
        assert np.isfinite(model.predict_proba(X)).all()


def _read_checkpoint(folder: Path) -> None:
    path = folder / "a.checkpoint"
    model = _fitted("tree:n_leaves=3", checkpoint=path, checkpoint_seconds=60)
    assert np.isfinite(model.decision_function(_table()[0])).all()


KINDS: dict[str, Kind] = {
    "csv": Kind(_text(","), _read_data("data.csv")),
    "tsv": Kind(_text("\t"), _read_data("data.tsv")),
    "npz": Kind(_npz, _read_data("data.npz")),
    "svmlight": Kind(_svmlight, _read_data("data.svm")),
    "parquet": Kind(_parquet, _read_data("data.parquet")),
    "grid": Kind(_grid, lambda folder: combined_grid(read_grid_file(folder / "grid.toml"), {})),
    "model": Kind(_model, _read_model),
    "checkpoint": Kind(_checkpoint, _read_checkpoint),
    "bank": Kind(_bank, _read_bank),
}


def check_file(kind: str, good: Path, names: Sequence[str], number: int, seed: int = 0) -> str:
    """ "read", or the line that refuses the file; AssertionError if it is neither."""
    rng = np.random.default_rng([seed, number, zlib.crc32(kind.encode())])
    with tempfile.TemporaryDirectory() as place:
        folder, marker = Path(place) / "files", Path(place) / "marker"
        shutil.copytree(good, folder)
        path = folder / names[int(rng.integers(len(names)))]
        path.write_bytes(damaged(path.read_bytes(), rng, marker))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", ".* becomes categories, because", RuntimeWarning)
            try:
                KINDS[kind].read(folder)
                text = "read"
            except AssertionError:
                raise
            except Exception as error:
                text = refusal(error, most=1010)  # names and values of the file stand in it
        assert not marker.exists(), "a pickle was loaded"
    return text
