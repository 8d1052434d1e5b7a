"""Searches of few rows, whose sweeps are in float32: which ones, and what they find."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from boostsample.rows import searcher as module
from boostsample.rows.searcher import Searcher
from boostsample.rows.weights import SignedWeights
from tests.compiled import COMPILED
from tests.problems import bank_of, noisy_labels, table

compiled = pytest.mark.skipif(not COMPILED, reason="searches take minutes without compilation")


class Watched(Searcher):
    """Keeps the tie, in units of edges, and the precision of each search."""

    def __init__(self, n: int, n_labels: int = 3, n_features: int = 8, top: int = 40) -> None:
        Y = noisy_labels(n, n_labels)
        u = np.random.default_rng(0).random(Y.shape) + 0.1
        super().__init__(bank_of(table(n, n_features, top)), SignedWeights(Y, u, np.arange(n)))
        self.seen: list[tuple[float, bool]] = []
        kernel = self._search._kernel

        def search(*args: Any) -> None:
            rows, tie, _, rough = args[3:7]
            self.seen.append((tie * rows.scale, rough))
            kernel(*args)

        self._search._kernel = search


@compiled
@pytest.mark.parametrize("n", [50, module._FEW])
def test_exact_searches_are_never_in_float32(n: int) -> None:
    searcher, rng = Watched(n), np.random.default_rng(0)
    for rows in (
        searcher.sample(n, "iid", rng).rows,
        *(sample.rows for sample in searcher.nested_samples([n, n], "distinct", rng)),
    ):
        searcher.search(np.arange(8), rows, True)
    assert {rough for _, rough in searcher.seen} == {False}


@compiled
@pytest.mark.parametrize("n_labels", [1, 3, 10, 17])
def test_they_find_what_float64_finds(n_labels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    searcher, features = Watched(900, n_labels), np.arange(8)
    for scheme in ("iid", "stratified", "distinct"):
        for rows in (
            sample.rows
            for sample in searcher.nested_samples([10, 200, 899], scheme, np.random.default_rng(1))
        ):
            rough = searcher.search(features, rows, False)
            with monkeypatch.context() as patch:
                patch.setattr(module, "_FEW", 0)
                fine = searcher.search(features, rows, False)
            assert [best for _, best in searcher.seen[-2:]] == [True, False]
            np.testing.assert_allclose(rough.edge, fine.edge, atol=3e-6)
            signed = searcher.signed_edges(rough, rows)
            np.testing.assert_allclose(signed, fine.edge, atol=3e-6)
