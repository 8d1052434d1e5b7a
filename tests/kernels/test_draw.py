"""Draws against their naive twins."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.kernels import draw
from tests import naive
from tests.compiled import COMPILED

SIZES = (1, 2, 15, 16, 17, 64, 200, 1000) if COMPILED else (1, 2, 17, 40)


def weights_of(n: int, seed: int) -> list[NDArray[np.float32]]:
    """Random, equal, zero in places, of very different sizes, and with one heavy example."""
    rng = np.random.default_rng(seed)
    holes = rng.random(n) * (rng.random(n) < 0.5)
    holes[rng.integers(n)] = 1.0
    heavy = np.full(n, 1e-7)
    heavy[n // 2] = 1.0
    wide = 10.0 ** rng.uniform(-30, 0, n)
    return [w.astype(np.float32) for w in (rng.random(n), np.ones(n), holes, wide, heavy)]


def ends_of(weight: NDArray[np.float32]) -> NDArray[np.float64]:
    ends = np.full(-(-weight.size // draw.DRAW_BLOCK), -1.0)
    draw.cumulate_for_draw(weight, ends)
    return ends


@pytest.mark.parametrize("n", SIZES)
def test_cumulate(n: int) -> None:
    for weight in weights_of(n, n):
        so_far, want = 0.0, []
        for i, w in enumerate(weight.tolist()):
            so_far += w
            if i % draw.DRAW_BLOCK == draw.DRAW_BLOCK - 1 or i == n - 1:
                want.append(so_far)
        np.testing.assert_allclose(ends_of(weight), want, rtol=1e-12)


def run_pick(
    weight: NDArray[np.float32], targets: NDArray[np.float64]
) -> tuple[NDArray[Any], NDArray[Any]]:
    examples, factors = np.full(targets.size, -1, np.int32), np.full(targets.size, -1.0)
    gaps = np.diff(targets, prepend=0.0)
    used = draw.pick_by_weight(weight, ends_of(weight), gaps, 1.0, examples, factors)
    return examples[:used], factors[:used]


@pytest.mark.parametrize("n", SIZES)
def test_pick(n: int) -> None:
    rng = np.random.default_rng(n)
    for weight in weights_of(n, n):
        total = float(weight.astype(np.float64).sum())
        for size in (1, 3, 50):
            # Multiples of 2**-20 of the total: their gaps add up to them again without rounding.
            unit = total * 2.0**-20
            targets = np.asarray(np.sort(rng.integers(0, 2**20, size)) * unit, np.float64)
            examples, factors = run_pick(weight, targets)
            hits = Counter(naive.pick(weight.tolist(), targets.tolist()))
            assert examples.tolist() == sorted(hits)
            want = [hits[i] / (size * float(weight[i])) for i in examples.tolist()]
            np.testing.assert_allclose(factors, want, rtol=1e-12)
            assert (weight[examples] > 0).all()


def test_pick_at_the_ends() -> None:
    weight = np.ones(40, np.float32)
    examples, _ = run_pick(weight, np.array([0.0, 0.5, 1.0, 15.999, 16.0, 39.0, 39.999]))
    assert examples.tolist() == [0, 1, 15, 16, 39]
    examples, factors = run_pick(weight, np.array([40.0, 41.0]))  # rounding beyond the last end
    assert (examples.tolist(), factors.tolist()) == ([39], [1.0])
    weight[:7] = 0
    assert run_pick(weight, np.array([0.0]))[0].tolist() == [7]


@pytest.mark.parametrize("n", [n for n in SIZES if n > 1])
def test_pivotal(n: int) -> None:
    rng = np.random.default_rng(n)
    for weight in weights_of(n, n):
        present = int(np.count_nonzero(weight))
        for size in {1, 2, present // 2, present - 1} - {0}:
            if size >= present:
                continue
            seed = int(rng.integers(1 << 63))
            examples, inclusion = run_pivotal(weight, size, seed)
            assert len(set(examples.tolist())) == size
            uniforms = naive.hashed_uniforms(seed, n)
            chosen, pi = naive.pivotal(weight.tolist(), size, uniforms)
            assert examples.tolist() == chosen
            np.testing.assert_allclose(inclusion, pi, rtol=1e-6)


def run_pivotal(weight: NDArray[np.float32], size: int, seed: int) -> tuple[Any, Any]:
    examples, inclusion = np.full(size + 1, -1, np.int32), np.full(size + 1, -1.0)
    level, taken = draw.inclusion_level(weight, size), np.full(weight.size + 1, 9, np.uint8)
    used = draw.draw_pivotal(weight, level, seed, taken, examples, inclusion)
    return examples[:used], inclusion[:used]


@pytest.mark.parametrize(
    ("weights", "size"),
    [
        ([0.4482685625553131, 0.1591857522726059, 0.2890828251838684], 2),
        ([0.9273138642311096, 0.6848322153091431, 0.24248167872428894], 2),
        ([0.9771693348884583, 0.9771693348884583, 0.4258427321910858, 0.5513266324996948], 3),
    ],
)
def test_inclusion_level_of_weights_that_it_equals_up_to_rounding(
    weights: list[float], size: int
) -> None:
    """The heaviest weights are c, and rounding makes them lighter than c or not."""
    weight = np.array(weights, np.float32)
    level = draw.inclusion_level(weight, size)
    assert level == pytest.approx(weights[0], rel=1e-6)
    assert np.minimum(1.0, weight / level).sum() == pytest.approx(size, rel=1e-6)


def test_inclusion_level() -> None:
    rng = np.random.default_rng(0)
    for n in (2, 15, 16, 17, 200):
        for weight in weights_of(n, n):
            present = int(np.count_nonzero(weight))
            for size in {1, present // 2, present - 1} - {0}:
                level = draw.inclusion_level(weight, size)
                assert np.minimum(weight / level, 1.0).sum() == pytest.approx(size, rel=1e-6)
    spread = (10.0 ** rng.uniform(-30, 0, 100)).astype(np.float32)
    level = draw.inclusion_level(spread, 60)  # the light ones are far below rounding of the sum
    assert np.minimum(spread.astype(np.float64) / level, 1.0).sum() == pytest.approx(60, rel=1e-6)
    few = np.array([1, 0, 0, 1], np.float32)
    assert 0 < draw.inclusion_level(few, 3) <= 1


def test_nested_picks_are_picks_one_after_another() -> None:
    rng = np.random.default_rng(1)
    weight = weights_of(200, 3)[0]
    ends, more, extra = ends_of(weight), np.array([5, 0, 40, 1]), 1
    gaps = rng.standard_exponential(int(more.sum()) + extra * more.size)
    scales = np.full(4, ends[-1] / 60.0)
    examples, factors = np.empty(46, np.int32), np.empty(46)
    used = np.empty(4, np.int64)
    draw.pick_nested(weight, ends, more, gaps, scales, examples, factors, used)
    first = gap = 0
    for size, end in zip(more.tolist(), used.tolist(), strict=True):
        single, shares = np.empty(size, np.int32), np.empty(size)
        n = draw.pick_by_weight(weight, ends, gaps[gap:], scales[0], single, shares)
        assert examples[first:end].tolist() == single[:n].tolist()
        np.testing.assert_allclose(factors[first:end], shares[:n] * size, rtol=1e-12)
        first, gap = end, gap + size + extra


@pytest.mark.parametrize(("q", "n_features"), [(1, 1), (1, 3), (2, 5), (5, 5)])
def test_drawn_features_are_different_and_any_subset_is_as_likely(q: int, n_features: int) -> None:
    features, n = np.empty(q, np.int64), 3000 if COMPILED else 200
    counts = Counter[tuple[int, ...]]()
    for seed in range(n):
        draw.draw_features(seed, n_features, features)
        counts[tuple(features.tolist())] += 1
    subsets = list(itertools.combinations(range(n_features), q))
    assert set(counts) <= set(subsets)
    expected = n / len(subsets)
    assert all(abs(counts[one] - expected) <= 5.0 * expected**0.5 for one in subsets)


def drawn_of_nodes(again: list[int], pool: list[int], ends: list[float], q: int) -> list[list[int]]:
    """Draws of q of 8 features with different seeds."""
    features, marks = np.empty(q, np.int64), np.zeros(8, np.uint8)
    of_pool = np.array(again, np.int64), np.array(pool, np.int64), np.array(ends)
    drawn = []
    for seed in range(3000 if COMPILED else 200):
        n = draw.draw_node_features(seed, 8, *of_pool, marks, features)
        drawn.append(features[:n].tolist())
        assert len(set(drawn[-1])) == n
        assert not marks.any()
    return drawn


def require_shares(values: list[int], shares: dict[int, float]) -> None:
    """Values are as frequent as their shares say."""
    counts, n = Counter(values), len(values)
    assert set(counts) <= set(shares)
    assert all(abs(counts[f] - n * s) <= 5.0 * (n * s) ** 0.5 for f, s in shares.items())


@pytest.mark.parametrize("again", [[7, 5, 3, 1], [2, 2, 2], [6]])
@pytest.mark.parametrize("q", [2, 4, 7])
def test_up_to_half_of_the_features_of_a_node_are_drawn_again(again: list[int], q: int) -> None:
    """They come first, search s of t with the probability (2 s - 1) / t^2."""
    drawn = drawn_of_nodes(again, [], [], q)
    assert {len(features) for features in drawn} == {q}
    shares = dict.fromkeys(again, 0.0)
    for s, feature in enumerate(again, 1):
        shares[feature] += (2 * s - 1) / len(again) ** 2
    require_shares([features[0] for features in drawn], shares)
    n_again = [sum(f in again for f in features[: q // 2]) for features in drawn]
    assert max(n_again) == min(q // 2, len(set(again)))


@pytest.mark.parametrize("pool", [[], [1, 4, 6, 7]])
@pytest.mark.parametrize("q", [1, 3])
def test_other_features_of_a_node_are_as_likely(pool: list[int], q: int) -> None:
    drawn = drawn_of_nodes([], pool, [], q)
    known = pool or list(range(8))
    assert {len(features) for features in drawn} == {q}
    for place in range(q):
        require_shares(
            [features[place] for features in drawn], dict.fromkeys(known, 1 / len(known))
        )


def test_features_of_a_node_are_drawn_by_their_chances_with_repeats_left_out() -> None:
    drawn = drawn_of_nodes([], [6, 2, 3], [0.5, 3.5, 4.0], 2)
    require_shares([features[0] for features in drawn], {6: 0.125, 2: 0.75, 3: 0.125})
    different = 1.0 - 0.75**2 - 2 * 0.125**2
    require_shares([len(features) for features in drawn], {1: 1.0 - different, 2: different})
