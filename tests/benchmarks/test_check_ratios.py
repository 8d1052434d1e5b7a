"""Ratios of a run beside kept ones, the bounds of benchmarks, and the scale of shards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import check_ratios
from benchmarks.bounds import N_BINS, read_bound_kernel, store_bound, store_bound_kernel
from benchmarks.check_ratios import (
    REFERENCES,
    compare_ratios,
    kept_ratio,
    main,
    reference_for,
    reference_of,
    sections_of,
)
from benchmarks.problem import BenchProblem, synthetic_problem
from boostsample.dask import LocalShards, ShardBooster, array_sources
from boostsample.kernels.array_layout import aligned, row_layout
from tests.benchmarks.shard_scale import STRATEGIES, made, predicted_bytes


def run_of(ratios: dict[str, float], **conditions: Any) -> dict[str, Any]:
    """Content as of `--benchmark-json`, with a benchmark without a ratio."""
    records: list[dict[str, Any]] = [{"extra_info": {}}]
    for name, ratio in ratios.items():
        more = {"section": "rounds", "ratio_name": name, "ratio": ratio, "conditions": conditions}
        records.append({"extra_info": more})
    return {"datetime": "2011-12-12T10:00:00", "benchmarks": records}


def test_each_ratio_is_worse_better_the_same_new_or_missing() -> None:
    old = {"grown": 2.0, "shrunk": 2.0, "near": 2.0, "gone": 2.0}
    new = {"near": 2.2, "grown": 2.5, "shrunk": 1.5, "fresh": 1.0}
    reference = reference_of([run_of(old, examples=10)])
    now = sections_of(run_of(new, examples=10))
    rows, notes = compare_ratios(now, reference["sections"])
    assert rows == [
        ("rounds: grown", "2.50", "2.00", "+25%", "15%", "worse"),
        ("rounds: shrunk", "1.50", "2.00", "-25%", "15%", "better"),
        ("rounds: near", "2.20", "2.00", "+10%", "15%", ""),
        ("rounds: gone", "", "2.00", "", "15%", "missing"),
        ("rounds: fresh", "1.00", "", "", "", "new"),
    ]
    assert not notes


def test_ratios_that_scatter_are_allowed_more() -> None:
    assert kept_ratio([3.0]) == kept_ratio([3.0, 3.0]) == {"value": 3.0, "tolerance": 0.15}
    passes = [run_of({"ucb": ratio}) for ratio in (1.8, 2.2, 2.0)]
    reference = reference_of(passes)["sections"]
    assert reference["rounds"]["ratios"]["ucb"] == {"value": 2.0, "tolerance": 0.4}
    for ratio, verdict in ((2.7, ""), (2.9, "worse"), (1.3, ""), (1.1, "better")):
        ((*_, found),), _ = compare_ratios(sections_of(run_of({"ucb": ratio})), reference)
        assert found == verdict


def test_only_equal_conditions_are_compared() -> None:
    reference = reference_of([run_of({"ucb": 2.0}, examples=10)])["sections"]
    rows, (note,) = compare_ratios(sections_of(run_of({"ucb": 2.0}, examples=20)), reference)
    assert rows == []
    assert note.startswith("rounds: not compared, run with {'examples': 20}, but the reference")
    _, (note,) = compare_ratios(sections_of(run_of({"ucb": 2.0}, examples=20)), {})
    assert note.endswith("the reference with None")
    # Sections that did not run are not missed.
    assert compare_ratios({}, reference) == ([], [])


def test_a_reference_is_kept_and_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(check_ratios, "REFERENCES", tmp_path)
    paths = [tmp_path / f"{at}.txt" for at in range(4)]
    for path, ratio in zip(paths, (2.0, 2.0, 3.0, 9.0), strict=True):
        path.write_text(json.dumps(run_of({"ucb": ratio}, examples=10)))
    passes = [str(path) for path in paths]
    assert main([*passes[:3], "--keep", "abacus"]) == 0
    assert capsys.readouterr().out == f"reference: {tmp_path / 'abacus.json'}\n"
    assert main(passes[:1]) == 0
    assert "no ratios of 1 worse than the reference of 2011-12-12" in capsys.readouterr().out
    monkeypatch.setattr(check_ratios, "machine", lambda: {"processor": "An abacus"})
    assert main(passes[3:]) == 1
    printed = capsys.readouterr().out
    assert "1 ratio of 1 worse than the reference of 2011-12-12" in printed
    assert "note: the reference is not of this processor (An abacus)" in printed


@pytest.mark.parametrize("path", sorted(REFERENCES.glob("*.json")), ids=lambda path: path.stem)
def test_the_shipped_references(path: Path) -> None:
    reference = json.loads(path.read_text("utf-8"))
    assert reference_for(reference["processor"]) == reference
    assert {"looks", "bounds", "rounds", "growth"} <= set(reference["sections"])
    for section in reference["sections"].values():
        assert section["ratios"]
        for ratio in section["ratios"].values():
            assert ratio["value"] > 0
            assert ratio["tolerance"] >= 0.15


@pytest.fixture(scope="module")
def problem() -> BenchProblem:
    return synthetic_problem(500, 23, 3)


def test_synthetic_problems_have_their_sizes_and_labels(problem: BenchProblem) -> None:
    assert problem.sizes() == {"data": "made data", "examples": 500, "features": 23, "classes": 3}
    assert (problem.Y > 0).sum() == 500
    bins = problem.bank.take(np.arange(23), np.arange(500))
    assert bins.min() >= 1
    assert [len(np.unique(row)) > 50 for row in bins] == [True] * 23
    assert problem.relabelled(3) is problem
    assert problem.relabelled(2).Y.shape == (500, 1)
    many = problem.relabelled(26)
    assert many.bank is problem.bank
    assert ((many.Y > 0).sum(axis=1) == 1).all()


@pytest.mark.parametrize("n_labels", [1, 10])
def test_stores_touch_each_bin_once_in_turn(n_labels: int) -> None:
    blocks, tail = row_layout(n_labels)
    row = aligned(8 * (blocks + 1), np.float32)
    row[: 8 * blocks + tail] = np.arange(1, 8 * blocks + tail + 1)
    planes = aligned((blocks + 1) * N_BINS * 8, np.float32)
    store_bound_kernel(blocks, tail)(row, planes, 3 * N_BINS)
    for k in range(blocks):
        plane = planes[k * N_BINS * 8 : (k + 1) * N_BINS * 8].reshape(N_BINS, 8)
        assert (plane == 3 * row[8 * k : 8 * k + 8]).all()
    rest = planes[blocks * N_BINS * 8 :]
    bins, nothing = rest[: N_BINS * tail], rest[N_BINS * tail :]
    assert (bins.reshape(N_BINS, tail) == 3 * row[8 * blocks : 8 * blocks + tail]).all()
    assert not nothing.any()
    store_bound(n_labels)(8)


@pytest.mark.parametrize("n_examples", [4, 60])  # fewer and more than a feature has cache lines
@pytest.mark.parametrize("n_features", [1, 4, 7])
def test_reads_read_every_bin(problem: BenchProblem, n_features: int, n_examples: int) -> None:
    bins = problem.bank.take(np.arange(23), problem.rows)
    features = np.random.default_rng(0).choice(23, n_features, replace=False)
    examples = np.linspace(3, 499, n_examples).astype(np.int32)
    nothing = np.empty(0, np.int32)
    total = bins[features][:, examples].sum(dtype=int)
    assert read_bound_kernel(bins, features, 0, examples, 4) == total
    assert read_bound_kernel(bins, features, 2, nothing, 9) == bins[features, 2:11].sum(dtype=int)


@pytest.mark.parametrize("n_shards", [2, 16])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_bytes_and_exchanges_are_predicted(strategy: str, n_shards: int) -> None:
    n, n_features, n_rounds = 6000, 40, 6
    bank, Y = made(n, n_features, 4)
    with LocalShards(array_sources(bank, Y, n_shards)) as shards:
        booster = ShardBooster(shards, strategy, rng=0)
        booster.next_round()
        before = booster.exchange.n_bytes, booster.exchange.n_messages
        for _ in range(n_rounds):
            booster.next_round()
    sent = (booster.exchange.n_bytes - before[0]) / (n_rounds * n_shards)
    calls = (booster.exchange.n_messages - before[1]) / (n_rounds * n_shards)
    wanted, exchanges = predicted_bytes(
        strategy, n, n_features, n_shards, Y.shape[1], int(bank.n_bins.max())
    )
    assert calls == exchanges
    assert sent == pytest.approx(wanted, rel=0.05)
