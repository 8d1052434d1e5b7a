"""Data sets: checks, splits, the synthetic tasks and the benchmark sets' published facts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.errors import DataError, SettingError
from boostsample.experiments.data.dataset import Dataset
from boostsample.experiments.data.datasets import load_dataset

NAN, INF = np.nan, np.inf


def table(n: int = 8, d: int = 2) -> NDArray[np.float32]:
    return np.arange(n * d, dtype=np.float32).reshape(n, d)


def made(**changes: Any) -> Dataset:
    """Return a small data set with changes."""
    settings = {"name": "toy", "X": table(), "y": np.arange(8) % 2, "classes": ("no", "yes")}
    return Dataset(**{**settings, **changes})


def with_value(X: NDArray[np.float32], place: tuple[int, ...], value: float) -> NDArray[np.float32]:
    X = X.copy()
    X[place] = value
    return X


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"X": table().astype(np.float64)}, "got float64 of shape (8, 2)"),
        ({"X": table(0)}, "X must have rows and features, got shape (0, 2)"),
        (
            {"X": with_value(table(), (5, 1), -INF), "columns": ("a", "b")},
            "got -inf in row 5, column 'b'",
        ),
        (
            {"X": with_value(table(8, 4).reshape(8, 2, 2), (7, 1, 0), NAN)},
            "must be finite, got nan in row 7, pixel (1, 0)",
        ),
        ({"X": np.zeros((8, 2), dtype=np.float32)}, "all 8 are the same"),
        ({"columns": ("a", "a")}, "got 2 (1 different)"),
        ({"X": table(8, 4).reshape(8, 2, 2), "columns": ("a", "b")}, "columns of a table"),
        ({"y": np.arange(7) % 2}, "y must be int64 of shape (8,)"),
        ({"y": np.array([0, 1, 0, NAN, 1, 0, 1, 1])}, "got NaN in row 3"),
        ({"y": np.arange(8) % 3}, "y must hold codes from 0 to 1, got 2"),
        ({"y": np.ones(8, dtype=np.int64)}, "got one class, 'yes'"),
        ({"y": np.ones((8, 2), dtype=np.int8)}, "got one set of labels"),
        (
            {"classes": ("no",), "y": np.zeros(8, dtype=np.int64)},
            "two different classes, got 'no';",
        ),
        ({"n_train": 8}, "n_train must be between 1 and 7, got 8"),
    ],
)
def test_bad_data_is_one_clear_line(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(DataError) as raised:
        made(**changes)
    message = str(raised.value)
    assert message.startswith("toy: ")
    assert says in message
    assert "\n" not in message


def test_the_standard_cut_is_the_same_for_every_repetition() -> None:
    data = made(n_train=5)
    for repetition, seed in ((0, 0), (3, 9)):
        train, test = data.split(repetition, seed)
        assert train.tolist() == [0, 1, 2, 3, 4]
        assert test.tolist() == [5, 6, 7]
        assert train.dtype == test.dtype == np.int64


def test_a_drawn_split_is_a_stratified_quarter() -> None:
    counts = np.array([1, 2, 3, 40, 401])
    y = np.random.default_rng(5).permutation(np.repeat(np.arange(5), counts))
    data = made(X=table(len(y)), y=y, classes=tuple("abcde"))
    for repetition in range(50):
        train, test = data.split(repetition, seed=3)
        assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(len(y)))
        assert (np.diff(train) > 0).all()
        assert (np.diff(test) > 0).all()
        tested = np.bincount(y[test], minlength=5)
        assert tested[0] == 0
        assert (np.abs(tested - counts / 4) < 1).all()
        assert (np.bincount(y[train], minlength=5) > 0).all()


def test_every_row_is_tested_equally_often() -> None:
    data = made(X=table(40), y=np.repeat([0, 1, 2], [3, 2, 35]), classes=("a", "b", "c"))
    tested = np.zeros(40)
    for repetition in range(1000):
        tested[data.split(repetition, seed=0)[1]] += 1
    # Binomial with 1000 draws of probability 1/4: five standard deviations are 68.
    assert np.abs(tested - 250).max() < 68


def test_the_split_depends_on_name_seed_and_repetition_alone() -> None:
    X, y = table(200), np.arange(200) % 2
    keys = [("toy", 0, 0), ("toy", 0, 1), ("toy", 1, 0), ("other", 0, 0)]
    tests = [
        made(name=name, X=X, y=y).split(repetition, seed)[1].tolist()
        for name, seed, repetition in keys
    ]
    assert len({tuple(rows) for rows in tests}) == 4
    assert made(X=X + 1, y=y).split(0, 0)[1].tolist() == tests[0]
    zero: Any = np.int64(0)
    assert made(X=X, y=y).split(zero, zero)[1].tolist() == tests[0]
    # Recorded once: the draw must not change between versions and machines.
    assert tests[0][:5] == [0, 3, 19, 20, 26]


def test_multilabel_rows_are_split_by_their_set_of_labels() -> None:
    y = np.array([[1, 0, 1], [0, 1, 0], [1, 0, 1], [0, 0, 0]] * 20, dtype=np.int8)
    data = made(X=table(80), y=y, classes=("a", "b", "c"))
    _, test = data.split(0, 0)
    kinds = [int((y[test] == kind).all(axis=1).sum()) for kind in ([1, 0, 1], [0, 1, 0], [0, 0, 0])]
    assert kinds == [10, 5, 5]


@pytest.mark.parametrize(("repetition", "seed"), [(-1, 0), (0, -1), (0.5, 0), (0, True)])
def test_repetition_and_seed_are_whole_numbers(repetition: Any, seed: Any) -> None:
    with pytest.raises(SettingError, match=r"must be .* at least 0, got"):
        made().split(repetition, seed)


def test_diagonal_follows_its_definition() -> None:
    data = load_dataset("diagonal(d=6, J=2, q=0.2, n=20000)", seed=4)
    assert data.name == "diagonal(d=6,J=2,q=0.2,n=20000)"
    assert data.X.shape == (20000, 6)
    assert data.columns == ("x1", "x2", "x3", "x4", "x5", "x6")
    assert data.classes == ("-1", "1")
    assert (data.X.min() >= 0, data.X.max() < 1) == (True, True)
    above = data.X[:, 0].astype(float) + data.X[:, 1] > 1
    turned = (data.y == 1) != above
    for side in (above, ~above):  # five standard deviations of a share of 0.2 of 10000 are 0.02
        assert abs(turned[side].mean() - 0.2) < 0.02
    clean = load_dataset("diagonal", d=6, J=2, q=0, n=500, seed=4)
    assert ((clean.y == 1) == (clean.X[:, :2].sum(axis=1, dtype=float) > 1)).all()


def test_chess_follows_its_definition() -> None:
    data = load_dataset("chess(d=5,J=3)", seed=4, L=4, n=300)
    assert data.name == "chess(d=5,J=3,L=4,n=300)"
    for x, y in zip(data.X.tolist(), data.y, strict=True):
        squares = [sum(value >= edge / 4 for edge in (1, 2, 3)) for value in x[:3]]
        assert y == (sum(squares) % 2 == 0)


def test_wide_follows_its_definition() -> None:
    data = load_dataset("wide(d=50, J=5, shift=2, n=4000)", seed=4)
    assert data.X.shape == (4000, 50)
    apart = data.X[data.y == 1].mean(axis=0) - data.X[data.y == 0].mean(axis=0)
    assert apart == pytest.approx([2.0] * 5 + [0.0] * 45, abs=0.16)  # five standard deviations
    assert data.X.std(axis=0)[5:] == pytest.approx(np.ones(45), abs=0.06)
    assert abs(data.y.mean() - 0.5) < 0.04
    assert load_dataset("wide(d=60)").X.shape == (2000, 60)


def test_synthetic_sets_have_the_papers_defaults_and_depend_on_the_seed() -> None:
    assert load_dataset("diagonal").name == "diagonal(d=10,J=4,q=0.1,n=1000)"
    assert load_dataset("chess").name == "chess(d=10,J=3,L=3,n=1000)"
    one, same, other = (load_dataset("chess", seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.X, same.X)
    assert np.array_equal(one.y, same.y)
    assert not np.array_equal(one.X, other.X)
    assert not np.array_equal(one.X, load_dataset("diagonal", seed=1).X)


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("diagonal(d=3)", {}, "J, the number of useful features, must be at most d = 3, got 4"),
        (
            "diagonal(q=0.6)",
            {},
            "q, the share of flipped labels, must be between 0 and 0.5, got 0.6",
        ),
        ("diagonal(n=3)", {}, "n must be an integer at least 4, got 3"),
        ("wide(shift=-1)", {}, "shift, the difference of means, must be at least 0, got -1"),
        ("chess(d=2.5)", {}, "chess: d must be a whole number, got '2.5'"),
        ("chess(d=4)", {"d": 5}, "chess: d must be given once, got it twice"),
        ("chess(q=0.1)", {}, "unknown setting 'q' of data set chess; known: d, J, L, n"),
        ("digit", {}, "unknown data set 'digit' (did you mean 'digits'?); known: digits, mnist"),
        ("iris", {}, "or a file (.csv, .tsv, .parquet, .npz, .svmlight, .bed, .h5ad, .jsonl), as"),
    ],
)
def test_names_and_settings_are_checked(name: str, options: dict[str, Any], says: str) -> None:
    with pytest.raises(SettingError) as raised:
        load_dataset(name, **options)
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)
