"""What a strategy is given and draws in a step, and which arguments are refused."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from boostsample.bandits import reward
from boostsample.errors import SettingError
from boostsample.history import HISTORY_NAMES
from boostsample.kernels.array_layout import Rows, matrix_of_rows
from boostsample.records import feature_tiles
from boostsample.rows.searcher import Searcher
from boostsample.rows.weights import InitialWeights, SignedWeights
from boostsample.step import Step
from boostsample.strategy import Stump, Stumps
from tests import naive
from tests.problems import bank_of, booster_of, noisy_labels, step_of, table

N, F, K = 80, 8, 3


def step_with(budget: int = 10**9, seed: int = 0, two_sided: bool = False) -> Step:
    how: dict[str, Any] = {"budget": budget, "seed": seed, "two_sided": two_sided}
    return step_of(bank_of(table(), groups=2), noisy_labels(), **how)


def one_round(choose: Callable[[Step], Stump], **settings: Any) -> dict[str, Any]:
    row: dict[str, Any] = booster_of(choose, **settings).next_round().rows[0]
    return row


def test_what_a_step_tells() -> None:
    step = step_with(budget=500)
    assert (step.n_examples, step.n_features, step.round, step.n_rounds) == (N, F, 1, 1)
    assert (step.budget, step.spent, step.remaining) == (500, 0, 500)
    assert [(f.name, f.size, f.first) for f in step.families] == [
        ("part 0", 4, 0),
        ("part 1", 4, 4),
    ]
    step.search([0, 1], step.draw(30))
    step.search([1], step.draw(10), purpose="modelling")
    assert (step.spent, step.remaining) == (70, 430)


def test_families_sample_distinct_members() -> None:
    step = step_with()
    family = step.families[1]
    for n in (0, 1, 3, 4, 5, 100):
        features = family.sample(n, step.rng)
        assert features.dtype == np.int64
        assert len(set(features.tolist())) == features.size == min(n, 4)
        assert all(4 <= f < 8 for f in features.tolist())
    counts = np.zeros(8)
    for _ in range(2000):
        counts[family.sample(2, step.rng)] += 1
    assert (np.abs(counts[4:] - 1000) < 4.5 * np.sqrt(1000 * 0.5)).all()
    with pytest.raises(SettingError, match="n must be 0 or more, got -1"):
        family.sample(-1, step.rng)


def test_search_finds_the_best_stump_of_each_feature() -> None:
    X, Y = table(), noisy_labels()
    u = np.random.default_rng(0).random(Y.shape)
    step = step_of(bank_of(X), Y, u)
    w = u / u.sum()
    stumps = step.search([5, 2, 5], step.draw(N))
    assert stumps.feature.tolist() == [5, 2, 5]
    assert [a.dtype.name for a in (stumps.feature, stumps.votes, stumps.edge)] == [
        "int64",
        "int8",
        "float64",
    ]
    for q, feature in enumerate([5, 2, 5]):
        column = X[:, feature].tolist()
        candidates = naive.thresholds_of(column)
        sums = [naive.label_sums(column, b, w, Y) for b in candidates]
        best = int(np.argmax([naive.edge_of(s) for s in sums]))
        assert stumps.threshold[q] == best + 1
        assert stumps.edge[q] == pytest.approx(naive.edge_of(sums[best]), abs=1e-6)
        assert stumps.votes[q].tolist() == [1 if s >= 0 else -1 for s in sums[best]]


@pytest.mark.parametrize("scheme", ["iid", "stratified", "distinct", "order"])
def test_edges_of_a_perfect_stump_are_rewarded(scheme: str) -> None:
    """They are 1 up to the rounding of float32; by order, whose samples weigh more or less."""
    rng = np.random.default_rng(0)
    Y = np.where(rng.random((80, 3)) < 0.5, 1, -1).astype(np.int8)
    Y[:] = Y[:, :1]
    step = step_of(bank_of(Y[:, :1].astype(np.float32)), Y, np.exp(rng.normal(size=(80, 3))))
    perfect = step.search([0], step.draw(80))
    edges = np.concatenate([step.edges(perfect, step.draw(5, scheme)) for _ in range(200)])
    if scheme == "order":
        assert edges.min() < 0.9 < 1.1 < edges.max()
        assert abs(edges.mean() - 1.0) < 5.0 * edges.std() / np.sqrt(edges.size)
    else:
        assert edges.max() > 1.0 + 1e-8
        np.testing.assert_allclose(edges, 1.0, atol=2e-7)
        assert reward(edges).min() == 1.0


@pytest.mark.parametrize("two_sided", [False, True])
@pytest.mark.parametrize("T", [25, N])
def test_search_on_a_sample_reports_the_edge_on_that_sample(two_sided: bool, T: int) -> None:
    step = step_with(two_sided=two_sided)
    for scheme in ("iid", "stratified", "distinct"):
        sample = step.draw(T, scheme)
        stumps = step.search(np.arange(F), sample)
        assert (stumps.below is not None) == (stumps.best().below is not None) == two_sided
        np.testing.assert_allclose(step.edges(stumps, sample), stumps.edge, atol=1e-6)
        assert stumps.best().edge == stumps.edge.max()


def test_drawing_is_free_and_several_samples_may_be_held() -> None:
    step = step_with()
    held, first = [], []
    for T in (3, 50, 20):
        for scheme in ("iid", "distinct"):
            held.append(step.draw(T, scheme))
            first.append(step.search([0, 1], held[-1]))
    again = [step.search([0, 1], sample) for sample in held]
    for row, two in zip(first, again, strict=True):
        np.testing.assert_array_equal(row.edge, two.edge)
    assert step.spent == 2 * 2 * 2 * 73


def test_ties_go_to_the_first_feature_searched() -> None:
    X = np.repeat(table(N, 1), 4, axis=1)
    X[:, 2] = -X[:, 2]  # the same cuts seen from the other side
    step = step_of(bank_of(X), noisy_labels())
    stumps = step.search([2, 3, 0, 1], step.draw(N))
    assert len(set(stumps.edge.tolist())) == 1
    assert stumps.best().feature == 2


@pytest.mark.parametrize(
    "features",
    [[-1], [F], [0, 10**9], [0.0], [True], [], [[0, 1]], "0", None, [None], [np.nan], [2**63], 1.5,
     [[0], [1, 2]]],
)  # fmt: skip
def test_bad_features_are_refused_and_cost_nothing(features: Any) -> None:
    step = step_with()
    sample = step.draw(5)
    with pytest.raises(SettingError, match="features must be"):
        step.search(features, sample)
    assert step.spent == 0


@pytest.mark.parametrize("T", [0, -1, 1.5, np.nan, np.inf, "3", None, True])
def test_bad_sizes_are_refused(T: Any) -> None:
    with pytest.raises(SettingError, match="T must be"):
        step_with().draw(T)


def test_bad_schemes_and_purposes_are_refused() -> None:
    step = step_with()
    for T in (5, N):
        with pytest.raises(SettingError, match="unknown scheme 'iidd'"):
            step.draw(T, "iidd")
    wrong: Any = ["iid"]
    with pytest.raises(SettingError, match=r"unknown scheme .*iid"):
        step.draw(5, wrong)
    with pytest.raises(SettingError, match=r"unknown scheme .*iid"):
        step.draw_nested([5], wrong)
    with pytest.raises(SettingError, match=r"search, modelling, got \['search'\]"):
        step.search([0], step.draw(5), purpose=["search"])  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(SettingError, match="search, modelling, got 'finish'"):
        step.search([0], step.draw(5), purpose="finish")
    assert step.spent == 0


@pytest.mark.parametrize("stages", [[(3, -1)], [(0, 5)], [(2, 5), (1.0, 9)]])
def test_costs_of_impossible_stages_are_refused(stages: Any) -> None:
    with pytest.raises(SettingError, match=r"stages: [QT] must be an integer at least 1, got"):
        step_with().cost_of(stages)
    with pytest.raises(SettingError, match="unknown scheme 'iidd'"):
        step_with().cost_of([(2, 5)], "iidd")


def test_no_rows_of_stumps() -> None:
    step = step_with()
    stumps = step.search([0, 1], step.draw(N))
    assert len(stumps[[]]) == len(stumps[np.zeros(2, bool)]) == 0
    with pytest.raises(SettingError, match="needs at least 1 stump, got 0"):
        stumps[[]].best()


@pytest.mark.parametrize("take", [Stumps.best, lambda stumps: stumps.feature, list])
def test_edges_are_those_of_stumps(take: Any) -> None:
    step = step_with()
    sample = step.draw(N)
    stumps = step.search([0, 1], sample)
    with pytest.raises(SettingError, match=r"stumps must be rows of what search returned, got a"):
        step.edges(take(stumps), sample)


def test_bad_stumps_are_refused_and_cost_nothing() -> None:
    step = step_with()
    sample = step.draw(N)
    good = step.search([0, 1], sample)
    spent = step.spent
    for wrong in (
        {"feature": np.array([0, F])},
        {"feature": np.array([0.0, 1.0])},
        {"votes": good.votes[:, :2]},
        {"votes": good.votes * 2},
        {"votes": good.votes[:1]},
        {"below": good.votes[:, :2]},
        {"below": good.votes * 0},
        {"threshold": np.array([0, 1])},
        {"threshold": np.array([-1, 1])},
        {"threshold": np.array([1])},
        {"threshold": np.array([2**16 + 1, 1])},  # must not wrap to 1
        {"threshold": np.array([1.5, 1])},
    ):
        with pytest.raises(SettingError):
            step.edges(dataclasses.replace(good, **wrong), sample)
    assert step.spent == spent


def noted(**beliefs: Any) -> dict[str, Any]:
    def choose(step: Step) -> Stump:
        step.note(**beliefs)
        return step.search([0], step.draw(5)).best()

    row = one_round(choose)
    return {name: value for name, value in row.items() if name not in HISTORY_NAMES}


def test_notes_become_plain_columns() -> None:
    notes = noted(
        arm=np.int64(3),
        p=[0.25, 0.75],
        name="a",
        other=np.str_("b"),
        flag=np.bool_(True),
        x=np.float32(0.5),
        nothing=None,
        empty=[],
        counts=np.array([1, 2], np.int16),
    )
    assert notes == {
        "arm": 3, "p_0": 0.25, "p_1": 0.75, "name": "a", "other": "b", "flag": True, "x": 0.5,
        "nothing": None, "counts_0": 1, "counts_1": 2,
    }  # fmt: skip
    kinds = {"arm": int, "p_0": float, "name": str, "other": str, "flag": bool, "x": float}
    for name, kind in kinds.items():
        assert type(notes[name]) is kind, name


def test_the_length_of_notes() -> None:
    assert len(noted(v=np.zeros(32))) == 32
    with pytest.raises(SettingError, match="'v' must be a scalar or a vector of at most 32"):
        noted(v=np.zeros(33))
    with pytest.raises(SettingError, match="'v' must be"):
        noted(v=np.zeros((2, 2)))
    step = step_of(bank_of(table(40, 50), groups=50), noisy_labels(40))
    step.note(v=np.zeros(50))
    with pytest.raises(SettingError, match="at most 50"):
        step.note(v=np.zeros(51))


@pytest.mark.parametrize("name", sorted(HISTORY_NAMES))
def test_the_own_names_of_the_row_are_refused(name: str) -> None:
    with pytest.raises(SettingError, match=f"'{name}'"):
        noted(**{name: 1})


@pytest.mark.parametrize(
    "value", [{}, object(), 1j, [object()], np.datetime64("2011-12-12"), 2**70, -(2**70)]
)
def test_other_notes_are_refused(value: Any) -> None:
    with pytest.raises(SettingError, match="'belief' must be"):
        noted(belief=value)


def test_notes_of_one_name_do_not_swallow_each_other() -> None:
    with pytest.raises(SettingError, match="p_0"):
        noted(p=[1.0, 2.0], p_0=3.0)
    step = step_with()
    step.note(p=[1.0, 2.0], arm=1)
    for again in ({"p_0": 3.0}, {"arm": 2}, {"p": 5.0, "arm": 1}):
        with pytest.raises(SettingError, match=r"a note must not be named .* another note writes"):
            step.note(**again)


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
