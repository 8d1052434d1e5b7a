"""Lists of rare rows, and the stump search on them, against their naive twins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.jit.vectors import LANES
from boostsample.kernels.array_layout import N_BINS, Rows, found_room, lay_out_rows, row_layout
from boostsample.kernels.rare_rows import (
    NO_LIST,
    NOT_LISTED,
    RareRows,
    empty_lists,
    list_rare_rows,
    number_rows,
    rare_room,
    rare_search_kernel,
)
from tests import naive
from tests.compiled import COMPILED

N_BANK = 240
SCALE = 2.0**-20


def rare_columns(rng: np.random.Generator, n: int = N_BANK) -> NDArray[np.uint8]:
    """Columns with most rows in the first, a middle or the last bin, of values or missing ones."""
    columns = []
    for rest, others in (
        (1, [2, 3, 9]),
        (1, [0, 2]),
        (0, [1, 255]),
        (4, [0, 1, 3, 5, 6]),
        (255, [1, 254]),
        (9, [0]),
        (9, range(1, 9)),
    ):
        column = np.full(n, rest)
        some = rng.permutation(n)[: n // 9]
        column[some] = rng.choice(list(others), some.size)
        columns.append(column)
    constant = [np.full(n, b) for b in (0, 1, 7, 255)]
    return np.array([*columns, *constant], np.uint8)


def lists_of(columns: NDArray[np.uint8], most: int) -> RareRows:
    rare = empty_lists(len(columns), most)
    list_rare_rows(columns, np.arange(len(columns)), rare)
    return rare


@pytest.mark.parametrize("most", [0, 1, N_BANK // 9, N_BANK // 8, N_BANK])
def test_lists_hold_all_rows_outside_the_bin_of_most_rows(most: int) -> None:
    rng = np.random.default_rng(0)
    ascending = np.sort(rng.integers(0, 9, (1, N_BANK)), axis=1).astype(np.uint8)
    columns = np.concatenate([rare_columns(rng), ascending])
    columns[5, :-30] = columns[5, 0]  # rare rows at the end, as where rows are sorted by classes
    rare = empty_lists(len(columns), most)
    chosen = np.arange(len(columns) - 1, 0, -1)
    list_rare_rows(columns, chosen, rare)
    assert rare.sizes[0] == NOT_LISTED
    for c in chosen:
        rest = np.bincount(columns[c]).argmax()
        rows = np.flatnonzero(columns[c] != rest)
        if rows.size > most:
            assert rare.sizes[c] == NO_LIST
            continue
        size = rare.sizes[c]
        assert (rare.rest[c], rare.rows[c, :size].tolist()) == (rest, rows.tolist())
        np.testing.assert_array_equal(rare.bins[c, :size], columns[c, rows])


def run_search(
    columns: NDArray[np.uint8],
    weights: NDArray[Any],
    two_sided: bool,
    tie: float = 0.0,
    start: int = 0,
    examples: NDArray[np.int32] | None = None,
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Thresholds, votes and edges; `two_sided` votes are those above, then those below."""
    n_labels, q = weights.shape[1], len(columns)
    blocks, tail = row_layout(n_labels)
    width = LANES * blocks + tail
    base = np.pad(weights.sum(axis=0, dtype=np.float64), (0, width - n_labels))
    named = np.empty(0, np.int32) if examples is None else examples
    rows = Rows(start, named, lay_out_rows(weights, width), base, SCALE)
    numbers = np.full(columns.shape[1], -1, np.int32)
    number_rows(named, numbers, False)
    rare, room = lists_of(columns, columns.shape[1]), rare_room(n_labels, columns.shape[1])
    found, order = found_room(q, n_labels, two_sided), np.arange(q)[::-1].copy()
    rare_search_kernel(blocks, tail)(rare, order, rows, numbers, tie, room, found)
    assert not room.hist.any()  # as the next search expects it
    number_rows(named, numbers, True)
    assert (numbers == -1).all()
    searched = columns[:, named] if named.size else columns[:, start : start + len(weights)]
    for column, b, divides in zip(searched[::-1], found.thresholds, found.divides, strict=True):
        assert divides == naive.divides(column.tolist(), b)
    votes = np.hstack([found.votes, found.below]) if two_sided else found.votes
    return found.thresholds[::-1], votes[::-1], found.edges[::-1] / SCALE


def nodes(rng: np.random.Generator, columns: NDArray[np.uint8]) -> list[dict[str, Any]]:
    """Places of rows: all of the bank, a stretch, a half in any order, only rare or other ones."""
    is_rare = columns[0] != 1
    half = rng.permutation(N_BANK)[: N_BANK // 2]
    some = [half, np.flatnonzero(is_rare), np.flatnonzero(~is_rare), half[:1]]
    return [{}, {"start": 100}, *({"examples": rows.astype(np.int32)} for rows in some)]


def rows_at(place: dict[str, Any]) -> NDArray[Any]:
    rows: NDArray[Any] = place.get("examples", np.arange(place.get("start", 0), N_BANK))
    return rows


@pytest.mark.parametrize("n_labels", [1, 3, 17])
@pytest.mark.parametrize("two_sided", [False, True])
def test_search_of_random_rows(n_labels: int, two_sided: bool) -> None:
    rng = np.random.default_rng(n_labels)
    columns = rare_columns(rng)
    for place in nodes(rng, columns)[: None if COMPILED else 3]:
        rows = rows_at(place)
        weights = rng.normal(size=(rows.size, n_labels)).astype(np.float32)
        thresholds, votes, edges = run_search(columns, weights, two_sided, **place)
        for q, column in enumerate(columns[:, rows].tolist()):
            best, signs, edge, every = naive.search(column, weights, N_BINS, two_sided)
            assert edges[q] == pytest.approx(edge, rel=1e-12)
            if len({round(other, 9) for other in every}) == len(every) or thresholds[q] == best:
                assert (thresholds[q], votes[q].tolist()) == (best, signs)
            assert every[thresholds[q] - 1] == pytest.approx(edge, rel=1e-12)


@pytest.mark.parametrize("n_labels", [1, 2, 17])
@pytest.mark.parametrize("two_sided", [False, True])
def test_of_equal_edges_the_lowest_cut_that_divides_wins(n_labels: int, two_sided: bool) -> None:
    rng = np.random.default_rng(n_labels)
    for trial in range(20 if COMPILED else 2):
        columns = rare_columns(rng)
        for place in nodes(rng, columns):
            rows = rows_at(place)
            weights = rng.choice([-1, 1], (rows.size, n_labels))  # whole numbers: no sum rounds
            weights[:] = weights[:, : (n_labels, 1)[trial % 2]]
            thresholds, votes, edges = run_search(columns, weights, two_sided, **place)
            for q, column in enumerate(columns[:, rows].tolist()):
                want = naive.search(column, weights, N_BINS, two_sided)[:3]
                assert (thresholds[q], votes[q].tolist(), edges[q]) == want, column


def test_edges_within_a_tie_are_equal() -> None:
    column = np.ones((1, 100), np.uint8)
    column[0, :2] = 2, 3
    weights = np.full((100, 1), -0.01)
    weights[:2, 0] = -0.001, 1.0  # edges of thresholds 1 to 3: 0.019, 1.979, 1.981
    for tie, want in ((0.0, 3), (0.0019, 3), (0.0021, 2), (3.0, 2)):
        assert run_search(column, weights, False, tie)[0][0] == want


def test_edges_are_at_most_one() -> None:
    weights = np.full((64, 3), 2 / SCALE, np.float32)
    assert run_search(np.ones((1, 64), np.uint8), weights, False)[2].tolist() == [1 / SCALE]
