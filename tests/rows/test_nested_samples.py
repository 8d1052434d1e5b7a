"""Distribution of every sample of a nested draw."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.kernels.draw import DRAW_BLOCK, cumulate_for_draw
from boostsample.rows.sampling_schemes import DrawnSample, nested_scheme
from tests import naive
from tests.compiled import COMPILED, slow_without_jit
from tests.rows.test_sampling_schemes import FEWER, NAMES, Z


def nested_by(
    scheme: str, weight: NDArray[np.float32], sizes: tuple[int, ...], seed: int
) -> list[DrawnSample]:
    """Examples and whole factors of nested samples, copied from the arrays that they share."""
    ends = np.empty(-(-weight.size // DRAW_BLOCK))
    cumulate_for_draw(weight, ends)
    samples, before = [], np.empty(0, np.int32)
    nested = nested_scheme(scheme)(weight, ends, sizes, np.random.default_rng(seed))
    for (examples, factors), scale, known in nested:
        assert known <= before.size
        np.testing.assert_array_equal(examples[:known], before[:known])
        assert set(before.tolist()) <= set(examples.tolist())
        samples.append(DrawnSample(examples.copy(), factors * scale))
        before = examples.copy()
    assert len(samples) == len(sizes)
    return samples


WEIGHTS = {
    "random": np.random.default_rng(3).random(40),
    "wide": 10.0 ** np.random.default_rng(4).uniform(-3, 0, 40),
    "equal": np.ones(40),
    "one heavy": np.append(np.ones(39), 1000.0),
}


@slow_without_jit
@pytest.mark.parametrize("name", WEIGHTS)
def test_nested_distinct_samples_and_their_inclusion_probabilities(name: str) -> None:
    weight, sizes = WEIGHTS[name].astype(np.float32), (1, 3, 7, 7, 20, 39)
    total = weight.astype(np.float64).sum()
    pi = np.array([naive.inclusion_probabilities(weight.tolist(), T) for T in sizes])
    counts = np.zeros(pi.shape)
    for seed in range(FEWER):
        for s, drawn in enumerate(nested_by("distinct", weight, sizes, seed)):
            assert drawn.examples.size == sizes[s]
            assert (np.diff(drawn.examples) > 0).all()
            counts[s, drawn.examples] += 1
            probability = pi[s, drawn.examples]
            np.testing.assert_allclose(drawn.factors * probability * total, 1.0, rtol=2e-6)
    spread = np.sqrt(FEWER * pi * (1 - pi))
    assert (np.abs(counts - FEWER * pi) <= Z * spread + 1e-3).all()


@slow_without_jit
@pytest.mark.parametrize("scheme", ["iid", "stratified", "filter"])
@pytest.mark.parametrize("name", WEIGHTS)
def test_hits_of_nested_samples_are_proportional_to_the_weights(name: str, scheme: str) -> None:
    """Multinomial with i.i.d. draws, no more variable with strata; draws added are new ones."""
    weight, sizes = WEIGHTS[name].astype(np.float32), (3, 10, 10, 23)
    share = weight.astype(np.float64) / weight.astype(np.float64).sum()
    hits = np.zeros((len(sizes), FEWER, 40))
    for seed in range(FEWER):
        for s, drawn in enumerate(nested_by(scheme, weight, sizes, seed)):
            hits_of_rows = drawn.factors * sizes[s] * weight[drawn.examples]
            np.testing.assert_allclose(hits_of_rows, np.rint(hits_of_rows), rtol=1e-6)
            np.add.at(hits[s, seed], drawn.examples, np.rint(hits_of_rows))
    np.testing.assert_array_equal(hits[1], hits[2])
    assert (np.diff(hits, axis=0) >= 0).all()
    for s, T in enumerate(sizes):
        assert (hits[s].sum(axis=1) == T).all()
        variance = T * share * (1 - share)
        error = np.sqrt(variance / FEWER)
        assert (np.abs(hits[s].mean(axis=0) - T * share) <= Z * error + 1e-3).all()
        squares = (hits[s] - T * share) ** 2
        beyond = squares.mean(axis=0) - variance
        slack = Z * squares.std(axis=0) / np.sqrt(FEWER) + 1e-3
        assert (beyond <= slack).all()
        if scheme != "stratified":
            enough = FEWER * T * share > 50  # fewer hits do not show their variance
            assert (beyond >= -slack)[enough].all()
    if scheme != "stratified":
        added = hits[3] - hits[0]  # 20 draws, independent of the first 3
        together = ((added - 20 * share) * (hits[0] - 3 * share)).mean(axis=0)
        slack = np.sqrt(20 * 3) * share * (1 - share) / np.sqrt(FEWER)
        assert (np.abs(together) <= Z * slack + 4 / FEWER).all()  # of rare ones


@pytest.mark.parametrize("scheme", NAMES)
@pytest.mark.parametrize("n", [17, 40, 203])
def test_nested_samples_of_extreme_weights(scheme: str, n: int) -> None:
    """One example with nearly all weight, weights down to 1e-30, and few examples with any."""
    rng = np.random.default_rng(n)
    heavy, few = np.full(n, 1e-30), np.zeros(n)
    heavy[n // 2] = 1.0
    few[[0, n // 2, n - 1]] = 1.0, 1e-20, 3.0
    for weights in (heavy, few, 10.0 ** rng.uniform(-30, 0, n)):
        weight = weights.astype(np.float32)
        for seed in range(20 if COMPILED else 2):
            sizes = (1, 2, 5, n - 2, n - 1)
            for T, drawn in zip(sizes, nested_by(scheme, weight, sizes, seed), strict=True):
                assert drawn.examples.size <= T
                assert (weight[drawn.examples] > 0).all()
                assert np.isfinite(drawn.factors).all()
                if scheme != "distinct":  # exactly T hits
                    mass = (drawn.factors * weight[drawn.examples]).sum()
                    assert mass == pytest.approx(1.0, rel=1e-6)
                elif T > 3:  # heavy ones are always in
                    assert weight.argmax() in drawn.examples.tolist()
