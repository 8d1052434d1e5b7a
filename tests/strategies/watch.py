"""What a strategy draws and searches in a round."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from boostsample.step import Step
from boostsample.strategy import Sample, Stumps


class Searched(NamedTuple):
    """One search: its features, the sample, and its stumps."""

    features: list[int]
    size: int
    scheme: str
    stumps: Stumps
    purpose: str

    @property
    def edges(self) -> list[float]:
        """The edges, feature by feature."""
        edges: list[float] = self.stumps.edge.tolist()
        return edges

    def best_first(self) -> list[int]:
        """The features by their edges; the first of equal ones first."""
        order = np.argsort(-self.stumps.edge, kind="stable")
        features: list[int] = self.stumps.feature[order].tolist()
        return features


class Watched:
    """Lists of the searches, draws and nested draws since `clear`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.searches: list[Searched] = []
        self.draws: list[tuple[int, str]] = []
        self.nested: list[tuple[list[int], str]] = []
        draw, draw_nested, search = Step.draw, Step.draw_nested, Step.search

        def watched_draw(step: Step, T: int, scheme: str = "iid") -> Sample:
            self.draws.append((T, scheme))
            return draw(step, T, scheme)

        def watched_nested(step: Step, sizes: Any, scheme: str = "iid") -> list[Sample]:
            self.nested.append((list(sizes), scheme))
            return draw_nested(step, sizes, scheme)

        def watched_search(
            step: Step, features: Any, sample: Sample, purpose: str = "search", labels: Any = None
        ) -> Stumps:
            stumps = search(step, features, sample, purpose, labels)
            numbers = np.asarray(features).tolist()
            self.searches.append(Searched(numbers, sample.size, sample.scheme, stumps, purpose))
            return stumps

        def watched_again(
            step: Step,
            features: Any,
            again: Any,
            stages: Any,
            scheme: str = "order",
            purpose: str = "search",
        ) -> list[Stumps]:
            """Search by search, which `tests/rows/test_races.py` holds to be the same."""
            samples, found = watched_nested(step, [size for _, size in stages], scheme), []
            for at, ((n, _), sample) in enumerate(zip(stages, samples, strict=True)):
                candidates = features[:n]
                if at == max(1, len(stages) - 2):
                    others = again[~np.isin(again, candidates)][: n // 2]
                    candidates = np.concatenate([candidates[: n - others.size], others])
                found.append(watched_search(step, candidates, sample, purpose))
                features = found[-1].feature[np.argsort(-found[-1].edge, kind="stable")]
            return found

        def watched_race(step: Step, features: Any, stages: Any, *how: str) -> Stumps:
            return watched_again(step, features, np.empty(0, np.int64), stages, *how)[-1]

        monkeypatch.setattr(Step, "draw", watched_draw)
        monkeypatch.setattr(Step, "draw_nested", watched_nested)
        monkeypatch.setattr(Step, "search", watched_search)
        monkeypatch.setattr(Step, "race", watched_race)
        monkeypatch.setattr(Step, "race_again", watched_again)

    def clear(self) -> None:
        """Forget all."""
        for calls in (self.searches, self.draws, self.nested):
            calls.clear()
