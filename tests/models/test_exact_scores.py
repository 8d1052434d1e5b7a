"""Models, whose scores are exact sums: the same bits in any order, by tables or by terms."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from boostsample.classifier.prediction.prediction_mixin import staged_scores
from boostsample.errors import DataError
from boostsample.families import Columns
from boostsample.kernels.scores import ROWS, add_stump_scores, add_table_scores
from boostsample.models import model as module
from boostsample.models.model import Model, exact_coefficients
from boostsample.records import Term
from tests.models.random_terms import VALUES, random_round
from tests.problems import table

CUTS = (-math.inf, -1.0, -0.0, 0.5, 3.0)


def stumps(rng: np.random.Generator, n: int, n_features: int, n_labels: int) -> list[Term]:
    """Stumps with many ties of features and thresholds."""
    return [
        Term(
            int(rng.integers(n_features)),
            1,
            CUTS[rng.integers(len(CUTS))],
            rng.choice(np.array([-1, 1], np.int8), n_labels),
            float(rng.exponential() * 10.0 ** rng.integers(-9, 2)),
        )
        for _ in range(n)
    ]


def values(rng: np.random.Generator, n: int, n_features: int) -> NDArray[np.float32]:
    """Values at, between and beyond the thresholds, and missing ones."""
    some = np.array([*CUTS[1:], 0.0, -3e38, 3e38, 0.4999, np.nan], np.float32)
    return rng.choice(some, (n, n_features))


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1.0, 1e250])
def test_sums_are_exact_in_any_order(scale: float) -> None:
    rng = np.random.default_rng(0)
    alpha = rng.exponential(size=200) * 10.0 ** rng.integers(-12, 3, 200) * scale
    rounded = exact_coefficients(alpha, np.arange(200))
    signed = rounded * rng.choice([-1, 1], 200)
    want = sum(map(Fraction, signed.tolist()))
    for _ in range(20):
        order = rng.permutation(200)
        assert Fraction(float(np.cumsum(signed[order])[-1])) == want
    assert np.abs(rounded - alpha).max() <= alpha.sum() * 2.0**-51
    assert exact_coefficients(np.zeros(2), np.arange(2)).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("seed", range(30))
def test_tables_are_sums_of_stumps(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_features, n_labels = int(rng.integers(1, 6)), int(rng.integers(1, 5))
    terms = stumps(rng, int(rng.integers(1, 30)), n_features, n_labels)
    model = Model([Columns(range(n_features))], terms, n_labels)
    X = values(rng, 20, n_features)
    want = np.zeros((20, n_labels))
    for i, label in itertools.product(range(20), range(n_labels)):
        for term, alpha in zip(terms, model.coefficient.tolist(), strict=True):
            above = X[i, term.feature] >= np.float32(term.value)
            want[i, label] += alpha * int(term.votes[label]) * (1 if above else -1)
    np.testing.assert_array_equal(model.decision_function(X), want)
    one_by_one = [model.decision_function(X[i : i + 1])[0] for i in range(20)]
    np.testing.assert_array_equal(one_by_one, want)


def naive_table_scores(x: Any, ends: Any, cuts: Any, tables: Any, scores: Any) -> None:
    """The definition of `add_table_scores`."""
    first = 0
    for j, end in enumerate(ends.tolist()):
        for i, value in enumerate(x[j].tolist()):
            row = first + j + sum(1 for cut in cuts[first:end].tolist() if value >= cut)
            scores[i] += tables[row]
        first = end


@pytest.mark.parametrize("seed", range(20))
def test_kernel_and_naive_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    q, n, k = (int(size) for size in rng.integers(1, 8, 3))
    counts = rng.integers(0, 5, q)
    cuts = np.concatenate([np.sort(rng.normal(size=c).astype(np.float32)) for c in counts])
    x, ends = values(rng, q, n), np.cumsum(counts)
    tables = rng.normal(size=(cuts.size + q, k))
    got, want = np.zeros((n, k)), np.zeros((n, k))
    add_table_scores(x, ends, cuts, tables, got)
    naive_table_scores(x, ends, cuts, tables, want)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("n_labels", [1, 3, 10])
@pytest.mark.parametrize("n", [1, ROWS, 2 * ROWS + 1])
def test_stumps_are_summed_in_their_order(n: int, n_labels: int) -> None:
    """Not as a matrix product, whose order differs between processors."""
    rng = np.random.default_rng(n + n_labels)
    sides = rng.integers(0, 2, (40, n)).astype(np.uint8)
    voted = rng.normal(size=(40, n_labels)) * 10.0 ** rng.integers(-9, 9, (40, 1))
    got = rng.normal(size=(n, n_labels))
    want = got.copy()
    for i, label in itertools.product(range(n), range(n_labels)):
        signed = np.where(sides[:, i], voted[:, label], -voted[:, label])
        want[i, label] += np.cumsum(signed)[-1]
    add_stump_scores(sides, voted, np.full((n_labels + 1, ROWS), np.nan), got)
    np.testing.assert_array_equal(got, want)


def test_parts_and_large_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few features at a time, or too many votes for tables: the same bits."""
    rng = np.random.default_rng(3)
    terms, X = stumps(rng, 300, 7, 3), values(rng, 40, 7)
    want = Model([Columns(range(7))], terms, 3).decision_function(X)
    model = Model([Columns(range(7))], terms, 3)
    monkeypatch.setattr(module, "_CHUNK", 2)
    monkeypatch.setattr(module, "_CHUNK_VALUES", 1)
    np.testing.assert_array_equal(model.decision_function(X), want)
    monkeypatch.setattr(module, "_TABLE_VOTES", 0)
    np.testing.assert_array_equal(model.decision_function(X), want)


@pytest.mark.parametrize("alone", [True, False])
def test_few_features_of_many_rows_are_in_memory(
    alone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of stumps, and of trees, a round at least: the same bits."""
    rng = np.random.default_rng(5)
    rounds = [random_round(rng, 20, 2, (-1, 1)) for _ in range(40)]
    terms = stumps(rng, 100, 20, 2) if alone else [t for of_round in rounds for t in of_round]
    X, model = values(rng, 50, 20), Model([Columns(range(20))], terms, 2)
    want, read = model.decision_function(X), list[int]()
    of_rows = model.features

    def features(X: NDArray[Any], wanted: NDArray[np.int64]) -> NDArray[np.float32]:
        read.append(wanted.size)
        return of_rows(X, wanted)

    monkeypatch.setattr(model, "features", features)
    monkeypatch.setattr(module, "_MOST_VALUES", 6 * 50)
    most = 6 if alone else max(6, *(len({t.feature for t in of_round}) for of_round in rounds))
    np.testing.assert_array_equal(model.decision_function(X), want)
    assert 2 < max(read) <= most
    np.testing.assert_allclose([*staged_scores(model, X)][-1], want, atol=1e-12)
    assert max(read) <= most


def test_a_model_grows() -> None:
    rng = np.random.default_rng(4)
    terms, X = stumps(rng, 50, 4, 2), values(rng, 30, 4)
    first = Model([Columns(range(3), "a")], [t for t in terms[:20] if t.feature < 3], 2)
    more = first.extended([*first.families, Columns([3], "b")], terms[20:])
    whole = Model(more.families, [*(t for t in terms[:20] if t.feature < 3), *terms[20:]], 2)
    np.testing.assert_array_equal(more.decision_function(X), whole.decision_function(X))
    split = Term(0, 1, 0.5, np.array([1, -1], np.int8), 0.25, np.array([1, 1], np.int8))
    grown = first.extended(first.families, [split])
    assert first.are_stumps
    assert not grown.are_stumps
    want = first.decision_function(X) + [0.25, 0.25] * np.where(X[:, :1] >= 0.5, [1, -1], 1)
    np.testing.assert_allclose(grown.decision_function(X), want, rtol=1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_rounds_are_read_as_their_terms_say(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trees, products and mixtures of them: as from the sides of all terms."""
    rng = np.random.default_rng(seed)
    n_features, n_labels = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    sides_of_terms = (-1, 1) if seed % 2 else (-1, 0, 1)
    of_rounds: Any = (n_features, n_labels, sides_of_terms, seed % 4 == 1)
    rounds = [random_round(rng, *of_rounds) for _ in range(9)]
    model = Model([Columns(range(n_features))], [t for terms in rounds for t in terms], n_labels)
    X = rng.choice(np.array(VALUES, np.float32), (150, n_features))
    sides = (X[:, model.feature] >= model.threshold.astype(np.float32)).T
    want = np.zeros((150, n_labels))
    model.add_scores(sides, slice(0, model.feature.size), want)
    monkeypatch.setattr(module, "_CHUNK", int(rng.integers(1, 10)))
    np.testing.assert_array_equal(model.decision_function(X), want)


@pytest.mark.parametrize("seed", range(10))
def test_products_and_values_in_one_model(seed: int) -> None:
    """A product has its alpha once, also beside values, which have it in each term."""
    rng = np.random.default_rng(seed)
    families = [Columns(range(3))]
    rounds = [random_round(rng, 3, 2) for _ in range(4)]
    rounds += [random_round(rng, 3, 2, (-1, 1), real=True) for _ in range(4)]
    rng.shuffle(rounds)
    X = rng.choice(np.array(VALUES, np.float32), (50, 3))
    scores = Model(families, [t for terms in rounds for t in terms], 2).decision_function(X)
    alone = [Model(families, terms, 2).decision_function(X) for terms in rounds]
    np.testing.assert_allclose(scores, np.sum(alone, axis=0), rtol=1e-10, atol=1e-12)


def term(feature: int, value: float, votes: list[int], alpha: float) -> Term:
    return Term(feature, 1, value, np.array(votes, np.int8), alpha)


def naive_scores(X: NDArray[Any], terms: list[Term], n_labels: int) -> NDArray[np.float64]:
    scores = np.zeros((len(X), n_labels))
    for i, row in enumerate(X.tolist()):
        for stump in terms:
            above = not math.isnan(row[stump.feature]) and row[stump.feature] >= stump.value
            for label in range(n_labels):
                scores[i, label] += stump.alpha * int(stump.votes[label]) * (1 if above else -1)
    return scores


class Watched(Columns):
    """Columns that remember which features were computed."""

    asked: list[int]

    def compute(self, X: Any, features: ArrayLike) -> NDArray[np.float32]:
        self.asked = [*getattr(self, "asked", []), *np.asarray(features).tolist()]
        return super().compute(X, features)


def test_scores() -> None:
    rng = np.random.default_rng(0)
    X = table(30, 6)
    X[rng.random(X.shape) < 0.2] = np.nan
    families = [Watched(range(2), "a"), Watched([2, 3], "b"), Watched([5, 4], "c")]
    terms = [
        term(0, 3.5, [1, -1, 1], 0.5),
        term(1, -np.inf, [1, 1, -1], 0.25),
        term(0, 3.5, [-1, -1, 1], 2.0),
        term(3, 4.0, [1, 1, 1], 0.125),  # a value at the threshold is above it
    ]
    model = Model(families, terms, 3)
    assert len(model) == 4
    np.testing.assert_allclose(model.decision_function(X), naive_scores(X, terms, 3), atol=1e-12)
    assert [sorted(set(getattr(f, "asked", []))) for f in families] == [[0, 1], [1], []]
    for used in range(5):
        want = naive_scores(X, terms[:used], 3)
        np.testing.assert_allclose(model.decision_function(X, used), want, atol=1e-12)
    with pytest.raises(DataError, match="between 0 and 4, got 5"):
        model.decision_function(X, 5)


def test_a_model_is_shown_in_notebooks() -> None:
    families = [Columns(range(2), n_columns=4, name="a"), Columns([2, 3], n_columns=4, name="<b>")]
    terms = [term(at % 4, -math.inf if at == 1 else 0.5, [1, -1], 0.25) for at in range(12)]
    shown = Model(families, terms, 2)._repr_html_()
    assert "12 stumps, 2 votes each; the first 10 are shown" in shown
    assert shown.count("<tr>") == 1 + 10
    assert "<td>1</td><td>a</td>" in shown
    assert "<td>4</td><td>&lt;b&gt;</td>" in shown
    assert "<td>-inf</td><td>0.2500</td><td>+-</td>" in shown
