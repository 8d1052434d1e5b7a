"""Kernels of products and trees against plain loops, for rows of one and of several vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from boostsample.jit.vectors import LANES
from boostsample.kernels.array_layout import Rows, lay_out_rows, row_layout
from boostsample.kernels.row_kernels import UpdateFactors, partition, row_kernels
from boostsample.kernels.scores import add_scores

WIDTHS = (1, 2, 3, 10, 17, 26)
PART = 7


def laid_out(matrix: Any) -> Any:
    blocks, tail = row_layout(matrix.shape[1])
    return lay_out_rows(matrix, LANES * blocks + tail)


def problem(n: int, K: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(n + K)
    values = rng.normal(size=(n, K)).astype(np.float32)
    return values, rng.integers(0, 9, 60).astype(np.uint8), rng


def sums_for(n: int, K: int) -> tuple[Any, Any]:
    blocks, tail = row_layout(K)
    return np.zeros((-(-n // PART), LANES * blocks + tail)), np.zeros(-(-n // PART))


@pytest.mark.parametrize("columns", [False, True])
def test_partition(columns: bool) -> None:
    _, column, rng = problem(40, 1)
    order = rng.permutation(40).astype(np.int32)
    at = rng.permutation(60)[:40].astype(np.int32) if columns else np.empty(0, np.int32)
    start, first, end = 0 if columns else 11, 5, 33
    bins = [int(column[at[p] if columns else start + p]) for p in order[first:end].tolist()]
    below = [p for p, b in zip(order[first:end].tolist(), bins, strict=True) if b < 4]
    above = [p for p, b in zip(order[first:end].tolist(), bins, strict=True) if b >= 4]
    want = [*order[:first].tolist(), *below, *above, *order[end:].tolist()]
    threshold: Any = np.int16(4)
    middle = partition(column, threshold, start, at, order, first, end, np.zeros(40, np.int32))
    assert middle == first + len(below)
    assert order.tolist() == want


@pytest.mark.parametrize("K", WIDTHS)
def test_gather(K: int) -> None:
    source, _, rng = problem(50, K)
    positions = rng.permutation(50)[:20].astype(np.int32)
    values = np.full(laid_out(source[:20]).size, np.nan, np.float32)
    sums, masses = sums_for(20, K)
    gather = row_kernels(*row_layout(K)).gather
    gather(laid_out(source), positions, values, PART, 0, len(sums), sums, masses)
    np.testing.assert_array_equal(values, laid_out(source[positions]))
    for part in range(len(sums)):
        mine = source[positions][part * PART : (part + 1) * PART].astype(np.float64)
        np.testing.assert_allclose(sums[part, :K], mine.sum(axis=0), rtol=1e-12, atol=1e-12)
        assert masses[part] == pytest.approx(np.abs(mine).sum(), rel=1e-12)


@pytest.mark.parametrize("K", WIDTHS)
def test_flip(K: int) -> None:
    values, column, rng = problem(30, K)
    votes = rng.choice([-1.0, 1.0], K)
    at = rng.permutation(60)[:30].astype(np.int32)
    flat = laid_out(values)
    sides = np.ones(2 * flat.size // 30, np.float32)
    sides[:K], sides[flat.size // 30 :][:K] = -votes, votes
    sums, _ = sums_for(30, K)
    rows = Rows(0, at, flat, np.zeros(flat.size // 30), 1.0)
    flip = row_kernels(*row_layout(K)).flip
    flip(column, np.int16(5), rows, sides, PART, 0, len(sums), sums)
    phi = np.where(column[at] >= 5, 1.0, -1.0)
    want = (values * phi[:, None] * votes).astype(np.float32)
    np.testing.assert_array_equal(flat, laid_out(want))
    np.testing.assert_allclose(sums.sum(axis=0)[:K], want.sum(axis=0, dtype=float), atol=1e-9)


@pytest.mark.parametrize("K", WIDTHS)
@pytest.mark.parametrize("targets", [False, True])
def test_update(K: int, targets: bool) -> None:
    source, _, rng = problem(40, K)
    positions = rng.permutation(40)[:18].astype(np.int32)
    other = source[positions] * rng.choice([-1.0, 1.0], (18, K)).astype(np.float32)
    votes = rng.choice([-1.0, 1.0], K)
    values = laid_out(source)
    width = values.size // 40
    padded, floor = np.ones(width, np.float32), np.zeros(width, np.float32)
    padded[:K], floor[:K] = votes, 1e-30
    factors = UpdateFactors(padded, 0.7, 1.9, floor)
    sums, masses = sums_for(18, K)
    update = row_kernels(*row_layout(K)).update_nodes
    given = laid_out(other) if targets else np.empty(0, np.float32)
    update(values, positions, given, factors, PART, 0, len(sums), sums, masses)
    agree = (other if targets else source[positions]) * votes > 0
    want = source.astype(np.float64)
    want[positions] *= np.where(agree, 0.7, 1.9)
    np.testing.assert_allclose(values, laid_out(want.astype(np.float32)), rtol=1.3e-7)
    np.testing.assert_allclose(sums.sum(axis=0)[:K], want[positions].sum(axis=0), atol=1e-5)
    assert masses.sum() == pytest.approx(np.abs(want[positions]).sum(), rel=1e-6)


def test_scores_of_a_tree_and_a_product() -> None:
    """Round 0: a root with a tree below on its side +1. Round 1: a product of two."""
    rng = np.random.default_rng(0)
    n, K = 25, 3
    sides = rng.integers(0, 2, (4, n)).astype(np.uint8)
    votes = rng.choice([-1.0, 1.0], (4, 2, K))
    parents = np.array([0, 0, 2, 2])
    children = np.array([[2, -1, 1], [1, -1, -1], [2, -1, -1], [2, -1, -1]])
    alphas, scores = np.array([0.5, 0.25]), np.zeros((n, K))
    room = np.zeros(4, np.uint8), np.zeros(K)
    add_scores(sides, np.array([2, 4]), parents, children, votes, alphas, *room, scores)
    for i in range(n):
        tree = votes[1, sides[1, i]] if sides[0, i] else votes[0, 0]
        product = votes[2, sides[2, i]] * votes[3, sides[3, i]]
        np.testing.assert_allclose(scores[i], 0.5 * tree + 0.25 * product)
