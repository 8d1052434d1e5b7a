"""Draws by logistic weights, as FilterBoost's, against scores that are summed outside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.errors import SettingError
from boostsample.kernels.array_layout import Rows, matrix_of_rows
from boostsample.learner import Targets
from boostsample.loop.booster import Booster
from boostsample.rows.sampling_schemes import SCHEMES, UNPROMISED
from boostsample.rows.searcher import Searcher
from boostsample.rows.weights import WeightedRows
from boostsample.strategies import UniformNaive
from tests import naive
from tests.compiled import slow_without_jit
from tests.problems import bank_of, local_rows, noisy_labels, table

N, T, Z, REPETITIONS = 120, 40, 4.5, 2000


class Run:
    """A booster after some rounds of stumps, the scores of its examples, and their naive q."""

    def __init__(self, n_labels: int, init: str = "balanced", weighted: bool = False) -> None:
        X, Y = table(N, seed=5), noisy_labels(N, n_labels)
        user = np.random.default_rng(6).uniform(0.2, 3.0, N) if weighted else None
        bank = bank_of(X)
        settings: dict[str, Any] = {"weight_init": init, "example_weight": user}
        self.booster = Booster(bank, None, Y, UniformNaive(3), n_rounds=99, rng=7, **settings)
        self.Y, self.bank = Y, bank
        self.scores: Any = np.zeros(Y.shape)
        for _ in range(12):
            for term in self.booster.next_round().terms:
                phi = np.where(bank.column(term.feature) >= term.threshold, 1, -1)
                self.scores += term.alpha * np.outer(phi, term.votes)
        u = naive.initial_weights(Y, init, None if user is None else user.tolist())
        accepted, shares = naive.acceptance(self.scores.tolist(), Y, u)
        self.q, self.shares = np.array(accepted), np.array(shares)
        # A round begins by telling the weights of the loss.
        self.weights = local_rows(self.booster).weights
        self.weights.log_loss = self.booster._log_loss

    def drawn(self, rows: WeightedRows, rng: np.random.Generator) -> tuple[Rows, NDArray[Any]]:
        """A sample and its signed weights, (n, K)."""
        rows.release()
        sample = rows.draw(
            min(T, rows.n_examples - 1), SCHEMES["filter"], rng, UNPROMISED["filter"]
        )
        values = matrix_of_rows(sample.values, sample.examples.size, rows.width)
        return sample, values[:, : self.Y.shape[1]].astype(np.float64)


def rows_of(targets: Targets) -> WeightedRows:
    """The rows that a search of the targets reads."""
    target = targets.read()
    assert isinstance(target, Searcher)
    return target.weights


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("init", ["balanced", "uniform"])
@pytest.mark.parametrize("n_labels", [1, 3, 20])
def test_weights_of_drawn_rows_are_logistic(n_labels: int, init: str, weighted: bool) -> None:
    run = Run(n_labels, init, weighted)
    assert np.ptp(run.scores) > 0.5
    rows, values = run.drawn(run.weights, np.random.default_rng(0))
    hits = np.abs(values).sum(axis=1) * T
    np.testing.assert_allclose(hits, np.rint(hits), atol=1e-4)
    assert round(hits.sum()) == T
    expected = run.shares[rows.examples] * run.Y[rows.examples] * hits[:, None] / T
    np.testing.assert_allclose(values, expected, rtol=1e-4)


@slow_without_jit
@pytest.mark.parametrize("n_labels", [1, 3])
def test_examples_are_drawn_as_they_are_accepted(n_labels: int) -> None:
    run, rng, hits = Run(n_labels), np.random.default_rng(1), np.zeros(N)
    for _ in range(REPETITIONS):
        rows, values = run.drawn(run.weights, rng)
        hits[rows.examples] += np.rint(np.abs(values).sum(axis=1) * T)
    # The algorithm itself: a stream of uniformly drawn examples, each accepted with probability q.
    stream = rng.integers(0, N, 40 * T * REPETITIONS // 10)
    chance = run.q * N  # u sums to 1
    chosen = stream[rng.random(stream.size) < chance[stream]]
    accepted = np.bincount(chosen, minlength=N) / chosen.size
    share = run.q / run.q.sum()
    for observed, n in ((hits / hits.sum(), T * REPETITIONS), (accepted, chosen.size)):
        assert (np.abs(observed - share) <= Z * np.sqrt(share / n)).all()
    by_weight = run.weights.exact()
    total = np.abs(matrix_of_rows(by_weight.values, N, run.weights.width)).sum(axis=1)
    other = total / total.sum()  # draws by the weights of the loop would be seen
    assert (np.abs(hits / hits.sum() - other) > Z * np.sqrt(other / (T * REPETITIONS))).any()


@pytest.mark.parametrize(("scale", "good"), [(20.0, True), (90.0, False), (900.0, False)])
def test_draws_continue_models_whose_scores_the_weights_tell(scale: float, good: bool) -> None:
    """Weights at their least would count as much as those of the examples that are wrong."""
    X, Y = table(N, seed=5), noisy_labels(N, 1)
    scores = scale * Y * np.linspace(-1.0, 1.0, N)[:, None]
    run = Booster(bank_of(X), None, Y, UniformNaive(3), rng=0, scores=scores)
    rows = local_rows(run)
    rows.begin(run.start_log_loss)
    rng = np.random.default_rng(1)
    if not good:
        with pytest.raises(SettingError, match=r"a model to continue .* of log10 loss"):
            rows.weights.draw(T, SCHEMES["filter"], rng, UNPROMISED["filter"])
        return
    found = np.abs(rows.weights._logistic()).astype(np.float64)
    q = 1.0 / (1.0 + np.exp(Y * scores))[:, 0]
    np.testing.assert_allclose(found / found.sum(), q / q.sum(), atol=1e-6)


@pytest.mark.parametrize("n_labels", [1, 3])
def test_targets_of_products_and_nodes_of_trees(n_labels: int) -> None:
    run = Run(n_labels)
    run.booster._rows.begin(run.booster._log_loss)
    run.booster._search.begin(1)
    targets = run.booster._targets()
    stump = targets.search()
    phi = np.where(run.bank.column(stump.feature) >= stump.threshold, 1, -1)
    labels = run.Y * np.outer(phi, stump.votes)
    product = targets.times(stump)
    below, above = targets.split(stump)
    nodes: list[tuple[Targets, NDArray[Any], NDArray[Any]]] = [
        (product, labels, np.ones(N, bool)),
        (below, run.Y, phi < 0),
        (above, run.Y, phi > 0),
    ]
    for node, signs, members in nodes:
        rows, values = run.drawn(rows_of(node), np.random.default_rng(2))
        assert members[rows.examples].all()
        sizes = np.abs(values).sum(axis=1, keepdims=True)
        expected = (run.shares * signs)[rows.examples]
        np.testing.assert_allclose(values / sizes, expected, rtol=1e-4)
        np.testing.assert_allclose(sizes.sum(), 1.0, rtol=1e-4)
