"""The loop: loss, rows, ends of training, bad input, extreme weights, progress."""

from __future__ import annotations

import io
import math
import sys
import time
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample import BoostSampleClassifier
from boostsample.errors import BudgetExceeded, DataError, SettingError, StrategyError
from boostsample.labels import encode
from boostsample.learner import EDGE_GAP
from boostsample.loop import fit_progress
from boostsample.loop.booster import Booster
from boostsample.loop.checkpoint import boost
from boostsample.loop.fit_progress import FitProgress
from boostsample.models.model import Model
from boostsample.records import Round
from boostsample.registry import make_strategy
from boostsample.rows.weights import initial_weights
from boostsample.step import Step
from boostsample.strategies import Full, Laminating, UniformNaive
from boostsample.strategy import Outcome, Strategy, Stump
from tests.compiled import slow_without_jit
from tests.problems import bank_of, booster_of, noisy_labels, perfect, table
from tests.strategies.test_full import digit_table


def loss_of(X: NDArray[Any], Y: NDArray[np.int8], u: NDArray[np.float64], model: Model) -> float:
    """sum_il w_il(first round) exp(-y_il f_l(x_i))."""
    scores = model.decision_function(X)
    return float((u / u.sum() * np.exp(-Y * scores)).sum())


@slow_without_jit
@pytest.mark.parametrize("weights", ["uniform", "balanced"])
@pytest.mark.parametrize("name", ["full", "laminating"])
def test_the_loss_of_the_scores_is_the_product_of_the_edges(name: str, weights: str) -> None:
    X, y = digit_table()
    Y = encode(y)
    bank = bank_of(X)
    rounds = list(
        boost(bank, None, Y, make_strategy(name), n_rounds=1000, weight_init=weights, rng=0)
    )
    assert len(rounds) == 1000
    model = Model(bank.families, (t for r in rounds for t in r.terms), Y.shape[1])
    edges = np.array([row["edge"] for r in rounds for row in r.rows])
    product = math.exp(math.fsum(0.5 * np.log1p(-(edges**2))))
    loss = loss_of(X, Y, initial_weights(Y, weights), model)
    assert loss == pytest.approx(product, rel=1e-4)
    assert rounds[-1].rows[-1]["log10_loss"] == pytest.approx(math.log10(product), rel=1e-9)


@pytest.mark.parametrize("n_labels", [1, 2, 3, 8, 10, 17, 20, 40])
@pytest.mark.parametrize("kind", ["one", "several"])
def test_the_loss_for_any_number_of_labels(n_labels: int, kind: str) -> None:
    n = 40
    X = table(n)
    Y = noisy_labels(n, n_labels)
    if kind == "several":
        signs = np.random.default_rng(5).random((n, n_labels)) < 0.4
        Y = np.where(signs, 1, -1).astype(np.int8)
        Y[0], Y[1] = 1, -1
    s = np.random.default_rng(6).integers(0, 4, n).astype(np.float64)
    bank = bank_of(X, np.flatnonzero(s))
    for weights in ("uniform", "balanced"):
        booster = Booster(
            bank, None, Y, UniformNaive(), weight_init=weights, rng=0, example_weight=s, n_rounds=12
        )
        rounds = []
        while not booster.finished:
            rounds.append(booster.next_round())
        model = Model(bank.families, (t for r in rounds for t in r.terms), Y.shape[1])
        u = initial_weights(Y, weights) * s[:, None]
        want = math.log10(loss_of(X, Y, u, model))
        assert rounds[-1].rows[0]["log10_loss"] == pytest.approx(want, abs=1e-5)


def test_a_row() -> None:
    booster = booster_of(Laminating(), n_rounds=3)
    before = time.perf_counter()
    done = booster.next_round()
    passed = time.perf_counter() - before
    assert isinstance(done, Round)
    (row,), (term,) = done.rows, done.terms
    for name, value in row.items():
        assert type(value) in (int, float, str), name
    assert (row["round"], row["search"], row["stopped"]) == (1, 0, "")
    assert row["family"] == f"part {row['feature'] // 4}"
    assert row["threshold"] == term.value
    assert row["alpha"] == pytest.approx(math.atanh(row["edge"]), rel=1e-12)
    assert row["log10_loss"] == pytest.approx(math.log10(1 - row["edge"] ** 2) / 2, rel=1e-12)
    assert 0 < row["looks_search"] <= 800
    assert (row["looks_modelling"], row["looks_finish"], row["values_computed"]) == (0, 80, 0)
    assert 0 < row["seconds"] <= passed
    assert booster.next_round().rows[0]["round"] == 2


def test_rows_count_different_features_and_the_examples_of_the_winner() -> None:
    def choose(step: Step) -> Stump:
        step.search([7, 6], step.draw(3), purpose="modelling")
        step.search([0, 1, 2], step.draw(10))
        first = step.search([1, 1], step.draw(30)).best()
        step.search([2], step.draw(50))
        return first

    row = booster_of(choose).next_round().rows[0]
    assert (row["n_features"], row["n_examples"]) == (3, 30)
    assert (row["looks_search"], row["looks_modelling"]) == (30 + 60 + 50, 6)


def test_outcomes_tell_what_the_row_tells() -> None:
    told: list[Outcome] = []

    class Listens(Strategy):
        def choose(self, step: Step) -> Stump:
            step.search([0], step.draw(3), purpose="modelling")
            return step.search([5], step.draw(20)).best()

        def learn(self, outcome: Outcome) -> None:
            told.append(outcome)

    booster = booster_of(Listens())
    for number in (1, 2, 3):
        (row,) = booster.next_round().rows
        outcome = told[-1]
        assert len(told) == number
        assert (outcome.round, outcome.search, outcome.feature) == (number, 0, 5)
        assert (outcome.family, outcome.cost) == (1, 23)
        for name in ("edge", "edge_estimated", "alpha"):
            assert getattr(outcome, name) == row[name]


def test_the_default_budget() -> None:
    assert booster_of(UniformNaive()).budget == 800
    assert booster_of(Full()).budget == 640
    weight = np.ones(80)
    weight[:30] = 0
    assert booster_of(UniformNaive(), example_weight=weight).budget == 500


def test_an_edge_of_one_ends_the_training() -> None:
    X, Y = perfect()
    booster = Booster(bank_of(X), None, Y, Full(), n_rounds=10, rng=0)
    done = booster.next_round()
    (row,), (term,) = done.rows, done.terms
    assert row["edge"] == pytest.approx(1.0, abs=1e-12)
    assert row["alpha"] == pytest.approx(math.atanh(1 - EDGE_GAP), rel=1e-9)
    assert term.alpha == row["alpha"]
    model = Model(bank_of(X).families, done.terms, 1)
    loss = loss_of(X, Y, np.ones(Y.shape), model)
    assert row["log10_loss"] == pytest.approx(math.log10(loss), rel=1e-9)
    assert "edge 1" in row["stopped"]
    assert done.last
    assert booster.finished
    with pytest.raises(StrategyError, match="training has ended in round 1: edge 1"):
        booster.next_round()
    assert booster.round == 1
    assert len(list(boost(bank_of(X), None, Y, Full(), n_rounds=10))) == 1


def test_an_edge_just_below_one_does_not_end_it() -> None:
    X, Y = perfect()
    Y[7] *= -1
    s = np.ones(40)
    s[7] = 1e-6
    booster = Booster(bank_of(X), None, Y, Full(), n_rounds=3, rng=0, example_weight=s)
    first = booster.next_round().rows[0]
    assert 1 - 1e-7 < first["edge"] < 1 - 1e-9
    assert first["stopped"] == ""
    assert booster.next_round().rows[0]["edge"] < 0.9


def test_an_edge_of_zero_is_a_row_with_alpha_zero() -> None:
    X = np.ones((40, 3), np.float32)
    Y = np.where(np.arange(40) % 2, 1, -1).astype(np.int8)[:, None]
    booster = Booster(bank_of(X), None, Y, "uniform-naive:n_features=2", n_rounds=4, rng=0)
    before = booster.state()["weights"]["values"]
    for number in range(1, 5):
        done = booster.next_round()
        (row,), (term,) = done.rows, done.terms
        assert (row["round"], row["edge"], row["alpha"], row["log10_loss"]) == (number, 0, 0, 0)
        assert (term.alpha, done.last) == (0.0, False)
        assert term.votes.tolist() == [1]  # a sum of 0 votes +1
    np.testing.assert_array_equal(booster.state()["weights"]["values"], before)


def test_more_rounds_than_planned() -> None:
    booster = booster_of(UniformNaive(), n_rounds=2)
    for _ in range(2):
        booster.next_round()
    assert booster.finished
    assert booster.next_round().rows[0]["round"] == 3


def test_a_round_that_fails_does_not_count() -> None:
    calls = []

    def fails_once(step: Step) -> Stump:
        calls.append(step.round)
        features = np.arange(8) if len(calls) == 2 else [0]
        return step.search(features, step.draw(80)).best()

    booster = booster_of(fails_once, budget=100)
    booster.next_round()
    state = booster.state()
    with pytest.raises(BudgetExceeded):
        booster.next_round()
    assert booster.round == 1
    np.testing.assert_array_equal(booster.state()["weights"]["values"], state["weights"]["values"])
    assert booster.next_round().rows[0]["round"] == 2
    assert calls == [1, 2, 2]


WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    *(
        ({name: value}, SettingError, f"{name} must be .*at least 1")
        for name in ("budget", "n_rounds")
        for value in (0, 1.5, "five")
    ),
    ({"weight_init": "balance"}, SettingError, "unknown weight_init 'balance'"),
    ({"learner": "tree9"}, SettingError, "unknown learner 'tree9'"),
    *(
        ({"strategy": wrong}, SettingError, "strategy must be a name or an instance of Strategy")
        for wrong in (3, Laminating, None)
    ),
    ({"example_weight": np.ones(79)}, DataError, r"must have shape \(80,\), got \(79,\)"),
    ({"example_weight": np.zeros(80)}, DataError, "must not all be zero"),
    ({"example_weight": -np.ones(80)}, DataError, "not negative, got -1.0 in row 0"),
    ({"example_weight": np.r_[np.ones(79), np.nan]}, DataError, "got nan in row 79"),
    ({"example_weight": ["a"] * 80}, DataError, "example weights must be"),
    ({"rows": []}, DataError, "rows must not be empty"),
    ({"rows": [0.0, 1.0]}, DataError, "rows must be a vector of row numbers"),
    ({"rows": [0, 80]}, DataError, "between 0 and 79, got 0 to 80"),
    ({"Y": noisy_labels(79)}, DataError, r"must have shape \(80, K\)"),
    ({"Y": np.full((80, 2), 2)}, DataError, r"\+1 and -1 only"),
    ({"Y": np.zeros((80, 2))}, DataError, r"a label of \+1 or -1, but row 0 has 0 only"),
    ({"Y": np.full((80, 2), "a")}, DataError, r"\+1 and -1 only"),
]


@pytest.mark.parametrize(("settings", "error", "message"), WRONG)
def test_wrong_arguments(settings: dict[str, Any], error: type[Exception], message: str) -> None:
    arguments = {"rows": None, "Y": noisy_labels(), "strategy": UniformNaive(), **settings}
    with pytest.raises(error, match=message):
        Booster(bank_of(table()), **arguments)


SMALLEST = 5e-324  # a denormal number


@pytest.fixture(scope="module")
def problem() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    return rng.normal(size=(60, 4)), rng.integers(0, 3, 60)


@pytest.mark.parametrize("unit", [SMALLEST, 2e-310, 1e306])
def test_the_unit_of_the_weights_changes_nothing(problem: Any, unit: float) -> None:
    """Products of weights and label weights must not become denormal or infinite."""
    X, y = problem
    weight = np.random.default_rng(6).integers(1, 9, 60).astype(np.float64)
    model = BoostSampleClassifier(
        "laminating", "stump", n_rounds=20, learning_rate=1.0, random_state=0
    )
    want = model.fit(X, y, sample_weight=weight).decision_function(X)
    got = model.fit(X, y, sample_weight=weight * unit).decision_function(X)
    if unit == SMALLEST:  # whole units: nothing is rounded
        np.testing.assert_array_equal(got, want)
    signs = np.where(y[:, None] == np.arange(3), 1, -1)
    shares = weight[:, None] * np.where(signs > 0, 0.5, 0.25)
    loss = np.log10((shares * np.exp(-signs * got)).sum() / shares.sum())
    product = sum(0.5 * np.log10(1.0 - row["edge"] ** 2) for row in model.history_)
    assert loss == pytest.approx(product, abs=1e-6)
    assert model.history_[-1]["log10_loss"] == pytest.approx(product, abs=1e-12)


@pytest.mark.parametrize("smallest", [SMALLEST, 1e-200, 1e-25])
def test_weights_too_far_apart_are_refused(problem: Any, smallest: float) -> None:
    X, y = problem
    weight = np.where(np.arange(60) == 7, smallest, 1.0)
    with pytest.raises(DataError, match=r"1e\+24 times the least.* in row 7;.* weight 0 drops"):
        BoostSampleClassifier("laminating", "stump", n_rounds=2, random_state=0).fit(
            X, y, sample_weight=weight
        )


def test_weights_far_apart_are_kept(problem: Any) -> None:
    X, y = problem
    weight = np.where(np.arange(60) < 30, 1e-20, 1.0)
    model = BoostSampleClassifier("laminating", "stump", n_rounds=20, random_state=0).fit(
        X, y, sample_weight=weight
    )
    assert model.score(X[30:], y[30:]) > model.score(X[:30], y[:30])


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def row(at: int, stopped: str = "") -> dict[str, Any]:
    return {"round": at, "log10_loss": -0.5, "edge": 0.75, "stopped": stopped}


@pytest.mark.parametrize(("n_rounds", "lines"), [(3, 3), (200, 10), (1003, 10)])
def test_a_file_gets_ten_lines(
    n_rounds: int, lines: int, capsys: pytest.CaptureFixture[str]
) -> None:
    show = FitProgress(n_rounds)
    for at in range(1, n_rounds + 1):
        show(row(at), 0.25, at == n_rounds)
    shown = capsys.readouterr().err.splitlines()
    assert len(shown) == lines
    assert shown[-1] == f"round {n_rounds:,} of {n_rounds:,}: log10 loss -0.500, edge 0.2500"


def test_a_terminal_has_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(fit_progress, "_PAUSE", 0.0)
    show = FitProgress(3)
    for at in (1, 2, 3):
        show(row(at), 0.25, at == 3)
    shown = terminal.getvalue()
    assert shown.count("\r\x1b[Kround") == 3
    assert shown.count("\n") == 1
    assert shown.endswith("\n")


def test_an_early_end_is_shown_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    FitProgress(500)(row(3, "edge 1"), 0.25, finished=True)
    assert capsys.readouterr().err.endswith("edge 0.2500; training ends: edge 1\n")


def test_training_goes_on_without_standard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(Terminal):
        def write(self, text: str) -> int:
            raise OSError

    for stream in (None, Full()):
        monkeypatch.setattr(sys, "stderr", stream)
        FitProgress(3)(row(1), 0.25, finished=True)
