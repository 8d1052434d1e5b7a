"""Sources of shards: the same rows each time, in memory and on disk, with weights of classes."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostsample.banks.disk import DiskBank
from boostsample.checks import check_example_weight
from boostsample.classifier.inputs.class_weight import with_class_weight
from boostsample.dask.inputs.shards_of_parts import cut_shards
from boostsample.dask.inputs.table import Table, TableSettings, read_table
from boostsample.errors import DataError, SettingError
from boostsample.labels import encode
from tests.dask.in_process import in_process_client, loaded_by_workers

dask: Any = pytest.importorskip("dask", reason="the extra 'dask' is not installed")

N = 200


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with in_process_client() as client:
        yield client


@pytest.fixture
def made(rng: np.random.Generator) -> tuple[Any, Any, Any]:
    return rng.normal(size=(N, 3)), rng.integers(0, 3, N), rng.random(N)


def delayed(*arrays: Any, parts: int = 4) -> Iterator[list[Any]]:
    return ([dask.delayed(one) for one in np.array_split(array, parts)] for array in arrays)


def table_of(client: Any, made: Any, weighted: bool = True, **settings: Any) -> Table:
    X, y, weight = delayed(*made)
    given = TableSettings(**settings)
    return read_table(client, X, y, weight if weighted else None, given)


def test_memory_and_disk_hold_the_same(made: Any, client: Any) -> None:
    ways = [table_of(client, made, bank=bank).sources for bank in ("memory", "disk")]
    for one, other in zip(*ways, strict=True):
        memory, disk = one.load(), other.load()
        assert isinstance(disk.bank, DiskBank)
        assert memory.bank.digest() == disk.bank.digest()
        np.testing.assert_array_equal(memory.Y, disk.Y)


def test_a_source_survives_pickling_and_loads_the_same_again(made: Any, client: Any) -> None:
    for source in table_of(client, made).sources:
        first, again = source.load(), pickle.loads(pickle.dumps(source)).load()
        assert first.bank.digest() == again.bank.digest()
        np.testing.assert_array_equal(first.Y, again.Y)
        np.testing.assert_array_equal(first.example_weight, again.example_weight)


def test_a_bank_on_disk_lies_with_its_worker_and_goes_with_the_bank(made: Any, client: Any) -> None:
    (source, *_) = table_of(client, made, bank="disk").sources

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
    table = table_of(client, made, weighted=weighted, class_weight=class_weight)
    found: list[Any] = [source.load().example_weight for source in table.sources]
    if class_weight is None and not weighted:
        assert found == [None, None]
        return
    here: Any = check_example_weight(weight if weighted else None, N)
    here = check_example_weight(with_class_weight(class_weight, y, here), N)
    np.testing.assert_allclose(np.concatenate(found), here, rtol=1e-14)
    if class_weight is None:
        np.testing.assert_array_equal(np.concatenate(found), here)


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ("even", "None, 'balanced' or a mapping"),
        ({0: 0.0}, "finite and above 0.*sample_weight"),
    ],
)
def test_wrong_weights_of_classes_are_named(
    class_weight: Any, message: str, made: Any, client: Any
) -> None:
    with pytest.raises(SettingError, match=message):
        table_of(client, made, class_weight=class_weight)


def test_several_labels_a_row(made: Any, client: Any, rng: np.random.Generator) -> None:
    X, _, weight = made
    y = (rng.random((N, 3)) < 0.4).astype(int)
    y[:60] = y[0]  # a part of equal rows
    facts, sources = table_of(client, (X, y, weight))
    assert facts.multi_label
    assert facts.n_labels == 3
    found = np.concatenate([source.load().Y for source in sources])
    np.testing.assert_array_equal(found, encode(y))
    from boostsample.classifier.prediction.probabilities import label_offsets

    np.testing.assert_allclose(facts.offset, label_offsets(encode(y), "balanced", weight))


def test_a_graph_that_makes_other_rows_each_time_is_an_error(client: Any, tmp_path: Path) -> None:
    def rows(n: int) -> Any:
        calls = len(list(tmp_path.iterdir()))
        (tmp_path / str(calls)).write_text("")
        return np.zeros((n + calls, 2))

    part = dask.delayed(rows)(10)
    y = dask.delayed(lambda X: np.arange(X.shape[0]) % 2)(part)
    _, (source,) = read_table(client, [part], [y], None, TableSettings())
    with pytest.raises(DataError, match=r"part 0 .* it had 10 rows .* and 11 now.* persist"):
        source.load()


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
    found = [(one.start, one.stop) for one in cut_shards(n_rows, n_shards)]
    assert found == runs
    assert all(sum(n_rows[start:stop]) for start, stop in found)
