"""Kernels that can be compiled before anything needs them: for the arguments that runs have.

Each job calls kernels on a few numbers, of the types of a real run: for others numba would compile
them anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from boostsample import expected_edge
from boostsample.kernels import binning, draw, single
from boostsample.kernels import expected_edge as planning
from boostsample.kernels import mixture as modelling
from boostsample.kernels.edges import edge_kernels
from boostsample.kernels.search import search_kernel
from boostsample.kernels.vectors import LANES
from boostsample.kernels.weights import weight_kernels
from boostsample.mixture import Mixture, fit_mixture
from boostsample.weights import SignedWeights, search_room, vectors_of

__all__ = ["Job", "bank_kernels", "finish", "jobs"]

_N = 8


class Job(NamedTuple):
    """What one process compiles at a time: `run` compiles these kernels and all that they call."""

    kernels: tuple[Any, ...]
    run: Callable[[], None]


def bank_kernels() -> tuple[Any, ...]:
    """The kernels that a bank is built with; they need no job, since building comes first."""
    return binning.cut_block, binning.assign_block


def finish(n_labels: int) -> Job:
    """The pass over all examples at the end of each round."""
    kernels = vectors_of(n_labels)

    def run() -> None:
        labels = np.ones((_N, n_labels), np.int8)
        weights = SignedWeights(labels, np.ones(labels.shape), np.arange(_N))
        column = np.ones(_N, np.uint8)
        weights.label_sums(column, 1)
        weights.update(column, 1, labels[0], 0.0)

    return Job((weight_kernels(*kernels).update, edge_kernels(*kernels).label_sums), run)


def jobs(n_labels: int) -> dict[str, Job]:
    """Jobs for other processes by the function of the engine that will need them."""
    blocks, tail = vectors_of(n_labels)
    width = LANES * blocks + tail
    search, weigh = search_kernel(blocks, tail), weight_kernels(blocks, tail).weigh
    settle = edge_kernels(blocks, tail).signed_edges

    def run_search() -> None:
        bins, at = np.ones((1, _N), np.uint8), np.zeros(1, np.int64)
        rows, examples = np.zeros(_N * width, np.float32), np.empty(0, np.int32)
        found = np.empty(1, np.int64), np.empty((1, n_labels), np.int8), np.empty(1)
        n_bins, base, room = np.full(1, 2, np.int16), np.zeros(width), search_room(n_labels)
        search(bins, at, n_bins, 0, examples, rows, base, 1.0, 0.0, 1, *room, *found)

    def run_draw() -> None:
        examples, factors, gaps = np.zeros(_N, np.int32), np.ones(_N), np.ones(_N)
        rows = np.zeros(_N * width, np.float32)
        weigh(rows, examples, factors, rows, np.empty(width))
        draw.pick(np.ones(_N, np.float32), np.ones(1), gaps, 1.0, examples, factors)

    def run_allocate() -> None:
        expected_edge.allocate([_model()], [_N], _N, _N)

    def run_plan() -> None:
        expected_edge.plan_family([_model()], [_N], _N, _N)

    def run_fit() -> None:
        for n_components in (2, 1):  # one has a kernel of its own
            fit_mixture(np.arange(_N) / _N, n_components)

    def run_settle() -> None:
        bins, at, rows = np.ones((1, _N), np.uint8), np.zeros(1, np.int64), np.zeros(_N * width)
        cut, votes, examples = np.ones(1, np.int16), np.ones((1, n_labels), np.int8), at[:0]
        sums = np.empty(width), np.empty(1)
        settle(bins, at, cut, votes, 0, examples.astype(np.int32), np.float32(rows), *sums)

    return {
        "search": Job((search,), run_search),
        "draw": Job((weigh, draw.pick), run_draw),  # the other half is compiled meanwhile
        "allocate": Job((planning.allocate, planning.expected_edge), run_allocate),
        "plan_family": Job((planning.best_pair,), run_plan),
        "settle": Job((settle,), run_settle),  # where two stumps are as good, which is rare
        "fit_mixture": Job((modelling.fit_segments, single.fit_single), run_fit),
    }


def _model() -> Any:
    return Mixture([1.0], [0.0], [1.0])
