"""All forms of a feature bank with reference rows give the same bits, from bins to tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from boostsample.banks import lazy as bank_lazy
from boostsample.banks.bank import Bank, FeatureBank
from boostsample.banks.bank_forms import BANKS, bank_settings, make_bank
from boostsample.banks.binning import find_cuts, reference_rows
from boostsample.banks.column_bank import ColumnBank
from boostsample.banks.disk import DiskBank
from boostsample.banks.lazy import LazyBank
from boostsample.errors import DataError, SettingError
from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.plan.plan import Plan
from boostsample.experiments.plan.prepared import prepare
from boostsample.experiments.plan.variants import Variant, parse_names
from boostsample.experiments.results.read_folder import read_results
from boostsample.experiments.results.write_folder import ResultsFolder
from boostsample.experiments.run.comparison import compare
from boostsample.families import Columns
from boostsample.family import Family
from boostsample.kernels.search import SEARCH_GROUP
from boostsample.loop.booster import Booster
from boostsample.registry import make_strategy
from tests.problems import (
    Powers,
    asked_of,
    noisy_labels,
    powers,
    step_of,
    table,
    three_powers,
    uneven_columns,
)

STRATEGIES = ("full", "uniform-naive", "uniform-1q", "laminating", "mas-q1", "ucb")
FORMS = tuple(BANKS)
N = 300
ROWS = {
    "first": np.arange(200),
    "last": np.arange(100, N),
    "some": np.arange(0, N, 2),
    "in another order": np.random.default_rng(3).permutation(N)[:200],
    "twice": np.array([*range(0, 150, 2), 4, 4, 10]),
}


@pytest.fixture
def X(rng: np.random.Generator) -> NDArray[np.float32]:
    return uneven_columns(N, rng)


@pytest.fixture
def families() -> list[Family]:
    return three_powers()


class Ranged(Powers):
    """A family that declares the range of its features."""

    def __init__(self, n_columns: int, n_features: int, name: str, low: float, high: float) -> None:
        super().__init__(n_columns, n_features, name)
        self.low = low
        self.high = high

    def value_range(self, features: NDArray[Any]) -> tuple[ArrayLike, ArrayLike]:
        return [self.low] * len(features), np.full(len(features), self.high)


def history_of(bank: Bank, rows: NDArray[np.int64], name: str) -> list[str]:
    """Everything that a run tells, exactly; but the seconds and the work of the bank."""
    Y = noisy_labels(rows.size, 3)
    booster = Booster(bank, rows, Y, make_strategy(name), n_rounds=12, budget=_budget(name), rng=0)
    told = []
    while not booster.finished:
        done = booster.next_round()
        told += [str(term.votes.tolist()) for term in done.terms]
        told += [repr({**row, "seconds": 0, "values_computed": 0, "cost": 0}) for row in done.rows]
    return told


def _budget(name: str) -> int | None:
    return None if name == "full" else 1100


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("kind", ROWS)
def test_runs_are_equal_to_the_bit(
    X: NDArray[np.float32], families: list[Family], kind: str, name: str
) -> None:
    rows = ROWS[kind]
    for reference in (rows.size, 60):
        told = [
            history_of(make_bank(form, families, X, rows, reference=reference), rows, name)
            for form in FORMS
        ]
        assert len(told[0]) == 24
        assert told[0] == told[1]
        assert told[0] == told[2]


def test_runs_in_parts_are_equal_to_the_bit(
    X: NDArray[np.float32], families: list[Family], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lazy bank that shows, keeps and computes very little at once."""
    rows = ROWS["some"]
    expected = {
        name: history_of(FeatureBank.build(families, X, rows), rows, name) for name in STRATEGIES
    }
    monkeypatch.setattr(bank_lazy, "_VIEW_BYTES", 500)
    monkeypatch.setattr(bank_lazy, "_BLOCK_BYTES", 1000)
    for name in STRATEGIES:
        bank = LazyBank(families, X, rows, reference=rows.size, cache_bytes=1)
        assert bank.most_features(None) == SEARCH_GROUP
        assert bank.most_features(400) == SEARCH_GROUP
        assert bank.most_features(20) == 25 // SEARCH_GROUP * SEARCH_GROUP
        assert history_of(bank, rows, name) == expected[name]


def test_parts_keep_the_groups_of_the_kernels(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Features that are searched together share the lengths of float32 sums."""
    X = rng.normal(size=(1500, 12)).astype(np.float32)
    X[:, ::2] = X[:, ::2] > 0
    Y = np.where(X[:, ::2].sum(axis=1) > 3 * rng.random(1500) + 1.5, 1, -1).astype(np.int8)[:, None]
    families = [Columns(range(12))]
    features, weights = rng.integers(0, 12, 40), rng.random(Y.shape)
    edges = []
    for bank in (FeatureBank.build(families, X), LazyBank(families, X, reference=1500)):
        step = step_of(bank, Y, weights)
        sample = step.draw(1200)
        edges.append(step.search(features, sample).edge)
        monkeypatch.setattr(bank_lazy, "_VIEW_BYTES", 2 * SEARCH_GROUP * 1200)
    assert edges[0].tobytes() == edges[1].tobytes()


@pytest.mark.parametrize("form", FORMS)
def test_every_reading_of_a_bank_is_the_same(
    X: NDArray[np.float32], families: list[Family], form: str
) -> None:
    rows = ROWS["some"]
    memory = FeatureBank.build(families, X, rows, reference=60)
    bank = make_bank(form, families, X, rows, reference=60).reader(rows)
    kinds = {"memory": FeatureBank, "disk": DiskBank, "lazy": LazyBank, "columns": ColumnBank}
    assert type(bank).__name__ == kinds[form].__name__
    assert (bank.n_features, bank.n_examples) == (22, N)
    assert bank.first.tolist() == [0, 9, 12, 22]
    features = np.array([21, 3, 3, 10])
    taken = bank.take(features, np.array([7, 2, 299]))
    assert (taken == memory.bins[features][:, [7, 2, 299]]).all()
    assert (bank.column(5)[rows] == memory.bins[5, rows]).all()
    assert bank.cuts_of(features).tobytes() == memory.cuts[features].tobytes()
    assert (bank.n_bins[features] == memory.n_bins[features]).all()
    (third,) = bank.thresholds_in(bank.view(np.array([10])), np.array([3])).tolist()
    assert bank.threshold(10, third) == memory.threshold(10, 3)
    assert bank.threshold(10, 1) == -np.inf
    assert bank.feature_name(20) == memory.feature_name(20)
    with pytest.raises(SettingError, match="a feature must be between 0 and 21, got 22"):
        bank.threshold(22, 1)
    with pytest.raises(SettingError, match=r"threshold of feature 2 must be .*between 1 and"):
        bank.threshold(2, 2**32)


def test_settings_of_a_comparison_tell_the_bank(tmp_path: Path) -> None:
    shared = {"reference": None}
    for form, settings, record in (
        ("disk", {"tile_bytes": 0}, shared),
        ("memory", {}, shared),
        ("lazy", {"cache_bytes": 1000}, {"reference": None, "cache_bytes": 1000}),
    ):
        plan = Plan(
            strategies=parse_names("uniform-naive"),
            marks=(1,),
            repeats=1,
            bank=Variant(form, settings),
        )
        done = compare(load_dataset("chess(d=3,n=60)"), plan)
        with ResultsFolder(tmp_path / form) as folder:
            folder.write(done)
        told = read_results(tmp_path / form).settings["bank"]
        assert told == {"form": form, **record}
    assert json.dumps(dict(BANKS["lazy"])) == '{"reference": null, "cache_bytes": 268435456}'


def test_only_a_bank_in_memory_must_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    data = load_dataset("chess(d=3,n=60)")
    sizes = {"SC_PHYS_PAGES": 1, "SC_PAGE_SIZE": 64, "SC_NPROCESSORS_ONLN": 1}
    monkeypatch.setattr("os.sysconf", sizes.__getitem__)
    with pytest.raises(DataError, match="by --families, or --bank disk, columns or lazy"):
        prepare(data, Plan())
    for form in ("disk", "lazy"):
        prepare(data, Plan(bank=Variant(form)))


@pytest.mark.parametrize(
    ("form", "settings", "message"),
    [
        ("disc", {}, r"unknown bank 'disc' \(did you mean 'disk'\?\); known: memory, disk, lazy"),
        (
            "disk",
            {"cache_bytes": 5},
            "unknown setting of the disk bank 'cache_bytes'",
        ),
        ("disk", {"tile_bytes": -1}, "tile_bytes of the disk bank must be an integer at least 0, "),
        ("lazy", {"reference": 0}, "reference of the lazy bank must be an integer at least 1, got"),
        ("lazy", {"cache_bytes": None}, "cache_bytes of the lazy bank must be .* got None"),
    ],
)
def test_bad_settings_are_refused(form: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        bank_settings(form, settings)
    with pytest.raises(SettingError, match=message):
        Plan(bank=Variant(form, settings))
    with pytest.raises(SettingError, match=message):
        make_bank(form, [Powers(1, 1)], np.ones((3, 1), np.float32), **settings)


def test_reference_rows_are_drawn_from_sizes_alone() -> None:
    train = np.arange(100, 1100)
    drawn = reference_rows(2000, train, 100)
    assert drawn.size == np.unique(drawn).size == 100
    assert np.isin(drawn, train).all()
    assert (np.diff(drawn) > 0).all()
    assert np.ptp(drawn) > 900  # from everywhere
    assert (reference_rows(5000, train + 7, 100) == drawn + 7).all()
    assert (reference_rows(2000, train[::-1], 100) == 1199 - drawn).all()
    assert reference_rows(2000, train, 101)[:5].tolist() != drawn[:5].tolist()
    # A sample of 3 of 8 rows stays what it was, on any version of NumPy.
    assert reference_rows(8, None, 3).tolist() == [3, 5, 7]


@pytest.mark.parametrize("reference", [None, 10, 11, 10**9])
def test_all_training_rows_are_reference_rows(reference: int | None) -> None:
    train = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3])
    assert reference_rows(10, train, reference).tolist() == train.tolist()


def test_cuts_come_from_the_reference_rows(X: NDArray[np.float32]) -> None:
    train = ROWS["some"]
    rows = reference_rows(N, train, 60)
    family = Powers(4, 8)
    cuts, n_bins = find_cuts(np.ascontiguousarray(family.compute(X[rows], np.arange(8)).T))
    for form in FORMS:
        bank = make_bank(form, [family], X, train, reference=60)
        assert bank.cuts_of(np.arange(8)).tobytes() == cuts.tobytes()
        assert (bank.n_bins == n_bins).all()
    assert n_bins.max() <= 61


def test_a_declared_range_makes_bins_of_equal_width(X: NDArray[np.float32]) -> None:
    for form in FORMS:
        family = Ranged(4, 6, "ranged", -2.55, 2.55)
        families: Sequence[Family] = [Powers(2, 2, "other"), family]
        bank = make_bank(form, families, X, reference=20)
        if form == "lazy":
            bank.take(np.arange(8), np.array([5]))
            assert [len(asked) for asked in family.asked] == [6]  # no reference values
            assert bank.values_computed == 2 * 20 + 8
        if form == "columns":
            bank.take(np.arange(8), np.array([5]))
        cuts = bank.cuts_of(np.arange(8))[3]
        assert bank.n_bins.tolist()[2:] == [256] * 6
        assert np.allclose(cuts, -2.55 + 0.02 * np.arange(1, 255), atol=1e-6)
        values = X[:, 1]
        assert (
            bank.take(np.array([3]), np.arange(N))[0] == 1 + (values[:, None] >= cuts).sum(1)
        ).all()


@pytest.mark.parametrize(("low", "high"), [(2.0, 1.0), (0.0, np.inf), (np.nan, 1.0), (-1e39, 1.0)])
def test_a_wrong_range_is_refused(X: NDArray[np.float32], low: float, high: float) -> None:
    message = r"family bad: value_range\(\) is wrong: lows must be at most highs and both finite"
    with pytest.raises(DataError, match=message):
        FeatureBank.build([Ranged(4, 2, "bad", low, high)], X)


def digest(form: str, X: Any, **settings: Any) -> dict[str, str]:
    return make_bank(form, powers(), X, **settings).digest()


def changed(X: NDArray[Any], row: int, column: int) -> NDArray[Any]:
    """The rank of one value differs."""
    other = X.copy()
    other[row, column] = -5.0
    return other


def test_memory_and_disk_have_the_same_checksum() -> None:
    X = table(80, 3)
    assert digest("memory", X) == digest("disk", X) == digest("memory", X.copy(), n_jobs=2)
    assert digest("memory", X) != digest("memory", X, reference=2)
    for row, column in ((0, 0), (79, 2)):
        assert digest("memory", changed(X, row, column)) != digest("memory", X)


def test_a_lazy_bank_computes_nothing_for_its_checksum() -> None:
    X, families = table(80, 3), powers()
    bank = make_bank("lazy", families, X)
    found = bank.digest()
    assert asked_of(families) == []
    assert bank.values_computed == 0
    assert bank.reader(np.arange(10)).digest() == found == digest("lazy", X.copy())
    assert digest("lazy", changed(X, 7, 1)) != found
    assert digest("lazy", X, reference=40) != found


def test_lazy_banks_of_sparse_matrices_and_objects() -> None:
    values = np.random.default_rng(0).random((50, 4))
    X = sparse.csc_array(np.where(values < 0.3, values, 0.0))
    one, two = (make_bank("lazy", [Columns(range(4))], given).digest() for given in (X, X.tocsr()))
    assert one == two
    words = np.array([["a"], [b"b"]], dtype=object)
    bank = make_bank("lazy", [Columns([0])], words)
    with pytest.raises(SettingError, match="a lazy bank with a checkpoint must be numbers or tex"):
        bank.digest()
