"""Draws that are not in proportion to weights, and searches that are rough."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.errors import SettingError
from boostsample.loop.booster import Booster
from boostsample.rows import searcher as module
from boostsample.rows.searcher import Searcher
from boostsample.rows.weights import SignedWeights
from boostsample.step import Step
from boostsample.strategy import Stump
from tests import naive
from tests.compiled import COMPILED, slow_without_jit
from tests.problems import Do, bank_of, noisy_labels, step_of, table
from tests.rows.test_sampling_schemes import REPETITIONS, WEIGHTS, Z, drawn_by, nested_by
from tests.test_step import dense

OTHERS = ("mvs", "goss", "uniform", "heaviest")
N, T = 60, 17


def weights_of(n_labels: int) -> tuple[SignedWeights, NDArray[np.float64]]:
    """Skewed weights, and the signed ones as a matrix that sums to 1."""
    Y = noisy_labels(N, n_labels)
    u = 10.0 ** np.random.default_rng(5).uniform(-3, 0, Y.shape)
    return SignedWeights(Y, u, np.arange(N)), u * Y / u.sum()


@pytest.mark.parametrize("n_labels", [1, 3, 20])
@pytest.mark.parametrize("scheme", OTHERS)
def test_rows_are_signed_weights_times_factors_as_a_share_of_their_weight(
    scheme: str, n_labels: int
) -> None:
    weights, signed = weights_of(n_labels)
    searcher = Searcher(bank_of(table(N)), weights)
    total = np.abs(signed).sum(axis=1)
    norm = naive.norms(signed.tolist())
    for seed in range(10):
        weights.release()
        rows = dense(searcher.sample(T, scheme, np.random.default_rng(seed)).rows, N, n_labels)
        inside = np.abs(rows).sum(axis=1) > 0
        assert inside.sum() == T
        factors = np.ones(N)
        if scheme == "mvs":
            factors = 1 / np.array(naive.mvs_probabilities(norm, T))
        elif scheme == "goss":
            top = naive.heaviest(norm, 11)  # 2/3 of 17
            assert inside[top].all()
            factors[:] = (N - 11) / 6
            factors[top] = 1
        elif scheme == "heaviest":
            assert np.flatnonzero(inside).tolist() == naive.heaviest(total.tolist(), T)
        expected = signed * (factors * inside)[:, None]
        np.testing.assert_allclose(rows, expected / np.abs(expected).sum(), rtol=2e-5, atol=1e-9)


@slow_without_jit
@pytest.mark.parametrize("size", [1, 2, 7, 20, 39])
@pytest.mark.parametrize("name", WEIGHTS)
def test_inclusion_probabilities(name: str, size: int) -> None:
    weight = WEIGHTS[name].astype(np.float32)
    n_top = 2 * size // 3
    top = naive.heaviest(weight.tolist(), n_top)
    goss = np.full(40, (size - n_top) / (40 - n_top))
    goss[top] = 1
    expected = {
        "mvs": np.array(naive.mvs_probabilities(weight.tolist(), size)),
        "goss": goss,
        "uniform": np.full(40, size / 40),
    }
    for scheme, pi in expected.items():
        counts = np.zeros(40)
        for seed in range(REPETITIONS):
            drawn = drawn_by(scheme, weight, size, seed)
            assert drawn.examples.size == size
            assert drawn.examples.dtype == np.int32
            assert (np.diff(drawn.examples) > 0).all()
            counts[drawn.examples] += 1
            if scheme != "uniform":
                assert np.abs(drawn.factors * pi[drawn.examples] - 1).max() <= 1e-5
        spread = np.sqrt(REPETITIONS * pi * (1 - pi))
        assert (np.abs(counts - REPETITIONS * pi) <= Z * spread + 1e-3).all(), scheme


@slow_without_jit
@pytest.mark.parametrize("name", WEIGHTS)
def test_inclusion_probabilities_of_nested_samples(name: str) -> None:
    weight, sizes, repetitions = WEIGHTS[name].astype(np.float32), (1, 7, 7, 20, 39), 700
    uniform = [np.full(40, T / 40) for T in sizes]
    mvs = [np.array(naive.mvs_probabilities(weight.tolist(), T)) for T in sizes]
    for scheme, expected in (("uniform", uniform), ("mvs", mvs)):
        counts = np.zeros((len(sizes), 40))
        for seed in range(repetitions):
            for s, drawn in enumerate(nested_by(scheme, weight, sizes, seed)):
                assert len(set(drawn.examples.tolist())) == drawn.examples.size == sizes[s]
                counts[s, drawn.examples] += 1
        pi = np.array(expected)
        spread = np.sqrt(repetitions * pi * (1 - pi))
        assert (np.abs(counts - repetitions * pi) <= Z * spread + 1e-3).all(), scheme


def test_the_heaviest_of_nested_samples() -> None:
    weight = np.random.default_rng(0).integers(0, 5, 40).astype(np.float32)
    for size, drawn in zip((1, 5, 33), nested_by("heaviest", weight, (1, 5, 33), 0), strict=True):
        assert sorted(drawn.examples.tolist()) == naive.heaviest(weight.tolist(), size)
        assert (drawn.factors == 1).all()


@pytest.mark.parametrize("mass", [1e-9, 0.1, 0.5, 0.9, 0.999, 1.0])
@pytest.mark.parametrize("n_labels", [1, 3])
def test_how_many_of_the_heaviest(n_labels: int, mass: float) -> None:
    Y = noisy_labels(N, n_labels)
    u = 10.0 ** np.random.default_rng(5).uniform(-3, 0, Y.shape)
    step = step_of(bank_of(table(N)), Y, u)
    step.draw(5, "mvs")  # leaves norms where the weights were
    total = u.sum(axis=1)
    n = step.n_heaviest(mass)
    assert n == naive.n_heaviest(total.tolist(), mass)
    assert step.spent == 0


@pytest.mark.parametrize("mass", [0.0, -0.1, 1.01, np.nan, "half"])
def test_bad_masses_are_refused(mass: float) -> None:
    step = step_of(bank_of(table()), noisy_labels())
    with pytest.raises(SettingError, match="mass must be"):
        step.n_heaviest(mass)


@pytest.mark.parametrize("n_labels", [1, 3])
def test_no_edge_exceeds_the_bound_of_quickboost(n_labels: int) -> None:
    """W H + 1 - W bounds the best edge on all examples, also in nodes of trees."""
    slack: list[float] = []

    def choose(step: Step) -> Stump:
        every = np.arange(step.n_features)
        exact = step.search(every, step.draw(step.n_examples))
        for mass in (0.3, 0.7, 0.95):
            stumps = step.search(every, step.draw(step.n_heaviest(mass), "heaviest"))
            slack.extend((1 - mass * (1 - stumps.edge) - exact.edge).tolist())
        return exact.best()

    Y = noisy_labels(80, n_labels)
    learner = "tree:n_leaves=4"
    booster = Booster(
        bank_of(table()), None, Y, Do(choose), learner, n_rounds=6, budget=10**9, rng=0
    )
    for _ in range(6):
        booster.next_round()
    assert min(slack) > -1e-6
    assert min(slack) < 0.05


compiled = pytest.mark.skipif(not COMPILED, reason="searches take minutes without compilation")


class Watched(Searcher):
    """Keeps the tie, in units of edges, and the precision of each search."""

    def __init__(self, n: int, n_labels: int = 3, n_features: int = 8, top: int = 40) -> None:
        Y = noisy_labels(n, n_labels)
        u = np.random.default_rng(0).random(Y.shape) + 0.1
        super().__init__(bank_of(table(n, n_features, top)), SignedWeights(Y, u, np.arange(n)))
        self.seen: list[tuple[float, bool]] = []
        kernel = self._search._kernel

        def search(*args: Any) -> None:
            rows, tie, _, rough = args[3:7]
            self.seen.append((tie * rows.scale, rough))
            kernel(*args)

        self._search._kernel = search


@compiled
@pytest.mark.parametrize("n", [50, module.FEW])
def test_exact_searches_are_never_in_float32(n: int) -> None:
    searcher, rng = Watched(n), np.random.default_rng(0)
    for rows in (
        searcher.sample(n, "iid", rng).rows,
        *(sample.rows for sample in searcher.nested_samples([n, n], "distinct", rng)),
    ):
        searcher.search(np.arange(8), rows, True)
    assert {rough for _, rough in searcher.seen} == {False}


@compiled
@pytest.mark.parametrize("n_labels", [1, 3, 10, 17])
def test_they_find_what_float64_finds(n_labels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    searcher, features = Watched(900, n_labels), np.arange(8)
    for scheme in ("iid", "stratified", "distinct"):
        for rows in (
            sample.rows
            for sample in searcher.nested_samples([10, 200, 899], scheme, np.random.default_rng(1))
        ):
            rough = searcher.search(features, rows, False)
            with monkeypatch.context() as patch:
                patch.setattr(module, "FEW", 0)
                fine = searcher.search(features, rows, False)
            assert [best for _, best in searcher.seen[-2:]] == [True, False]
            np.testing.assert_allclose(rough.edge, fine.edge, atol=3e-6)
            signed = searcher.signed_edges(rough, rows)
            np.testing.assert_allclose(signed, fine.edge, atol=3e-6)
