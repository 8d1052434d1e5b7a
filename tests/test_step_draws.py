"""Features, members and nested samples that a step draws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from boostsample.errors import SettingError
from boostsample.kernels.array_layout import Rows, matrix_of_rows
from boostsample.records import feature_tiles
from boostsample.rows.searcher import Searcher
from boostsample.rows.weights import InitialWeights, SignedWeights
from boostsample.step import Step
from boostsample.strategy import Stump
from tests.problems import bank_of, booster_of, noisy_labels, step_of, table
from tests.test_step import F, N, step_with

#: The last one draws by logistic weights, which needs the initial weights.
SCHEMES = ("iid", "stratified", "distinct", "filter")


@pytest.mark.parametrize("n", [1, 3, F - 1, F, F + 1, 10**12])
def test_sampled_features_of_a_small_pool(n: int) -> None:
    step = step_with()
    for _ in range(20):
        features = step.sample_features(n)
        assert features.dtype == np.int64
        assert len(set(features.tolist())) == features.size == min(n, F)
        assert set(features.tolist()) <= set(range(F))
    assert step.spent == 0


@pytest.mark.parametrize("n", [0, -1, 1.0, np.nan, "3", None, True])
def test_bad_numbers_of_features_are_refused(n: Any) -> None:
    with pytest.raises(SettingError, match=r"n must be an integer at least 1, got .*at least one"):
        step_with().sample_features(n)


def test_sampled_members() -> None:
    step = step_with()
    for counts in ([2, 3], (0, 1), np.array([4, 0]), [4, 4], [0, 0]):
        for _ in range(10):
            members = step.sample_members(counts)  # type: ignore[arg-type]  # arrays, too
            assert members.dtype == np.int64
            assert len(set(members.tolist())) == members.size
            assert (members // 4).tolist() == np.repeat([0, 1], counts).tolist()
    assert step.spent == 0


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([1], "counts must be one for each of the 2 families, got 1"),
        ([1, 1, 1], "counts must be one for each of the 2 families, got 3"),
        ([1, -1], r"counts\[1\] must be an integer between 0 and 4, got -1"),
        ([5, 1], r"counts\[0\] must be an integer between 0 and 4, got 5"),
        ([1.0, 1], r"counts\[0\] must be an integer between 0 and 4, got 1.0"),
    ],
)
def test_bad_counts_of_members_are_refused(counts: Any, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        step_with().sample_members(counts)


def test_features_and_members_of_a_pool_with_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feature_tiles, "_FEWEST_TILES", 2)
    feature_tiles.feature_tiles.cache_clear()
    step = step_of(bank_of(table(20, 129), groups=2), noisy_labels(20))
    assert step.sample_features(100).size == 43 + 36  # of three tiles of 43
    assert step.sample_features(30).size == 30
    assert step.sample_features(129).tolist() == list(range(129))
    members = step.sample_members([20, 1])
    assert (members >= 64).tolist() == [False] * 20 + [True]
    assert step.sample_members([64, 65]).size == 129
    feature_tiles.feature_tiles.cache_clear()


@pytest.mark.parametrize("scheme", SCHEMES[:3])
@pytest.mark.parametrize("sizes", [[5], [1, 2, 4, 8, 79], [7, 7, 7], [20, 80, 90], [80], []])
def test_sizes_of_nested_samples(sizes: list[int], scheme: str) -> None:
    step = step_with()
    for asked in (sizes, tuple(sizes), np.array(sizes, np.int32), iter(sizes)):
        samples = step.draw_nested(asked, scheme)  # type: ignore[arg-type]  # any sequence
        assert [sample.size for sample in samples] == [min(size, N) for size in sizes]
        assert [sample.exact for sample in samples] == [size >= N for size in sizes]
        assert {sample.scheme for sample in samples} <= {scheme}
        for sample in samples:
            step.search([0], sample)
    assert step.spent == 4 * sum(min(size, N) for size in sizes)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ([0], "sizes must be an integer at least 1, got 0; sizes of nested samples ascend"),
        ([3, 2], "sizes must be an integer at least 3, got 2; sizes of nested samples ascend"),
        ([3, 100, 90], "sizes must be an integer at least 100, got 90"),
        ([3, 4.0], "sizes must be an integer at least 3, got 4.0"),
        ([True], "sizes must be an integer at least 1, got True"),
        ("34", "sizes must be an integer at least 1, got '3'"),
        (5, "sizes must be a sequence of integers, got 5"),
        (None, "sizes must be a sequence of integers, got None"),
    ],
)
def test_bad_sizes_of_nested_samples_are_refused(sizes: Any, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        step_with().draw_nested(sizes)


def dense(rows: Rows, n: int, n_labels: int) -> Any:
    """Rows as float64 (n, K): the sum of the values of each bank column, scaled."""
    width = rows.base.size
    values = matrix_of_rows(rows.values, rows.values.size // width, width).astype(np.float64)
    columns = rows.examples if rows.examples.size else rows.start + np.arange(len(values))
    matrix = np.zeros((n, width))
    np.add.at(matrix, columns, values)
    np.testing.assert_allclose(rows.base, values.sum(axis=0), atol=1e-5 * np.abs(values).sum())
    return matrix[:, :n_labels] * rows.scale


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("n_labels", [1, 3, 10, 17, 40])
@pytest.mark.parametrize("place", ["from 0", "offset", "subset"])
def test_rows_of_nested_samples(n_labels: int, place: str, scheme: str) -> None:
    """Each contains the one before, of columns that are the run's, with edges within 1."""
    n_bank = 90
    columns = {
        "from 0": np.arange(60),
        "offset": np.arange(25, 85),
        "subset": np.sort(np.random.default_rng(1).permutation(n_bank)[:60]),
    }[place]
    Y = noisy_labels(60, n_labels)
    u = np.random.default_rng(2).random(Y.shape)
    weights = SignedWeights(Y, u, columns, None, InitialWeights("uniform"))
    searcher = Searcher(bank_of(table(n_bank)), weights)
    rng, sizes = np.random.default_rng(0), [1, 5, 5, 30, 59, 60]
    for _ in range(5):
        weights.release()
        nested = [sample.rows for sample in searcher.nested_samples(sizes, scheme, rng)]
        values, signed = np.empty(0), np.zeros((n_bank, n_labels))
        before = np.zeros(n_bank, np.bool_)
        signed[columns] = (u * Y) / (u * Y).__abs__().sum()
        for size, rows in zip(sizes, nested, strict=True):
            values = dense(rows, n_bank, n_labels)
            inside = np.abs(values).sum(axis=1) > 0
            assert set(np.flatnonzero(inside).tolist()) <= set(columns.tolist())
            assert not (before & ~inside).any()
            assert inside.sum() <= size
            if scheme == "distinct":
                assert inside.sum() == size
            elif size < 60:  # whole hits
                assert np.abs(values).sum() == pytest.approx(1.0, rel=1e-5)
                hits = np.abs(values).sum(axis=1) * size
                np.testing.assert_allclose(hits, np.rint(hits), atol=1e-4)
            if scheme != "filter" or size == 60:  # labels share an example's weight as they did
                share = np.abs(values).sum(axis=1, keepdims=True) / (
                    np.abs(signed).sum(axis=1, keepdims=True) + 1e-300
                )
                np.testing.assert_allclose(values, signed * share, atol=1e-6)
            before = inside
        np.testing.assert_allclose(values, signed, atol=1e-6)


@pytest.mark.parametrize("learner", ["tree:n_leaves=6", "product:n_terms=3"])
@pytest.mark.parametrize("scheme", SCHEMES[:3])
def test_nested_samples_in_nodes_of_trees(learner: str, scheme: str) -> None:
    seen: list[tuple[int, bool]] = []

    def choose(step: Step) -> Stump:
        sizes = [1, 2, 9, step.n_examples, 10**9]
        sizes = [size for k, size in enumerate(sizes) if size >= max(sizes[: k + 1])]
        stumps = step.search([0], step.draw(1))
        for sample in step.draw_nested(sizes, scheme):
            seen.append((sample.size, sample.size == step.n_examples))
            assert sample.exact == (sample.size == step.n_examples)
            stumps = step.search([0, 5, 3], sample)
            np.testing.assert_allclose(step.edges(stumps, sample), stumps.edge, atol=1e-6)
        return stumps.best()

    booster = booster_of(choose, learner=learner, budget=10**9)
    for _ in range(3):
        booster.next_round()
    assert {exact for _, exact in seen} == {True, False}
