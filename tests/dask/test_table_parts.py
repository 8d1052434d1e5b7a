"""Parts of Dask collections and of folders: the same rows and bin edges on any worker."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from boostsample.banks.bank import FeatureBank
from boostsample.dask.cluster_table import (
    REFERENCE,
    PartSummary,
    TableFacts,
    merged,
    read_table,
    sample_size,
    summarise,
)
from boostsample.dask.parts import list_folder
from boostsample.errors import DataError, SettingError
from boostsample.families import Columns
from tests.dask.in_process import loaded_by_workers

dask: Any = pytest.importorskip("dask", reason="the extra 'dask' is not installed")
da: Any = pytest.importorskip("dask.array")

Made = tuple[NDArray[np.float64], NDArray[Any], NDArray[np.float64]]
Given = tuple[Any, Any, Any]
N = 120


@pytest.fixture
def made(rng: np.random.Generator) -> Made:
    X = rng.normal(size=(N, 4))
    X[:, 2] = rng.integers(0, 3, N)
    X[rng.random(X.shape) < 0.05] = np.nan
    weight = rng.integers(0, 4, N).astype(float)
    return X, np.array(["a", "b", "c"])[rng.integers(0, 3, N)], weight


def frame_of(made: Made) -> Any:
    X, y, weight = made
    return pd.DataFrame(X, columns=list("pqrs")).assign(y=y, w=weight)


def as_arrays(made: Made, client: Any, folder: Path) -> Given:
    X, y, weight = made
    return (
        da.from_array(X, chunks=(50, 2)),
        da.from_array(y, chunks=30),
        da.from_array(weight, chunks=N),
    )


def as_frames(made: Made, client: Any, folder: Path) -> Given:
    dd: Any = pytest.importorskip("dask.dataframe")
    frame = dd.from_pandas(frame_of(made), npartitions=3)
    return frame[list("pqrs")], frame["y"], frame["w"]


def as_columns(made: Made, client: Any, folder: Path) -> Given:
    dd: Any = pytest.importorskip("dask.dataframe")
    return client.persist(dd.from_pandas(frame_of(made), npartitions=3)), "y", "w"


def as_delayed(made: Made, client: Any, folder: Path) -> Given:
    ends = [0, 70, 70, N]  # one of the parts is empty
    cut = [slice(a, b) for a, b in pairwise(ends)]
    X, y, weight = ([dask.delayed(one[part]) for part in cut] for one in made)
    return X, y, weight


def as_frames_of_files(made: Made, client: Any, folder: Path) -> Given:
    """Small files, which Dask merges if few of their columns are read."""
    dd: Any = pytest.importorskip("dask.dataframe")
    paths = [str(folder / f"{number}.file") for number in range(6)]
    for number, path in enumerate(paths):
        frame_of(made)[20 * number : 20 * number + 20].to_parquet(path)
    files = dd.read_parquet(paths)
    return files[list("pqrs")], files["y"], files["w"]


def as_array_and_series(made: Made, client: Any, folder: Path) -> Given:
    """Chunks of unknown sizes."""
    X, y, weight = as_frames(made, client, folder)
    return X.to_dask_array(), y, weight


def as_bags(made: Made, client: Any, folder: Path) -> Given:
    db: Any = pytest.importorskip("dask.bag")
    bag = db.from_sequence(zip(*(one.tolist() for one in made), strict=True), npartitions=3)
    return bag.pluck(0), bag.pluck(1), bag.pluck(2)


def as_arrays_in_files(made: Made, client: Any, folder: Path) -> Given:
    for name, one in zip(("X", "y", "w"), made, strict=True):
        (folder / name).mkdir()
        np.save(folder / name / "part-0.npy", one[:50])
        np.save(folder / name / "part-1.npy", one[50:])
    return folder / "X", folder / "y", str(folder / "w")


def as_parquet(made: Made, client: Any, folder: Path) -> Given:
    frame = frame_of(made)
    frame[:50].to_parquet(folder / "a.parquet", row_group_size=20)
    frame[50:].to_parquet(folder / "b.parquet")
    return folder, "y", "w"


KINDS = (
    as_arrays,
    as_frames,
    as_columns,
    as_frames_of_files,
    as_array_and_series,
    as_bags,
    as_delayed,
    as_arrays_in_files,
    as_parquet,
)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_gives_the_same_shards(
    kind: Any, made: Made, client: Any, tmp_path: Path
) -> None:
    X, y, weight = made
    first, second, third = kind(made, client, tmp_path)
    facts, sources = read_table(client, first, second, third, n_shards=2)
    weighted = weight > 0
    assert sum(facts.n_rows) == weighted.sum()
    assert facts.classes.tolist() == ["a", "b", "c"]
    assert [source.n_examples for source in sources] == [
        sum(facts.n_rows[: len(sources[0].parts)]),
        sum(facts.n_rows[len(sources[0].parts) :]),
    ]
    shards = loaded_by_workers(client, sources)
    banks: list[Any] = [one.bank for one in shards]
    bins = np.concatenate([bank.bins for bank in banks], axis=1)
    first, second, third = as_arrays(made, client, tmp_path)
    reference, _ = read_table(client, first, second, third, n_shards=1)
    np.testing.assert_array_equal(facts.cuts[0], reference.cuts[0])
    values = X[weighted].astype(np.float32)
    for feature in range(4):
        cuts = facts.cuts[0][feature]
        expected = [0 if np.isnan(x) else 1 + int((cuts <= x).sum()) for x in values[:, feature]]
        assert bins[feature].tolist() == expected
    labels = np.concatenate([one.Y for one in shards])
    assert np.array(["a", "b", "c"])[labels.argmax(axis=1)].tolist() == y[weighted].tolist()
    weights = np.concatenate([np.asarray(one.example_weight) for one in shards])
    np.testing.assert_array_equal(weights, weight[weighted] / 2)  # the largest between 1 and 2


def test_a_column_of_a_npy_file_may_hold_the_labels(client: Any, tmp_path: Path) -> None:
    table = np.array([[1.5, 0, 7], [2.5, 1, 8], [3.5, 1, 9]])
    np.save(tmp_path / "table.npy", table)
    facts, (source,) = read_table(client, tmp_path, 1, None)
    shard = source.load()
    assert facts.seen.width == 2
    assert shard.Y[:, 0].tolist() == [-1, 1, 1]
    assert shard.bank.take(np.arange(2), np.arange(3)).tolist() == [[1, 2, 3], [1, 2, 3]]
    assert shard.example_weight is None


def test_large_npy_files_are_several_parts(tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", np.zeros((2**14 + 1, 2**10), np.float32))
    (tmp_path / "y").mkdir()
    np.save(tmp_path / "y" / "y.npy", np.zeros(2**14 + 1))
    parts = list_folder(str(tmp_path), str(tmp_path / "y"), None)
    assert [part.read().X.shape[0] for part in parts] == [2**14, 1]
    assert [part.read().y.shape[0] for part in parts] == [2**14, 1]


def test_wrong_inputs_are_named(made: Made, client: Any, tmp_path: Path) -> None:
    X, y, _ = as_arrays(made, client, tmp_path)
    with pytest.raises(SettingError, match=r"X must be a Dask array.*got ndarray.*BoostSampleCl"):
        read_table(client, made[0], y, None)
    with pytest.raises(SettingError, match=r"y must be a Dask collection.*got 'label'"):
        read_table(client, X, "label", None)
    with pytest.raises(DataError, match=r"same chunks, got 3 of X and 2 of y; .*d\['y'\]"):
        read_table(client, X, da.from_array(made[1][:60], chunks=30), None)
    frame, labels, _ = as_frames(made, client, tmp_path)
    with pytest.raises(
        DataError, match=r"same divisions, got \(0, 40.* of X and \(0, 41.*clear_di"
    ):
        read_table(client, frame, labels.repartition((0, 41, 80, 119)), None)
    with pytest.raises(DataError, match=r"by a shuffle, .*client.persist"):
        read_table(client, frame.shuffle("r"), labels, None)
    with pytest.raises(SettingError, match=r"bank must be .* or 'columns', got 'lazy'"):
        read_table(client, X, y, None, bank="lazy")
    with pytest.raises(SettingError, match="n_shards must be an integer at least 1, got 0"):
        read_table(client, X, y, None, n_shards=0)
    with pytest.raises(SettingError, match=r"families must not be 'dtype'.*name the groups"):
        read_table(client, frame, labels, None, families="dtype")
    with pytest.raises(DataError, match="cannot be read on the worker"):
        read_table(client, tmp_path / "no", 0, None)
    with pytest.raises(DataError, match=r"must hold files .npy or .parquet of one kind, got none"):
        read_table(client, tmp_path, 0, None)
    np.save(tmp_path / "X.npy", made[0])
    with pytest.raises(SettingError, match=r"y must be a column from 0 to 3 .*, got 4"):
        read_table(client, tmp_path, 4, None)


def test_data_at_fault_are_named_with_their_part(made: Made, client: Any) -> None:
    X, y, weight = made
    ys = da.from_array(y, chunks=40)
    wrong = X.copy()
    wrong[50, 0] = np.inf
    with pytest.raises(
        DataError, match=r"part 1 of the table: X must hold finite numbers .* got inf at \(10, 0\)"
    ):
        read_table(client, da.from_array(wrong, chunks=40), ys, None)
    Xs = da.from_array(X, chunks=40)
    bad = np.where(np.arange(N) == 100, -1.0, weight)
    with pytest.raises(DataError, match=r"part 2 of the table: .*not negative, got -1.0 in row 20"):
        read_table(client, Xs, ys, da.from_array(bad, chunks=40))
    with pytest.raises(DataError, match=r"part . of the table: y must .*: continuous"):
        read_table(client, Xs, Xs[:, 0].map_blocks(np.nan_to_num), None)
    one = da.from_array(np.full(N, "a"), chunks=40)
    with pytest.raises(DataError, match="at least 2 classes, got 1 class"):
        read_table(client, Xs, one, None)
    with pytest.raises(DataError, match="a row of weight above 0, got none"):
        read_table(client, Xs, ys, da.zeros(N, chunks=40))
    frame = frame_of(made).assign(k=1)
    dd: Any = pytest.importorskip("dask.dataframe")
    with pytest.raises(DataError, match=r"part . .* must hold numbers .* got 'y'.*get_dummies"):
        read_table(client, dd.from_pandas(frame, npartitions=2), "k", None)


def facts_of(*parts: tuple[Any, Any]) -> TableFacts:
    """The facts of a table of parts, found out in this process."""
    found = [summarise(X, y, None, at, 1000, "balanced") for at, (X, y) in enumerate(parts)]
    return merged(found, None, 1000)


@pytest.mark.filterwarnings("ignore:The number of unique classes:UserWarning")
def test_a_target_that_numbers_the_rows_is_refused() -> None:
    X = np.random.default_rng(0).normal(size=(N, 2))
    with pytest.raises(DataError, match="got 240 classes in 240 rows, 240 of them the only row of"):
        facts_of((X, np.arange(N)), (X, np.arange(N, 2 * N)))
    assert facts_of((X, np.arange(N)), (X, np.arange(N))).classes.size == N


def test_parts_that_do_not_fit_each_other_are_an_error(client: Any) -> None:
    X = [dask.delayed(np.zeros((5, 3))), dask.delayed(np.zeros((5, 4)))]
    y = [dask.delayed(np.arange(5) % 2)] * 2
    with pytest.raises(DataError, match=r"same columns, got \(3,\) in part 0 and \(4,\) in part 1"):
        read_table(client, X, y, None)
    y[1] = dask.delayed(np.array(list("ababa")))
    with pytest.raises(DataError, match="one kind in all parts, got numbers and text"):
        read_table(client, [X[0]] * 2, y, None)
    frame = pd.DataFrame(np.zeros((5, 2)), columns=["p", "q"])
    for other in (frame[["q", "p"]], frame.to_numpy()):
        with pytest.raises(DataError, match="all parts must have the same names of columns"):
            facts_of((frame, np.arange(5) % 2), (other, np.arange(5) % 2))


def summaries(
    X: NDArray[np.generic], ends: list[int], reference: int = REFERENCE
) -> list[PartSummary]:
    size = sample_size(len(ends) - 1, reference)
    y = np.arange(X.shape[0]) % 2
    return [
        summarise(X[a:b], y[a:b], None, number, size, "balanced")
        for number, (a, b) in enumerate(pairwise(ends))
    ]


def test_small_tables_have_the_edges_of_one_machine(rng: np.random.Generator) -> None:
    X = rng.normal(size=(3000, 3))
    X[:, 1] = rng.integers(0, 300, 3000)
    X[rng.random(X.shape) < 0.05] = np.nan
    whole = FeatureBank.build([Columns(range(3))], X)
    facts = merged(summaries(X, [0, 100, 2900, 3000]), None, REFERENCE)
    assert facts.n_reference == 3000
    np.testing.assert_array_equal(facts.cuts[0], whole.cuts)
    np.testing.assert_array_equal(facts.cuts[1], whole.n_bins)


def test_few_different_values_have_exact_edges_whatever_the_sample(
    rng: np.random.Generator,
) -> None:
    """Rare values are in no sample."""
    X = np.zeros((4000, 3))
    X[:, 0] = rng.normal(size=4000)
    X[:, 1] = rng.integers(0, 4, 4000)
    X[[5, 3999], 1] = -7.5, 1000
    X[77, 1] = np.nan
    X[:, 2] = np.nan
    facts = merged(summaries(X, [0, 1000, 2000, 3000, 4000], 100), None, 100)
    whole = FeatureBank.build([Columns(range(3))], X)
    assert facts.n_reference == 100
    np.testing.assert_array_equal(facts.cuts[0][1:], whole.cuts[1:])
    assert facts.cuts[1].tolist() == [101, 7, 2]


def test_each_part_gives_its_share_of_the_sample() -> None:
    """The first column is the part, the second the row."""
    ends = [0, 1000, 1500, 4000]
    X = np.stack([np.repeat([0, 1, 2], np.diff(ends)), np.arange(4000)], axis=1)
    parts = summaries(X, ends, 800)
    assert [part.sample.shape[0] for part in parts] == [534, 500, 534]
    assert merged(parts, None, 800).n_reference == 800
    for part in parts:
        rows = part.sample[:, 1]
        assert np.unique(rows).size == rows.size
    few = merged(parts, None, 300)
    assert few.n_reference == pytest.approx(300, abs=3)


def test_the_sample_depends_on_part_and_size_alone(rng: np.random.Generator) -> None:
    X = rng.normal(size=(500, 2))
    part, other = (summarise(X, np.arange(500) % 2, None, 3, 40, "uniform") for _ in range(2))
    np.testing.assert_array_equal(part.sample, other.sample)
    rows = np.flatnonzero(np.isin(X[:, 0], part.sample[:, 0]))
    moved = summarise(-X, np.arange(500) % 2, None, 3, 40, "uniform")
    assert np.flatnonzero(np.isin(-X[:, 0], moved.sample[:, 0])).tolist() == rows.tolist()
    next_part = summarise(X, np.arange(500) % 2, None, 4, 40, "uniform")
    assert not np.array_equal(next_part.sample, part.sample)


def test_quantiles_are_off_by_no_more_than_stated() -> None:
    """Ranks are their own quantiles: 24 columns in random orders, 6,000 sampled rows."""
    rng = np.random.default_rng(3)
    n, reference = 60_000, 6000
    X = np.stack([rng.permutation(n) for _ in range(24)], axis=1).astype(np.float32)
    facts = merged(summaries(X, [*range(0, n + 1, 6000)], reference), None, reference)
    off = facts.cuts[0].astype(np.float64) / n - np.arange(1, 255) / 255
    q = np.arange(1, 255) / 255
    deviation = np.sqrt(q * (1 - q) / reference)
    assert np.sqrt((off**2).mean(axis=0) / deviation**2).max() < 1.6
    assert np.abs(off).max() < np.sqrt(np.log(200) / (2 * reference)) + 1 / n
    assert np.sqrt((off**2).mean()) > 0.5 * deviation.mean()  # it is a sample


def test_weights_too_far_apart_in_different_parts_are_an_error() -> None:
    X, y = np.zeros((4, 1)), np.array([0, 1, 0, 1])
    parts = [summarise(X, y, np.full(4, w), at, 4, "uniform") for at, w in enumerate((1e-20, 1e20))]
    with pytest.raises(DataError, match="largest example weight must be at most 1e"):
        merged(parts, None, 10)
