"""How fast the machine does it: looks and whole rounds, in parts, as ratios of one run.

Timings of shared machines wander, so strategies take turns, round after round, and everything is
given beside `uniform-naive` of the same run. What a strategy does of its own (models, plans,
policies) is told apart from its draws, its searches and the loop's finish.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostsample.bank import Bank, FeatureBank
from boostsample.booster import Booster
from boostsample.experiments.tables import Table
from boostsample.family import Family
from boostsample.labels import encode
from boostsample.registry import make_strategy
from boostsample.searcher import Searcher
from boostsample.step import Step
from boostsample.strategy import Pool, Strategy, Stump
from boostsample.weights import SignedWeights, aligned, initial_weights

__all__ = [
    "BASELINE",
    "PARTS",
    "Problem",
    "RoundTimes",
    "growth_table",
    "looks_table",
    "made_problem",
    "rounds_table",
    "time_looks",
    "time_rounds",
]

BASELINE = "uniform-naive"
PARTS = ("own", "draw", "search", "modelling", "finish")
"""Of a round: the strategy's own work, its draws, its searches for each purpose, and the rest."""

Progress = Callable[[str, int, int], None]

_WARM_UP = 3
_NEIGHBOURHOOD = 7
"""Bins by which the classes of the made data shift a feature: edges of about 0.1."""


class Problem(NamedTuple):
    """A bank, the rows to train on, and labels +1 or -1, int8 (N, K)."""

    bank: Bank
    rows: NDArray[np.int64]
    Y: NDArray[np.int8]


class _Filled(Family):
    """Stands for features that are never computed: the bank is filled by hand."""

    def __init__(self, name: str, n_features: int) -> None:
        self.name = name
        self.n_features = n_features

    def compute(self, X: Any, features: ArrayLike) -> NDArray[np.float32]:
        raise NotImplementedError("made features have bins only")

    def feature_name(self, feature: Any) -> str:
        return f"{self.name} {feature}"


def made_problem(n_examples: int, n_features: int, n_labels: int, seed: int = 0) -> Problem:
    """Random bins that lean on the class a little, in four families of different strength."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, max(n_labels, 2), n_examples)
    bins = aligned(n_features * n_examples, np.uint8).reshape(n_features, n_examples)
    sizes = np.full(4, n_features // 4)
    sizes[: n_features % 4] += 1
    strength = np.repeat([0, 1, 2, 4], sizes)
    for feature in range(n_features):
        shift = rng.integers(0, _NEIGHBOURHOOD * strength[feature] + 1, classes.max() + 1)
        noise = rng.integers(0, 200, n_examples, dtype=np.uint8)
        bins[feature] = 1 + noise + shift.astype(np.uint8)[classes]
    cuts = np.tile(np.arange(254, dtype=np.float32), (n_features, 1))
    families = [_Filled(f"made-{k}", int(size)) for k, size in enumerate(sizes) if size]
    bank = FeatureBank(families, bins, cuts, np.full(n_features, 256, np.int16))
    return Problem(bank, np.arange(n_examples), encode(classes, max(n_labels, 2)))


class _Clock(Strategy):
    """A strategy whose draws and searches are timed; everything else is its own."""

    def __init__(self, strategy: Strategy) -> None:
        self.strategy = strategy

    def default_budget(self, pool: Pool) -> int:
        return self.strategy.default_budget(pool)

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        self.seconds_ = dict.fromkeys(PARTS, 0.0)
        self.strategy.start(pool, budget, n_rounds, rng)

    def choose(self, step: Step) -> Stump:
        before = time.perf_counter()
        self.seconds_ = dict.fromkeys(PARTS, 0.0)
        stump = self.strategy.choose(_TimedStep(step, self.seconds_))  # type: ignore[arg-type]  # quacks
        spent = time.perf_counter() - before
        self.seconds_["own"] = spent - sum(self.seconds_.values())
        return stump

    def learn(self, outcome: Any) -> None:
        before = time.perf_counter()
        self.strategy.learn(outcome)
        self.seconds_["own"] += time.perf_counter() - before


class _TimedStep:
    """A step that remembers how long its methods took."""

    def __init__(self, step: Step, seconds: dict[str, float]) -> None:
        self._step = step
        self._seconds = seconds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._step, name)

    def _timed(self, part: str, method: Callable[..., Any], *args: Any, **named: Any) -> Any:
        before = time.perf_counter()
        result = method(*args, **named)
        self._seconds[part] += time.perf_counter() - before
        return result

    def draw(self, *args: Any, **named: Any) -> Any:
        return self._timed("draw", self._step.draw, *args, **named)

    def search(self, features: Any, sample: Any, purpose: str = "search") -> Any:
        return self._timed(purpose, self._step.search, features, sample, purpose)

    def edges(self, stumps: Any, sample: Any, purpose: str = "search") -> Any:
        return self._timed(purpose, self._step.edges, stumps, sample, purpose)


@dataclass
class RoundTimes:
    """Seconds of each round, and of its parts, of one strategy."""

    strategy: str
    seconds: list[float] = field(default_factory=list)
    parts: dict[str, list[float]] = field(default_factory=lambda: {part: [] for part in PARTS})

    def share(self, part: str) -> float:
        """Share of all the time that went into a part."""
        return sum(self.parts[part]) / sum(self.seconds)


def time_rounds(
    problem: Problem,
    strategies: Sequence[str],
    n_rounds: int,
    progress: Progress | None = None,
    weights: str = "uniform",
) -> list[RoundTimes]:
    """Train all strategies at once, a round of each in turn; the baseline is always among them.

    Compiling is done before; the first rounds of every strategy are timed like all others.
    """
    names = list(dict.fromkeys([BASELINE, *strategies]))

    def booster(name: str) -> tuple[Booster, _Clock]:
        made = Booster(
            problem.bank,
            problem.rows,
            problem.Y,
            _Clock(make_strategy(name)),
            n_rounds=n_rounds,
            weights=weights,
            rng=0,
        )
        clock = made.strategy
        assert isinstance(clock, _Clock)
        return made, clock

    for number, name in enumerate(names):
        if progress is not None:
            progress("compiling", number, len(names))
        warm, _ = booster(name)
        for _ in range(min(_WARM_UP, n_rounds)):
            warm.next_round()
    runs = [(RoundTimes(name), *booster(name)) for name in names]
    for done in range(n_rounds):
        for times, one, clock in runs:
            if one.finished:
                continue
            before = time.perf_counter()
            one.next_round()
            seconds = time.perf_counter() - before
            parts = clock.seconds_
            parts["finish"] = seconds - sum(parts[part] for part in PARTS if part != "finish")
            times.seconds.append(seconds)
            for part in PARTS:
                times.parts[part].append(parts[part])
        if progress is not None:
            progress("rounds", done + 1, n_rounds)
    return [times for times, _, _ in runs]


def rounds_table(times: Sequence[RoundTimes]) -> Table:
    """Milliseconds a round, the ratio to the baseline, and the share of each part."""
    base = times[0]
    rows = []
    for one in times:
        ms = np.array(one.seconds) * 1e3
        n = min(len(one.seconds), len(base.seconds))
        ratio = sum(one.seconds[:n]) / sum(base.seconds[:n])
        rows.append(
            (
                one.strategy,
                f"{ms.min():.2f}",
                f"{np.median(ms):.2f}",
                f"{ms.mean():.2f}",
                f"{ratio:.2f}",
                *(f"{100 * one.share(part):.1f}" for part in PARTS),
            )
        )
    return Table(
        f"a round: least, median and mean milliseconds, ratio of the means of {len(base.seconds):,}"
        f" rounds to {base.strategy}, and the parts in percent",
        ("strategy", "least", "median", "mean", "ratio", *PARTS),
        tuple(rows),
    )


class LookTime(NamedTuple):
    """The least and the median time of a search, in nanoseconds a look."""

    n_labels: int
    n_features: int
    n_examples: int
    least: float
    median: float


def time_looks(
    n_examples: int,
    n_features: int,
    n_labels: int,
    *,
    sample: int | None = None,
    searches: int = 40,
) -> LookTime:
    """Time searches of `n_features` fresh features on all examples, or on a sample of them."""
    problem = made_problem(n_examples, 8 * n_features, n_labels)
    Y = problem.Y if n_labels > 2 else problem.Y[:, :1]
    weights = SignedWeights(Y, initial_weights(Y, "balanced"), problem.rows)
    searcher = Searcher(problem.bank, weights)
    rng = np.random.default_rng(1)
    if sample is None or sample >= n_examples:
        rows, exact = weights.exact(), True
    else:
        from boostsample.sampling import SCHEMES

        rows, exact = weights.draw(sample, SCHEMES["iid"], rng), False
    n_rows = rows.values.size // weights.width
    seconds = []
    for _ in range(searches + 1):
        features = rng.choice(problem.bank.n_features, n_features, replace=False)
        before = time.perf_counter()
        searcher.search(features, rows, exact)
        seconds.append(time.perf_counter() - before)
    looks = n_features * n_rows / 1e9
    return LookTime(
        n_labels,
        n_features,
        n_rows,
        min(seconds[1:]) / looks,
        float(np.median(seconds[1:])) / looks,
    )


def looks_table(times: Sequence[LookTime]) -> Table:
    """Nanoseconds a look."""
    return Table(
        "a look, threshold search included: least and median nanoseconds",
        ("labels", "features", "examples", "least", "median"),
        tuple(
            (
                str(one.n_labels),
                f"{one.n_features:,}",
                f"{one.n_examples:,}",
                f"{one.least:.2f}",
                f"{one.median:.2f}",
            )
            for one in times
        ),
    )


def growth_table(sizes: Sequence[int], n_rounds: int, progress: Progress | None = None) -> Table:
    """Rounds of the baseline as N grows, Q = 10 and T = N; the slope of each step, log to log."""
    medians = []
    for number, n in enumerate(sizes):
        if progress is not None:
            progress("growth", number, len(sizes))
        problem = made_problem(n, 20, 10)
        (times,) = time_rounds(problem, [], n_rounds)
        medians.append(float(np.median(times.seconds)) * 1e3)
    rows = []
    for at, (n, ms) in enumerate(zip(sizes, medians, strict=True)):
        slope = ""
        if at:
            slope = f"{np.log(ms / medians[at - 1]) / np.log(n / sizes[at - 1]):.2f}"
        rows.append((f"{n:,}", f"{ms:.2f}", f"{1e6 * ms / (10 * n):.2f}", slope))
    return Table(
        f"a round of {BASELINE} as N grows: median milliseconds, nanoseconds a look, and the slope "
        "since the line above (1 is linear)",
        ("examples", "ms", "ns", "slope"),
        tuple(rows),
    )
