"""Step sizes: alpha, loss and weights for a learning rate and a smoothing of alpha."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from boostsample.errors import SettingError
from boostsample.loop.booster import Booster
from boostsample.loop.shard_booster import ShardBooster
from boostsample.models.model import TermArrays
from boostsample.objectives.classes import SAMME, samme_accuracy, samme_edge
from boostsample.records import Round
from boostsample.registry import registered_names
from boostsample.rows.weights import EDGE_GAP, StepSize, initial_weights
from boostsample.shards.exchange import LocalShards
from boostsample.shards.server import array_sources
from tests.learners.naive_learners import NaiveBooster
from tests.learners.test_ties import parity
from tests.loop.checkpoint_runs import LEARNERS, finished, new_booster, straight, until
from tests.problems import bank_of, local_rows, noisy_labels, perfect, table

edges = st.one_of(
    st.floats(0.0, 1.0), st.floats(-16, 0).map(lambda e: 1.0 - 10.0**e), st.just(1.0), st.just(1e-7)
)
rates = st.floats(1e-3, 1.0)
smoothings = st.one_of(st.just(0.0), st.floats(1e-6, 1e3))


@given(edges, rates, smoothings, st.integers(1, 10**6))
def test_alpha_loss_and_factors_are_the_formulas(
    edge: float, rate: float, smoothing: float, n: int
) -> None:
    step = StepSize(rate, smoothing, n)
    capped, more = min(edge, 1.0 - EDGE_GAP), smoothing / n
    alpha = rate / 2 * math.log(((1 + capped) / 2 + more) / ((1 - capped) / 2 + more))
    assert step.alpha(edge) == pytest.approx(
        alpha, rel=1e-3 if edge > 1 - 1e-9 else 1e-6, abs=1e-12
    )
    alpha = step.alpha(edge)
    assert step.edge(alpha) == pytest.approx(edge, rel=1e-6, abs=1e-9)
    loss = (1 + edge) / 2 * math.exp(-alpha) + (1 - edge) / 2 * math.exp(alpha)
    assert math.exp(step.log_loss_change(edge)) == pytest.approx(
        loss, rel=1e-4 if step.is_full else 1e-9
    )
    assert step.log_loss_change(edge) <= 1e-15
    if not step.ends(edge):
        right, wrong = step.factors(edge, 2.0)
        assert right == pytest.approx(
            math.exp(-alpha) / loss / 2, rel=1e-4 if step.is_full else 1e-9
        )
        assert wrong == pytest.approx(
            math.exp(alpha) / loss / 2, rel=1e-4 if step.is_full else 1e-9
        )


def test_the_forms_of_the_literature() -> None:
    """MultiBoost has delta = 0.01 / N beside eps+ and eps-; [SS99] 4.2 has 1 / (N K)."""
    n, n_labels, right = 50, 3, 0.7
    for smoothing, added in ((0.01, 0.01 / n), (1 / n_labels, 1 / (n * n_labels))):
        alpha = 0.5 * math.log((right + added) / (1 - right + added))
        assert StepSize(1.0, smoothing, n).alpha(2 * right - 1) == pytest.approx(alpha, rel=1e-12)


@given(st.floats(0.0, 1.0), rates, smoothings, st.integers(1, 10**6), st.integers(3, 30))
@example(share=1.0, rate=1.0, smoothing=0.0, n=1, n_classes=4)
@example(share=1.0, rate=0.2, smoothing=1.0, n=100, n_classes=3)
def test_samme_is_smoothed_by_examples_of_all_classes(
    share: float, rate: float, smoothing: float, n: int, n_classes: int
) -> None:
    """s / N for the class that is right, and for each of the others; accuracies are of edges."""
    step, K, more = SAMME().step_size(rate, smoothing, n, n_classes), n_classes, smoothing / n
    edge = samme_edge(1 / K + share * (1 - 1 / K), K)
    accuracy = samme_accuracy(edge, K)
    assert accuracy == pytest.approx(1 / K + share * (1 - 1 / K), abs=1e-7)
    capped = min(accuracy, 1 - EDGE_GAP / 2)
    odds = (capped + more) / (1 - capped + (K - 1) * more)
    alpha = rate * math.log((K - 1) * odds)
    assert 2 * step.alpha(edge) == pytest.approx(alpha, rel=1e-4, abs=1e-12)
    alpha = 2 * step.alpha(edge)
    assert step.edge(alpha / 2) == pytest.approx(edge, rel=1e-6, abs=1e-5)
    loss = accuracy * math.exp(-alpha * (K - 1) / K) + (1 - accuracy) * math.exp(alpha / K)
    assert math.exp(step.log_loss_change(edge)) == pytest.approx(loss, rel=1e-3)
    if smoothing:
        assert alpha <= 1.001 * rate * math.log1p(n / smoothing)


def three_apart() -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """Three classes that a tree or a product tells apart, and a stump does not."""
    X, Y = table(60, 3), noisy_labels(60, 3)
    X[:, 2] = Y.argmax(axis=1)
    return X, Y


PARITY = parity(2, 5)
"""No stump has an edge."""
CASES: dict[str, tuple[NDArray[np.float32], NDArray[np.int8]]] = {
    "three labels": (table(60, 4), noisy_labels(60, 3)),
    "one label": (table(60, 4), noisy_labels(60, 1)),
    "edge 1": perfect(40),
    "edge 1 of a tree": three_apart(),
    "edge 0": (PARITY[0], PARITY[1][:, None]),
    "one row": (table(1, 3), noisy_labels(1, 3)),
}
STEPS = [(1.0, 0.0), (0.1, 0.0), (0.5, 0.01), (1.0, 0.5)]


def outputs_of(rounds: list[Round], bins: NDArray[np.uint8], n_labels: int) -> NDArray[np.float64]:
    """Scores f_l(x_i) of the rounds."""
    scores = np.zeros((bins.shape[1], n_labels))
    for done in rounds:
        sides = np.array([bins[term.feature] >= term.threshold for term in done.terms])
        outputs = TermArrays(done.terms, n_labels).outputs(sides)
        scores += done.terms[0].alpha * outputs
    return scores


@pytest.mark.parametrize("step_size", STEPS, ids=str)
@pytest.mark.parametrize("learner", ["stump", "product:n_terms=3", "tree:n_leaves=4"])
@pytest.mark.parametrize("case", CASES)
def test_rounds_are_those_of_the_twin_and_of_shards(
    case: str, learner: str, step_size: tuple[float, float]
) -> None:
    X, Y = CASES[case]
    steps: Any = dict(zip(("learning_rate", "smoothing"), step_size, strict=True))
    weight = np.random.default_rng(0).uniform(0.5, 1.5, len(Y))  # no ties of edges
    weight = np.ones(len(Y)) if case == "edge 0" else weight
    weights, n_labels = initial_weights(Y, "balanced") * weight[:, None], Y.shape[1]
    bank, common = bank_of(X), {"n_rounds": 8, "rng": 0, **steps}
    booster = Booster(bank, None, Y, "full", learner, example_weight=weight, **common)
    kind, _, size = learner.partition(":")
    arguments = kind, int(size.partition("=")[2] or 1), weights, *step_size
    twin = NaiveBooster(bank.bins, bank.n_bins, Y, *arguments)
    sources = array_sources(bank, Y, min(2, len(Y)), weight)
    shards = ShardBooster(LocalShards(sources), "full", learner, **common)
    rounds: list[Round] = []
    while not booster.finished:
        done, other = booster.next_round(), shards.next_round()
        rounds.append(done)
        naive = twin.next_round([(row["feature"], bin_of(bank, row)) for row in done.rows])
        alpha, loss = done.terms[0].alpha, done.rows[-1]["log10_loss"]
        assert done.edge == pytest.approx(naive.gamma, abs=2e-6)
        near_1 = done.edge > 1 - 1e-5  # where alpha is steep
        assert alpha == pytest.approx(naive.alpha, abs=1e-5, rel=0.2 if near_1 else 1e-5)
        assert loss == pytest.approx(twin.log10_loss, abs=1e-4 + 0.01 * near_1 * abs(loss))
        assert booster.stopped == shards.stopped
        assert other.terms[0].alpha == pytest.approx(alpha, rel=1e-3, abs=1e-6)
        assert other.rows[-1]["log10_loss"] == pytest.approx(loss, rel=1e-4, abs=1e-6)
        assert all(row["alpha"] == alpha for row in done.rows)
    scores = outputs_of(rounds, bank.bins, n_labels)
    mean = (weights * np.exp(-Y * scores)).sum() / weights.sum()
    assert 10 ** rounds[-1].rows[-1]["log10_loss"] == pytest.approx(mean, abs=1e-9, rel=2e-7)
    wrong = (weights * (Y * scores <= 0)).sum() / weights.sum()
    assert wrong <= mean * (1 + 1e-6)
    no_edge = case == "edge 0" and learner == "stump"
    assert (len(rounds) < 8) == (no_edge or (booster.step_size.is_full and rounds[-1].edge == 1.0))


def bin_of(bank: Any, row: dict[str, Any]) -> int:
    """The threshold of a history row as a bin."""
    cuts = bank.cuts_of(np.array([row["feature"]]))[0]
    return 1 + int(np.searchsorted(cuts, np.float32(row["threshold"]), side="right"))


def test_after_an_edge_of_1_training_goes_on_with_the_same_weights() -> None:
    X, Y = perfect()
    before = None
    booster = Booster(bank_of(X), None, Y, "full", n_rounds=50, rng=0, learning_rate=0.1)
    while not booster.finished:
        done = booster.next_round()
        (row,) = done.rows
        assert (row["edge"], row["stopped"], row["feature"]) == (1.0, "", 1)
        assert row["alpha"] == pytest.approx(0.05 * math.log((2 - EDGE_GAP) / EDGE_GAP))
        assert row["log10_loss"] == pytest.approx(-booster.round * row["alpha"] / math.log(10))
        weights = booster.state()["weights"]
        scaled = weights["values"] / weights["mass"]
        assert before is None or (scaled == before).all()
        before = scaled
    assert booster.round == 50
    assert Booster(bank_of(X), None, Y, "full", rng=0).next_round().last


def test_rows_too_light_for_the_edge_are_not_forgotten() -> None:
    """The edge is 1 but for a row of weight 1e-20, which grows until a round corrects it."""
    X, Y = perfect(20)
    X = np.concatenate([X, (np.arange(20) == 3).astype(np.float32)[:, None]], axis=1)
    Y[3] *= -1
    weight = np.where(np.arange(20) == 3, 1e-20, 1.0)
    arguments: dict[str, Any] = {"rng": 0, "n_rounds": 60, "example_weight": weight}
    booster = Booster(bank_of(X), None, Y, "full", learning_rate=0.5, **arguments)
    rounds = [booster.next_round() for _ in range(10)]
    assert all(done.edge > 1 - EDGE_GAP for done in rounds[:2])
    assert min(done.edge for done in rounds) < 0.99
    scores = outputs_of(rounds, bank_of(X).bins, 1)
    mean = float((weight[:, None] * np.exp(-Y * scores)).sum() / weight.sum())
    assert rounds[-1].rows[-1]["log10_loss"] == pytest.approx(math.log10(mean), rel=1e-5)


@pytest.mark.parametrize("strategy", registered_names("strategy"))
def test_every_strategy_goes_on_after_an_edge_of_1(strategy: str) -> None:
    X, Y = perfect(60)
    X = np.concatenate([X, table(60, 8, seed=3)], axis=1)
    X[:, 2] = X[:, 4] = X[:, 1]  # as good
    booster = Booster(
        bank_of(X, groups=2), None, Y, strategy, n_rounds=25, rng=0, learning_rate=0.1
    )
    while not booster.finished:
        booster.next_round()
    assert (booster.round, booster.stopped) == (25, "")


def test_draws_by_logistic_weights_know_the_loss() -> None:
    """However small: odds that vanish leave draws in proportion to weight."""
    X, Y = perfect(60)
    booster = Booster(
        bank_of(X), None, Y, "uniform-naive:scheme=filter", n_rounds=900, rng=0, learning_rate=0.1
    )
    while not booster.finished:
        booster.next_round()
    assert booster.round == 900
    assert local_rows(booster).weights.log_loss < -800  # exp of it is 0


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_checkpoint_continues_to_the_same_bits(learner: str, tmp_path: Path) -> None:
    steps: Any = {"learning_rate": 0.3, "smoothing": 0.01}
    want = straight(new_booster("ucb", learner, **steps))
    until(tmp_path / "run", new_booster("ucb", learner, **steps), 4)
    assert finished(tmp_path / "run", new_booster("ucb", learner, **steps)) == want
    assert want != straight(new_booster("ucb", learner))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learning_rate": 0.0}, "learning_rate must be above 0 and at most 1, got 0$"),
        ({"learning_rate": "a"}, "learning_rate must be a number, got 'a'$"),
        ({"smoothing": -0.1}, "smoothing must be at least 0 and finite, got -0.1$"),
    ],
)
def test_other_step_sizes_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        new_booster(**settings)
