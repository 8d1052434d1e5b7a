"""Seeds, saved states, rows in any order, the user's weights: which runs are the same."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostsample.errors import DataError, StrategyError
from boostsample.loop.booster import Booster
from boostsample.registry import make_strategy
from boostsample.strategies import Full, Laminating, UniformNaive
from tests.paths import ROOT
from tests.problems import bank_of, booster_of, noisy_labels, perfect, rows_of, table

COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")

STRATEGIES = ("full", "uniform-naive", "uniform-1q", "uniform-q1", "laminating")


@pytest.mark.parametrize("name", STRATEGIES)
def test_resuming_gives_identical_bits(name: str) -> None:
    straight = rows_of(booster_of(make_strategy(name), n_rounds=12), 12)
    for at in (0, 1, 7):
        first = booster_of(make_strategy(name), n_rounds=12)
        done = rows_of(first, at)
        state = first.state()
        rows_of(first, 2)
        second = booster_of(make_strategy(name), n_rounds=12, rng=123)
        rows_of(second, 3)
        second.restore(state)
        assert second.round == at
        assert done + rows_of(second, 12 - at) == straight
        first.restore(state)  # and once more, in the booster that it came from
        assert done + rows_of(first, 12 - at) == straight


def test_a_state_holds_plain_things_only() -> None:
    booster = booster_of(Laminating())
    booster.next_round()

    def check(value: Any, path: str) -> None:
        if isinstance(value, dict):
            for key, item in value.items():
                assert isinstance(key, str), path
                check(item, f"{path}.{key}")
        elif isinstance(value, list):
            for item in value:
                check(item, path)
        else:
            assert isinstance(value, np.ndarray | np.generic | int | float | str), path

    check(booster.state(), "state")


def test_a_state_after_the_end() -> None:
    X, Y = perfect()
    first = Booster(bank_of(X), None, Y, Full(), n_rounds=10, rng=0)
    first.next_round()
    second = Booster(bank_of(X), None, Y, Full(), n_rounds=10, rng=0)
    second.restore(first.state())
    assert second.finished
    with pytest.raises(StrategyError, match="training has ended"):
        second.next_round()


def test_a_state_of_other_examples_is_refused_and_changes_nothing() -> None:
    booster = booster_of(UniformNaive())
    other = Booster(bank_of(table(50)), None, noisy_labels(50), UniformNaive(), rng=5)
    other.next_round()
    with pytest.raises(DataError, match="restore into a booster on the same examples"):
        booster.restore(other.state())
    assert rows_of(booster, 5) == rows_of(booster_of(UniformNaive()), 5)


def test_a_restore_that_fails_changes_nothing() -> None:
    booster = booster_of(UniformNaive())
    booster.next_round()
    state = booster.state()
    state["rng"] = {**state["rng"], "bit_generator": "MT19937"}
    fresh = booster_of(UniformNaive())
    with pytest.raises((DataError, ValueError)):
        fresh.restore(state)
    assert rows_of(fresh, 5) == rows_of(booster_of(UniformNaive()), 5)


@pytest.mark.parametrize("name", STRATEGIES)
def test_rows_of_weight_zero_are_as_good_as_absent(name: str) -> None:
    X, Y = table(), noisy_labels()
    s = np.random.default_rng(2).integers(0, 3, 80).astype(np.float64)
    kept = np.flatnonzero(s)
    bank = bank_of(X, kept)
    same: dict[str, Any] = {"n_rounds": 15, "rng": 4}
    weighted = Booster(bank, None, Y, make_strategy(name), example_weight=s, **same)
    without = Booster(bank, kept, Y[kept], make_strategy(name), example_weight=s[kept], **same)
    alone = Booster(
        bank_of(X[kept]), None, Y[kept], make_strategy(name), example_weight=s[kept], **same
    )
    rows = rows_of(weighted, 15)
    assert rows == rows_of(without, 15)
    assert rows == rows_of(alone, 15)


def test_example_weights_are_relative() -> None:
    """Scaling by a power of two changes no bit."""
    s = np.random.default_rng(2).random(80)
    first = booster_of(UniformNaive(), example_weight=s, n_rounds=9)
    second = booster_of(UniformNaive(), example_weight=s * 2.0**40, n_rounds=9)
    assert rows_of(first, 9) == rows_of(second, 9)


def test_a_weight_of_two_is_two_examples() -> None:
    X, Y = table(30), noisy_labels(30)
    s = np.ones(30)
    s[[3, 4, 9]] = 2
    twice = np.repeat(np.arange(30), s.astype(int))
    first = Booster(bank_of(X), None, Y, Full(), n_rounds=8, example_weight=s)
    second = Booster(bank_of(X[twice]), None, Y[twice], Full(), n_rounds=8)
    for _ in range(8):
        one, two = first.next_round(), second.next_round()
        assert (one.terms[0].feature, one.terms[0].value) == (
            two.terms[0].feature,
            two.terms[0].value,
        )
        assert one.rows[0]["edge"] == pytest.approx(two.rows[0]["edge"], abs=1e-6)


def test_rows_in_any_order_train_the_same_exact_model() -> None:
    X, Y = table(150), noisy_labels(150)
    rows = np.random.default_rng(0).permutation(150)[:90]
    bank = bank_of(X, rows)
    ordered = np.sort(rows)
    first = Booster(bank, rows, Y[rows], Full(), n_rounds=10)
    second = Booster(bank, ordered, Y[ordered], Full(), n_rounds=10)
    for _ in range(10):
        one, two = first.next_round(), second.next_round()
        assert one.terms[0].feature == two.terms[0].feature
        assert one.rows[0]["edge"] == pytest.approx(two.rows[0]["edge"], abs=1e-6)


def test_rows_side_by_side_or_named_one_by_one_give_the_same_bits() -> None:
    X, Y = table(100), noisy_labels(100)
    bank = bank_of(X)
    side_by_side = Booster(bank, np.arange(20, 80), Y[20:80], UniformNaive(), rng=0, n_rounds=9)
    shuffled = np.concatenate([np.arange(20, 80)])
    copied = bank_of(np.concatenate([X[:20], X[20:80][::-1], X[80:]]))
    backwards = Booster(copied, shuffled[::-1], Y[20:80], UniformNaive(), rng=0, n_rounds=9)
    assert rows_of(side_by_side, 9) == rows_of(backwards, 9)


def test_the_strategy_is_copied() -> None:
    mine = Laminating()
    first, second = booster_of(mine), booster_of(mine)
    rows_of(first, 3)
    assert vars(mine) == {"n_features": None, "scheme": "iid"}
    assert first.strategy is not mine
    assert rows_of(second, 3) == rows_of(booster_of(Laminating()), 3)


def test_seeds_and_generators() -> None:
    def run(rng: Any) -> list[dict[str, Any]]:
        return rows_of(booster_of(UniformNaive(n_features=2), rng=rng), 5)

    assert run(7) == run(np.random.default_rng(7))
    assert run(7) != run(8)


BITS = """
import sys, hashlib, numpy as np
sys.path.insert(0, {root!r})
from tests.problems import *
from boostsample.registry import make_strategy
digest = hashlib.sha256()
for n_labels in (1, 3, 17):
    for name in ("full", "uniform-naive", "laminating"):
        settings = {{"scheme": "distinct"}} if name == "laminating" else {{}}
        booster = Booster(bank_of(table(20, 4)), None, noisy_labels(20, n_labels),
                          make_strategy(name, **settings), n_rounds=3, rng=0)
        digest.update(repr(rows_of(booster, 3)).encode())
        digest.update(booster.state()["weights"]["values"].tobytes())
print(digest.hexdigest())
"""


def test_compiled_or_not_the_bits_are_the_same() -> None:
    found = []
    for off in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", BITS.format(root=str(ROOT))],
            env={**os.environ, "NUMBA_DISABLE_JIT": off},
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        found.append(done.stdout)
    assert found[0] == found[1]


ROUNDS = """
import sys, hashlib
sys.path.insert(0, {root!r})
from tests.problems import *
from boostsample.registry import make_strategy
digest = hashlib.sha256()
for name in ("uniform-naive", "laminating"):
    booster = Booster(bank_of(table(90, 12)), None, noisy_labels(90, 10), make_strategy(name),
                      n_rounds=40, rng=0)
    digest.update(repr(rows_of(booster, 40)).encode())
    digest.update(booster.state()["weights"]["values"].tobytes())
print(digest.hexdigest())
"""


@pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64") or not COMPILED,
    reason="kernels are compiled for older processors of the x86-64 family",
)
def test_processors_without_wide_vectors_or_fused_operations_give_the_same_bits(
    tmp_path: Path,
) -> None:
    found = []
    old = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "+sse2"}
    for processor in ({}, {**old, "NUMBA_CACHE_DIR": str(tmp_path)}):
        done = subprocess.run(
            [sys.executable, "-c", ROUNDS.format(root=str(ROOT))],
            env={**os.environ, **processor},
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        found.append(done.stdout)
    assert found[0] == found[1]
