"""The weight update and the rows of a sample against twins written from their definitions."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.jit.vectors import LANES
from boostsample.kernels.array_layout import Rows, lay_out_rows, row_layout
from boostsample.kernels.row_kernels import UpdateFactors, row_kernels

COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
#: Examples whose sums are formed at a time: small, so that there are several parts.
PART = 7
LABELS = (1, 2, 3, 5, 8, 9, 10, 16, 17, 26, 100)


def pad(values: NDArray[Any], fill: float = 0.0) -> NDArray[np.float32]:
    blocks, tail = row_layout(values.shape[1])
    rows = np.full((len(values), LANES * blocks + tail), fill, np.float32)
    rows[:, : values.shape[1]] = values
    return rows


def from_planes(rows: NDArray[np.float32], n: int, width: int) -> NDArray[np.float32]:
    """The matrix (n, width) that rows in planes of 16 labels stand for."""
    planes = [rows[n * at : n * min(at + 16, width)].reshape(n, -1) for at in range(0, width, 16)]
    return np.concatenate(planes, axis=1)


def naive_update(
    signed: NDArray[np.float32],
    phi: NDArray[np.int64],
    votes: NDArray[np.int64],
    right: float,
    wrong: float,
    floor: np.float32,
) -> NDArray[np.float32]:
    """w_il *= right where v_l phi_i y_il = +1, wrong elsewhere, and no smaller than the floor."""
    new = np.zeros_like(signed)
    for i in range(signed.shape[0]):
        for label in range(signed.shape[1]):
            w = signed[i, label]
            agrees = votes[label] * phi[i] * w > 0
            size = np.float32(abs(float(w)) * (right if agrees else wrong))  # rounded once
            new[i, label] = np.copysign(max(size, floor), w)
    return new


def check_update(
    signed: NDArray[np.float32],
    column: NDArray[np.uint8],
    threshold: int = 3,
    start: int = 0,
    examples: NDArray[np.int32] | None = None,
    floor: float = 1e-30,
) -> None:
    n, n_labels = signed.shape
    rng = np.random.default_rng(n_labels)
    blocks, tail = row_layout(n_labels)
    votes = rng.choice([-1, 1], n_labels)
    right, wrong = 0.7, 1.9
    width = LANES * blocks + tail
    rows = lay_out_rows(signed, width)
    n_parts = -(-n // PART)
    sums, masses = np.full((n_parts, LANES * blocks + tail), 9.0), np.empty(n_parts)
    sides, floors = pad(np.stack([-votes, votes]), 1.0).ravel(), pad(np.full((1, n_labels), floor))
    factors = UpdateFactors(sides, right, wrong, floors[0])
    named = np.empty(0, np.int32) if examples is None else examples
    given = Rows(start, named, rows, np.zeros(width), 1.0)
    row_kernels(blocks, tail).update(
        column, np.int16(threshold), given, factors, PART, 0, n_parts, sums, masses
    )
    at = np.arange(start, start + n) if examples is None else examples
    phi = np.where(column[at] >= threshold, 1, -1)
    want = naive_update(signed, phi, votes, right, wrong, np.float32(floor))
    got = from_planes(rows, n, width)
    usual = np.abs(want) >= 1e-30  # the floor of real runs; below it the last step is uncertain
    np.testing.assert_array_equal(got[:, :n_labels][usual], want[usual])  # to the bit
    np.testing.assert_allclose(got[:, :n_labels], want, rtol=2.0**-23, atol=3e-45)
    np.testing.assert_array_equal(got[:, n_labels:], 0.0)
    wide = want.astype(np.float64)
    weight = np.full(n, 9, np.float32)
    row_kernels(blocks, tail).totals(rows, weight)
    np.testing.assert_allclose(weight, np.abs(wide).sum(axis=1), rtol=1e-5)
    np.testing.assert_allclose(
        sums.sum(axis=0)[:n_labels], wide.sum(axis=0), rtol=1e-12, atol=1e-16
    )
    np.testing.assert_array_equal(sums[:, n_labels:], 0.0)
    assert masses.sum() == pytest.approx(float(np.abs(wide).sum()), rel=1e-12)


@pytest.mark.parametrize("n_labels", LABELS)
def test_update(n_labels: int) -> None:
    rng = np.random.default_rng(n_labels)
    n = 30 if COMPILED else 6
    signed = (rng.normal(size=(n, n_labels)) / (n * n_labels)).astype(np.float32)
    column = rng.integers(0, 6, n + 9).astype(np.uint8)
    check_update(signed, column)
    check_update(signed, column, start=9)
    check_update(signed, column, examples=rng.permutation(n + 9)[:n].astype(np.int32))
    check_update(signed, column, threshold=1)
    check_update(signed, column, threshold=255)
    check_update(signed[:1], column)


@pytest.mark.parametrize("part_size", [1, 3, 4, 6, 8, 9, 11, 15, 40])
def test_one_label_is_added_up_in_the_order_of_the_rows(part_size: int) -> None:
    rng = np.random.default_rng(part_size)
    n, right, wrong = 30, 0.7, 1.9
    signed = np.copysign(10.0 ** rng.uniform(-10, 0, (n, 1)), rng.normal(size=(n, 1)))
    column = rng.integers(0, 6, n).astype(np.uint8)
    rows = signed.astype(np.float32).ravel()
    n_parts = -(-n // part_size)
    sums, masses = np.full((n_parts, 1), 9.0), np.full(n_parts, 9.0)
    every = Rows(0, np.empty(0, np.int32), rows, np.zeros(1), 1.0)
    sides, floor = np.array([1.0, -1.0], np.float32), np.array([1e-30], np.float32)
    factors = UpdateFactors(sides, right, wrong, floor)
    row_kernels(0, 1).update(
        column, np.int16(3), every, factors, part_size, 0, n_parts, sums, masses
    )
    phi, votes = np.where(column >= 3, 1, -1), np.array([-1])
    want = naive_update(signed.astype(np.float32), phi, votes, right, wrong, floor[0])
    np.testing.assert_array_equal(rows, want.ravel())
    for part in range(n_parts):
        partial = size = 0.0
        for w in want[part * part_size : (part + 1) * part_size, 0].tolist():
            partial += w
            size += abs(w)
        assert (sums[part, 0], masses[part]) == (partial, size)


@pytest.mark.parametrize("n_labels", [1, 3, 17])
def test_update_holds_small_weights_at_the_floor(n_labels: int) -> None:
    rng = np.random.default_rng(0)
    signed = np.copysign(
        10.0 ** rng.uniform(-44, 0, (20, n_labels)), rng.normal(size=(20, n_labels))
    )
    signed[0] = -0.0  # an underflow at the start keeps its side
    signed[1] = 0.0
    column = rng.integers(0, 6, 20).astype(np.uint8)
    check_update(signed.astype(np.float32), column, floor=1e-30)
    check_update(signed[2:].astype(np.float32), column, floor=0.0)


@pytest.mark.parametrize("n_labels", LABELS)
def test_totals_are_those_of_one_row_at_a_time(n_labels: int) -> None:
    rng = np.random.default_rng(n_labels)
    totals = row_kernels(*row_layout(n_labels)).totals

    def weights_of(signed: NDArray[np.float32]) -> list[float]:
        weight = np.full(len(signed), 9, np.float32)
        totals(lay_out_rows(signed, pad(signed).shape[1]), weight)
        listed: list[float] = weight.tolist()
        return listed

    for n in (1, 7, 8, 9, 20):
        size = 10.0 ** rng.uniform(-9, 0, (n, 1))
        signed = (size * rng.normal(size=(n, n_labels))).astype(np.float32)
        one_by_one = [weights_of(row[None])[0] for row in signed]
        assert weights_of(signed) == one_by_one
        np.testing.assert_allclose(one_by_one, np.abs(signed).sum(axis=1), rtol=1e-5)


@pytest.mark.parametrize("n_labels", LABELS)
def test_weigh(n_labels: int) -> None:
    rng = np.random.default_rng(n_labels)
    blocks, tail = row_layout(n_labels)
    signed = rng.normal(size=(30, n_labels)).astype(np.float32)
    rows = pad(signed)
    for examples in (np.arange(30), np.array([29]), np.array([3, 3, 0, 11])):
        factors = rng.uniform(0.1, 1e6, examples.size)
        sampled = np.full(examples.size * rows.shape[1], 9, np.float32)
        base = np.full(rows.shape[1], 9.0)
        row_kernels(blocks, tail).weigh(
            lay_out_rows(signed, rows.shape[1]),
            examples.astype(np.int32),
            factors,
            sampled,
            base,
        )
        want = np.zeros((examples.size, rows.shape[1]), np.float32)
        for t, i in enumerate(examples):
            for label in range(n_labels):
                want[t, label] = rows[i, label] * np.float32(factors[t])
        np.testing.assert_array_equal(from_planes(sampled, *want.shape), want)
        total = want.astype(np.float64).sum(axis=0)
        np.testing.assert_allclose(base, total, rtol=1e-12, atol=1e-6)
