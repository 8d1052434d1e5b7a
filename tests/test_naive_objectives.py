"""The naive boosters of other objectives: against the papers, other libraries and AdaBoost.MH."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from tests.naive import Naive
from tests.naive_objectives import (
    M1,
    MH,
    NAIVE_BOOSTERS,
    OC,
    SAMME,
    Added,
    Bagging,
    Gentle,
    NaiveBooster,
    Rank,
    RealMH,
    Unsmoothed,
    hamming_decoding,
    loss_based_decoding,
    naive_booster,
)
from tests.problems import noisy_labels

EXPONENTIAL = ("mh", "real-mh", "abstain", "info", "gentle")
REFERENCE = json.loads((Path(__file__).parent / "objectives_reference.json").read_text("utf-8"))


def problem(n_labels: int, n: int = 60, seed: int = 0) -> tuple[NDArray[Any], NDArray[Any]]:
    """Bins of which the first ones tell of the labels, and labels."""
    rng, Y = np.random.default_rng(seed), noisy_labels(n, n_labels, seed)
    bins = rng.integers(1, 7, (n, 5)).astype(np.uint8)
    bins[:, 0] += (3 * (Y[:, 0] > 0) * (rng.random(n) < 0.7)).astype(np.uint8)
    bins[:, 1] += (2 * (Y[:, -1] > 0) * (rng.random(n) < 0.6)).astype(np.uint8)
    return bins, Y


def ready(objective: str, n_labels: int, **settings: Any) -> NaiveBooster:
    """A booster before its first round, which `oc` begins with colors of half of the labels."""
    booster = naive_booster(*problem(n_labels), objective, **settings)
    if isinstance(booster, OC):
        booster.color(np.where(np.arange(n_labels) % 2 == 0, 1, -1))
    return booster


def cuts(booster: NaiveBooster) -> list[tuple[int, int]]:
    """Every feature and threshold."""
    tops = booster.bins.max(axis=0).tolist()
    return [(feature, b) for feature, top in enumerate(tops) for b in range(1, top + 1)]


def add_best(booster: NaiveBooster) -> Added:
    """A round with the first best cut."""
    best = booster.best_criterion()
    cut = next(cut for cut in cuts(booster) if booster.criterion(*cut) > best - 1e-12)
    return booster.add_stump(*cut)


def quarters(bins: NDArray[Any]) -> NDArray[Any]:
    """Cells of a tree of two cuts."""
    return 2 * (bins[:, 0] > 4) + (bins[:, 1] > 3)


# ------------------------------------------------------------------------- all objectives


@pytest.mark.parametrize(
    ("objective", "n_labels"),
    [
        (name, n)
        for name, n in itertools.product(NAIVE_BOOSTERS, (1, 4))
        if name != "rank" and (name, n) != ("oc", 1)
    ],
)
def test_the_best_criterion_is_the_largest(objective: str, n_labels: int) -> None:
    booster = ready(objective, n_labels)
    add_best(booster)
    above = booster.bins[:, 0] >= 4
    assert booster.best_criterion() == pytest.approx(
        max(booster.criterion(*cut) for cut in cuts(booster)), abs=1e-12
    )
    assert booster.best_criterion(above) == pytest.approx(
        max(booster.criterion(*cut, above) for cut in cuts(booster)), abs=1e-12
    )


@pytest.mark.parametrize("learning_rate", [1.0, 0.3])
@pytest.mark.parametrize("n_labels", [1, 4])
@pytest.mark.parametrize("objective", EXPONENTIAL)
def test_the_loss_and_the_weights_are_those_of_the_scores(
    objective: str, n_labels: int, learning_rate: float
) -> None:
    """[SS99] Theorem 1: D_t(i, l) prod Z is D_1(i, l) exp(-y_il f_l(x_i))."""
    bins, Y = problem(n_labels)
    weight = np.random.default_rng(5).integers(1, 4, len(Y))
    booster = naive_booster(bins, Y, objective, learning_rate=learning_rate, example_weight=weight)
    first = booster.weights
    added = [add_best(booster) for _ in range(5)]
    if objective != "abstain":
        added.append(booster.add_tree(quarters(bins)))
    losses = first * np.exp(-Y * booster.scores)
    assert math.exp(booster.log_loss) == pytest.approx(losses.sum(), rel=1e-12)
    assert math.prod(a.loss_factor for a in added) == pytest.approx(losses.sum(), rel=1e-12)
    np.testing.assert_allclose(booster.weights, losses / losses.sum(), rtol=1e-12)
    if learning_rate == 1.0:
        for a in added:
            assert a.edge == pytest.approx(math.sqrt(1 - a.loss_factor**2), abs=1e-7)


@pytest.mark.parametrize("objective", [name for name in NAIVE_BOOSTERS if name != "bagging"])
def test_the_edge_is_that_of_a_full_step(objective: str) -> None:
    n_labels = 4 if objective == "oc" else 1
    full, half = (ready(objective, n_labels, learning_rate=nu) for nu in (1.0, 0.5))
    first, second = add_best(full), add_best(half)
    assert first.edge == second.edge > 0.1
    assert first.loss_factor < second.loss_factor < 1
    np.testing.assert_allclose(first.values, 2 * second.values)


# ------------------------------------------------------------------------- AdaBoost.MH


@pytest.mark.parametrize("init", ["uniform", "balanced"])
@pytest.mark.parametrize("n_labels", [1, 4])
def test_mh_is_the_naive_adaboost_mh(n_labels: int, init: str) -> None:
    bins, Y = problem(n_labels)
    weight = np.random.default_rng(5).integers(1, 4, len(Y))
    booster = MH(bins, Y, init, weight)
    naive = Naive(bins.astype(np.float64), Y, init, weight.astype(np.float64))
    for _ in range(8):
        step = naive.next_round()
        threshold = 1 if step.threshold == -math.inf else math.ceil(step.threshold)
        assert booster.best_criterion() == pytest.approx(step.edge, abs=1e-12)
        added = booster.add_stump(step.feature, threshold)
        assert added.edge == pytest.approx(step.edge, abs=1e-9)
        np.testing.assert_allclose(added.values[1], step.alpha * np.array(step.votes))
        assert booster.log_loss == pytest.approx(step.log_loss, abs=1e-9)
        np.testing.assert_allclose(booster.weights, naive.w, rtol=1e-9)


# ------------------------------------------------------------------------- real AdaBoost.MH


@pytest.mark.parametrize("n_labels", [1, 4])
def test_the_factor_of_real_mh(n_labels: int) -> None:
    """[SS99] eq. 10, Z = 2 sum_jl sqrt(W+ W-); smoothing raises it by little."""
    bins, Y = problem(n_labels)
    booster = RealMH(bins, Y)
    for _ in range(5):
        exact = Unsmoothed(bins, Y)
        exact.weights = booster.weights
        plus, minus = exact.cell_sums(quarters(bins), 4)
        least = 2 * np.sqrt(plus * minus).sum()
        assert exact.add_tree(quarters(bins)).loss_factor == pytest.approx(least, rel=1e-12)
        smoothed = booster.add_tree(quarters(bins)).loss_factor
        assert least <= smoothed <= least + 4 / len(Y)
        add_best(booster)


def test_smoothing_is_one_label_of_one_example() -> None:
    """Weights are 1/4 and e = 1 / (N K) = 1/4: values are 1/2 log((1/4 + e) / e)."""
    Y = np.array([[1, -1], [-1, 1]])
    added = RealMH(np.array([[1], [2]], np.uint8), Y).add_stump(0, 2)
    np.testing.assert_allclose(added.values, 0.5 * math.log(2) * Y, rtol=1e-12)
    # A factor of 1 / sqrt(2) for every weight.
    assert added.loss_factor == pytest.approx(math.sqrt(0.5), rel=1e-12)
    assert added.edge == pytest.approx(math.sqrt(0.5), rel=1e-12)


def test_info_is_real_mh_for_one_label() -> None:
    bins, Y = problem(1)
    boosters = [naive_booster(bins, Y, name) for name in ("info", "real-mh")]
    for _ in range(8):
        info, real = (add_best(booster) for booster in boosters)
        np.testing.assert_allclose(info.values, real.values, rtol=1e-9)
        assert info.edge == pytest.approx(real.edge, abs=1e-12)


def test_info_tells_equal_errors_apart() -> None:
    """Two base classifiers of error 1/4 (Aslam 2000): h_1 predicts -1 with more confidence."""
    y = np.array([-1] * 6 + [1] * 10)
    first = np.array([1] * 5 + [2] + [1] * 3 + [2] * 7)  # masses 5/16, 3/16 and 1/16, 7/16
    second = np.array([1] * 4 + [2] * 2 + [1] * 2 + [2] * 8)  # 4/16, 2/16 and 2/16, 8/16
    bins = np.stack([first, second], axis=1).astype(np.uint8)
    factors = [MH(bins, y[:, None]).add_stump(j, 2).loss_factor for j in (0, 1)]
    assert factors == pytest.approx([math.sqrt(3) / 2] * 2)
    factors = [Unsmoothed(bins, y[:, None]).add_stump(j, 2).loss_factor for j in (0, 1)]
    hand = [(math.sqrt(15) + math.sqrt(7)) / 8, (math.sqrt(8) + math.sqrt(16)) / 8]
    assert factors == pytest.approx(hand)
    values = naive_booster(bins, y[:, None], "info").add_stump(0, 2).values[:, 0]
    assert values.tolist() == pytest.approx([-math.log(6 / 4) / 2, math.log(8 / 2) / 2])


def test_info_shares_one_coefficient_a_cell() -> None:
    bins, Y = problem(4)
    values = naive_booster(bins, Y, "info").add_tree(quarters(bins)).values
    np.testing.assert_allclose(np.abs(values), np.abs(values[:, :1]).repeat(4, axis=1))


@pytest.mark.parametrize("n_labels", [1, 4])
def test_a_stump_abstains_on_the_worse_side(n_labels: int) -> None:
    bins, Y = problem(n_labels)
    for cut in cuts(RealMH(bins, Y)):
        real = RealMH(bins, Y)
        c, factors = real.add_stump(*cut).values, []
        for side in (0, 1):
            one_side = RealMH(bins, Y)
            values = np.where(np.arange(2)[:, None] == side, c, 0.0)
            cells = (bins[:, cut[0]] >= cut[1]).astype(int)
            factors.append(one_side.add(cells, values).loss_factor)
        added = naive_booster(bins, Y, "abstain").add_stump(*cut)
        side = 0 if factors[0] < factors[1] - 1e-15 else 1
        assert added.loss_factor == pytest.approx(min(factors), rel=1e-12)
        if abs(factors[0] - factors[1]) > 1e-12:
            np.testing.assert_array_equal(added.values[1 - side], 0.0)
            np.testing.assert_allclose(added.values[side], c[side])
    with pytest.raises(ValueError, match="trees do not"):
        naive_booster(bins, Y, "abstain").add_tree(quarters(bins))


# ------------------------------------------------------------------------- GentleBoost, bagging


def test_gentle_values_are_least_squares() -> None:
    bins, Y = problem(4)
    booster = Gentle(bins, Y)
    weights, added = booster.weights, booster.add_tree(quarters(bins))
    for j, label in itertools.product(range(4), range(4)):
        rows = quarters(bins) == j
        indicator = rows.astype(np.float64)[:, None] * np.sqrt(weights[:, [label]])
        fit = np.linalg.lstsq(indicator, Y[:, label] * np.sqrt(weights[:, label]), rcond=None)
        assert added.values[j, label] == pytest.approx(fit[0][0], abs=1e-12)


def test_bagging_votes_on_the_draws() -> None:
    bins, Y = problem(3)
    booster, rng = Bagging(bins, Y, "uniform"), np.random.default_rng(1)
    votes = np.zeros(Y.shape)
    for _ in range(5):
        counts = np.bincount(rng.integers(0, len(Y), len(Y)), minlength=len(Y))
        booster.draw(counts)
        added = booster.add_tree(quarters(bins))
        agreement = 0.0
        for j in range(4):
            drawn = np.repeat(np.arange(len(Y)), counts)
            sums = Y[drawn][quarters(bins)[drawn] == j].sum(axis=0)
            assert added.values[j].tolist() == np.where(sums >= 0, 1, -1).tolist()
            agreement += float(np.abs(sums).sum()) / (3 * len(Y))
        assert added.edge == pytest.approx(agreement, abs=1e-12)
        votes += added.values[quarters(bins)]
    np.testing.assert_array_equal(booster.scores, votes)
    assert booster.log_loss == 0.0


# ------------------------------------------------------------------------- AdaBoost.M1, SAMME


@pytest.mark.parametrize("n_labels", [1, 3])
def test_the_training_error_of_m1_is_bounded(n_labels: int) -> None:
    """Freund and Schapire 1997, Theorem 10: the error is at most prod 2 sqrt(e (1 - e))."""
    bins, Y = problem(n_labels)
    booster = M1(bins, Y)
    for first, second in 3 * list(itertools.combinations(range(5), 2)):
        leaves = 6 * (bins[:, first] // 2) + bins[:, second] // 2
        booster.add_tree(np.unique(leaves, return_inverse=True)[1])
        error = (booster.predict() != booster.classes).mean()
        assert error <= math.exp(booster.log_loss) + 1e-12
    assert booster.log_loss < -0.1


def test_m1_of_two_classes_is_a_tree_of_mh() -> None:
    bins, Y = problem(1)
    for cls in (M1, SAMME):
        booster, mh = cls(bins, Y), MH(bins, Y)
        for feature, threshold in [(0, 5), (1, 4), (0, 3), (2, 3)]:
            of_class = booster.add_stump(feature, threshold)
            of_mh = mh.add_tree((bins[:, feature] >= threshold).astype(int))
            np.testing.assert_allclose(of_class.values, of_mh.values, atol=1e-12)
            assert of_class.edge == pytest.approx(of_mh.edge, abs=1e-9)
            assert of_class.loss_factor == pytest.approx(of_mh.loss_factor, rel=1e-12)
        np.testing.assert_allclose(booster.weights, mh.weights[:, 0], rtol=1e-12)


def test_m1_ends_where_samme_goes_on() -> None:
    n = 90
    Y = np.where(np.arange(3) == np.arange(n)[:, None] % 3, 1, -1)
    bins = np.where(np.arange(n) % 10 < 4, 1 + np.arange(n) % 3 // 2, 1)[:, None].astype(np.uint8)
    m1, samme = M1(bins, Y), SAMME(bins, Y)
    assert 1 / 3 < m1.best_criterion() < 1 / 2
    assert m1.add_stump(0, 2).edge == 0.0
    assert m1.stopped
    assert m1.log_loss == 0.0
    assert samme.add_stump(0, 2).edge > 0.05
    assert not samme.stopped


@pytest.mark.parametrize("learning_rate", [1.0, 0.4])
def test_the_loss_of_samme_is_the_multiclass_exponential_loss(learning_rate: float) -> None:
    """Zhu et al. 2009, eq. 4 and 11, with f written out as a sum of vectors."""
    bins, Y = problem(4)
    K, booster = 4, SAMME(bins, Y, learning_rate=learning_rate)
    coded, f = np.where(Y > 0, 1.0, -1 / (K - 1)), np.zeros(Y.shape)
    for _ in range(6):
        before = booster.scores.copy()
        added = add_best(booster)
        alpha = 2 * np.abs(booster.scores - before)[0, 0]  # nu alpha
        predicted = (booster.scores - before) > 0
        f += (K - 1) ** 2 / K * alpha * np.where(predicted, 1.0, -1 / (K - 1))
        losses = np.exp(-(coded * f).sum(axis=1) / K)
        assert math.exp(booster.log_loss) == pytest.approx(losses.mean(), rel=1e-10)
        np.testing.assert_allclose(booster.weights, losses / losses.sum(), rtol=1e-10)
        np.testing.assert_array_equal(booster.predict(), f.argmax(axis=1))
        accuracy = 0.0 if learning_rate < 1 else 1 / (1 + (K - 1) * math.exp(-alpha))
        if accuracy:
            z = K * accuracy ** (1 / K) * ((1 - accuracy) / (K - 1)) ** ((K - 1) / K)
            assert added.edge == pytest.approx(math.sqrt(1 - z * z), abs=1e-9)


# ------------------------------------------------------------------------- other libraries


@pytest.mark.parametrize(
    ("library", "algorithm", "cls", "scale", "tolerance"),
    [
        ("opencv", "DISCRETE", M1, 2.0, 1e-6),
        ("opencv", "REAL", Unsmoothed, 1.0, 1e-6),
        ("opencv", "GENTLE", Gentle, 1.0, 1e-6),
        ("scikit-learn", "SAMME.R", Unsmoothed, 1.0, 1e-10),
        ("scikit-learn", "SAMME.R smoothed", RealMH, 1.0, 1e-10),
    ],
)
def test_the_rounds_of_other_libraries(
    library: str, algorithm: str, cls: type[NaiveBooster], scale: float, tolerance: float
) -> None:
    """Values of 25 rounds on the cuts of the library; the file has versions and calls.

    OpenCV is within 1e-7. Its discrete boosting has votes of each side, as M1, and 2 alpha.
    """
    X, y = load_digits(return_X_y=True)
    Y = np.where(y >= 5, 1, -1)[:, None]
    booster = cls(X.astype(np.uint8) + 1, Y)
    for feature, cut, below, above in REFERENCE[library][algorithm]:
        values = scale * booster.add_stump(feature, math.floor(cut) + 2).values[:, 0]
        assert values.tolist() == pytest.approx([below, above], abs=tolerance)
    assert booster.log_loss < -0.3


# ------------------------------------------------------------------------- RankBoost


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_queries", [1, 4])
def test_rank_is_rankboost_on_pairs(n_queries: int, weighted: bool) -> None:
    """Freund et al. 2003, Figure 1, with D over all pairs and h in {0, 1}."""
    bins, Y = problem(1, 30)
    rng, y = np.random.default_rng(2), Y[:, 0]
    groups = rng.integers(0, n_queries, len(y))
    weight = rng.integers(1, 4, len(y)) if weighted else np.ones(len(y))
    booster = Rank(bins, Y, example_weight=weight, groups=groups)
    pairs = [
        (i, j)
        for i, j in itertools.product(range(len(y)), repeat=2)
        if y[i] < 0 < y[j] and groups[i] == groups[j]
    ]
    D1 = np.array([weight[i] * weight[j] for i, j in pairs], np.float64)
    D1 /= D1.sum()
    D = D1.copy()
    for _ in range(6):
        best = booster.best_criterion()
        cut = next(cut for cut in cuts(booster) if booster.criterion(*cut) > best - 1e-12)
        h = (bins[:, cut[0]] >= cut[1]).astype(np.float64)
        r = sum(d * (h[j] - h[i]) for d, (i, j) in zip(D, pairs, strict=True))
        assert abs(r) == pytest.approx(best, abs=1e-12)
        alpha = 0.5 * math.log((1 + r) / (1 - r))
        factors = np.array([math.exp(alpha * (h[i] - h[j])) for i, j in pairs])
        z = float((D * factors).sum())
        D = D * factors / z
        added = booster.add_stump(*cut)
        assert added.edge == pytest.approx(abs(r), abs=1e-12)
        assert added.loss_factor == pytest.approx(z, rel=1e-12)
        assert z <= math.sqrt(1 - r * r) + 1e-12  # their eq. 5
        assert added.values[1] - added.values[0] == pytest.approx([alpha], rel=1e-9)
        f = booster.scores[:, 0]
        losses = np.array([math.exp(f[i] - f[j]) for i, j in pairs])
        assert math.exp(booster.log_loss) == pytest.approx((D1 * losses).sum(), rel=1e-9)


# ------------------------------------------------------------------------- output codes


def test_labels_of_0_have_no_weight() -> None:
    bins, Y = problem(4)
    Y = Y.copy()
    Y[:, 2] = 0
    fewer = np.delete(Y, 2, axis=1)
    for init, name in itertools.product(("uniform", "balanced"), ("mh", "info", "gentle")):
        booster = naive_booster(bins, Y, name, weight_init=init)
        assert booster.weights[:, 2].tolist() == [0.0] * len(Y)
        without = naive_booster(bins, fewer, name, weight_init=init)
        np.testing.assert_allclose(np.delete(booster.weights, 2, axis=1), without.weights)
        for _ in range(4):
            assert add_best(booster).edge == pytest.approx(add_best(without).edge, abs=1e-9)


def test_decoding() -> None:
    code = np.array([[1, 1, -1], [-1, 0, 1], [1, -1, 0]])
    scores = np.array([[0.5, -2.0, 0.1], [-1.0, 3.0, 0.2], [0.3, 0.2, 0.0]])
    # The first row has the losses 9.1, 3.6 and 1.7 and the distances 2, 1.5 and 0.5.
    assert loss_based_decoding(scores, code).tolist() == [2, 1, 0]
    assert hamming_decoding(scores, code).tolist() == [2, 1, 0]
    opposite, doubtful = np.array([[1, 1, 1], [-1, -1, -1]]), np.array([[3.0, -0.1, -0.1]])
    assert loss_based_decoding(doubtful, opposite).tolist() == [0]
    assert hamming_decoding(doubtful, opposite).tolist() == [1]
