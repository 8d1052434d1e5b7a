"""Objectives under `full` against naive boosters on the same cuts, round by round."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import AdaBoostClassifier

from boostsample.experiments.data.datasets import load_dataset
from boostsample.families import text_family
from boostsample.labels import encode
from boostsample.loop.booster import Booster
from boostsample.models.model import Model
from boostsample.records import Round, Term
from tests.compiled import slow_without_jit
from tests.naive_objectives import OC, AccuracyStump, Bagging, NaiveBooster, naive_booster
from tests.problems import bank_of, local_rows, noisy_labels, table

pytestmark = slow_without_jit

NAMES = {"abstain": "real-mh:abstains=1"}
LABELS = ("real-mh", "abstain", "info", "gentle", "bagging")
ALL = ("mh", *LABELS, "m1", "samme", "rank", "oc")
#: What float32 weights leave of an edge, and of a score after 200 rounds.
EDGE, SCORE = 1e-6, 1e-3


def cells_of(terms: Sequence[Term], bins: NDArray[Any]) -> tuple[NDArray[np.int64], list[Any]]:
    """The cell of each example, and the votes of the cells; a constant is one cell."""
    above, below = terms[0].votes, terms[0].below
    if len(terms) == 1 and below is not None and np.array_equal(above, below):
        return np.zeros(len(bins), np.int64), [above]
    cells, votes = np.full(len(bins), -1), list[Any]()
    waiting = [(0, np.ones(len(bins), bool))]
    while waiting:
        at, inside = waiting.pop()
        term = terms[at]
        high = bins[:, term.feature] >= term.threshold
        of_low = -term.votes if term.below is None else term.below
        for side, half, of_side in ((-1, ~high, of_low), (1, high, term.votes)):
            children = [k for k, t in enumerate(terms) if t.parent == at and t.side == side]
            if children:
                waiting.append((children[0], inside & half))
            else:
                cells[inside & half] = len(votes)
                votes.append(of_side)
    return cells, votes


class Twins:
    """A booster and its naive twin, which follows its cuts."""

    def __init__(
        self, X: Any, Y: Any, objective: str, learner: str, n_rounds: int, **settings: Any
    ) -> None:
        self.bank = bank_of(X)
        self.bins, self.Y, self.learner = self.bank.bins.T, Y, learner
        name = NAMES.get(objective, objective)
        how = {"objective": name, "rng": 0, "n_rounds": n_rounds, **settings}
        self.booster = Booster(self.bank, None, Y, "full", learner, **how)
        self.naive: NaiveBooster = naive_booster(self.bins, Y, objective, **settings)
        self.rounds: list[Round] = []

    def next_round(self) -> bool:
        """Train a round of both and compare them; whether the training goes on."""
        naive, number = self.naive, len(self.rounds) + 1
        if isinstance(naive, Bagging):
            n = len(self.Y)
            seed = [self.booster._resampling_seed, number]
            drawn = np.random.default_rng(seed).integers(n, size=n)
            naive.draw(np.bincount(drawn, minlength=n))
        if isinstance(naive, OC):
            seed, k = [self.booster._resampling_seed, number], self.Y.shape[1]
            mu = -np.ones(k)
            mu[np.random.default_rng(seed).permutation(k)[: k // 2]] = 1.0
            naive.color(mu)
        done = self.booster.next_round()
        self.rounds.append(done)
        root = done.terms[0]
        everything = None if self.learner == "stump" else np.ones(len(self.Y), bool)
        if "min_weight" not in self.learner:  # limits forbid some cuts
            criterion = naive.criterion(root.feature, root.threshold, everything)
            assert criterion == pytest.approx(naive.best_criterion(everything), abs=EDGE)
        cells, votes = cells_of(done.terms, self.bins)
        if self.learner == "stump":
            added = naive.add_stump(root.feature, root.threshold)
        else:
            added = naive.add_tree(cells)
        if naive.stopped:
            assert self.booster.stopped
            assert done.edge <= EDGE
            return False
        assert done.edge == pytest.approx(added.edge, abs=EDGE), number
        if self.learner != "stump":
            values = [root.alpha * np.asarray(of_cell) for of_cell in votes]
            self._same_values(values, added.values[: len(values)], cells)
        log_loss = done.rows[-1]["log10_loss"] * np.log(10)
        assert log_loss == pytest.approx(naive.log_loss, abs=EDGE * number)
        return not self.booster.finished

    def _same_values(self, values: Any, of_naive: Any, cells: Any) -> None:
        """Values agree but where a label sum is 0 up to rounding and votes have no sign."""
        filled = np.unique(cells)
        wrong = np.abs(np.array(values)[filled] - of_naive[filled]) > SCORE
        assert wrong.mean() < 0.05

    def compare_scores(self, X: Any) -> None:
        """Scores agree, and so do predictions where they are not tied."""
        terms = [term for done in self.rounds for term in done.terms]
        model = Model(self.bank.families, terms, self.Y.shape[1])
        scores = model.decision_function(X)
        other = np.abs(scores - self.naive.scores) > SCORE
        # Label sums of a bootstrap can be 0, up to rounding: then votes have no sign.
        drawn = isinstance(self.naive, Bagging)
        assert other.mean() <= (0.03 if drawn else 0.0)
        predicted = scores.argmax(axis=1) if scores.shape[1] > 1 else scores[:, 0] >= 0
        assert np.mean(predicted == self.naive.predict()) > (0.99 if drawn else 0.999)


def compare(X: Any, Y: Any, objective: str, learner: str, n_rounds: int, **settings: Any) -> Twins:
    twins = Twins(X, Y, objective, learner, n_rounds, **settings)
    while twins.next_round():
        pass
    twins.compare_scores(X)
    return twins


@pytest.mark.parametrize("objective", ALL)
@pytest.mark.parametrize("learner", ["stump", "tree:n_leaves=4"])
@pytest.mark.parametrize("n_labels", [1, 3, 10, 17])
def test_random_rows(objective: str, learner: str, n_labels: int) -> None:
    if (objective, learner) == ("abstain", "tree:n_leaves=4") or (
        objective == "rank" and n_labels > 1
    ):
        pytest.skip("not defined")
    if (objective, n_labels) == ("oc", 1):
        pytest.skip("the same as mh")
    n, rng = 150, np.random.default_rng(n_labels)
    Y = noisy_labels(n, n_labels, 3)
    X = table(n, 6, 8, n_labels)
    X[:, : min(n_labels, 4)] += 3 * (Y[:, : min(n_labels, 4)] > 0) * (rng.random((n, 1)) < 0.7)
    settings: dict[str, Any] = {"example_weight": rng.uniform(0.5, 2.0, n)}
    if objective == "rank":
        settings["groups"] = rng.integers(0, 9, n)
    if objective not in ("bagging",):
        settings["learning_rate"] = [1.0, 0.5][n_labels % 2]
    compare(X, Y, objective, learner, 20, **settings)


@pytest.mark.parametrize("objective", [name for name in ALL if name != "abstain"])
@pytest.mark.parametrize("n_labels", [1, 4])
def test_trees_within_limits_and_their_constants(objective: str, n_labels: int) -> None:
    """Each column divides a few rows from the others: too few at first, for some objectives."""
    if (objective, n_labels) in (("rank", 4), ("oc", 1)):
        pytest.skip("not defined, or the same as mh")
    rng = np.random.default_rng(0)
    X = np.eye(7, dtype=np.float32)[np.r_[np.arange(70) % 7, [6] * 20]][:, :6]
    Y = noisy_labels(90, n_labels, 2)
    Y[:20] = np.where(np.arange(n_labels) == 0, 1, -1)
    settings: dict[str, Any] = {"example_weight": rng.uniform(0.5, 2.0, 90)}
    twins = Twins(X, Y, objective, "tree:n_leaves=4:min_leaf=3:min_weight=0.12", 12, **settings)
    while twins.next_round():
        pass
    constants = {len(cells_of(done.terms, twins.bins)[1]) == 1 for done in twins.rounds}
    assert True in constants or n_labels == 1 or objective == "bagging"


@pytest.mark.parametrize("objective", ["mh", "real-mh", "abstain"])
def test_terms_of_documents_with_several_labels(objective: str) -> None:
    """The three forms of BoosTexter ([SS00] section 3)."""
    rng, n_labels = np.random.default_rng(0), 6
    Y = np.where(rng.random((150, n_labels)) < 0.25, 1, -1).astype(np.int8)
    documents = []
    for row in Y:
        topics = np.flatnonzero(row > 0)
        words = [f"topic{k} word{w}" for k in topics for w in rng.integers(4 * k, 4 * k + 6, 2)]
        common = [f"word{w}" for w in rng.zipf(1.5, 15) if w < 60]
        documents.append(" ".join([*rng.permutation(words), *common, "end"]))
    terms = text_family(documents, ngram_range=(1, 2), min_df=3)
    X = terms.compute(np.array(documents, object), np.arange(terms.n_features))
    assert set(np.unique(X)) == {0, 1}
    drops = rng.random(X.shape) < 0.3  # no term gives a label away
    twins = compare(np.where(drops, 0, X), Y, objective, "stump", 120, weight_init="uniform")
    terms_of_rounds = [done.terms[0] for done in twins.rounds]
    if objective == "abstain":
        zero = [(not np.any(term.votes), not np.any(term.below)) for term in terms_of_rounds]
        assert all(votes != below for votes, below in zero)
    assert len(terms_of_rounds) == 120


@pytest.mark.parametrize("objective", [name for name in ALL if name != "rank"])
@pytest.mark.parametrize("learner", ["stump", "tree:n_leaves=5"])
def test_digits(objective: str, learner: str) -> None:
    if (objective, learner) == ("abstain", "tree:n_leaves=5"):
        pytest.skip("trees do not abstain")
    X, y = load_digits(return_X_y=True)
    compare(X.astype(np.float32), encode(y, 10), objective, learner, 200)


@pytest.mark.parametrize("objective", ALL[:-1])
def test_two_classes(objective: str) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    n = 60 if objective == "rank" else len(y)  # the twin of rank takes n * n steps a feature
    compare(X[:n].astype(np.float32), encode(y[:n], 2), objective, "stump", 200)


@pytest.mark.parametrize("objective", [name for name in ALL if name != "rank"])
def test_letter(objective: str, data_dir: Path) -> None:
    data = load_dataset("letter", data_dir=data_dir, download=False)
    X, y = data.X[:5000], data.y[:5000]
    # Later cells of gentle have masses of 1e-8, of which float32 leaves two digits.
    rounds = 60 if objective == "gentle" else 200
    compare(np.asarray(X, np.float32), encode(y, 26), objective, "stump", rounds)


@pytest.mark.parametrize("learning_rate", [1.0, 0.5])
@pytest.mark.parametrize("n_labels", [1, 4])
def test_samme_is_that_of_scikit_learn(n_labels: int, learning_rate: float) -> None:
    """Cuts, coefficients and predictions of every round, without the twin between them."""
    n_rounds, Y = 30, noisy_labels(150, n_labels, 3)
    X = table(150, 6, 8, n_labels)
    X[:, :4] += 3 * (Y[:, [0, 0, -1, -1]] > 0) * (table(150, 4, 10, 5) < 7)
    y = Y.argmax(axis=1) if n_labels > 1 else (Y[:, 0] + 1) // 2
    peer = AdaBoostClassifier(AccuracyStump(), n_estimators=n_rounds, learning_rate=learning_rate)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))  # so that no two cuts are tied
    peer.fit(X, y, weight)
    bank = bank_of(X)
    settings: dict[str, Any] = {
        "objective": "samme",
        "learning_rate": learning_rate,
        "weight_init": "uniform",
        "example_weight": weight,
    }
    booster = Booster(bank, None, Y, "full", "stump", n_rounds=n_rounds, **settings)
    terms = list[Term]()
    stages = zip(peer.estimators_, peer.estimator_weights_, peer.staged_predict(X), strict=True)
    for stump, coefficient, predicted in stages:
        (term,) = booster.next_round().terms
        terms.append(term)
        cut = term.feature, math.ceil(bank.threshold(term.feature, term.threshold))
        assert cut == stump.cut_
        assert 2 * term.alpha == pytest.approx(coefficient, rel=1e-5)
        scores = Model(bank.families, terms, n_labels).decision_function(X)
        decided = scores.argmax(axis=1) if n_labels > 1 else (scores[:, 0] >= 0).astype(int)
        np.testing.assert_array_equal(decided, predicted)
    assert len(terms) == n_rounds


@pytest.mark.parametrize("objective", ["mh", *LABELS])
@pytest.mark.parametrize("learner", ["stump", "tree:n_leaves=4"])
@pytest.mark.parametrize("n_labels", [3, 10, 17])
def test_labels_of_0_have_no_weight(objective: str, learner: str, n_labels: int) -> None:
    if objective in ("abstain", "bagging") and learner != "stump":
        pytest.skip("trees do not abstain; label sums of a leaf and a bootstrap can be 0")
    n, rng = 150, np.random.default_rng(n_labels)
    Y = noisy_labels(n, n_labels, 3)
    Y[:, 1:][rng.random((n, n_labels - 1)) < 0.5] = 0
    X = table(n, 6, 8, n_labels)
    X[:, :3] += 3 * (Y[:, :3] > 0) * (rng.random((n, 1)) < 0.7)
    settings: dict[str, Any] = {"example_weight": rng.uniform(0.5, 2.0, n)}
    settings["weight_init"] = ["balanced", "uniform"][n_labels % 2]
    twins = compare(X, Y, objective, learner, 20, **settings)
    np.testing.assert_array_equal(local_rows(twins.booster).weights.labels(), Y)


@pytest.mark.parametrize("strategy", ["laminating", "filterboost", "sparrow", "mp-boost"])
def test_strategies_take_labels_of_0(strategy: str) -> None:
    n, rng = 400, np.random.default_rng(0)
    Y = noisy_labels(n, 5, 3)
    X = table(n, 6, 8, 0)
    X[:, :5] += 3 * (Y > 0)
    Y[:, 1:][rng.random((n, 4)) < 0.5] = 0
    booster = Booster(bank_of(X), None, Y, strategy, rng=0, n_rounds=10)
    edges = [booster.next_round().edge for _ in range(10)]
    assert edges[0] > 0.2
    assert booster.next_round().rows[-1]["log10_loss"] < -0.05
