"""Sources of shards: the same rows each time, in memory and on disk, with weights of classes."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostsample.checks import check_example_weight
from boostsample.classifier.inputs.fit_inputs import with_class_weight
from boostsample.dask.cluster_table import PartRows, checksum, cut_shards, read_table
from boostsample.errors import DataError
from boostsample.labels import encode
from tests.dask.in_process import loaded_by_workers

dask: Any = pytest.importorskip("dask", reason="the extra 'dask' is not installed")

N = 200


@pytest.fixture
def made(rng: np.random.Generator) -> tuple[Any, Any, Any]:
    return rng.normal(size=(N, 3)), rng.integers(0, 3, N), rng.random(N)


def delayed(*arrays: Any, parts: int = 4) -> Iterator[list[Any]]:
    return ([dask.delayed(one) for one in np.array_split(array, parts)] for array in arrays)


def table_of(client: Any, made: Any, weighted: bool = True, **settings: Any) -> Any:
    X, y, weight = delayed(*made)
    return read_table(client, X, y, weight if weighted else None, **settings)


def test_a_bank_on_disk_lies_with_its_worker_and_goes_with_the_bank(made: Any, client: Any) -> None:
    _, (source, *_) = table_of(client, made, bank="disk")

    shards = loaded_by_workers(client, [source])
    bank: Any = shards[0].bank
    place = bank.folder
    homes = [Path(one.local_directory) for one in client.cluster.workers.values()]
    assert place.is_dir()
    assert place.parent in homes
    del bank, shards
    gc.collect()
    assert not place.exists()


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 3.0, 2: 0.7}])
@pytest.mark.parametrize("weighted", [True, False])
def test_weights_are_those_of_one_machine(
    class_weight: Any, weighted: bool, made: Any, client: Any
) -> None:
    _, y, weight = made
    _, sources = table_of(client, made, weighted=weighted, class_weight=class_weight)
    loaded: list[Any] = [source.load().example_weight for source in sources]
    if class_weight is None and not weighted:
        assert loaded == [None, None]
        return
    local: Any = check_example_weight(weight if weighted else None, N)
    local = check_example_weight(with_class_weight(class_weight, y, local), N)
    np.testing.assert_allclose(np.concatenate(loaded), local, rtol=1e-14)
    if class_weight is None:
        np.testing.assert_array_equal(np.concatenate(loaded), local)


def test_several_labels_a_row(made: Any, client: Any, rng: np.random.Generator) -> None:
    X, _, weight = made
    y = (rng.random((N, 3)) < 0.4).astype(int)
    y[:60] = y[0]  # a part of equal rows
    facts, sources = table_of(client, (X, y, weight))
    assert facts.multi_label
    assert facts.n_labels == 3
    loaded = np.concatenate([source.load().Y for source in sources])
    np.testing.assert_array_equal(loaded, encode(y))
    from boostsample.classifier.prediction.probabilities import label_offsets

    np.testing.assert_allclose(facts.offset, label_offsets(encode(y), "balanced", weight))


def test_a_graph_that_makes_other_rows_each_time_is_an_error(client: Any, tmp_path: Path) -> None:
    def rows(n: int) -> Any:
        calls = len(list(tmp_path.iterdir()))
        (tmp_path / str(calls)).write_text("")
        return np.zeros((n + calls, 2))

    part = dask.delayed(rows)(10)
    y = dask.delayed(lambda X: np.arange(X.shape[0]) % 2)(part)
    _, (source,) = read_table(client, [part], [y])
    with pytest.raises(DataError, match=r"part 0 .* it had 10 rows .* and 11 now.* persist"):
        source.load()


def in_npy(folder: Path, made: Any) -> tuple[Any, Any, Any]:
    for name, one in zip("Xyw", made, strict=True):
        (folder / name).mkdir(exist_ok=True)
        for number, part in enumerate(np.array_split(one, 4)):
            np.save(folder / name / f"{number}.npy", part)
    return tuple(str(folder / name) for name in "Xyw")  # type: ignore[return-value]  # three


def in_parquet(folder: Path, made: Any) -> tuple[Any, Any, Any]:
    import pandas as pd

    X, y, weight = made
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=y, w=weight)
    for number in range(4):
        frame[50 * number : 50 * number + 50].to_parquet(folder / f"{number}.parquet")
    return str(folder), "y", "w"


def in_frames(folder: Path, made: Any) -> tuple[Any, Any, Any]:
    dd: Any = pytest.importorskip("dask.dataframe")
    frame = dd.read_parquet(in_parquet(folder, made)[0] + "/*.parquet")
    return frame[list("abc")], frame["y"], frame["w"]


@pytest.mark.parametrize("changed", ["value", "label", "weight", "order"])
@pytest.mark.parametrize("store", [in_npy, in_parquet, in_frames])
def test_rows_that_change_after_they_were_read_are_an_error(
    store: Any, changed: str, made: Any, client: Any, tmp_path: Path
) -> None:
    made = made[0].astype(float), made[1].astype(float), made[2] + 0.1
    _, sources = read_table(client, *store(tmp_path, made), n_shards=2)
    assert [one.n_examples for one in sources] == [100, 100]
    X, y, weight = (one.copy() for one in made)
    X[130, 1] += 1e-12 * (changed == "value")
    y[130] = (y[130] + (changed == "label")) % 3
    weight[130] *= 1 + 1e-12 * (changed == "weight")
    order = np.arange(N)
    order[[130, 140]] = order[[140, 130]] if changed == "order" else order[[130, 140]]
    store(tmp_path, (X[order], y[order], weight[order]))
    sources[0].load()
    with pytest.raises(DataError, match=r"part 2 of the table.* had 50 rows .* and others"):
        sources[1].load()
    store(tmp_path, made)
    sources[1].load()


@pytest.mark.parametrize("damage", ["cut", "gone"])
@pytest.mark.parametrize(
    ("store", "later"),
    [(in_npy, True), (in_parquet, True), (in_frames, False)],
)
def test_a_part_that_cannot_be_read_is_named_with_its_file(
    store: Any, later: bool, damage: str, made: Any, client: Any, tmp_path: Path
) -> None:
    made = made[0].astype(float), made[1].astype(float), made[2]
    table = store(tmp_path, made)
    sources = read_table(client, *table, n_shards=1)[1] if later else []
    (path,) = [*tmp_path.glob("X/2.npy"), *tmp_path.glob("2.parquet")]
    path.write_bytes(path.read_bytes()[:-200])
    if damage == "gone":
        path.unlink()
    with pytest.raises(DataError, match=r"^part 2 of the table") as caught:
        sources[0].load() if later else read_table(client, *table)
    assert "\n" not in str(caught.value)
    assert f"'{path}'" in str(caught.value)


@pytest.mark.parametrize("kind", [int, float, str, bool, object, "several"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "u1", "?"])
def test_checksums_differ_if_and_only_if_rows_do(dtype: str, kind: Any) -> None:
    y = np.array([0, 1, 1, 0, 1, 0])
    X = np.array([[0, 1, 1], [1, 1, 0], [0, 0, 1], [1, 0, 0], [1, 1, 1], [0, 1, 0]]).astype(dtype)
    labels = np.stack([y, 1 - y], axis=1) if kind == "several" else y.astype(kind)
    weight, order = np.linspace(0.1, 1, 6), [1, 0, 2, 3, 4, 5]
    rows = PartRows(X, labels, weight, ("a", "b", "c"))
    other_X, other_y, other_weight = X.copy(), labels.copy(), weight.copy()
    other_X[4, 1] = 1 - other_X[4, 1]
    other_y[3] = labels[4]
    other_weight[5] = np.nextafter(weight[5], 2)
    changed: list[dict[str, Any]] = [
        {"X": other_X},
        {"X": X.astype("f2")},
        {"y": other_y},
        {"weight": other_weight},
        {"weight": None},
        {"names": ("a", "c", "b")},
        {"X": X[order], "y": labels[order], "weight": weight[order]},
    ]
    sums = [checksum(rows._replace(**changes)) for changes in ({}, *changed)]
    assert len(set(sums)) == len(sums)
    same = rows._replace(X=X.copy(order="F"), y=labels.copy(), weight=weight.copy())
    assert checksum(same) == checksum(rows)


@pytest.mark.parametrize(
    ("n_rows", "n_shards", "runs"),
    [
        ([5, 5, 5, 5], 2, [(0, 2), (2, 4)]),
        ([5, 5, 5, 5], 4, [(0, 1), (1, 2), (2, 3), (3, 4)]),
        ([5, 5], 8, [(0, 1), (1, 2)]),
        ([0, 0, 7, 0], 3, [(0, 4)]),
        ([0, 3, 0, 4, 0], 2, [(0, 2), (2, 5)]),
        ([1, 1, 1, 97], 2, [(0, 3), (3, 4)]),
    ],
)
def test_shards_are_runs_of_parts_without_gaps(
    n_rows: list[int], n_shards: int, runs: list[tuple[int, int]]
) -> None:
    loaded = [(one.start, one.stop) for one in cut_shards(n_rows, n_shards)]
    assert loaded == runs
    assert all(sum(n_rows[start:stop]) for start, stop in loaded)
