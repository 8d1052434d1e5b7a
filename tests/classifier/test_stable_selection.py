"""Features that halves of the rows choose again and again: true ones are found, noise is not."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pandas
import pytest
import scipy.sparse
from numpy.typing import NDArray

from boostsample import Booster, BoostSampleClassifier, DataError, FeatureBank, SettingError
from boostsample.classifier.stable_selection import (
    SelectedFeatures,
    chosen_features,
    complementary_halves,
    concave_tail,
    count_uncorrelated,
    expected_false,
    grouped_features,
    needed_shares,
    usual_chosen,
)
from boostsample.families import Columns
from boostsample.labels import encode

CASES = [(10, -0.5, 0.1, 5), (10, -0.25, 0.15, 6), (20, -0.5, 0.02, 4), (30, -0.25, 0.01, 20)]


def mean_of(f: NDArray[np.float64]) -> float:
    return float(f @ np.arange(f.size) / f.sum() / (f.size - 1))


def with_mean(h: NDArray[np.float64], n: int, r: float, mean: float) -> NDArray[np.float64]:
    """The density (c + h)^(1 / r) on the first points of {0, ..., n} that has the mean, or less."""
    f = np.zeros(n + 1)
    low, high = 1e-9, 1e9  # a larger c is closer to the uniform density
    for _ in range(60):
        c = math.sqrt(low * high)
        f[: h.size] = ((c + h) / (c + h.min())) ** (1 / r)
        low, high = (c, high) if mean_of(f) <= mean else (low, c)
    f[: h.size] = ((low + h) / (low + h.min())) ** (1 / r)
    return np.asarray(f / f.sum())


@pytest.mark.parametrize(("n", "r", "mean", "at_least"), CASES)
def test_no_concave_distribution_has_a_larger_tail(
    n: int, r: float, mean: float, at_least: int
) -> None:
    rng = np.random.default_rng(0)
    bound = concave_tail(mean, at_least, n, r)
    largest = 0.0
    for _ in range(300):
        slopes = np.sort(rng.standard_cauchy(rng.integers(1, n + 1)))  # h is convex
        if rng.random() < 0.5:  # most are wasted otherwise: one line with an end, or without
            slopes[:-1] = 1.0
            slopes[-1] = 1.0 + rng.exponential(3.0) * rng.integers(2)
        h = np.concatenate([[0.0], np.cumsum(slopes)])
        f = with_mean(h - h.min(), n, r, mean)
        if mean_of(f) <= mean * (1 + 1e-9):
            largest = max(largest, float(f[at_least:].sum()))
    assert 0.9 * bound < largest <= bound * (1 + 1e-6)


@pytest.mark.parametrize(("n", "r", "mean", "at_least"), CASES)
def test_a_concave_distribution_has_the_tail(n: int, r: float, mean: float, at_least: int) -> None:
    """One line on 0 to k, then less on k + 1, or nothing."""
    lines = [np.arange(k + 1.0) for k in range(at_least, n + 1)]
    ends = np.append(0.0, np.geomspace(1e-3, 1e3, 20))
    shapes = [np.append(line, line[-1] + 1 + end) for line in lines[:-1] for end in ends]
    tails = [with_mean(h, n, r, mean)[at_least:].sum() for h in (*lines, *shapes)]
    assert concave_tail(mean, at_least, n, r) == pytest.approx(max(tails), rel=1e-2)
    assert concave_tail(mean, at_least, n, r) >= max(tails) * (1 - 1e-6)


def test_tails_at_the_ends() -> None:
    assert concave_tail(0.2, 4, 10, -0.5) == 1.0  # not more than twice the mean: uniform on 0 to 4
    assert concave_tail(0.2, 11, 10, -0.5) == 0.0
    tails = [concave_tail(0.01, at_least, 50, -0.5) for at_least in range(51)]
    assert tails == sorted(tails, reverse=True)


def test_the_worst_case_is_that_of_the_paper() -> None:
    assert expected_false(10, 1000, 75, 50, "worst-case") == pytest.approx(100 / (0.5 * 1000))
    assert expected_false(10, 1000, 50, 50, "worst-case") == math.inf
    assert expected_false(10, 1000, 75, 50, "r-concave") < 0.03


@pytest.mark.parametrize("bound", ["worst-case", "r-concave"])
def test_thresholds_and_numbers_are_the_least_and_the_most(bound: str) -> None:
    for n_chosen, p, allowed in ((5, 64, 1.0), (10, 300, 0.5), (20, 30_000, 1.0)):
        shares = needed_shares(n_chosen, p, 50, allowed, bound)
        assert shares is not None
        assert expected_false(n_chosen, p, shares, 50, bound) <= allowed
        assert shares == 60 or expected_false(n_chosen, p, shares - 1, 50, bound) > allowed
    assert needed_shares(60, 64, 50, 1.0, bound) is None
    usual = usual_chosen(64, 50, 1.0, bound)
    assert (
        expected_false(usual, 64, 75, 50, bound) <= 1 < expected_false(usual + 1, 64, 75, 50, bound)
    )
    assert usual_chosen(30_000, 50, 1.0, bound) == 20
    assert usual_chosen(1, 50, 1e-9, bound) == 1


def made(n: int = 200, d: int = 120) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Noise; the class depends on columns 0 and 2, and on what columns 3 and 4 measure."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(n, d)), 1)
    cause = rng.normal(size=n)
    X[:, 3], X[:, 4] = cause + 0.2 * rng.normal(size=(2, n))
    return X, (X[:, 0] + X[:, 2] + cause + 0.3 * rng.normal(size=n) > 0).astype(np.int64)


def select(X: Any, y: Any, n_pairs: int = 10, **settings: Any) -> SelectedFeatures:
    of_model = {name: settings.pop(name) for name in ("bank", "n_jobs") if name in settings}
    model = BoostSampleClassifier(random_state=1, **of_model)
    return model.selected_features(X, y, n_pairs=n_pairs, **settings)


def test_causes_are_selected_and_correlated_features_share() -> None:
    X, y = made()
    result = select(X, y, n_chosen=4)
    found = {feature.feature: feature for feature in result.selected}
    assert {min(at, 3) for at in found} == {0, 2, 3}
    assert len(found) == 3
    pair = found[max(found)]
    assert {pair.name, *pair.correlated} == {"column 3", "column 4"}
    assert pair.share > pair.own_share
    alone = {one.feature: one.share for one in select(X, y, n_chosen=4, correlated=None).candidates}
    assert alone[pair.feature] == pair.own_share < pair.share
    assert "3 features are selected: in at least " in str(result)
    frame = result.to_frame()
    assert frame[frame["selected"]]["name"].tolist() == result.names
    assert len(frame) == len(result.candidates)


@pytest.mark.parametrize("families", [None, {"a": [6], "b": [*range(6), 7]}], ids=["one", "two"])
@pytest.mark.parametrize("strategy", ["full", "screening"])
def test_each_of_equal_features_has_a_part_of_the_halves(families: Any, strategy: str) -> None:
    X, y = made(60, 8)
    X[:, 3] = X[:, 6] = y
    model = BoostSampleClassifier(random_state=1, families=families)
    settings: dict[str, Any] = {"n_chosen": 1, "n_pairs": 10, "max_false": 2.0, "correlated": None}
    result = model.selected_features(X, y, strategy=strategy, **settings)
    shares = {candidate.name: candidate.share for candidate in result.candidates}
    assert shares.keys() == {"column 3", "column 6"}
    assert sum(shares.values()) == pytest.approx(1.0)
    assert min(shares.values()) >= 0.2


@pytest.mark.parametrize("strategy", ["full", "screening"])
def test_the_first_of_many_features_that_divide_few_rows_alike_are_not_selected(
    strategy: str,
) -> None:
    X, y = np.random.default_rng(0).normal(size=(8, 200)), np.arange(8) % 2
    result = select(X, y, correlated=None, strategy=strategy)
    assert result.names == []
    assert np.mean([candidate.feature for candidate in result.candidates]) == pytest.approx(
        100, abs=25
    )


def test_labels_without_signal_select_nothing_and_say_so() -> None:
    X, y = made()
    orders = [np.random.default_rng(seed).permutation(y.size) for seed in range(8)]
    results = [select(X, y[order], n_pairs=5) for order in orders]
    assert np.mean([len(result.selected) for result in results]) <= results[0].worst_case <= 1
    result = next(result for result in results if not result.selected)
    assert result.names == []
    text = str(result)
    assert text.startswith("no feature is selected: none was in ")
    assert f"the most frequent is {result.candidates[0].name}, in " in text
    assert f"by chance: at most {result.worst_case:.2g}; {result.r_concave:.2g} if" in text


def test_the_threshold_keeps_the_bound() -> None:
    X, y = made()
    loose, strict = (select(X, y, n_chosen=6, max_false=most) for most in (1.0, 0.4))
    assert loose.threshold < strict.threshold
    assert strict.worst_case <= 0.4 < loose.worst_case <= 1.0
    assert strict.worst_case == pytest.approx(
        36 / ((2 * strict.threshold - 1) * strict.n_uncorrelated)
    )
    tighter = select(X, y, n_chosen=6, max_false=0.4, bound="r-concave")
    assert tighter.threshold < strict.threshold
    assert tighter.r_concave <= 0.4


def test_results_are_the_same_for_all_banks_threads_and_forms_of_a_table() -> None:
    X, y = made(61, 30)
    first = select(X, y)
    for other in (
        select(X, y, n_jobs=2),
        select(X, y, bank="lazy"),
        select(scipy.sparse.csr_matrix(X), y),
        select(X, np.array(["no", "yes"])[y]),
        select(np.concatenate([X, X]), np.concatenate([y, y]), sample_weight=np.arange(122) < 61),
    ):
        assert other == first


def test_the_model_is_not_changed() -> None:
    X, y = made(60, 10)
    model = BoostSampleClassifier(n_rounds=3, random_state=0).fit(X, y)
    before = copy.deepcopy(vars(model))
    model.selected_features(X, y, n_pairs=2)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in vars(model).items())
    assert model.decision_function(X).size == 60


def test_names_of_frames_and_categories() -> None:
    X, y = made(120, 5)
    frame = pandas.DataFrame(X, columns=list("abcde"))
    frame["colour"] = np.where(y > 0, "red", "blue")
    result = select(frame, y, max_false=2)
    assert [feature.name for feature in result.selected][:1] in (["colour=red"], ["colour=blue"])


@pytest.mark.parametrize("n", [40, 41])
@pytest.mark.parametrize("multi_label", [False, True])
def test_halves_are_disjoint_and_have_all_classes(n: int, multi_label: bool) -> None:
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], [2, 11, n - 13])
    labels = encode(codes, 3)
    pairs = list(complementary_halves(labels, 20, rng, multi_label))
    for pair in pairs:
        assert [half.size for half in pair] == [n // 2, n // 2]
        assert np.unique(np.concatenate(pair)).size == 2 * (n // 2)
        counts = [np.bincount(codes[half], minlength=3) for half in pair]
        assert counts[0][0] == counts[1][0] == 1
        assert np.abs(counts[0] - counts[1]).max() <= 1
    assert len({tuple(half) for pair in pairs for half in pair}) == 40


def test_a_half_chooses_the_first_features_of_its_rounds() -> None:
    X, y = made(90, 12)
    X[::4, 5] = np.nan  # only missing values differ
    X[1::4, 5] = X[2::4, 5] = X[3::4, 5] = 0.0
    y = np.where(np.isnan(X[:, 5]), 0, y)
    bank, rows = FeatureBank.build([Columns(range(12))], X), np.arange(0, 90, 2)

    def booster() -> Booster:
        labels = encode(y[rows], 2)
        return Booster(bank, rows, labels, "full", n_rounds=80, rng=0, learning_rate=0.3)

    expected: dict[int, None] = {}
    naive = booster()
    for _ in range(80):
        term = naive.next_round().terms[0]
        bins = np.array([bank.column(term.feature)[row] for row in rows])
        if len(set(bins >= term.threshold)) == 2:
            expected[term.feature] = None
    for n_chosen in (1, 4, 12):
        chosen = chosen_features(booster(), bank, rows, n_chosen)
        assert chosen == list(expected)[:n_chosen]
    assert 5 in expected


def test_a_stump_that_divides_no_rows_chooses_no_feature() -> None:
    X = (np.arange(90)[:, None] % [2, 3, 5]).astype(float)
    y = (np.arange(90) % 9 == 0).astype(int)  # votes against the rare class have an edge
    bank, rows = FeatureBank.build([Columns(range(3))], X), np.arange(90)
    booster = Booster(bank, rows, encode(y, 2), "full", n_rounds=1, rng=0)
    assert chosen_features(booster, bank, rows, 1) == []
    assert booster.round == 1


def test_groups_and_neighbours_of_the_definition() -> None:
    rng = np.random.default_rng(3)
    X = rng.integers(0, 3, (80, 9)).astype(float)
    X[:, 1] = X[:, 2] = 5.0  # constant
    X[:, 4] = 2 - X[:, 3]
    X[:, 5] = np.where(np.arange(80) < 12, np.nan, X[:, 3])
    bank = FeatureBank.build([Columns(range(9))], X)
    varying = [0, 3, 4, 5, 6, 7, 8]
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    near = np.abs(np.corrcoef(filled[:, varying].T)) >= 0.8
    assert near.sum() == 7 + 6
    n_features, n_uncorrelated = count_uncorrelated(bank, 0.8, rng)
    assert n_features == 7
    assert n_uncorrelated == pytest.approx((1 / near.sum(axis=1)).sum())
    assert count_uncorrelated(bank, None, rng) == (7, 7.0)

    chosen = [[0, 3], [4], [0, 5, 3], [5, 6], []]
    groups = grouped_features(bank, chosen, 0.8, rng)
    assert [(g.feature, g.share, g.own_share, g.correlated) for g in groups] == [
        (3, 0.8, 0.4, ("column 5", "column 4")),
        (0, 0.4, 0.4, ()),
        (6, 0.2, 0.2, ()),
    ]
    alone = grouped_features(bank, chosen, None, rng)
    assert [(g.feature, g.share) for g in alone] == [
        (0, 0.4), (3, 0.4), (5, 0.4), (4, 0.2), (6, 0.2)
    ]  # fmt: skip
    assert grouped_features(bank, [[], []], 0.8, rng) == ()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_false": 0}, "max_false must be above 0 and finite, got 0"),
        ({"n_pairs": 1}, "n_pairs must be an integer at least 2, got 1"),
        ({"n_chosen": 0}, "n_chosen must be an integer at least 1, got 0"),
        ({"n_chosen": 19}, r"n_chosen=19 of about 19 .* but it is 19; choose fewer, or allow more"),
        ({"correlated": 1.5}, "correlated must be above 0 and at most 1, got 1.5"),
        ({"bound": "best"}, "unknown bound 'best'; known: worst-case, r-concave"),
        ({"strategy": "fulll"}, "unknown strategy 'fulll'"),
    ],
)
def test_wrong_settings(settings: dict[str, Any], message: str) -> None:
    X, y = made(60, 20)
    with pytest.raises(SettingError, match=message):
        select(X, y, **settings)


@pytest.mark.parametrize(
    ("y", "X", "message"),
    [
        ([0, 0, 0, 0, 1], np.eye(5), "each class must have at least 2 rows, one for each half"),
        ([0, 0, 1, 1], np.ones((4, 2)), "X must have a feature that is not constant, got none"),
    ],
)
def test_wrong_tables(y: Any, X: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        select(X, y)
